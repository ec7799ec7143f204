/**
 * The repository's own key, which makes the digests of its Logbook useless to whoever obtains a line (facts 12.5). One regular
 * file of random bytes in the directory that all worktrees share. It is looked at on every use; what is not exactly that file
 * is neither followed, repaired nor replaced.
 */
import { createSecretKey, randomBytes } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open } from 'node:fs/promises'
import { platform } from 'node:os'
import { dirname } from 'node:path'
import { VALIDATION_KEY_BYTES } from '../limits.ts'
import { adminFolder } from './admin.ts'
import type { Key } from './digest.ts'
import { createFile } from './file.ts'

type Directories = Parameters<typeof adminFolder>[0]

/**
 * `invalid`: what stands there is not our file, by its type, mode, size or folder. `unreadable`: it may be, but cannot be
 * opened or read. `unavailable`: there is none, and none could be made.
 */
export type KeyProblem = 'invalid' | 'unreadable' | 'unavailable'

export type KeyAnswer = { readonly known: Key } | { readonly unavailable: KeyProblem }

const MODE = 0o600

/** The key of this repository, which is made if there is none: whoever comes second gets that of the first. Never throws. */
export const openKey = async (directories: Directories): Promise<KeyAnswer> => {
  try {
    const path = adminFolder(directories, 'validation-hmac-key')
    const standing = await read(path)
    if (standing) return standing
    await makeFolder(dirname(path))
    await createFile(path, randomBytes(VALIDATION_KEY_BYTES), MODE)
    // Also after a success: what is used is what stands there, not what was meant to.
    return (await read(path)) ?? { unavailable: 'unavailable' }
  } catch {
    return { unavailable: 'unavailable' }
  }
}

/** The key of this repository where it has one. Writes nothing. Never throws. */
export const readKey = async (directories: Directories): Promise<KeyAnswer> => {
  try {
    return (await read(adminFolder(directories, 'validation-hmac-key'))) ?? { unavailable: 'unavailable' }
  } catch {
    return { unavailable: 'unavailable' }
  }
}

/** The one folder alone: the repository has to be there, and where it is none, making all above it could take for ever. */
const makeFolder = async (path: string): Promise<void> => {
  try {
    await mkdir(path, 0o700)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** `undefined` only when nothing stands there. */
const read = async (path: string): Promise<KeyAnswer | undefined> => {
  let file: FileHandle | undefined
  try {
    const folder = await lstat(dirname(path))
    if (!folder.isDirectory()) return { unavailable: 'invalid' }
    // Before it is opened, since opening alone does something to a few kinds of device.
    if (!isOurs(await lstat(path))) return { unavailable: 'invalid' }
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    if (!isOurs(await file.stat())) return { unavailable: 'invalid' }
    const bytes = Buffer.alloc(VALIDATION_KEY_BYTES + 1)
    let size = 0
    while (size < bytes.length) {
      const { bytesRead } = await file.read(bytes, size, bytes.length - size, size)
      if (bytesRead === 0) break
      size += bytesRead
    }
    if (size !== VALIDATION_KEY_BYTES) return { unavailable: 'invalid' }
    const known = createSecretKey(bytes.subarray(0, VALIDATION_KEY_BYTES))
    bytes.fill(0)
    return { known }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT') return undefined
    // It was replaced by one of these after it had been looked at.
    return { unavailable: code === 'ELOOP' || code === 'ENXIO' || code === 'ENOTDIR' ? 'invalid' : 'unreadable' }
  } finally {
    await file?.close().catch(() => {})
  }
}

/** Windows knows no such modes. */
const isOurs = (stat: Stats): boolean =>
  stat.isFile() && stat.size === VALIDATION_KEY_BYTES && (platform() === 'win32' || (stat.mode & 0o7777) === MODE)
