/** What the verbs tell the Logbook beside their answers (facts 12.2): numbers, names and identities that are keyed before they are written. */
import type { CommittedChange } from '../change/collect.ts'
import type { Preflight } from '../checkpoint/preflight.ts'
import type { Context } from '../context.ts'
import type { GateJob } from '../gate/outcome.ts'
import { shortBranch } from '../git/refs.ts'
import type { Journal } from '../landing/journal.ts'
import type { LandingRecord, StandardRecord } from '../logbook/event.ts'
import type { CheckpointFacts, DeclarationFacts, QuestionFacts } from '../logbook/recording.ts'

/** Which questions this run asked, asked again and had answered. Rationales are not among it. */
export const checkpointFacts = (context: Context, owed: Preflight): CheckpointFacts => {
  const now = context.now().getTime()
  const told = owed.checkpoints.flatMap(state => {
    const { definition, question } = state
    return question
      ? [{ state, question: { id: definition.id, definition: definition.hash, subject: question.subject } }]
      : []
  })
  const asked = (wanted: (one: (typeof told)[number]) => boolean): readonly QuestionFacts[] =>
    told.filter(wanted).map(({ question }) => question)
  return {
    fired: asked(({ state }) => state.fired && state.definition.mode === 'stop'),
    reopened: asked(({ state }) => state.transition === 'reopened'),
    advise: owed.checkpoints.flatMap(({ definition, fired }) =>
      fired && definition.mode === 'advise' ? [definition.id] : [],
    ),
    declared: owed.declared.flatMap(({ checkpoint, conclusion }): readonly DeclarationFacts[] => {
      const one = told.find(({ question }) => question.id === checkpoint)
      if (!one) return []
      const { openedAt, reopenedAt } = one.state.question ?? { openedAt: '', reopenedAt: undefined }
      const elapsedMs = Math.max(0, now - Date.parse(reopenedAt ?? openedAt))
      return [{ ...one.question, conclusion, revised: one.state.transition === 'reopened', elapsedMs }]
    }),
  }
}

/** The size of a change. */
export const changeRecord = ({ paths, insertions, deletions }: CommittedChange) => ({
  files: paths.length,
  insertions,
  deletions,
})

/** Each standard that the gate judged, with what it read. */
export const standardRecords = (jobs: readonly GateJob[]): readonly StandardRecord[] =>
  jobs.flatMap(({ planned: { standard }, measured, outcome }): readonly StandardRecord[] => {
    if (!standard || (!measured && outcome !== 'failed')) return []
    const { name, direction, limit } = standard
    return [
      {
        name,
        direction,
        limit,
        ...(measured ? { reading: measured.reading } : {}),
        verdict: measured?.verdict ?? 'failed',
      },
    ]
  })

/** A landing; `publication` is what became of its note here. */
export const landingRecord = ({ target, trunk, acceptance }: Journal, publication: string): LandingRecord => ({
  commit: target,
  trunk: shortBranch(trunk),
  consent: acceptance.consent.source as LandingRecord['consent'],
  variances: acceptance.variances.map(({ checkpoint }) => checkpoint),
  proposals: acceptance.standard_proposals.length,
  publication,
})
