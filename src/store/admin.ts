/**
 * The registry of every file that the program keeps in the Git administrative area (facts 0.4). A new one is a new row.
 * Readers say what they found; writers replace a whole file or nothing, and never one that a newer version wrote.
 */
import { join } from 'node:path'
import { Refusal, reasonOf } from '../errors.ts'
import { createFile, readRegularFile, removeFile, replaceFile } from './file.ts'

interface AdminRow {
  readonly path: string
  /** `worktree` files vanish with their worktree; `common` ones are shared by all. */
  readonly scope: 'worktree' | 'common'
  /** The version we write; it stands in the field named by `field`. */
  readonly version: number
  readonly field: 'version' | 'schema'
  /** What a newer version in the file means: `refuse` stops the operation, `observe` goes on without it. Neither replaces it. */
  readonly newer: 'refuse' | 'observe'
  readonly limitBytes: number
}

export const adminFiles = {
  'gate-proof': {
    path: 'discern/gate-proof',
    scope: 'worktree',
    version: 1,
    field: 'version',
    newer: 'refuse',
    limitBytes: 8 << 20,
  },
  'last-gate-run': {
    path: 'discern/last-gate-run',
    scope: 'worktree',
    version: 1,
    field: 'version',
    newer: 'observe',
    limitBytes: 1 << 20,
  },
  'checkpoint-open-questions': {
    path: 'discern/checkpoint-open-questions',
    scope: 'worktree',
    version: 1,
    field: 'version',
    newer: 'refuse',
    limitBytes: 64 << 20,
  },
  efforts: {
    path: 'discern/efforts',
    scope: 'worktree',
    version: 1,
    field: 'version',
    newer: 'refuse',
    limitBytes: 1 << 20,
  },
  submission: {
    path: 'discern/submission',
    scope: 'worktree',
    version: 1,
    field: 'version',
    newer: 'refuse',
    limitBytes: 1 << 20,
  },
  'effort-grant': {
    path: 'discern/effort-grant',
    scope: 'worktree',
    version: 1,
    field: 'version',
    newer: 'refuse',
    limitBytes: 1 << 20,
  },
  'standard-measurements': {
    path: 'discern/standard-measurements',
    scope: 'worktree',
    version: 1,
    field: 'version',
    newer: 'observe',
    limitBytes: 4 << 20,
  },
  'standard-limit-proposals': {
    path: 'discern/standard-limit-proposals.json',
    scope: 'worktree',
    version: 2,
    field: 'version',
    newer: 'refuse',
    limitBytes: 16 << 20,
  },
  'standard-limit-proposal-transaction': {
    path: 'discern/standard-limit-proposal-transaction.json',
    scope: 'worktree',
    version: 1,
    field: 'version',
    newer: 'refuse',
    limitBytes: 16 << 20,
  },
  'acceptance-transaction': {
    path: 'discern/acceptance-transaction.json',
    scope: 'worktree',
    version: 1,
    field: 'version',
    newer: 'refuse',
    limitBytes: 16 << 20,
  },
  epoch: {
    path: 'discern/logbook/epoch.json',
    scope: 'common',
    version: 1,
    field: 'schema',
    newer: 'observe',
    limitBytes: 4 << 20,
  },
  'hooks-state': {
    path: 'discern/hooks-state.json',
    scope: 'common',
    version: 1,
    field: 'version',
    newer: 'refuse',
    limitBytes: 1 << 20,
  },
} as const satisfies Record<string, AdminRow>

export type AdminName = keyof typeof adminFiles

/** Folders of the same area that hold many files, or files without a version of their own. */
export const adminFolders = {
  records: { path: 'discern/completion/records', scope: 'common' },
  verdicts: { path: 'discern/completion/verdicts', scope: 'common' },
  /** One folder for each subject of attempts: which evidence stands for it. */
  subjects: { path: 'discern/completion/subjects', scope: 'common' },
  sequence: { path: 'discern/completion/sequence', scope: 'common' },
  pending: { path: 'discern/completion/pending', scope: 'common' },
  artifacts: { path: 'discern/completion/artifacts', scope: 'common' },
  /** One grant for each landing that took it and has not settled it. */
  'effort-grant-claims': { path: 'discern/effort-grant-claims', scope: 'worktree' },
  output: { path: 'discern/output', scope: 'worktree' },
  lock: { path: 'discern/lock', scope: 'worktree' },
  /** One private folder for the input of each `when` command that runs. */
  'when-input': { path: 'discern/when-input', scope: 'worktree' },
  /** The hooks that the configuration points at, on gits that know them. */
  hooks: { path: 'discern/hooks', scope: 'common' },
  /** Written or tested by the hooks' shell part: its time says up to when the configuration was looked at. */
  'hook-stamp': { path: 'discern/hook-stamp', scope: 'worktree' },
  /** Newer than a `discern.toml` that has no checkpoints. */
  'hook-ungoverned': { path: 'discern/ungoverned', scope: 'worktree' },
  /** There while checkpoints of the trunk govern. */
  'hook-governed': { path: 'discern/governed', scope: 'common' },
  /** Fetched notes could not be adopted and wait for the next hook or verb. */
  'notes-pending': { path: 'discern/notes-pending', scope: 'common' },
  /** One line for each hook that found no Node or no git discern. */
  'missed-hooks': { path: 'discern/missed-hooks', scope: 'common' },
  /** Month files of events, one JSON object per line, and the lock of who seals or resets them (facts 12.1). */
  logbook: { path: 'discern/logbook', scope: 'common' },
  'logbook-archives': { path: 'discern/logbook-archives', scope: 'common' },
  'logbook-recovery': { path: 'discern/logbook-recovery', scope: 'common' },
  /** 32 random bytes that make every digest of a Logbook useless elsewhere. */
  'validation-hmac-key': { path: 'discern/validation-hmac-key', scope: 'common' },
  'test-slots': { path: 'discern/test-slots', scope: 'common' },
} as const

export type AdminFolder = keyof typeof adminFolders

interface Directories {
  readonly gitDir: string
  readonly commonDir: string
}

export const adminPath = (directories: Directories, name: AdminName): string =>
  join(adminFiles[name].scope === 'worktree' ? directories.gitDir : directories.commonDir, adminFiles[name].path)

export const adminFolder = (directories: Directories, name: AdminFolder): string =>
  join(adminFolders[name].scope === 'worktree' ? directories.gitDir : directories.commonDir, adminFolders[name].path)

/** `invalid` covers text that is not JSON, not an object, and an object without our version field. */
export type AdminRead =
  | { readonly status: 'missing' }
  | { readonly status: 'ok'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly status: 'invalid'; readonly reason: string }
  | { readonly status: 'newer'; readonly version: number }
  | { readonly status: 'unavailable'; readonly reason: string }

/** Reads one file of the registry. Never throws. */
export const readAdmin = async (directories: Directories, name: AdminName): Promise<AdminRead> => {
  const row: AdminRow = adminFiles[name]
  let bytes: Buffer | undefined
  try {
    bytes = await readRegularFile(adminPath(directories, name), row.limitBytes)
  } catch (error) {
    return { status: 'unavailable', reason: reasonOf(error) }
  }
  if (bytes === undefined) return { status: 'missing' }
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    return { status: 'invalid', reason: reasonOf(error) }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { status: 'invalid', reason: 'not a JSON object' }
  const version = (value as Record<string, unknown>)[row.field]
  if (typeof version !== 'number') return { status: 'invalid', reason: `no ${row.field}` }
  if (version > row.version) return { status: 'newer', version }
  if (version < row.version) return { status: 'invalid', reason: `${row.field} ${version}` }
  return { status: 'ok', value: value as Record<string, unknown> }
}

const guardNewer = async (directories: Directories, name: AdminName): Promise<void> => {
  const standing = await readAdmin(directories, name)
  if (standing.status === 'newer') {
    throw new Refusal('store_newer', { path: adminPath(directories, name), version: standing.version })
  }
}

const serialize = (name: AdminName, value: object): string =>
  `${JSON.stringify({ [adminFiles[name].field]: adminFiles[name].version, ...value })}\n`

/** Replaces one file of the registry; the version field is added. Refuses over a newer one (`store_newer`). */
export const writeAdmin = async (directories: Directories, name: AdminName, value: object): Promise<void> => {
  await guardNewer(directories, name)
  await replaceFile(adminPath(directories, name), serialize(name, value))
}

/** Publishes one file of the registry only if none stands there; `false` when one does. */
export const createAdmin = async (directories: Directories, name: AdminName, value: object): Promise<boolean> =>
  createFile(adminPath(directories, name), serialize(name, value))

/** Removes one file of the registry, unless a newer version wrote it. */
export const removeAdmin = async (directories: Directories, name: AdminName): Promise<void> => {
  await guardNewer(directories, name)
  await removeFile(adminPath(directories, name))
}
