/** From a green gate to the complete evidence of one candidate (facts 8). Pure: identities and instants are given. */
import type { Measurement } from '../gate/standard.ts'
import type { PlannedJob } from '../policy/definition.ts'
import { subjectOf } from './applicability.ts'
import type { Applicability, Attempt, Completion, Component, Executor, Mode, Requirement, Revision } from './claim.ts'
import type { StandingEvidence } from './subjects.ts'

/** One planned job that passed: in this run, with what its evidence holds for and when it was over, or in an earlier one. */
export type PassedJob =
  | (Passed & { readonly finishedAt: number; readonly applicability: Applicability })
  | (Passed & { readonly reused: StandingEvidence })

interface Passed {
  readonly planned: PlannedJob
  /** Of a standard. */
  readonly measured: Measurement | undefined
}

export interface CompletionInput {
  readonly uuid: () => string
  readonly source: Revision
  readonly predecessor: string
  readonly policy: string
  readonly requirements: readonly Requirement[]
  readonly requirementSet: string
  readonly passed: readonly PassedJob[]
  readonly mode: Mode
  readonly sequence: number
  /** Attempt that this run repeats on purpose, or `null`. */
  readonly rerunOf: string | null
  readonly candidateId: string
  readonly attemptId: string
  readonly executor: Executor
  readonly startedAt: number
  readonly finishedAt: number
}

/**
 * The completion object of marker and note: one component and one receipt per requirement, one attempt for the whole run.
 * Evidence that stands from another run comes with its attempt and executor, and with the candidate it was made for.
 */
export const assembleCompletion = (input: CompletionInput): Completion => {
  const { candidateId, attemptId, source, policy, mode } = input
  const components = input.passed.map(
    (job): Component =>
      'reused' in job
        ? job.reused.component
        : {
            id: input.uuid(),
            evidence: {
              attempt_id: attemptId,
              candidate_id: candidateId,
              sequence: input.sequence,
              purpose: 'completion',
              mode,
              applicability: job.applicability,
              finished_at: job.finishedAt,
              artifacts: [],
              outcome: { kind: 'passed', capture_complete: true, metrics: job.measured?.metrics ?? {} },
            },
          },
  )
  const attempt: Attempt = {
    identity: {
      id: attemptId,
      candidate_id: candidateId,
      executor: input.executor.operation_id,
      sequence: input.sequence,
      rerun_of: input.rerunOf,
      started_at: input.startedAt,
    },
    subjects: [...new Set(input.passed.flatMap(job => ('reused' in job ? [] : [subjectOf(job.applicability)])))],
    purpose: 'completion',
    mode,
    state: { kind: 'finished', outcome: 'passed', finished_at: input.finishedAt },
  }
  const reused = input.passed.flatMap(job => ('reused' in job ? [job.reused] : []))
  return {
    candidate_id: candidateId,
    proof_id: input.uuid(),
    candidate: {
      attempt_id: attemptId,
      source,
      predecessor: input.predecessor,
      head: source.head,
      tree: source.tree,
      policy,
      requirement_set: input.requirementSet,
    },
    validation: {
      attempt_id: attemptId,
      candidate_id: candidateId,
      head: source.head,
      policy,
      requirement_set: input.requirementSet,
      mode,
      requirements: input.requirements,
      receipts: input.requirements.map(requirement => ({
        requirement: requirement.id,
        evidence_id: evidenceFor(input, components, requirement),
        candidate_id: candidateId,
        policy,
        reading: input.passed.find(({ planned }) => planned.id === requirement.id)?.measured?.reading ?? null,
      })),
      assembled_at: input.finishedAt,
    },
    components,
    attempts: [
      attempt,
      ...distinct(
        reused.map(one => one.attempt),
        one => one.identity.id,
      ),
    ],
    executors: [
      input.executor,
      ...distinct(
        reused.map(one => one.executor),
        one => one.operation_id,
      ),
    ],
  }
}

/** The first of each key. */
const distinct = <T>(items: readonly T[], key: (item: T) => string): readonly T[] => [
  ...new Map([...items].reverse().map(item => [key(item), item])).values(),
]

const evidenceFor = (input: CompletionInput, components: readonly Component[], requirement: Requirement): string => {
  const at = input.passed.findIndex(({ planned }) => planned.id === requirement.id)
  const component = components[at]
  if (!component) throw new Error(`requirement ${requirement.id} has no passed job`)
  return component.id
}
