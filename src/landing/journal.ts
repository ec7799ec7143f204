/**
 * The journal of one landing, written before authority is spent and before any ref moves, and the notes that are still owed
 * after one (facts 10.4, 10.5). The journal lives in the effort's worktree; an owed note is everybody's and lives in the
 * common directory, so that later landings, here or elsewhere, can deliver it.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal, reasonOf } from '../errors.ts'
import type { Acceptance, Presentation, ProofClaim } from '../proof/claim.ts'
import { adminFolder, adminPath, createAdmin, readAdmin, removeAdmin } from '../store/admin.ts'
import { createFile, readRegularFile, removeFile } from '../store/file.ts'

interface Directories {
  readonly gitDir: string
  readonly commonDir: string
}

export interface Journal {
  /** Lowercase UUID of the landing; names its marker ref. */
  readonly id: string
  /** Full ref names. */
  readonly worktree_branch: string
  readonly trunk: string
  readonly expected_trunk: string
  readonly target: string
  /** Top level of the checkout that has the trunk, or `null` when none has. */
  readonly main_repo: string | null
  /** Id of the effort grant that this landing claimed; exactly when its consent is `effort-grant`. */
  readonly effort_claim: string | null
  readonly acceptance: Acceptance
  readonly claim: ProofClaim
  readonly presentation: Presentation
}

const JOURNAL_LIMIT_BYTES = 16 << 20

const isJournal = (value: Readonly<Record<string, unknown>>): boolean =>
  ['id', 'worktree_branch', 'trunk', 'expected_trunk', 'target'].every(key => typeof value[key] === 'string') &&
  ['acceptance', 'claim', 'presentation'].every(key => typeof value[key] === 'object' && value[key] !== null)

/** The journal of a landing that was interrupted here, if there is one. Refuses when it cannot be read or is newer. */
export const readJournal = async (directories: Directories): Promise<Journal | undefined> => {
  const read = await readAdmin(directories, 'acceptance-transaction')
  const path = adminPath(directories, 'acceptance-transaction')
  switch (read.status) {
    case 'missing':
      return undefined
    case 'newer':
      throw new Refusal('store_newer', { path, version: read.version })
    case 'unavailable':
      throw new Refusal('store_unreadable', { path, reason: read.reason })
    case 'invalid':
      throw new Refusal('store_unreadable', { path, reason: read.reason })
    case 'ok':
      if (!isJournal(read.value)) throw new Refusal('store_unreadable', { path, reason: 'fields are missing' })
      return read.value as unknown as Journal
  }
}

/** Publishes the journal; it never replaces one. */
export const writeJournal = async (directories: Directories, journal: Journal): Promise<void> => {
  const path = adminPath(directories, 'acceptance-transaction')
  try {
    if (await createAdmin(directories, 'acceptance-transaction', journal)) return
  } catch (error) {
    throw new Refusal('write_access', { path, reason: reasonOf(error) })
  }
  throw new Refusal('store_unreadable', { path, reason: 'another landing left its journal there meanwhile' })
}

export const retireJournal = (directories: Directories): Promise<void> =>
  removeAdmin(directories, 'acceptance-transaction')

const pendingPath = (directories: Directories, id: string): string =>
  join(adminFolder(directories, 'pending'), `${id}.json`)

/** Keeps what is needed to write the note of a landing later. Idempotent. */
export const keepPendingNote = async (directories: Directories, journal: Journal): Promise<void> => {
  await createFile(pendingPath(directories, journal.id), `${JSON.stringify({ version: 1, ...journal })}\n`)
}

/** Landings whose note is still owed, oldest first by landing instant; unreadable files are left where they are. */
export const pendingNotes = async (directories: Directories): Promise<readonly Journal[]> => {
  const pending: Journal[] = []
  for (const name of await readdir(adminFolder(directories, 'pending')).catch(() => [])) {
    if (!name.endsWith('.json') || name.startsWith('.')) continue
    try {
      const bytes = await readRegularFile(join(adminFolder(directories, 'pending'), name), JOURNAL_LIMIT_BYTES)
      const value = bytes && (JSON.parse(bytes.toString('utf8')) as Readonly<Record<string, unknown>>)
      if (value && value['version'] === 1 && isJournal(value)) pending.push(value as unknown as Journal)
    } catch {
      // A record of a newer version or a torn disk: kept, and not ours to interpret.
    }
  }
  const landedAt = ({ acceptance }: Journal): number => acceptance.authority.authority.approved_at
  return pending.sort((left, right) => landedAt(left) - landedAt(right))
}

export const settlePendingNote = (directories: Directories, id: string): Promise<void> =>
  removeFile(pendingPath(directories, id))
