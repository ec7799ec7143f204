/**
 * Proof notes: one ref that everybody may read and push, and one private ref that remembers what it held. Both move
 * together, by compare-and-swap; git's own `notes add` and `notes merge` move theirs without one and lose parallel writers.
 */
import { REF_REFUSED_LIMIT_COUNT, REF_RETRY_LIMIT_COUNT, REF_RETRY_PAUSE_LIMIT_MS } from '../limits.ts'
import { commitNotes, type NotesWriter, requireNotesCommit } from './notes-commit.ts'
import type { SameClaim } from './notes-judge.ts'
import { mergeNotes, type NoteReplacement, type NotesConflict, type NotesMerge } from './notes-merge.ts'
import { editNotes, locateNote, openNotes } from './notes-tree.ts'
import { writeBlob } from './objects.ts'
import { splitNul } from './path.ts'
import { type Ref, type RefUpdate, readRefs, updateRefs } from './refs.ts'
import { oidDigits, type Repository, zeroOid } from './repository.ts'
import { gitOutput } from './run.ts'
import { openTreeStore } from './trees.ts'

export { type NotesWriter, notesWriter } from './notes-commit.ts'
export type { SameClaim } from './notes-judge.ts'
export type { NoteReplacement, NotesConflict } from './notes-merge.ts'

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

const readBlobs = async (repository: Repository, blobs: readonly string[]): Promise<NoteRead> => {
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

/** Why a notes ref was left as it was. */
export interface NotesFailure {
  readonly cause: 'identity-missing' | 'contention' | 'refused'
  readonly reason: string
}

const IDENTITY_MISSING: NotesFailure = {
  cause: 'identity-missing',
  reason: 'DISCERN_NO_ATTRIBUTION is set, and git knows no name and address to use instead',
}

type Refs = ReadonlyMap<string, Ref>

interface Step<Answer> {
  /** Where both notes refs are to stand, if they are to move at all. */
  readonly tip: string | undefined
  readonly more?: readonly RefUpdate[]
  readonly answer: Answer
}

const sameRefs = (left: Refs, right: Refs): boolean =>
  left.size === right.size && [...left].every(([name, ref]) => right.get(name)?.oid === ref.oid)

/**
 * Reads the refs, takes one step from what they hold, and moves both notes refs in one transaction. A lost race starts again
 * from fresh refs, after a short pause of random length; a transaction that git refuses while nothing has moved is tried
 * again a few times only, since that may be a lock, a hook or a full disk.
 */
const move = async <Answer>(
  repository: Repository,
  writer: NotesWriter,
  tracking: readonly string[],
  reflog: string,
  take: (refs: Refs) => Promise<Step<Answer> | NotesFailure>,
): Promise<{ readonly answer: Answer; readonly moved: boolean } | NotesFailure> => {
  let refused = 0
  let before: Refs | undefined
  let reason = ''
  for (let tries = 0; tries < REF_RETRY_LIMIT_COUNT; tries += 1) {
    const refs = await readRefs(repository, [NOTES_REF, LOCAL_NOTES_REF, OVERWRITTEN_NOTES_REF, ...tracking])
    refused = before && sameRefs(before, refs) ? refused + 1 : 0
    if (refused >= REF_REFUSED_LIMIT_COUNT) return { cause: 'refused', reason }
    const step = await take(refs)
    if ('cause' in step) return step
    const updates = [...(step.more ?? [])]
    const { tip } = step
    const settled = tip === undefined || (refs.get(NOTES_REF)?.oid === tip && refs.get(LOCAL_NOTES_REF)?.oid === tip)
    if (!settled) {
      for (const ref of [NOTES_REF, LOCAL_NOTES_REF]) {
        updates.push({ ref, to: tip, from: refs.get(ref)?.oid ?? zeroOid(repository) })
      }
    }
    if (updates.length === 0) return { answer: step.answer, moved: false }
    const result = await updateRefs(repository, updates, reflog)
    if (result.moved) return { answer: step.answer, moved: true }
    reason = result.reason
    before = refs
    await pause(writer.chance() * REF_RETRY_PAUSE_LIMIT_MS)
  }
  return { cause: 'contention', reason }
}

const pause = (milliseconds: number): Promise<void> => new Promise(resolve => setTimeout(resolve, milliseconds))

interface Standing {
  readonly tip: string | undefined
  readonly restored: number
  readonly replaced: readonly NoteReplacement[]
  readonly conflicts: readonly NotesConflict[]
  readonly more: readonly RefUpdate[]
}

/** The tip to build on: what the public ref holds, and whatever it has lost of what the private one remembers. */
const standingTip = async (
  repository: Repository,
  refs: Refs,
  rules: { readonly sameClaim: SameClaim; readonly writer: NotesWriter },
): Promise<Standing | NotesFailure> => {
  const notes = refs.get(NOTES_REF)?.oid
  const local = refs.get(LOCAL_NOTES_REF)?.oid
  const nothing = { restored: 0, replaced: [], conflicts: [], more: [] } as const
  if (local === undefined || notes === local) return { tip: notes, ...nothing }
  if (notes === undefined) return { tip: local, ...nothing, restored: (await listNotes(repository, local)).notes.size }
  const merge = await mergeNotes(repository, {
    ...rules,
    ours: local,
    theirs: notes,
    ref: OVERWRITTEN_NOTES_REF,
    thorough: true,
  })
  if (merge.kind === 'no-identity') return IDENTITY_MISSING
  const overwritten = refs.get(OVERWRITTEN_NOTES_REF)?.oid
  const keep = merge.kind === 'partial' && overwritten !== notes
  return {
    tip: merge.tip,
    restored: merge.kept,
    replaced: merge.replaced,
    conflicts: merge.conflicts,
    more: keep ? [{ ref: OVERWRITTEN_NOTES_REF, to: notes, from: overwritten ?? zeroOid(repository) }] : [],
  }
}

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
  const blob = await writeBlob(repository, request.body)
  const result = await move<WriteResult>(repository, writer, [], 'discern: note added', async refs => {
    const standing = await standingTip(repository, refs, request)
    if ('cause' in standing) return standing
    const root = standing.tip === undefined ? undefined : (await requireNotesCommit(repository, standing.tip)).tree
    const folder = await openNotes(repository, root, [subject])
    const found = locateNote(folder, subject)
    if (standing.tip !== undefined && found.length > 0) {
      const note = await readBlobs(repository, found)
      return { tip: undefined, answer: { status: 'standing', tip: standing.tip, note } }
    }
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
  const result = await move<Omit<Convergence, 'moved'>>(
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
  const result = await move<ResolveResult>(repository, request.writer, [ref], `discern: note resolved`, async refs => {
    const standing = await standingTip(repository, refs, request)
    if ('cause' in standing) return standing
    const theirs = refs.get(ref)?.oid
    if (standing.tip === undefined || theirs === undefined) return { tip: undefined, answer: { status: 'no-conflict' } }
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
  })
  return 'cause' in result ? { status: 'failed', ...result } : result.answer
}
