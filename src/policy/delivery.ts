/**
 * The `[delivery]` table as its contract lets it through, and the words in it that are understood: roles of endpoints, values
 * that a text may hold, kinds of conditions (facts 15).
 */
import type { Configuration } from './definition.ts'

/** What is observed of a promoted delivery, in this order. */
export const ROLES = ['locator', 'manifest', 'discovery', 'readiness'] as const

export type Role = (typeof ROLES)[number]

/** What `${...}` may name in the text of a condition. */
export const VALUES = ['source_commit', 'corpus_revision', 'manifest_sha256', 'delivery', 'generation'] as const

export type ValueName = (typeof VALUES)[number]

/** What the value at a pointer can be held to; a condition with a pointer has exactly one of them. */
export const POINTER_KINDS = ['equals', 'matches', 'fresh'] as const

export interface ConditionTable {
  readonly name?: string
  readonly status?: number
  readonly sha256?: string
  readonly pointer?: string
  readonly equals?: unknown
  readonly matches?: string
  /** Seconds. */
  readonly fresh?: number
}

export interface EndpointTable {
  readonly url: string
  /** Seconds. */
  readonly timeout: number
  readonly max_bytes?: number
  readonly max_redirects?: number
  readonly conditions: readonly ConditionTable[]
}

export interface DeliveryTable {
  readonly repository?: string
  readonly protected_environments?: readonly string[]
  readonly gates?: Readonly<Record<string, readonly string[]>>
  readonly templates?: Readonly<
    Record<string, { readonly rollback?: string; readonly evidence?: Readonly<Record<string, string>> }>
  >
  readonly endpoints?: Readonly<Partial<Record<Role, EndpointTable>>>
}

/** The table of a configuration that was read, and so keeps the contract. */
export const deliveryTable = (configuration: Pick<Configuration, 'delivery'>): DeliveryTable => configuration.delivery

const PLACEHOLDER = /\$\{([^{}]*)\}/g

/** Replaces every `${name}` of a text by what `value` answers. */
export const replaceValues = (text: string, value: (name: string) => string): string =>
  text.replace(PLACEHOLDER, (_, name: string) => value(name))

/** The names of all `${name}` of a text, known or not. */
export const valuesIn = (text: string): readonly string[] =>
  [...text.matchAll(PLACEHOLDER)].map(([, name]) => name ?? '')

/**
 * What a condition is called in records and messages: its own name, else what it is about. One pointer may be held to several
 * things, which only names tell apart where they are of one kind.
 */
export const conditionName = (condition: ConditionTable): string => {
  if (condition.name !== undefined) return condition.name
  if (condition.status !== undefined) return 'status'
  if (condition.pointer === undefined) return 'sha256'
  const kind = POINTER_KINDS.find(one => condition[one] !== undefined) ?? ''
  return `${condition.pointer || 'the whole'} ${kind}`
}

/** This machine, by its reserved names and addresses; nothing is looked up for it. */
export const isLoopbackHost = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname)

/**
 * Why nothing may be asked at a URL, or `undefined`: it must be https, or http to this machine, without a user, a password or a
 * fragment.
 */
export const urlProblem = (text: string): string | undefined => {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return 'not a URL'
  }
  if (url.username !== '' || url.password !== '') return 'a URL here holds no user and no password'
  if (text.includes('#')) return 'a URL here holds no fragment'
  if (url.protocol === 'https:') return undefined
  if (url.protocol !== 'http:') return `expected https, found ${url.protocol.slice(0, -1)}`
  return isLoopbackHost(url.hostname) ? undefined : 'expected https: plain http is only for this machine'
}
