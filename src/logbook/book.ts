/**
 * Writing into the Logbook (facts 12.1): one JSON line per event, in the file of its month. Recording never changes what a verb
 * does: nothing that is exported here throws.
 */
import { unlink } from 'node:fs/promises'
import { reasonOf } from '../errors.ts'
import { LOGBOOK_KEEP_MONTHS } from '../limits.ts'
import { reapTemporaryFiles } from '../store/file.ts'
import { violations } from '../store/schema.ts'
import { appendLine } from './append.ts'
import { EVENT_SCHEMA, type LogbookEvent, type Outcome, type PruneEvent, type PruneRecord } from './event.ts'
import { type Directories, listMonths, logbookFolder, type MonthFile, monthFile } from './month.ts'

export type Appended = { readonly written: true } | { readonly failed: string }

/**
 * Appends one event to the file of the month `now` lies in. Never throws; an event that breaks its contract or is longer than a
 * line may be is not written. The first event of a month also drops the oldest months beyond those that are kept.
 */
export const appendEvent = async (directories: Directories, event: LogbookEvent, now: Date): Promise<Appended> => {
  const folder = logbookFolder(directories)
  let how: 'created' | 'appended'
  try {
    how = await write(folder, event, now)
  } catch (error) {
    return { failed: reasonOf(error) }
  }
  // What could not be dropped is dropped when the next month begins.
  if (how === 'created') await tidy(folder, event.writer, now).catch(() => {})
  return { written: true }
}

/** A reader skips what breaks the contract, so it is not written either. */
const write = async (folder: string, event: LogbookEvent, now: Date): Promise<'created' | 'appended'> => {
  const wrong = violations('discern-logbook', event)[0]
  if (wrong) throw new Error(`the event is invalid: ${wrong.path || '/'} ${wrong.message}`)
  return appendLine(folder, monthFile(now), `${JSON.stringify(event)}\n`)
}

/** First the event that says what goes, then its removal, so that a kill or a full disk in between loses no count. */
const tidy = async (folder: string, writer: string | undefined, now: Date): Promise<void> => {
  await reapTemporaryFiles(folder, now)
  const { files } = await listMonths(folder)
  const stale = files.slice(0, -LOGBOOK_KEEP_MONTHS).filter(({ name }) => name !== monthFile(now))
  const removed: PruneRecord[] = []
  for (const file of stale) {
    const record = await pruneRecord(file)
    if (record) removed.push(record)
  }
  if (removed.length === 0) return
  const event: PruneEvent = {
    schema: EVENT_SCHEMA,
    at: now.toISOString(),
    ...(writer === undefined ? {} : { writer }),
    kind: 'prune',
    removed,
  }
  await write(folder, event, now)
  for (const { name, path } of stale) {
    if (removed.some(({ file }) => file === name)) await unlink(path)
  }
}

/** `undefined` for a month that cannot be read: what cannot be told is not dropped. */
const pruneRecord = async ({ name, path }: MonthFile): Promise<PruneRecord | undefined> => {
  const { readEventFile } = await import('./read.ts')
  const outcomes = new Map<Outcome, number>()
  const verbs = new Map<string, number>()
  const read = await readEventFile(path, event => {
    if (event.kind !== 'verb') return
    outcomes.set(event.outcome, (outcomes.get(event.outcome) ?? 0) + 1)
    verbs.set(event.verb, (verbs.get(event.verb) ?? 0) + 1)
  })
  if ('reason' in read) return undefined
  const unparsed = read.torn + read.foreign
  return {
    file: name,
    events: read.events,
    ...Object.fromEntries(outcomes),
    ...(verbs.size > 0 ? { by_verb: Object.fromEntries(verbs) } : {}),
    ...(unparsed > 0 ? { unparsed } : {}),
  }
}
