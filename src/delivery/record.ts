/**
 * One record of a delivery (facts 15): canonical JSON, addressed by its content, never changed. A stage's record carries its exit
 * evidence; a move without a stage, or another source commit, is a record too.
 */
import { Refusal } from '../errors.ts'
import { canonicalJson, sha256 } from '../store/digest.ts'
import { violations } from '../store/schema.ts'
import type { CheckpointId, State } from './stage.ts'

export const RECORD_SCHEMA = 1

/** Evidence that cannot change under its reader. */
export type Evidence = { readonly part: string } & (
  | { readonly kind: 'statement'; readonly text: string }
  /** Full id of a Git object of the repository. */
  | { readonly kind: 'git'; readonly oid: string; readonly name?: string }
  /** SHA-256 of some bytes, with what they are called and, where they can be had, where. */
  | { readonly kind: 'digest'; readonly sha256: string; readonly name?: string; readonly url?: string }
)

/** What may come after a record. */
export interface Next {
  readonly checkpoints: readonly CheckpointId[]
  readonly states: readonly State[]
}

export interface DeliveryRecord {
  readonly schema: typeof RECORD_SCHEMA
  /** Name of the delivery, the last part of its ref. */
  readonly delivery: string
  /** Identity of the repository: its configured name, or the URL of its remote. */
  readonly repository: string
  /** 1, 2, 3, ... without a gap; the only order of records. */
  readonly generation: number
  /** `recordId` of the generation before; `null` for the first. */
  readonly previous: string | null
  readonly checkpoint: CheckpointId | null
  /** After this record. */
  readonly state: State
  readonly sourceCommit: string
  readonly corpusRevision?: string
  readonly gateIds: readonly string[]
  readonly evidence: readonly Evidence[]
  readonly blockers: readonly string[]
  /** How what this record lets happen is taken back. */
  readonly rollback: string
  readonly next: Next
  /**
   * The other side of a decision between two that went on from one generation: `recordId` and generation of its newest record.
   * `previous` is the side that was kept.
   */
  readonly resolves?: { readonly record: string; readonly generation: number }
  /** Why a move was made that no stage makes. */
  readonly reason?: string
  /** Whose word a human acceptance rests on. */
  readonly acceptedBy?: 'conversation' | 'terminal' | 'protected-environment'
  /** The run of an automated build that made this record; together they are its identity there. */
  readonly run?: { readonly id: string; readonly attempt: number }
  /** When it was made, for diagnosis alone: nothing is ordered or decided by it. */
  readonly observedAt: string
}

/** The bytes of a record: canonical JSON and one newline. */
export const recordBytes = (record: DeliveryRecord): string => `${canonicalJson(record)}\n`

/** `sha256:` and 64 digits over the bytes. */
export const recordId = (record: DeliveryRecord): string => `sha256:${sha256(recordBytes(record))}`

/**
 * A record out of bytes that came from elsewhere. Refuses with `delivery_invalid`, which names `where` and the first thing that
 * is wrong: not JSON, not canonical, a newer version, or against the contract.
 */
export const parseRecord = (bytes: Buffer, where: string): DeliveryRecord => {
  const wrong = (problem: string): never => {
    throw new Refusal('delivery_invalid', { where, problem })
  }
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return wrong('it is no JSON text in UTF-8')
  }
  const version = (value as { readonly schema?: unknown } | null)?.schema
  if (typeof version === 'number' && version > RECORD_SCHEMA) {
    throw new Refusal('store_newer', { path: where, version })
  }
  const [first] = violations('discern-delivery-checkpoint', value)
  if (first) return wrong(`${first.path || '/'} ${first.message}`)
  const record = value as DeliveryRecord
  return recordBytes(record) === bytes.toString('utf8') ? record : wrong('it is not the canonical text of its record')
}
