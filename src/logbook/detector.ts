/**
 * What a detector is and what it may say (facts 12.6). A detector sees each event of the population once, keeps only what it
 * needs, and in the end says what it saw, out of how many, what it does not know, and what to do. Nothing is decided by it.
 */
import type { Occasion } from './population.ts'

export type Family = 'trajectory' | 'gate-fit' | 'behavior' | 'funnel'

/** One dimension of what was compared: at most `CONDITION_VALUE_LIMIT_COUNT` of its values, then how many there are and are left out. */
export interface Condition {
  readonly condition: string
  readonly values: readonly string[]
  readonly distinct?: number
  readonly omitted?: number
}

/** What a finding rests on. There is no confidence score: these counts are all there is to know. */
export interface Basis {
  readonly count: number
  readonly denominator: number
  /** What is counted. */
  readonly unit: string
  /** Versions of git discern that wrote what was counted. */
  readonly versions: readonly string[]
  readonly matched: readonly Condition[]
  readonly differing: readonly Condition[]
  /** What was left out, by reason. */
  readonly excluded: Readonly<Record<string, number>>
  /** What equal figures do not say. */
  readonly limitations: readonly string[]
  readonly evidence: 'observed' | 'estimated'
}

export interface Point {
  readonly at: string
  readonly value: number
}

export interface Finding {
  /** The job, checkpoint, standard, stage or branch it is about. */
  readonly about: string
  /** One sentence: what was seen, out of how many. */
  readonly seen: string
  readonly next_action: string
  readonly basis: Basis
  /** Where a trajectory is shown: at most `SERIES_LIMIT_COUNT` points, oldest first, in `series_unit`. */
  readonly series?: readonly Point[]
  readonly series_unit?: string
}

export type Conclusion =
  | { readonly status: 'fired'; readonly findings: readonly Finding[] }
  | { readonly status: 'quiet' }
  /** `needs`: what is there of what is needed, in a few words. */
  | { readonly status: 'insufficient-evidence'; readonly needs: string }

/** What the project says today, for what no event can tell. */
export interface Known {
  /** Ids of the checkpoints that govern; `undefined` where they cannot be read. */
  readonly checkpoints: readonly string[] | undefined
}

/** One run of a detector: fed event by event, oldest first. */
export interface Observer {
  readonly observe: (occasion: Occasion) => void
  readonly conclude: () => Conclusion
}

export interface Detector {
  readonly name: string
  readonly family: Family
  /** Fewest of `counts` before it says anything. */
  readonly threshold: number
  readonly counts: string
  /** What it looks for, as a person would ask. */
  readonly question: string
  readonly start: (known: Known) => Observer
}

/** Findings, or quiet where something could be judged, or else what is missing. */
export const concluded = (findings: readonly Finding[], judged: boolean, needs: string): Conclusion =>
  findings.length > 0
    ? { status: 'fired', findings }
    : judged
      ? { status: 'quiet' }
      : { status: 'insufficient-evidence', needs }
