/** The Proof of a green gate: the claim over what was completed, with both renderings. */
import type { CommittedChange } from '../change/collect.ts'
import type { Context } from '../context.ts'
import { type GateJob, reusedWords } from '../gate/outcome.ts'
import { standardWords } from '../gate/standard.ts'
import { shortBranch } from '../git/refs.ts'
import { assembleCompletion, type PassedJob } from './assemble.ts'
import type { Applicability, Drop, Mode, ProofClaim, Requirement, Revision, StandardProposal } from './claim.ts'
import { abbreviate } from './envelope.ts'
import { type DeclaredRow, presentProof, type RanRow, type StandardsShown } from './page.ts'
import type { StandingEvidence } from './subjects.ts'

export interface StampedProof {
  readonly claim: ProofClaim
  readonly line: string
  readonly markdown: string
}

export interface CompleteInput {
  readonly source: Revision
  readonly predecessor: string
  /** Short name of the trunk. */
  readonly trunk: string
  /** Digest of the governing configuration (facts 8.3). */
  readonly policy: string
  readonly change: CommittedChange
  readonly requirements: readonly Requirement[]
  readonly requirementSet: string
  /** Every planned job of the green run. */
  readonly jobs: readonly GateJob[]
  /** What the evidence of each job holds for, by job id. */
  readonly applicabilities: ReadonlyMap<string, Applicability>
  /** Evidence that stands from earlier runs, by the id of the job that did not run. */
  readonly reused: ReadonlyMap<string, StandingEvidence>
  readonly mode: Mode
  readonly declared: readonly DeclaredRow[]
  readonly drops: readonly Drop[]
  readonly standards: StandardsShown
  /** Live ones, sorted by standard. */
  readonly proposals: readonly StandardProposal[]
  readonly attempt: {
    readonly id: string
    readonly sequence: number
    readonly rerunOf: string | null
    readonly startedAt: number
  }
}

/** Assembles claim and page. No git process, no file. */
export const completeProof = (context: Context, input: CompleteInput): StampedProof => {
  const { source, attempt, change } = input
  const completion = assembleCompletion({
    uuid: context.uuid,
    source,
    predecessor: input.predecessor,
    policy: input.policy,
    requirements: input.requirements,
    requirementSet: input.requirementSet,
    passed: input.jobs.map((job): PassedJob => {
      const { planned, finishedAt, measured } = job
      const reused = input.reused.get(planned.id)
      if (reused && job.reusedFrom !== undefined) return { planned, measured, reused }
      const applicability = input.applicabilities.get(planned.id)
      if (!applicability) throw new Error(`nobody said what the evidence of ${planned.id} holds for`)
      return { planned, measured, finishedAt, applicability }
    }),
    mode: input.mode,
    sequence: attempt.sequence,
    rerunOf: attempt.rerunOf,
    candidateId: context.uuid(),
    attemptId: attempt.id,
    executor: {
      operation_id: context.uuid(),
      originating_effort: source.effort_id,
      started_at: attempt.startedAt,
    },
    startedAt: attempt.startedAt,
    finishedAt: context.now().getTime(),
  })
  const claim: ProofClaim = {
    completion,
    branch: shortBranch(source.branch),
    trunk: input.trunk,
    head: abbreviate(source.head),
    files_total: change.filesTotal,
    insertions: change.insertions,
    deletions: change.deletions,
    ...(input.mode === 'report' ? { mode: 'report' } : {}),
    ...(input.drops.length > 0 ? { checkpoint_drops: input.drops } : {}),
    ...(input.proposals.length > 0 ? { standard_proposals: input.proposals } : {}),
  }
  const { predecessor, declared, standards } = input
  return { claim, ...presentProof({ claim, predecessor, ran: input.jobs.map(ranRow), declared, standards }) }
}

/** A job as a row of the page's table of what ran (facts 9.3). */
export const ranRow = ({ planned, outcome, durationMs, reusedFrom }: GateJob): RanRow => ({
  name: planned.label,
  stage: planned.stage,
  command: planned.recipe.run.join(' && '),
  result: reusedFrom === undefined ? outcome : `${outcome}, ${reusedWords(reusedFrom)}`,
  durationS: durationMs / 1000,
})

/** The standards of a run as the page shows them; `unverified` says why no trunk's limits could be compared with (facts 9.3). */
export const standardsShown = (jobs: readonly GateJob[], unverified: string | undefined): StandardsShown => ({
  unverified,
  rows: jobs.flatMap(({ planned: { standard }, measured }) =>
    standard && measured
      ? [{ name: standard.name, words: standardWords(standard, measured), verdict: measured.verdict }]
      : [],
  ),
})
