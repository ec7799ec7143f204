/**
 * Two people in two worktrees finish, update, grant and land at the same time, with plain git in between, and some are killed:
 * afterwards the trunk is a chain of validated commits. `DISCERN_INTERLEAVINGS` says how many rounds; each has a printed seed.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { describe, it } from 'node:test'
import { bundle, project } from '../support/project.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'

const ROUNDS = Number(process.env['DISCERN_INTERLEAVINGS'] ?? 3)
const STEPS = 5
const [node, script] = bundle

/** Mulberry32: the same numbers for the same seed. */
const randomOf = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** Runs a verb, or kills it in the middle; only a defect or a crash is wrong. */
const verb = (s: Scratch, cwd: string, args: readonly string[], killAfterMs: number | undefined): Promise<Loose> =>
  new Promise((resolve, reject) => {
    const child = spawn(node, [script, ...args, '--json'], { cwd: s.path(cwd), env: { ...s.env } })
    let out = ''
    child.stdout.on('data', chunk => {
      out += chunk
    })
    const signal = killAfterMs !== undefined && killAfterMs % 2 === 0 ? 'SIGKILL' : 'SIGINT'
    const timer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill(signal), killAfterMs)
    child.on('close', code => {
      clearTimeout(timer)
      if (code === 70) reject(new Error(`${args.join(' ')}: ${out}`))
      else resolve(out.trim() === '' ? undefined : JSON.parse(out))
    })
  })

/** One person: commits, finishes, lands. What is refused is tried again another time, as a person would. */
const person = async (s: Scratch, name: string, random: () => number): Promise<void> => {
  for (let step = 0; step < STEPS; step += 1) {
    s.write(`${name}/${name}-${step}`, `${step}\n`)
    s.git(name, 'add', '.')
    s.exec(name, 'git', ['commit', '-q', '-m', `${name} ${step}`])
    const kill = (): number | undefined => (random() < 0.3 ? Math.floor(random() * 400) : undefined)
    if (random() < 0.7) await verb(s, name, ['update'], undefined)
    await verb(s, name, ['done'], kill())
    const byGrant = random() < 0.5
    if (byGrant) await verb(s, name, ['grant', '--confirmed'], kill())
    await verb(s, name, byGrant ? ['accept'] : ['accept', '--confirmed'], kill())
    if (random() < 0.3) s.exec(name, 'git', ['gc', '-q', '--auto'])
    if (random() < 0.3) s.exec(name, 'git', ['status', '--porcelain'])
  }
}

interface Note {
  readonly commit: string
  readonly payload: Loose
}

const notesOf = (s: Scratch): readonly Note[] =>
  s
    .git('r', 'notes', '--ref=discern', 'list')
    .split('\n')
    .filter(Boolean)
    .map(line => {
      const [blob = '', commit = ''] = line.split(' ')
      const { payload } = JSON.parse(s.git('r', 'cat-file', 'blob', blob))
      return { commit, payload: JSON.parse(Buffer.from(payload, 'base64').toString('utf8')) }
    })

/** The values that the trunk had, oldest first, as its reflog tells; what was rolled back is no landing. */
const trunkValues = (s: Scratch): readonly string[] => {
  const values: string[] = []
  for (const line of s.git('r', 'log', '-g', '--format=%H %gs', 'main').split('\n').reverse()) {
    const [oid = '', ...words] = line.split(' ')
    if (words.join(' ').startsWith('discern accept: rollback')) values.pop()
    else values.push(oid)
  }
  return values
}

describe('interleaved work in two worktrees', () => {
  for (let round = 1; round <= ROUNDS; round += 1) {
    it(`leaves a chain of validated commits, nothing spent twice and no local edit lost: seed ${round}`, async t => {
      const s = scratch(t)
      project(s)
      const first = s.git('r', 'rev-parse', 'main')
      for (const name of ['a', 'b']) s.git('r', 'worktree', 'add', '-q', '-b', name, `../${name}`, 'main')
      s.write('r/f', 'edited here\n')
      s.write('r/mine', 'untracked\n')
      await Promise.all([person(s, 'a', randomOf(round)), person(s, 'b', randomOf(round + 1_000_000))])
      // Whoever was killed runs it again; what is owed is delivered without anybody's word.
      for (const name of ['a', 'b', 'a', 'b']) await verb(s, name, ['accept'], undefined)
      const values = trunkValues(s)
      assert.equal(values[0], first)
      const notes = new Map(notesOf(s).map(note => [note.commit, note]))
      for (const [at, commit] of values.entries()) {
        if (at === 0) continue
        const note = notes.get(commit)
        assert.ok(note, `${commit} landed without its note`)
        assert.equal(note.payload.subject.commit, commit)
        assert.equal(note.payload.proof.completion.candidate.predecessor, values[at - 1])
        assert.equal(note.payload.acceptance.authority.authority.state.kind, 'consumed')
      }
      assert.equal(notes.size, values.length - 1, 'one note for each landing')
      const ids = [...notes.values()].map(({ payload }) => payload.acceptance.authority.authority.source.record_id)
      assert.equal(new Set(ids).size, ids.length, 'no authority is spent twice')
      assert.equal(s.read('r/f'), 'edited here\n')
      assert.equal(s.read('r/mine'), 'untracked\n')
      assert.equal(s.git('r', 'status', '--porcelain'), ' M f\n?? mine')
      for (const name of ['a', 'b', 'r']) assert.equal(s.git(name, 'for-each-ref', 'refs/worktree'), '', name)
      assert.equal(s.git('r', 'stash', 'list'), '')
      assert.equal(s.sh('r', 'ls .git/discern/completion/pending 2>/dev/null').out, '')
      t.diagnostic(`${values.length - 1} landings`)
    })
  }
})
