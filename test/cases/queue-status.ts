/** What `status` says of the queue, and at what cost. */
import assert from 'node:assert/strict'
import { readdirSync, rmSync } from 'node:fs'
import { describe, it } from 'node:test'
import { bundle, change, project } from '../support/project.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

/** The rows that status shows: branch, state and relation. */
const shown = async (s: Scratch, cwd: string, ...args: readonly string[]): Promise<readonly string[]> => {
  const before = snapshot(s.dir)
  const run = await s.discern(cwd, ['status', '--json', ...args], { env: { GIT_OPTIONAL_LOCKS: '0' } })
  assert.equal(run.exit, 0, run.out)
  assert.deepEqual(snapshot(s.dir), before)
  return run.data.queue.map(({ branch, state, relation }: Loose) => `${branch} ${state} ${relation}`)
}

const provenIn = async (s: Scratch, name: string): Promise<void> => {
  s.git('r', 'worktree', 'add', '-q', '-b', name, `../${name}`, 'main')
  s.write(`${name}/${name}`, '1\n')
  s.commit(name, name)
  assert.equal((await s.discern(name, ['done', '--json'])).result.ok, true)
}

/** Git processes of a command, counted by a `git` that is first on the PATH. */
const gitProcesses = (s: Scratch, cwd: string, ...args: readonly string[]): number => {
  const real = s.sh('.', 'command -v git').out.trim()
  rmSync(s.path('counted'), { recursive: true, force: true })
  s.write('counted/.keep', '')
  s.write('counting/git', `#!/bin/sh\n: >'${s.path('counted')}'/$$\nexec '${real}' "$@"\n`, 0o755)
  const run = s.exec(cwd, bundle[0], [bundle[1], ...args], {
    env: { PATH: `${s.path('counting')}:${s.env['PATH']}` },
  })
  assert.equal(run.exit, 0, run.err)
  return readdirSync(s.path('counted')).length - 1
}

describe('the queue in status', () => {
  it('is the own branch when it is ready, and all branches as soon as another one asks to land', async t => {
    const s = scratch(t)
    project(s)
    change(s, 'r', 'feat', { g: '2\n' })
    assert.deepEqual(await shown(s, 'r'), [])
    await s.discern('r', ['done', '--json'])
    assert.deepEqual(await shown(s, 'r'), ['feat ready selected'])
    assert.ok(gitProcesses(s, 'r', 'status') <= 8)
    const text = await s.discern('r', ['status'])
    assert.match(text.out, /^ {2}queue +feat: ready, checked out here, at [0-9a-f]{12}$/m)
    s.git('r', 'commit', '-q', '--allow-empty', '-m', 'more')
    assert.deepEqual(await shown(s, 'r'), ['feat ready ahead'], 'what was proven can still land')
    s.git('r', 'branch', '-q', '-f', 'main', s.commit('r', 'elsewhere'))
    s.git('r', 'reset', '-q', '--hard', 'HEAD~2')
    assert.deepEqual(await shown(s, 'r'), [], 'that the trunk moved on is said anyway')
    await provenIn(s, 'other')
    assert.deepEqual(new Set(await shown(s, 'r')), new Set(['feat landed behind', 'other ready ahead']))
    s.git('r', 'switch', '-q', '--detach', 'main')
    assert.deepEqual((await shown(s, 'r')).length, 2)
    await s.discern('other', ['grant', '--confirmed', '--json'])
    assert.match(
      (await s.discern('r', ['status'])).out,
      /other: ready, fast-forward, at .*; allowed by an effort grant$/m,
    )
    s.write('r/.git/discern/submission', '{"version":3}')
    const run = await s.discern('r', ['status', '--json'])
    assert.match(run.data.queue_unavailable[0].reason, /newer git discern \(format 3\)/)
    assert.match((await s.discern('r', ['status'])).out, /queue +what .*\/r asks to land cannot be read: /)
  })

  it('agrees with git discern queue on what is declared unmet, and is bounded', async t => {
    const s = scratch(t)
    project(s)
    s.write('r/discern.toml', `${s.read('r/discern.toml')}[checkpoints.risky]\npaths = ["x"]\nquestion = "Why?"\n`)
    s.commit('r', 'policy')
    for (let at = 0; at < 7; at += 1) await provenIn(s, `b${at}`)
    s.git('r', 'worktree', 'add', '-q', '-b', 'unmet', '../unmet', 'main')
    s.write('unmet/x', '1\n')
    s.commit('unmet', 'x')
    await s.discern('unmet', ['done', '--json'])
    await s.discern('unmet', ['done', '--unmet', 'risky', '--why', 'no time', '--json'], { now: new Date(0) })
    const queued = (await s.discern('r', ['queue', '--json'])).data.rows as Loose[]
    const run = await s.discern('r', ['status', '--json'])
    assert.equal(run.data.queue.length, 6)
    assert.equal(run.data.projection.omitted.queue, 2)
    assert.match((await s.discern('r', ['status'])).out, /queue +and 2 more: git discern queue$/m)
    const all = await s.discern('r', ['status', '--all', '--json'])
    assert.deepEqual(all.data.queue, queued)
    const unmet = queued.find(({ branch }) => branch === 'unmet')
    assert.match(unmet.pending[0].waits_for, /the owner's variance for risky/)
  })
})
