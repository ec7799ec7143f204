/** `git discern accept`: land the proven commit (facts 10.1), or finish a landing that was interrupted (10.5). */
import { evidenceOf, readQuestions } from '../checkpoint/question-store.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { displayPath } from '../git/path.ts'
import { isAncestor, shortBranch } from '../git/refs.ts'
import { settleAuthority } from '../landing/authority.ts'
import { obtainConsent } from '../landing/consent.ts'
import {
  type Journal,
  keepPendingNote,
  pendingNotes,
  readJournal,
  retireJournal,
  settlePendingNote,
  writeJournal,
} from '../landing/journal.ts'
import {
  type LandingPlan,
  performTransition,
  planLanding,
  recoverCheckout,
  retireMarkers,
  transitionHappened,
} from '../landing/transition.ts'
import { abbreviate } from '../proof/envelope.ts'
import { type CompleteMarker, completeMarker, inspectMarker, refuseNewerMarker } from '../proof/marker.ts'
import { type NoteWrite, recordProofNote } from '../proof/note.ts'
import { presentLanding } from '../proof/page.ts'
import { newestVerdict } from '../proof/records.ts'
import { type MappingResult, reconcileMapping, trackingRefs } from '../proof/remote.ts'
import type { Advisory, Result } from '../result.ts'
import { withLock } from '../store/lock.ts'
import { acceptHint, publicationCommands } from './advise.ts'
import type { Call } from './call.ts'
import { checkpointsData, lookAtCheckpoints } from './owed.ts'
import { type Effort, readSituation, requireEffort, type Situation } from './situation.ts'

const VERB = 'accept'

export const run = async (context: Context, call: Call): Promise<Result> => {
  const situation = await readSituation(context)
  const dryRun = call.flags['dry-run'] === true
  const confirmed = call.flags['confirmed'] === true
  if (dryRun) return preview(await requireEffort(situation, VERB))
  return withLock(context, situation.worktree, 'accept', VERB, async () => {
    const recovered = await recover(context, situation)
    if (recovered) return recovered
    return land(context, await requireEffort(situation, VERB), confirmed)
  })
}

/** The honoured, complete, strict marker of the checkout, or a refusal that says what is missing (facts 10.1 step 3). */
const provenMarker = async (effort: Effort): Promise<CompleteMarker> => {
  const dirty = [...effort.state.tracked, ...effort.state.untracked]
  const evidence = evidenceOf(await readQuestions(effort.worktree, effort.branch))
  const inspection = await inspectMarker(effort.worktree, {
    head: effort.head,
    dirty,
    evidence: 'known' in evidence ? evidence.known : undefined,
  })
  refuseNewerMarker(effort.worktree, inspection)
  const next = 'git discern done'
  switch (inspection.status) {
    case 'dirty':
      throw new Refusal('dirty_worktree', { paths: inspection.paths.map(displayPath) })
    case 'report_only':
      throw new Refusal('report_only_proof', { head: abbreviate(effort.head) })
    case 'stale':
      throw new Refusal('incomplete', {
        problem: `the Proof here is for ${abbreviate(inspection.head)}, and ${shortBranch(effort.branch)} is at ${abbreviate(effort.head)}: ${inspection.reason}`,
        next,
      })
    case 'unavailable':
    case 'read_failed':
      throw new Refusal('incomplete', {
        problem: `the Proof of this worktree cannot be read: ${inspection.reason}`,
        next,
      })
    case 'missing':
    case 'newer':
      throw new Refusal('incomplete', { problem: `${abbreviate(effort.head)} has no Proof yet`, next })
    case 'honored': {
      const marker = completeMarker(inspection.marker)
      if (!marker)
        throw new Refusal('incomplete', { problem: 'the Proof here lacks evidence that a landing needs', next })
      const verdict = await newestVerdict(effort.worktree, effort.head)
      if (verdict && verdict.proofId !== marker.completion.proof_id) {
        throw new Refusal('incomplete', {
          problem: `a later run of the gate superseded the Proof of ${abbreviate(effort.head)}`,
          next,
        })
      }
      return marker
    }
  }
}

const again = (trunk: string): string => `git merge ${trunk} && git discern done && git discern accept --confirmed`

/** Everything that can refuse, before consent is asked for and before anything moves. */
const prepare = async (effort: Effort): Promise<{ readonly marker: CompleteMarker; readonly plan: LandingPlan }> => {
  const { worktree, trunk, head, branch, predecessor } = effort
  if (head === predecessor || (await isAncestor(worktree, head, predecessor)) === true) {
    throw new Refusal('nothing_to_prove', { branch: shortBranch(branch), trunk: trunk.name })
  }
  const marker = await provenMarker(effort)
  const { candidate } = marker.proof.claim.completion
  if (candidate.source.branch !== branch || marker.proof.claim.trunk !== trunk.name) {
    throw new Refusal('incomplete', {
      problem: `the Proof was made for ${shortBranch(candidate.source.branch)} on ${marker.proof.claim.trunk}`,
      next: 'git discern done',
    })
  }
  const plan = await planLanding(
    worktree,
    { trunk: trunk.target, expected: candidate.predecessor, target: candidate.head },
    again(trunk.name),
  )
  await requireAnswers(effort)
  return { marker, plan }
}

/**
 * No question may be open when the trunk moves, and what is declared unmet lands only with the owner's variance, which no
 * `--confirmed` implies (facts 10.1 steps 7 and 8). Uncertainty never blocks here: it travels in the Proof as a drop.
 */
const requireAnswers = async ({ worktree, branch, head, predecessor }: Effort): Promise<void> => {
  const scope = { kind: 'commit', commit: head } as const
  const owed = await lookAtCheckpoints({ worktree, branch, policy: predecessor, base: predecessor, scope })
  const ids = (words: readonly string[]): readonly string[] =>
    owed.checkpoints.filter(({ obligation }) => words.includes(obligation)).map(({ definition }) => definition.id)
  const data = checkpointsData(predecessor, owed)
  const [open, ...alsoOpen] = ids(['awaiting_declaration', 'reopened', 'will_open'])
  if (open !== undefined) throw new Refusal('awaiting_declaration', { checkpoints: [open, ...alsoOpen] }, { data })
  const [unmet, ...alsoUnmet] = ids(['declared_unmet'])
  if (unmet !== undefined) throw new Refusal('awaiting_variance', { checkpoints: [unmet, ...alsoUnmet] }, { data })
}

const summaryOf = (effort: Effort, { proof }: CompleteMarker): readonly string[] => {
  const { claim } = proof
  return [
    `${shortBranch(effort.branch)} at ${claim.head} lands on ${effort.trunk.name} (now ${abbreviate(effort.predecessor)})`,
    `${claim.files_total} ${claim.files_total === 1 ? 'file' : 'files'}, +${claim.insertions} -${claim.deletions}; ${claim.completion.components.length} passed`,
  ]
}

const preview = async (effort: Effort): Promise<Result> => {
  const { marker, plan } = await prepare(effort)
  const journal = await readJournal(effort.worktree)
  return {
    ok: true,
    verb: VERB,
    dry_run: true,
    plan: [
      {
        kind: 'git',
        label: `move ${effort.trunk.name} from ${abbreviate(plan.expected)} to ${abbreviate(plan.target)}`,
        disposition: 'run',
      },
      ...(plan.checkout
        ? [{ kind: 'git', label: `bring the checkout along: ${plan.checkout.topLevel}`, disposition: 'run' } as const]
        : []),
      { kind: 'git', label: 'record the Proof as a note', disposition: 'run' },
    ],
    data: {
      branch: shortBranch(effort.branch),
      trunk: effort.trunk.name,
      expected_trunk: plan.expected,
      target: plan.target,
      consent_needed: true,
      recovery_pending: journal !== undefined,
      summary: summaryOf(effort, marker),
    },
    hints: [acceptHint],
  }
}

const land = async (context: Context, effort: Effort, confirmed: boolean): Promise<Result> => {
  const { worktree, trunk, branch } = effort
  const { marker, plan } = await prepare(effort)
  const consent = await obtainConsent(context, {
    confirmed,
    branch: shortBranch(branch),
    trunk: trunk.name,
    summary: summaryOf(effort, marker),
  })
  const id = context.uuid()
  const journal: Journal = {
    id,
    worktree_branch: branch,
    trunk: trunk.target,
    expected_trunk: plan.expected,
    target: plan.target,
    main_repo: plan.checkout?.topLevel ?? null,
    effort_claim: null,
    acceptance: {
      authority: settleAuthority(context, marker.proof.claim.completion, consent.source, id),
      consent: { source: consent.source },
      variances: [],
      standard_proposals: [],
    },
    claim: marker.proof.claim,
    presentation: presentLanding({ line: marker.proof.line, markdown: marker.proof.markdown }, consent.source),
  }
  await writeJournal(worktree, journal)
  const transition = await performTransition(worktree, plan, journal)
  switch (transition.kind) {
    case 'moved':
      await retireJournal(worktree)
      throw new Refusal('trunk_moved', {
        trunk: trunk.name,
        expected: plan.expected,
        found: transition.found ?? 'nothing',
        next: again(trunk.name),
      })
    case 'checkout-failed':
      if (transition.rolledBack) {
        await retireJournal(worktree)
        throw new Refusal('conflict', {
          problem: `the checkout ${plan.checkout?.topLevel} could not follow, so nothing was landed: ${transition.reason}`,
          next: `look at it, then try again: git -C ${plan.checkout?.topLevel} status`,
        })
      }
      throw new Refusal('partial_acceptance', {
        problem: `the checkout ${plan.checkout?.topLevel} could not follow, and ${trunk.name} has already moved on: ${transition.reason}`,
        next: 'git discern accept',
      })
    case 'landed':
      return settle(context, effort, journal, { recovered: false, checkoutProblem: undefined })
  }
}

interface Recovery {
  readonly recovered: boolean
  readonly checkoutProblem: string | undefined
}

/** After the trunk moved: mapping, note, then the journal. Nothing here can undo the landing (facts 10.5). */
const settle = async (
  context: Context,
  situation: Situation,
  journal: Journal,
  recovery: Recovery,
): Promise<Result> => {
  const { worktree, trunk } = situation
  const fetch = await reconcileFetch(situation)
  await keepPendingNote(worktree, journal)
  if (recovery.checkoutProblem === undefined) {
    await retireJournal(worktree)
    await retireMarkers(worktree)
  }
  const write = await deliver(context, situation, journal)
  const published = publicationCommands(situation.entries, trunk.name)
  const result = {
    verb: VERB,
    data: {
      landing: {
        recovery_performed: recovery.recovered,
        trunk_landed: true,
        worktree_removed: false,
        branch_deleted: false,
      },
      branch: shortBranch(journal.worktree_branch),
      trunk: trunk.name,
      commit: journal.target,
      previous: journal.expected_trunk,
      consent: journal.acceptance.consent,
      proof: { line: journal.presentation.line, proof_id: journal.claim.completion.proof_id },
      proof_note: { write, fetch },
      ...(published ? { publication: published } : {}),
    },
    advisories: noteAdvisories(write, worktree.topLevel),
  }
  if (recovery.checkoutProblem !== undefined) {
    const refusal = new Refusal('partial_acceptance', {
      problem: `the checkout of ${trunk.name} could not be brought along: ${recovery.checkoutProblem}`,
      next: `look at it: git -C ${journal.main_repo ?? worktree.topLevel} status; then run: git discern accept`,
    })
    return { ok: false, ...result, error: refusal.slug, message: refusal.message, hints: [...refusal.next] }
  }
  return { ok: true, ...result, hints: published ? [published.command] : [] }
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
  if (write.status === 'recorded' || write.status === 'already_present') await settlePendingNote(worktree, journal.id)
  return write
}

const noteAdvisories = (write: NoteWrite, topLevel: string): readonly Advisory[] =>
  write.status === 'record_failed'
    ? [
        {
          kind: 'proof-recording-unavailable',
          evidence: `the landing stands, but its Proof note was not recorded: ${write.reason ?? 'unknown'}`,
          next_action: `git -C ${topLevel} discern accept`,
        },
      ]
    : []

/**
 * Finishes what an earlier call left: first the journal of this worktree, then every note still owed in this repository. A
 * result means that this invocation is over; `undefined` that a new landing may begin.
 */
const recover = async (context: Context, situation: Situation): Promise<Result | undefined> => {
  const { worktree } = situation
  const journal = await readJournal(worktree)
  // A marker without a journal was left between the last two steps of a finished landing.
  if (!journal) await retireMarkers(worktree)
  if (journal) {
    if (await transitionHappened(worktree, journal.id)) {
      const checkoutProblem = await recoverCheckout(worktree, journal)
      return settle(context, situation, journal, { recovered: true, checkoutProblem })
    }
    await retireJournal(worktree)
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
