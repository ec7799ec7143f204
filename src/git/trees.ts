/** Tree objects in bulk: many read by one process, changed as bytes, many written by one process. */
import { Refusal } from '../errors.ts'
import { storeTrees, treeId } from './pack.ts'
import { oidDigits, type Repository } from './repository.ts'
import { gitOutput } from './run.ts'

export const TREE_MODE = '040000'
export const BLOB_MODE = '100644'
const GITLINK_MODE = '160000'

/** Whether an entry of this six-digit mode names a blob: a file or a symbolic link. */
export const isBlobMode = (mode: string): boolean => mode !== TREE_MODE && mode !== GITLINK_MODE

/** Up to this many trees are asked of the repository's own reader; a process of their own is faster for more. */
const FEW_TREES = 64

/**
 * The contents of tree objects, by id. At most one git process besides the repository's object reader. Throws `notes_failed`
 * when one is missing or is no tree.
 */
export const readTrees = async (
  repository: Repository,
  oids: readonly string[],
): Promise<ReadonlyMap<string, Buffer>> => {
  const distinct = [...new Set(oids)]
  const trees = new Map<string, Buffer>()
  if (distinct.length <= FEW_TREES) {
    const objects = await Promise.all(distinct.map(oid => repository.objects.read(oid)))
    for (const object of objects) if (object?.type === 'tree') trees.set(object.oid, object.content)
  } else {
    const input = `${distinct.join('\n')}\n`
    const output = await gitOutput(repository, ['cat-file', '--batch', '--buffer'], { input })
    for (let at = 0; at < output.length; ) {
      const newline = output.indexOf(10, at)
      const [oid = '', type, size] = output.toString('latin1', at, newline).split(' ')
      at = newline + 1
      if (size === undefined) continue
      if (type === 'tree') trees.set(oid, output.subarray(at, at + Number(size)))
      at += Number(size) + 1
    }
  }
  const missing = distinct.find(oid => !trees.has(oid))
  if (missing === undefined) return trees
  throw new Refusal('notes_failed', {
    reason: `the tree ${missing} of the notes is missing here`,
    next: 'git fsck --connectivity-only',
  })
}

/**
 * Calls `entry` for each entry of a tree, in git's order. Names hold one byte per character, so that any name survives; an
 * entry's id is the bytes from `oidAt` on.
 */
export const scanTree = (
  content: Buffer,
  digits: 40 | 64,
  entry: (tree: boolean, name: string, oidAt: number, start: number) => void,
): void => {
  const text = content.toString('latin1')
  for (let at = 0; at < text.length; ) {
    const space = text.indexOf(' ', at)
    const nul = text.indexOf('\0', space)
    entry(text[at] === '4', text.slice(space + 1, nul), nul + 1, at)
    at = nul + 1 + digits / 2
  }
}

/** What an entry is to become; `undefined` takes it away. */
export type EntryChange = { readonly mode: string; readonly oid: string } | undefined

const encodeEntry = (name: string, { mode, oid }: Exclude<EntryChange, undefined>): Buffer =>
  Buffer.from(`${mode.replace(/^0/, '')} ${name}\0${Buffer.from(oid, 'hex').toString('latin1')}`, 'latin1')

/** The tree's content with some entries changed by name. Pure; what lies between the changes is copied as it is. */
export const changeTree = (content: Buffer, digits: 40 | 64, changes: ReadonlyMap<string, EntryChange>): Buffer => {
  // Git sorts a folder as if its name ended in a slash.
  const coming: { readonly key: string; readonly bytes: Buffer }[] = []
  for (const [name, change] of changes) {
    if (change) coming.push({ key: change.mode === TREE_MODE ? `${name}/` : name, bytes: encodeEntry(name, change) })
  }
  coming.sort((left, right) => (left.key < right.key ? -1 : 1))
  const parts: Buffer[] = []
  let copied = 0
  let next = 0
  scanTree(content, digits, (tree, name, oidAt, start) => {
    const key = tree ? `${name}/` : name
    for (let change = coming[next]; change && change.key < key; change = coming[next]) {
      if (copied < start) parts.push(content.subarray(copied, start))
      copied = start
      parts.push(change.bytes)
      next += 1
    }
    if (!changes.has(name)) return
    if (copied < start) parts.push(content.subarray(copied, start))
    copied = oidAt + digits / 2
  })
  parts.push(content.subarray(copied), ...coming.slice(next).map(({ bytes }) => bytes))
  return Buffer.concat(parts)
}

/** Trees that are made now and written together. */
export interface TreeStore {
  /** Takes a tree in and returns its id; nothing is written yet. */
  readonly add: (content: Buffer) => string
  /** A tree that was taken in, or one of the repository. */
  readonly read: (oid: string) => Promise<Buffer>
  /** Writes everything taken in since the last time. One git process, or none. */
  readonly flush: () => Promise<void>
}

export const openTreeStore = (repository: Repository): TreeStore => {
  const digits = oidDigits(repository)
  const waiting = new Map<string, Buffer>()
  return {
    add: content => {
      const oid = treeId(content, digits)
      waiting.set(oid, content)
      return oid
    },
    read: async oid => waiting.get(oid) ?? (await readTrees(repository, [oid])).get(oid) ?? Buffer.alloc(0),
    flush: async () => {
      const trees = [...waiting.values()]
      waiting.clear()
      await storeTrees(repository, trees)
    },
  }
}
