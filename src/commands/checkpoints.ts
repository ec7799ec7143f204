/** `git discern checkpoints`: the governing policy, its questions and their obligations (facts 7.7). Read-only. */
import type { Preflight } from '../checkpoint/preflight.ts'
import type { Context } from '../context.ts'
import { isAncestor } from '../git/refs.ts'
import { gitLine } from '../git/run.ts'
import type { Advisory, Result } from '../result.ts'
import type { Call } from './call.ts'
import { checkpointsData, lookAtCheckpoints } from './owed.ts'
import { readSituation, type Situation } from './situation.ts'

export const run = async (context: Context, _call: Call): Promise<Result> => {
  const looked = await lookHere(await readSituation(context))
  return {
    ok: true,
    verb: 'checkpoints',
    data: looked ? checkpointsData(looked.policy, looked.owed) : { checkpoints: [], ungoverned: [], drops: [] },
    advisories: [...(looked ? lagAdvisory(looked) : []), ...(looked ? dropAdvisories(looked.owed) : [])],
  }
}

export interface Looked {
  readonly owed: Preflight
  /** Full id of the governing commit. */
  readonly policy: string
  /** What the change was measured from, where the branch lags behind the policy. */
  readonly lagging: string | undefined
}

/**
 * The obligations of the checkout as it is, uncommitted changes included. On a branch that lags behind the trunk the change is
 * measured from the merge base, so that the trunk's own commits are nobody's change (design 4.2). `undefined` where there is
 * no branch, no commit or no trunk. `known` spares a git process where somebody has asked whether the branch contains the trunk.
 */
export const lookHere = async (
  { worktree, state, trunk, refs }: Situation,
  known?: boolean,
): Promise<Looked | undefined> => {
  const policy = refs.get(trunk.ref)?.oid
  if (state.branch === undefined || state.head === undefined || policy === undefined) return undefined
  const contains = known ?? (await isAncestor(worktree, policy, state.head))
  const base = contains === true ? policy : await mergeBase(worktree, policy, state.head)
  if (base === undefined) return undefined
  // A clean work tree is its commit, and two trees are compared without looking at any file.
  const clean = state.tracked.length + state.untracked.length === 0
  const scope = clean ? ({ kind: 'commit', commit: state.head } as const) : ({ kind: 'worktree' } as const)
  const owed = await lookAtCheckpoints({ worktree, branch: state.branch, policy, base, scope })
  return { owed, policy, lagging: base === policy ? undefined : base }
}

const mergeBase = async (worktree: Situation['worktree'], left: string, right: string): Promise<string | undefined> => {
  try {
    return (await gitLine(worktree, ['merge-base', left, right])) || undefined
  } catch {
    return undefined
  }
}

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
