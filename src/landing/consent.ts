/** Who allowed a landing (facts 10.3). Grants join this table when they exist; a flag or a yes always wins over them. */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'

export interface Consent {
  readonly source: 'conversation'
}

export interface ConsentRequest {
  readonly confirmed: boolean
  readonly branch: string
  readonly trunk: string
  /** What will land, one line each, shown before the question. */
  readonly summary: readonly string[]
}

/**
 * `--confirmed`, or a yes at a terminal that first saw what will land (design 4.13). Anything else refuses with
 * `awaiting_consent` and has had no effect of any kind.
 */
export const obtainConsent = async (context: Context, request: ConsentRequest): Promise<Consent> => {
  if (request.confirmed) return { source: 'conversation' }
  if (context.confirm) {
    for (const line of request.summary) context.progress({ kind: 'note', text: line })
    if (await context.confirm(`Land ${request.branch} on ${request.trunk}?`)) return { source: 'conversation' }
  }
  throw new Refusal('awaiting_consent', {
    branch: request.branch,
    trunk: request.trunk,
    command: 'git discern accept --confirmed',
  })
}
