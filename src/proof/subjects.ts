/**
 * Evidence that may count again: what the newest attempt on a subject said, in this repository, on whatever commit and in
 * whatever worktree (facts 8.5). The name of a file is the whole entry; the records it names are immutable.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { adminFolder } from '../store/admin.ts'
import { createFile } from '../store/file.ts'
import { subjectOf } from './applicability.ts'
import type { Attempt, Component, Executor } from './claim.ts'
import { readRecord, sequenceName } from './records.ts'

interface Directories {
  readonly gitDir: string
  readonly commonDir: string
}

/** One attempt on a subject; only a passed one has evidence. */
export interface Entry {
  readonly sequence: number
  readonly outcome: 'passed' | 'failed'
  readonly attemptId: string
  readonly evidenceId: string | undefined
}

/** Passed evidence of another run, with everything a completion must list beside it (facts 8.5, rules 2 and 4). */
export interface StandingEvidence {
  readonly component: Component
  readonly attempt: Attempt
  readonly executor: Executor
  /** Full id of the commit it was made on. */
  readonly head: string
}

const ENTRY = /^(\d{12})-(passed|failed)-([0-9a-f-]{36})(?:-([0-9a-f-]{36}))?$/
const SUBJECT = /^[0-9a-f]{64}$/

const subjectFolder = (directories: Directories, subject: string): string =>
  join(adminFolder(directories, 'subjects'), subject)

/** Says what an attempt found on a subject. A failed or cancelled one stands before every older pass. */
export const recordSubject = async (directories: Directories, subject: string, entry: Entry): Promise<void> => {
  const { sequence, outcome, attemptId, evidenceId } = entry
  const name = `${sequenceName(sequence)}-${outcome}-${attemptId}`
  await createFile(join(subjectFolder(directories, subject), evidenceId ? `${name}-${evidenceId}` : name), '')
}

/**
 * The evidence that stands for a subject: that of its newest attempt, when that passed and everything about it can be read
 * and fits together; else `undefined`, and the producer has to run.
 */
export const standingEvidence = async (
  directories: Directories,
  subject: string,
): Promise<StandingEvidence | undefined> => {
  if (!SUBJECT.test(subject)) return undefined
  const names = await readdir(subjectFolder(directories, subject)).catch(() => [])
  const newest = names
    .filter(name => ENTRY.test(name))
    .sort()
    .at(-1)
  const [, , outcome, attemptId, evidenceId] = ENTRY.exec(newest ?? '') ?? []
  if (outcome !== 'passed' || attemptId === undefined || evidenceId === undefined) return undefined
  const [evidence, attempt] = await Promise.all([
    readRecord(directories, 'evidence', evidenceId),
    readRecord(directories, 'attempt', attemptId),
  ])
  if (!evidence || !attempt?.executor || evidence.evidence.attempt_id !== attemptId) return undefined
  const candidate = await readRecord(directories, 'candidate', evidence.evidence.candidate_id)
  const { mode, purpose, outcome: ended } = evidence.evidence
  const isWhole =
    candidate !== undefined &&
    ended.kind === 'passed' &&
    mode === 'strict' &&
    purpose === 'completion' &&
    attempt.attempt.state.kind === 'finished' &&
    subjectOf(evidence.evidence.applicability) === subject
  if (!isWhole) return undefined
  return {
    component: { id: evidenceId, evidence: evidence.evidence },
    attempt: attempt.attempt,
    executor: attempt.executor,
    head: candidate.candidate.head,
  }
}
