/**
 * Writes what an invocation was into the Logbook: a `begin` line before its work and a `verb` line after it (facts 12.2).
 * Everything here is total: whatever fails, the invocation goes on as if there were no Logbook.
 */
import type { Context } from '../context.ts'
import { Interrupted, refusalOf } from '../errors.ts'
import { shortBranch } from '../git/refs.ts'
import { openRepository, type Repository } from '../git/repository.ts'
import { readLiveDocument } from '../policy/read.ts'
import type { Result } from '../result.ts'
import { type Key, keyed } from '../store/digest.ts'
import { openKey } from '../store/hmac-key.ts'
import { appendEvent } from './book.ts'
import { driverOf } from './driver.ts'
import { epochOf, keepEpoch } from './epoch.ts'
import {
  type CheckpointsRecord,
  type Driver,
  EVENT_SCHEMA,
  type LogbookEvent,
  type Outcome,
  type QuestionRecord,
  type StepRecord,
  type VerbEvent,
} from './event.ts'
import { type CheckpointFacts, type QuestionFacts, recordingOf } from './recording.ts'

/** What was typed, without any value of it. */
export interface Invoked {
  readonly verb: string
  readonly surface: 'cli' | 'mcp'
  /** Whether a program reads the answer. */
  readonly json: boolean
  /** Names of the flags that were given. */
  readonly flags: readonly string[]
  readonly hasOperands: boolean
  /** Branch that the verb was pointed at. */
  readonly target?: string | undefined
}

/** How an invocation ended. */
export type Ended = { readonly result: Result } | { readonly error: unknown }

export interface Recorder {
  readonly end: (ended: Ended) => Promise<void>
}

/** What both lines of an invocation say. */
interface Opened {
  readonly context: Context
  readonly invoked: Invoked
  readonly repository: Repository
  readonly key: Key | undefined
  readonly driver: Driver
  readonly invocation: string
  readonly place: Pick<VerbEvent, 'branch' | 'head' | 'epoch'>
  readonly startedMs: number
}

/**
 * Opens the Logbook for an invocation and writes that it began. `undefined` where nothing is recorded: outside a work tree, in
 * a project that is not set up, whose configuration cannot be read, or that says `record_logbook = false`.
 */
export const openRecorder = async (context: Context, invoked: Invoked): Promise<Recorder | undefined> => {
  const startedMs = context.now().getTime()
  try {
    const repository = await openRepository(context)
    const { topLevel } = repository
    const document = topLevel === undefined ? undefined : await readLiveDocument({ topLevel })
    if (!document || declines(document)) return undefined
    const answer = await openKey(repository)
    const key = 'known' in answer ? answer.known : undefined
    const branch = repository.opened ? shortBranch(repository.opened.branch) : null
    const opened: Opened = {
      context,
      invoked,
      repository,
      key,
      driver: driverOf(context, key, invoked.json, invoked.flags.includes('ci')),
      invocation: context.uuid(),
      place: {
        branch,
        head: repository.opened?.head ?? null,
        epoch: key ? await settleEpoch(context, repository, key, branch, document) : null,
      },
      startedMs,
    }
    await append(opened, [
      {
        ...base(context),
        kind: 'begin',
        invocation: opened.invocation,
        verb: invoked.verb,
        surface: invoked.surface,
        driver: opened.driver,
        ...opened.place,
      },
    ])
    return { end: ended => finish(opened, ended) }
  } catch {
    return undefined
  }
}

/** Whether this configuration says that nothing is recorded, under the name of today or the older one (facts 7.11). */
export const declines = (document: Readonly<Record<string, unknown>>): boolean => {
  const project = document['project'] as Readonly<Record<string, unknown>> | undefined
  return project?.['record_logbook'] === false || project?.['logbook'] === false
}

const base = (
  context: Context,
): { readonly schema: typeof EVENT_SCHEMA; readonly at: string; readonly writer: string } => ({
  schema: EVENT_SCHEMA,
  at: context.now().toISOString(),
  writer: context.version,
})

const append = async (
  { context, repository }: Pick<Opened, 'context' | 'repository'>,
  events: readonly LogbookEvent[],
) => {
  for (const event of events) await appendEvent(repository, event, context.now())
}

/** The epoch of this configuration; a branch whose configuration changed since it was last seen gets a line of its own. */
const settleEpoch = async (
  context: Context,
  repository: Repository,
  key: Key,
  branch: string | null,
  document: Readonly<Record<string, unknown>>,
): Promise<string | null> => {
  try {
    const epoch = epochOf(key, document)
    if (branch !== null) {
      const sections = await keepEpoch(repository, branch, epoch).catch(() => undefined)
      const change = { branch, sections: sections ?? [], epoch: epoch.fingerprint }
      if (sections) await append({ context, repository }, [{ ...base(context), kind: 'config-change', ...change }])
    }
    return epoch.fingerprint
  } catch {
    return null
  }
}

const finish = async (opened: Opened, ended: Ended): Promise<void> => {
  try {
    const event = verbEvent(opened, ended)
    const pins = opened.place.branch === null || !('result' in ended) ? [] : (recordingOf(ended.result).pins ?? [])
    await append(opened, [
      ...pins.map(pin => ({
        ...base(opened.context),
        kind: 'pin' as const,
        branch: opened.place.branch ?? '',
        ...pin,
      })),
      event,
    ])
  } catch {
    // A line that cannot be made is not worth an invocation.
  }
}

/** The line of a finished invocation. */
const verbEvent = (opened: Opened, ended: Ended): VerbEvent => {
  const { context, invoked, key, driver, invocation, place, startedMs } = opened
  const answer = answerOf(ended)
  const { clean, change, scopes, standards, update, landing, checkpoints, validation } = recordingOf(answer.carrier)
  const data = (answer.result.data ?? {}) as Readonly<Record<string, unknown>>
  const { failed_stage: stage, gate_ran: ran } = data
  const { steps, diagnostics, waited_ms: waited, dry_run: dryRun } = answer.result
  return {
    ...base(context),
    kind: 'verb',
    invocation,
    verb: invoked.verb,
    surface: invoked.surface,
    driver,
    ...place,
    clean: clean ?? null,
    outcome: answer.outcome,
    ...(answer.error === undefined ? {} : { error: answer.error }),
    ...(typeof stage === 'string' ? { failed_stage: stage } : {}),
    ...(answer.crash ? { crash: true } : {}),
    ...(dryRun ? { dry_run: true } : {}),
    duration_ms: Math.max(0, context.now().getTime() - startedMs),
    ...(waited === undefined ? {} : { waited_ms: waited }),
    ...(typeof ran === 'boolean' ? { gate_ran: ran } : {}),
    ...(invoked.target === undefined ? {} : { target: invoked.target }),
    ...(invoked.flags.length > 0 ? { flags: invoked.flags } : {}),
    ...(invoked.hasOperands ? { has_operands: true } : {}),
    ...(change ? { change } : {}),
    ...(scopes ? { scopes } : {}),
    ...(steps ? { steps: steps.map(stepRecord) } : {}),
    ...(diagnostics?.length ? { diagnostics: counted(diagnostics) } : {}),
    ...(standards?.length ? { standards } : {}),
    ...(update ? { update } : {}),
    ...(landing?.length ? { landing } : {}),
    ...(checkpoints && key ? { checkpoints: keyedCheckpoints(key, checkpoints) } : {}),
    ...(validation ? { validation } : {}),
  }
}

interface Answer {
  readonly result: Pick<Result, 'data' | 'steps' | 'diagnostics' | 'waited_ms' | 'dry_run'>
  /** The value that a recording rides on. */
  readonly carrier: object
  readonly outcome: Outcome
  readonly error?: string | undefined
  readonly crash?: true
}

const answerOf = (ended: Ended): Answer => {
  if ('result' in ended) {
    const { result } = ended
    return { result, carrier: result, outcome: outcomeOf(result), error: result.error }
  }
  const { error } = ended
  if (error instanceof Interrupted) return { result: {}, carrier: {}, outcome: 'failed', error: 'interrupted' }
  const refusal = refusalOf(error)
  if (!refusal) return { result: {}, carrier: {}, outcome: 'failed', error: 'internal_error', crash: true }
  const result = { ok: false, verb: '', ...refusal.partial } as Result
  return { result, carrier: refusal.partial, outcome: outcomeOf(result), error: refusal.slug }
}

/** `partial`: the trunk moved and something after it did not. `failed`: the owner's commands ran and did not pass. */
const outcomeOf = (result: Result): Outcome => {
  if (result.ok) return 'ok'
  const data = (result.data ?? {}) as Readonly<Record<string, unknown>>
  const landing = data['landing'] as Readonly<Record<string, unknown>> | undefined
  if (landing?.['trunk_landed'] === true) return 'partial'
  return data['gate_ran'] === true || result.error === 'gate_failed' ? 'failed' : 'refused'
}

const stepRecord = (step: NonNullable<Result['steps']>[number]): StepRecord => {
  const { label, kind, outcome, disposition, group, duration_s, error_like_lines } = step
  return {
    label,
    kind,
    outcome: outcome ?? 'unknown',
    disposition,
    ...(group === undefined ? {} : { group }),
    ...(duration_s === undefined ? {} : { duration_s }),
    ...(error_like_lines === undefined ? {} : { error_like_lines }),
  }
}

const counted = (diagnostics: NonNullable<Result['diagnostics']>): NonNullable<VerbEvent['diagnostics']> => {
  const counts = new Map<string, { readonly tool: string; readonly rule?: string; readonly count: number }>()
  for (const { tool, rule } of diagnostics) {
    const name = JSON.stringify([tool, rule])
    const count = (counts.get(name)?.count ?? 0) + 1
    counts.set(name, { tool, ...(rule === undefined ? {} : { rule }), count })
  }
  return [...counts.values()]
}

/** A definition's hash and a subject are hashes of content, so a line has only what the key makes of them. */
const keyedCheckpoints = (key: Key, facts: CheckpointFacts): CheckpointsRecord => {
  const question = ({ id, definition, subject }: QuestionFacts): QuestionRecord => ({
    id,
    definition: keyed(key, 'logbook-checkpoint-definition-v1', [['hash', definition]]),
    subject: keyed(key, 'logbook-checkpoint-subject-v1', [['fingerprint', subject]]),
  })
  const { fired, reopened, advise, declared } = facts
  return {
    ...(fired.length > 0 ? { fired: fired.map(question) } : {}),
    ...(reopened.length > 0 ? { reopened: reopened.map(question) } : {}),
    ...(advise.length > 0 ? { advise: advise.map(id => ({ id })) } : {}),
    ...(declared.length > 0
      ? {
          declared: declared.map(one => ({
            ...question(one),
            conclusion: one.conclusion,
            revised: one.revised,
            elapsed_ms: one.elapsedMs,
          })),
        }
      : {}),
  }
}
