/**
 * Reading the Logbook tolerantly (facts 12.1): a line that is not JSON is torn, one of another major version or shape is foreign;
 * both are skipped and counted. Nothing here writes, follows a link, or throws.
 */
import { basename } from 'node:path'
import { reasonOf } from '../errors.ts'
import { violations } from '../store/schema.ts'
import { EVENT_SCHEMA, type LogbookEvent } from './event.ts'
import { eachLine, type Line, linesFromEnd } from './lines.ts'
import { type Directories, listMonths, logbookFolder } from './month.ts'

/** A line as an event, or why it is none; `blank` is nothing at all. */
export type ReadLine = LogbookEvent | 'torn' | 'foreign' | 'blank'

export const readLine = (line: Line): ReadLine => {
  if (line === '') return 'blank'
  let value: unknown
  try {
    value = JSON.parse(line ?? '')
  } catch {
    return 'torn'
  }
  if ((value as { schema?: unknown } | null)?.schema !== EVENT_SCHEMA) return 'foreign'
  return violations('discern-logbook', value).length === 0 ? (value as LogbookEvent) : 'foreign'
}

export interface Counts {
  readonly events: number
  /** Lines that are not JSON, or longer than a line may be. */
  readonly torn: number
  /** Lines of another major version or shape. */
  readonly foreign: number
}

export interface FileReading extends Counts {
  /** `2026-11.jsonl` */
  readonly name: string
  readonly bytes: number
}

export interface Unreadable {
  readonly name: string
  readonly reason: string
}

export interface LogbookReading extends Counts {
  /** Oldest first. */
  readonly files: readonly FileReading[]
  /** Months, or the folder, that could not be read, each with the operating system's word for it. */
  readonly unreadable: readonly Unreadable[]
  /** What else lies in the folder, by name: ignored. */
  readonly others: readonly string[]
}

type Visit = (event: LogbookEvent) => void

/** Hands every event of one file of lines to `visit`, as it stands there. Never throws; a visitor must not either. */
export const readEventFile = async (path: string, visit: Visit): Promise<FileReading | Unreadable> => {
  const name = basename(path)
  const counts = { events: 0, torn: 0, foreign: 0 }
  try {
    const bytes = await eachLine(path, text => {
      const line = readLine(text)
      if (line === 'blank') return
      if (typeof line === 'string') counts[line] += 1
      else {
        counts.events += 1
        visit(line)
      }
    })
    return { name, bytes, ...counts }
  } catch (error) {
    return { name, reason: reasonOf(error) }
  }
}

/**
 * Hands every event to `visit`, month by month in the order they were written, one at a time, so that memory does not grow with
 * the Logbook. Duplicates are handed on as they stand.
 */
export const readEvents = async (
  directories: Directories,
  visit: (event: LogbookEvent, month: string) => void,
): Promise<LogbookReading> => {
  const months = await listMonths(logbookFolder(directories))
  const files: FileReading[] = []
  const unreadable: Unreadable[] = months.unavailable ? [{ name: 'logbook', reason: months.unavailable }] : []
  for (const { name, path } of months.files) {
    const read = await readEventFile(path, event => visit(event, name))
    if ('reason' in read) unreadable.push(read)
    else files.push(read)
  }
  const sum = (field: keyof Counts): number => files.reduce((total, file) => total + file[field], 0)
  const counts = { events: sum('events'), torn: sum('torn'), foreign: sum('foreign') }
  return { ...counts, files, unreadable, others: months.others }
}

/** The lines of the whole Logbook from its end, and what is in the way. Reads no further than it is asked for. */
export async function* linesBackwards(
  directories: Directories,
  unreadable: Unreadable[] = [],
): AsyncGenerator<Exclude<ReadLine, 'blank'>, void, undefined> {
  const months = await listMonths(logbookFolder(directories))
  if (months.unavailable) unreadable.push({ name: 'logbook', reason: months.unavailable })
  for (const { name, path } of months.files.toReversed()) {
    try {
      for await (const text of linesFromEnd(path)) {
        const line = readLine(text)
        if (line !== 'blank') yield line
      }
    } catch (error) {
      unreadable.push({ name, reason: reasonOf(error) })
    }
  }
}

export interface Newest extends Omit<Counts, 'events'> {
  /** Oldest first. */
  readonly events: readonly LogbookEvent[]
  /** The Logbook holds no other event that would be kept. */
  readonly all: boolean
  readonly unreadable: readonly Unreadable[]
}

/**
 * The newest `count` events that `keep` wants, read from the end; the counts of torn and foreign lines are those met on the way.
 */
export const newestEvents = async (
  directories: Directories,
  count: number,
  keep: (event: LogbookEvent) => boolean = () => true,
): Promise<Newest> => {
  const events: LogbookEvent[] = []
  const counts = { torn: 0, foreign: 0 }
  const unreadable: Unreadable[] = []
  let all = true
  for await (const line of linesBackwards(directories, unreadable)) {
    if (line === 'torn' || line === 'foreign') counts[line] += 1
    else if (keep(line)) {
      if (events.length === count) {
        all = false
        break
      }
      events.push(line)
    }
  }
  return { ...counts, events: events.reverse(), all, unreadable }
}
