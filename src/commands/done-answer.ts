/** What `done` answers in each of its endings. */
import type { Drop } from '../checkpoint/drop.ts'
import type { Preflight } from '../checkpoint/preflight.ts'
import { Refusal } from '../errors.ts'
import { planSteps } from '../gate/outcome.ts'
import type { GateRun } from '../gate/run.ts'
import { displayPath } from '../git/path.ts'
import { shortBranch } from '../git/refs.ts'
import type { GatePlan } from '../policy/jobs.ts'
import type { StampedProof } from '../proof/complete.ts'
import type { Result, Step } from '../result.ts'
import { acceptHint, configurationAdvisories } from './advise.ts'
import { checkpointsData } from './owed.ts'
import type { Effort } from './situation.ts'

const VERB = 'done'

const mergeCheck: Step = { kind: 'merge-check', label: 'contains the trunk', disposition: 'run', outcome: 'ok' }

export const preview = (effort: Effort, plan: GatePlan, dirty: readonly string[], owed: Preflight): Result => ({
  ok: true,
  verb: VERB,
  dry_run: true,
  plan: [mergeCheck, ...planSteps(plan.jobs)],
  data: {
    ...shared(owed),
    ...checkpointsData(effort.predecessor, owed),
    failed_stage: null,
    scopes_changed: plan.scopesChanged,
    gate_ran: false,
    branch: shortBranch(effort.branch),
    trunk: effort.trunk.name,
    head: effort.head,
  },
  advisories: configurationAdvisories(effort.configuration),
  hints: [...(dirty.length > 0 ? ['commit your changes first: git status'] : []), 'git discern done'],
})

/** Fields that every answer has. */
const shared = (owed?: Preflight): { readonly mode: 'strict'; readonly checkpoint_drops: readonly Drop[] } => ({
  mode: 'strict',
  checkpoint_drops: owed?.drops ?? [],
})

/** The refusal before any job: every outstanding question at once, each with why it fired (facts 7.1 step 3). */
export const awaiting = (effort: Effort, owed: Preflight, ids: readonly [string, ...string[]]): Refusal =>
  new Refusal(
    'awaiting_declaration',
    { checkpoints: ids },
    {
      data: {
        ...shared(owed),
        ...checkpointsData(effort.predecessor, owed),
        failed_stage: null,
        scopes_changed: [],
        gate_ran: false,
        declared: owed.declared.map(({ checkpoint, conclusion }) => ({ checkpoint, conclusion })),
      },
    },
  )

interface Answer {
  readonly gateRan: boolean
  readonly executions: number
  readonly scopes: readonly string[]
  readonly proof: StampedProof
  readonly gate?: GateRun
  readonly owed?: Preflight
}

/** The green answer, fresh or reused; the claim without its long evidence. */
export const answer = (effort: Effort, { gateRan, executions, scopes, proof, gate, owed }: Answer): Result => {
  const { completion, ...claim } = proof.claim
  const { candidate_id, proof_id } = completion
  return {
    ok: true,
    verb: VERB,
    ...(gate ? { steps: [mergeCheck, ...gate.steps] } : {}),
    data: {
      ...shared(owed),
      ...(owed ? checkpointsData(effort.predecessor, owed) : { checkpoint_drops: proof.claim.checkpoint_drops ?? [] }),
      failed_stage: null,
      scopes_changed: scopes,
      gate_ran: gateRan,
      producer_executions: executions,
      completion: { kind: 'complete', candidate_id, proof_id, pending: [], pending_reasons: [] },
      proof: { ...claim, line: proof.line, completion: { candidate_id, proof_id } },
    },
    advisories: [...configurationAdvisories(effort.configuration), ...(gate?.advisories ?? [])],
    hints: [acceptHint],
    ...(gate && gate.waitedMs > 0 ? { waited_ms: gate.waitedMs } : {}),
  }
}

export const withheld = (effort: Effort, plan: GatePlan, gate: GateRun, owed: Preflight, reason: string): Refusal =>
  new Refusal(
    'proof_withheld',
    { reason },
    {
      steps: [mergeCheck, ...gate.steps],
      data: {
        ...shared(owed),
        ...checkpointsData(effort.predecessor, owed),
        failed_stage: null,
        scopes_changed: plan.scopesChanged,
        gate_ran: true,
        producer_executions: gate.jobs.length,
        completion: { kind: 'pending', pending: ['proof'], pending_reasons: [reason] },
      },
    },
  )

export const failed = (effort: Effort, plan: GatePlan, gate: GateRun, owed: Preflight): Result => {
  const drift = gate.driftPaths.map(displayPath)
  const names = gate.jobs.filter(({ outcome }) => outcome === 'failed').map(({ planned }) => planned.label)
  const refusal = new Refusal('gate_failed', {
    stage: gate.failedStage ?? 'the gate',
    failed: names.length > 0 ? names : drift,
    rerun: gate.diagnostics[0]?.reproduce_cmd ?? 'git discern done --rerun',
  })
  return {
    ok: false,
    verb: VERB,
    steps: [mergeCheck, ...gate.steps],
    diagnostics: gate.diagnostics,
    data: {
      ...shared(owed),
      ...checkpointsData(effort.predecessor, owed),
      failed_stage: gate.failedStage,
      scopes_changed: plan.scopesChanged,
      gate_ran: true,
      producer_executions: gate.jobs.filter(({ outcome }) => outcome !== 'skipped').length,
      completion: { kind: 'diagnostic', pending: [], pending_reasons: [] },
      drift_paths: drift,
    },
    advisories: [...configurationAdvisories(effort.configuration), ...gate.advisories],
    error: refusal.slug,
    message: refusal.message,
    hints: [...refusal.next],
    ...(gate.waitedMs > 0 ? { waited_ms: gate.waitedMs } : {}),
  }
}
