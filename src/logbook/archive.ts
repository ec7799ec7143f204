/**
 * Sealing the Logbook into an archive and deleting it (facts 12.1). Sealing detaches the whole folder in one step, copies its raw
 * lines, publishes the copy in one step, and only then deletes; what a kill or a full disk interrupts, the next seal finishes. At
 * any moment each line is in the Logbook, in a detached snapshot or in an archive. Neither is told to the Logbook.
 */
import { lstat, mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { LOGBOOK_BEGUN_LIMIT_MS, LOGBOOK_NEWEST_COUNT } from '../limits.ts'
import { adminFolder, adminPath } from '../store/admin.ts'
import { removeFile } from '../store/file.ts'
import { withLock } from '../store/lock.ts'
import type { BeginEvent } from './event.ts'
import { type Directories, listMonths, logbookFolder } from './month.ts'
import { linesBackwards } from './read.ts'
import { finishSnapshot, removeEmpty } from './snapshot.ts'

/** Logbook and locks belong to all worktrees together, so one of them at a time may seal or reset. */
const withLogbook = <T>(context: Context, { commonDir }: Directories, work: () => Promise<T>): Promise<T> =>
  withLock(context, { gitDir: commonDir, commonDir }, 'logbook', 'logbook', work)

/**
 * A verb that has begun a short while ago and has not ended; its end would get lost from its begin. The search ends where
 * enough lines in a row are older.
 */
export const openVerb = async (directories: Directories, now: Date): Promise<BeginEvent | undefined> => {
  const ended = new Set<string>()
  let old = 0
  for await (const line of linesBackwards(directories)) {
    if (typeof line === 'string') continue
    const fresh = Math.abs(now.getTime() - Date.parse(line.at)) < LOGBOOK_BEGUN_LIMIT_MS
    old = fresh ? 0 : old + 1
    if (old > LOGBOOK_NEWEST_COUNT) return undefined
    if (line.kind === 'verb' && line.invocation !== undefined) ended.add(line.invocation)
    if (line.kind === 'begin' && fresh && !ended.has(line.invocation)) return line
  }
  return undefined
}

/** Refuses with `logbook_in_use` while another verb is under way. */
export const requireIdle = async (context: Context, directories: Directories, action: string): Promise<void> => {
  const open = await openVerb(directories, context.now())
  if (!open) return
  const until = new Date(Date.parse(open.at) + LOGBOOK_BEGUN_LIMIT_MS).toISOString()
  throw new Refusal('logbook_in_use', { verb: open.verb, at: open.at, until, command: `git discern logbook ${action}` })
}

export interface Archive {
  readonly path: string
  readonly bytes: number
}

/** `20261130T210500Z`, or with `-1`, `-2`, … as an archive or a snapshot may have that name: where an interrupted seal continues. */
const SNAPSHOT = /^\d{8}T\d{6}Z(-\d+)?$/

/** Detached folders that no archive has taken in completely, oldest first. */
export const pendingSnapshots = async (directories: Directories): Promise<readonly string[]> => {
  const entries = await readdir(adminFolder(directories, 'logbook-recovery'), { withFileTypes: true }).catch(() => [])
  return entries
    .filter(entry => entry.isDirectory() && SNAPSHOT.test(entry.name))
    .map(({ name }) => name)
    .sort()
}

/** Archives by path, oldest first; anything else in their folder is ignored. */
export const listArchives = async (directories: Directories): Promise<readonly Archive[]> => {
  const folder = adminFolder(directories, 'logbook-archives')
  const archives: Archive[] = []
  for (const name of (await readdir(folder).catch(() => [])).sort()) {
    if (!name.startsWith('logbook-') || !name.endsWith('.jsonl')) continue
    if (!SNAPSHOT.test(name.slice('logbook-'.length, -'.jsonl'.length))) continue
    const stat = await lstat(join(folder, name)).catch(() => undefined)
    if (stat?.isFile()) archives.push({ path: join(folder, name), bytes: stat.size })
  }
  return archives
}

const archivePath = (directories: Directories, name: string): string =>
  join(adminFolder(directories, 'logbook-archives'), `logbook-${name}.jsonl`)

const exists = async (path: string): Promise<boolean> => {
  try {
    await lstat(path)
    return true
  } catch {
    return false
  }
}

const freeName = async (directories: Directories, now: Date): Promise<string> => {
  const stamp = now
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(/[-:]/g, '')
  for (let count = 0; ; count += 1) {
    const name = count === 0 ? stamp : `${stamp}-${count}`
    const places = [join(adminFolder(directories, 'logbook-recovery'), name), archivePath(directories, name)]
    if (!(await Promise.all(places.map(exists))).includes(true)) return name
  }
}

/**
 * Finishes what earlier seals left, then seals what the Logbook holds; the archives that came to be. Refuses with `busy` and
 * `logbook_in_use`; throws what the system says, and then the snapshot waits for the next seal.
 */
export const sealLogbook = (context: Context, directories: Directories): Promise<readonly Archive[]> =>
  withLogbook(context, directories, async () => {
    await requireIdle(context, directories, 'seal')
    const recovery = adminFolder(directories, 'logbook-recovery')
    const folder = logbookFolder(directories)
    const names = [...(await pendingSnapshots(directories))]
    const archives: Archive[] = []
    const finish = async (name: string): Promise<void> => {
      const path = archivePath(directories, name)
      const bytes = await finishSnapshot({ snapshot: join(recovery, name), archive: path, folder })
      if (bytes !== undefined) archives.push({ path, bytes })
    }
    for (const name of names) await finish(name)
    if ((await listMonths(folder)).files.length > 0) {
      const name = await freeName(directories, context.now())
      await mkdir(recovery, { recursive: true, mode: 0o700 })
      await rename(folder, join(recovery, name))
      await finish(name)
    }
    await removeEmpty(recovery)
    return archives
  })

/**
 * Deletes the months of the Logbook, oldest first, and what is remembered of configurations; archives and snapshots stay, and so
 * does what is not ours. An event that is written meanwhile is kept. Refuses as `sealLogbook` does. The files that went.
 */
export const resetLogbook = (context: Context, directories: Directories): Promise<readonly string[]> =>
  withLogbook(context, directories, async () => {
    await requireIdle(context, directories, 'reset')
    const { files } = await listMonths(logbookFolder(directories))
    for (const { path } of files) await removeFile(path)
    await removeFile(adminPath(directories, 'epoch'))
    return files.map(({ name }) => name)
  })
