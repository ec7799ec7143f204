/** `git discern accept`: land the proven commit (facts 10.1), or finish a landing that was interrupted (10.5). */
import { awaitsConclusion } from '../checkpoint/obligation.ts'
import type { Preflight } from '../checkpoint/preflight.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { quoted } from '../escape.ts'
import { isAncestor, shortBranch } from '../git/refs.ts'
import { settleAuthority } from '../landing/authority.ts'
import {
  awaitingConsent,
  barredBy,
  type Consent,
  type ConsentRequest,
  coveringGrant,
  obtainConsent,
} from '../landing/consent.ts'
import { claimGrant, readGrant } from '../landing/grant.ts'
import { type Journal, readJournal, writeJournal } from '../landing/journal.ts'
import { checkApprovals, liveProposals, requireSameProposals } from '../landing/proposal.ts'
import { standingGrant } from '../landing/standing.ts'
import { allSubmissions } from '../landing/submission.ts'
import { type LandingPlan, performTransition, planLanding } from '../landing/transition.ts'
import { sameVariances, settleVariances, unmetDeclarations } from '../landing/variance.ts'
import type { LandingRecord } from '../logbook/event.ts'
import { recordingOf, withRecording } from '../logbook/recording.ts'
import { readCommittedConfiguration } from '../policy/read.ts'
import type { StandardProposal, Variance } from '../proof/claim.ts'
import { abbreviate } from '../proof/envelope.ts'
import { presentLanding } from '../proof/page.ts'
import type { Result } from '../result.ts'
import { withLock } from '../store/lock.ts'
import { abandon, recover, settle } from './accept-settle.ts'
import { findSubmission, type Subject, subjectHere, subjectOf } from './accept-subject.ts'
import { acceptHint } from './advise.ts'
import type { Call } from './call.ts'
import { checkpointsData, lookAtCheckpoints } from './owed.ts'
import { readSituation, requireEffort, type Situation } from './situation.ts'
import { readSettledSituation } from './standards-effort.ts'

const VERB = 'accept'

/** What the owner said with this call. */
interface Word {
  readonly confirmed: boolean
  readonly variances: readonly string[]
  /** Tokens of the proposed limits that the owner approves. */
  readonly approvals: readonly string[]
  readonly retire: boolean
  /** `--target` as it was typed, for the commands that are shown. */
  readonly target: string | undefined
}

export const run = async (context: Context, call: Call): Promise<Result> => {
  const { variance, target, confirmed, retire } = call.flags
  const approvals = call.flags['approve-standard']
  const word: Word = {
    confirmed: confirmed === true,
    variances: Array.isArray(variance) ? variance : [],
    approvals: Array.isArray(approvals) ? approvals : [],
    retire: retire === true,
    target: typeof target === 'string' ? target : undefined,
  }
  const dryRun = call.flags['dry-run'] === true
  if (call.flags['all-ready'] === true) {
    refuseWithAllReady(word)
    return landAllReady(context, word.retire, dryRun)
  }
  const elsewhere = word.target !== undefined
  const situation = await (dryRun || elsewhere ? readSituation(context) : readSettledSituation(context, VERB))
  if (word.target !== undefined) {
    const row = await findSubmission(situation, word.target)
    if (dryRun) return preview(await subjectOf(situation, row), word)
    return landSubmission(context, situation, row, word)
  }
  if (dryRun) return preview(await subjectHere(await requireEffort(situation, VERB)), word)
  return withLock(context, situation.worktree, 'accept', VERB, async () => {
    const recovered = await recover(context, situation, word.retire)
    return recovered ?? land(context, await subjectHere(await requireEffort(situation, VERB)), word)
  })
}

/** Each landing of several needs permission of its own, which one word in a conversation cannot name. */
const refuseWithAllReady = ({ confirmed, variances, approvals, target }: Word): void => {
  const [stray] = [
    ...(confirmed ? ['confirmed'] : []),
    ...(variances.length > 0 ? ['variance'] : []),
    ...(approvals.length > 0 ? ['approve-standard'] : []),
    ...(target !== undefined ? ['target'] : []),
  ]
  if (stray === undefined) return
  throw new Refusal('invalid_arguments', {
    problem: `accept: --all-ready lands what is authorized already, and takes no --${stray}`,
    usage:
      stray === 'target' ? 'git discern accept --target <branch>' : `git discern accept --target <branch> --${stray}`,
  })
}

type Row = Awaited<ReturnType<typeof findSubmission>>

/** Lands another branch under the lock of the worktree that proved it, whose journal and marker ref these are. */
const landSubmission = async (context: Context, situation: Situation, row: Row, word: Word): Promise<Result> => {
  const { effort } = await subjectOf(situation, row)
  return withLock(context, effort.worktree, 'accept', VERB, async () => {
    const recovered = await recover(
      context,
      { ...situation, worktree: effort.worktree, state: effort.state },
      word.retire,
    )
    return recovered ?? land(context, await subjectOf(situation, row), word)
  })
}

/**
 * Lands one after another what is a fast-forward and authorized by a grant, and says of each other one why it waits. Nobody is
 * asked at the terminal. The trunk is read again before each, since each landing moves it.
 */
const landAllReady = async (context: Context, retire: boolean, dryRun: boolean): Promise<Result> => {
  const silent: Context = { ...context, confirm: undefined }
  const landed: object[] = []
  const landings: LandingRecord[] = []
  const waiting: object[] = []
  const word: Word = { confirmed: false, variances: [], approvals: [], retire, target: undefined }
  const first = await readSituation(context)
  for (const row of await allSubmissions(first.worktree)) {
    const name = 'submission' in row ? shortBranch(row.submission.branch) : row.branch && shortBranch(row.branch)
    const branch = name ?? row.place.gitDir
    try {
      const situation = landed.length === 0 ? first : await readSituation(context)
      const own: Word = { ...word, target: branch }
      if (dryRun) {
        const prepared = await prepare(await subjectOf(situation, row), own)
        const request = await consentRequest(prepared, own)
        if (!coveringGrant(request)) throw awaitingConsent(request)
        landed.push({ branch, commit: prepared.plan.target, dry_run: true })
        continue
      }
      const result = await landSubmission(silent, situation, row, own)
      const { commit, consent, proof_note } = result.data as Readonly<Record<string, unknown>>
      landed.push({ branch, commit, consent, proof_note })
      landings.push(...(recordingOf(result).landing ?? []))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      waiting.push({ branch, error: error.slug, message: error.message, hints: [...error.next] })
    }
  }
  const result: Result = { ok: true, verb: VERB, ...(dryRun ? { dry_run: true } : {}), data: { landed, waiting } }
  return withRecording(result, { landing: landings })
}

/** What makes a commit landable again after the trunk moved on, typed where the reader stands. */
const again = ({ worktree }: Subject['effort'], { target }: Word): string => {
  const there = target === undefined ? 'git' : `git -C ${quoted(worktree.topLevel)}`
  const accept = `git discern accept${target === undefined ? '' : ` --target ${quoted(target)}`} --confirmed`
  return [`${there} discern update`, `${there} discern done`, accept].join(' && ')
}

interface Prepared extends Subject {
  readonly plan: LandingPlan
  readonly variances: readonly Variance[]
  readonly proposals: readonly StandardProposal[]
}

/** Everything that can refuse, before consent is asked for and before anything moves. */
const prepare = async (subject: Subject, word: Word): Promise<Prepared> => {
  const { effort, proof } = subject
  const { worktree, trunk, head, branch, predecessor } = effort
  if (head === predecessor || (await isAncestor(worktree, head, predecessor)) === true) {
    throw new Refusal('nothing_to_prove', { branch: shortBranch(branch), trunk: trunk.name })
  }
  const { candidate } = proof.claim.completion
  if (candidate.source.branch !== branch || proof.claim.trunk !== trunk.name) {
    throw new Refusal('incomplete', {
      problem: `the Proof was made for ${shortBranch(candidate.source.branch)} on ${proof.claim.trunk}`,
      next: 'git discern done',
    })
  }
  const plan = await planLanding(
    worktree,
    { trunk: trunk.target, expected: candidate.predecessor, target: candidate.head },
    again(effort, word),
  )
  const owed = await requireAnswers(subject)
  const variances = settleVariances(owed, word.variances, word.confirmed, checkpointsData(predecessor, owed))
  // Exactly what is live is approved: no grant, no variance and no general yes stands in for a token (facts 14).
  const live = await liveProposals(worktree, branch, head)
  requireSameProposals(live, proof.claim.standard_proposals)
  return { ...subject, plan, variances, proposals: checkApprovals(word.approvals, live) }
}

/** No question may be open when the trunk moves (facts 10.1 step 7). Uncertainty never blocks: it travels in the Proof as a drop. */
const requireAnswers = async ({ effort }: Subject): Promise<Preflight> => {
  const { predecessor } = effort
  const owed = await lookAgain(effort)
  const [open, ...alsoOpen] = owed.checkpoints
    .filter(({ obligation }) => awaitsConclusion(obligation))
    .map(({ definition }) => definition.id)
  if (open === undefined) return owed
  const data = checkpointsData(predecessor, owed)
  throw new Refusal('awaiting_declaration', { checkpoints: [open, ...alsoOpen] }, { data })
}

const lookAgain = ({ worktree, branch, head, predecessor }: Subject['effort']): Promise<Preflight> =>
  lookAtCheckpoints({
    worktree,
    branch,
    policy: predecessor,
    base: predecessor,
    scope: { kind: 'commit', commit: head },
  })

const summaryOf = ({ effort, proof, variances, proposals }: Prepared): readonly string[] => {
  const { claim } = proof
  return [
    `${shortBranch(effort.branch)} at ${claim.head} lands on ${effort.trunk.name} (now ${abbreviate(effort.predecessor)})`,
    `${claim.files_total} ${claim.files_total === 1 ? 'file' : 'files'}, +${claim.insertions} -${claim.deletions}; ${claim.completion.components.length} passed`,
    ...variances.map(({ checkpoint, why }) => `variance for ${checkpoint}, declared unmet: ${why}`),
    ...proposals.map(
      ({ standard, trunk_limit, proposed_limit, reason }) =>
        `the limit of ${standard} goes from ${trunk_limit} to ${proposed_limit}: ${reason}`,
    ),
  ]
}

/** What the owner's grants say about this landing. Reads the trunk's own configuration, never the branch's. */
const consentRequest = async (prepared: Prepared, word: Word): Promise<ConsentRequest> => {
  const { effort, proof, plan, variances } = prepared
  const { worktree, branch, trunk } = effort
  const governing = await readCommittedConfiguration(worktree, plan.expected)
  return {
    confirmed: word.confirmed,
    branch: shortBranch(branch),
    trunk: trunk.name,
    summary: summaryOf(prepared),
    command: `git discern accept ${word.target === undefined ? '' : `--target ${quoted(word.target)} `}--confirmed`,
    barred: barredBy(variances.length, proof.claim),
    standing:
      governing.status === 'ok'
        ? standingGrant({
            configuration: governing.configuration,
            changedPaths: plan.change.map(({ path }) => path),
          })
        : { covered: false, reason: `the configuration of ${trunk.name} cannot be used`, warnings: [] },
    grant: await readGrant(worktree, branch),
  }
}

const preview = async (subject: Subject, word: Word): Promise<Result> => {
  const prepared = await prepare(subject, word)
  const { effort, plan } = prepared
  const journal = await readJournal(effort.worktree)
  const granted = coveringGrant(await consentRequest(prepared, word))
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
      consent_needed: granted === undefined,
      ...(granted ? { consent: consentData(granted) } : {}),
      recovery_pending: journal !== undefined,
      summary: summaryOf(prepared),
    },
    hints: [granted ? 'git discern accept' : acceptHint],
  }
}

const consentData = (consent: Consent): { readonly source: string; readonly scopes?: readonly string[] } =>
  consent.source === 'standing-grant' ? { source: consent.source, scopes: consent.scopes } : { source: consent.source }

const CONSENT_WORDS: Readonly<Record<Consent['source'], string>> = {
  conversation: 'conversation',
  'effort-grant': 'effort grant',
  'standing-grant': 'standing grant',
}

const consentWords = (consent: Consent): string =>
  `${CONSENT_WORDS[consent.source]}${consent.source === 'standing-grant' ? ` (${consent.scopes.join(', ')})` : ''}`

const land = async (context: Context, subject: Subject, word: Word): Promise<Result> => {
  const prepared = await prepare(subject, word)
  const { effort, proof, plan, variances, proposals } = prepared
  const { worktree, trunk, branch } = effort
  const request = await consentRequest(prepared, word)
  const consent = await obtainConsent(context, request)
  const id = context.uuid()
  const journal: Journal = {
    id,
    worktree_branch: branch,
    trunk: trunk.target,
    expected_trunk: plan.expected,
    target: plan.target,
    main_repo: plan.checkout?.topLevel ?? null,
    effort_claim: consent.source === 'effort-grant' ? consent.grant.id : null,
    acceptance: {
      authority: settleAuthority(context, proof.claim.completion, consent, id),
      consent: consentData(consent),
      variances,
      standard_proposals: proposals,
    },
    claim: proof.claim,
    presentation: presentLanding(
      { line: proof.line, markdown: proof.markdown },
      {
        consent: consentWords(consent),
        variances: variances.map(({ checkpoint }) => checkpoint),
        approved: proposals.map(({ standard }) => standard),
      },
    ),
  }
  // A grant is taken before the journal says so, and given back by whatever ends this landing before the trunk moved.
  if (consent.source === 'effort-grant') {
    const claimed = await claimGrant(context, worktree, branch, id)
    if (claimed?.id !== consent.grant.id) {
      await abandon(context, worktree, id)
      throw awaitingConsent({ ...request, grant: undefined })
    }
  }
  // What the owner allowed is compared again just before the transition (facts 10.2).
  if (variances.length > 0 && !sameVariances(variances, unmetDeclarations(await lookAgain(effort)))) {
    throw new Refusal('incomplete', {
      problem: 'the declarations changed while the landing was prepared; nothing was landed',
      next: 'git discern done',
    })
  }
  await writeJournal(worktree, journal)
  const transition = await performTransition(worktree, plan, journal)
  switch (transition.kind) {
    case 'moved':
      await abandon(context, worktree, id)
      throw new Refusal('trunk_moved', {
        trunk: trunk.name,
        expected: plan.expected,
        found: transition.found ?? 'nothing',
        next: again(effort, word),
      })
    case 'checkout-failed':
      if (transition.rolledBack) {
        await abandon(context, worktree, id)
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
      return settle(context, effort, journal, {
        recovered: false,
        checkoutProblem: undefined,
        retire: word.retire,
      })
  }
}
