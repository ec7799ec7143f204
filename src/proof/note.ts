/** The Proof as a Git note: the order of checks before one is written (facts 11.2), and how one is found again (11.3). */
import type { Context } from '../context.ts'
import { Refusal, reasonOf } from '../errors.ts'
import { convergeNotes, NOTES_REF, type NoteRead, notesWriter, readNote, writeNote } from '../git/notes.ts'
import type { Repository } from '../git/repository.ts'
import type { ProofPayload } from './claim.ts'
import { encodeEnvelope, readEnvelope, sameClaim } from './envelope.ts'

export interface NoteWrite {
  readonly status: 'recorded' | 'already_present' | 'record_failed' | 'missing_proof'
  readonly ref: string
  readonly commit: string
  /** Tracking refs whose whole history was taken in before writing. */
  readonly merged_refs: readonly string[]
  readonly reason?: string
}

/** Why this payload may not become a note of a landed commit, or its body. */
const bodyOf = (payload: ProofPayload): { readonly body: string } | { readonly reason: string } => {
  const { proof, subject } = payload
  if (proof.mode === 'report') return { reason: 'a CI report is never recorded as a Proof' }
  if (!subject.commit.startsWith(proof.head))
    return { reason: `the Proof is for ${proof.head}, not for ${subject.commit}` }
  try {
    const body = encodeEnvelope(payload)
    const read = readEnvelope(Buffer.from(body), subject.commit)
    return read.kind === 'proof' ? { body } : { reason: `the Proof would not be readable: ${read.kind}` }
  } catch (error) {
    return { reason: reasonOf(error) }
  }
}

/** What a note that already stands for the commit means to the one that should be written (facts 11.2, rows 6 to 8). */
const judgeStanding = (standing: NoteRead, body: string, commit: string): Pick<NoteWrite, 'status' | 'reason'> => {
  if (standing.status !== 'one') return { status: 'record_failed', reason: `the standing note is ${standing.status}` }
  if (sameClaim(standing.bytes, Buffer.from(body))) return { status: 'already_present' }
  const read = readEnvelope(standing.bytes, commit)
  return {
    status: 'record_failed',
    reason: `publication conflict: the note ${standing.blob} already stands there (${read.kind === 'proof' ? 'another claim' : read.kind}); look at it: git notes --ref=discern show ${commit}`,
  }
}

/**
 * Adopts fetched histories, then adds the note unless one stands there. Never replaces a note, never fetches or pushes, never
 * throws for what a landing must survive: every failure is a `record_failed` with its reason.
 */
export const recordProofNote = async (
  context: Context,
  repository: Repository,
  tracking: readonly string[],
  payload: ProofPayload | undefined,
): Promise<NoteWrite> => {
  const commit = payload?.subject.commit ?? ''
  const answer = (rest: Pick<NoteWrite, 'status' | 'reason'>, merged: readonly string[] = []): NoteWrite => ({
    ...rest,
    ref: NOTES_REF,
    commit,
    merged_refs: merged,
  })
  if (!payload) return answer({ status: 'missing_proof' })
  const made = bodyOf(payload)
  if ('reason' in made) return answer({ status: 'record_failed', reason: made.reason })
  const writer = notesWriter(context)
  try {
    const convergence = await convergeNotes(repository, { tracking, sameClaim, writer })
    const { failure, merged } = convergence
    if (failure) return answer({ status: 'record_failed', reason: `${failure.cause}: ${failure.reason}` })
    const result = await writeNote(repository, { subject: commit, body: made.body, sameClaim, writer })
    switch (result.status) {
      case 'written':
        return answer({ status: 'recorded' }, merged)
      case 'standing':
        return answer(judgeStanding(result.note, made.body, commit), merged)
      case 'failed':
        return answer({ status: 'record_failed', reason: `${result.cause}: ${result.reason}` }, merged)
    }
  } catch (error) {
    if (error instanceof Refusal && error.slug === 'git_unavailable') throw error
    return answer({ status: 'record_failed', reason: reasonOf(error) })
  }
}

/** One notes history to look in. */
export interface NotesSource {
  readonly ref: string
  readonly tip: string
}

interface At {
  readonly commit: string
}

/** What is known about the Proof of a landed commit. */
export type LandedReading =
  | (At & { readonly kind: 'proof'; readonly ref: string; readonly commitAt: string; readonly payload: ProofPayload })
  | (At & { readonly kind: 'stale'; readonly ref: string; readonly reason: string })
  | (At & { readonly kind: 'unsupported'; readonly ref: string; readonly format: string })
  | (At & { readonly kind: 'foreign'; readonly ref: string; readonly bound: string })
  | (At & { readonly kind: 'malformed'; readonly ref: string; readonly reason: string })
  | (At & { readonly kind: 'missing' })

/**
 * Looks for the Proof of `commit` in the given histories, in their order; the first readable, bound, strict Proof wins. Without
 * one, the first note that is something else is reported as what it is. No git process beside the object reader.
 */
export const readLanded = async (
  repository: Repository,
  sources: readonly NotesSource[],
  commit: string,
): Promise<LandedReading> => {
  let first: LandedReading | undefined
  for (const { ref, tip } of sources) {
    const reading = await readFrom(repository, ref, tip, commit)
    if (reading.kind === 'proof') return reading
    if (reading.kind !== 'missing') first ??= reading
  }
  return first ?? { kind: 'missing', commit }
}

const readFrom = async (repository: Repository, ref: string, tip: string, commit: string): Promise<LandedReading> => {
  const note = await readNote(repository, tip, commit)
  switch (note.status) {
    case 'none':
      return { kind: 'missing', commit }
    case 'unavailable':
      return { kind: 'malformed', commit, ref, reason: note.reason }
    case 'ambiguous':
      return { kind: 'malformed', commit, ref, reason: `the history holds ${note.blobs.length} notes for it` }
    case 'one':
      break
  }
  const read = readEnvelope(note.bytes, commit)
  switch (read.kind) {
    case 'proof':
      if (read.payload.proof.mode === 'report') return { kind: 'malformed', commit, ref, reason: 'a CI report' }
      return { kind: 'proof', commit, ref, payload: read.payload, commitAt: await commitTime(repository, commit) }
    case 'stale':
      return { kind: 'stale', commit, ref, reason: read.reason }
    case 'unsupported':
      return { kind: 'unsupported', commit, ref, format: read.format }
    case 'foreign':
      return { kind: 'foreign', commit, ref, bound: read.commit }
    case 'malformed':
      return { kind: 'malformed', commit, ref, reason: read.reason }
  }
}

/** The committer's instant of a commit in ISO 8601, or an empty text when the commit is not here. */
const commitTime = async (repository: Repository, commit: string): Promise<string> => {
  const object = await repository.objects.read(commit)
  const seconds = /^committer .*> (\d+) [+-]\d{4}$/m.exec(object?.content.toString('latin1') ?? '')?.[1]
  return seconds === undefined ? '' : new Date(Number(seconds) * 1000).toISOString()
}
