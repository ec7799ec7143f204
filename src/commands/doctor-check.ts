/** One thing that `doctor` tests: a row of the table, and what it can answer. */
import type { DoctorFacts } from './doctor-facts.ts'

/** `warning`: works, with a reservation. `failed`: does not do what people rely on. Both say what to do. */
export type Finding =
  | { readonly verdict: 'ok'; readonly evidence: string }
  | { readonly verdict: 'warning' | 'failed'; readonly evidence: string; readonly next_action: string }

export interface Check {
  readonly name: string
  /** What is tested, as a person would ask it. */
  readonly tests: string
  /** One finding or several; none when there is nothing to test here. Writes nothing. */
  readonly run: (facts: DoctorFacts) => Promise<readonly Finding[]> | readonly Finding[]
}

export const ok = (evidence: string): Finding => ({ verdict: 'ok', evidence })
export const warning = (evidence: string, next_action: string): Finding => ({
  verdict: 'warning',
  evidence,
  next_action,
})
export const failed = (evidence: string, next_action: string): Finding => ({ verdict: 'failed', evidence, next_action })
