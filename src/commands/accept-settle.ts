/** After the trunk moved, and after an interruption: the note, the journal, the grant (facts 10.5). Nothing here can undo a landing. */
import type { Context } from '../context.ts'
import { Refusal, refusalOf } from '../errors.ts'
import { quoted } from '../escape.ts'
import { shortBranch } from '../git/refs.ts'
import { consumeClaim, recoverClaims, restoreClaim } from '../landing/grant.ts'
import {
  type Journal,
  keepPendingNote,
  pendingNotes,
  readJournal,
  retireJournal,
  settlePendingNote,
} from '../landing/journal.ts'
import { type Retirement, retire } from '../landing/retire.ts'
import { clearSubmission, readSubmission } from '../landing/submission.ts'
import { recoverCheckout, retireMarkers, transitionHappened } from '../landing/transition.ts'
import { withRecording } from '../logbook/recording.ts'
import { type NoteWrite, recordProofNote } from '../proof/note.ts'
import { type MappingResult, reconcileMapping, trackingRefs } from '../proof/remote.ts'
import type { Advisory, Result } from '../result.ts'
import { publicationCommands } from './advise.ts'
import { landingRecord } from './recordings.ts'
import type { Situation } from './situation.ts'

const VERB = 'accept'

export interface Recovery {
  readonly recovered: boolean
  readonly checkoutProblem: string | undefined
  /** The branch and its worktree were asked to be removed. */
  readonly retire: boolean
}

/** After the trunk moved: mapping, note, then the journal. Nothing here can undo the landing (facts 10.5). */
export const settle = async (
  context: Context,
  situation: Situation,
  journal: Journal,
  recovery: Recovery,
): Promise<Result> => {
  const { worktree, trunk } = situation
  const fetch = await reconcileFetch(situation)
  const kept = await failingOpen(worktree, () => keepPendingNote(worktree, journal))
  const write = await deliver(context, situation, journal)
  const spent = await failingOpen(worktree, () => consumeClaim(context, worktree, journal.id))
  const cleared = await failingOpen(worktree, () => clearLanded(context, worktree, journal))
  // Journal and marker say that the landing happened: they stay while its grant could not be ended or its note is owed by them alone.
  const isOwed = kept.length > 0 && !isWritten(write)
  if (recovery.checkoutProblem === undefined && spent.length === 0 && !isOwed) {
    await retireJournal(worktree)
    await retireMarkers(worktree)
  }
  const published = publicationCommands(situation.entries, trunk.name)
  // Last, since nothing can run or be written in a worktree that is gone.
  const mayGo = recovery.retire && recovery.checkoutProblem === undefined && isWritten(write)
  const retirement = mayGo ? await retire(worktree, retireRequest(worktree, journal)) : undefined
  const result = withRecording(
    {
      verb: VERB,
      data: {
        landing: {
          recovery_performed: recovery.recovered,
          trunk_landed: true,
          ...removedBy(retirement),
        },
        branch: shortBranch(journal.worktree_branch),
        trunk: trunk.name,
        commit: journal.target,
        previous: journal.expected_trunk,
        consent: journal.acceptance.consent,
        variances: journal.acceptance.variances,
        proof: { line: journal.presentation.line, proof_id: journal.claim.completion.proof_id },
        proof_note: { write, fetch },
        ...(published ? { publication: published } : {}),
      },
      advisories: [
        ...noteAdvisories(write, worktree.topLevel),
        ...kept,
        ...spent,
        ...cleared,
        ...retainedAdvisories(retirement),
      ],
    },
    { landing: [landingRecord(journal, write.status)] },
  )
  if (recovery.checkoutProblem !== undefined) {
    const refusal = new Refusal('partial_acceptance', {
      problem: `the checkout of ${trunk.name} could not be brought along: ${recovery.checkoutProblem}`,
      next: `look at it: git -C ${journal.main_repo ?? worktree.topLevel} status; then run: git discern accept`,
    })
    return { ok: false, ...result, error: refusal.slug, message: refusal.message, hints: [...refusal.next] }
  }
  return { ok: true, ...result, hints: published ? [published.command] : [] }
}

/** The submission that landed; a later one of the same branch stays. */
const clearLanded = async (
  context: Context,
  worktree: Situation['worktree'],
  { worktree_branch, target }: Journal,
): Promise<void> => {
  const submission = await readSubmission(worktree, worktree_branch)
  if (submission?.head === target) await clearSubmission(context, worktree, worktree_branch, submission.id)
}

/** A store that cannot be changed after the trunk moved is an advisory: the landing stands (facts 10.5). */
const failingOpen = async (
  { topLevel }: Situation['worktree'],
  clean: () => Promise<void>,
): Promise<readonly Advisory[]> => {
  try {
    await clean()
    return []
  } catch (error) {
    const refusal = refusalOf(error)
    if (!refusal) throw error
    const [next] = refusal.next
    return [
      {
        kind: 'acceptance-cleanup-incomplete',
        evidence: `the landing stands, but not everything was cleared away: ${refusal.message}`,
        next_action: `${next}; then run: git -C ${quoted(topLevel)} discern accept`,
      },
    ]
  }
}

/** Ends a landing that did not happen: nothing was spent, so the grant goes back (facts 10.5). */
export const abandon = async (context: Context, worktree: Situation['worktree'], id: string): Promise<void> => {
  await retireJournal(worktree)
  await restoreClaim(context, worktree, id)
}

const reconcileFetch = async ({ worktree, entries, configuration }: Situation): Promise<MappingResult> =>
  reconcileMapping(worktree, entries, configuration?.repository.proofNotesMode ?? 'local', { removeWhenLocal: false })

/** Writes the owed note of one landing; what stays owed is kept for the next try. */
const deliver = async (context: Context, { worktree, entries }: Situation, journal: Journal): Promise<NoteWrite> => {
  const write = await recordProofNote(context, worktree, trackingRefs(entries), {
    subject: { commit: journal.target },
    proof: journal.claim,
    presentation: journal.presentation,
    acceptance: journal.acceptance,
  })
  if (isWritten(write)) await settlePendingNote(worktree, journal.id)
  return write
}

const isWritten = ({ status }: NoteWrite): boolean => status === 'recorded' || status === 'already_present'

const retireRequest = ({ topLevel }: Situation['worktree'], { worktree_branch, target }: Journal) => ({
  branch: worktree_branch,
  landed: target,
  worktreeTopLevel: topLevel,
})

const removedBy = (
  retirement: Retirement | undefined,
): { readonly worktree_removed: boolean; readonly branch_deleted: boolean } => ({
  worktree_removed: retirement?.status === 'retired' || retirement?.worktreeRemoved === true,
  branch_deleted: retirement?.status === 'retired',
})

/** What was asked to go and stays is said together with what holds it. */
const retainedAdvisories = (retirement: Retirement | undefined): readonly Advisory[] =>
  retirement?.status === 'retained'
    ? [
        {
          kind: 'acceptance-cleanup-incomplete',
          evidence: `the landing stands, and branch and worktree stay (${retirement.reason}): ${retirement.detail}`,
          next_action: 'git worktree list',
        },
      ]
    : []

const noteAdvisories = (write: NoteWrite, topLevel: string): readonly Advisory[] =>
  write.status === 'record_failed'
    ? [
        {
          kind: 'proof-recording-unavailable',
          evidence: `the landing stands, but its Proof note was not recorded: ${write.reason ?? 'unknown'}`,
          next_action: `git -C ${quoted(topLevel)} discern accept`,
        },
      ]
    : []

/**
 * Finishes what an earlier call left: first the journal of this worktree, then every note still owed in this repository. A
 * result means that this invocation is over; `undefined` that a new landing may begin.
 */
export const recover = async (
  context: Context,
  situation: Situation,
  retireToo = false,
): Promise<Result | undefined> => {
  const { worktree } = situation
  const journal = await readJournal(worktree)
  await recoverClaims(context, worktree, id => transitionHappened(worktree, id))
  // A marker without a journal was left between the last two steps of a finished landing.
  if (!journal) await retireMarkers(worktree)
  if (journal) {
    if (await transitionHappened(worktree, journal.id)) {
      const checkoutProblem = await recoverCheckout(worktree, journal)
      return settle(context, situation, journal, { recovered: true, checkoutProblem, retire: retireToo })
    }
    await abandon(context, worktree, journal.id)
  }
  const owed = await pendingNotes(worktree)
  let last: { readonly journal: Journal; readonly write: NoteWrite } | undefined
  for (const pending of owed) last = { journal: pending, write: await deliver(context, situation, pending) }
  const mine = owed.some(pending => pending.target === situation.state.head)
  if (!last || !mine) return undefined
  const fetch = await reconcileFetch(situation)
  const published = publicationCommands(situation.entries, situation.trunk.name)
  return {
    ok: true,
    verb: VERB,
    data: {
      landing: { recovery_performed: true, trunk_landed: true, worktree_removed: false, branch_deleted: false },
      branch: shortBranch(last.journal.worktree_branch),
      trunk: situation.trunk.name,
      commit: last.journal.target,
      previous: last.journal.expected_trunk,
      consent: last.journal.acceptance.consent,
      proof_note: { write: last.write, fetch },
      ...(published ? { publication: published } : {}),
    },
    advisories: noteAdvisories(last.write, worktree.topLevel),
    hints: published ? [published.command] : [],
  }
}
