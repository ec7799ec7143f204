/** What `setup` and `refresh` have in common: the hooks and the fetch mapping, made as they should be and told line by line. */
import { basename, dirname } from 'node:path'
import type { Context } from '../context.ts'
import { deliveryMapping, keepDeliveriesWired } from '../delivery/mapping.ts'
import { Refusal } from '../errors.ts'
import { type ConfigEntry, configValues, readConfig, remoteNames } from '../git/config.ts'
import {
  type HookAction,
  type HooksOutcome,
  hookProblems,
  inspectHooks,
  installHooks,
  type Programs,
  touchHookStamp,
} from '../git/hooks.ts'
import { NOTES_REF } from '../git/notes.ts'
import { displayPath } from '../git/path.ts'
import type { Worktree } from '../git/repository.ts'
import { mayCarryMapping } from '../proof/refspec.ts'
import { canonicalMapping, type MappingResult, reconcileMapping } from '../proof/remote.ts'
import type { Advisory, Step, StepKind } from '../result.ts'
import { mappingAdvisories } from './advise.ts'

/** Who runs in the hooks that this program writes. */
export const programsOf = ({ node, launcher, version }: Context): Programs => ({ node, launcher, version })

type Told = Pick<Step, 'disposition' | 'outcome' | 'note'>

const did = (note: string): Told => ({ disposition: 'run', outcome: 'ok', note })
const right = (note: string): Told => ({ disposition: 'skip', outcome: 'ok', note })
const left = (note: string): Told => ({ disposition: 'skip', outcome: 'skipped', note })
const broken = (note: string): Told => ({ disposition: 'run', outcome: 'failed', note })

/** One line of what was done. A plan has no outcomes. */
export const tell = (kind: StepKind, label: string, { outcome, ...told }: Told, dryRun: boolean): Step => ({
  kind,
  label,
  ...told,
  ...(dryRun || outcome === undefined ? {} : { outcome }),
})

export const told = { did, right, left, broken } as const

/** What each action means to a person; one row for each. */
const HOOK_WORDS: Readonly<Record<HookAction['action'], (action: HookAction) => Told>> = {
  unchanged: ({ detail }) => right(detail ? `unchanged (${detail})` : 'unchanged'),
  installed: ({ path }) => did(`installed in ${displayPath(dirname(path))}`),
  chained: ({ path }) => did(`installed in ${displayPath(dirname(path))}; the hook that stood there runs first`),
  updated: () => did('written anew'),
  'moved-aside': ({ path, detail }) => did(`kept as ${displayPath(basename(path))}${detail ? `: ${detail}` : ''}`),
  removed: ({ path }) => did(`removed ${displayPath(path)}`),
  restored: ({ path }) => did(`put back what stood there: ${displayPath(path)}`),
  left: ({ path, detail }) => left(`left alone: ${displayPath(path)}${detail ? ` (${detail})` : ''}`),
}

/** The lines about hooks, in the order they happened. */
export const hookSteps = (kind: StepKind, { actions, obstacle }: HooksOutcome, dryRun: boolean): readonly Step[] => [
  ...actions.map(action => tell(kind, `hook ${action.event}`, HOOK_WORDS[action.action](action), dryRun)),
  ...(obstacle ? [tell(kind, 'hooks', left(`not installed: ${obstacle.reason}`), dryRun)] : []),
]

/** The lines about what a fetch brings, one for each remote. `entries` are as they are now. */
export const mappingSteps = (
  kind: StepKind,
  entries: readonly ConfigEntry[],
  { mode, added, removed, errors }: MappingResult,
  dryRun: boolean,
): readonly Step[] => {
  const say = (remote: string, what: Told): Step => tell(kind, `fetch from ${remote}`, what, dryRun)
  const changed = new Set([...added, ...removed, ...errors.map(({ remote }) => remote)])
  const steps = [
    ...removed.map(remote => say(remote, did('brings no Proof notes any more: the mapping was removed'))),
    ...added.map(remote => say(remote, did(`brings Proof notes: added ${canonicalMapping(remote)}`))),
    ...remoteNames(entries).flatMap(remote =>
      changed.has(remote) ? [] : [say(remote, standingMapping(entries, remote, mode))],
    ),
    ...errors.map(({ remote, reason }) => say(remote, broken(`the mapping could not be reconciled: ${reason}`))),
  ]
  if (steps.length > 0) return steps
  return [tell(kind, 'fetch', right('there is no remote; a mapping is added once there is one'), dryRun)]
}

/** The same about deliveries; nothing where nothing was to be done. */
const deliverySteps = (kind: StepKind, fetch: MappingResult | undefined, dryRun: boolean): readonly Step[] => {
  const say = (remote: string, what: Told): Step => tell(kind, `deliveries of ${remote}`, what, dryRun)
  return [
    ...(fetch?.removed ?? []).map(remote => say(remote, did('are not fetched any more: the mapping was removed'))),
    ...(fetch?.added ?? []).map(remote => say(remote, did(`are fetched: added ${deliveryMapping(remote)}`))),
    ...(fetch?.errors ?? []).map(({ remote, reason }) =>
      say(remote, broken(`the mapping could not be reconciled: ${reason}`)),
    ),
  ]
}

/** Why a remote has the mapping that it has. */
const standingMapping = (entries: readonly ConfigEntry[], remote: string, mode: 'local' | 'fetch'): Told => {
  const mapped = configValues(entries, `remote.${remote}.fetch`).includes(canonicalMapping(remote))
  if (mode === 'local') {
    return left(mapped ? 'left alone: the mapping is not ours' : 'left alone: [repository].proof_notes_mode is "local"')
  }
  if (mapped) return right('unchanged: brings Proof notes')
  return left(
    mayCarryMapping(entries, remote)
      ? 'left alone'
      : 'left alone: it is a mirror, or has no fetch line of its own, and our mapping alone would change what it brings',
  )
}

/** The hooks as `data` has them. */
export const hooksData = ({ mechanism, actions, obstacle }: HooksOutcome): object => ({
  mechanism,
  actions: actions.map(action => ({ ...action, path: displayPath(action.path) })),
  ...(obstacle ? { obstacle } : {}),
})

/** How Proof notes are written and fetched here (document 000). Writing needs no setting up: `accept` does it in this repository. */
export const proofNoteData = (fetch: MappingResult): object => ({ write: { status: 'local', ref: NOTES_REF }, fetch })

/** The fetch keys whose values are other than they were (facts 11.4). */
const changedKeys = (before: readonly ConfigEntry[], now: readonly ConfigEntry[]): readonly string[] => {
  const keys = new Set([...before, ...now].map(({ key }) => key).filter(key => /^remote\..+\.fetch$/.test(key)))
  const values = (entries: readonly ConfigEntry[], key: string): string => configValues(entries, key).join('\0')
  return [...keys].filter(key => values(before, key) !== values(now, key)).sort()
}

export interface Converged {
  readonly hooks: HooksOutcome
  /** Fetch keys that were changed, or would be. */
  readonly changed: readonly string[]
  readonly fetch: MappingResult
  readonly steps: readonly Step[]
  readonly advisories: readonly Advisory[]
}

export interface ConvergeRequest {
  readonly kind: StepKind
  readonly mode: 'local' | 'fetch'
  /** Absolute; see `installHooks`. */
  readonly hooksDir: string | undefined
  readonly dryRun: boolean
}

/** A place that cannot be written to is one more reason why everything but the hooks is set up. */
const install = async (...call: Parameters<typeof installHooks>): Promise<HooksOutcome> => {
  try {
    return await installHooks(...call)
  } catch (error) {
    if (!(error instanceof Refusal) || error.slug !== 'write_access') throw error
    const [first = 'git discern doctor', ...others] = error.next
    return { mechanism: 'none', actions: [], obstacle: { reason: error.message, choices: [first, ...others] } }
  }
}

/**
 * Installs or chains the hooks and reconciles the fetch mapping, then asks again what git would run (case 1). Writes nothing
 * in a dry run. Hooks that cannot be installed are a value: everything else is done all the same (case 3).
 */
export const converge = async (
  context: Context,
  worktree: Worktree,
  entries: readonly ConfigEntry[],
  { kind, mode, hooksDir, dryRun }: ConvergeRequest,
): Promise<Converged> => {
  const programs = programsOf(context)
  const hooks = await install(worktree, entries, { ...programs, hooksDir, dryRun })
  const fetch = await reconcileMapping(worktree, entries, mode, { removeWhenLocal: true, dryRun })
  const now = dryRun ? entries : await readConfig(worktree)
  const planned = [...fetch.added, ...fetch.removed].map(remote => `remote.${remote}.fetch`).sort()
  const deliveries = await keepDeliveriesWired(worktree, now, dryRun)
  if (!dryRun) await touchHookStamp(worktree)
  const problems = dryRun || hooks.obstacle ? [] : hookProblems(await inspectHooks(worktree, now, programs))
  return {
    hooks,
    fetch,
    changed: dryRun ? planned : changedKeys(entries, now),
    steps: [
      ...hookSteps(kind, hooks, dryRun),
      ...mappingSteps(kind, now, fetch, dryRun),
      ...deliverySteps(kind, deliveries, dryRun),
    ],
    advisories: [
      ...problems.map(
        ({ problem, next }) => ({ kind: 'hooks-unavailable', evidence: problem, next_action: next }) as const,
      ),
      ...mappingAdvisories(now),
      ...fetch.errors.map(
        ({ remote, reason }) =>
          ({
            kind: 'notes-mapping-failed',
            evidence: `the fetch mapping of ${remote} could not be reconciled: ${reason}`,
            next_action: 'git discern refresh',
          }) as const,
      ),
    ],
  }
}
