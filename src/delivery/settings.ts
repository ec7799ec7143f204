/** `[delivery]` of the trunk as frozen values, every default filled in (facts 15). */
import { basename, dirname } from 'node:path'
import { type ConfigEntry, configValue, remoteNames } from '../git/config.ts'
import { ENDPOINT_BODY_DEFAULT_BYTES, ENDPOINT_REDIRECT_DEFAULT_COUNT } from '../limits.ts'
import type { Configuration } from '../policy/definition.ts'
import {
  type ConditionTable,
  conditionName,
  deliveryTable,
  type EndpointTable,
  ROLES,
  type Role,
} from '../policy/delivery.ts'
import type { Trunk } from '../policy/trunk.ts'
import { type CheckpointId, STAGES } from './stage.ts'

export { ROLES, type Role } from '../policy/delivery.ts'

/** What is held to be true of one answer. Texts may still hold `${...}`. */
export type Test =
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'sha256'; readonly sha256: string }
  | { readonly kind: 'equals'; readonly pointer: string; readonly value: unknown }
  | { readonly kind: 'matches'; readonly pointer: string; readonly pattern: string }
  | { readonly kind: 'fresh'; readonly pointer: string; readonly seconds: number }

export interface Condition {
  readonly role: Role
  /** Different for every condition of an endpoint. */
  readonly name: string
  readonly test: Test
}

export interface Endpoint {
  readonly role: Role
  readonly url: string
  /** For everything it takes, redirects included. */
  readonly timeoutMs: number
  readonly maxBytes: number
  readonly maxRedirects: number
  readonly conditions: readonly Condition[]
}

export interface Template {
  readonly rollback: string | undefined
  /** Values by part, as they are typed after `=`. */
  readonly evidence: ReadonlyMap<string, string>
}

export interface DeliverySettings {
  readonly repository: string | undefined
  readonly protectedEnvironments: readonly string[]
  /** Gates that the record of a stage must name. */
  readonly gates: ReadonlyMap<CheckpointId, readonly string[]>
  readonly templates: ReadonlyMap<CheckpointId, Template>
  /** In the order of `ROLES`; those that are not configured are missing. */
  readonly endpoints: ReadonlyMap<Role, Endpoint>
}

const testOf = (condition: ConditionTable): Test => {
  const { status, sha256, pointer = '', equals, matches, fresh } = condition
  if (status !== undefined) return { kind: 'status', status }
  if (sha256 !== undefined) return { kind: 'sha256', sha256: sha256.startsWith('$') ? sha256 : sha256.toLowerCase() }
  if (matches !== undefined) return { kind: 'matches', pointer, pattern: matches }
  return fresh === undefined ? { kind: 'equals', pointer, value: equals } : { kind: 'fresh', pointer, seconds: fresh }
}

/** An answer that says it failed is no answer, whatever is in it: where no condition is about the status, it must be 200. */
const withStatus = (conditions: readonly ConditionTable[]): readonly ConditionTable[] =>
  conditions.some(({ status }) => status !== undefined) ? conditions : [{ status: 200 }, ...conditions]

const endpointOf = (role: Role, table: EndpointTable): Endpoint => ({
  role,
  url: new URL(table.url).href,
  timeoutMs: Math.ceil(table.timeout * 1000),
  maxBytes: table.max_bytes ?? ENDPOINT_BODY_DEFAULT_BYTES,
  maxRedirects: table.max_redirects ?? ENDPOINT_REDIRECT_DEFAULT_COUNT,
  conditions: withStatus(table.conditions).map(condition => ({
    role,
    name: conditionName(condition),
    test: testOf(condition),
  })),
})

/** The settings of a configuration that was read; nothing is set without one. No process. */
export const deliverySettings = (configuration: Pick<Configuration, 'delivery'> | undefined): DeliverySettings => {
  const table = configuration ? deliveryTable(configuration) : {}
  const gates = new Map<CheckpointId, readonly string[]>()
  const templates = new Map<CheckpointId, Template>()
  for (const { id } of STAGES) {
    const ids = table.gates?.[id]
    if (ids) gates.set(id, ids)
    const template = table.templates?.[id]
    if (template) {
      templates.set(id, { rollback: template.rollback, evidence: new Map(Object.entries(template.evidence ?? {})) })
    }
  }
  const endpoints = new Map<Role, Endpoint>()
  for (const role of ROLES) {
    const endpoint = table.endpoints?.[role]
    if (endpoint) endpoints.set(role, endpointOf(role, endpoint))
  }
  return {
    repository: table.repository,
    protectedEnvironments: table.protected_environments ?? [],
    gates,
    templates,
    endpoints,
  }
}

/**
 * What records call a repository: its configured name, else the URL of the trunk's remote without user, password and query, else
 * `local:` and the name of its folder. The path of a remote on this machine means nothing elsewhere and stays out of records;
 * its last part is taken. No process.
 */
export const repositoryIdentity = (
  settings: Pick<DeliverySettings, 'repository'>,
  entries: readonly ConfigEntry[],
  repository: { readonly commonDir: string },
  trunk: Pick<Trunk, 'remote'>,
): string => {
  if (settings.repository !== undefined) return settings.repository
  const remotes = remoteNames(entries)
  const remote = trunk.remote ?? (remotes.includes('origin') ? 'origin' : remotes.length === 1 ? remotes[0] : undefined)
  const url = remote === undefined ? undefined : configValue(entries, `remote.${remote}.url`)
  return (url && plainUrl(url)) ?? `local:${folderName(repository.commonDir)}`
}

const folderName = (path: string): string => {
  const name = basename(path)
  return (name === '.git' ? basename(dirname(path)) : name.replace(/\.git$/, '')) || 'repository'
}

/** `undefined` for what names no repository. */
const plainUrl = (text: string): string | undefined => {
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(text) && !/^file:/i.test(text)) {
    try {
      const url = new URL(text)
      url.username = ''
      url.password = ''
      url.search = ''
      url.hash = ''
      return url.href
    } catch {
      return undefined
    }
  }
  // git's short form, `user@host:path`; a slash before the colon makes it a path.
  const short = /^(?:[^/:@]+@)?([^/:@]{2,}):(?!\/\/)(.+)$/.exec(text)
  if (short && !/^file:/i.test(text)) return `${short[1]}:${short[2]}`
  return `local:${folderName(text.replace(/^file:\/\//i, '').replaceAll('\\', '/'))}`
}
