/**
 * What a command printed: the first and the last half up to a cap, what lies between counted and left out. Memory stays at
 * the cap whatever a command prints (case 80). The first half also goes to a file as it comes; a file that cannot be written
 * is told about and changes nothing else.
 */
import { createHash } from 'node:crypto'
import { constants, type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { reasonOf } from '../errors.ts'

/** The file that holds exactly the kept bytes; `problem` says why there is none, or why it is incomplete. */
export type CaptureFile =
  | { readonly path: string; readonly digest: string; readonly bytes: number; readonly problem?: undefined }
  | { readonly path?: undefined; readonly problem: string | undefined }

export interface Capture {
  readonly write: (chunk: Buffer) => void
  /** All bytes that were printed, kept or not. */
  readonly total: () => number
  /** The bytes between the two halves that were left out. */
  readonly omitted: () => number
  /** Head, a line that counts what was left out, if anything was, and tail. */
  readonly bytes: () => Buffer
  /** Writes the rest of the file and closes it. Never throws. Nothing may be written afterwards. */
  readonly finish: () => Promise<CaptureFile>
}

const FIRST_ALLOCATION_BYTES = 16 * 1024

/** Keeps at most `limitBytes`; with a `path`, in a file of mode 0600 as well, whose folder is made when it is missing. */
export const openCapture = (limitBytes: number, path?: string): Capture => {
  const headLimit = Math.ceil(limitBytes / 2)
  const tailLimit = limitBytes - headLimit
  let head = Buffer.alloc(0)
  let headLength = 0
  let ring: Buffer | undefined
  let ringEnd = 0
  let total = 0
  const file = path === undefined ? undefined : openAppender(path)

  const keepHead = (chunk: Buffer): void => {
    const needed = headLength + chunk.length
    if (needed > head.length) {
      const grown = Buffer.alloc(Math.min(headLimit, Math.max(FIRST_ALLOCATION_BYTES, needed, head.length * 2)))
      head.copy(grown, 0, 0, headLength)
      head = grown
    }
    chunk.copy(head, headLength)
    file?.append(head.subarray(headLength, needed))
    headLength = needed
  }

  const keepTail = (chunk: Buffer): void => {
    if (tailLimit === 0) return
    ring ??= Buffer.alloc(tailLimit)
    const last = chunk.subarray(Math.max(0, chunk.length - tailLimit))
    const first = Math.min(last.length, tailLimit - ringEnd)
    last.copy(ring, ringEnd, 0, first)
    last.copy(ring, 0, first)
    ringEnd = (ringEnd + last.length) % tailLimit
  }

  const omitted = (): number => Math.max(0, total - headLength - tailLimit)

  const rest = (): Buffer => {
    const tail = ring ?? Buffer.alloc(0)
    if (omitted() === 0) return Buffer.from(tail.subarray(0, total - headLength))
    const note = Buffer.from(`\n[${omitted()} bytes left out here]\n`)
    return Buffer.concat([note, tail.subarray(ringEnd), tail.subarray(0, ringEnd)])
  }

  return {
    write: chunk => {
      const room = headLimit - headLength
      total += chunk.length
      if (room > 0) keepHead(chunk.subarray(0, room))
      if (chunk.length > room) keepTail(chunk.subarray(room))
    },
    total: () => total,
    omitted,
    bytes: () => Buffer.concat([head.subarray(0, headLength), rest()]),
    finish: async () => (file ? file.finish(rest()) : { problem: undefined }),
  }
}

interface Appender {
  readonly append: (bytes: Buffer) => void
  readonly finish: (bytes: Buffer) => Promise<CaptureFile>
}

/** One write at a time; what arrives meanwhile is written together. After the first error nothing is tried any more. */
const openAppender = (path: string): Appender => {
  const hash = createHash('sha256')
  let size = 0
  let queue: Buffer[] = []
  let problem: string | undefined
  let busy: Promise<void> | undefined
  let handle: FileHandle | undefined

  const drain = async (): Promise<void> => {
    try {
      if (!handle) {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 })
        const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants
        handle = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600)
      }
      while (queue.length > 0) {
        const bytes = Buffer.concat(queue.splice(0))
        await handle.writeFile(bytes)
        hash.update(bytes)
        size += bytes.length
      }
    } catch (error) {
      problem = reasonOf(error)
      queue = []
    }
  }

  const wake = (): void => {
    busy ??= drain().finally(() => {
      busy = undefined
    })
  }

  const append = (bytes: Buffer): void => {
    if (problem !== undefined) return
    queue.push(bytes)
    wake()
  }

  return {
    append,
    finish: async bytes => {
      // Also makes the file of a command that printed nothing: an empty file is an answer, a missing one is not.
      append(bytes)
      while (busy || queue.length > 0) {
        if (!busy) wake()
        await busy
      }
      await handle?.close().catch(error => {
        problem ??= reasonOf(error)
      })
      return problem === undefined ? { path, digest: hash.digest('hex'), bytes: size } : { problem }
    },
  }
}
