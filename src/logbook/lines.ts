/** The lines of one month file, from its start or from its end, a piece at a time: no file is ever held as a whole. */
import { constants, type FileHandle, open } from 'node:fs/promises'
import { LOGBOOK_CHUNK_BYTES, LOGBOOK_FILE_LIMIT_BYTES, LOGBOOK_LINE_LIMIT_BYTES } from '../limits.ts'

const NEWLINE = 0x0a

/** A line without its newline; `undefined` stands for one that is longer than a line may be. */
export type Line = string | undefined

interface Opened {
  readonly file: FileHandle
  /** What is appended later is not read. */
  readonly bytes: number
}

/** Opens a regular file of bearable size; throws otherwise. Never follows a symbolic link and never waits for a pipe. */
const openRegular = async (path: string): Promise<Opened> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw new Error('not a regular file')
    if (stat.size > LOGBOOK_FILE_LIMIT_BYTES) throw new Error(`larger than ${LOGBOOK_FILE_LIMIT_BYTES} bytes`)
    return { file, bytes: stat.size }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Fills `chunk` from `position`; what could be read of it. */
const readAt = async ({ file }: Opened, chunk: Buffer, position: number): Promise<Buffer> => {
  let filled = 0
  while (filled < chunk.length) {
    const { bytesRead } = await file.read(chunk, filled, chunk.length - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return chunk.subarray(0, filled)
}

/**
 * Hands every line to `visit`, first to last; what stands after the last newline counts as a line. The bytes that were there.
 * Throws what the system says.
 */
export const eachLine = async (path: string, visit: (line: Line) => void): Promise<number> => {
  const opened = await openRegular(path)
  try {
    const room = Buffer.allocUnsafe(LOGBOOK_CHUNK_BYTES)
    let begun: Buffer[] = []
    let begunBytes = 0
    const end = (bytes: Buffer): void => {
      const whole = begunBytes + bytes.length
      if (whole > LOGBOOK_LINE_LIMIT_BYTES) visit(undefined)
      else visit(begun.length === 0 ? bytes.toString() : Buffer.concat([...begun, bytes]).toString())
      begun = []
      begunBytes = 0
    }
    for (let position = 0; position < opened.bytes; ) {
      const chunk = await readAt(opened, room.subarray(0, Math.min(room.length, opened.bytes - position)), position)
      if (chunk.length === 0) break
      position += chunk.length
      let from = 0
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        end(chunk.subarray(from, at))
        from = at + 1
      }
      const rest = chunk.subarray(from)
      // Of a line that is too long only its length matters.
      if (rest.length > 0 && begunBytes + rest.length <= LOGBOOK_LINE_LIMIT_BYTES) begun.push(Buffer.from(rest))
      begunBytes += rest.length
    }
    if (begunBytes > 0) end(Buffer.alloc(0))
    return opened.bytes
  } finally {
    await opened.file.close()
  }
}

/** The same lines, last to first; reads no further than they are asked for. */
export async function* linesFromEnd(path: string): AsyncGenerator<Line, void, undefined> {
  const opened = await openRegular(path)
  try {
    let after: Buffer = Buffer.alloc(0)
    let tooLong = false
    for (let position = opened.bytes; position > 0; ) {
      const from = Math.max(0, position - LOGBOOK_CHUNK_BYTES)
      const chunk = await readAt(opened, Buffer.allocUnsafe(position - from), from)
      position = from
      let bytes = after.length > 0 ? Buffer.concat([chunk, after]) : chunk
      for (let at = bytes.lastIndexOf(NEWLINE); at !== -1; at = bytes.lastIndexOf(NEWLINE)) {
        yield tooLong || bytes.length - at - 1 > LOGBOOK_LINE_LIMIT_BYTES ? undefined : bytes.toString('utf8', at + 1)
        tooLong = false
        bytes = bytes.subarray(0, at)
      }
      if (bytes.length > LOGBOOK_LINE_LIMIT_BYTES) tooLong = true
      after = tooLong ? Buffer.alloc(0) : bytes
    }
    if (tooLong || after.length > 0) yield tooLong ? undefined : after.toString()
  } finally {
    await opened.file.close()
  }
}
