/** `git discern refresh`: what setup did, once more, and the notes; `discern.toml` is not touched (facts 7.6, 11.4). */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { type ConfigEntry, readConfig } from '../git/config.ts'
import { forgetMissedHooks, missedHooks } from '../git/hooks.ts'
import { type Convergence, convergeNotes, NOTES_REF, notesWriter } from '../git/notes.ts'
import { readRefs } from '../git/refs.ts'
import { openWorktree, type Worktree } from '../git/repository.ts'
import { worktreeState } from '../git/worktrees.ts'
import type { Configuration } from '../policy/definition.ts'
import { CONFIG_FILE, readCommittedConfiguration, readLiveConfiguration } from '../policy/read.ts'
import { resolveTrunk } from '../policy/trunk.ts'
import { sameClaim } from '../proof/envelope.ts'
import { trackingRefs } from '../proof/remote.ts'
import type { Result, Step } from '../result.ts'
import { adminFolder } from '../store/admin.ts'
import { removeFile } from '../store/file.ts'
import { convergenceAdvisories } from './adopt.ts'
import { configurationAdvisories } from './advise.ts'
import type { Call } from './call.ts'
import { converge, hooksData, tell, told } from './converge.ts'
import { readNotesState } from './notes-state.ts'

const VERB = 'refresh'
const KIND = 'refresh'

/** Refuses with `not_set_up`, `invalid_config`, and, after everything else was done, `hooks_not_installed`. */
export const run = async (context: Context, call: Call): Promise<Result> => {
  const worktree = await openWorktree(context)
  const dryRun = call.flags['dry-run'] === true
  const entries = await readConfig(worktree)
  const configuration = await governingHere(context, worktree, entries)
  const { hooks, fetch, changed, steps, advisories } = await converge(context, worktree, entries, {
    kind: KIND,
    mode: configuration.repository.proofNotesMode,
    hooksDir: undefined,
    dryRun,
  })
  const missed = await missedHooks(worktree)
  const notes = dryRun ? undefined : await adopt(context, worktree, entries)
  if (!dryRun) await forget(worktree, notes)
  const line = notes ? notesLine(notes) : await plannedNotes(worktree, entries)
  const all = [...steps, line, ...missedLines(missed, dryRun)]
  const partial = {
    ...(dryRun ? { dry_run: true as const, plan: all } : { steps: all }),
    data: {
      hooks: hooksData(hooks),
      proof_notes: fetch,
      proof_notes_fetch_changed: changed,
      ...(notes
        ? {
            notes: {
              adopted: notes.adopted,
              restored: notes.restored,
              conflicts: notes.conflicts,
              merged_refs: notes.merged,
            },
          }
        : {}),
      missed_hooks: missed,
    },
    advisories: [
      ...configurationAdvisories(configuration),
      ...advisories,
      ...(notes ? convergenceAdvisories(notes) : []),
    ],
  }
  if (hooks.obstacle) throw new Refusal('hooks_not_installed', hooks.obstacle, partial)
  return { ok: true, verb: VERB, ...partial }
}

/** The live configuration, or on a branch that lags behind it the trunk's. */
const governingHere = async (
  context: Context,
  worktree: Worktree,
  entries: readonly ConfigEntry[],
): Promise<Configuration> => {
  const live = await readLiveConfiguration(worktree)
  if (live) return live
  const [refs, state] = await Promise.all([
    readRefs(worktree, ['refs/heads/', 'refs/remotes/']),
    worktreeState(worktree),
  ])
  const trunk = resolveTrunk({ configured: undefined, env: context.env, refs, entries, current: state.branch })
  const tip = refs.get(trunk.target) ?? refs.get(trunk.tracking ?? '')
  const read = tip === undefined ? undefined : await readCommittedConfiguration(worktree, tip.oid)
  if (read?.status === 'invalid') throw read.refusal
  if (read?.status !== 'ok') throw new Refusal('not_set_up', { file: CONFIG_FILE })
  return read.configuration
}

const adopt = (context: Context, worktree: Worktree, entries: readonly ConfigEntry[]): Promise<Convergence> =>
  convergeNotes(worktree, { tracking: trackingRefs(entries), sameClaim, writer: notesWriter(context) })

/** What the hooks left to be made up for is made up for now. */
const forget = async (worktree: Worktree, notes: Convergence | undefined): Promise<void> => {
  await forgetMissedHooks(worktree)
  if (!notes?.failure) await removeFile(adminFolder(worktree, 'notes-pending'))
}

const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

const say = (what: Parameters<typeof tell>[2], dryRun: boolean): Step => tell(KIND, 'Proof notes', what, dryRun)

const notesLine = (notes: Convergence): Step => {
  if (notes.failure) return say(told.broken(`not adopted: ${notes.failure.cause}: ${notes.failure.reason}`), false)
  if (!notes.moved) return say(told.right(`unchanged: ${NOTES_REF}`), false)
  const parts = [
    ...(notes.adopted > 0 ? [`${counted(notes.adopted, 'note')} adopted`] : []),
    ...(notes.restored > 0 ? [`${counted(notes.restored, 'note')} brought back`] : []),
  ]
  return say(told.did(parts.length > 0 ? parts.join(', ') : `${NOTES_REF} moved forward`), false)
}

/** What `adopt` would find to do; how many notes that is takes a merge to know. */
const plannedNotes = async (worktree: Worktree, entries: readonly ConfigEntry[]): Promise<Step> => {
  const refs = await readRefs(worktree, [NOTES_REF, 'refs/discern/'])
  const { lost, unmerged } = await readNotesState(worktree, entries, refs)
  const parts = [
    ...(lost ? [`bring back what ${NOTES_REF} lost`] : []),
    ...(unmerged.length > 0 ? [`adopt the notes of ${unmerged.join(', ')}`] : []),
  ]
  return say(parts.length > 0 ? told.did(parts.join(', ')) : told.right(`unchanged: ${NOTES_REF}`), true)
}

const missedLines = (missed: readonly string[], dryRun: boolean): readonly Step[] =>
  missed.length === 0
    ? []
    : [tell(KIND, 'missed hooks', told.did(`${counted(missed.length, 'run')} made up for and forgotten`), dryRun)]
