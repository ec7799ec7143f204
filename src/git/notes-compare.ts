/** What two notes trees hold differently, by subject, whatever their fan-outs. */
import type { KnownFolder, OtherPath } from './notes-edit.ts'
import { type Folder, locateNote } from './notes-tree.ts'
import type { Repository } from './repository.ts'
import { gitOutput } from './run.ts'
import { isBlobMode, TREE_MODE } from './trees.ts'

/** The distinct blobs that one tree holds for a subject: none, one, or, at two fan-outs, more (case 29). */
export type Side = readonly string[]

export interface Difference {
  readonly subject: string
  readonly ours: Side
  readonly theirs: Side
}

export interface Comparison {
  /** Subjects that theirs would change: it holds them, and not as ours does. */
  readonly open: readonly Difference[]
  /** How many subjects ours alone holds. */
  readonly onlyOurs: number
  /** Paths of theirs that are no notes and that ours lacks. */
  readonly others: readonly OtherPath[]
  /** Whether any path that is no note differs, and whether ours has one that theirs lacks. */
  readonly othersDiffer: boolean
  readonly othersOnlyOurs: boolean
  /** Folders, by path, in which theirs has some more notes and nothing else is different. */
  readonly known: ReadonlyMap<string, KnownFolder>
}

export const sameSide = (left: Side, right: Side): boolean =>
  left.length === right.length && left.every(blob => right.includes(blob))

const NOTE_PATH = /^(?:[0-9a-f]{2}\/)*[0-9a-f]+$/
const ABSENT = '000000'
const NOTHING: Side = []

/** One side of a comparison: nearly every subject has one blob, which is kept without a list of its own. */
class Blobs {
  readonly one = new Map<string, string>()
  private readonly several = new Map<string, Side>()

  add(subject: string, blob: string): void {
    const standing = this.one.get(subject)
    if (standing === undefined) this.one.set(subject, blob)
    else if (standing !== blob) {
      const side = this.several.get(subject) ?? [standing]
      if (!side.includes(blob)) this.several.set(subject, [...side, blob])
    }
  }

  of(subject: string): Side {
    const blob = this.one.get(subject)
    return blob === undefined ? NOTHING : (this.several.get(subject) ?? [blob])
  }
}

/** What differs between two trees, folders included, as git prints it. One git process; the cost grows with what differs. */
export const diffNotes = (repository: Repository, ours: string, theirs: string): Promise<Buffer> =>
  gitOutput(repository, ['diff-tree', '-r', '-t', '-z', '--no-renames', '--no-abbrev', ours, theirs])

/** Reads what `diffNotes` printed, by subject. Pure. */
export const compareNotes = (diff: Buffer, digits: 40 | 64): Comparison => {
  const text = diff.toString('latin1')
  const here = new Blobs()
  const there = new Blobs()
  const others: OtherPath[] = []
  const known = new Map<string, { readonly from: string | undefined; readonly adds: string[]; readonly to: string }>()
  let othersDiffer = false
  let othersOnlyOurs = false
  // Each record is `:<mode> <mode> <id> <id> <status>\0<path>\0`; everything before the path has a fixed width.
  const pathAt = 19 + 2 * digits
  for (let at = 0, end = 0; at < text.length; at = end + 1) {
    end = text.indexOf('\0', at + pathAt)
    const path = text.slice(at + pathAt, end)
    const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')))
    const added = text.startsWith(ABSENT, at + 1)
    const gone = text.startsWith(ABSENT, at + 8)
    const [wasTree, isTree] = [text.startsWith(TREE_MODE, at + 1), text.startsWith(TREE_MODE, at + 8)]
    const from = at + 15
    const to = from + digits + 1
    if (wasTree || isTree) {
      known.delete(folder)
      if (isTree && (wasTree || added)) {
        const oid = added ? undefined : text.slice(from, from + digits)
        known.set(path, { from: oid, adds: [], to: text.slice(to, to + digits) })
      }
      continue
    }
    const subject = path.replaceAll('/', '')
    if (subject.length !== digits || !NOTE_PATH.test(path)) {
      known.delete(folder)
      othersDiffer = true
      if (added) others.push({ path, mode: text.slice(at + 8, at + 14), oid: text.slice(to, to + digits) })
      othersOnlyOurs ||= gone
      continue
    }
    if (!added && isBlobMode(text.slice(at + 1, at + 7))) here.add(subject, text.slice(from, from + digits))
    if (!gone && isBlobMode(text.slice(at + 8, at + 14))) there.add(subject, text.slice(to, to + digits))
    if (added) known.get(folder)?.adds.push(subject)
    else known.delete(folder)
  }
  const open: Difference[] = []
  let shared = 0
  for (const subject of there.one.keys()) {
    const difference = { subject, ours: here.of(subject), theirs: there.of(subject) }
    if (difference.ours !== NOTHING) shared += 1
    if (!sameSide(difference.ours, difference.theirs)) open.push(difference)
  }
  return { open, onlyOurs: here.one.size - shared, others, othersDiffer, othersOnlyOurs, known }
}

/**
 * A comparison does not show a blob that stands at the same path on both sides. That matters only where a subject stands more
 * than once, so our tree, opened with these subjects, is asked; whatever the comparison did not show stands on both sides.
 */
export const completeSides = (folder: Folder, open: readonly Difference[]): readonly Difference[] =>
  open.map(difference => {
    const { subject, ours, theirs } = difference
    const all = locateNote(folder, subject)
    if (all.length === 0 && ours.length === 0) return difference
    const unseen = all.filter(blob => !ours.includes(blob) && !theirs.includes(blob))
    return { subject, ours: all, theirs: unseen.length > 0 ? [...theirs, ...unseen] : theirs }
  })
