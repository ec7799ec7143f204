/** What a submission waits for, each with the command that settles it, from facts that were read (facts 10.5). Pure. */
import { quoted } from '../escape.ts'
import { shortBranch } from '../git/refs.ts'
import type { ProofClaim } from '../proof/claim.ts'
import { abbreviate } from '../proof/envelope.ts'
import type { EffortGrant } from './grant.ts'
import { approvalToken } from './proposal.ts'
import type { StandingAnswer } from './standing.ts'
import type { Submission } from './submission.ts'

/** One thing a row waits for, as a sentence, and what a person types to settle it. */
export interface Wait {
  readonly waits_for: string
  readonly command: string
}

/** `selected` is a fast-forward of the trunk that is checked out here; `other` means that the trunk went another way. */
export type Relation = 'selected' | 'ahead' | 'behind' | 'other'

/** What is true of one submission now. Whatever was not looked at is `undefined`. */
export interface SubmissionFacts {
  readonly submission: Submission
  readonly worktree: string | null
  /** It is what is checked out here: the branch, at the commit that was proven. */
  readonly here: boolean
  /** Verbs as they are typed one after another for this branch, from where the reader stands. */
  readonly inWorktree: (...verbs: readonly string[]) => string
  /** Short and full name of the trunk as it is now, and its tip. */
  readonly trunk: { readonly name: string; readonly ref: string; readonly tip: string | undefined }
  readonly relation: Exclude<Relation, 'selected'>
  /** Whether the branch still contains what was proven; `gone` where there is no such branch any more. */
  readonly branch: 'contains' | 'rewritten' | 'gone'
  /** A newer submission of the same branch stands in another worktree. */
  readonly superseded: boolean
  readonly proof: { readonly claim: ProofClaim; readonly line: string } | undefined
  /** The newest strict verdict on this commit is the one of this Proof. */
  readonly newest: boolean
  /** Declaration-evidence identity now. */
  readonly evidence: { readonly known: string } | { readonly unavailable: string }
  readonly owed:
    | { readonly open: readonly string[]; readonly unmet: readonly string[] }
    | { readonly unavailable: string }
    | undefined
  readonly grant: EffortGrant | undefined | { readonly unavailable: string }
  readonly standing: StandingAnswer
  /** A landing of this branch was interrupted in that worktree. */
  readonly interrupted: boolean
  /** A readable note of the landed commit stands; asked only of what the trunk contains. */
  readonly hasNote: boolean
  /** More submissions stand than are looked at; this one was not. */
  readonly unseen: boolean
}

const listed = (ids: readonly string[]): string => ids.join(', ')

/** `accept` as it is typed for this branch. */
export const accept = ({ here, submission }: SubmissionFacts, flags = ''): string =>
  `git discern accept${here ? '' : ` --target ${quoted(shortBranch(submission.branch))}`}${flags}`

/** What must be made again, or asked again, before this commit can land. The first is what a person has to do first. */
export const staleWaits = (facts: SubmissionFacts): readonly Wait[] => {
  const { submission, trunk, relation, inWorktree } = facts
  const head = abbreviate(submission.head)
  const again = (waits_for: string): Wait => ({ waits_for, command: inWorktree('done') })
  if (facts.unseen) {
    return [{ waits_for: 'a look: more branches ask to land than are looked at', command: 'git discern queue --all' }]
  }
  if (facts.interrupted) return [{ waits_for: 'the end of a landing that was interrupted', command: accept(facts) }]
  if (facts.superseded) {
    return [
      { waits_for: 'nothing: another worktree submitted this branch later', command: accept(facts, ' --confirmed') },
    ]
  }
  if (facts.branch === 'gone') {
    const branch = shortBranch(submission.branch)
    return [
      { waits_for: `the branch ${branch}, which is gone`, command: `git branch ${quoted(branch)} ${submission.head}` },
    ]
  }
  if (facts.branch === 'rewritten')
    return [again(`a Proof of the branch as it is: it does not contain ${head} any more`)]
  if (trunk.tip === undefined) return [again(`the trunk: there is no ${trunk.name} here`)]
  if (submission.trunk !== trunk.ref)
    return [again(`a Proof on ${trunk.name}: it was made on ${shortBranch(submission.trunk)}`)]
  if (submission.predecessor !== trunk.tip) {
    const at = `${trunk.name} at ${abbreviate(trunk.tip)}`
    if (relation === 'ahead') return [again(`a Proof on ${at}`)]
    return [{ waits_for: `${at}, which moved on since the Proof`, command: inWorktree('update', 'done') }]
  }
  if (facts.proof === undefined) return [again(`a Proof: that of ${head} is not among the records any more`)]
  if (facts.proof.claim.mode === 'report') return [again('a strict Proof: a report cannot land')]
  if (!facts.newest) return [again(`a Proof: a later run of the gate superseded that of ${head}`)]
  if ('unavailable' in facts.evidence) {
    return [
      {
        waits_for: `its declarations, which cannot be read: ${facts.evidence.unavailable}`,
        command: inWorktree('checkpoints'),
      },
    ]
  }
  if (facts.evidence.known !== submission.evidence) return [again('a Proof: a declaration changed since')]
  return []
}

/** Whether the Proof could land as it stands, so that it is worth asking what is still owed. */
export const isCurrent = (facts: SubmissionFacts): boolean =>
  facts.relation !== 'behind' && staleWaits(facts).length === 0

/** What the author and the owner still have to say of a current Proof; the owner's plain yes is not among it. */
export const owedWaits = (facts: SubmissionFacts): readonly Wait[] => {
  const { owed, proof, grant, inWorktree } = facts
  const waits: Wait[] = []
  if (owed && 'unavailable' in owed) {
    waits.push({
      waits_for: `its questions, which cannot be told: ${owed.unavailable}`,
      command: inWorktree('checkpoints'),
    })
  } else if (owed) {
    const { open, unmet } = owed
    if (open.length > 0) {
      const command = inWorktree(`done ${open.map(id => `--met ${id}`).join(' ')}`)
      waits.push({ waits_for: `the author's conclusion on ${listed(open)}`, command })
    }
    if (unmet.length > 0) {
      const command = accept(facts, ` --confirmed ${unmet.map(id => `--variance ${id}`).join(' ')}`)
      waits.push({ waits_for: `the owner's variance for ${listed(unmet)}, declared unmet`, command })
    }
  }
  const proposals = proof?.claim.standard_proposals ?? []
  if (proposals.length > 0) {
    const tokens = proposals.map(({ standard, proposed_limit, reason }) =>
      approvalToken(standard, proposed_limit, reason),
    )
    waits.push({
      waits_for: `the owner's approval of ${proposals.map(({ standard, trunk_limit, proposed_limit }) => `${standard} ${trunk_limit} -> ${proposed_limit}`).join(', ')}`,
      command: accept(facts, ` --confirmed ${tokens.map(token => `--approve-standard ${token}`).join(' ')}`),
    })
  }
  if (grant && 'unavailable' in grant) {
    waits.push({
      waits_for: `its grant, which cannot be read: ${grant.unavailable}`,
      command: inWorktree('grant --show'),
    })
  }
  return waits
}
