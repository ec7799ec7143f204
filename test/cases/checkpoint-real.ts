/**
 * Every trigger field alone and in pairs, and random histories, through the verb and real repositories. What is expected comes
 * from slow questions to git, file by file, and from the oracle that reads the table of facts 2.3 aloud.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { ChangedFile } from '../../src/change/facts.ts'
import type { World } from '../support/checkpoint.ts'
import { oracle, POOL, type Spec } from '../support/oracle.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'

type Entry = Spec['entry']

/** One setting or more of each field. */
const SETTINGS: readonly Entry[] = [
  { paths: ['src/**'] },
  { paths: ['*.md', 'a.ts'] },
  { paths: ['docs/r.md'] },
  { include_generated: true },
  { exclude_paths: ['src/**'] },
  { exclude_paths: ['*.md', 'new/'] },
  { kinds: ['added'] },
  { kinds: ['modified', 'deleted'] },
  { adds_matching: ['foo'] },
  { removes_matching: ['bar'] },
  { new_directory: true },
  { binary: true },
  { binary: false },
  { similar_new_file: true },
  { unless_changed: ['docs/r.md'] },
  { unless_changed: ['a.ts'] },
  { min_changed_files: 3 },
  { min_changed_lines: 60 },
  { deletion_dominant: true },
  { min_commits: 2 },
]

const pairs: readonly Entry[] = SETTINGS.flatMap((left, at) =>
  SETTINGS.slice(at + 1)
    .filter(right => Object.keys(right).every(key => !(key in left)))
    .map(right => ({ ...left, ...right })),
)

const toml = (value: unknown): string =>
  Array.isArray(value)
    ? `[${value.map(toml).join(', ')}]`
    : typeof value === 'string'
      ? JSON.stringify(value)
      : String(value)

const configuration = (entries: readonly Entry[]): string =>
  [
    '[repository]\ntrunk = "main"\n[generated.g]\npaths = ["gen/**"]\n',
    ...entries.map(
      (entry, at) =>
        `[checkpoints.c${at}]\nquestion = "?"\n${Object.entries(entry)
          .map(([key, value]) => `${key} = ${toml(value)}`)
          .join('\n')}\n`,
    ),
  ].join('\n')

/** What the work tree differs by, asked of git path by path and of the files themselves. */
const observe = (s: Scratch): { readonly files: readonly ChangedFile[]; readonly world: World } => {
  const ask = (...args: string[]): string => s.git('r', '-c', 'core.quotePath=false', ...args)
  const list = (text: string): readonly string[] => text.split('\n').filter(Boolean)
  const base = list(ask('ls-tree', '-r', '--name-only', 'main'))
  const untracked = list(ask('ls-files', '--others', '--exclude-standard'))
  const tracked = list(ask('diff', '--name-only', '--no-renames', 'main'))
  const linesOf: Record<string, { added: string[]; removed: string[] }> = {}
  const files = [...tracked, ...untracked].map((path): ChangedFile => {
    const content = (spec: () => Buffer): Buffer | undefined => {
      try {
        return spec()
      } catch {
        return undefined
      }
    }
    const old = base.includes(path)
      ? Buffer.from(s.exec('r', 'git', ['show', `main:${path}`]).out, 'latin1')
      : undefined
    const now = content(() => readFileSync(join(s.path('r'), path)))
    const binary = [old, now].some(bytes => bytes?.subarray(0, 8000).includes(0))
    const patch = untracked.includes(path)
      ? (now?.toString('utf8') ?? '')
          .split('\n')
          .filter(Boolean)
          .map(line => `+${line}`)
      : ask('diff', '--no-renames', '-U0', 'main', '--', path)
          .split('\n')
          .filter((_, at, all) => at > all.findIndex(line => line.startsWith('@@')))
    const added = binary ? [] : patch.filter(line => line.startsWith('+')).map(line => line.slice(1))
    const removed = binary ? [] : patch.filter(line => line.startsWith('-')).map(line => line.slice(1))
    linesOf[path] = { added, removed }
    return {
      path,
      kind: old === undefined ? 'added' : now === undefined ? 'deleted' : 'modified',
      insertions: added.length,
      deletions: removed.length,
      binary: { known: binary },
    }
  })
  const commits = Number(ask('rev-list', '--count', 'main..HEAD'))
  return {
    files,
    world: { base: base.filter(path => POOL.includes(path) || path.includes('/')), lines: linesOf, commits },
  }
}

const found = (checkpoint: Loose): string => {
  const { preview } = checkpoint
  if (!preview) return `? ${checkpoint.obligation}`
  if (!preview.holds) return `-${preview.vetoed_by}`
  return `+${preview.matched.join(' ')}`
}

/** The oracle names related paths as well; the verb shows their other side only. */
const withoutRelated = (decision: string): string =>
  decision
    .split(' ')
    .filter(word => !word.includes('~'))
    .join(' ')

const compare = async (s: Scratch, entries: readonly Entry[]): Promise<ReadonlyMap<string, number>> => {
  const { files, world } = observe(s)
  const run = await s.discern('r', ['checkpoints', '--json'])
  assert.equal(run.data.checkpoints.length, entries.length, run.out.slice(0, 400))
  const seen = new Map<string, number>()
  for (const [at, entry] of entries.entries()) {
    const expected = withoutRelated(oracle({ entry, files, world }))
    assert.equal(found(run.data.checkpoints[at]), expected, JSON.stringify({ entry, files }))
    const kind = expected.startsWith('-') ? expected : '+'
    seen.set(kind, (seen.get(kind) ?? 0) + 1)
  }
  return seen
}

const text = (count: number, word: string): string =>
  Array.from({ length: count }, (_, at) => `${word} ${at}\n`).join('')

describe('every trigger field in real repositories', () => {
  it('alone and in pairs decides committed, staged, unstaged and untracked changes as the oracle reads them', async t => {
    const s = scratch(t)
    const entries = [...SETTINGS, ...pairs]
    s.git('.', 'init', '-q', 'r')
    s.write('r/discern.toml', configuration(entries))
    for (const [path, body] of Object.entries({
      'a.ts': text(70, 'bar'),
      'src/a.ts': text(3, 'x'),
      'src/x/b.md': 'one\n',
      'docs/r.md': text(60, 'old'),
      'gen/g.ts': text(5, 'gen'),
    })) {
      s.write(`r/${path}`, body)
    }
    s.commit('r', 'base')
    s.git('r', 'switch', '-q', '-c', 'feat')
    s.write('r/new/c.ts', 'foo in a new folder\n')
    s.write('r/gen/g.ts', text(50, 'regenerated foo'))
    s.commit('r', 'committed')
    s.write('r/docs/r.md', 'short\n')
    s.commit('r', 'deletes much')
    s.write('r/src/a_v2.ts', 'foo beside\n')
    s.git('r', 'add', '-A')
    s.write('r/src/a.ts', 'x 0\nfoo\n')
    s.write('r/new/s/d.md', 'untracked foo\n')
    s.write('r/docs/r-old.md', Buffer.from([0x66, 0x00, 0x66]))
    s.git('r', 'rm', '-q', 'src/x/b.md')
    const seen = await compare(s, entries)
    for (const kind of [
      '+',
      '-kinds',
      '-adds_matching',
      '-removes_matching',
      '-new_directory',
      '-unless_changed',
      '-deletion_dominant',
      '-similar_new_file',
    ]) {
      assert.ok((seen.get(kind) ?? 0) > 0, `${kind} never happened: ${JSON.stringify([...seen])}`)
    }
    // What was staged, left in the work tree or untracked decides the same once it is committed.
    s.commit('r', 'the rest')
    s.git('r', 'reset', '-q', '--soft', 'HEAD~1')
    s.git('r', 'commit', '-q', '-m', 'the rest')
    await compare(s, entries)
  })

  it('agrees with the oracle on random histories', async t => {
    const bodies = fc.constantFrom('', 'foo\n', 'bar\n', 'foo\nbarn\n', text(60, 'zoo'), 'a\u0000b')
    const tree = fc.tuple(...POOL.map(() => fc.option(bodies, { freq: 2 })))
    const settings = fc.array(fc.integer({ min: 0, max: SETTINGS.length + pairs.length - 1 }), {
      minLength: 30,
      maxLength: 60,
    })
    const pool = [...SETTINGS, ...pairs]
    const history = fc.record({
      base: tree,
      commits: fc.array(tree, { minLength: 1, maxLength: 3 }),
      worktree: tree,
      settings,
    })
    await fc.assert(
      fc.asyncProperty(history, async ({ base, commits, worktree, settings }) => {
        const s = scratch(t)
        const entries = settings.map(at => pool[at] ?? {})
        s.git('.', 'init', '-q', 'r')
        const put = (bodiesOf: readonly (string | null)[]): void => {
          for (const [at, path] of POOL.entries()) {
            const body = bodiesOf[at]
            if (body === null || body === undefined) s.sh('r', `rm -f '${path}'`)
            else s.write(`r/${path}`, body)
          }
        }
        s.write('r/discern.toml', configuration(entries))
        put(base)
        s.commit('r', 'base')
        s.git('r', 'switch', '-q', '-c', 'feat')
        for (const [at, one] of commits.entries()) {
          put(one)
          s.commit('r', `commit ${at}`)
        }
        put(worktree)
        // A path that left the index and still lies there is one decision of its own, tested elsewhere.
        s.git(
          'r',
          'add',
          '-A',
          '--',
          ...POOL.filter(
            (path, at) =>
              base[at] !== null &&
              s.tryGit('r', 'ls-files', '--error-unmatch', path).exit + (worktree[at] === null ? 1 : 0) < 2,
          ),
        )
        await compare(s, entries)
      }),
      { numRuns: 12 },
    )
  })
})
