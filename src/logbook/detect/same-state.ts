/**
 * Runs of test jobs, kept by the state that they ran on (facts 12.6): what `same-tree-flake` and `execution-context-divergence`
 * look through. Most states are seen once, and such a one costs an entry and a small number.
 */
import type { JobOutcome } from '../../gate/outcome.ts'
import type { Comparable, ComparableJob } from '../comparable.ts'
import type { VerbEvent } from '../event.ts'

/** One execution without its state, as many runs share it: the conditions, and what became of each test job. */
export interface Shape {
  /** Everything that has to be equal for runs of a job to be comparable at all, but its own definition. */
  readonly base: number
  /** Boundary, mode, and the jobs with their concurrency, but no outcome: the rest of the controlled conditions. */
  readonly context: number
  readonly evidence: Comparable
  readonly units: readonly ComparableJob[]
}

export interface State {
  readonly digest: string
  /** The commit that the state is based on, as the last run says. */
  readonly head: string | null
  /** One for each run, in no order that matters. */
  readonly runs: readonly Shape[]
}

export interface SameStates {
  readonly add: (event: VerbEvent, evidence: Comparable) => void
  /** States seen at least twice. */
  readonly repeated: () => Iterable<State>
}

/** A unit of these detectors: a job of the test stage that measures no standard. */
const isUnit = ({ stage, kind }: ComparableJob): boolean => stage === 'test' && kind !== 'standard'

const rosterOf = (jobs: readonly ComparableJob[]): readonly unknown[] =>
  jobs.map(({ id, stage, kind, definition_digest, concurrent_siblings }) => [
    id,
    stage,
    kind,
    definition_digest,
    concurrent_siblings,
  ])

const numbering = (): ((key: string) => number) => {
  const numbers = new Map<string, number>()
  return key => {
    const known = numbers.get(key)
    if (known !== undefined) return known
    numbers.set(key, numbers.size)
    return numbers.size - 1
  }
}

export const sameStates = (): SameStates => {
  const states = new Map<string, number | { readonly runs: number[]; head: string | null }>()
  const shapes: Shape[] = []
  const baseNumber = numbering()
  const contextNumber = numbering()
  const shapeNumber = numbering()

  const shapeOf = (evidence: Comparable): number | undefined => {
    const units = evidence.jobs.filter(isUnit)
    if (units.length === 0) return undefined
    const { version, stateVersion, executionVersion, writer, configuration, setup, capture, mode, jobs } = evidence
    const base = baseNumber(JSON.stringify([version, stateVersion, executionVersion, writer, configuration, setup]))
    const context = contextNumber(JSON.stringify([capture, mode, rosterOf(jobs)]))
    const number = shapeNumber(`${base} ${context} ${units.map(({ outcome }) => outcome).join(' ')}`)
    if (number === shapes.length) shapes.push({ base, context, evidence, units })
    return number
  }

  return {
    add: ({ head }, evidence) => {
      const shape = shapeOf(evidence)
      if (shape === undefined) return
      const standing = states.get(evidence.state)
      if (standing === undefined) states.set(evidence.state, shape)
      else if (typeof standing === 'number') states.set(evidence.state, { runs: [standing, shape], head })
      else standing.runs.push(shape)
    },
    *repeated() {
      for (const [digest, standing] of states) {
        if (typeof standing === 'number') continue
        const runs = standing.runs.flatMap(number => shapes[number] ?? [])
        yield { digest, head: standing.head, runs }
      }
    },
  }
}

export type Tally = Readonly<Record<JobOutcome, number>>

export const tallyOf = (outcomes: readonly JobOutcome[]): Tally => {
  const tally = { passed: 0, failed: 0, skipped: 0, cancelled: 0, unavailable: 0 }
  for (const outcome of outcomes) tally[outcome] += 1
  return tally
}

/** What neither passed nor failed, in words; empty where there is none. */
export const neitherWords = ({ skipped, cancelled, unavailable }: Tally): string => {
  const parts = [
    ...(skipped > 0 ? [`skipped ${skipped}`] : []),
    ...(cancelled > 0 ? [`cancelled ${cancelled}`] : []),
    ...(unavailable > 0 ? [`without an answer ${unavailable}`] : []),
  ]
  return parts.length === 0 ? '' : `; ${parts.join(', ')}`
}

/** Groups values under text keys, in the order in which the keys first come. */
export const groupBy = <T>(values: Iterable<T>, key: (value: T) => string): ReadonlyMap<string, readonly T[]> => {
  const groups = new Map<string, T[]>()
  for (const value of values) {
    const name = key(value)
    const group = groups.get(name)
    if (group) group.push(value)
    else groups.set(name, [value])
  }
  return groups
}
