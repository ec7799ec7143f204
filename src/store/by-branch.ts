/**
 * A worktree's file that keeps one record for each branch, since people switch branches in one worktree (design 4.1):
 * `{version, <field>: {<full ref name>: record}}`. A writer changes the record of one branch and hands the others on unread, so
 * that damage in one does not reach another.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { QUESTION_STORE_PAUSE_MS, QUESTION_STORE_TRY_COUNT } from '../limits.ts'
import { adminPath, readAdmin, removeAdmin, writeAdmin } from './admin.ts'
import { withLock } from './lock.ts'

interface Directories {
  readonly gitDir: string
  readonly commonDir: string
}

/** How one such file is laid out and what a record in it looks like. */
export interface BranchStore<Item> {
  readonly file: 'submission' | 'effort-grant' | 'standard-limit-proposals'
  /** The member that holds the records. */
  readonly field: string
  /** A record as it was parsed, or `undefined` when it is none. */
  readonly parse: (value: unknown, branch: string) => Item | undefined
}

type Members = Readonly<Record<string, unknown>>

export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What a file says, branch by branch, or why it says nothing. */
export type BranchRecords<Item> =
  | { readonly known: ReadonlyMap<string, Item | { readonly unavailable: string }> }
  | { readonly unavailable: string; readonly newer: number | undefined }

/** Every record of one worktree's file. Never throws, writes nothing; a file that is not there has no records. */
export const readBranches = async <Item>(
  directories: Directories,
  store: BranchStore<Item>,
): Promise<BranchRecords<Item>> => {
  const read = await readRaw(directories, store)
  if ('unavailable' in read) return read
  const known = new Map<string, Item | { readonly unavailable: string }>()
  for (const [branch, value] of Object.entries(read.known)) {
    known.set(branch, store.parse(value, branch) ?? { unavailable: 'the record is malformed' })
  }
  return { known }
}

const readRaw = async <Item>(
  directories: Directories,
  { file, field }: BranchStore<Item>,
): Promise<{ readonly known: Members } | { readonly unavailable: string; readonly newer: number | undefined }> => {
  const read = await readAdmin(directories, file)
  switch (read.status) {
    case 'missing':
      return { known: {} }
    case 'newer':
      return { unavailable: `it was written by a newer git discern (format ${read.version})`, newer: read.version }
    case 'invalid':
    case 'unavailable':
      return { unavailable: read.reason, newer: undefined }
    case 'ok': {
      const records = read.value[field]
      return isMembers(records) ? { known: records } : { unavailable: `${field} is no object`, newer: undefined }
    }
  }
}

/** The branches that such a file has any record of, sound or not. Never throws. */
export const namedBranches = async (
  directories: Directories,
  file: BranchStore<unknown>['file'],
): Promise<{ readonly known: readonly string[] } | { readonly unavailable: string }> => {
  const read = await readAdmin(directories, file)
  switch (read.status) {
    case 'missing':
      return { known: [] }
    case 'ok':
      return { known: Object.values(read.value).flatMap(records => (isMembers(records) ? Object.keys(records) : [])) }
    case 'newer':
      return { unavailable: `it was written by a newer git discern (format ${read.version})` }
    case 'invalid':
    case 'unavailable':
      return { unavailable: read.reason }
  }
}

/** The record of one branch. Refuses with `store_newer` or `store_unreadable`: what bears authority is never guessed. */
export const readBranch = async <Item>(
  directories: Directories,
  store: BranchStore<Item>,
  branch: string,
): Promise<Item | undefined> => {
  const value = (await readOrRefuse(directories, store))[branch]
  if (value === undefined) return undefined
  const item = store.parse(value, branch)
  if (item !== undefined) return item
  const path = adminPath(directories, store.file)
  throw new Refusal('store_unreadable', { path, reason: `the record of ${branch} is malformed` })
}

const readOrRefuse = async <Item>(directories: Directories, store: BranchStore<Item>): Promise<Members> => {
  const read = await readRaw(directories, store)
  if ('known' in read) return read.known
  const path = adminPath(directories, store.file)
  if (read.newer !== undefined) throw new Refusal('store_newer', { path, version: read.newer })
  throw new Refusal('store_unreadable', { path, reason: read.unavailable })
}

/**
 * Changes the record of one branch: one writer at a time in a worktree, one atomic replacement. `change` gets the record that
 * stands, a malformed one as none, and gives back what shall stand: the same record changes nothing, `undefined` removes it.
 * Waits at most two seconds for another writer, then refuses with `busy`; refuses as `readBranch` does.
 */
export const changeBranch = async <Item extends object>(
  context: Context,
  directories: Directories,
  store: BranchStore<Item>,
  branch: string,
  change: (standing: Item | undefined) => Item | undefined | Promise<Item | undefined>,
): Promise<Item | undefined> => {
  const update = async (): Promise<Item | undefined> => {
    const records = await readOrRefuse(directories, store)
    const value = records[branch]
    const standing = value === undefined ? undefined : store.parse(value, branch)
    const item = await change(standing)
    if (item === standing && (item !== undefined || value === undefined)) return item
    const { [branch]: _replaced, ...others } = records
    const next = item === undefined ? others : { ...others, [branch]: item }
    if (Object.keys(next).length === 0) await removeAdmin(directories, store.file)
    else await writeAdmin(directories, store.file, { [store.field]: next })
    return item
  }
  for (let tries = 1; ; tries += 1) {
    try {
      return await withLock(context, directories, store.file, store.file, update)
    } catch (error) {
      if (!(error instanceof Refusal && error.slug === 'busy') || tries >= QUESTION_STORE_TRY_COUNT) throw error
    }
    await pause(QUESTION_STORE_PAUSE_MS)
  }
}
