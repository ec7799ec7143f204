/**
 * Immutable records in the common directory, one file per id, and the order of attempts (facts 8.1, 8.5 rule 8). Worktrees
 * share them, so a Proof can be read back after its worktree is gone.
 */
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SEQUENCE_KEEP_COUNT } from '../limits.ts'
import { adminFolder } from '../store/admin.ts'
import { isMembers } from '../store/by-branch.ts'
import { createFile, readRegularFile, removeFile } from '../store/file.ts'
import { assertValid, violations } from '../store/schema.ts'
import type { Attempt, Candidate, Completion, Evidence, Executor, Mode, Presentation, ProofClaim } from './claim.ts'

interface Directories {
  readonly gitDir: string
  readonly commonDir: string
}

const RECORD_LIMIT_BYTES = 8 << 20
const DIGITS = 12

/** A sequence number as it begins a file name, so that names sort as numbers do. */
export const sequenceName = (sequence: number): string => String(sequence).padStart(DIGITS, '0')

/**
 * Reserves the next number of the repository-wide order. Two callers never get the same one: the number is a file that only
 * one of them can create, and a caller that lost so much time that later numbers were cleaned away tries again.
 */
export const reserveSequence = async (directories: Directories): Promise<number> => {
  const folder = adminFolder(directories, 'sequence')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const taken = async (): Promise<number[]> =>
    (await readdir(folder)).filter(name => /^\d+$/.test(name)).map(name => Number.parseInt(name, 10))
  for (;;) {
    const before = await taken()
    const next = Math.max(0, ...before) + 1
    const path = join(folder, sequenceName(next))
    try {
      await writeFile(path, '', { flag: 'wx', mode: 0o600 })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      throw error
    }
    const after = await taken()
    if (Math.max(...after) > next + SEQUENCE_KEEP_COUNT / 2) {
      await removeFile(path)
      continue
    }
    for (const old of after) {
      if (old <= next - SEQUENCE_KEEP_COUNT) await removeFile(join(folder, sequenceName(old)))
    }
    return next
  }
}

const writeRecord = async (directories: Directories, kind: string, id: string, body: object): Promise<void> => {
  const record = { version: 1, kind, id, ...body }
  assertValid('discern-records', record)
  await createFile(join(adminFolder(directories, 'records'), `${id}.json`), `${JSON.stringify(record)}\n`)
}

/** Keeps candidate, attempts, evidence and Proof of one completed run. */
export const recordCompletion = async (
  directories: Directories,
  claim: ProofClaim,
  presentation: Presentation,
): Promise<void> => {
  const { completion } = claim
  await Promise.all([
    writeRecord(directories, 'candidate', completion.candidate_id, { candidate: completion.candidate }),
    ...completion.attempts.map(attempt => {
      const executor = completion.executors.find(({ operation_id }) => operation_id === attempt.identity.executor)
      return writeRecord(directories, 'attempt', attempt.identity.id, { attempt, executor })
    }),
    ...completion.components.map(({ id, evidence }) => writeRecord(directories, 'evidence', id, { evidence })),
  ])
  // The Proof last: whoever finds it finds everything that it refers to.
  await writeRecord(directories, 'proof', completion.proof_id, { proof: { claim, ...presentation } })
}

export interface StoredProof {
  readonly claim: ProofClaim
  readonly line: string
  readonly markdown: string
}

interface RecordShapes {
  readonly candidate: { readonly candidate: Candidate }
  /** Records of an earlier version of this program lack the executor. */
  readonly attempt: { readonly attempt: Attempt; readonly executor?: Executor }
  readonly evidence: { readonly evidence: Evidence }
  readonly proof: { readonly proof: StoredProof }
}

/** One record by kind and id, or `undefined` when it is not here, of another kind, or not readable. */
export const readRecord = async <Kind extends keyof RecordShapes>(
  directories: Directories,
  kind: Kind,
  id: string,
): Promise<RecordShapes[Kind] | undefined> => {
  const record = await parseRecord(directories, id)
  if (!record || violations('discern-records', record).length > 0) return undefined
  return (record as { readonly kind: string }).kind === kind ? (record as RecordShapes[Kind]) : undefined
}

const parseRecord = async (directories: Directories, id: string): Promise<unknown> => {
  if (!/^[0-9a-f-]{36}$/.test(id)) return undefined
  try {
    const bytes = await readRegularFile(join(adminFolder(directories, 'records'), `${id}.json`), RECORD_LIMIT_BYTES)
    return bytes && JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

/** A Proof by its id, or `undefined` when it is not here or not readable. */
export const readProofRecord = async (directories: Directories, proofId: string): Promise<StoredProof | undefined> =>
  (await readRecord(directories, 'proof', proofId))?.proof

/**
 * The same without its contract, for a listing that is read often: only what shows that it is a Proof is looked at, as of the
 * marker. Checking the whole contract costs more than a git process, and counts where something lands.
 */
export const glanceAtProof = async (directories: Directories, proofId: string): Promise<StoredProof | undefined> => {
  const record = await parseRecord(directories, proofId)
  const proof = isMembers(record) && record['version'] === 1 ? record['proof'] : undefined
  const claim = isMembers(proof) && typeof proof['line'] === 'string' ? proof['claim'] : undefined
  const completion = isMembers(claim) ? claim['completion'] : undefined
  return isMembers(completion) && isMembers(completion['candidate']) ? (proof as unknown as StoredProof) : undefined
}

export interface Verdict {
  readonly sequence: number
  readonly mode: Mode
  readonly passed: boolean
  readonly attemptId: string
  /** Only of a passed one. */
  readonly proofId: string | undefined
}

const VERDICT = /^(\d+)-(strict|report)-(passed|failed)-([0-9a-f-]{36})(?:-([0-9a-f-]{36}))?$/

/** Says that an attempt on `head` ended, and how. The file's name is the whole record. */
export const recordVerdict = async (directories: Directories, head: string, verdict: Verdict): Promise<void> => {
  const { sequence, mode, passed, attemptId, proofId } = verdict
  const name = `${sequenceName(sequence)}-${mode}-${passed ? 'passed' : 'failed'}-${attemptId}`
  await createFile(join(adminFolder(directories, 'verdicts'), head, proofId ? `${name}-${proofId}` : name), '')
}

/** The newest strict verdict on a commit in this repository, in any worktree; a later red one supersedes an earlier green. */
export const newestVerdict = async (directories: Directories, head: string): Promise<Verdict | undefined> => {
  const names = await readdir(join(adminFolder(directories, 'verdicts'), head)).catch(() => [])
  const newest = names
    .filter(name => VERDICT.exec(name)?.[2] === 'strict')
    .sort()
    .at(-1)
  const match = newest === undefined ? undefined : VERDICT.exec(newest)
  if (!match) return undefined
  return {
    sequence: Number.parseInt(match[1] ?? '', 10),
    mode: 'strict',
    passed: match[3] === 'passed',
    attemptId: match[4] ?? '',
    proofId: match[5],
  }
}

/** Identity of a completion for the marker (facts 7.2). */
export const completionIds = (
  completion: Completion,
): { readonly candidate_id: string; readonly proof_id: string } => ({
  candidate_id: completion.candidate_id,
  proof_id: completion.proof_id,
})
