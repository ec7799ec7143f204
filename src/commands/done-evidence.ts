/** What the evidence of each job would hold for, and which jobs need not run because it stands already (facts 8.3 to 8.5). */
import type { Context } from '../context.ts'
import { describeProducers } from '../gate/inputs.ts'
import { chooseReused } from '../gate/reuse.ts'
import type { GateRun } from '../gate/run.ts'
import type { Worktree } from '../git/repository.ts'
import type { GatePlan } from '../policy/jobs.ts'
import { applicabilityOf, type Ground, subjectOf } from '../proof/applicability.ts'
import type { Applicability, Completion } from '../proof/claim.ts'
import { recordSubject, type StandingEvidence, standingEvidence } from '../proof/subjects.ts'

export interface Evidence {
  /** By job id. */
  readonly applicabilities: ReadonlyMap<string, Applicability>
  /** By the id of the job that need not run. */
  readonly reused: ReadonlyMap<string, StandingEvidence>
}

/**
 * Looks for standing evidence; with `rerun` there is none. Only jobs whose whole closure declares its inputs can have any, and
 * only those cost a git process.
 */
export const weighEvidence = async (
  context: Context,
  worktree: Worktree,
  plan: GatePlan,
  ground: Ground,
  rerun: boolean,
): Promise<Evidence> => {
  const states = await describeProducers(worktree, ground.head, plan.jobs, context)
  const applicabilities = new Map<string, Applicability>()
  const standing = new Map<string, StandingEvidence>()
  for (const job of plan.jobs) {
    const state = states.get(job.id)
    if (!state) continue
    const applicability = applicabilityOf(job, state, ground)
    applicabilities.set(job.id, applicability)
    if (rerun || !state.declared) continue
    const found = await standingEvidence(worktree, subjectOf(applicability))
    if (found) standing.set(job.id, found)
  }
  const chosen = chooseReused(plan.jobs, new Set(standing.keys()))
  return { applicabilities, reused: new Map([...standing].filter(([id]) => chosen.has(id))) }
}

/** A red run stands before every older pass of what failed or was cancelled in it (facts 8.5). */
export const recordFailures = async (
  worktree: Worktree,
  gate: GateRun,
  { applicabilities }: Evidence,
  attempt: { readonly id: string; readonly sequence: number },
): Promise<void> => {
  for (const { planned, outcome } of gate.jobs) {
    const applicability = applicabilities.get(planned.id)
    if (applicability?.closure.kind !== 'declared' || (outcome !== 'failed' && outcome !== 'cancelled')) continue
    const entry = {
      sequence: attempt.sequence,
      outcome: 'failed',
      attemptId: attempt.id,
      evidenceId: undefined,
    } as const
    await recordSubject(worktree, subjectOf(applicability), entry)
  }
}

/** Makes what ran in a green run count for later commits, after its records are kept. */
export const recordPasses = async (worktree: Worktree, completion: Completion): Promise<void> => {
  for (const { id, evidence } of completion.components) {
    const isOwn = evidence.candidate_id === completion.candidate_id
    if (!isOwn || evidence.applicability.closure.kind !== 'declared') continue
    const entry = {
      sequence: evidence.sequence,
      outcome: 'passed',
      attemptId: evidence.attempt_id,
      evidenceId: id,
    } as const
    await recordSubject(worktree, subjectOf(evidence.applicability), entry)
  }
}

/** Standing evidence as the gate takes it. */
export const reusedOf = ({
  head,
  component,
}: StandingEvidence): { readonly head: string; readonly metrics: Readonly<Record<string, number>> } => {
  const { outcome } = component.evidence
  return { head, metrics: outcome.kind === 'passed' ? outcome.metrics : {} }
}
