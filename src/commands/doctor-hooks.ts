/** What `doctor` tests about hooks: where git looks, what it finds there, and whether that can start (cases 1 to 9, 89). */
import { dirname, isAbsolute } from 'node:path'
import { atLeast } from '../git/hook-directory.ts'
import { hookProblems, missedHooks } from '../git/hooks.ts'
import { git } from '../git/run.ts'
import { MINIMUM_NODE_VERSION } from '../limits.ts'
import { type Check, type Finding, failed, ok, warning } from './doctor-check.ts'
import { type DoctorFacts, SMALL_PATH, startProgram } from './doctor-facts.ts'

/** States in which a hook of ours may still run; every other problem means that it does not. */
const MAY_RUN: readonly string[] = ['installed', 'chained-by-other', 'edited', 'other-version']

const WORDS: Readonly<Record<string, string>> = {
  installed: 'ours',
  'chained-by-other': 'ours, run by another manager',
}

/** What stands where git itself says that it would look. One git process. */
const standing = async ({ worktree, hooks }: DoctorFacts): Promise<readonly Finding[]> => {
  const problems = hookProblems(hooks).map(({ events, problem, next }) => {
    const states = hooks.events.filter(({ event }) => events.includes(event)).map(({ state }) => state)
    return states.every(state => MAY_RUN.includes(state)) ? warning(problem, next) : failed(problem, next)
  })
  if (problems.length > 0) return problems
  const questions = hooks.events.flatMap(({ event }) => ['--git-path', `hooks/${event}`])
  const asked = await git(worktree, ['rev-parse', '--path-format=absolute', ...questions])
  if (asked.exitCode !== 0)
    return [failed(`git cannot say where it looks for hooks: ${asked.stderr}`, 'git config core.hooksPath')]
  const places = asked.stdout.toString('utf8').split('\n')
  return hooks.events.map(({ event, path, state, detail }, at) => {
    if (!isAbsolute(path)) return ok(`${event}: ${path}`)
    const place = places[at] ?? ''
    // A directory whose name holds a newline has more lines than events; nothing is known against it then.
    if (dirname(place) !== dirname(path) && places.length === hooks.events.length + 1) {
      return failed(`git runs ${place || 'no file'} for ${event}, and ours is ${path}`, 'git discern refresh')
    }
    return ok(`${event}: ${WORDS[state] ?? state}${detail ? ` (${detail})` : ''}, ${path}`)
  })
}

const versionIn = (text: string): readonly number[] =>
  (/(\d+(?:\.\d+)*)/.exec(text)?.[1] ?? '').split('.').filter(Boolean).map(Number)

const OLDEST_NODE = MINIMUM_NODE_VERSION.join('.')

/** Whether each recorded Node starts with the PATH of a program that has a window. One process, or two, for each. */
const node = async (facts: DoctorFacts): Promise<readonly Finding[]> =>
  Promise.all(
    [...new Set(facts.recorded.map(({ node }) => node))].map(async path => {
      const recorded = await startProgram(facts, path, '--version', SMALL_PATH)
      const version = versionIn(recorded.said)
      if (recorded.ok && atLeast(version, MINIMUM_NODE_VERSION)) return ok(`${recorded.said} at ${path}`)
      if (recorded.ok) {
        return failed(
          `the hooks start ${path}, which is ${recorded.said}; ${OLDEST_NODE} or newer is needed`,
          'install a newer Node.js, then: git discern refresh',
        )
      }
      const other = await startProgram(facts, 'node', '--version')
      const gone = `the Node that the hooks name does not start: ${path}: ${recorded.said}`
      return other.ok && atLeast(versionIn(other.said), MINIMUM_NODE_VERSION)
        ? warning(
            `${gone}; they use the one on the PATH, which a program with a window may not have`,
            'git discern refresh',
          )
        : failed(gone, `install Node.js ${OLDEST_NODE} or newer, then: git discern refresh`)
    }),
  )

/** Hooks that a person wrote call whatever `git discern` is on the PATH. One process. */
const byHand = async (facts: DoctorFacts): Promise<readonly Finding[]> => {
  if (!facts.hooks.events.some(({ state }) => state === 'installed')) return []
  const { ok: answered, said } = await startProgram(facts, 'git-discern', '--version')
  return [
    answered
      ? ok(`${said} on the PATH`)
      : failed(
          `the hooks call git discern, and the PATH has none that answers: ${said}`,
          'put git-discern on the PATH',
        ),
  ]
}

/** Whether each recorded launcher answers, started as the hooks start it. One process, or two, for each. */
const launcher = async (facts: DoctorFacts): Promise<readonly Finding[]> => {
  if (facts.recorded.length === 0) return byHand(facts)
  return Promise.all(
    facts.recorded.map(async recorded => {
      const path = recorded.launcher
      const extra = { ...SMALL_PATH, DISCERN_NODE: recorded.node }
      const started = await startProgram(facts, path, '--version', extra)
      if (started.ok && /^git-discern \d/.test(started.said)) return ok(`${started.said} at ${path}`)
      const other = await startProgram(facts, 'git-discern', '--version')
      const gone = `the git discern that the hooks name does not answer: ${path}: ${started.said}`
      return other.ok && /^git-discern \d/.test(other.said)
        ? warning(`${gone}; they use the one on the PATH`, 'git discern refresh')
        : failed(gone, 'install git discern again, then: git discern refresh')
    }),
  )
}

const missed = async ({ worktree }: DoctorFacts): Promise<readonly Finding[]> => {
  const lines = await missedHooks(worktree)
  if (lines.length === 0) return [ok('no hook was missed')]
  const counts = new Map<string, number>()
  for (const line of lines) {
    const event = line.split(' ', 1)[0] ?? line
    counts.set(event, (counts.get(event) ?? 0) + 1)
  }
  const list = [...counts].map(([event, count]) => `${event} ${count === 1 ? 'once' : `${count} times`}`).join(', ')
  return [warning(`hooks found no Node or no git discern: ${list}`, 'git discern refresh')]
}

export const hookChecks: readonly Check[] = [
  { name: 'hooks', tests: 'does git run our hooks in this worktree?', run: standing },
  { name: 'node', tests: `does the Node that the hooks name start, and is it ${OLDEST_NODE} or newer?`, run: node },
  { name: 'launcher', tests: 'does the git discern that the hooks name answer?', run: launcher },
  { name: 'missed hooks', tests: 'did a hook fail to start?', run: missed },
]
