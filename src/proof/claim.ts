/** The claim of a Proof: what was completed, for which commit, under which policy (facts 8 and 9.1). */
import type { Drop } from '../checkpoint/drop.ts'

export type Mode = 'strict' | 'report'

/** One committed state of one effort. */
export interface Revision {
  readonly effort_id: string
  /** Full ref name. */
  readonly branch: string
  readonly head: string
  readonly tree: string
}

export interface Candidate {
  readonly attempt_id: string
  readonly source: Revision
  /** The trunk's tip that the candidate was validated against and may replace. */
  readonly predecessor: string
  readonly head: string
  readonly tree: string
  /** SHA-256 of the governing configuration text at the predecessor. */
  readonly policy: string
  readonly requirement_set: string
}

export interface Requirement {
  readonly id: string
  readonly kind: 'job' | 'scope' | 'standard'
  readonly definition: string
}

export interface Receipt {
  readonly requirement: string
  readonly evidence_id: string
  readonly candidate_id: string
  readonly policy: string
  /** The measured number of a standard; `null` for a job or a scope gate. */
  readonly reading: number | null
}

export interface Artifact {
  readonly attempt_id: string
  readonly candidate_id: string
  readonly path: string
  readonly digest: string
  readonly bytes: number
}

export interface Validation {
  readonly attempt_id: string
  readonly candidate_id: string
  readonly head: string
  readonly policy: string
  readonly requirement_set: string
  readonly mode: Mode
  readonly requirements: readonly Requirement[]
  readonly receipts: readonly Receipt[]
  readonly assembled_at: number
  readonly review?: Artifact
}

/** A closure is declared only when every input of the producer is; else the evidence holds for one commit alone. */
export type Closure =
  | { readonly kind: 'declared'; readonly declaration: string }
  | { readonly kind: 'candidate'; readonly head: string }

export interface Applicability {
  readonly producer: string
  readonly policy: string
  readonly protected_definitions: string
  readonly command: string
  readonly extractor: string | null
  readonly inputs: string
  readonly denominator_inputs: string
  readonly toolchain: string
  readonly environment: string
  readonly seed: number
  readonly closure: Closure
}

export type EvidenceOutcome =
  | { readonly kind: 'passed'; readonly capture_complete: true; readonly metrics: Readonly<Record<string, number>> }
  | { readonly kind: 'failed' | 'cancelled' | 'unrun' | 'stale'; readonly reason: string }

export interface Evidence {
  readonly attempt_id: string
  readonly candidate_id: string
  readonly sequence: number
  readonly purpose: 'completion' | 'diagnostic'
  readonly mode: Mode
  readonly applicability: Applicability
  readonly finished_at: number
  readonly artifacts: readonly Artifact[]
  readonly outcome: EvidenceOutcome
}

export interface Component {
  readonly id: string
  readonly evidence: Evidence
}

export interface WorkClaim {
  readonly token: string
  readonly executor: string
  readonly acquired_at: number
  readonly expires_at: number
}

export type AttemptState =
  | { readonly kind: 'planning' | 'claimed'; readonly claim: WorkClaim }
  | { readonly kind: 'finished'; readonly outcome: 'passed' | 'failed' | 'cancelled'; readonly finished_at: number }

export interface Attempt {
  readonly identity: {
    readonly id: string
    readonly candidate_id: string
    readonly executor: string
    readonly sequence: number
    readonly rerun_of: string | null
    readonly started_at: number
  }
  /** Digests of the applicabilities that this attempt answers for; distinct. */
  readonly subjects: readonly string[]
  readonly purpose: 'completion' | 'diagnostic'
  readonly mode: Mode
  readonly state: AttemptState
}

export interface Executor {
  readonly operation_id: string
  readonly originating_effort: string
  readonly started_at: number
}

export interface Completion {
  readonly candidate_id: string
  readonly proof_id: string
  readonly candidate: Candidate
  readonly validation: Validation
  readonly components: readonly Component[]
  readonly attempts: readonly Attempt[]
  readonly executors: readonly Executor[]
}

export type { Drop }

export interface StandardProposal {
  readonly standard: string
  readonly commit: string
  readonly bound_commit: string
  readonly measured_commit: string
  readonly definition_fingerprint: string
  readonly trunk: string
  readonly trunk_commit: string
  readonly direction: 'up' | 'down'
  readonly trunk_limit: number
  readonly proposed_limit: number
  readonly measurement: number
  readonly delta: number
  readonly reason: string
  readonly evidence_paths: readonly string[]
}

/** The policy-relevant part of a note: its canonical form and the subject are the write identity. */
export interface ProofClaim {
  readonly completion: Completion
  /** Short names. */
  readonly branch: string
  readonly trunk: string
  readonly head: string
  readonly files_total: number
  readonly insertions: number
  readonly deletions: number
  readonly mode?: 'report'
  readonly checkpoint_drops?: readonly Drop[]
  readonly standard_proposals?: readonly StandardProposal[]
}

export interface Presentation {
  readonly line: string
  readonly markdown: string
}

/** The owner's permission, as claimed for and settled by exactly one landing (facts 8.6). */
export interface LandingAuthority {
  readonly authority_id: string
  readonly landing_id: string
  readonly authority: {
    readonly source: { readonly source: string; readonly record_id: string; readonly scopes: readonly string[] }
    readonly approved_at: number
    readonly sources: readonly Revision[]
    readonly composition_procedure: string
    readonly policy: string
    readonly predecessor_authorities: readonly string[]
    readonly state:
      | { readonly kind: 'granted' }
      | { readonly kind: 'revoked'; readonly at: number }
      | { readonly kind: 'consumed'; readonly landing_id: string; readonly at: number }
  }
  readonly executor: Executor
}

export interface Variance {
  readonly checkpoint: string
  readonly definition_hash: string
  readonly subject: string
  readonly why: string
}

export interface Acceptance {
  readonly authority: LandingAuthority
  readonly consent: { readonly source: string; readonly scopes?: readonly string[] }
  readonly variances: readonly Variance[]
  readonly standard_proposals: readonly StandardProposal[]
}

export interface ProofPayload {
  readonly subject: { readonly commit: string }
  readonly proof: ProofClaim
  readonly presentation: Presentation
  readonly acceptance?: Acceptance
}

/** The first repeated member, if any. */
const repeated = (items: readonly string[]): string | undefined => items.find((item, at) => items.indexOf(item) !== at)

interface Invariant {
  readonly holds: (completion: Completion) => boolean
  readonly otherwise: string
}

const attemptOf = (completion: Completion, id: string): Attempt | undefined =>
  completion.attempts.find(attempt => attempt.identity.id === id)

const receiptIsBacked = (completion: Completion, receipt: Receipt): boolean => {
  const evidence = completion.components.find(component => component.id === receipt.evidence_id)?.evidence
  return (
    evidence !== undefined &&
    evidence.outcome.kind === 'passed' &&
    evidence.purpose === 'completion' &&
    (evidence.mode === 'strict' || completion.validation.mode === 'report') &&
    receipt.candidate_id === completion.candidate_id &&
    receipt.policy === completion.candidate.policy
  )
}

/** Facts 8.5, one row each; a completion that breaks one is no complete Proof. */
const invariants: readonly Invariant[] = [
  {
    holds: c =>
      c.validation.candidate_id === c.candidate_id &&
      c.validation.head === c.candidate.head &&
      c.validation.policy === c.candidate.policy &&
      c.validation.requirement_set === c.candidate.requirement_set,
    otherwise: 'candidate and validation disagree',
  },
  {
    holds: c =>
      repeated(c.components.map(component => component.id)) === undefined &&
      repeated(c.attempts.map(attempt => attempt.identity.id)) === undefined &&
      c.attempts.every(({ identity }) => c.executors.some(executor => executor.operation_id === identity.executor)),
    otherwise: 'components, attempts or executors are not distinct and listed',
  },
  {
    holds: c =>
      [c.candidate.attempt_id, c.validation.attempt_id].every(id => attemptOf(c, id)?.state.kind === 'finished'),
    otherwise: 'an attempt is not finished',
  },
  {
    holds: c =>
      c.components.every(({ evidence }) => {
        const attempt = attemptOf(c, evidence.attempt_id)
        return (
          attempt !== undefined &&
          attempt.identity.candidate_id === evidence.candidate_id &&
          attempt.identity.sequence === evidence.sequence &&
          attempt.mode === evidence.mode &&
          attempt.purpose === evidence.purpose &&
          attempt.state.kind === 'finished'
        )
      }),
    otherwise: 'a component does not match its attempt',
  },
  {
    holds: c =>
      c.validation.receipts.length === c.validation.requirements.length &&
      c.validation.requirements.every(
        ({ id }) => c.validation.receipts.filter(receipt => receipt.requirement === id).length === 1,
      ) &&
      c.validation.receipts.every(receipt => receiptIsBacked(c, receipt)),
    otherwise: 'a requirement has no passed receipt of its own',
  },
  {
    holds: c =>
      c.validation.requirements.every(({ id, kind }) => {
        const reading = c.validation.receipts.find(receipt => receipt.requirement === id)?.reading
        return kind === 'standard' ? typeof reading === 'number' : reading === null
      }),
    otherwise: 'a reading does not fit its requirement',
  },
]

/**
 * Why a payload is no complete Proof, or `undefined` (facts 8.5 and 8.6): the invariants of its completion, the binding of
 * subject, mode and landing, and settled authority where there is an acceptance.
 */
export const completionFault = (payload: ProofPayload): string | undefined => {
  const { proof, acceptance, subject } = payload
  const broken = invariants.find(invariant => !invariant.holds(proof.completion))
  if (broken) return broken.otherwise
  if (subject.commit !== proof.completion.candidate.head) return 'the subject is not the candidate'
  if ((proof.mode ?? 'strict') !== proof.completion.validation.mode) return 'the mode is not that of the validation'
  if (!acceptance) return undefined
  const { landing_id, authority } = acceptance.authority
  if (authority.state.kind !== 'consumed' || authority.state.landing_id !== landing_id) {
    return 'the landing authority is not settled'
  }
  return proof.mode === 'report' ? 'a report cannot have landed' : undefined
}
