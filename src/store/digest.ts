/** Canonical JSON (RFC 8785), SHA-256, and the tagged lines that the specification's identities are made of. */
import { createHash } from 'node:crypto'
import { canonicalize } from 'json-canonicalize'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }

/**
 * RFC 8785 text of plain JSON data. Throws a `TypeError` for anything else: the library accepts functions, `undefined` array
 * members, non-finite numbers and lone surrogates, and an identity over those would not mean the same to another reader.
 * Object members that are `undefined` count as absent.
 */
export const canonicalJson = (value: unknown): string => canonicalize(plain(value, '$'))

const plain = (value: unknown, at: string): unknown => {
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw new TypeError(`${at}: lone surrogate`)
    return value
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`${at}: ${value} is not a JSON number`)
    return value
  }
  if (Array.isArray(value)) return Array.from(value, (item, index) => plain(item, `${at}[${index}]`))
  if (typeof value === 'object') {
    const prototype = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== null) throw new TypeError(`${at}: not a plain object`)
    const copy: Record<string, unknown> = Object.create(null)
    for (const [key, member] of Object.entries(value)) {
      if (!key.isWellFormed()) throw new TypeError(`${at}: lone surrogate in a key`)
      if (member !== undefined) copy[key] = plain(member, `${at}.${key}`)
    }
    return copy
  }
  throw new TypeError(`${at}: ${typeof value} is not JSON`)
}

/** Lowercase hexadecimal SHA-256 (64 digits). A string is hashed as UTF-8. */
export const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** SHA-256 over the canonical JSON of a value: how every hash of facts 8.3 is made here. */
export const sha256Json = (value: unknown): string => sha256(canonicalJson(value))
