/** `git discern grant`: the owner allows the next landing of this branch beforehand, looks, or takes it back (facts 10.3). */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { type Ahead, commitsAhead } from '../git/ahead.ts'
import { shortBranch } from '../git/refs.ts'
import { type EffortGrant, grantEffort, readGrant, revokeGrant } from '../landing/grant.ts'
import { AHEAD_SHOWN_COUNT } from '../limits.ts'
import { abbreviate } from '../proof/envelope.ts'
import type { Result } from '../result.ts'
import { withLock } from '../store/lock.ts'
import type { Call } from './call.ts'
import { type Effort, readSituation, requireEffort, type Situation } from './situation.ts'

const VERB = 'grant'

/** Said each time, so that nobody takes a grant for more than it is. */
const NEVER_COVERED =
  'a variance, a proposed limit, a stop whose condition could not be decided, and every landing after the next one'

export const run = async (context: Context, call: Call): Promise<Result> => {
  const { show, revoke, confirmed } = call.flags
  const dryRun = call.flags['dry-run'] === true
  const [one, other] = [
    ...(show ? ['show'] : []),
    ...(revoke ? ['revoke'] : []),
    ...(confirmed ? ['confirmed'] : []),
    ...(show && dryRun ? ['dry-run'] : []),
  ]
  if (other !== undefined) {
    throw new Refusal('invalid_arguments', {
      problem: `grant: --${one} and --${other} exclude each other`,
      usage: `git discern grant --${one}`,
    })
  }
  const situation = await readSituation(context)
  if (show) return answer(situation, await readGrant(situation.worktree, ownBranch(situation)))
  if (revoke) return takeBack(context, situation, dryRun)
  return give(context, await requireEffort(situation, VERB), { confirmed: confirmed === true, dryRun })
}

const ownBranch = ({ state, trunk }: Situation): string => {
  if (state.branch === undefined) throw new Refusal('detached_head', { verb: `git discern ${VERB}` })
  if (state.branch === trunk.ref || state.branch === trunk.target) {
    throw new Refusal('on_trunk', { verb: `git discern ${VERB}`, trunk: trunk.name })
  }
  return state.branch
}

const answer = (
  { state, trunk }: Situation,
  grant: EffortGrant | undefined,
  more: Omit<Result, 'ok' | 'verb' | 'data'> & { readonly data?: object } = {},
): Result => ({
  ok: true,
  verb: VERB,
  ...more,
  data: {
    branch: shortBranch(state.branch ?? 'HEAD'),
    head: state.head ?? null,
    trunk: trunk.name,
    granted: grant !== undefined,
    ...(grant ? { grant: { id: grant.id, effort_id: grant.effort_id, granted_at: grant.granted_at } } : {}),
    never_covered: NEVER_COVERED,
    ...more.data,
  },
})

/** A landing that is under way holds its grant; it is waited for by nobody, and the refusal names it. */
const takeBack = async (context: Context, situation: Situation, dryRun: boolean): Promise<Result> => {
  const { worktree } = situation
  const branch = ownBranch(situation)
  if (dryRun) {
    const grant = await readGrant(worktree, branch)
    const label = `take the grant of ${shortBranch(branch)} back`
    return answer(situation, grant, {
      dry_run: true,
      plan: [{ kind: 'git', label, disposition: grant ? 'run' : 'skip' }],
    })
  }
  const revoked = await withLock(context, worktree, 'accept', VERB, () => revokeGrant(context, worktree, branch))
  return answer(situation, undefined, { data: { revoked: revoked !== undefined } })
}

const give = async (
  context: Context,
  effort: Effort,
  { confirmed, dryRun }: { readonly confirmed: boolean; readonly dryRun: boolean },
): Promise<Result> => {
  const { worktree, branch, trunk, head, predecessor } = effort
  const standing = await readGrant(worktree, branch)
  const ahead = await commitsAhead(worktree, predecessor, head, AHEAD_SHOWN_COUNT)
  const data = { ahead: { count: ahead.count, newest: ahead.newest } }
  if (dryRun) {
    const label = `allow the next landing of ${shortBranch(branch)} on ${trunk.name}`
    return answer(effort, standing, {
      dry_run: true,
      plan: [{ kind: 'git', label, disposition: standing ? 'skip' : 'run' }],
      data,
    })
  }
  if (standing) return answer(effort, standing, { data })
  if (!confirmed) await askOwner(context, effort, ahead)
  const { grant } = await grantEffort(context, worktree, branch)
  return answer(effort, grant, { data, hints: ['git discern done', 'git discern accept'] })
}

/** A yes at a terminal that saw what the grant is about (design 4.13), or a refusal. */
const askOwner = async (context: Context, effort: Effort, ahead: Ahead): Promise<void> => {
  const branch = shortBranch(effort.branch)
  if (context.confirm) {
    for (const text of aboutGrant(effort, ahead)) context.progress({ kind: 'note', text })
    if (await context.confirm(`Allow the next landing of ${branch} on ${effort.trunk.name}?`)) return
  }
  throw new Refusal('awaiting_consent', {
    branch,
    trunk: effort.trunk.name,
    command: `git discern ${VERB} --confirmed`,
  })
}

const aboutGrant = ({ branch, head, trunk }: Effort, { count, newest }: Ahead): readonly string[] => [
  `${shortBranch(branch)} at ${abbreviate(head)}: ${count} ${count === 1 ? 'commit' : 'commits'} that ${trunk.name} does not have`,
  ...newest.map(({ oid, subject }) => `  ${abbreviate(oid)} ${subject}`),
  ...(count > newest.length ? [`  and ${count - newest.length} older`] : []),
  `it covers what the gate and the checkpoints let through, and never ${NEVER_COVERED}`,
]
