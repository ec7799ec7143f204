/** What every governing checkpoint is about now, as one subject, and what of it is lost (facts 4, 5.2, 16.5). */
import type { RelatedPath } from '../change/facts.ts'
import { subjectFingerprint } from '../change/subject.ts'
import type { Worktree } from '../git/repository.ts'
import type { Trial, Tried } from './decide.ts'
import { type Drop, type DropReasonOf, makeDrop } from './drop.ts'
import { type Binding, keptBinding, type OpenQuestion, type Questions } from './question.ts'
import type { WhenOutcome } from './when.ts'

export interface InspectInput {
  readonly worktree: Worktree
  /** Full ref name; its questions are the ones that count. */
  readonly branch: string
  readonly trial: Trial
  /** What the subjects are taken from. */
  readonly current: 'worktree' | { readonly commit: string }
}

type Subject = { readonly known: string } | { readonly unavailable: string }

/** A tried definition with its condition's outcome and the subject of what is bound now. */
export interface Weighed extends Tried {
  readonly when: WhenOutcome | undefined
  readonly pending: boolean
  readonly fired: boolean
  readonly matched: readonly string[]
  readonly related: readonly RelatedPath[]
  readonly subject: Subject | undefined
  readonly binding: Binding | undefined
  readonly drops: readonly Drop[]
}

/** The record of what one checkpoint lost. */
export const drop = (
  input: InspectInput,
  { definition }: Tried,
  reason: DropReasonOf<'entry'>,
  account: string,
): Drop =>
  makeDrop(reason, account, {
    policyCommit: input.trial.governing.commit,
    checkpoint: definition.id,
    mode: definition.mode,
  })

/**
 * Weighs each definition with the outcome of its condition, where it was run, and its stored question. Git processes as in
 * `subjectFingerprint`, for each stop that fired or was asked before.
 */
export const weigh = async (
  input: InspectInput,
  standing: Questions,
  outcomeOf: (definition: Tried['definition']) => WhenOutcome | undefined,
): Promise<readonly Weighed[]> =>
  Promise.all(
    input.trial.tried.map(tried =>
      weighOne(input, tried, standing.get(tried.definition.id), outcomeOf(tried.definition)),
    ),
  )

const weighOne = async (
  input: InspectInput,
  tried: Tried,
  entry: OpenQuestion | undefined,
  when: WhenOutcome | undefined,
): Promise<Weighed> => {
  const { definition, decision } = tried
  const drops: Drop[] = []
  if (decision.kind === 'dropped') drops.push(drop(input, tried, decision.reason, decision.account))
  if (decision.kind === 'unreadable') drops.push(drop(input, tried, 'effort_diff_unreadable', decision.account))
  if (when?.kind === 'indeterminate') drops.push(drop(input, tried, when.reason, when.account))
  const holds = decision.kind === 'holds' && when?.kind !== 'passes'
  const about = !holds ? { matched: [], related: [] } : when?.kind === 'fires' ? when : decision
  const pending = decision.kind === 'holds' && decision.when && when === undefined
  const fired = holds && !pending
  const weighed = { ...tried, when, pending, fired, matched: about.matched, related: about.related }
  // A pending condition may still narrow: only what was asked before can be looked at.
  const asks = definition.mode === 'stop' && (entry !== undefined || fired)
  if (!asks) return { ...weighed, subject: undefined, binding: undefined, drops }
  const bound = fired || !entry ? about : { matched: entry.matchedPaths, related: entry.relatedPaths }
  const subject = await subjectOf(input, tried, bound)
  if ('unavailable' in subject) {
    const reason = subject.history ? 'trigger_history_unavailable' : 'subject_unavailable'
    if (decision.kind !== 'dropped' || decision.reason !== reason)
      drops.push(drop(input, tried, reason, subject.unavailable))
    return { ...weighed, subject, binding: undefined, drops }
  }
  const binding =
    fired || !entry
      ? {
          checkpoint: definition.id,
          definitionHash: definition.hash,
          subject: subject.known,
          matchedPaths: bound.matched,
          relatedPaths: bound.related,
        }
      : keptBinding(entry, definition.hash, subject.known)
  return { ...weighed, subject, binding, drops }
}

/** Only `min_commits` mixes history into a subject; without it, such a checkpoint is left as it is for this run (facts 2.5, 16.5). */
const subjectOf = async (
  { worktree, trial, current }: InspectInput,
  { definition, decision }: Tried,
  bound: { readonly matched: readonly string[]; readonly related: readonly RelatedPath[] },
): Promise<{ readonly known: string } | { readonly unavailable: string; readonly history: boolean }> => {
  const needsHistory = definition.trigger.minCommits !== undefined
  if (decision.kind === 'dropped' && decision.reason === 'trigger_history_unavailable') {
    return { unavailable: decision.account, history: true }
  }
  if (needsHistory && 'unavailable' in trial.history) {
    return { unavailable: `the history is not available: ${trial.history.unavailable}`, history: true }
  }
  const subject = await subjectFingerprint({
    worktree,
    base: trial.governing.commit,
    definitionHash: definition.hash,
    historyFingerprint: needsHistory && 'known' in trial.history ? trial.history.known.fingerprint : undefined,
    matched: bound.matched,
    related: bound.related,
    current,
  })
  return 'known' in subject ? subject : { unavailable: subject.unavailable, history: false }
}
