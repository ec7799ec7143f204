/** Reading notes: one by its subject, or all of a history. */
import { requireNotesCommit } from './notes-commit.ts'
import { locateNote, openNotes } from './notes-tree.ts'
import { splitNul } from './path.ts'
import { oidDigits, type Repository } from './repository.ts'
import { gitOutput } from './run.ts'

/** Where Proof notes are (document 000). */
export const NOTES_REF = 'refs/notes/discern'
/** The last tip that we wrote or adopted (design 4.5): what the ref above no longer contains was overwritten or pruned. */
export const LOCAL_NOTES_REF = 'refs/discern/local/notes'
/** A tip that had taken the place of ours and contradicts it: it stays within reach until someone decides. */
export const OVERWRITTEN_NOTES_REF = 'refs/discern/local/overwritten'

/** What stands for one subject. `unavailable`: something on the way to the note is not in this clone. */
export type NoteRead =
  | { readonly status: 'none' }
  | { readonly status: 'one'; readonly blob: string; readonly bytes: Buffer }
  /** The tree holds the subject at two fan-outs, with different notes (case 29). */
  | { readonly status: 'ambiguous'; readonly blobs: readonly string[] }
  | { readonly status: 'unavailable'; readonly reason: string }

/** The note that one of these blobs is; see `NoteRead`. */
export const readBlobs = async (repository: Repository, blobs: readonly string[]): Promise<NoteRead> => {
  const [blob, second] = blobs
  if (blob === undefined) return { status: 'none' }
  if (second !== undefined) return { status: 'ambiguous', blobs: [...blobs].sort() }
  const object = await repository.objects.read(blob)
  if (object?.type !== 'blob') return { status: 'unavailable', reason: `the note ${blob} is missing here` }
  return { status: 'one', blob, bytes: object.content }
}

/**
 * The note of one subject in the notes commit `tip`, through any fan-out. Reads the folders on its way alone, so the cost does
 * not grow with the number of notes. No git process besides the long-lived object reader. Throws `notes_failed` when the
 * commit or a folder is missing.
 */
export const readNote = async (repository: Repository, tip: string, subject: string): Promise<NoteRead> => {
  const { tree } = await requireNotesCommit(repository, tip)
  return readBlobs(repository, locateNote(await openNotes(repository, tree, [subject]), subject))
}

export interface NotesList {
  /** Subject to blob, in the order of the subjects. */
  readonly notes: ReadonlyMap<string, string>
  /** Subjects that stand twice, with all their blobs; they are in `notes` with none of them. */
  readonly ambiguous: ReadonlyMap<string, readonly string[]>
  /** How many paths of the tree are no notes. */
  readonly others: number
}

/** Every note of the notes commit `tip`. One git process, whatever the number of notes. */
export const listNotes = async (repository: Repository, tip: string): Promise<NotesList> => {
  const digits = oidDigits(repository)
  const output = await gitOutput(repository, ['ls-tree', '-r', '-z', tip])
  const notes = new Map<string, string>()
  const ambiguous = new Map<string, string[]>()
  let others = 0
  for (const record of splitNul(output)) {
    const [, blob, path] =
      /^\d{6} blob ([0-9a-f]+)\t((?:[0-9a-f]{2}\/)*[0-9a-f]+)$/.exec(record.toString('latin1')) ?? []
    const subject = path?.replaceAll('/', '')
    if (blob === undefined || subject?.length !== digits) {
      others += 1
      continue
    }
    const standing = notes.get(subject)
    if (standing !== undefined && standing !== blob) {
      const known = ambiguous.get(subject) ?? [standing]
      if (!known.includes(blob)) ambiguous.set(subject, [...known, blob].sort())
    } else notes.set(subject, blob)
  }
  for (const subject of ambiguous.keys()) notes.delete(subject)
  return { notes: new Map([...notes].sort(([left], [right]) => (left < right ? -1 : 1))), ambiguous, others }
}
