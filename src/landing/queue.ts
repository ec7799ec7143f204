/**
 * The queue as rows (facts 10.5): what each branch asks to land, how it stands to the trunk, and what it waits for. Pure; the
 * facts are collected by the verb.
 */
import { shortBranch } from '../git/refs.ts'
import { barredBy, coveringGrant } from './consent.ts'
import type { Journal } from './journal.ts'
import { accept, owedWaits, type Relation, type SubmissionFacts, staleWaits, type Wait } from './wait.ts'

export interface QueueRow {
  /** Id of the effort. */
  readonly effort: string
  /** Short name. */
  readonly branch: string
  readonly source_head: string
  readonly candidate_id: string
  readonly expected_trunk: string
  readonly target: string
  /** `ready`: nothing is missing but, where `pending` says so, the owner's yes. */
  readonly state: 'ready' | 'pending' | 'landed'
  readonly relation: Relation
  readonly pending: readonly Wait[]
  readonly consent: { readonly source: string; readonly scopes?: readonly string[] }
  readonly authority_settlement: 'pending' | 'consumed' | 'restored'
  readonly note: 'pending' | 'published' | 'recovery'
  readonly retirement: 'retained' | 'retired' | 'recovery'
  readonly retirement_reason: string | null
  readonly convergence: 'pending' | 'passed' | 'failed'
  /** `null` where the Proof is not among the records any more. */
  readonly proof_line: string | null
  /** Top level of the worktree that proved it, where that is known. */
  readonly worktree: string | null
}

const consentOf = (facts: SubmissionFacts): QueueRow['consent'] => {
  const grant = facts.grant && 'unavailable' in facts.grant ? undefined : facts.grant
  const unmet = facts.owed && 'unmet' in facts.owed ? facts.owed.unmet.length : 0
  const barred = barredBy(unmet, facts.proof?.claim ?? {})
  const granted = coveringGrant({ barred, standing: facts.standing, grant })
  switch (granted?.source) {
    case 'standing-grant':
      return { source: granted.source, scopes: granted.scopes }
    case 'effort-grant':
      return { source: granted.source }
    default:
      return { source: 'conversation' }
  }
}

/** One submission as a row. */
export const submissionRow = (facts: SubmissionFacts): QueueRow => {
  const { submission, relation, here, proof, worktree } = facts
  const consent = consentOf(facts)
  const common = {
    effort: submission.effort_id,
    branch: shortBranch(submission.branch),
    source_head: submission.head,
    candidate_id: submission.proof.candidate_id,
    expected_trunk: submission.predecessor,
    target: submission.head,
    consent,
    retirement: 'retained',
    proof_line: proof?.line ?? null,
    worktree,
  } as const
  if (relation === 'behind') {
    const note = facts.hasNote ? ('published' as const) : ('pending' as const)
    return {
      ...common,
      state: 'landed',
      relation,
      pending: [],
      authority_settlement: facts.hasNote ? 'consumed' : 'pending',
      note,
      retirement_reason: 'not asked for',
      convergence: 'passed',
    }
  }
  const stale = staleWaits(facts)
  const owed = stale.length > 0 ? [] : owedWaits(facts)
  const isReady = stale.length + owed.length === 0
  const yes = consent.source === 'conversation' && isReady
  const variance = owed.some(({ command }) => command.includes(' --confirmed'))
  const word = { waits_for: "the owner's yes", command: accept(facts, ' --confirmed') }
  return {
    ...common,
    state: isReady ? 'ready' : 'pending',
    relation: relation === 'ahead' && here ? 'selected' : relation,
    pending: [...stale, ...owed, ...(yes && !variance ? [word] : [])],
    authority_settlement: 'pending',
    note: 'pending',
    retirement_reason: null,
    convergence: 'pending',
  }
}

/** A landing whose note is still owed; whoever runs `accept` next, here or anywhere in the repository, writes it. */
export const pendingNoteRow = (
  journal: Journal,
  { contained, open }: { readonly contained: boolean; readonly open: boolean },
): QueueRow => {
  const { claim, acceptance, presentation } = journal
  const { source, predecessor } = claim.completion.candidate
  return {
    effort: source.effort_id,
    branch: shortBranch(journal.worktree_branch),
    source_head: source.head,
    candidate_id: claim.completion.candidate_id,
    expected_trunk: journal.expected_trunk || predecessor,
    target: journal.target,
    state: 'landed',
    relation: contained ? 'behind' : 'other',
    pending: [{ waits_for: 'its Proof note, which is not recorded yet', command: 'git discern accept' }],
    consent: acceptance.consent,
    authority_settlement: 'consumed',
    note: 'recovery',
    retirement: 'retained',
    retirement_reason: 'its note is owed',
    // The journal goes only after the checkout of the trunk followed.
    convergence: open ? 'pending' : 'passed',
    proof_line: presentation.line,
    worktree: null,
  }
}
