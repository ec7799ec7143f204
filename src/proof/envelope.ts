/** The DSSE envelope (protocol v1.0.2) around one Proof, unsigned: how it is written, and every way a note can be read. */
import { NOTE_LIMIT_BYTES, PROOF_HEAD_DIGITS } from '../limits.ts'
import { canonicalJson } from '../store/digest.ts'
import { assertValid, violations } from '../store/schema.ts'
import { completionFault, type ProofPayload } from './claim.ts'

/** Identifies the contract and its compatibility major (document 000). */
export const PAYLOAD_TYPE = 'https://discern.sh/schema/v1/discern-proof-note.schema.json#/$defs/DiscernProofNotePayload'

/** The bytes that a DSSE v1.0.2 signature covers: lengths count bytes, and the payload is never parsed and written again. */
export const pae = (payloadType: string, payload: Uint8Array): Buffer => {
  const type = Buffer.from(payloadType, 'utf8')
  return Buffer.concat([
    Buffer.from(`DSSEv1 ${type.length} `, 'ascii'),
    type,
    Buffer.from(` ${payload.length} `, 'ascii'),
    payload,
  ])
}

/**
 * Standard or URL-safe Base64, padded or not; `undefined` for mixed alphabets, wrong padding, stray characters or bits
 * (facts 11.3).
 */
export const decodeBase64 = (text: string): Buffer | undefined => {
  const body = text.replace(/=*$/, '')
  const padding = text.length - body.length
  if (!/^[A-Za-z0-9+/]*$/.test(body) && !/^[A-Za-z0-9_-]*$/.test(body)) return undefined
  if (body.length % 4 === 1) return undefined
  const needed = (4 - (body.length % 4)) % 4
  if (padding !== 0 && padding !== needed) return undefined
  const bytes = Buffer.from(body, 'base64url')
  // Trailing bits that no byte owns must be zero, or two texts would mean the same bytes.
  return bytes.toString('base64url') === body.replaceAll('+', '-').replaceAll('/', '_') ? bytes : undefined
}

/** The note body: one JSON object on one line and a newline (facts 11.1). Throws when the payload breaks its contract. */
export const encodeEnvelope = (payload: ProofPayload): string => {
  assertValid('discern-proof-payload', payload)
  const { subject, proof, presentation, acceptance } = payload
  const ordered = { subject, proof, presentation, ...(acceptance ? { acceptance } : {}) }
  const envelope = {
    payloadType: PAYLOAD_TYPE,
    payload: Buffer.from(JSON.stringify(ordered), 'utf8').toString('base64'),
    signatures: [],
  }
  assertValid('discern-proof-note', envelope)
  return `${JSON.stringify(envelope)}\n`
}

/** What the bytes of one note turned out to be, for the commit they are attached to. */
export type EnvelopeRead =
  /** Readable and bound to the commit. Not verified: nothing here is signed. */
  | { readonly kind: 'proof'; readonly payload: ProofPayload }
  /** Another contract; kept, never called missing. */
  | { readonly kind: 'unsupported'; readonly format: string }
  /** Bound to the commit, but from before the evidence that is required today. */
  | { readonly kind: 'stale'; readonly reason: string }
  /** A valid Proof of some other commit, for example copied here by `notes.rewriteRef` (case 17). */
  | { readonly kind: 'foreign'; readonly commit: string }
  /** No Proof of ours. */
  | { readonly kind: 'malformed'; readonly reason: string }

type Members = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const parseObject = (bytes: Uint8Array): Members | string => {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
    return isObject(value) ? value : 'not a JSON object'
  } catch (error) {
    return error instanceof SyntaxError ? 'not one JSON object' : 'not UTF-8'
  }
}

/** The decoded payload of a well-formed envelope, before any rule about its content. */
const openEnvelope = (bytes: Uint8Array): EnvelopeRead | Members => {
  if (bytes.length > NOTE_LIMIT_BYTES) return { kind: 'malformed', reason: `larger than ${NOTE_LIMIT_BYTES} bytes` }
  const envelope = parseObject(bytes)
  if (typeof envelope === 'string') return { kind: 'malformed', reason: envelope }
  const { payloadType, payload, signatures } = envelope
  if (typeof payloadType !== 'string') return { kind: 'malformed', reason: 'no payloadType' }
  if (payloadType !== PAYLOAD_TYPE) return { kind: 'unsupported', format: payloadType }
  if (!Array.isArray(signatures)) return { kind: 'malformed', reason: 'no signatures' }
  if (violations('discern-proof-note', envelope).length > 0) return { kind: 'malformed', reason: 'not an envelope' }
  const decoded = decodeBase64(String(payload))
  if (!decoded) return { kind: 'malformed', reason: 'the payload is not Base64' }
  const claim = parseObject(decoded)
  return typeof claim === 'string' ? { kind: 'malformed', reason: `the payload is ${claim}` } : claim
}

const isRead = (value: EnvelopeRead | Members): value is EnvelopeRead => typeof value['kind'] === 'string'

/**
 * Reads the note attached to `commit` by the rules of document 000 and facts 11.3, in their order: contract, envelope,
 * binding, missing pre-launch fields, closed vocabularies, complete evidence, settled authority. Never throws.
 */
export const readEnvelope = (bytes: Uint8Array, commit: string): EnvelopeRead => {
  const opened = openEnvelope(bytes)
  if (isRead(opened)) return opened
  const { subject, proof, presentation, acceptance } = opened
  if (!isObject(subject) || typeof subject['commit'] !== 'string') return { kind: 'malformed', reason: 'no subject' }
  if (!isObject(proof) || !isObject(presentation))
    return { kind: 'malformed', reason: 'no split proof and presentation' }
  const head = proof['head']
  if (typeof head !== 'string' || head === '') return { kind: 'malformed', reason: 'no proof.head' }
  const bound = subject['commit']
  if (!/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(bound)) return { kind: 'malformed', reason: 'the subject is no commit id' }
  if (bound.length !== commit.length) return { kind: 'unsupported', format: 'a subject of the other object format' }
  if (bound !== commit) return { kind: 'foreign', commit: bound }
  if (!commit.startsWith(head)) return { kind: 'foreign', commit: head }
  if (proof['completion'] === undefined) return { kind: 'stale', reason: 'no complete candidate evidence' }
  if (isObject(acceptance) && acceptance['authority'] === undefined) {
    return { kind: 'stale', reason: 'no settled landing authority' }
  }
  const violation = violations('discern-proof-payload', opened)[0]
  if (violation) return { kind: 'malformed', reason: `${violation.path || '/'} ${violation.message}` }
  const payload = opened as unknown as ProofPayload
  const fault = completionFault(payload)
  return fault ? { kind: 'malformed', reason: fault } : { kind: 'proof', payload }
}

/** Abbreviation that a claim carries (facts 9.1). */
export const abbreviate = (commit: string): string => commit.slice(0, PROOF_HEAD_DIGITS)

/**
 * Whether two notes make the same claim: subject and canonical `proof`, whatever their presentation, acceptance or order of
 * members (facts 16.3 row 2). Unreadable bytes make no claim.
 */
export const sameClaim = (left: Uint8Array, right: Uint8Array): boolean => {
  const identity = claimIdentity(left)
  return identity !== undefined && identity === claimIdentity(right)
}

/** The write identity of a note as text, or `undefined` when it makes no claim that could be compared. */
export const claimIdentity = (bytes: Uint8Array): string | undefined => {
  const opened = openEnvelope(bytes)
  if (isRead(opened)) return undefined
  const { subject, proof } = opened
  if (!isObject(subject) || !isObject(proof)) return undefined
  try {
    return canonicalJson([subject['commit'] as string, proof])
  } catch {
    return undefined
  }
}
