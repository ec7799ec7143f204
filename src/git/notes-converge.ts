/** Bringing notes together: what was lost, what was fetched, and what somebody decided. */
import type { NotesWriter } from './notes-commit.ts'
import type { SameClaim } from './notes-judge.ts'
import { mergeNotes, type NotesMerge } from './notes-merge.ts'
import { IDENTITY_MISSING, moveNotes, type NotesFailure, standingTip } from './notes-move.ts'
import type { NoteReplacement, NotesConflict } from './notes-plan.ts'
import { LOCAL_NOTES_REF, listNotes, NOTES_REF, OVERWRITTEN_NOTES_REF } from './notes-read.ts'
import type { RefUpdate } from './refs.ts'
import { type Repository, zeroOid } from './repository.ts'

export interface ConvergeRequest {
  /** Full names of the tracking refs of configured remotes. */
  readonly tracking: readonly string[]
  readonly sameClaim: SameClaim
  readonly writer: NotesWriter
}

export interface Convergence {
  /** Where both notes refs stand now; absent when there are no notes at all. */
  readonly tip?: string
  readonly moved: boolean
  /** Notes that came from tracking refs. */
  readonly adopted: number
  /** Notes that were brought back after the ref had been overwritten or pruned (cases 31, 42). */
  readonly restored: number
  /** Tracking refs whose whole history was taken in. */
  readonly merged: readonly string[]
  readonly replaced: readonly NoteReplacement[]
  readonly conflicts: readonly NotesConflict[]
  /** Tracking refs that lack something of ours and nothing else is in the way of: a push would bring it all. */
  readonly ahead: readonly string[]
  /** Tracking refs that hold no commit. */
  readonly unreadable: readonly string[]
  /** Set when nothing was moved because it could not be. */
  readonly failure?: NotesFailure
}

/**
 * Restores what the notes ref lost, then takes in each tracking ref in the order of their names, and moves both notes refs
 * once. With nothing to do it costs reading the refs, and one ancestry check for each tracking ref that stands elsewhere.
 * Never touches a merge that the user has begun, and starts none of git's own (case 27).
 */
export const convergeNotes = async (repository: Repository, request: ConvergeRequest): Promise<Convergence> => {
  const tracking = [...new Set(request.tracking)].sort()
  const result = await moveNotes<Omit<Convergence, 'moved'>>(
    repository,
    request.writer,
    tracking,
    'discern: notes converged',
    async refs => {
      const standing = await standingTip(repository, refs, request)
      if ('cause' in standing) return standing
      const notes = refs.get(NOTES_REF)?.oid
      const thorough = notes !== refs.get(LOCAL_NOTES_REF)?.oid
      let tip = standing.tip
      let adopted = 0
      const merged: string[] = []
      const unreadable: string[] = []
      const replaced = [...standing.replaced]
      const conflicts = [...standing.conflicts]
      // Which tips the one we stand at contains; each is looked at once, however many refs hold it.
      const contained = new Map<string, boolean>()
      if (notes !== undefined) contained.set(notes, standing.conflicts.length === 0)
      for (const ref of [...tracking, OVERWRITTEN_NOTES_REF]) {
        const theirs = refs.get(ref)?.oid
        if (theirs === undefined || contained.has(theirs)) continue
        contained.set(theirs, true)
        if (theirs === tip) continue
        const merge: NotesMerge =
          tip === undefined
            ? await adoptWhole(repository, theirs)
            : await mergeNotes(repository, { ...request, ours: tip, theirs, ref, thorough })
        if (merge.kind === 'no-identity') return IDENTITY_MISSING
        if (merge.kind === 'unreadable' || merge.kind === 'partial') contained.set(theirs, false)
        if (merge.kind === 'unreadable') {
          unreadable.push(ref)
          continue
        }
        if (merge.kind === 'forward' || merge.kind === 'merged') merged.push(ref)
        tip = merge.tip
        adopted += merge.adopted
        replaced.push(...merge.replaced)
        conflicts.push(...merge.conflicts)
      }
      const ahead = tracking.filter(ref => {
        const theirs = refs.get(ref)?.oid
        return theirs !== undefined && theirs !== tip && contained.get(theirs) === true
      })
      const report = { adopted, restored: standing.restored, merged, replaced, conflicts, ahead, unreadable }
      return { tip, more: standing.more, answer: tip === undefined ? report : { tip, ...report } }
    },
  )
  if (!('cause' in result)) return { ...result.answer, moved: result.moved }
  const none = { adopted: 0, restored: 0, merged: [], replaced: [], conflicts: [], ahead: [], unreadable: [] }
  return { moved: false, ...none, failure: result }
}

/** The first history that this repository sees is taken as it is. */
const adoptWhole = async (repository: Repository, theirs: string): Promise<NotesMerge> => {
  const none = { kept: 0, replaced: [], conflicts: [], decided: false }
  const object = await repository.objects.read(theirs)
  if (object?.type !== 'commit') return { kind: 'unreadable', tip: theirs, adopted: 0, ...none }
  const { notes, ambiguous } = await listNotes(repository, theirs)
  return { kind: 'forward', tip: theirs, adopted: notes.size + ambiguous.size, ...none }
}

export interface ResolveRequest {
  readonly subject: string
  readonly keep: 'local' | 'remote'
  /** Full name of the ref that claims otherwise, as the conflict named it. */
  readonly ref: string
  readonly sameClaim: SameClaim
  readonly writer: NotesWriter
}

export type ResolveResult =
  | {
      readonly status: 'resolved'
      readonly tip: string
      /** `merge`: their history is recorded, and a push is possible again. `commit`: other conflicts with it are still open. */
      readonly recorded: 'merge' | 'commit'
      readonly remaining: readonly NotesConflict[]
    }
  | { readonly status: 'no-conflict' }
  /** The side to keep holds the subject twice itself. */
  | { readonly status: 'ambiguous'; readonly conflict: NotesConflict }
  | ({ readonly status: 'failed' } & NotesFailure)

/**
 * Decides one conflict for good. The decision stands in the history of the notes and travels with it: as a merge when it was
 * the last conflict with that ref, else as an ordinary commit that later merges take into account (design 4.4).
 */
export const resolveConflict = async (repository: Repository, request: ResolveRequest): Promise<ResolveResult> => {
  const { subject, keep, ref } = request
  const result = await moveNotes<ResolveResult>(
    repository,
    request.writer,
    [ref],
    `discern: note resolved`,
    async refs => {
      const standing = await standingTip(repository, refs, request)
      if ('cause' in standing) return standing
      const theirs = refs.get(ref)?.oid
      if (standing.tip === undefined || theirs === undefined)
        return { tip: undefined, answer: { status: 'no-conflict' } }
      const merge = await mergeNotes(repository, { ...request, ours: standing.tip, theirs, decide: { subject, keep } })
      if (merge.kind === 'no-identity') return IDENTITY_MISSING
      if (!merge.decided) {
        const conflict = merge.conflicts.find(open => open.subject === subject)
        return { tip: undefined, answer: conflict ? { status: 'ambiguous', conflict } : { status: 'no-conflict' } }
      }
      const recorded = merge.kind === 'partial' ? 'commit' : 'merge'
      const answer = { status: 'resolved', tip: merge.tip, recorded, remaining: merge.conflicts } as const
      const settled: readonly RefUpdate[] =
        ref === OVERWRITTEN_NOTES_REF && recorded === 'merge' ? [{ ref, to: zeroOid(repository), from: theirs }] : []
      return { tip: merge.tip, more: [...standing.more.filter(update => update.ref !== ref), ...settled], answer }
    },
  )
  return 'cause' in result ? { status: 'failed', ...result } : result.answer
}
