/** Bytes at rest: whole or absent, never half. Paths are absolute; errors are the operating system's, with their code. */
import { randomBytes } from 'node:crypto'
import { constants, type FileHandle, link, lstat, mkdir, open, readdir, rename, rm, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { TEMPORARY_FILE_AGE_LIMIT_MS } from '../limits.ts'

const TEMPORARY = '.discern-tmp-'

/** Whether an entry of a folder is a temporary file of ours. */
export const isTemporary = (name: string): boolean => name.startsWith(TEMPORARY)

const temporaryBeside = (path: string): string =>
  join(dirname(path), `${TEMPORARY}${basename(path)}-${process.pid}-${randomBytes(6).toString('hex')}`)

/** A failed write is about the file that was meant, not about what stood in for it on the way. */
const about = async <T>(path: string, work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (error) {
    throw error instanceof Error ? Object.assign(error, { path }) : error
  }
}

const writeTemporary = async (path: string, bytes: string | Uint8Array, mode: number): Promise<string> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = temporaryBeside(path)
  const file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, mode)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } catch (error) {
    await file.close().catch(() => {})
    await unlink(temporary).catch(() => {})
    throw error
  }
  await file.close()
  return temporary
}

/** A directory entry survives a power loss only after its directory was synced; some file systems cannot, which is no error. */
export const syncDirectory = async (path: string): Promise<void> => {
  let directory: FileHandle | undefined
  try {
    directory = await open(path, constants.O_RDONLY)
    await directory.sync()
  } catch {
    // Not every platform or file system can sync a directory; the rename is atomic all the same.
  } finally {
    await directory?.close()
  }
}

/** Replaces `path` as one step: temporary file in the same folder, 0600, fsync, rename. */
export const replaceFile = (path: string, bytes: string | Uint8Array, mode = 0o600): Promise<void> =>
  about(path, replace(path, bytes, mode))

const replace = async (path: string, bytes: string | Uint8Array, mode: number): Promise<void> => {
  const temporary = await writeTemporary(path, bytes, mode)
  try {
    await rename(temporary, path)
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
  await syncDirectory(dirname(path))
}

/** Creates `path` as one step and only if nothing is there; `false` when something is. Never replaces. */
export const createFile = (path: string, bytes: string | Uint8Array, mode = 0o600): Promise<boolean> =>
  about(path, create(path, bytes, mode))

const create = async (path: string, bytes: string | Uint8Array, mode: number): Promise<boolean> => {
  const temporary = await writeTemporary(path, bytes, mode)
  try {
    await link(temporary, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await unlink(temporary).catch(() => {})
  }
  await syncDirectory(dirname(path))
  return true
}

/** Reads a regular file of at most `limitBytes`; `undefined` when there is none. Never follows a symbolic link. */
export const readRegularFile = async (path: string, limitBytes: number): Promise<Buffer | undefined> => {
  let file: FileHandle
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw new Error(`${path} is not a regular file`)
    if (stat.size > limitBytes) throw new Error(`${path} is larger than ${limitBytes} bytes`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** Removes a file; no error when it is not there. */
export const removeFile = async (path: string): Promise<void> => {
  await rm(path, { force: true })
}

/** Creates, writes, renames and removes a file in `directory`, so that a full or read-only place is found before any work. */
export const probeWrite = async (directory: string): Promise<void> => {
  const path = join(directory, `${TEMPORARY}probe-${process.pid}-${randomBytes(6).toString('hex')}`)
  await replaceFile(path, 'probe\n')
  await unlink(path)
}

/** Removes temporary files of ours that a killed process left more than a day ago (case 83). Errors are left for the writer. */
export const reapTemporaryFiles = async (directory: string, now: Date): Promise<void> => {
  for (const name of await readdir(directory).catch(() => [])) {
    if (!isTemporary(name)) continue
    const path = join(directory, name)
    const stat = await lstat(path).catch(() => undefined)
    if (stat?.isFile() && now.getTime() - stat.mtimeMs > TEMPORARY_FILE_AGE_LIMIT_MS) await unlink(path).catch(() => {})
  }
}
