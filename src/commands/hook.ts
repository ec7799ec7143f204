/**
 * `git discern hook <event>`: what the installed hooks start when there is something of ours to do. Never fails and prints
 * nothing on success, since git and whoever reads it did not ask for us; trouble is one line on standard error.
 */
import type { Context } from '../context.ts'
import { Refusal, reasonOf } from '../errors.ts'
import { type ConfigEntry, readConfig } from '../git/config.ts'
import { touchHookStamp } from '../git/hooks.ts'
import { convergeNotes, notesWriter } from '../git/notes.ts'
import { openRepository, type Repository } from '../git/repository.ts'
import { readLiveConfiguration } from '../policy/read.ts'
import { sameClaim } from '../proof/envelope.ts'
import { reconcileMapping, trackingRefs } from '../proof/remote.ts'
import type { Result } from '../result.ts'
import { adminFolder } from '../store/admin.ts'
import { removeFile, replaceFile } from '../store/file.ts'
import type { Call } from './call.ts'

type Opened = Repository & { readonly topLevel: string | undefined }

/**
 * Adopts fetched notes; after a merge or a rewrite also reconciles the fetch mapping and evaluates the checkpoints. Any event
 * is served, in a bare repository and during a push too (cases 16, 23). The same event twice changes nothing (case 8).
 */
export const run = async (context: Context, call: Call): Promise<Result> => {
  const troubles: string[] = []
  try {
    const repository = await openRepository(context)
    const merged = call.operands[0] !== 'reference-transaction'
    // Said before the configuration is read: what changes meanwhile is newer than this and looked at next time.
    if (merged) await touchHookStamp(repository)
    const entries = await readConfig(repository)
    troubles.push(...(await adopt(context, repository, entries, merged)))
    if (merged) {
      troubles.push(...(await reconcile(repository, entries)))
      troubles.push(...(await evaluate(context, call, repository)))
    }
  } catch (error) {
    troubles.push(reasonOf(error))
  }
  if (troubles.length > 0) context.progress({ kind: 'note', text: `git discern: ${troubles.join('; ')}` })
  return { ok: true, verb: 'hook' }
}

/** What could not be adopted waits: the marker makes the next merge or rewrite try again. */
const adopt = async (
  context: Context,
  repository: Opened,
  entries: readonly ConfigEntry[],
  merged: boolean,
): Promise<readonly string[]> => {
  const pending = adminFolder(repository, 'notes-pending')
  const tracking = trackingRefs(entries)
  try {
    const { failure, conflicts } = await convergeNotes(repository, {
      tracking,
      sameClaim,
      writer: notesWriter(context),
    })
    if (failure) throw new Error(`${failure.cause}: ${failure.reason}`)
    await removeFile(pending)
    // Said when a fetch brings it, not again at every merge until somebody decides.
    const [first] = merged ? [] : conflicts
    return first ? [`two different Proofs claim ${first.subject}; see: git discern notes merge`] : []
  } catch (error) {
    await replaceFile(pending, '').catch(() => {})
    return [`fetched notes wait to be adopted: ${reasonOf(error)}`]
  }
}

/** A remote that was added since gets the mapping. A configuration that cannot be read is told by the verbs that need it. */
const reconcile = async (repository: Opened, entries: readonly ConfigEntry[]): Promise<readonly string[]> => {
  const { topLevel } = repository
  if (topLevel === undefined) return []
  const configuration = await readLiveConfiguration({ ...repository, topLevel }).catch(error => {
    if (error instanceof Refusal) return undefined
    throw error
  })
  if (!configuration) return []
  const mode = configuration.repository.proofNotesMode
  const { added, removed, errors } = await reconcileMapping(repository, entries, mode, { removeWhenLocal: false })
  if (added.length + removed.length > 0) await touchHookStamp(repository)
  return errors.map(({ remote, reason }) => `the fetch mapping of ${remote} could not be reconciled: ${reason}`)
}

/**
 * Asks the checkpoints what this change owes, and remembers for the hooks whether any govern. What `evaluate` says in its
 * message is worth a line; everything else of it is for those who ask.
 */
const evaluate = async (context: Context, call: Call, repository: Opened): Promise<readonly string[]> => {
  if (repository.topLevel === undefined) return []
  const { run: ask } = await import('./evaluate.ts')
  const { data, message } = await ask(context, { flags: {}, operands: [], stdin: call.stdin })
  const governing = (data as { readonly checkpoints?: readonly unknown[] } | undefined)?.checkpoints ?? []
  const marker = adminFolder(repository, 'hook-governed')
  if (governing.length === 0) await removeFile(marker)
  else await replaceFile(marker, '')
  return governing.length > 0 && message !== undefined ? [message] : []
}
