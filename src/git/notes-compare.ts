/** What two notes trees hold differently, by subject, whatever their fan-outs. */
import { type Folder, type KnownFolder, locateNote, type OtherPath } from './notes-tree.ts'
import { oidDigits, type Repository } from './repository.ts'
import { gitOutput } from './run.ts'
import { modeType, TREE_MODE } from './trees.ts'

/** The distinct blobs that one tree holds for a subject: none, one, or, at two fan-outs, more (case 29). */
export type Side = readonly string[]

export interface Difference {
  readonly subject: string
  readonly ours: Side
  readonly theirs: Side
}

export interface Comparison {
  readonly notes: readonly Difference[]
  /** Paths of theirs that are no notes and that ours lacks. */
  readonly others: readonly OtherPath[]
  /** Whether any path that is no note differs, and whether ours has one that theirs lacks. */
  readonly othersDiffer: boolean
  readonly othersOnlyOurs: boolean
  /** Folders in which theirs has some more notes and nothing else is different. */
  readonly known: ReadonlyMap<string, KnownFolder>
}

export const sameSide = (left: Side, right: Side): boolean =>
  left.length === right.length && left.every(blob => right.includes(blob))

const NOTE_PATH = /^(?:[0-9a-f]{2}\/)*[0-9a-f]+$/
const ABSENT = '000000'

const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))

const addTo = (side: string[], blob: string): void => {
  if (!side.includes(blob)) side.push(blob)
}

/** Compares two trees. One git process; the cost grows with what differs. */
export const compareNotes = async (repository: Repository, ours: string, theirs: string): Promise<Comparison> => {
  const digits = oidDigits(repository)
  const command = ['diff-tree', '-r', '-t', '-z', '--no-renames', '--no-abbrev', ours, theirs]
  const fields = (await gitOutput(repository, command)).toString('latin1').split('\0')
  const notes = new Map<string, { readonly subject: string; readonly ours: string[]; readonly theirs: string[] }>()
  const others: OtherPath[] = []
  const known = new Map<string, { readonly from: string | undefined; readonly adds: string[]; readonly to: string }>()
  const mixed = new Set<string>()
  let othersDiffer = false
  let othersOnlyOurs = false
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [oldMode = '', newMode = '', from = '', to = ''] = (fields[at] ?? '').slice(1).split(' ')
    const path = fields[at + 1] ?? ''
    const folder = folderOf(path)
    if (oldMode === TREE_MODE || newMode === TREE_MODE) {
      mixed.add(folder)
      if (newMode === TREE_MODE && (oldMode === TREE_MODE || oldMode === ABSENT))
        known.set(path, { from: oldMode === ABSENT ? undefined : from, adds: [], to })
      continue
    }
    const subject = path.replaceAll('/', '')
    if (subject.length !== digits || !NOTE_PATH.test(path)) {
      mixed.add(folder)
      othersDiffer = true
      if (oldMode === ABSENT) others.push({ path, mode: newMode, oid: to })
      if (newMode === ABSENT) othersOnlyOurs = true
      continue
    }
    const note = notes.get(subject) ?? { subject, ours: [], theirs: [] }
    notes.set(subject, note)
    if (oldMode !== ABSENT && modeType(oldMode) === 'blob') addTo(note.ours, from)
    if (newMode !== ABSENT && modeType(newMode) === 'blob') addTo(note.theirs, to)
    if (oldMode === ABSENT) known.get(folder)?.adds.push(subject)
    else mixed.add(folder)
  }
  for (const folder of mixed) known.delete(folder)
  return { notes: [...notes.values()], others, othersDiffer, othersOnlyOurs, known }
}

/** The subjects of a comparison that theirs could change; `openNotes` must be given them before `completeSides`. */
export const openSubjects = ({ notes }: Comparison): readonly Difference[] =>
  notes.filter(({ ours, theirs }) => theirs.length > 0 && !sameSide(ours, theirs))

/**
 * A comparison does not show a blob that stands at the same path on both sides. That matters only where a subject stands more
 * than once, so our tree is asked; whatever the comparison did not show stands on both sides.
 */
export const completeSides = (folder: Folder, differences: readonly Difference[]): readonly Difference[] =>
  differences.map(({ subject, ours, theirs }) => {
    const all = locateNote(folder, subject)
    const unseen = all.filter(blob => !ours.includes(blob) && !theirs.includes(blob))
    return { subject, ours: all, theirs: unseen.length > 0 ? [...theirs, ...unseen] : theirs }
  })
