/** Measurements that are kept in a worktree, so that a standard is not measured twice with the same inputs. */
import type { Measured } from '../gate/measure.ts'
import { verdictOf } from '../gate/standard.ts'
import type { Worktree } from '../git/repository.ts'
import { worktreeState } from '../git/worktrees.ts'
import type { StandardDefinition } from '../policy/standards.ts'
import { readAdmin, writeAdmin } from '../store/admin.ts'

const FILE = 'standard-measurements'

/** One standard and what is known of it. */
export interface StandardReading {
  readonly standard: StandardDefinition
  readonly measured: Measured
  /** Full id of the commit it was measured on, when it was not measured now. */
  readonly reusedFrom?: string
}

export interface StoredMeasurement {
  /** Digest over everything that the measurement depends on. */
  readonly key: string
  readonly head: string
  readonly value: number
  readonly denominator: number | null
  readonly reading: number
  readonly metrics: Readonly<Record<string, number>>
}

const isStored = (value: unknown): value is StoredMeasurement => {
  if (typeof value !== 'object' || value === null) return false
  const { key, head, reading, value: measured, metrics } = value as Partial<StoredMeasurement>
  return (
    typeof key === 'string' &&
    typeof head === 'string' &&
    Number.isFinite(reading) &&
    Number.isFinite(measured) &&
    typeof metrics === 'object' &&
    metrics !== null
  )
}

/** Measurements that were kept in this worktree; one that cannot be read is measured again. */
export const readMeasurements = async (worktree: Worktree): Promise<ReadonlyMap<string, StoredMeasurement>> => {
  const read = await readAdmin(worktree, FILE)
  const table = read.status === 'ok' ? read.value['measurements'] : undefined
  if (typeof table !== 'object' || table === null) return new Map()
  return new Map(Object.entries(table).flatMap(([name, value]) => (isStored(value) ? [[name, value] as const] : [])))
}

/** What is known of a standard from a kept measurement, judged by the limit that it has now. */
export const readingOfStored = (standard: StandardDefinition, stored: StoredMeasurement): StandardReading => {
  const { value, denominator, reading, metrics, head } = stored
  const verdict = verdictOf(standard, reading)
  return {
    standard,
    measured: { known: { value, denominator: denominator ?? undefined, reading, metrics, verdict } },
    reusedFrom: head,
  }
}

/** Keeps what was measured on a clean commit, unless the commands left another tree than they found. */
export const keepMeasurements = async (
  { worktree, head }: { readonly worktree: Worktree; readonly head: string },
  selected: readonly { readonly standard: StandardDefinition; readonly key: string | undefined }[],
  readings: readonly StandardReading[],
): Promise<void> => {
  const fresh = readings.flatMap(
    ({ standard, measured, reusedFrom }): readonly (readonly [string, StoredMeasurement])[] => {
      const key = selected.find(entry => entry.standard === standard)?.key
      if (key === undefined || reusedFrom !== undefined || !('known' in measured)) return []
      const { value, denominator, reading, metrics } = measured.known
      return [[standard.name, { key, head, value, denominator: denominator ?? null, reading, metrics }]]
    },
  )
  if (fresh.length === 0) return
  const state = await worktreeState(worktree)
  if (state.head !== head || state.tracked.length + state.untracked.length > 0) return
  const standing = await readAdmin(worktree, FILE)
  if (standing.status === 'newer' || standing.status === 'unavailable') return
  const measurements = Object.fromEntries([...(await readMeasurements(worktree)), ...fresh])
  await writeAdmin(worktree, FILE, { measurements })
}
