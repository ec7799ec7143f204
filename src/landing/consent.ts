/** Who allowed a landing (facts 10.3): a word in this conversation wins, then what the owner granted before, then a question. */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import type { ProofClaim } from '../proof/claim.ts'
import type { EffortGrant } from './grant.ts'
import type { StandingAnswer } from './standing.ts'

export type Consent =
  | { readonly source: 'conversation' }
  | { readonly source: 'standing-grant'; readonly scopes: readonly string[] }
  | { readonly source: 'effort-grant'; readonly grant: EffortGrant }

export interface ConsentRequest {
  readonly confirmed: boolean
  readonly branch: string
  readonly trunk: string
  /** What will land, one line each, shown before the question. */
  readonly summary: readonly string[]
  /** What a person types after a yes. */
  readonly command: string
  /** See `barredBy`. */
  readonly barred: string | undefined
  readonly standing: StandingAnswer
  readonly grant: EffortGrant | undefined
}

/** What no recorded grant can cover, whatever was granted (facts 10.3); `undefined` when one may. */
export const barredBy = (
  unmet: number,
  claim: Pick<ProofClaim, 'checkpoint_drops' | 'standard_proposals'>,
): string | undefined => {
  const { checkpoint_drops = [], standard_proposals = [] } = claim
  if (unmet > 0) return 'a variance'
  const isIndeterminate = checkpoint_drops.some(({ reason, mode }) => reason.startsWith('when_') && mode === 'stop')
  if (isIndeterminate) return 'a checkpoint whose condition could not be decided'
  return standard_proposals.length > 0 ? 'a proposed limit' : undefined
}

/** The grant that covers a landing by itself, if one does; a standing one is not spent and so goes first. */
export const coveringGrant = ({
  barred,
  standing,
  grant,
}: Pick<ConsentRequest, 'barred' | 'standing' | 'grant'>): Consent | undefined => {
  if (barred !== undefined) return undefined
  if (standing.covered) return { source: 'standing-grant', scopes: standing.scopes }
  return grant ? { source: 'effort-grant', grant } : undefined
}

/**
 * `--confirmed`, a grant that covers this landing, or a yes at a terminal that first saw what will land (design 4.13). Anything
 * else refuses with `awaiting_consent`, says why no grant covers it, and has had no effect of any kind.
 */
export const obtainConsent = async (context: Context, request: ConsentRequest): Promise<Consent> => {
  if (request.confirmed) return { source: 'conversation' }
  const granted = coveringGrant(request)
  if (granted) return granted
  if (context.confirm) {
    for (const line of request.summary) context.progress({ kind: 'note', text: line })
    if (await context.confirm(`Land ${request.branch} on ${request.trunk}?`)) return { source: 'conversation' }
  }
  throw awaitingConsent(request)
}

/** The refusal for want of consent. */
export const awaitingConsent = ({ branch, trunk, command, barred, standing, grant }: ConsentRequest): Refusal => {
  const why = barred !== undefined && (grant || standing.covered) ? `no grant covers ${barred}` : undefined
  const outside = standing.covered ? undefined : standing.reason
  return new Refusal('awaiting_consent', { branch, trunk, command, why: why ?? outside })
}
