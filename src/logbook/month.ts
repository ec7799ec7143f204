/** Where the months of the Logbook lie (facts 12.1): `YYYY-MM.jsonl`, UTC, in one folder that all worktrees share. */
import { lstat, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { reasonOf } from '../errors.ts'
import { adminFiles, adminFolder } from '../store/admin.ts'
import { isTemporary } from '../store/file.ts'

/** The directories that say where the Logbook of a repository is. */
export interface Directories {
  readonly gitDir: string
  readonly commonDir: string
}

/** What else of ours lies among the months: remembered configurations, and files that are being written. */
const isOurs = (name: string): boolean => name === basename(adminFiles.epoch.path) || isTemporary(name)

const MONTH_FILE = /^\d{4}-(0[1-9]|1[0-2])\.jsonl$/

/** The folder of the month files; it need not exist. */
export const logbookFolder = (directories: Directories): string => adminFolder(directories, 'logbook')

/** The file of a moment's month. */
export const monthFile = (at: Date): string => `${at.toISOString().slice(0, 7)}.jsonl`

export interface MonthFile {
  /** `2026-11.jsonl` */
  readonly name: string
  readonly path: string
  readonly bytes: number
}

export interface Months {
  /** Oldest first. */
  readonly files: readonly MonthFile[]
  /** What is not ours by name, and what only looks like a month: a symbolic link, a directory, a pipe. Never followed. */
  readonly others: readonly string[]
  /** Why the folder could not be listed; then there are no files. One that does not exist is empty. */
  readonly unavailable: string | undefined
}

const none = (unavailable?: string): Months => ({ files: [], others: [], unavailable })

/** The months in a folder. Never throws. */
export const listMonths = async (folder: string): Promise<Months> => {
  let names: string[]
  try {
    if (!(await lstat(folder)).isDirectory()) return none(`${folder} is not a directory`)
    names = await readdir(folder)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? none() : none(reasonOf(error))
  }
  const files: MonthFile[] = []
  const others: string[] = []
  for (const name of names.sort()) {
    const path = join(folder, name)
    const stat = MONTH_FILE.test(name) ? await lstat(path).catch(() => undefined) : undefined
    if (stat?.isFile()) files.push({ name, path, bytes: stat.size })
    else if (!isOurs(name)) others.push(name)
  }
  return { files, others, unavailable: undefined }
}
