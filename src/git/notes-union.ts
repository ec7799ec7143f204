/**
 * The quick way to unite two notes trees: taken when all that differs are notes at one and the same depth that one side has and
 * the other lacks, which is nearly always. Then no subject can be contested and folders can be taken over or merged as they are.
 * Bytes are looked at where they lie, since there may be very many. Whatever else it finds it leaves to the careful way.
 */
import { NOTES_LEAF_LIMIT_COUNT } from '../limits.ts'
import { oidDigits, type Repository } from './repository.ts'
import { openTreeStore, readTrees } from './trees.ts'

export interface NotesUnion {
  readonly tree: string
  /** How many notes theirs alone has, and ours alone. */
  readonly adopted: number
  readonly kept: number
}

/** One folder that differs: its id here and there, if it is there at all, and how many notes each side has for itself. */
interface ChangedFolder {
  readonly path: string
  readonly ours: string | undefined
  readonly theirs: string | undefined
  onlyOurs: number
  onlyTheirs: number
}

interface Changes {
  /** How many slashes the path of each note has. */
  readonly depth: number
  /** From the root down, each before those below it. */
  readonly folders: readonly ChangedFolder[]
}

const SLASH = 0x2f
const isHexadecimal = (byte: number | undefined): boolean =>
  byte !== undefined && ((byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x66))

/** Whether the bytes are pairs of digits with slashes between them, `depth` of them, and then digits alone. */
const isNotePath = (bytes: Buffer, start: number, end: number, depth: number): boolean => {
  for (let at = start, column = 0; at < end; at += 1, column += 1) {
    const slash = column < 3 * depth && column % 3 === 2
    if (slash ? bytes[at] !== SLASH : !isHexadecimal(bytes[at])) return false
  }
  return true
}

/** Reads the records of `diff-tree -r -t -z`; `undefined` as soon as one is out of the ordinary. */
const readChanges = (diff: Buffer, digits: 40 | 64, ours: string, theirs: string): Changes | undefined => {
  // Each record is `:<mode> <mode> <id> <id> <status>\0<path>\0`; everything before the path has a fixed width.
  const statusAt = 17 + 2 * digits
  const root: ChangedFolder = { path: '', ours, theirs, onlyOurs: 0, onlyTheirs: 0 }
  const folders = [root]
  let current = root
  let depth = -1
  let deepest = 0
  for (let at = 0, end = 0; at < diff.length; at = end + 1) {
    const path = at + statusAt + 2
    end = diff.indexOf(0, path)
    const length = end - path
    const status = String.fromCharCode(diff[at + statusAt] ?? 0)
    if (status !== 'A' && status !== 'D' && status !== 'M') return undefined
    const mode = diff.toString('latin1', at + (status === 'A' ? 8 : 1), at + (status === 'A' ? 14 : 7))
    if (mode === '040000') {
      const level = (length + 1) / 3
      if (!Number.isInteger(level) || !isNotePath(diff, path, end, level - 1)) return undefined
      const id = at + 15
      current = {
        path: diff.toString('latin1', path, end),
        ours: status === 'A' ? undefined : diff.toString('latin1', id, id + digits),
        theirs: status === 'D' ? undefined : diff.toString('latin1', id + digits + 1, id + 2 * digits + 1),
        onlyOurs: 0,
        onlyTheirs: 0,
      }
      folders.push(current)
      deepest = Math.max(deepest, level)
      continue
    }
    if (depth === -1) depth = length - digits
    if (mode !== '100644' || status === 'M' || length !== digits + depth) return undefined
    if (depth < 0 || !isNotePath(diff, path, end, depth)) return undefined
    if (status === 'A') current.onlyTheirs += 1
    else current.onlyOurs += 1
  }
  return depth === deepest ? { depth, folders } : undefined
}

/** Whether every entry of a tree begins like this one and is as long. */
const isUniform = (content: Buffer, digits: 40 | 64, entry: string): boolean => {
  const stride = entry.length + 1 + digits / 2
  if (content.length % stride !== 0) return false
  for (let at = 0; at < content.length; at += stride) {
    if (content[at] !== entry.charCodeAt(0) || content[at + entry.length] !== 0) return false
  }
  return true
}

/** Two trees of entries like `entry`, as one; where both have a name, the second's entry is taken. */
const mergeUniform = (left: Buffer, right: Buffer, digits: 40 | 64, entry: string): Buffer => {
  const stride = entry.length + 1 + digits / 2
  const [nameAt, nameEnd] = [entry.indexOf(' ') + 1, entry.length]
  const merged = Buffer.allocUnsafe(left.length + right.length)
  let length = 0
  let from = 0
  let copied = 0
  for (let at = 0; at < right.length; at += stride) {
    let order = -1
    for (; from < left.length; from += stride) {
      order = left.compare(right, at + nameAt, at + nameEnd, from + nameAt, from + nameEnd)
      if (order >= 0) break
    }
    length += left.copy(merged, length, copied, from)
    if (order === 0 && from < left.length) from += stride
    copied = from
    length += right.copy(merged, length, at, at + stride)
  }
  length += left.copy(merged, length, copied)
  return merged.subarray(0, length)
}

const FOLDER_ENTRY = '40000 xx'
/** Folders below the second level that are looked into; with more, only a forged tree could hide a second note there. */
const DEEP_FOLDERS = 64

/**
 * The tree of `ours` with the notes that `theirs` alone has, written; `undefined` when anything is out of the ordinary.
 * `diff` is what `diffNotes` says of the two. At most three git processes, besides the object reader.
 */
export const uniteNotes = async (
  repository: Repository,
  diff: Buffer,
  ours: string,
  theirs: string,
): Promise<NotesUnion | undefined> => {
  const digits = oidDigits(repository)
  const changes = readChanges(diff, digits, ours, theirs)
  if (!changes) return undefined
  const { depth, folders } = changes
  const noteEntry = `100644 ${'x'.repeat(digits - 2 * depth)}`
  const levelOf = ({ path }: ChangedFolder): number => (path.length + 1) / 3
  const isDeep = (folder: ChangedFolder): boolean => Math.floor(levelOf(folder)) === depth

  // Only folders that both sides have and that theirs adds to are looked into.
  const shared = folders.filter(folder => folder.ours !== undefined && folder.theirs !== undefined)
  const grown = shared.filter(folder => isDeep(folder) && folder.onlyTheirs > 0)
  const inspected = grown.filter(folder => folder.onlyOurs > 0 || depth < 2 || grown.length <= DEEP_FOLDERS)
  const upper = shared.filter(folder => !isDeep(folder))
  const wanted = [...upper.map(folder => folder.ours), ...inspected.flatMap(folder => [folder.ours, folder.theirs])]
  const contents = await readTrees(
    repository,
    wanted.filter(oid => oid !== undefined),
  )
  const contentOf = (oid: string | undefined): Buffer => contents.get(oid ?? '') ?? Buffer.alloc(0)
  if (!upper.every(folder => isUniform(contentOf(folder.ours), digits, FOLDER_ENTRY))) return undefined
  if (
    !inspected.every(({ ours, theirs }) => [ours, theirs].every(oid => isUniform(contentOf(oid), digits, noteEntry)))
  ) {
    return undefined
  }

  const trees = openTreeStore(repository)
  const limit = NOTES_LEAF_LIMIT_COUNT * (noteEntry.length + 1 + digits / 2)
  const outcomes = new Map<string, Buffer[]>()
  let tree = ours
  // From the deepest folders up; each hands its new id to the one above it.
  for (const folder of [...folders].reverse()) {
    const { path, onlyOurs, onlyTheirs } = folder
    let outcome = folder.ours
    if (folder.ours === undefined) outcome = folder.theirs
    else if (folder.theirs !== undefined && !isDeep(folder)) {
      const entries = outcomes.get(path)?.reverse()
      if (entries)
        outcome = trees.add(mergeUniform(contentOf(folder.ours), Buffer.concat(entries), digits, FOLDER_ENTRY))
    } else if (onlyTheirs > 0 && onlyOurs === 0) outcome = folder.theirs
    else if (onlyTheirs > 0) {
      const [mine, other] = [contentOf(folder.ours), contentOf(folder.theirs)]
      const merged = mergeUniform(mine, other, digits, noteEntry)
      if (merged.length > limit && mine.length <= limit) return undefined
      outcome = trees.add(merged)
    }
    if (path === '') tree = outcome ?? ours
    else if (outcome !== undefined && outcome !== folder.ours) {
      const above = path.length > 2 ? path.slice(0, -3) : ''
      const entry = Buffer.from(`40000 ${path.slice(-2)}\0${Buffer.from(outcome, 'hex').toString('latin1')}`, 'latin1')
      const entries = outcomes.get(above)
      if (entries) entries.push(entry)
      else outcomes.set(above, [entry])
    }
  }
  await trees.flush()
  const count = (side: 'onlyOurs' | 'onlyTheirs'): number => folders.reduce((sum, folder) => sum + folder[side], 0)
  return { tree, adopted: count('onlyTheirs'), kept: count('onlyOurs') }
}
