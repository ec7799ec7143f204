/** What each checkpoint cost and brought lately, for `git discern checkpoints` (facts 7.7). No rationale ever reaches the Logbook. */
import { LOGBOOK_NEWEST_COUNT } from '../limits.ts'
import { median } from './basis.ts'
import { EVENT_SCHEMA, type LogbookEvent, type VerbEvent } from './event.ts'
import { linesFromEnd } from './lines.ts'
import { look } from './look.ts'
import { type Directories, listMonths, logbookFolder } from './month.ts'
import type { Occasion } from './population.ts'

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
  /** Newest lines that were looked at. */
  readonly lines: number
  readonly checkpoints: readonly CheckpointEconomics[]
}

interface Row {
  readonly efforts: Set<string>
  readonly answers: number[]
  met: number
  unmet: number
  varied: number
}

/** Counts by checkpoint over events that come oldest first, out of `looked` lines. `trunk` as in `foldPopulation`. */
export const economicsOf = async (
  events: readonly LogbookEvent[],
  trunk: string | undefined,
  looked: number = events.length,
): Promise<Economics> => {
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
      if (typeof elapsed_ms === 'number') rowOf(id).answers.push(elapsed_ms)
    }
    for (const { landing } of landed) for (const id of landing.variances) rowOf(id).varied += 1
  }
  await look({
    read: async visit => events.forEach(visit),
    trunk,
    start: () => {
      rows = new Map()
      return { observe, conclude: () => [] }
    },
  })
  return {
    lines: looked,
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

/** Whether a line can name a checkpoint; most lines cannot. Our lines are written without blanks. */
const mayTell = (line: string): boolean =>
  line.includes('"kind":"verb"') && (line.includes('"checkpoints":{"') || line.includes('"landing":['))

const listOf = (value: unknown, item: (one: Readonly<Record<string, unknown>>) => boolean): boolean =>
  value === undefined ||
  (Array.isArray(value) && value.every(one => typeof one === 'object' && one !== null && item(one)))

const named = ({ id }: Readonly<Record<string, unknown>>): boolean => typeof id === 'string'

/**
 * A line as far as it is counted here, or `undefined` where it is none of ours. Holding it to its whole contract takes longer than
 * everything else that `checkpoints` does, so only what is used is looked at, and only that is kept.
 */
const telling = (line: string): VerbEvent | undefined => {
  let event: VerbEvent
  try {
    event = JSON.parse(line) as VerbEvent
  } catch {
    return undefined
  }
  const { schema, kind, at, invocation, verb, driver, branch, head, epoch, outcome, dry_run, target } = event
  const { checkpoints = {}, landing = [] } = event
  const shaped =
    schema === EVENT_SCHEMA &&
    kind === 'verb' &&
    typeof checkpoints === 'object' &&
    checkpoints !== null &&
    [checkpoints.fired, checkpoints.reopened, checkpoints.advise].every(list => listOf(list, named)) &&
    listOf(checkpoints.declared, one => named(one) && (one['conclusion'] === 'met' || one['conclusion'] === 'unmet')) &&
    listOf(landing, ({ variances }) => Array.isArray(variances) && variances.every(id => typeof id === 'string'))
  if (!shaped) return undefined
  const place = { branch, head, epoch, ...(target === undefined ? {} : { target }) }
  const who = { ...(invocation === undefined ? {} : { invocation }), ...(driver ? { driver } : {}) }
  const how = { outcome, clean: null, duration_ms: 0, ...(dry_run ? { dry_run } : {}) }
  return { schema, kind, at, verb, surface: 'cli', ...who, ...place, ...how, checkpoints, landing }
}

/** The newest lines that can name a checkpoint, oldest first, and how many lines were looked at. */
const newestTelling = async (
  directories: Directories,
): Promise<{ readonly looked: number; readonly events: readonly LogbookEvent[] }> => {
  const events: LogbookEvent[] = []
  let looked = 0
  const { files } = await listMonths(logbookFolder(directories))
  for (const { path } of files.toReversed()) {
    try {
      for await (const line of linesFromEnd(path)) {
        if (line === '') continue
        if (looked === LOGBOOK_NEWEST_COUNT) return { looked, events: events.reverse() }
        looked += 1
        const event = line !== undefined && mayTell(line) ? telling(line) : undefined
        if (event) events.push(event)
      }
    } catch {
      // A month that cannot be read is told by patterns; here there is less to say.
    }
  }
  return { looked, events: events.reverse() }
}

/**
 * The economics of the newest 200 lines; `undefined` where there is no Logbook. Reads no further back than these, and never
 * throws.
 */
export const newestEconomics = async (
  directories: Directories,
  trunk: string | undefined,
): Promise<Economics | undefined> => {
  const { looked, events } = await newestTelling(directories)
  return events.length === 0 ? undefined : economicsOf(events, trunk, looked)
}
