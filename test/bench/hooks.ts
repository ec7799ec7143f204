/** What our hooks cost plain git when there is nothing of ours to do (design 5). */
import { chmodSync, cpSync, rmSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { hook, install } from '../cases/hooks-driver.ts'
import { Scratch } from '../support/scratch.ts'
import { compare, type Row, type Subject } from './measure.ts'

const TIMES = 50

/** One shell that starts the same thing many times: a single start is too short to be timed from outside. */
const repeated = (s: Scratch, call: string): Subject => ({
  command: 'sh',
  args: ['-c', `count=0; while [ $count -lt ${TIMES} ]; do ${call}; count=$((count + 1)); done`],
  cwd: s.path('r'),
  env: s.env,
})

/** A fresh clone without its refs, with the hooks of `from`, before each fetch. */
const fetching = (s: Scratch, name: string, from: string): Subject => ({
  command: 'git',
  args: ['fetch', '-q', 'origin'],
  cwd: s.path(name),
  env: s.env,
  before: () => {
    rmSync(s.path(name), { recursive: true, force: true })
    cpSync(s.path(from), s.path(name), { recursive: true })
  },
})

/** Each row: ours, the reference, and the budget of the design. Starts no Node in either. */
export const hookRows = async (runs = 15): Promise<readonly Row[]> => {
  const ends: (() => void)[] = []
  const s = new Scratch({ after: (end: () => void) => ends.push(end) } as unknown as TestContext)
  try {
    s.init('r')
    s.write('r/discern.toml', `[project]\nname = "x"\n${'# a line of an ordinary configuration file\n'.repeat(60)}`)
    await install(s, 'r')
    const rows = [
      ['idle post-merge', '.git/hooks/post-merge 0'],
      ['idle post-rewrite', '.git/hooks/post-rewrite amend </dev/null'],
      ['reference-transaction, prepared', '.git/hooks/reference-transaction prepared </dev/null'],
      ['reference-transaction, committed, another ref', '.git/hooks/reference-transaction committed <../line'],
    ] as const
    s.write('line', `${'0'.repeat(40)} ${'1'.repeat(40)} refs/remotes/origin/a-branch\n`)
    const idle = rows.map(([name, call]) =>
      compare(`${name}, ${TIMES} times`, repeated(s, call), repeated(s, 'sh -c :'), 3, 'sh -c :', runs),
    )
    s.init('up')
    const head = s.git('up', 'rev-parse', 'HEAD')
    s.exec('up', 'git', ['update-ref', '--stdin'], {
      input: Array.from({ length: 200 }, (_, at) => `create refs/heads/b${at} ${head}\n`).join(''),
    })
    for (const name of ['ours', 'bare']) {
      s.git('.', 'init', '-q', name)
      s.git(name, 'remote', 'add', 'origin', '../up')
    }
    await install(s, 'ours')
    chmodSync(hook(s, 'bare/.git/hooks/reference-transaction', 'exit 0'), 0o755)
    const fetched = compare(
      'git fetch of 200 unrelated refs',
      fetching(s, 'one', 'ours'),
      fetching(s, 'two', 'bare'),
      1.1,
      'the same with a bare `exit 0` hook',
      runs,
    )
    return [...idle, fetched]
  } finally {
    for (const end of ends) end()
  }
}
