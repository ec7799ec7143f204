/** What each checkpoint cost and brought lately, for `git discern checkpoints` (facts 7.7). No rationale ever reaches the Logbook. */
import { LOGBOOK_NEWEST_COUNT } from '../limits.ts'
import { median } from './basis.ts'
import type { LogbookEvent } from './event.ts'
import { look } from './look.ts'
import type { Directories } from './month.ts'
import type { Occasion } from './population.ts'
import { newestEvents } from './read.ts'

export interface CheckpointEconomics {
  readonly id: string
  /** Efforts in which it asked or advised. */
  readonly fired: number
  readonly met: number
  readonly unmet: number
  /** Landings that the owner allowed under a variance of it. */
  readonly varied: number
  /** From the question to its answer; absent where no answer tells. */
  readonly median_answer_ms?: number
}

export interface Economics {
  /** Newest events that were looked at: of any kind, and of them those that count. */
  readonly events: number
  readonly counted: number
  readonly checkpoints: readonly CheckpointEconomics[]
}

interface Row {
  readonly efforts: Set<string>
  readonly answers: number[]
  met: number
  unmet: number
  varied: number
}

/** Counts by checkpoint over events that come oldest first. `trunk` as in `foldPopulation`. */
export const economicsOf = async (events: readonly LogbookEvent[], trunk: string | undefined): Promise<Economics> => {
  let rows = new Map<string, Row>()
  const rowOf = (id: string): Row => {
    const row = rows.get(id) ?? { efforts: new Set(), answers: [], met: 0, unmet: 0, varied: 0 }
    rows.set(id, row)
    return row
  }
  const observe = ({ event, effort, landed }: Occasion): void => {
    const { fired = [], reopened = [], advise = [], declared = [] } = event.checkpoints ?? {}
    for (const { id } of [...fired, ...reopened, ...advise]) rowOf(id).efforts.add(effort ?? '')
    for (const { id, conclusion, elapsed_ms } of declared) {
      rowOf(id)[conclusion] += 1
      if (elapsed_ms !== undefined) rowOf(id).answers.push(elapsed_ms)
    }
    for (const { landing } of landed) for (const id of landing.variances) rowOf(id).varied += 1
  }
  const { population } = await look({
    read: async visit => events.forEach(visit),
    trunk,
    start: () => {
      rows = new Map()
      return { observe, conclude: () => [] }
    },
  })
  return {
    events: events.length,
    counted: population.counted,
    checkpoints: [...rows]
      .map(([id, { efforts, answers, ...counts }]) => ({
        id,
        fired: efforts.size,
        ...counts,
        ...(answers.length > 0 ? { median_answer_ms: Math.round(median(answers)) } : {}),
      }))
      .sort((left, right) => (left.id < right.id ? -1 : 1)),
  }
}

/** The economics of the newest 200 events; `undefined` where there is no Logbook. Reads no further back than these, and never throws. */
export const newestEconomics = async (
  directories: Directories,
  trunk: string | undefined,
): Promise<Economics | undefined> => {
  const { events } = await newestEvents(directories, LOGBOOK_NEWEST_COUNT)
  return events.length === 0 ? undefined : economicsOf(events, trunk)
}
