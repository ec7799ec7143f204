/** What stands at the paths of a checkout, read so that nothing blocks, no link is followed and no limit is passed (facts 12.4). */
import fs, { constants } from 'node:fs'
import { promisify } from 'node:util'
import type { Bounds } from '../git/bounded.ts'

export type Standing =
  | { readonly kind: 'deleted' | 'directory' }
  | { readonly kind: 'symlink'; readonly target: Buffer }
  | { readonly kind: 'file'; readonly executable: boolean; readonly content: Buffer }

/**
 * `invalid`: a FIFO, socket or device. `unreadable`: no permission, an error of the disk, or it changed while it was read.
 */
export type Observed =
  | { readonly known: Standing }
  | { readonly unavailable: 'unreadable' | 'invalid' | 'byte-limit' | 'time-limit' }

// A third of the time of file handles, which counts where thousands of small files are read.
const lstat = promisify(fs.lstat)
const fstat = promisify(fs.fstat)
const open = promisify(fs.open)
const close = promisify(fs.close)
const readlink = promisify(fs.readlink) as (path: Buffer, encoding: 'buffer') => Promise<Buffer>

const read = (file: number, into: Buffer, from: number): Promise<number> =>
  new Promise((resolve, reject) => {
    fs.read(file, into, from, into.length - from, null, (error, bytes) => (error ? reject(error) : resolve(bytes)))
  })

export interface Observer {
  /** Looks at one path below the top, given in bytes. Never throws. */
  readonly observe: (path: Buffer) => Promise<Observed>
  /** Whether a folder of the work tree is there and the top of a repository; links on the way to it are not followed. */
  readonly isRepository: (path: Buffer) => Promise<boolean>
}

/** Remembers the folders that it looked at; for one capture only. What lies behind a symbolic link is not there, as for git. */
export const openObserver = (topLevel: string, bounds: Pick<Bounds, 'takeBytes' | 'remainingMs'>): Observer => {
  const top = Buffer.from(`${topLevel}/`, 'utf8')
  const folders = new Map<string, Promise<boolean>>()

  const isFolder = (path: Buffer): Promise<boolean> => {
    const name = path.toString('latin1')
    const known = folders.get(name)
    if (known) return known
    const asked = (async () => {
      const slash = path.lastIndexOf(SLASH)
      if (slash !== -1 && !(await isFolder(path.subarray(0, slash)))) return false
      try {
        return (await lstat(Buffer.concat([top, path]))).isDirectory()
      } catch (error) {
        if (isMissing(error)) return false
        throw error
      }
    })()
    folders.set(name, asked)
    return asked
  }

  const isRepository = async (path: Buffer): Promise<boolean> => {
    if (!(await isFolder(path))) return false
    try {
      await lstat(Buffer.concat([top, path, DOT_GIT]))
      return true
    } catch (error) {
      if (isMissing(error)) return false
      throw error
    }
  }

  const observe = async (path: Buffer): Promise<Observed> => {
    if (bounds.remainingMs() <= 0) return { unavailable: 'time-limit' }
    try {
      const slash = path.lastIndexOf(SLASH, path.length - 2)
      if (slash > 0 && !(await isFolder(path.subarray(0, slash)))) return { known: { kind: 'deleted' } }
      const full = Buffer.concat([top, path])
      const stat = await lstat(full)
      if (stat.isFile()) return await readFile(full, stat, bounds)
      if (stat.isDirectory()) return { known: { kind: 'directory' } }
      if (!stat.isSymbolicLink()) return { unavailable: 'invalid' }
      if (!bounds.takeBytes(stat.size)) return { unavailable: 'byte-limit' }
      return { known: { kind: 'symlink', target: await readlink(full, 'buffer') } }
    } catch (error) {
      return isMissing(error) ? { known: { kind: 'deleted' } } : { unavailable: 'unreadable' }
    }
  }

  return { observe, isRepository }
}

const SLASH = 47
const DOT_GIT = Buffer.from('/.git')

const isMissing = (error: unknown): boolean => {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}

const readFile = async (
  path: Buffer,
  looked: fs.Stats,
  bounds: Pick<Bounds, 'takeBytes' | 'remainingMs'>,
): Promise<Observed> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    const stat = await fstat(file)
    if (!stat.isFile() || stat.ino !== looked.ino || stat.dev !== looked.dev) return { unavailable: 'unreadable' }
    if (!bounds.takeBytes(stat.size)) return { unavailable: 'byte-limit' }
    // One byte more than it has, so that growth is seen.
    const content = Buffer.allocUnsafe(stat.size + 1)
    let size = 0
    while (size <= stat.size) {
      const count = await read(file, content, size)
      size += count
      if (count === 0 || size === stat.size) break
      if (bounds.remainingMs() <= 0) return { unavailable: 'time-limit' }
    }
    if (size !== stat.size) return { unavailable: 'unreadable' }
    // As git has it: the owner's bit alone.
    return {
      known: { kind: 'file', executable: (stat.mode & constants.S_IXUSR) !== 0, content: content.subarray(0, size) },
    }
  } finally {
    await close(file)
  }
}
