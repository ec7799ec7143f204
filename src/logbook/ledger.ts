/** What a capture has found so far: whenever it has to stop, this is its evidence. */
import type { Limit } from '../git/bounded.ts'
import {
  type CaptureBoundary,
  EXCLUSIONS,
  type Incomplete,
  type Keyed,
  STATE_COMPONENTS,
  type StateEvidence,
  VALIDATION_VERSION,
} from './event.ts'

type Component = (typeof STATE_COMPONENTS)[number]

type Writable<T> = { -readonly [K in keyof T]: T[K] }

export interface Ledger {
  readonly counts: Writable<StateEvidence['counts']>
  readonly bytes: Writable<Required<StateEvidence['bytes']>>
  readonly components: Partial<Record<Component, Keyed>>
  /**
   * Writes down why something is missing, once. A limit is the budget's, whatever was being looked at, and being cancelled is
   * nobody's.
   */
  readonly lacks: (category: Incomplete['category'], reason: Incomplete['reason'] | 'cancelled') => void
  /** The evidence as it stands. It is complete with a `digest`, when nothing is missing. */
  readonly evidence: (capture: CaptureBoundary, elapsedMs: number, digest?: Keyed) => StateEvidence
}

const LIMITS: readonly string[] = ['time-limit', 'byte-limit', 'path-limit'] satisfies Limit[]

export const openLedger = (): Ledger => {
  const counts = { index_entries: 0, tracked_paths: 0, untracked_paths: 0, submodules: 0 }
  const bytes = { index_manifest: 0, tracked_content: 0, untracked_content: 0, git_output: 0 }
  const components: Partial<Record<Component, Keyed>> = {}
  const lacking = new Map<string, Incomplete>()
  return {
    counts,
    bytes,
    components,
    lacks: (named, why) => {
      const reason = why === 'cancelled' ? 'unavailable' : why
      const category = why === 'cancelled' ? 'internal' : LIMITS.includes(why) ? 'budget' : named
      lacking.set(`${category}/${reason}`, { category, reason })
    },
    evidence: (capture, elapsedMs, digest) => {
      const complete = digest !== undefined && lacking.size === 0
      const had = Object.fromEntries(
        STATE_COMPONENTS.flatMap(name => (components[name] ? [[name, components[name]]] : [])),
      )
      // In one order, so that equal evidence reads equal whichever part was quicker.
      const incomplete = [...lacking.keys()].sort().flatMap(name => lacking.get(name) ?? [])
      if (!complete && incomplete.length === 0) incomplete.push({ category: 'internal', reason: 'unavailable' })
      return {
        version: VALIDATION_VERSION,
        complete,
        capture,
        elapsed_ms: Math.max(0, Math.round(elapsedMs)),
        ...(complete ? { digest } : {}),
        ...(Object.keys(had).length > 0 ? { components: had } : {}),
        counts: { ...counts },
        bytes: { ...bytes },
        ...(complete ? {} : { incomplete }),
        exclusions: [...EXCLUSIONS],
      }
    },
  }
}
