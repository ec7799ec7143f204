/** Which validation evidence may be compared with other evidence (facts 12.5, last line), and why the rest may not. Pure. */
import type { CaptureBoundary, ExecutionJob, ExecutionMode, Keyed, Validation } from './event.ts'

/** Why a run proves nothing about its input; without any evidence, as older lines are, a run is never mixed in. */
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

/** One execution without its state, as many runs share it: its conditions, and what became of each job of the test stage. */
export interface Shape {
  /** The same number for the same execution. */
  readonly number: number
  /** Versions, writer, configuration and setup: what has to be equal for runs of a job to be comparable at all. */
  readonly base: number
  /** Boundary, mode, and the jobs with their concurrency, but no outcome: the rest of the controlled conditions. */
  readonly context: number
  readonly version: number
  readonly capture: CaptureBoundary
  readonly mode: ExecutionMode
  readonly writer: string
  readonly configuration: Keyed
  readonly setup: Keyed
  /** In the order of their ids, which are unique. */
  readonly jobs: readonly ComparableJob[]
  /** Those of them whose outcomes are compared: of the test stage, and no standards (facts 12.6). */
  readonly units: readonly Unit[]
}

export interface Unit extends ComparableJob {
  /** The same number for the same id, stage, kind and definition. */
  readonly number: number
}

/** A run that may be compared: on which state, and what it was. */
export interface Comparable {
  readonly state: Keyed
  readonly shape: Shape
}

const byId = (left: ExecutionJob, right: ExecutionJob): number => (left.id < right.id ? -1 : left.id > right.id ? 1 : 0)

const isDefined = (job: ExecutionJob): job is ComparableJob => job.definition_digest !== undefined

const isUnit = ({ stage, kind }: ExecutionJob): boolean => stage === 'test' && kind !== 'standard'

/** Small numbers for texts, so that keys made of them stay short. */
const numbering = (): ((text: string) => number) => {
  const numbers = new Map<string, number>()
  return text => {
    const known = numbers.get(text)
    if (known !== undefined) return known
    numbers.set(text, numbers.size)
    return numbers.size - 1
  }
}

/** Why a complete record cannot be compared, or its jobs in the order of their ids. */
const comparableJobs = ({ execution }: Validation): readonly ComparableJob[] | NotComparable => {
  if (execution.config_digest === undefined) return 'no-configuration-digest'
  if (execution.setup_digest === undefined) return 'no-setup-digest'
  const jobs = [...execution.jobs].sort(byId)
  if (!jobs.every(isDefined)) return 'no-job-definition'
  return jobs.some(({ id }, at) => id === jobs[at + 1]?.id) ? 'repeated-job' : jobs
}

/** Judges one validation record after another; equal executions share one shape. */
export const comparing = (): ((validation: Validation | undefined) => Comparable | NotComparable) => {
  const number = numbering()
  const baseNumber = numbering()
  const contextNumber = numbering()
  const unitNumber = numbering()
  const shapes = new Map<string, Shape>()
  /** What was judged before, by the record as it is written: most runs are like one before, and need no more than this. */
  const judged = new Map<string, Shape | NotComparable>()

  const jobKey = ({ id, stage, kind, definition_digest = '' }: ExecutionJob): string =>
    `${number(id)} ${stage} ${kind} ${number(definition_digest)}`

  const baseKey = ({ version, state, execution }: Validation): string => {
    const { config_digest = '', setup_digest = '', writer } = execution
    return `${version} ${state.version} ${execution.version} ${number(writer)} ${number(config_digest)} ${number(setup_digest)}`
  }

  const writtenKey = (validation: Validation): string => {
    const { state, execution } = validation
    let key = `${baseKey(validation)} ${state.capture} ${execution.mode}`
    for (const job of execution.jobs)
      key += `,${jobKey(job)} ${job.concurrent_siblings} ${isUnit(job) ? job.outcome : ''}`
    return key
  }

  const shapeOf = (validation: Validation): Shape | NotComparable => {
    const jobs = comparableJobs(validation)
    if (typeof jobs === 'string') return jobs
    const { version, state, execution } = validation
    const { config_digest: configuration = '', setup_digest: setup = '', mode, writer } = execution
    const base = baseNumber(baseKey(validation))
    const roster = jobs.map(job => `${jobKey(job)} ${job.concurrent_siblings}`)
    const context = contextNumber([`${state.capture} ${mode}`, ...roster].join(','))
    const units = jobs.filter(isUnit).map(job => ({ ...job, number: unitNumber(jobKey(job)) }))
    const key = [base, context, ...units.map(({ outcome }) => outcome)].join(' ')
    const conditions = { version, capture: state.capture, mode, writer, configuration, setup }
    const shape = shapes.get(key) ?? { number: shapes.size, base, context, ...conditions, jobs, units }
    shapes.set(key, shape)
    return shape
  }

  return validation => {
    if (validation === undefined) return 'no-evidence'
    const { version, state, execution } = validation
    if (version !== state.version || version !== execution.version) return 'unequal-versions'
    if (!state.complete || state.digest === undefined || (state.incomplete?.length ?? 0) > 0) return 'state-incomplete'
    if (!execution.complete || (execution.incomplete?.length ?? 0) > 0) return 'execution-incomplete'
    const key = writtenKey(validation)
    const shape = judged.get(key) ?? shapeOf(validation)
    judged.set(key, shape)
    return typeof shape === 'string' ? shape : { state: state.digest, shape }
  }
}
