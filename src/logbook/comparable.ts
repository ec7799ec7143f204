/** Which validation evidence may be compared with other evidence (facts 12.5, last line), and why the rest may not. Pure. */
import type { CaptureBoundary, ExecutionJob, ExecutionMode, Keyed, Validation } from './event.ts'

/** Why a run proves nothing about its input; without any, as older lines are, a run is never mixed in. */
export type NotComparable =
  | 'no-evidence'
  | 'unequal-versions'
  | 'state-incomplete'
  | 'execution-incomplete'
  | 'no-configuration-digest'
  | 'no-setup-digest'
  | 'no-job-definition'
  | 'repeated-job'

/** A job whose definition is known. */
export interface ComparableJob extends ExecutionJob {
  readonly definition_digest: Keyed
}

/** Evidence with everything present that a comparison needs. */
export interface Comparable {
  readonly version: number
  readonly stateVersion: number
  readonly executionVersion: number
  /** Over the whole state. */
  readonly state: Keyed
  readonly capture: CaptureBoundary
  readonly mode: ExecutionMode
  readonly writer: string
  readonly configuration: Keyed
  readonly setup: Keyed
  /** In the order of their ids, which are unique. */
  readonly jobs: readonly ComparableJob[]
}

const byId = (left: ExecutionJob, right: ExecutionJob): number => (left.id < right.id ? -1 : left.id > right.id ? 1 : 0)

const isDefined = (job: ExecutionJob): job is ComparableJob => job.definition_digest !== undefined

/** The evidence as something that may be compared, or why it may not. Never a partial answer: equal parts prove nothing. */
export const comparable = (validation: Validation | undefined): Comparable | NotComparable => {
  if (validation === undefined) return 'no-evidence'
  const { version, state, execution } = validation
  if (version !== state.version || version !== execution.version) return 'unequal-versions'
  if (!state.complete || state.digest === undefined || (state.incomplete?.length ?? 0) > 0) return 'state-incomplete'
  if (!execution.complete || (execution.incomplete?.length ?? 0) > 0) return 'execution-incomplete'
  if (execution.config_digest === undefined) return 'no-configuration-digest'
  if (execution.setup_digest === undefined) return 'no-setup-digest'
  const jobs = [...execution.jobs].sort(byId)
  if (!jobs.every(isDefined)) return 'no-job-definition'
  if (jobs.some(({ id }, at) => id === jobs[at + 1]?.id)) return 'repeated-job'
  return {
    version,
    stateVersion: state.version,
    executionVersion: execution.version,
    state: state.digest,
    capture: state.capture,
    mode: execution.mode,
    writer: execution.writer,
    configuration: execution.config_digest,
    setup: execution.setup_digest,
    jobs,
  }
}
