/** What the state of the hooks means to a person: sentences and what to type next. Pure. */
import { join } from 'node:path'
import { quoted } from '../escape.ts'
import type { HooksDirectory } from './hook-directory.ts'
import type { HookInspection } from './hook-slot.ts'
import { HOOK_EVENTS, type HookEvent } from './hook-stub.ts'

export interface HooksInspection {
  /** One per repository: files in the hooks directory, or definitions in the configuration (git 2.54 and newer). */
  readonly mechanism: 'files' | 'config' | 'none'
  readonly directory: HooksDirectory
  /** An installation of this repository wrote into that directory, so the next one may. */
  readonly optedIn: boolean
  readonly events: readonly HookInspection[]
}

/** Why hooks cannot be installed here, in one sentence, and what to do about it; made for `hooks_not_installed`. */
export interface HooksObstacle {
  readonly reason: string
  readonly choices: readonly [string, ...string[]]
}

/** Why nothing can be installed where git looks, unless hooks run there already. */
export const obstacleOf = ({ directory, optedIn, events }: HooksInspection): HooksObstacle | undefined => {
  const { kind, path, setBy } = directory
  const set = `core.hooksPath (${setBy?.value}, set in ${setBy?.where})`
  switch (kind) {
    case 'default':
    case 'own':
    case 'work-tree-ignored':
      return undefined
    case 'missing':
      return {
        reason: `hooks are off in this worktree: ${set} leads to ${path}, which is no directory`,
        choices: [
          `let the tool that made it make it here too, or clear the setting: ${setBy?.clear}`,
          'then: git discern refresh',
        ],
      }
    case 'foreign':
      if (optedIn || events.every(({ state }) => state === 'installed')) return undefined
      return {
        reason: `${set} names ${path}, which lies outside this repository and is left alone`,
        choices: [
          `git discern setup --hooks-dir ${quoted(path)}   # writes there on purpose; it then runs in every repository that uses it`,
          'with git 2.54 or newer: git discern setup   # defines the hooks in this repository alone',
        ],
      }
    case 'work-tree-tracked':
      if (optedIn || events.every(({ event, state }) => state === 'installed' || !BY_HAND.includes(event)))
        return undefined
      return {
        reason: `${set} names ${path}, whose files belong to the project; writing there would change the work tree`,
        choices: [
          `add this line to ${join(path, 'post-merge')}: git discern hook post-merge "$@"`,
          `add this line to ${join(path, 'post-rewrite')}: git discern hook post-rewrite "$@"`,
        ],
      }
  }
}

/** The hooks that a project can keep itself. Not reference-transaction: a line there would start us for every ref. */
const BY_HAND: readonly HookEvent[] = ['post-merge', 'post-rewrite']

/** One thing about the hooks that a person should know. */
export interface HooksProblem {
  readonly events: readonly HookEvent[]
  readonly problem: string
  readonly next: string
}

/** What is wrong with the hooks, most important first; empty when they run. Pure. */
export const hookProblems = (inspection: HooksInspection): readonly HooksProblem[] => {
  const { directory, optedIn, events } = inspection
  const obstacle = inspection.mechanism === 'config' ? undefined : obstacleOf(inspection)
  if (obstacle) return [{ events: HOOK_EVENTS, problem: obstacle.reason, next: obstacle.choices.join('; ') }]
  const wrong = events.filter(({ event, state }) => {
    const heard = state === 'installed' || state === 'chained-by-other'
    return !heard && !(directory.kind === 'work-tree-tracked' && !optedIn && !BY_HAND.includes(event))
  })
  return [...ROWS].flatMap(([state, [problem, next]]) => {
    const found = wrong.filter(event => event.state === state)
    const [first] = found
    if (first === undefined) return []
    const names = found.map(({ event }) => event).join(', ')
    return [{ events: found.map(({ event }) => event), problem: `hooks: ${problem(names, first)}`, next: next(first) }]
  })
}

type Say = (names: string, first: HookInspection) => string

/** One row for each state that is wrong, most important first. */
const ROWS: ReadonlyMap<HookInspection['state'], readonly [Say, (first: HookInspection) => string]> = new Map([
  [
    'displaced',
    [(names, { detail }) => `${detail ?? 'displaced by another manager'} (${names})`, () => 'git discern refresh'],
  ],
  [
    'blocked',
    [
      (names, { path, detail }) => `git can run no ${names} hook: ${path} is ${detail}`,
      ({ path }) => `move ${path} away, then: git discern refresh`,
    ],
  ],
  [
    'edited',
    [
      (names, { path, detail }) => `${names} is left alone: ${path} ${detail ?? 'was edited after it was installed'}`,
      ({ path }) => `put it right, or move ${path} away, then: git discern refresh`,
    ],
  ],
  ['other-version', [(names, { detail }) => `${names}: ${detail}`, () => 'git discern refresh']],
  ['absent', [names => `not installed (${names})`, () => 'git discern setup']],
])
