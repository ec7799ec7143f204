/**
 * How a verb hands to the Logbook what its answer has no place for. It rides on the answer itself, or on the partial answer of a
 * refusal, under an enumerable symbol: spreading an object keeps it inside the process, while JSON and the contracts of `schema/`
 * never see a symbol (facts 12.5).
 */
import { Refusal, type Slug } from '../errors.ts'
import type { LandingRecord, PinEvent, StandardRecord, Validation, VerbEvent } from './event.ts'

const RECORDING: unique symbol = Symbol('recording')

/** A question as the verb knows it; its hashes are keyed before anything is written. */
export interface QuestionFacts {
  readonly id: string
  readonly definition: string
  readonly subject: string
}

export interface DeclarationFacts extends QuestionFacts {
  readonly conclusion: 'met' | 'unmet'
  readonly revised: boolean
  readonly elapsedMs: number
}

export interface CheckpointFacts {
  readonly fired: readonly QuestionFacts[]
  readonly reopened: readonly QuestionFacts[]
  /** Ids of advisory checkpoints that fired. */
  readonly advise: readonly string[]
  readonly declared: readonly DeclarationFacts[]
}

export interface Recording {
  /** Whether the work tree was clean when the verb looked. */
  readonly clean?: boolean
  readonly change?: NonNullable<VerbEvent['change']>
  readonly scopes?: readonly string[]
  readonly standards?: readonly StandardRecord[]
  readonly update?: NonNullable<VerbEvent['update']>
  readonly landing?: readonly LandingRecord[]
  readonly pins?: readonly Pick<PinEvent, 'standard' | 'from' | 'to' | 'measured'>[]
  readonly checkpoints?: CheckpointFacts
  readonly validation?: Validation
}

interface Carrier {
  readonly [RECORDING]?: Recording
}

/** What rides on an answer; empty when nothing does. */
export const recordingOf = (value: object): Recording => (value as Carrier)[RECORDING] ?? {}

/** The same answer with more for the Logbook on it. */
export const withRecording = <T extends object>(value: T, recording: Recording): T => ({
  ...value,
  [RECORDING]: { ...recordingOf(value), ...recording },
})

/** The same refusal with more for the Logbook on its partial answer. */
export const carrying = <S extends Slug>({ slug, detail, partial }: Refusal<S>, recording: Recording): Refusal<S> =>
  new Refusal(slug, detail, withRecording(partial, recording))
