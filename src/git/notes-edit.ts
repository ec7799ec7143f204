/** Changing the tree of a notes commit: only folders that change are made anew. */
import { NOTES_FOREIGN_LEAF_LIMIT_COUNT, NOTES_LEAF_LIMIT_COUNT } from '../limits.ts'
import { EMPTY, type Folder, groupBy, parseFolder } from './notes-tree.ts'
import { oidDigits, type Repository } from './repository.ts'
import { BLOB_MODE, changeTree, type EntryChange, scanTree, TREE_MODE, type TreeStore } from './trees.ts'

/** What to do with one subject: let this blob alone stand for it, or, when `undefined`, nothing. */
export type NoteChanges = ReadonlyMap<string, string | undefined>

/** A folder that is already known to come out of adding exactly `adds` to the folder `from`. */
export interface KnownFolder {
  readonly from: string | undefined
  readonly adds: readonly string[]
  readonly to: string
}

/**
 * The id of the tree with `changes` made, or `undefined` when nothing is left in it; `trees` has to be flushed. `folder` must
 * have been opened with the changed subjects. A note goes where the standing fan-out has its place; a folder that comes to
 * hold more than `NOTES_LEAF_LIMIT_COUNT` notes is split by the next two digits. Only folders that change are made anew, and
 * of those not the ones whose outcome is `known`, by path, from another tree.
 */
export const editNotes = (
  trees: TreeStore,
  digits: 40 | 64,
  folder: Folder,
  changes: NoteChanges,
  known: ReadonlyMap<string, KnownFolder> = new Map(),
): string | undefined => {
  const edit = (
    standing: Folder | string | undefined,
    at: number,
    path: string,
    group: NoteChanges,
  ): string | undefined => {
    const shortcut = known.get(path)
    if (shortcut && shortcut.from === (typeof standing === 'object' ? standing.oid : standing)) {
      const same =
        shortcut.adds.length === group.size && shortcut.adds.every(subject => group.get(subject) !== undefined)
      if (same) return shortcut.to
    }
    if (typeof standing === 'string') throw new Error(`the notes folder ${path} was not opened`)
    const opened = standing ?? EMPTY
    const { entries, descents } = placeNotes(opened, digits, at, group)
    for (const [pair, inner] of descents) {
      const oid = edit(opened.below.get(pair), at + 2, path === '' ? pair : `${path}/${pair}`, inner)
      entries.set(pair, oid === undefined ? undefined : { mode: TREE_MODE, oid })
    }
    const content = changeTree(opened.content, digits, entries)
    if (content.length === 0) return undefined
    return content.equals(opened.content) ? opened.oid : trees.add(content)
  }
  return changes.size === 0 ? folder.oid : edit(folder.oid === undefined ? undefined : folder, 0, '', changes)
}

/** Which of the changes are made in this folder itself, and which go into the folders below it. */
const placeNotes = (standing: Folder, digits: 40 | 64, at: number, group: NoteChanges) => {
  const entries = new Map<string, EntryChange>()
  const descents = new Map<string, Map<string, string | undefined>>()
  const first = [...group.keys()][0] ?? ''
  const rest = digits - at
  const descend = (subject: string, blob: string | undefined): void => {
    const pair = subject.slice(at, at + 2)
    const inner = descents.get(pair)
    if (inner) inner.set(subject, blob)
    else descents.set(pair, new Map([[subject, blob]]))
  }
  const onlyFolders = standing.folderCount > 0 && standing.leafCount === 0 && rest > 2
  let count = standing.leafCount
  for (const [subject, blob] of group) {
    const name = subject.slice(at)
    const pair = name.slice(0, 2)
    const stands = standing.leaves.has(name)
    const fansOut = standing.below.has(pair) || (onlyFolders && !standing.others.has(pair))
    if (blob !== undefined && !stands && fansOut) descend(subject, blob)
    else if (blob !== undefined || stands) {
      entries.set(name, blob === undefined ? undefined : { mode: BLOB_MODE, oid: blob })
      if (!stands) count += 1
      // Whatever else stands for this subject further down goes: one blob per subject.
      if (standing.below.has(pair)) descend(subject, undefined)
    } else if (standing.below.has(pair)) descend(subject, undefined)
  }
  // Whoever laid out a flatter tree keeps it: to split every folder of it at once would write it anew.
  const foreign = standing.leafCount > NOTES_LEAF_LIMIT_COUNT
  if (rest > 2 && count > (foreign ? NOTES_FOREIGN_LEAF_LIMIT_COUNT : NOTES_LEAF_LIMIT_COUNT)) {
    const prefix = first.slice(0, at)
    const whole = parseFolder(standing.oid, standing.content, digits, at)
    const leaves = new Map(whole.leaves)
    for (const [name, change] of entries) if (change) leaves.set(name, change.oid)
    for (const [name, blob] of leaves) {
      const pair = name.slice(0, 2)
      const gone = entries.has(name) && entries.get(name) === undefined
      // Below a standing folder the same subject may stand a second time, and neither blob may take the other's place.
      if (gone || whole.others.has(pair) || whole.below.has(pair)) continue
      entries.set(name, undefined)
      descend(prefix + name, blob)
    }
  }
  return { entries, descents }
}

/** A path of a notes tree that names no note. */
export interface OtherPath {
  /** Slash-separated, one byte per character. */
  readonly path: string
  readonly mode: string
  readonly oid: string
}

/**
 * The tree with each of `paths` added where nothing stands yet; a path that is in the way of another stays out. `trees` has
 * to be flushed.
 */
export const addOtherPaths = async (
  repository: Repository,
  trees: TreeStore,
  root: string | undefined,
  paths: readonly OtherPath[],
): Promise<string | undefined> => {
  if (paths.length === 0) return root
  const digits = oidDigits(repository)
  const content = root === undefined ? Buffer.alloc(0) : await trees.read(root)
  const standing = new Map<string, string | undefined>()
  const hex = content.toString('hex')
  scanTree(content, digits, (tree, name, oidAt) =>
    standing.set(name, tree ? hex.slice(2 * oidAt, 2 * oidAt + digits) : undefined),
  )
  const entries = new Map<string, EntryChange>()
  const below: OtherPath[] = []
  for (const { path, mode, oid } of paths) {
    const slash = path.indexOf('/')
    const name = slash === -1 ? path : path.slice(0, slash)
    if (slash === -1) {
      if (!standing.has(name)) entries.set(name, { mode, oid })
    } else if (!standing.has(name) || standing.get(name) !== undefined) below.push({ path, mode, oid })
  }
  for (const [name, group] of groupBy(below, ({ path }) => path.slice(0, path.indexOf('/')))) {
    const inner = group.map(({ path, ...entry }) => ({ path: path.slice(name.length + 1), ...entry }))
    const oid = await addOtherPaths(repository, trees, standing.get(name), inner)
    if (oid !== undefined) entries.set(name, { mode: TREE_MODE, oid })
  }
  return trees.add(changeTree(content, digits, entries))
}
