/** Moving the notes refs: both together, by compare-and-swap, from a tip that has lost nothing. */
import { REF_REFUSED_LIMIT_COUNT, REF_RETRY_LIMIT_COUNT, REF_RETRY_PAUSE_LIMIT_MS } from '../limits.ts'
import type { NotesWriter } from './notes-commit.ts'
import type { SameClaim } from './notes-judge.ts'
import { mergeNotes } from './notes-merge.ts'
import type { NoteReplacement, NotesConflict } from './notes-plan.ts'
import { LOCAL_NOTES_REF, listNotes, NOTES_REF, OVERWRITTEN_NOTES_REF } from './notes-read.ts'
import { type Ref, type RefUpdate, readRefs, updateRefs } from './refs.ts'
import { type Repository, zeroOid } from './repository.ts'

/** Why a notes ref was left as it was. */
export interface NotesFailure {
  readonly cause: 'identity-missing' | 'contention' | 'refused'
  readonly reason: string
}

/** The answer where a commit was needed and nobody may make it (case 45). */
export const IDENTITY_MISSING: NotesFailure = {
  cause: 'identity-missing',
  reason: 'DISCERN_NO_ATTRIBUTION is set, and git knows no name and address to use instead',
}

/** Refs by full name, as they were read together. */
export type Refs = ReadonlyMap<string, Ref>

/** Where a look at the refs leads. */
export interface Step<Answer> {
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
export const moveNotes = async <Answer>(
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

/** The tip to build on, and what had to be brought back for it. */
export interface Standing {
  readonly tip: string | undefined
  readonly restored: number
  readonly replaced: readonly NoteReplacement[]
  readonly conflicts: readonly NotesConflict[]
  readonly more: readonly RefUpdate[]
}

/** The tip to build on: what the public ref holds, and whatever it has lost of what the private one remembers. */
export const standingTip = async (
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
