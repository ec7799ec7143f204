/** `git discern notes`: the notes themselves, for scripts and for the moment when two Proofs contradict each other. */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { type ConfigEntry, readConfig } from '../git/config.ts'
import {
  type Convergence,
  convergeNotes,
  listNotes,
  NOTES_REF,
  type NotesConflict,
  type NotesFailure,
  notesWriter,
  resolveConflict,
} from '../git/notes.ts'
import { readRefs, resolveCommit } from '../git/refs.ts'
import { isOid, openRepository, type Repository } from '../git/repository.ts'
import { sameClaim } from '../proof/envelope.ts'
import { publicationOf, trackingRefs } from '../proof/remote.ts'
import type { Result } from '../result.ts'
import type { Call } from './command.ts'

const VERB = 'notes'

const usage = (problem: string): Refusal =>
  new Refusal('invalid_arguments', { problem: `${VERB}: ${problem}`, usage: `git discern ${VERB} -h` })

/** What to type when the notes ref could not be moved; one row for each cause. */
const NEXT: Readonly<Record<NotesFailure['cause'], string>> = {
  'identity-missing': 'git config user.name "<name>" && git config user.email "<address>"; then run it again',
  contention: 'wait for the other writers to end; then run it again',
  refused: `look for a lock or a hook that keeps ${NOTES_REF} from moving: git update-ref ${NOTES_REF} ${NOTES_REF}`,
}

const failed = ({ cause, reason }: NotesFailure): Refusal =>
  new Refusal('notes_failed', { reason: `${cause}: ${reason}`, next: NEXT[cause] })

const conflictData = ({ subject, local, remote, ref }: NotesConflict) => ({ commit: subject, local, remote, ref })

const mergeData = ({ tip, moved, adopted, restored, merged, replaced, conflicts, unreadable }: Convergence) => ({
  action: 'merge',
  ref: NOTES_REF,
  tip: tip ?? null,
  moved,
  adopted,
  restored,
  merged_refs: merged,
  replaced: replaced.map(({ subject, from, to }) => ({ commit: subject, from, to })),
  conflicts: conflicts.map(conflictData),
  unreadable_refs: unreadable,
})

const list = async (repository: Repository): Promise<Result> => {
  const tip = (await readRefs(repository, [NOTES_REF])).get(NOTES_REF)?.oid
  const found = tip === undefined ? undefined : await listNotes(repository, tip)
  return {
    ok: true,
    verb: VERB,
    data: {
      action: 'list',
      ref: NOTES_REF,
      tip: tip ?? null,
      notes: [...(found?.notes ?? [])].map(([commit, blob]) => ({ commit, blob })),
      ambiguous: [...(found?.ambiguous ?? [])].map(([commit, blobs]) => ({ commit, blobs })),
      other_paths: found?.others ?? 0,
    },
  }
}

const converge = async (
  context: Context,
  repository: Repository,
  entries: readonly ConfigEntry[],
): Promise<Convergence> => {
  const request = { tracking: trackingRefs(entries), sameClaim, writer: notesWriter(context) }
  const convergence = await convergeNotes(repository, request)
  if (convergence.failure) throw failed(convergence.failure)
  return convergence
}

const merge = async (context: Context, repository: Repository): Promise<Result> => {
  const entries = await readConfig(repository)
  const convergence = await converge(context, repository, entries)
  const data = mergeData(convergence)
  const commits = [...new Set(convergence.conflicts.map(({ subject }) => subject))]
  if (commits.length > 0) throw new Refusal('notes_conflict', { commits }, { data })
  const remotes = convergence.ahead.map(ref => ref.slice('refs/discern/remotes/'.length, -'/notes'.length))
  return { ok: true, verb: VERB, data, hints: remotes.map(remote => `git push ${remote} ${NOTES_REF}`) }
}

const resolve = async (
  context: Context,
  repository: Repository,
  operand: string,
  keep: 'local' | 'remote',
): Promise<Result> => {
  // A note may be about a commit that is not in this clone; its full id is enough.
  const subject = isOid(repository, operand) ? operand : await resolveCommit(repository, operand)
  if (subject === undefined) throw usage(`${operand} is no commit here`)
  const entries = await readConfig(repository)
  const convergence = await converge(context, repository, entries)
  const conflicts = convergence.conflicts.filter(conflict => conflict.subject === subject)
  if (conflicts.length === 0) {
    throw new Refusal('precondition_failed', {
      problem: `no two Proofs contradict each other about ${subject}`,
      next: 'git discern notes merge',
    })
  }
  const claims = new Set(conflicts.flatMap(({ remote }) => remote))
  if (keep === 'remote' && claims.size > 1) {
    throw new Refusal('precondition_failed', {
      problem: `the other side has ${claims.size} different Proofs for ${subject}: ${[...claims].join(', ')}`,
      next: `look at each: git cat-file blob <id>; to stay with ours: git discern notes resolve ${subject} --keep local`,
    })
  }
  let tip = convergence.tip ?? null
  const open: NotesConflict[] = []
  for (const { ref } of conflicts) {
    const writer = notesWriter(context)
    const result = await resolveConflict(repository, { subject, keep, ref, sameClaim, writer })
    if (result.status === 'failed') throw failed(result)
    if (result.status === 'ambiguous') {
      throw new Refusal('precondition_failed', {
        problem: `the history to keep holds ${subject} more than once`,
        next: `git discern notes resolve ${subject} --keep ${keep === 'local' ? 'remote' : 'local'}`,
      })
    }
    if (result.status === 'no-conflict') continue
    tip = result.tip
    open.push(...result.remaining)
  }
  const refs = await readRefs(repository, [NOTES_REF, ...trackingRefs(entries)])
  const states = await publicationOf(repository, entries, refs, refs.get(NOTES_REF)?.oid, open)
  return {
    ok: true,
    verb: VERB,
    data: { action: 'resolve', ref: NOTES_REF, commit: subject, keep, tip, remaining: open.map(conflictData) },
    hints: [
      ...open.map(conflict => `git discern notes resolve ${conflict.subject} --keep local|remote`),
      ...states.filter(({ state }) => state === 'behind').map(({ command }) => command),
    ],
  }
}

/** Lists, merges or decides. Refuses with `notes_conflict` while something is undecided, and says what was adopted all the same. */
export const run = async (context: Context, { operands, flags }: Call): Promise<Result> => {
  const [action, commit] = operands
  const keep = flags['keep']
  if (action !== 'resolve' && commit !== undefined) throw usage(`${action} takes no commit`)
  if (action !== 'resolve' && keep !== undefined) throw usage('--keep belongs to resolve')
  switch (action) {
    case 'list':
      return list(await openRepository(context))
    case 'merge':
      return merge(context, await openRepository(context))
    case 'resolve':
      if (commit === undefined) throw usage('resolve needs a commit')
      if (keep !== 'local' && keep !== 'remote') throw usage('resolve needs --keep local or --keep remote')
      return resolve(context, await openRepository(context), commit, keep)
    default:
      throw usage(`expected list, merge or resolve, found ${action}`)
  }
}
