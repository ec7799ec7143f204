/** Commits of the notes history: who they are by, when, and how they are made. */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { parseCommit } from './objects.ts'
import type { Repository } from './repository.ts'
import { git } from './run.ts'

/** What writing notes needs from the world. */
export interface NotesWriter {
  /** Identity variables for git; empty leaves the identity to the repository's configuration. */
  readonly identity: Readonly<Record<string, string>>
  readonly now: () => Date
  /** A fresh number from 0 up to 1, for the pause after a lost race. */
  readonly chance: () => number
}

const IDENTITY = {
  GIT_AUTHOR_NAME: 'discern',
  GIT_AUTHOR_EMAIL: 'done@discern.sh',
  GIT_COMMITTER_NAME: 'discern',
  GIT_COMMITTER_EMAIL: 'done@discern.sh',
} as const

/** `discern <done@discern.sh>`, or with `DISCERN_NO_ATTRIBUTION` the repository's own identity (document 000, case 45). */
export const notesWriter = (context: Pick<Context, 'env' | 'now' | 'uuid'>): NotesWriter => ({
  identity: context.env['DISCERN_NO_ATTRIBUTION'] ? {} : IDENTITY,
  now: context.now,
  chance: () => Number.parseInt(context.uuid().slice(0, 8), 16) / 2 ** 32,
})

export interface NotesCommit {
  readonly tree: string
  readonly parents: readonly string[]
  /** Seconds since the epoch, committer's. */
  readonly time: number
}

/** A commit of a notes history, or `undefined` when `oid` names something else or nothing that is here. */
export const readNotesCommit = async (repository: Repository, oid: string): Promise<NotesCommit | undefined> => {
  const object = await repository.objects.read(oid)
  if (object?.type !== 'commit') return undefined
  const time = /^committer .*> (\d+) [+-]\d+$/m.exec(object.content.toString('latin1'))?.[1]
  return { ...parseCommit(object.content), time: Number(time ?? 0) }
}

/** The same, for a commit that must be there: one that our own refs name. Throws `notes_failed`. */
export const requireNotesCommit = async (repository: Repository, oid: string): Promise<NotesCommit> => {
  const commit = await readNotesCommit(repository, oid)
  if (commit) return commit
  throw new Refusal('notes_failed', { reason: `${oid} is no commit here`, next: 'git fsck --connectivity-only' })
}

export interface CommitRequest {
  readonly tree: string
  readonly parents: readonly string[]
  readonly message: string
  /** Seconds since the epoch. */
  readonly time: number
}

/**
 * Writes one commit, never signed (case 46); `undefined` when the identity is left to the repository and it has none
 * (case 45). One git process, one more when it fails.
 */
export const commitNotes = async (
  repository: Repository,
  writer: NotesWriter,
  { tree, parents, message, time }: CommitRequest,
): Promise<string | undefined> => {
  const date = `${time} +0000`
  const env = { ...writer.identity, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date }
  // Without the encoding the same merge could be two different commits on two machines.
  const args = ['-c', 'i18n.commitEncoding=UTF-8', 'commit-tree', '--no-gpg-sign', tree]
  for (const parent of parents) args.push('-p', parent)
  const run = await git(repository, args, { env, input: `${message}\n` })
  if (run.exitCode === 0) return run.stdout.toString('utf8').trim()
  const identity = await git(repository, ['var', 'GIT_COMMITTER_IDENT'], { env })
  if (identity.exitCode !== 0) return undefined
  throw new Refusal('git_failed', { command: args.join(' '), exitCode: run.exitCode, stderr: run.stderr })
}

/** The commits that both histories have and that no other such commit descends from. One git process. */
export const mergeBases = async (repository: Repository, ours: string, theirs: string): Promise<readonly string[]> => {
  const run = await git(repository, ['merge-base', '--all', ours, theirs])
  return run.stdout.toString('utf8').split('\n').filter(Boolean)
}
