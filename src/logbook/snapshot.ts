/** A detached folder of months on its way into an archive: copied, published, deleted, in steps that a later seal can go on with. */
import { constants, type FileHandle, link, lstat, mkdir, open, readdir, rename, rmdir, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { LOGBOOK_CHUNK_BYTES, LOGBOOK_LINE_LIMIT_BYTES } from '../limits.ts'
import { isTemporary, readRegularFile, removeFile, replaceFile, syncDirectory } from '../store/file.ts'
import { appendLine } from './append.ts'
import { listMonths, type MonthFile } from './month.ts'

/** How far each month was copied; there before the archive is. */
const COPIED = 'copied.json'
/** The one other file of ours among the months. */
const EPOCH = 'epoch.json'

interface Places {
  readonly snapshot: string
  readonly archive: string
  /** The Logbook as it is now: what comes late and what is no month goes there. */
  readonly folder: string
}

/** Size of the archive, `undefined` where the snapshot held no month any more. Throws what the system says. */
export const finishSnapshot = async (places: Places): Promise<number | undefined> => {
  const { snapshot, archive, folder } = places
  const { files, unavailable } = await listMonths(snapshot)
  if (unavailable !== undefined) throw new Error(unavailable)
  if (files.length > 0 && (await sizeOf(archive)) === undefined) await publish(places, files)
  const copied = await readCopied(snapshot)
  for (const month of files) await removeMonth(month, copied.get(month.name), folder)
  await removeFile(copyBeside(archive))
  await putBack(places)
  return files.length > 0 ? sizeOf(archive) : undefined
}

/** Where an archive is written before it is one; the same for each try, so that none is left over. */
const copyBeside = (archive: string): string => join(dirname(archive), `.${basename(archive)}`)

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

const sizeOf = async (path: string): Promise<number | undefined> => {
  try {
    return (await lstat(path)).size
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

const openToRead = (path: string): Promise<FileHandle> =>
  open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)

/** The archive appears with all its lines or not at all: the name of the copy that is under way is none of an archive. */
const publish = async ({ snapshot, archive }: Places, files: readonly MonthFile[]): Promise<void> => {
  await mkdir(dirname(archive), { recursive: true, mode: 0o700 })
  const temporary = copyBeside(archive)
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants
  const out = await open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600)
  try {
    const copied: Record<string, number> = {}
    for (const { name, path } of files) copied[name] = await copyLines(path, out)
    await out.sync()
    await replaceFile(join(snapshot, COPIED), `${JSON.stringify(copied)}\n`)
    await link(temporary, archive)
  } finally {
    await out.close()
    await removeFile(temporary)
  }
  await syncDirectory(dirname(archive))
}

/** Appends a file as it is, and a newline where its last line has none; the bytes that were in it. */
const copyLines = async (path: string, out: FileHandle): Promise<number> => {
  const file = await openToRead(path)
  try {
    const room = Buffer.allocUnsafe(LOGBOOK_CHUNK_BYTES)
    let bytes = 0
    let last = 0x0a
    for (;;) {
      const { bytesRead } = await file.read(room, 0, room.length, bytes)
      if (bytesRead === 0) break
      bytes += bytesRead
      last = room[bytesRead - 1] ?? last
      await out.writeFile(room.subarray(0, bytesRead))
    }
    if (last !== 0x0a) await out.writeFile('\n')
    return bytes
  } finally {
    await file.close()
  }
}

const readCopied = async (snapshot: string): Promise<ReadonlyMap<string, number>> => {
  try {
    const bytes = await readRegularFile(join(snapshot, COPIED), LOGBOOK_LINE_LIMIT_BYTES)
    return new Map(Object.entries(JSON.parse(bytes?.toString() ?? '{}') as Record<string, number>))
  } catch {
    return new Map()
  }
}

/**
 * Deletes a month that was copied. A writer may have had it open since before the folder was detached; what it wrote after the
 * copy goes into the Logbook as it is now, also what it wrote while the file was being deleted.
 */
const removeMonth = async ({ name, path }: MonthFile, copied: number | undefined, folder: string): Promise<void> => {
  const file = await openToRead(path)
  try {
    const seen = await rescue(file, copied ?? (await file.stat()).size, folder, name)
    await unlink(path)
    await rescue(file, seen, folder, name)
  } finally {
    await file.close()
  }
}

/** Appends the lines that stand at or after `from`, also one that was copied in part; how far it looked. */
const rescue = async (file: FileHandle, from: number, folder: string, month: string): Promise<number> => {
  const { size } = await file.stat()
  if (size <= from) return from
  const before = Math.max(0, from - LOGBOOK_LINE_LIMIT_BYTES)
  const bytes = Buffer.alloc(size - before)
  await file.read(bytes, 0, bytes.length, before)
  const start = bytes.subarray(0, from - before).lastIndexOf(0x0a) + 1
  for (const line of bytes.subarray(start).toString().split('\n')) {
    if (line !== '') await appendLine(folder, month, `${line}\n`)
  }
  return size
}

/** What is no month goes back where it was, the remembered configurations too; where something new stands, the new one stays. */
const putBack = async ({ snapshot, folder }: Places): Promise<void> => {
  for (const name of await readdir(snapshot)) {
    const path = join(snapshot, name)
    if (name === COPIED || isTemporary(name)) continue
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const target = join(folder, name)
    // A stranger's file that has no place to go back to stays, and the snapshot with it.
    if ((await sizeOf(target)) === undefined) await rename(path, target)
    else if (name === EPOCH) await unlink(path)
  }
  for (const name of await readdir(snapshot)) {
    if (name === COPIED || isTemporary(name)) await unlink(join(snapshot, name))
  }
  await removeEmpty(snapshot)
}

/** Removes a folder unless something is in it. */
export const removeEmpty = async (folder: string): Promise<void> => {
  try {
    await rmdir(folder)
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(codeOf(error) ?? '')) throw error
  }
}
