/** The standards in `done`: the branch keeps the trunk's limits before anything runs, and proposals follow what was measured (facts 14). */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import type { GateRun } from '../gate/run.ts'
import { renewProposals } from '../landing/proposal.ts'
import type { StandardProposal } from '../proof/claim.ts'
import type { Effort } from './situation.ts'
import { compareWithTrunk, type Standing } from './standards.ts'

/** Compares the limits with those of the trunk and refuses with `precondition_failed` where a standard was weakened or deleted. */
export const requireLimits = async (effort: Effort): Promise<Standing> => {
  const standing = await compareWithTrunk({ situation: effort, configuration: effort.configuration })
  const broken = standing.ratchet.rows.filter(({ status }) => status === 'failed')
  if (broken.length === 0) return standing
  throw new Refusal(
    'precondition_failed',
    {
      problem: broken.map(({ standard, sentence }) => `standard ${standard}: ${sentence}`).join('; '),
      next: 'git discern standards',
    },
    { data: { failed_stage: 'standards', gate_ran: false } },
  )
}

/** Why the limits were compared with nothing, or `undefined`. */
export const unverifiedBy = ({ trunk, ratchet }: Standing): string | undefined =>
  'unavailable' in trunk && ratchet.rows.length > 0 ? trunk.unavailable : undefined

/**
 * The proposals that the Proof of this commit carries: bound to it, since the same value was measured again. Refuses with
 * `precondition_failed` when a limit is excused by a proposal that does not say what is true here any more.
 */
export const settleProposals = async (
  context: Context,
  { worktree, branch, head, configuration }: Effort,
  { trunk, ratchet }: Standing,
  gate: GateRun,
): Promise<readonly StandardProposal[]> => {
  const readings = new Map(
    gate.jobs.flatMap(({ planned: { standard }, measured }) =>
      standard && measured ? [[standard.name, measured.reading] as const] : [],
    ),
  )
  const { live, stale } = await renewProposals(context, { worktree, branch, head, configuration, trunk, readings })
  const waiting = new Set(ratchet.rows.flatMap(({ standard, status }) => (status === 'proposed' ? [standard] : [])))
  const broken = stale.filter(({ standard }) => waiting.has(standard))
  const [first] = broken
  if (!first) return live
  throw new Refusal(
    'precondition_failed',
    {
      problem: `what is proposed is not what is true here: ${broken.map(({ standard, reason }) => `${standard}: ${reason}`).join('; ')}`,
      next: `git discern standards propose ${first.standard} --reason "<reason>"`,
    },
    { steps: gate.steps, data: { failed_stage: 'standards', gate_ran: true } },
  )
}
