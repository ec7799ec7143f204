/** All endpoints of a promoted delivery, asked side by side in one process, and every condition evaluated (facts 15). */
import { evaluateCondition, type Values, type Verdict } from './condition.ts'
import { type EndpointRequest, type Fetched, fetchEndpoint } from './endpoint.ts'
import type { Evidence } from './record.ts'
import { type DeliverySettings, type Endpoint, ROLES, type Role } from './settings.ts'

export interface Observed {
  readonly endpoint: Endpoint
  readonly fetched: Fetched
}

export interface Observation {
  /** In the order of the roles. */
  readonly endpoints: readonly Observed[]
  /** Of every condition, in the order of the roles and of the configuration. */
  readonly verdicts: readonly Verdict[]
  /** Every condition is True, which is the only case in which there is evidence. */
  readonly complete: boolean
}

/** The endpoints that an observation needs and the trunk does not configure. */
export const missingRoles = ({ endpoints }: DeliverySettings): readonly Role[] =>
  ROLES.filter(role => !endpoints.has(role))

export interface ObserveInput {
  readonly settings: DeliverySettings
  /** Without the digest of the manifest, which is what is observed. */
  readonly values: Values
  readonly now: () => Date
  readonly signal: AbortSignal
  readonly userAgent: string
}

/** Asks every endpoint once. Never throws for what they answer; whoever was interrupted gets an observation that is not complete. */
export const observeEndpoints = async (input: ObserveInput): Promise<Observation> => {
  const { settings, signal, userAgent } = input
  const endpoints = await Promise.all(
    [...settings.endpoints.values()].map(async (endpoint): Promise<Observed> => {
      const { url, timeoutMs, maxBytes, maxRedirects } = endpoint
      const request: EndpointRequest = { url, timeoutMs, maxBytes, maxRedirects, signal, userAgent }
      return { endpoint, fetched: await fetchEndpoint(request) }
    }),
  )
  const manifest = endpoints.find(({ endpoint }) => endpoint.role === 'manifest')?.fetched
  const values: Values = {
    ...input.values,
    ...(manifest && 'known' in manifest ? { manifest_sha256: manifest.known.sha256 } : {}),
  }
  const now = input.now()
  const verdicts = endpoints.flatMap(({ endpoint, fetched }) =>
    endpoint.conditions.map(condition => evaluateCondition(condition, fetched, values, now)),
  )
  return {
    endpoints,
    verdicts,
    complete: missingRoles(settings).length === 0 && !signal.aborted && verdicts.every(({ value }) => value === 'True'),
  }
}

/** What was read back: the digest of each body, with where it was asked for. */
export const readbackEvidence = ({ endpoints }: Pick<Observation, 'endpoints'>): readonly Evidence[] =>
  endpoints.flatMap(({ endpoint, fetched }) =>
    'known' in fetched
      ? [{ part: 'readback', kind: 'digest', sha256: fetched.known.sha256, name: endpoint.role, url: endpoint.url }]
      : [],
  )
