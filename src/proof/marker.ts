/** The worktree's gate-proof marker: what links a clean authored source to its complete evidence (facts 7.2). */
import { Refusal, reasonOf } from '../errors.ts'
import { adminPath, readAdmin, removeAdmin, writeAdmin } from '../store/admin.ts'
import { assertValid, violations } from '../store/schema.ts'
import type { Mode, ProofClaim } from './claim.ts'
import { completionIds } from './records.ts'

interface Directories {
  readonly gitDir: string
  readonly commonDir: string
}

export interface Marker {
  readonly head: string
  readonly mode: Mode
  readonly completion?: { readonly candidate_id: string; readonly proof_id: string }
  readonly proof?: { readonly claim: ProofClaim; readonly line: string; readonly markdown: string }
  readonly evidence?: string
}

/** A marker with everything that reuse and acceptance need. */
export type CompleteMarker = Required<Marker>

/** What the marker says about the checkout as it is now; the first condition of facts 7.2 that holds decides. */
export type MarkerInspection =
  | { readonly status: 'unavailable' | 'read_failed'; readonly reason: string }
  | { readonly status: 'missing' }
  | { readonly status: 'newer'; readonly version: number }
  | { readonly status: 'stale'; readonly reason: string; readonly head: string }
  | { readonly status: 'dirty'; readonly paths: readonly string[] }
  | { readonly status: 'report_only'; readonly marker: Marker }
  | { readonly status: 'honored'; readonly marker: Marker; readonly evidenceUnavailable: boolean }

export interface MarkerSituation {
  readonly head: string | undefined
  /** Every uncommitted path, untracked ones included. */
  readonly dirty: readonly string[]
  /** Declaration-evidence identity now, or `undefined` when it cannot be computed. */
  readonly evidence: string | undefined
}

/** Reads and judges the marker. Never throws, never writes. */
export const inspectMarker = async (directories: Directories, now: MarkerSituation): Promise<MarkerInspection> => {
  const read = await readAdmin(directories, 'gate-proof')
  switch (read.status) {
    case 'unavailable':
      return { status: 'read_failed', reason: read.reason }
    case 'missing':
    case 'invalid':
      return { status: 'missing' }
    case 'newer':
      return { status: 'newer', version: read.version }
    case 'ok':
      break
  }
  if (!hasMarkerShape(read.value)) return { status: 'read_failed', reason: 'its structure is broken' }
  const marker = read.value as unknown as Marker
  if (marker.head !== now.head) return { status: 'stale', reason: 'HEAD is another commit', head: marker.head }
  if (now.dirty.length > 0) return { status: 'dirty', paths: now.dirty }
  if (marker.proof && !marker.head.startsWith(marker.proof.claim.head)) {
    return { status: 'read_failed', reason: 'the stored Proof is for another commit' }
  }
  if (marker.mode === 'report') return { status: 'report_only', marker }
  if (now.evidence !== undefined && marker.evidence !== undefined && marker.evidence !== now.evidence) {
    return { status: 'stale', reason: 'a checkpoint declaration changed', head: marker.head }
  }
  return { status: 'honored', marker, evidenceUnavailable: now.evidence === undefined }
}

type Members = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const areTexts = (value: unknown, keys: readonly string[]): boolean =>
  isObject(value) && keys.every(key => typeof value[key] === 'string')

/**
 * Whether everything that is shown of a marker is there. The whole contract is checked where the marker counts, in
 * `completeMarker`: reading it for `status` must not cost more than a git process.
 */
const hasMarkerShape = (value: Members): boolean => {
  const { mode, completion, proof, evidence } = value
  if (!areTexts(value, ['head', 'mode']) || (mode !== 'strict' && mode !== 'report')) return false
  if (completion !== undefined && !areTexts(completion, ['candidate_id', 'proof_id'])) return false
  if (evidence !== undefined && typeof evidence !== 'string') return false
  if (proof === undefined) return true
  if (!isObject(proof) || !areTexts(proof, ['line', 'markdown'])) return false
  const { claim } = proof
  if (!isObject(claim) || !areTexts(claim, ['branch', 'trunk', 'head']) || !isObject(claim['completion'])) return false
  return areTexts(claim['completion']['candidate'], ['predecessor', 'head', 'policy'])
}

/** The marker with all three parts that reuse and acceptance need, to the letter of its contract, or `undefined` (document 000). */
export const completeMarker = (marker: Marker): CompleteMarker | undefined =>
  marker.completion && marker.proof && marker.evidence && violations('discern-gate-proof', marker).length === 0
    ? (marker as CompleteMarker)
    : undefined

export type MarkerWrite =
  | { readonly status: 'recorded' | 'skipped_head_moved' | 'skipped_dirty' | 'cleared' }
  | { readonly status: 'record_failed' | 'clear_failed'; readonly reason: string }

/** Stamps the marker of a green run. A report never replaces a strict marker of the same head. */
export const writeMarker = async (
  directories: Directories,
  head: string,
  proof: { readonly claim: ProofClaim; readonly line: string; readonly markdown: string },
  evidence: string,
): Promise<MarkerWrite> => {
  const mode: Mode = proof.claim.mode ?? 'strict'
  const marker: Marker = { head, mode, completion: completionIds(proof.claim.completion), proof, evidence }
  try {
    assertValid('discern-gate-proof', { version: 1, ...marker })
    if (mode === 'report') {
      const standing = await readAdmin(directories, 'gate-proof')
      if (standing.status === 'ok' && standing.value['head'] === head && standing.value['mode'] === 'strict') {
        return { status: 'recorded' }
      }
    }
    await writeAdmin(directories, 'gate-proof', marker)
    return { status: 'recorded' }
  } catch (error) {
    if (error instanceof Refusal) throw error
    return { status: 'record_failed', reason: reasonOf(error) }
  }
}

/** A failed gate leaves no marker (fail closed). A newer version's marker is kept and refused. */
export const clearMarker = async (directories: Directories): Promise<MarkerWrite> => {
  try {
    await removeAdmin(directories, 'gate-proof')
    return { status: 'cleared' }
  } catch (error) {
    if (error instanceof Refusal) throw error
    return { status: 'clear_failed', reason: reasonOf(error) }
  }
}

/** Refuses with `store_newer` when a newer git discern wrote the marker: it is neither used nor replaced. */
export const refuseNewerMarker = (directories: Directories, inspection: MarkerInspection): void => {
  if (inspection.status === 'newer') {
    throw new Refusal('store_newer', { path: adminPath(directories, 'gate-proof'), version: inspection.version })
  }
}
