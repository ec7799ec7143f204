/** `git discern checkpoints`: the governing policy, its questions and their obligations (facts 7.7). Read-only. */
import type { Trial } from '../checkpoint/decide.ts'
import { makeDrop } from '../checkpoint/drop.ts'
import type { Preflight } from '../checkpoint/preflight.ts'
import type { Context } from '../context.ts'
import { throwIfInterrupted } from '../errors.ts'
import { isAncestor, isShallow } from '../git/refs.ts'
import { gitLine } from '../git/run.ts'
import type { Economics } from '../logbook/economics.ts'
import type { Advisory, Result } from '../result.ts'
import type { Call } from './call.ts'
import { checkpointsData, lookAtCheckpoints, tryGoverning } from './owed.ts'
import { type Opening, openSituation, type Situation } from './situation.ts'

export const run = async (context: Context, _call: Call): Promise<Result> => {
  let lately: Promise<Economics | undefined> = Promise.resolve(undefined)
  const { looked } = await lookNow(context, opening => {
    lately = readLately(opening)
  })
  return {
    ok: true,
    verb: 'checkpoints',
    data: looked
      ? { ...checkpointsData(looked.policy, looked.owed), ...economicsData(looked, await lately) }
      : { checkpoints: [], ungoverned: [], drops: [] },
    advisories: [...(looked ? lagAdvisory(looked) : []), ...(looked ? dropAdvisories(looked.owed) : [])],
  }
}

/** What the Logbook says lately, read while git still looks at the change; nothing where no checkpoint is configured. Never throws. */
const readLately = async ({ worktree, trunk, configuration }: Opening): Promise<Economics | undefined> => {
  if (Object.keys(configuration?.checkpoints ?? {}).length === 0) return undefined
  const { newestEconomics } = await import('../logbook/economics.ts')
  return newestEconomics(worktree, trunk.name)
}

/** Of the checkpoints that govern; nothing where the Logbook does not name them. */
const economicsData = ({ owed }: Looked, economics: Economics | undefined): { readonly economics?: Economics } => {
  const governing = new Set(owed.checkpoints.map(({ definition }) => definition.id))
  const checkpoints = economics?.checkpoints.filter(({ id }) => governing.has(id)) ?? []
  return economics && checkpoints.length > 0 ? { economics: { ...economics, checkpoints } } : {}
}

export interface Looked {
  readonly owed: Preflight
  /** Full id of the governing commit. */
  readonly policy: string
  /** What the change was measured from, where the branch lags behind the policy. */
  readonly lagging: string | undefined
}

/** The checkpoints tried against the last commit, while git still looks for uncommitted changes. */
export interface EarlyLook {
  readonly head: string
  /** Whether the branch contains the trunk; `undefined` where that cannot be told. */
  readonly contains: Promise<boolean | undefined>
  /** `undefined` where nothing was tried: the trunk itself, what it contains, and a branch that lags. */
  readonly trial: Promise<Trial | undefined>
}

/**
 * Starts to look at what is committed. Looking for uncommitted changes visits every file of the work tree, and most of the time
 * there are none; `lookHere` takes the answer over when that turns out so. `undefined` without a branch, a commit or a trunk.
 */
export const lookEarly = ({ worktree, refs, trunk }: Opening): EarlyLook | undefined => {
  const policy = refs.get(trunk.ref)?.oid
  const { branch, head } = worktree.opened ?? {}
  if (policy === undefined || branch === undefined || head === undefined) return undefined
  const isOwn = head !== policy && branch !== trunk.ref && branch !== trunk.target
  const contains = isOwn ? isAncestor(worktree, policy, head) : Promise.resolve(head === policy ? true : undefined)
  const trial = contains.then(known =>
    isOwn && known === true
      ? tryGoverning({ worktree, policy, base: policy, scope: { kind: 'commit', commit: head } })
      : undefined,
  )
  contains.catch(() => {})
  trial.catch(() => {})
  return { head, contains, trial }
}

/**
 * The obligations of the checkout as it is, uncommitted changes included. On a branch that lags behind the trunk the change is
 * measured from the merge base, so that the trunk's own commits are nobody's change (design 4.2); without one the whole policy is
 * lost, and said to be (case 57). `undefined` where there is no branch, no commit or no trunk. `early` is used as far as it is about what the checkout turned out to be.
 */
export const lookHere = async (
  { worktree, state, trunk, refs }: Situation,
  early?: EarlyLook,
): Promise<Looked | undefined> => {
  const policy = refs.get(trunk.ref)?.oid
  const { branch, head } = state
  if (branch === undefined || head === undefined || policy === undefined) return undefined
  const same = early?.head === head ? early : undefined
  const contains = (await same?.contains) ?? (await isAncestor(worktree, policy, head))
  const base = contains === true ? policy : await mergeBase(worktree, policy, head)
  if (base === undefined) {
    return { owed: nothingOwed(policy, await withoutAncestor(worktree)), policy, lagging: undefined }
  }
  const lagging = base === policy ? undefined : base
  // A clean work tree is its commit, and two trees are compared without looking at any file.
  const clean = state.tracked.length + state.untracked.length === 0
  const scope = clean
    ? ({ kind: 'commit', commit: head } as const)
    : ({ kind: 'worktree', untracked: state.untracked } as const)
  const trial = clean && lagging === undefined ? await same?.trial : undefined
  return { owed: await lookAtCheckpoints({ worktree, branch, policy, base, scope }, trial), policy, lagging }
}

/** The situation and its obligations, read side by side. An interruption ends every git at once and is thrown (case 83). */
export const lookNow = async (
  context: Context,
  /** Called as soon as everything but the state of the work tree is known. */
  meanwhile?: (opening: Opening) => void,
): Promise<{ readonly situation: Situation; readonly looked: Looked | undefined }> => {
  try {
    const opening = await openSituation(context, context.signal)
    const early = lookEarly(opening)
    meanwhile?.(opening)
    const situation = { ...opening, state: await opening.state }
    return { situation, looked: await lookHere(situation, early) }
  } finally {
    // What was cut short says nothing about the change, whether it failed or seemed to answer.
    throwIfInterrupted(context)
  }
}

const mergeBase = async (worktree: Situation['worktree'], left: string, right: string): Promise<string | undefined> => {
  try {
    return (await gitLine(worktree, ['merge-base', left, right])) || undefined
  } catch {
    return undefined
  }
}

/** Why the change cannot be measured from a common ancestor, and what may help. No git process. */
export const withoutAncestor = async (worktree: Situation['worktree']): Promise<string> =>
  (await isShallow(worktree))
    ? 'no common ancestor is here; fetch more history: git fetch --unshallow'
    : 'the branch and the trunk have no common ancestor'

/** Where the change cannot be measured nothing is owed, and the loss of the whole policy is on record (facts 6.4). */
export const nothingOwed = (policy: string | undefined, reason: string): Preflight => ({
  checkpoints: [],
  blocking: [],
  ungoverned: [],
  declared: [],
  evidence: { unavailable: reason },
  drops: [makeDrop('merge_base_unresolved', reason, policy === undefined ? {} : { policyCommit: policy })],
})

const lagAdvisory = ({ lagging, policy }: Looked): readonly Advisory[] =>
  lagging === undefined
    ? []
    : [
        {
          kind: 'checkpoint-base-behind',
          evidence: `this branch does not contain the trunk; its change is measured from ${lagging.slice(0, 12)}, the policy is that of ${policy.slice(0, 12)}`,
          next_action: 'merge the trunk before done',
        },
      ]

/** One advisory for each thing that enforcement lost; a drop is never a pass and never a variance (facts 6.4). */
export const dropAdvisories = ({ drops }: Pick<Preflight, 'drops'>): readonly Advisory[] =>
  drops.map(({ checkpoint, reason, account }) => ({
    kind: 'checkpoint-evidence-dropped',
    evidence: `${checkpoint ? `checkpoint ${checkpoint}` : 'checkpoints'}: ${reason}: ${account}`,
    next_action: 'git discern checkpoints',
  }))
