/** What every verb looks at first, read once: the checkout, the configuration of git and of the project, the refs, the trunk. */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { type ConfigEntry, readConfig, remoteNames } from '../git/config.ts'
import { LOCAL_NOTES_REF, NOTES_REF, OVERWRITTEN_NOTES_REF } from '../git/notes.ts'
import { type Ref, readRefs, shortBranch } from '../git/refs.ts'
import { openWorktree, type Worktree } from '../git/repository.ts'
import { operationInProgress, type WorktreeState, worktreeState } from '../git/worktrees.ts'
import type { Configuration } from '../policy/definition.ts'
import { CONFIG_FILE, readLiveConfiguration } from '../policy/read.ts'
import { resolveTrunk, type Trunk } from '../policy/trunk.ts'

export interface Situation {
  readonly worktree: Worktree
  readonly entries: readonly ConfigEntry[]
  readonly refs: ReadonlyMap<string, Ref>
  /** The live `discern.toml`, or `undefined` when the project has none. */
  readonly configuration: Configuration | undefined
  readonly state: WorktreeState
  readonly trunk: Trunk
}

/**
 * The patterns that matter. With a configured trunk no other branch is read, so that the cost does not grow with the number
 * of branches.
 */
const patterns = (trunk: string | undefined, remotes: readonly string[]): readonly string[] => [
  NOTES_REF,
  LOCAL_NOTES_REF,
  OVERWRITTEN_NOTES_REF,
  ...remotes.map(remote => `refs/discern/remotes/${remote}/notes`),
  ...remotes.map(remote => `refs/remotes/${remote}/HEAD`),
  ...(trunk === undefined
    ? ['refs/heads/', 'refs/remotes/']
    : [`refs/heads/${trunk}`, ...remotes.map(remote => `refs/remotes/${remote}/${trunk}`)]),
]

/** A situation in which git may still be looking for uncommitted changes, the one answer whose cost grows with the repository. */
export interface Opening extends Omit<Situation, 'state'> {
  readonly state: Promise<WorktreeState>
}

/** Reads everything but the state of the work tree, which it only starts to read. Otherwise as `readSituation`. `signal` as in `Place`. */
export const openSituation = async (context: Context, signal?: AbortSignal): Promise<Opening> => {
  const worktree = await openWorktree(context, signal)
  const state = worktreeState(worktree)
  // Whoever waits for it meets its failure; until then it must not count as unhandled.
  state.catch(() => {})
  const [entries, configuration] = await Promise.all([readConfig(worktree), readLiveConfiguration(worktree)])
  const configured = context.env['DISCERN_TRUNK'] || configuration?.repository.trunk
  const refs = await readRefs(worktree, patterns(configured, remoteNames(entries)))
  const trunk = resolveTrunk({
    configured: configuration?.repository.trunk,
    env: context.env,
    refs,
    entries,
    current: worktree.opened?.branch ?? (await state).branch,
  })
  return { worktree, entries, refs, configuration, state, trunk }
}

/** Reads the situation. At most four git processes. Refuses outside a work tree, and when the trunk is not decidable. */
export const readSituation = async (context: Context): Promise<Situation> => {
  const opening = await openSituation(context)
  return { ...opening, state: await opening.state }
}

/** A situation in which a change can be finished: a set-up project, and a born branch of its own. */
export interface Effort extends Situation {
  readonly configuration: Configuration
  /** Full ref name. */
  readonly branch: string
  readonly head: string
  /** Tip of the local trunk. */
  readonly predecessor: string
}

/** Narrows a situation for `done` and `accept`, or refuses: not set up, detached, on the trunk, unborn, mid-operation. */
export const requireEffort = async (situation: Situation, verb: string): Promise<Effort> => {
  const { worktree, configuration, state, trunk, refs } = situation
  if (!configuration) throw new Refusal('not_set_up', { file: CONFIG_FILE })
  const operation = await operationInProgress(worktree.gitDir)
  if (operation) throw new Refusal('operation_in_progress', { operation, where: worktree.topLevel })
  if (state.branch === undefined) throw new Refusal('detached_head', { verb: `git discern ${verb}` })
  if (state.branch === trunk.target || state.branch === trunk.ref) {
    throw new Refusal('on_trunk', { verb: `git discern ${verb}`, trunk: trunk.name })
  }
  const predecessor = refs.get(trunk.target)?.oid ?? refs.get(trunk.ref)?.oid
  if (predecessor === undefined) {
    throw new Refusal('trunk_unknown', {
      reason: trunk.remote
        ? `${trunk.name} exists only at ${trunk.remote}; make it local first: git branch ${trunk.name} ${trunk.remote}/${trunk.name}`
        : `there is no branch ${trunk.name}`,
      candidates: [...refs.keys()].filter(ref => ref.startsWith('refs/heads/')).map(shortBranch),
    })
  }
  if (state.head === undefined) {
    throw new Refusal('nothing_to_prove', { branch: shortBranch(state.branch), trunk: trunk.name })
  }
  return { ...situation, configuration, branch: state.branch, head: state.head, predecessor }
}
