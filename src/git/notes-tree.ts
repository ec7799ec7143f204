/**
 * The tree of a notes commit. A note's path is its subject's id with slashes after some pairs of digits; where they stand may
 * differ from folder to folder and from writer to writer, so everything here looks through any fan-out, mixed ones included.
 */
import { NOTES_FOREIGN_LEAF_LIMIT_COUNT, NOTES_LEAF_LIMIT_COUNT } from '../limits.ts'
import { oidDigits, type Repository } from './repository.ts'
import { BLOB_MODE, modeType, type RawEntry, readTrees, scanTree, TREE_MODE, type TreeWriter } from './trees.ts'

/** One folder of the tree, its entries sorted by what they mean at this depth. */
export interface Folder {
  /** Absent for a folder that does not stand yet. */
  readonly oid: string | undefined
  /** What is left of the subject's id, to the note's blob. */
  readonly leaves: ReadonlyMap<string, string>
  /** Two digits, to the folder below: read as far as some subject needed it, else its id alone. */
  readonly below: Map<string, Folder | string>
  /** Everything that is no note: it is kept as it is. */
  readonly others: readonly RawEntry[]
}

const EMPTY: Folder = { oid: undefined, leaves: new Map(), below: new Map(), others: [] }
const HEXADECIMAL = /^[0-9a-f]+$/

/** Sorts the entries of one tree object, where `rest` digits of each subject are still to come. */
const parseFolder = (oid: string, content: Buffer, digits: 40 | 64, rest: number): Folder => {
  const leaves = new Map<string, string>()
  const below = new Map<string, Folder | string>()
  const others: RawEntry[] = []
  scanTree(content, digits, (mode, name, entry) => {
    const hexadecimal = HEXADECIMAL.test(name)
    if (hexadecimal && name.length === rest && modeType(mode) === 'blob') leaves.set(name, entry)
    else if (hexadecimal && name.length === 2 && rest > 2 && mode === TREE_MODE) below.set(name, entry)
    else others.push({ mode, name, oid: entry })
  })
  return { oid, leaves, below, others }
}

/**
 * Reads the folders on the way to `subjects`, all of one depth together, and no others; `root` may be absent. No git process
 * besides the object reader for a few folders, one for each depth beyond that. Throws `notes_failed` when one is missing.
 */
export const openNotes = async (
  repository: Repository,
  root: string | undefined,
  subjects: readonly string[],
): Promise<Folder> => {
  if (root === undefined) return EMPTY
  const digits = oidDigits(repository)
  const top = new Map<string, Folder | string>([['', root]])
  let wanted = [{ parent: top, pair: '', oid: root, subjects }]
  for (let at = 0; wanted.length > 0; at += 2) {
    const contents = await readTrees(
      repository,
      wanted.map(({ oid }) => oid),
    )
    const next: typeof wanted = []
    for (const { parent, pair, oid, subjects } of wanted) {
      const folder = parseFolder(oid, contents.get(oid) ?? Buffer.alloc(0), digits, digits - Math.max(0, at))
      parent.set(pair, folder)
      for (const [pair, group] of groupBy(subjects, subject => subject.slice(at, at + 2))) {
        const oid = folder.below.get(pair)
        if (typeof oid === 'string') next.push({ parent: folder.below, pair, oid, subjects: group })
      }
    }
    wanted = next
  }
  const folder = top.get('')
  return typeof folder === 'object' ? folder : EMPTY
}

const groupBy = <Value>(values: readonly Value[], key: (value: Value) => string): ReadonlyMap<string, Value[]> => {
  const groups = new Map<string, Value[]>()
  for (const value of values) {
    const group = groups.get(key(value))
    if (group) group.push(value)
    else groups.set(key(value), [value])
  }
  return groups
}

/**
 * The blobs that stand for a subject: none, one, or, in a tree that holds it at two fan-outs (case 29), more. `folder` must
 * have been opened with this subject among others.
 */
export const locateNote = (folder: Folder, subject: string): readonly string[] => {
  const blobs: string[] = []
  let level: Folder | string | undefined = folder
  for (let at = 0; typeof level === 'object'; at += 2) {
    const blob = level.leaves.get(subject.slice(at))
    if (blob !== undefined && !blobs.includes(blob)) blobs.push(blob)
    level = level.below.get(subject.slice(at, at + 2))
  }
  return blobs
}

/** What to do with one subject: let this blob alone stand for it, or, when `undefined`, nothing. */
export type NoteChanges = ReadonlyMap<string, string | undefined>

/** A folder that is already known to come out of adding exactly `adds` to the folder `from`. */
export interface KnownFolder {
  readonly from: string | undefined
  readonly adds: readonly string[]
  readonly to: string
}

/**
 * The id of the tree with `changes` made, or `undefined` when nothing is left in it. `folder` must have been opened with the
 * changed subjects. A note goes where the standing fan-out has its place; a folder that comes to hold more than
 * `NOTES_LEAF_LIMIT_COUNT` notes is split by the next two digits. Only folders that change are written; `known` spares even
 * those whose id another tree already has, by path.
 */
export const editNotes = async (
  writer: TreeWriter,
  folder: Folder,
  changes: NoteChanges,
  known: ReadonlyMap<string, KnownFolder> = new Map(),
): Promise<string | undefined> => {
  const edit = async (standing: Folder, at: number, path: string, group: NoteChanges): Promise<string | undefined> => {
    const shortcut = known.get(path)
    if (shortcut && shortcut.from === standing.oid && shortcut.adds.length === group.size) {
      if (shortcut.adds.every(subject => group.get(subject) !== undefined)) return shortcut.to
    }
    const { leaves, descents } = placeNotes(standing, at, group)
    const below = new Map(standing.below)
    await Promise.all(
      [...descents].map(async ([pair, inner]) => {
        const child = standing.below.get(pair)
        const opened = typeof child === 'object' ? child : EMPTY
        const edited = await edit(opened, at + 2, path === '' ? pair : `${path}/${pair}`, inner)
        if (edited === undefined) below.delete(pair)
        else below.set(pair, edited)
      }),
    )
    const entries: RawEntry[] = [...standing.others]
    for (const [name, oid] of leaves) entries.push({ mode: BLOB_MODE, name, oid })
    for (const [name, child] of below) {
      const oid = typeof child === 'object' ? child.oid : child
      if (oid !== undefined) entries.push({ mode: TREE_MODE, name, oid })
    }
    return entries.length === 0 ? undefined : writer.write(entries)
  }
  return changes.size === 0 ? folder.oid : edit(folder, 0, '', changes)
}

/** Which of the changes stay in this folder, as its new leaves, and which go into the folders below it. */
const placeNotes = (standing: Folder, at: number, group: NoteChanges) => {
  const leaves = new Map(standing.leaves)
  const descents = new Map<string, Map<string, string | undefined>>()
  const taken = new Set(standing.others.map(entry => entry.name))
  const first = [...group.keys()][0] ?? ''
  const rest = first.length - at
  const descend = (subject: string, blob: string | undefined): void => {
    const pair = subject.slice(at, at + 2)
    const inner = descents.get(pair)
    if (inner) inner.set(subject, blob)
    else descents.set(pair, new Map([[subject, blob]]))
  }
  const onlyFolders = standing.below.size > 0 && standing.leaves.size === 0 && rest > 2
  for (const [subject, blob] of group) {
    const name = subject.slice(at)
    const pair = name.slice(0, 2)
    const stands = standing.leaves.has(name)
    const fansOut = standing.below.has(pair) || (onlyFolders && !taken.has(pair))
    if (blob === undefined) leaves.delete(name)
    else if (stands || !fansOut) leaves.set(name, blob)
    else descend(subject, blob)
    // Whatever else stands for this subject further down goes: one blob per subject.
    if (standing.below.has(pair) && (stands || blob === undefined)) descend(subject, undefined)
  }
  // Whoever laid out a flatter tree keeps it: to split every folder of it at once would write it anew.
  const foreign = standing.leaves.size > NOTES_LEAF_LIMIT_COUNT
  if (rest > 2 && leaves.size > (foreign ? NOTES_FOREIGN_LEAF_LIMIT_COUNT : NOTES_LEAF_LIMIT_COUNT)) {
    for (const [name, blob] of leaves) {
      const pair = name.slice(0, 2)
      // Below a standing folder the same subject may stand a second time, and neither blob may take the other's place.
      if (taken.has(pair) || standing.below.has(pair)) continue
      leaves.delete(name)
      descend(first.slice(0, at) + name, blob)
    }
  }
  return { leaves, descents }
}

/** A path of a notes tree that names no note. */
export interface OtherPath {
  /** Slash-separated, one byte per character. */
  readonly path: string
  readonly mode: string
  readonly oid: string
}

/** The tree with each of `paths` added where nothing stands yet; a path that is in the way of another stays out. */
export const addOtherPaths = async (
  repository: Repository,
  writer: TreeWriter,
  root: string | undefined,
  paths: readonly OtherPath[],
): Promise<string | undefined> => {
  if (paths.length === 0) return root
  const entries = new Map<string, RawEntry>()
  if (root !== undefined) {
    const content = (await readTrees(repository, [root])).get(root) ?? Buffer.alloc(0)
    scanTree(content, oidDigits(repository), (mode, name, oid) => entries.set(name, { mode, name, oid }))
  }
  const below: OtherPath[] = []
  for (const { path, mode, oid } of paths) {
    const slash = path.indexOf('/')
    const name = slash === -1 ? path : path.slice(0, slash)
    const standing = entries.get(name)
    if (slash !== -1 && (!standing || standing.mode === TREE_MODE)) below.push({ path, mode, oid })
    else if (!standing) entries.set(name, { mode, name, oid })
  }
  for (const [name, group] of groupBy(below, ({ path }) => path.slice(0, path.indexOf('/')))) {
    const inner = group.map(({ path, ...entry }) => ({ path: path.slice(name.length + 1), ...entry }))
    const oid = await addOtherPaths(repository, writer, entries.get(name)?.oid, inner)
    if (oid !== undefined) entries.set(name, { mode: TREE_MODE, name, oid })
  }
  return writer.write([...entries.values()])
}
