/** Adding a note, and never replacing one. */
import { commitNotes, type NotesWriter, requireNotesCommit } from './notes-commit.ts'
import { editNotes } from './notes-edit.ts'
import type { SameClaim } from './notes-judge.ts'
import { IDENTITY_MISSING, moveNotes, type NotesFailure, standingTip } from './notes-move.ts'
import { type NoteRead, readBlobs } from './notes-read.ts'
import { locateNote, openNotes } from './notes-tree.ts'
import { writeBlob } from './objects.ts'
import { oidDigits, type Repository } from './repository.ts'
import { openTreeStore } from './trees.ts'

export interface WriteRequest {
  /** Full id of the commit that the note is about. */
  readonly subject: string
  readonly body: string | Uint8Array
  readonly sameClaim: SameClaim
  readonly writer: NotesWriter
}

export type WriteResult =
  | { readonly status: 'written'; readonly tip: string; readonly blob: string; readonly restored: number }
  /** A note stands there already and was left alone, byte by byte; nothing was moved. */
  | { readonly status: 'standing'; readonly tip: string; readonly note: NoteRead }
  | ({ readonly status: 'failed' } & NotesFailure)

/**
 * Adds one note, unless one stands for the subject. The question is asked again after each lost race, so a note is never
 * replaced. Reads and writes only the folders on the note's way: the cost does not grow with the number of notes. Six git
 * processes, one of them the repository's object reader; four more for each lost race.
 */
export const writeNote = async (repository: Repository, request: WriteRequest): Promise<WriteResult> => {
  const { subject, writer } = request
  // Written while the refs and folders are read; what goes wrong with it is met where it is awaited.
  const writing = writeBlob(repository, request.body)
  writing.catch(() => {})
  const result = await moveNotes<WriteResult>(repository, writer, [], 'discern: note added', async refs => {
    const standing = await standingTip(repository, refs, request)
    if ('cause' in standing) return standing
    const root = standing.tip === undefined ? undefined : (await requireNotesCommit(repository, standing.tip)).tree
    const folder = await openNotes(repository, root, [subject])
    const found = locateNote(folder, subject)
    if (standing.tip !== undefined && found.length > 0) {
      const note = await readBlobs(repository, found)
      return { tip: undefined, answer: { status: 'standing', tip: standing.tip, note } }
    }
    const blob = await writing
    const trees = openTreeStore(repository)
    const tree = editNotes(trees, oidDigits(repository), folder, new Map([[subject, blob]]))
    await trees.flush()
    const tip = await commitNotes(repository, writer, {
      tree: tree ?? '',
      parents: standing.tip === undefined ? [] : [standing.tip],
      message: `Note added by 'git discern accept'`,
      time: Math.floor(writer.now().getTime() / 1000),
    })
    if (tip === undefined) return IDENTITY_MISSING
    return { tip, more: standing.more, answer: { status: 'written', tip, blob, restored: standing.restored } }
  })
  return 'cause' in result ? { status: 'failed', ...result } : result.answer
}
