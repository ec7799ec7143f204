/**
 * The tree of a notes commit. A note's path is its subject's id with slashes after some pairs of digits; where they stand may
 * differ from folder to folder and from writer to writer, so everything here looks through any fan-out, mixed ones included.
 */
import { oidDigits, type Repository } from './repository.ts'
import { readTrees, scanTree } from './trees.ts'

/** One folder of the tree, as far as somebody asked for it. */
export interface Folder {
  /** Absent for a folder that does not stand yet. */
  readonly oid: string | undefined
  readonly content: Buffer
  /** What is left of a subject's id, to the note's blob: of the subjects that were asked for. */
  readonly leaves: ReadonlyMap<string, string>
  /** Two digits, to the folder below: read as far as some subject needed it, else its id alone. */
  readonly below: Map<string, Folder | string>
  /** Names of entries that are no notes. */
  readonly others: ReadonlySet<string>
  /** How many notes and how many folders of notes it holds in all. */
  readonly leafCount: number
  readonly folderCount: number
}

/** The folder that does not stand yet. */
export const EMPTY: Folder = {
  oid: undefined,
  content: Buffer.alloc(0),
  leaves: new Map(),
  below: new Map(),
  others: new Set(),
  leafCount: 0,
  folderCount: 0,
}
const HEXADECIMAL = /^[0-9a-f]+$/
/** The second digit of mode 160000, which no file and no symbolic link has. */
const GITLINK_DIGIT = '6'.charCodeAt(0)

/** Sorts the entries of one tree object, `at` digits into the subjects; without `subjects` it keeps all of them. */
export const parseFolder = (
  oid: string | undefined,
  content: Buffer,
  digits: 40 | 64,
  at: number,
  subjects?: readonly string[],
): Folder => {
  const wanted = subjects && new Set(subjects.flatMap(subject => [subject.slice(at, at + 2), subject.slice(at)]))
  const rest = digits - at
  const leaves = new Map<string, string>()
  const below = new Map<string, Folder | string>()
  const others = new Set<string>()
  let leafCount = 0
  let folderCount = 0
  scanTree(content, digits, (tree, name, oidAt, start) => {
    const fits = tree ? name.length === 2 && rest > 2 : name.length === rest && content[start + 1] !== GITLINK_DIGIT
    if (!fits || !HEXADECIMAL.test(name)) {
      others.add(name)
      return
    }
    if (tree) folderCount += 1
    else leafCount += 1
    if (wanted && !wanted.has(name)) return
    const entry = content.toString('hex', oidAt, oidAt + digits / 2)
    if (tree) below.set(name, entry)
    else leaves.set(name, entry)
  })
  return { oid, content, leaves, below, others, leafCount, folderCount }
}

/**
 * Reads the folders on the way to `subjects`, all of one depth together, and no others; `root` may be absent. `skip` names
 * folders, by path, that nobody will ask about. No git process besides the object reader for a few folders, one for each
 * depth beyond that. Throws `notes_failed` when one is missing.
 */
export const openNotes = async (
  repository: Repository,
  root: string | undefined,
  subjects: readonly string[],
  skip: (path: string) => boolean = () => false,
): Promise<Folder> => {
  if (root === undefined) return EMPTY
  const digits = oidDigits(repository)
  const top = new Map<string, Folder | string>()
  let wanted = [{ parent: top, pair: '', path: '', oid: root, subjects }]
  for (let at = 0; wanted.length > 0; at += 2) {
    const contents = await readTrees(
      repository,
      wanted.map(({ oid }) => oid),
    )
    const next: typeof wanted = []
    for (const { parent, pair, path, oid, subjects } of wanted) {
      const folder = parseFolder(oid, contents.get(oid) ?? Buffer.alloc(0), digits, at, subjects)
      parent.set(pair, folder)
      if (folder.below.size === 0) continue
      for (const [pair, group] of groupBy(subjects, subject => subject.slice(at, at + 2))) {
        const oid = folder.below.get(pair)
        const inner = path === '' ? pair : `${path}/${pair}`
        if (typeof oid === 'string' && !skip(inner)) {
          next.push({ parent: folder.below, pair, path: inner, oid, subjects: group })
        }
      }
    }
    wanted = next
  }
  const folder = top.get('')
  return typeof folder === 'object' ? folder : EMPTY
}

/** Values by what `key` says of each, in order. */
export const groupBy = <Value>(
  values: readonly Value[],
  key: (value: Value) => string,
): ReadonlyMap<string, Value[]> => {
  const groups = new Map<string, Value[]>()
  for (const value of values) {
    const name = key(value)
    const group = groups.get(name)
    if (group) group.push(value)
    else groups.set(name, [value])
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
    const blob = level.leaves.size > 0 ? level.leaves.get(subject.slice(at)) : undefined
    if (blob !== undefined && !blobs.includes(blob)) blobs.push(blob)
    level = level.below.get(subject.slice(at, at + 2))
  }
  return blobs
}
