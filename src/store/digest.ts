/** Canonical JSON (RFC 8785), SHA-256, keyed digests, and the tagged lines that the specification's identities are made of. */
import { createHash, createHmac, type KeyObject } from 'node:crypto'
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

/** The key of a repository (facts 12.5). An object of the platform that neither prints nor serialises its bytes. */
export type Key = KeyObject

/** One member of what is digested: a name of ours and a value; text counts as UTF-8. */
export type Field = readonly [name: string, value: string | Uint8Array]

export interface KeyedStream {
  /** Takes one more field. Throws a `TypeError` for a lone surrogate, which has no UTF-8. */
  readonly add: (name: string, value: string | Uint8Array) => void
  /** 64 hexadecimal digits; nothing may be added afterwards. */
  readonly digest: () => string
}

const FRAMES_BYTES = 64 * 1024

/**
 * HMAC-SHA-256 over fields, each framed as: length of the name (32-bit big-endian), name, length of the value, value (facts
 * 12.4). The first frame is the domain word as a field named `domain`, so that no two domains share an input, and no two lists
 * of fields. Memory stays the same however many fields come.
 */
export const keyedStream = (key: Key, domain: string): KeyedStream => {
  const hmac = createHmac('sha256', key)
  const buffer = Buffer.allocUnsafe(FRAMES_BYTES)
  let at = 0
  const put = (part: string | Uint8Array): void => {
    if (typeof part === 'string' && !part.isWellFormed()) throw new TypeError('lone surrogate')
    const length = typeof part === 'string' ? Buffer.byteLength(part, 'utf8') : part.length
    if (buffer.length - at < length + 4) {
      hmac.update(buffer.subarray(0, at))
      at = 0
    }
    at = buffer.writeUInt32BE(length, at)
    if (buffer.length - at < length) {
      hmac.update(buffer.subarray(0, at)).update(part)
      at = 0
    } else if (typeof part === 'string') at += buffer.write(part, at, 'utf8')
    else {
      buffer.set(part, at)
      at += length
    }
  }
  const add = (name: string, value: string | Uint8Array): void => {
    put(name)
    put(value)
  }
  add('domain', domain)
  return { add, digest: () => hmac.update(buffer.subarray(0, at)).digest('hex') }
}

/** `keyedStream` over a few fields at once. */
export const keyed = (key: Key, domain: string, fields: readonly Field[]): string => {
  const stream = keyedStream(key, domain)
  for (const [name, value] of fields) stream.add(name, value)
  return stream.digest()
}
