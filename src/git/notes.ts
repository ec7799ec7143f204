/**
 * Proof notes: one ref that everybody may read and push, and one private ref that remembers what it held. Both move
 * together, by compare-and-swap; git's own `notes add` and `notes merge` move theirs without one and lose parallel writers.
 */
export { type NotesWriter, notesWriter } from './notes-commit.ts'
export {
  type Convergence,
  type ConvergeRequest,
  convergeNotes,
  type ResolveRequest,
  type ResolveResult,
  resolveConflict,
} from './notes-converge.ts'
export type { SameClaim } from './notes-judge.ts'
export type { NotesFailure } from './notes-move.ts'
export type { NoteReplacement, NotesConflict } from './notes-plan.ts'
export {
  LOCAL_NOTES_REF,
  listNotes,
  NOTES_REF,
  type NoteRead,
  type NotesList,
  OVERWRITTEN_NOTES_REF,
  readNote,
} from './notes-read.ts'
export { type WriteRequest, type WriteResult, writeNote } from './notes-write.ts'
