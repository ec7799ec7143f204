/** What our verbs cost: start, status, and done around trivial jobs (design 5), and how many git processes they start. */
import { readdirSync, rmSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { bundle, change, project } from '../support/project.ts'
import { launcher, Scratch } from '../support/scratch.ts'
import { compare, type Row, type Subject } from './measure.ts'

/** A count that must not be passed, such as git processes. */
export interface Count {
  readonly name: string
  readonly count: number
  readonly budget: number
}

const NODE = [process.execPath, '-e', '0'] as const

const subject = (s: Scratch, cwd: string, argv: readonly string[]): Subject => ({
  command: argv[0] ?? '',
  args: argv.slice(1),
  cwd: s.path(cwd),
  // Both sides see the environment of whoever measures, as a person's commands do.
  env: { ...(process.env as Record<string, string>), ...s.env, PATH: process.env['PATH'] ?? s.env['PATH'] ?? '' },
})

/** How many times a command of ours starts git, counted by a `git` that is first on the PATH. */
const gitProcesses = (s: Scratch, cwd: string, args: readonly string[]): number => {
  const real = s.sh('.', 'command -v git').out.trim()
  rmSync(s.path('counted'), { recursive: true, force: true })
  s.write('counted/.keep', '')
  s.write('counting/git', `#!/bin/sh\n: >'${s.path('counted')}'/$$\nexec '${real}' "$@"\n`, 0o755)
  const run = s.exec(cwd, bundle[0], [bundle[1], ...args], {
    env: { PATH: `${s.path('counting')}:${s.env['PATH']}` },
  })
  if (run.exit !== 0) throw new Error(`${args.join(' ')}: ${run.err}${run.out}`)
  return readdirSync(s.path('counted')).length - 1
}

export const verbRows = async (
  runs = 12,
): Promise<{ readonly rows: readonly Row[]; readonly counts: readonly Count[] }> => {
  const ends: (() => void)[] = []
  const s = new Scratch({ after: (end: () => void) => ends.push(end) } as unknown as TestContext)
  try {
    project(s)
    s.git('r', 'config', 'user.name', 'Dev')
    await s.discern('r', ['setup', '--json'])
    change(s, 'r', 'feat', { g: '2\n' })
    await s.discern('r', ['done', '--json'])
    const node = subject(s, 'r', NODE)
    const ours = (...args: string[]): Subject => subject(s, 'r', [launcher, ...args])
    const rows = [
      compare('git discern --version', ours('--version'), node, 1.25, 'node -e 0', runs),
      compare('git discern status, small repository', ours('status'), node, 1.7, 'node -e 0', runs),
      compare('git discern done around one trivial job', ours('done', '--rerun'), node, 4, 'node -e 0', runs),
    ]
    const counts = [
      { name: 'git processes of status', count: gitProcesses(s, 'r', ['status']), budget: 8 },
      { name: 'git processes of done', count: gitProcesses(s, 'r', ['done', '--rerun']), budget: 25 },
    ]
    return { rows, counts }
  } finally {
    for (const end of ends) end()
  }
}
