/** Files that git does not track are the branch's to choose: opened so that nothing blocks and no link is followed (facts 2.1). */
import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readlink } from 'node:fs/promises'
import { filePath } from '../git/path.ts'
import { BINARY_PREFIX_BYTES } from '../limits.ts'

/**
 * Calls `use` with a regular file opened for reading; `undefined` when the path is anything else, was replaced meanwhile, or
 * cannot be read. The descriptor is compared with the path, looked at before and after, ahead of the first read.
 */
const withRegularFile = async <T>(
  topLevel: string,
  path: string,
  use: (file: FileHandle) => Promise<T>,
): Promise<T | undefined> => {
  const full = filePath(topLevel, path)
  try {
    const before = await lstat(full)
    if (!before.isFile()) return undefined
    const file = await open(full, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    try {
      const opened = await file.stat()
      const after = await lstat(full)
      if (!opened.isFile() || !sameFile(before, opened) || !sameFile(opened, after)) return undefined
      return await use(file)
    } finally {
      await file.close()
    }
  } catch {
    return undefined
  }
}

const sameFile = (left: Stats, right: Stats): boolean => left.dev === right.dev && left.ino === right.ino

const CHUNK_BYTES = 64 * 1024

/**
 * Whether an untracked file is binary and how many lines it adds; `undefined` when it is no readable regular file. Reads a
 * text file to its end, in constant memory.
 */
export const untrackedCounts = (
  topLevel: string,
  path: string,
): Promise<{ readonly binary: boolean; readonly insertions: number } | undefined> =>
  withRegularFile(topLevel, path, async file => {
    const chunk = Buffer.alloc(CHUNK_BYTES)
    let at = 0
    let insertions = 0
    let last = 10
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, at)
      if (bytesRead === 0) return { binary: false, insertions: insertions + (last === 10 ? 0 : 1) }
      const bytes = chunk.subarray(0, bytesRead)
      if (at < BINARY_PREFIX_BYTES && bytes.subarray(0, BINARY_PREFIX_BYTES - at).includes(0)) {
        return { binary: true, insertions: 0 }
      }
      for (let lf = bytes.indexOf(10); lf !== -1; lf = bytes.indexOf(10, lf + 1)) insertions += 1
      last = bytes[bytesRead - 1] ?? 10
      at += bytesRead
    }
  })

/** At most `limitBytes` of an untracked file; `undefined` when it is no readable regular file. */
export const untrackedBytes = (topLevel: string, path: string, limitBytes: number): Promise<Buffer | undefined> =>
  withRegularFile(topLevel, path, async file => {
    const bytes = Buffer.alloc(limitBytes)
    let size = 0
    while (size < limitBytes) {
      const { bytesRead } = await file.read(bytes, size, limitBytes - size, size)
      if (bytesRead === 0) break
      size += bytesRead
    }
    return bytes.subarray(0, size)
  })

/** What stands at a path of the worktree, as far as git could record it. */
export type Standing =
  | { readonly kind: 'absent' | 'other' | 'unreadable' }
  | { readonly kind: 'file'; readonly mode: '100644' | '100755' }
  | { readonly kind: 'link'; readonly target: Buffer }

/**
 * Looks at a path without opening it. What lies behind a symbolic link is not there, as for git; a directory, FIFO, socket or
 * device is `other`. `cache` keeps the folders that were looked at.
 */
export const standingAt = async (
  topLevel: string,
  path: string,
  cache: Map<string, Promise<boolean>>,
): Promise<Standing> => {
  try {
    for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
      const folder = path.slice(0, slash)
      const known = cache.get(folder) ?? lstat(filePath(topLevel, folder)).then(stat => stat.isDirectory())
      cache.set(folder, known)
      if (!(await known)) return { kind: 'absent' }
    }
    const full = filePath(topLevel, path)
    const stat = await lstat(full)
    if (stat.isFile()) return { kind: 'file', mode: (stat.mode & 0o111) === 0 ? '100644' : '100755' }
    if (stat.isSymbolicLink()) return { kind: 'link', target: await readlink(full, { encoding: 'buffer' }) }
    return { kind: 'other' }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    return { kind: code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : 'unreadable' }
  }
}
