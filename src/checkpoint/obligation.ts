/** What is still owed for a checkpoint: one table for every surface, so that they cannot disagree (facts 5.4). */
import type { CheckpointDefinition } from './definition.ts'
import { currentDeclaration, type OpenQuestion } from './question.ts'
import type { QuestionRead } from './question-store.ts'

export type ObligationWord =
  | 'none'
  | 'unknown'
  | 'will_open'
  | 'awaiting_declaration'
  | 'reopened'
  | 'declared_met'
  | 'declared_unmet'

export type ObligationExtra =
  | 'store_unavailable'
  | 'diff_unavailable'
  | 'when_pending'
  | 'subject_unavailable'
  | 'variance_required'

export interface Obligation {
  readonly obligation: ObligationWord
  readonly extra: ObligationExtra | undefined
}

export interface ObligationInput {
  readonly definition: Pick<CheckpointDefinition, 'mode' | 'hash'>
  readonly store: QuestionRead['status']
  readonly entry: OpenQuestion | undefined
  /** Whether the structural trigger holds; `unavailable` is neither. */
  readonly decision: 'holds' | 'vetoed' | 'unavailable'
  /** The trigger holds, and its `when` was not run. */
  readonly whenPending: boolean
  /**
   * The subject recomputed now: of what matches, or of the stored paths where nothing is matched. `undefined` where nobody asked,
   * which is only right without an entry.
   */
  readonly subject: { readonly known: string } | { readonly unavailable: string } | undefined
}

interface Rule {
  readonly when: (input: ObligationInput) => boolean
  readonly obligation: ObligationWord
  readonly extra?: ObligationExtra
}

const current = ({ entry, definition, subject }: ObligationInput) =>
  entry && subject && 'known' in subject
    ? currentDeclaration(entry, { definitionHash: definition.hash, subject: subject.known })
    : undefined

/** The first rule that applies decides. */
const RULES: readonly Rule[] = [
  { when: i => i.definition.mode === 'advise', obligation: 'none' },
  { when: i => i.store !== 'ok' && i.store !== 'missing', obligation: 'unknown', extra: 'store_unavailable' },
  { when: i => !i.entry && i.decision === 'unavailable', obligation: 'unknown', extra: 'diff_unavailable' },
  { when: i => !i.entry && i.decision === 'vetoed', obligation: 'none' },
  { when: i => !i.entry && i.whenPending, obligation: 'unknown', extra: 'when_pending' },
  {
    when: i => (i.entry && !i.subject) || (i.subject !== undefined && 'unavailable' in i.subject),
    obligation: 'unknown',
    extra: 'subject_unavailable',
  },
  { when: i => !i.entry, obligation: 'will_open' },
  { when: i => !i.entry?.declaration, obligation: 'awaiting_declaration' },
  { when: i => !current(i), obligation: 'reopened' },
  { when: i => i.whenPending, obligation: 'unknown', extra: 'when_pending' },
  { when: i => current(i)?.conclusion === 'met', obligation: 'declared_met' },
  { when: () => true, obligation: 'declared_unmet', extra: 'variance_required' },
]

/** What is owed for one governing checkpoint. Pure; strict runs and read surfaces give the same answer for the same facts. */
export const obligationOf = (input: ObligationInput): Obligation => {
  const rule = RULES.find(({ when }) => when(input))
  return { obligation: rule?.obligation ?? 'unknown', extra: rule?.extra }
}

/** Whether a conclusion is owed, for a question that was asked or for one that a strict run will ask. */
export const awaitsConclusion = (obligation: string): boolean =>
  obligation === 'awaiting_declaration' || obligation === 'reopened' || obligation === 'will_open'

/** Those that hold the gate back. Uncertainty never does (facts 6.4). */
export const blocking = <Owed extends Obligation>(obligations: readonly Owed[]): readonly Owed[] =>
  obligations.filter(({ obligation }) => obligation === 'awaiting_declaration' || obligation === 'reopened')
