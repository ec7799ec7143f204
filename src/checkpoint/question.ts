/** Open questions and the declarations that answer them: their shape, how they change, and their identity (facts 4.3, 5). */
import type { RelatedPath } from '../change/facts.ts'
import { sha256 } from '../store/digest.ts'

export interface StoredDeclaration {
  readonly conclusion: 'met' | 'unmet'
  readonly definitionHash: string
  readonly subject: string
  readonly why?: string
}

export interface StoredQuestion {
  readonly checkpoint: string
  readonly definitionHash: string
  readonly subject: string
  readonly declaration?: StoredDeclaration
}

/** What the author concluded. `why` is opaque: shown only through escaping, never executed, never in the Logbook (facts 5.3). */
export type Conclusion =
  | { readonly conclusion: 'met'; readonly why?: never }
  | { readonly conclusion: 'unmet'; readonly why: string }

/** A conclusion with what it is bound to, and when it was first recorded (ISO 8601, UTC). */
export type Declaration = StoredDeclaration & Conclusion & { readonly declaredAt: string }

/** One question of one branch (facts 5.1). Instants are ISO 8601 in UTC. */
export interface OpenQuestion extends StoredQuestion {
  /** Sorted by code unit. */
  readonly matchedPaths: readonly string[]
  readonly relatedPaths: readonly RelatedPath[]
  readonly openedAt: string
  readonly reopenedAt?: string
  readonly declaration?: Declaration
}

/** The questions of one branch by checkpoint id. */
export type Questions = ReadonlyMap<string, OpenQuestion>

/** What a question is bound to now: the resolved definition and the matched content (facts 3, 4). */
export interface Binding {
  readonly checkpoint: string
  readonly definitionHash: string
  readonly subject: string
  readonly matchedPaths: readonly string[]
  readonly relatedPaths: readonly RelatedPath[]
}

export type Transition = 'opened' | 'carried' | 'reopened'

const sameBinding = (
  one: Pick<StoredQuestion, 'definitionHash' | 'subject'>,
  other: Pick<StoredQuestion, 'definitionHash' | 'subject'>,
): boolean => one.definitionHash === other.definitionHash && one.subject === other.subject

/** The declaration as long as it answers what the question is bound to now (facts 5.2, "declaration current"). */
export const currentDeclaration = (
  question: OpenQuestion,
  binding: Pick<StoredQuestion, 'definitionHash' | 'subject'> = question,
): Declaration | undefined =>
  question.declaration && sameBinding(question.declaration, binding) ? question.declaration : undefined

/**
 * A stop that fires: opens the question, carries it, or reopens it in place with its old declaration (facts 5.2). A carried
 * question is the very same value.
 */
export const reconcile = (
  standing: OpenQuestion | undefined,
  binding: Binding,
  now: string,
): { readonly transition: Transition; readonly question: OpenQuestion } => {
  if (standing === undefined) return { transition: 'opened', question: { ...binding, openedAt: now } }
  if (sameBinding(standing, binding)) return { transition: 'carried', question: standing }
  return { transition: 'reopened', question: { ...standing, ...binding, reopenedAt: now } }
}

/**
 * What a question is bound to when its trigger no longer holds, or its `when` passes: the paths it was asked about, with
 * their state of now. Once opened it outlives a later veto (facts 5.2).
 */
export const keptBinding = (standing: OpenQuestion, definitionHash: string, subject: string): Binding => ({
  checkpoint: standing.checkpoint,
  definitionHash,
  subject,
  matchedPaths: standing.matchedPaths,
  relatedPaths: standing.relatedPaths,
})

/**
 * Records a conclusion, bound to what the question is bound to. The same evidence again is the very same value, with its
 * first timestamp (facts 5.2).
 */
export const declare = (standing: OpenQuestion, answer: Conclusion, now: string): OpenQuestion => {
  const { declaration } = standing
  if (
    declaration &&
    sameBinding(declaration, standing) &&
    declaration.conclusion === answer.conclusion &&
    declaration.why === answer.why
  ) {
    return standing
  }
  const bound = { definitionHash: standing.definitionHash, subject: standing.subject, declaredAt: now }
  return {
    ...standing,
    declaration:
      answer.conclusion === 'met'
        ? { conclusion: 'met', ...bound }
        : { conclusion: 'unmet', why: answer.why, ...bound },
  }
}

/** Brings the questions of a branch up to date with what is bound now. Without a change the map is the very same value. */
export const settle = (
  questions: Questions,
  bindings: readonly Binding[],
  now: string,
): { readonly questions: Questions; readonly transitions: ReadonlyMap<string, Transition> } => {
  const transitions = new Map<string, Transition>()
  const next = new Map(questions)
  for (const binding of bindings) {
    const { transition, question } = reconcile(next.get(binding.checkpoint), binding, now)
    transitions.set(binding.checkpoint, transition)
    next.set(binding.checkpoint, question)
  }
  const changed = [...transitions.values()].some(transition => transition !== 'carried')
  return { questions: changed ? next : questions, transitions }
}

/**
 * Records several conclusions; ids without a question come back in `missing`, and then nothing is recorded
 * (`no_open_question`, facts 5.2). Without a change the map is the very same value.
 */
export const declareAll = (
  questions: Questions,
  answers: readonly (Conclusion & { readonly checkpoint: string })[],
  now: string,
): { readonly questions: Questions; readonly missing: readonly string[] } => {
  const missing = answers.flatMap(({ checkpoint }) => (questions.has(checkpoint) ? [] : [checkpoint]))
  if (missing.length > 0) return { questions, missing }
  const next = new Map(questions)
  let changed = false
  for (const answer of answers) {
    const standing = next.get(answer.checkpoint)
    if (standing === undefined) continue
    const question = declare(standing, answer, now)
    changed ||= question !== standing
    next.set(answer.checkpoint, question)
  }
  return { questions: changed ? next : questions, missing }
}

/**
 * Declaration-evidence identity: 64 hexadecimal digits over every stored question and its declaration, without instants. No
 * questions have one stable value everywhere (facts 4.3).
 */
export const evidenceIdentity = (questions: readonly StoredQuestion[]): string => {
  const lines = questions.map(({ checkpoint, definitionHash, subject, declaration }) => {
    const declared = declaration
      ? [declaration.conclusion, declaration.definitionHash, declaration.subject, declaration.why ?? ''].join('\0')
      : '-'
    return [checkpoint, definitionHash, subject, declared].join('\0')
  })
  return sha256(['checkpoint-evidence/v1', ...lines.sort()].join('\n'))
}
