/**
 * Runs of test jobs, kept by the state that they ran on (facts 12.6): what `same-tree-flake` and `execution-context-divergence`
 * look through. Most states are seen once, and such a one costs an entry and a small number.
 */
import type { JobOutcome } from '../../gate/outcome.ts'
import type { Comparable, Shape } from '../comparable.ts'
import type { VerbEvent } from '../event.ts'

export interface State {
  readonly digest: string
  /** The commit that the state is based on, as its runs say. */
  readonly head: string | null
  /** One for each run, in no order that matters; none where all are the same. */
  readonly runs: readonly Shape[]
  /** Every run was the same execution with the same outcomes. */
  readonly uniform: boolean
}

export interface SameStates {
  readonly add: (event: VerbEvent, run: Comparable) => void
  /** States seen at least twice. */
  readonly repeated: () => Iterable<State>
}

export const sameStates = (): SameStates => {
  const states = new Map<string, number | { readonly runs: number[]; readonly head: string | null }>()
  const shapes: Shape[] = []
  return {
    add: ({ head }, { state, shape }) => {
      if (shape.units.length === 0) return
      shapes[shape.number] = shape
      const standing = states.get(state)
      if (standing === undefined) states.set(state, shape.number)
      else if (typeof standing === 'number') states.set(state, { runs: [standing, shape.number], head })
      else standing.runs.push(shape.number)
    },
    *repeated() {
      for (const [digest, standing] of states) {
        if (typeof standing === 'number') continue
        const { runs, head } = standing
        const uniform = runs.every(number => number === runs[0])
        yield { digest, head, uniform, runs: uniform ? [] : runs.flatMap(number => shapes[number] ?? []) }
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
