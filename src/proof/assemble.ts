/** From a green gate to the complete evidence of one candidate (facts 8). Pure: identities and instants are given. */
import type { PlannedJob } from '../policy/definition.ts'
import { sha256, sha256Json } from '../store/digest.ts'
import type { Applicability, Attempt, Completion, Component, Executor, Mode, Requirement, Revision } from './claim.ts'

/** One planned job that passed, and when it was over. */
export interface PassedJob {
  readonly planned: PlannedJob
  readonly finishedAt: number
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
  /** Operating system and processor, for example `linux-x64`. */
  readonly platform: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * What one producer's evidence holds for (facts 8.3). Its closure is the candidate itself: evidence of a producer counts for
 * another commit only once its inputs are enumerated. Environment values are hashed one by one and never kept.
 */
const applicabilityOf = (input: CompletionInput, { planned }: PassedJob): Applicability => {
  const { recipe } = planned
  return {
    producer: planned.producer,
    policy: input.policy,
    protected_definitions: sha256Json({
      requirement: planned.definition,
      standard: null,
      inputs: recipe.inputs ?? null,
      patterns: recipe.inputs ?? null,
      per: null,
    }),
    command: sha256Json([{ selector: planned.producer, run: recipe.run }]),
    extractor: null,
    inputs: sha256Json(null),
    denominator_inputs: sha256Json(null),
    toolchain: sha256Json([...recipe.toolchain].sort().map(path => [path, null])),
    environment: sha256Json({
      execution: input.platform,
      variables: [...recipe.environment].sort().map(name => {
        const value = input.env[name]
        return [name, value === undefined ? null : sha256(value)]
      }),
    }),
    seed: 0,
    closure: { kind: 'candidate', head: input.source.head },
  }
}

/** The completion object of marker and note: one component and one receipt per requirement, one attempt for the whole run. */
export const assembleCompletion = (input: CompletionInput): Completion => {
  const { candidateId, attemptId, source, policy, mode } = input
  const components = input.passed.map(
    (job): Component => ({
      id: input.uuid(),
      evidence: {
        attempt_id: attemptId,
        candidate_id: candidateId,
        sequence: input.sequence,
        purpose: 'completion',
        mode,
        applicability: applicabilityOf(input, job),
        finished_at: job.finishedAt,
        artifacts: [],
        outcome: { kind: 'passed', capture_complete: true, metrics: {} },
      },
    }),
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
    subjects: [...new Set(components.map(component => sha256Json(component.evidence.applicability)))],
    purpose: 'completion',
    mode,
    state: { kind: 'finished', outcome: 'passed', finished_at: input.finishedAt },
  }
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
        reading: null,
      })),
      assembled_at: input.finishedAt,
    },
    components,
    attempts: [attempt],
    executors: [input.executor],
  }
}

const evidenceFor = (input: CompletionInput, components: readonly Component[], requirement: Requirement): string => {
  const at = input.passed.findIndex(({ planned }) => planned.id === requirement.id)
  const component = components[at]
  if (!component) throw new Error(`requirement ${requirement.id} has no passed job`)
  return component.id
}
