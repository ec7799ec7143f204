/** One line into a month file (facts 12.1): one `write` on a file opened for appending, so that parallel writers never mix. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { LOGBOOK_FILE_LIMIT_BYTES, LOGBOOK_LINE_LIMIT_BYTES, LOGBOOK_TRY_COUNT } from '../limits.ts'
import { createFile } from '../store/file.ts'

/**
 * Appends a whole line, its newline included, to a month of a folder; `created` when it is the first of that month. Throws when it
 * was not written. It may stand twice (see below), and never in halves that harm other lines.
 */
export const appendLine = async (folder: string, month: string, text: string): Promise<'created' | 'appended'> => {
  const line = Buffer.from(text)
  if (line.length > LOGBOOK_LINE_LIMIT_BYTES) throw new Error(`a line of ${line.length} bytes is longer than the limit`)
  const path = join(folder, month)
  for (let tries = 0; tries < LOGBOOK_TRY_COUNT; tries += 1) {
    const file = openMonth(folder, path)
    if (file === undefined) {
      // With its first line the file appears as a whole: exactly one writer begins a month.
      if (await createFirst(path, line)) return 'created'
      continue
    }
    try {
      if (appendTo(file, line)) return 'appended'
    } finally {
      closeSync(file)
    }
  }
  throw new Error(`${path} was taken away each time it was written`)
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

const openMonth = (folder: string, path: string): number | undefined => {
  try {
    if (!lstatSync(folder).isDirectory()) throw new Error(`${folder} is not a directory`)
    return openSync(path, constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

const createFirst = async (path: string, line: Buffer): Promise<boolean> => {
  try {
    return await createFile(path, line)
  } catch (error) {
    // The folder was sealed away between its creation and the line's.
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}

/**
 * One look, one write, one look. `false` when the line has to be written again: the file is deleted (sealed or reset meanwhile),
 * or another writer was cut off in a line between the first look and the write. A line may so stand twice, and is never lost.
 */
const appendTo = (file: number, line: Buffer): boolean => {
  const before = fstatSync(file)
  if (!before.isFile()) throw new Error('the month file is not a regular file')
  if (before.size + line.length > LOGBOOK_FILE_LIMIT_BYTES) throw new Error('the month file is full')
  if (before.nlink === 0) return false
  // Who was killed in a line, or met a full disk, left no newline behind.
  const bytes = byteBefore(file, before.size) === 0x0a ? line : Buffer.concat([Buffer.from('\n'), line])
  const written = writeSync(file, bytes)
  if (written < bytes.length) throw new Error(`ENOSPC: only ${written} of ${bytes.length} bytes were written`)
  const after = fstatSync(file)
  if (after.nlink === 0) return false
  return after.size === before.size + written || standsWhole(file, before.size, after.size, line)
}

const byteBefore = (file: number, position: number): number => {
  const byte = Buffer.alloc(1, 0x0a)
  if (position > 0) readSync(file, byte, 0, 1, position - 1)
  return byte[0] ?? 0
}

/** Whether the line stands between two positions and nothing is stuck to its front. */
const standsWhole = (file: number, from: number, to: number, line: Buffer): boolean => {
  const bytes = Buffer.alloc(to - from)
  const window = bytes.subarray(0, readSync(file, bytes, 0, bytes.length, from))
  for (let at = window.indexOf(line); at !== -1; at = window.indexOf(line, at + 1)) {
    if (at === 0 ? byteBefore(file, from) === 0x0a : window[at - 1] === 0x0a) return true
  }
  return false
}
