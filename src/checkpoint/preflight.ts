/**
 * From decided triggers to what is owed: conditions run, questions opened, carried or reopened, declarations taken, obligations
 * computed (facts 5, 7.1 step 3). Only `preflight` in strict mode writes, once; `inspect` runs and writes nothing.
 */
import type { RelatedPath } from '../change/facts.ts'
import type { Context } from '../context.ts'
import { Refusal, throwIfInterrupted } from '../errors.ts'
import { adminFolder, adminPath } from '../store/admin.ts'
import type { Trial, Tried } from './decide.ts'
import { checkDeclarations, type DeclarationCheck, type DeclarationRequest, type Declared } from './declare.ts'
import { type Drop, distinctDrops, makeDrop } from './drop.ts'
import { blocking, type Obligation, obligationOf } from './obligation.ts'
import { declareAll, type OpenQuestion, type Questions, settle, type Transition } from './question.ts'
import { evidenceOf, type QuestionRead, readQuestions, updateQuestions } from './question-store.ts'
import { drop, type InspectInput, type Weighed, weigh } from './weigh.ts'
import { type RunWhen, runWhen, type WhenOutcome } from './when.ts'

export type { InspectInput } from './weigh.ts'

export interface PreflightInput extends InspectInput {
  readonly context: Context
  /** `report` runs the conditions, but writes nothing and takes no declarations (facts 7.5). */
  readonly mode: 'strict' | 'report'
  readonly request: DeclarationRequest
  readonly run: RunWhen
  readonly verb: string
}

/** One governing checkpoint after everything. */
export interface CheckpointState extends Tried, Obligation {
  /** It fired: the structure holds and its condition, if any, did not pass. Never set where a condition was not run. */
  readonly fired: boolean
  readonly when: WhenOutcome | undefined
  /** What it is about now, where it holds; narrowed by its condition. Sorted by code unit. */
  readonly matched: readonly string[]
  readonly related: readonly RelatedPath[]
  /** As stored after this run, or as it would be. */
  readonly question: OpenQuestion | undefined
  /** What this run did to the question, or would do in a report. */
  readonly transition: Transition | undefined
}

export interface Preflight {
  /** In the order of the configuration. */
  readonly checkpoints: readonly CheckpointState[]
  /** Those that hold the gate back. */
  readonly blocking: readonly CheckpointState[]
  /** Questions that no governing stop asks any more: history, by id in code unit order (facts 5.1). */
  readonly ungoverned: readonly OpenQuestion[]
  /** Recorded in this run. */
  readonly declared: readonly Declared[]
  /** Declaration-evidence identity after this run (facts 4.3). */
  readonly evidence: { readonly known: string } | { readonly unavailable: string }
  /** Those of the policy first, each once. */
  readonly drops: readonly Drop[]
}

const none: Questions = new Map()

const questionsOf = (read: QuestionRead): Questions => ('questions' in read ? read.questions : none)

/**
 * Settles the questions of a strict run, or of a report, and answers what is owed. Refuses with `invalid_value` when a
 * declaration is not acceptable, and with `checkpoint_evidence_unavailable` when it cannot be recorded; then nothing was written.
 * Throws `Interrupted` after an interrupted condition, also before anything is written. Every other loss is a drop. Conditions run
 * one after another, ten seconds each; git processes as in `subjectFingerprint`, for each question.
 */
export const preflight = async (input: PreflightInput): Promise<Preflight> => {
  const { context, worktree, branch, trial, mode } = input
  const read = await readQuestions(worktree, branch)
  const outcomes = new Map<string, WhenOutcome>()
  for (const tried of trial.tried) {
    const outcome = await runCondition(input, tried)
    if (outcome) outcomes.set(tried.definition.id, outcome)
    throwIfInterrupted(context)
  }
  const weighed = await weigh(input, questionsOf(read), ({ id }) => outcomes.get(id))
  const now = context.now().toISOString()
  const usable = read.status !== 'newer' && read.status !== 'unavailable'
  if (usable && mode === 'strict') return record(input, read, weighed, now)
  refuseDeclarations(input, 'reason' in read ? read.reason : 'a report takes no declarations')
  const { questions, transitions } = settleFresh(questionsOf(read), usable ? weighed : [], now)
  return report(input, weighed, {
    read,
    status: usable ? 'ok' : read.status,
    questions,
    transitions,
    ...unrecorded(read),
  })
}

/** The one write of a strict run. */
const record = async (
  input: PreflightInput,
  read: QuestionRead,
  weighed: readonly Weighed[],
  now: string,
): Promise<Preflight> => {
  const { context, worktree, branch, trial, request } = input
  const write = await updateQuestions(context, worktree, branch, input.verb, (questions): Changed => {
    const settled = settleFresh(questions, weighed, now)
    const active = stopIds(trial).filter(id => settled.questions.has(id))
    const check = checkDeclarations(request, active)
    const next = check.refused ? questions : declareAll(settled.questions, check.accepted, now).questions
    return { questions: next, value: { transitions: settled.transitions, check } }
  })
  if (write.status === 'failed') {
    refuseDeclarations(input, write.reason)
    const questions = questionsOf(read)
    const { transitions } = settleFresh(questions, weighed, now)
    const drops = changedIn(weighed, transitions).map(one =>
      drop(input, one, 'open_question_store_write_failed', write.reason),
    )
    return report(input, weighed, { read, status: 'unwritten', questions, transitions, ...unrecorded(read), drops })
  }
  const { check, transitions } = write.value
  if (check.refused) throw new Refusal('invalid_value', check.refused.data)
  // A corrupt store that nothing had to be written to is still one.
  const corrupt = read.status === 'invalid' && write.status === 'unchanged'
  const rebuilt = write.rebuilt ? changedIn(weighed, transitions) : []
  return report(input, weighed, {
    read,
    status: corrupt ? 'invalid' : 'ok',
    questions: write.questions,
    transitions,
    drops: rebuilt.map(one => drop(input, one, 'open_question_store_rebuilt', '')),
    declared: check.accepted,
    evidence: evidenceOf(corrupt ? read : { status: 'ok', questions: write.questions }),
  })
}

interface Changed {
  readonly questions: Questions
  readonly value: { readonly transitions: ReadonlyMap<string, Transition>; readonly check: DeclarationCheck }
}

/**
 * Another process may have asked about other paths since the questions were read: what was weighed for the old paths of a kept
 * question says nothing about those.
 */
const settleFresh = (questions: Questions, weighed: readonly Weighed[], now: string): ReturnType<typeof settle> =>
  settle(
    questions,
    weighed.flatMap(({ binding, fired }) => {
      if (!binding) return []
      const asked = questions.get(binding.checkpoint)?.matchedPaths
      const same =
        asked?.length === binding.matchedPaths.length && asked.every((path, at) => path === binding.matchedPaths[at])
      return fired || same ? [binding] : []
    }),
    now,
  )

const unrecorded = (read: QuestionRead) => ({ drops: [], declared: [], evidence: evidenceOf(read) })

/** The same answer without a write, and without a condition: one that would have to be asked is pending (facts 5.4, 7.6). */
export const inspect = async (input: InspectInput): Promise<Preflight> => {
  const read = await readQuestions(input.worktree, input.branch)
  const questions = questionsOf(read)
  const weighed = await weigh(input, questions, () => undefined)
  return report(input, weighed, { read, status: read.status, questions, transitions: new Map(), ...unrecorded(read) })
}

const stopIds = (trial: Trial): readonly string[] =>
  trial.tried.flatMap(({ definition }) => (definition.mode === 'stop' ? [definition.id] : []))

const changedIn = (weighed: readonly Weighed[], transitions: ReadonlyMap<string, Transition>): readonly Weighed[] =>
  weighed.filter(({ definition }) => (transitions.get(definition.id) ?? 'carried') !== 'carried')

const refuseDeclarations = ({ worktree, request: { met, unmet, why } }: PreflightInput, reason: string): void => {
  if (met.length + unmet.length === 0 && why === undefined) return
  throw new Refusal('checkpoint_evidence_unavailable', {
    path: adminPath(worktree, 'checkpoint-open-questions'),
    reason,
    next: 'make it usable and declare again, or go on without a declaration: git discern done',
  })
}

const runCondition = async (
  { context, worktree, trial, run }: PreflightInput,
  { definition, decision }: Tried,
): Promise<WhenOutcome | undefined> => {
  const { when } = definition.trigger
  if (decision.kind !== 'holds' || when === undefined) return undefined
  return runWhen({
    definition,
    command: when,
    policyCommit: trial.governing.commit,
    files: decision.matched.flatMap(path => trial.files.get(path) ?? []),
    related: decision.related,
    history: 'known' in trial.history ? trial.history.known : undefined,
    folder: adminFolder(worktree, 'when-input'),
    now: context.now(),
    run,
  })
}

interface Outcome {
  readonly read: QuestionRead
  /** `unwritten`: what had to change could not, what did not stands. */
  readonly status: QuestionRead['status'] | 'unwritten'
  readonly questions: Questions
  readonly transitions: ReadonlyMap<string, Transition>
  readonly drops: readonly Drop[]
  readonly declared: readonly Declared[]
  readonly evidence: Preflight['evidence']
}

const STORE_DROPS = {
  invalid: 'open_question_store_corrupt',
  newer: 'open_question_store_unreadable',
  unavailable: 'open_question_store_unreadable',
} as const

const report = (input: InspectInput, weighed: readonly Weighed[], outcome: Outcome): Preflight => {
  const { read, status, questions, transitions } = outcome
  const { governing } = input.trial
  const checkpoints = weighed.map((one): CheckpointState => {
    const { definition, decision, fired, when, matched, related, subject, pending } = one
    const transition = transitions.get(definition.id)
    const lost = status === 'unwritten' && transition !== undefined && transition !== 'carried'
    const question = questions.get(definition.id)
    const owed = obligationOf({
      definition,
      store: lost ? 'unavailable' : status === 'unwritten' ? 'ok' : status,
      entry: question,
      decision:
        decision.kind === 'holds'
          ? fired || pending
            ? 'holds'
            : 'vetoed'
          : decision.kind === 'vetoed'
            ? 'vetoed'
            : 'unavailable',
      whenPending: pending,
      subject,
    })
    return { definition, decision, fired, when, matched, related, question, transition, ...owed }
  })
  const governed = new Set(stopIds(input.trial))
  const storeDrop =
    'reason' in read ? [makeDrop(STORE_DROPS[read.status], read.reason, { policyCommit: governing.commit })] : []
  return {
    checkpoints,
    blocking: blocking(checkpoints),
    ungoverned: [...questions.values()]
      .filter(({ checkpoint }) => !governed.has(checkpoint))
      .sort((left, right) => (left.checkpoint < right.checkpoint ? -1 : 1)),
    declared: outcome.declared,
    evidence: outcome.evidence,
    drops: distinctDrops([
      ...governing.drops,
      ...storeDrop,
      ...weighed.flatMap(({ drops }) => drops),
      ...outcome.drops,
    ]),
  }
}
