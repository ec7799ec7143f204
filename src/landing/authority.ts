/** The owner's permission as evidence: claimed for one landing and settled by it (facts 8.6). */
import type { Context } from '../context.ts'
import type { Completion, LandingAuthority } from '../proof/claim.ts'
import type { Consent } from './consent.ts'

/** How the landed commit came to be: it is the effort's own validated tip, nothing was composed. */
const COMPOSITION = 'own-tip/v1'

/**
 * The authority of a landing with this id, in the state it has once the transition happened: `consumed`. It is written to the
 * journal before any ref moves, so that a recovery settles the same authority and never a second one. An effort grant keeps
 * its own id and the instant it was given.
 */
export const settleAuthority = (
  context: Context,
  completion: Completion,
  consent: Consent,
  landingId: string,
): LandingAuthority => {
  const at = context.now().getTime()
  const { candidate } = completion
  return {
    authority_id: context.uuid(),
    landing_id: landingId,
    authority: {
      source: {
        source: consent.source,
        record_id: consent.source === 'effort-grant' ? consent.grant.id : context.uuid(),
        scopes: consent.source === 'standing-grant' ? consent.scopes : [],
      },
      approved_at: consent.source === 'effort-grant' ? consent.grant.granted_at : at,
      sources: [candidate.source],
      composition_procedure: COMPOSITION,
      policy: candidate.policy,
      predecessor_authorities: [],
      state: { kind: 'consumed', landing_id: landingId, at },
    },
    executor: { operation_id: context.uuid(), originating_effort: candidate.source.effort_id, started_at: at },
  }
}
