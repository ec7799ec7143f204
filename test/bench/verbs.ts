/** What our verbs cost: start, status, and done around trivial jobs (design 5), and how many git processes they start. */
import { readdirSync, rmSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { bundle, change, project } from '../support/project.ts'
import { launcher, projectRoot, Scratch } from '../support/scratch.ts'
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

/** The hook after an amend, in a clone of this project whose branch owes an answer that was asked for. */
const owingHook = async (s: Scratch): Promise<Subject> => {
  s.git('.', 'clone', '-q', projectRoot, 'self')
  s.git('self', 'config', 'user.name', 'Dev')
  s.git('self', 'config', 'user.email', 'dev@example.com')
  const trunk = s.git('self', 'symbolic-ref', '--short', 'HEAD')
  await s.discern('self', ['setup', '--json'])
  s.git('self', 'switch', '-q', '-c', 'feat')
  s.write('self/schema/more.json', '{}\n')
  s.commit('self', 'a schema')
  const env = { DISCERN_TRUNK: trunk }
  const { result } = await s.discern('self', ['done', '--json'], { env })
  if (result.error !== 'awaiting_declaration') throw new Error(`expected a question, found ${JSON.stringify(result)}`)
  const hook = subject(s, 'self', ['sh', '-c', '.git/hooks/post-rewrite amend </dev/null'])
  const run = s.exec('self', hook.command, hook.args, { env: { ...hook.env, ...env } })
  if (!run.err.includes('contract-compatible')) throw new Error(`the hook said: ${run.err}`)
  return { ...hook, env: { ...hook.env, ...env } }
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
      // 150 ms where `node -e 0` takes 75.
      compare('hook that says what is owed, in this project', await owingHook(s), node, 2, 'node -e 0', runs),
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
