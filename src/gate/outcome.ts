/** What the recorded facts of a gate run mean: outcomes, steps, diagnostics, the stage that failed. Everything here is pure. */
import { stripVTControlCharacters } from 'node:util'
import { displayPath } from '../git/path.ts'
import { JOB_TAIL_LINE_LIMIT_CHARACTERS, JOB_TAIL_LINES, PROOF_HEAD_DIGITS } from '../limits.ts'
import type { PlannedJob } from '../policy/definition.ts'
import type { Diagnostic, Step, StepKind } from '../result.ts'
import type { CommandResult } from './job.ts'
import { type Measurement, standardWords } from './standard.ts'

/** What became of a job. `unavailable`: no step tells; absence is neither a pass nor a failure (facts 12.3). */
export type JobOutcome = 'passed' | 'failed' | 'skipped' | 'cancelled' | 'unavailable'

/** One planned job after a run. Instants are epoch milliseconds; a job that was never started has both at the decision. */
export interface GateJob {
  readonly planned: PlannedJob
  readonly outcome: Exclude<JobOutcome, 'unavailable'>
  /** Of the last command that ran; `null` without one, or when a signal ended it. */
  readonly exitCode: number | null
  readonly startedAt: number
  readonly finishedAt: number
  readonly durationMs: number
  /** The file with the kept output, its SHA-256 and size: an artifact as facts 8.2 describes it. Absent for want of output. */
  readonly outputPath: string | undefined
  readonly outputDigest: string | undefined
  readonly outputBytes: number
  /** What was printed and is not in the file. */
  readonly omittedBytes: number
  readonly outputLines: number
  readonly errorLikeLines: number
  /** Why it did not pass, in a few words. */
  readonly reason: string | undefined
  /** It was not run: full id of the commit on which evidence was made that stands for it. */
  readonly reusedFrom?: string | undefined
  /** Of a standard that could be measured. */
  readonly measured?: Measurement | undefined
  /** Outputs that a generator changed; only for `generated_drift`. */
  readonly drift: readonly string[]
}

/** The stages a gate can fail in that running jobs can find (facts 7.8). */
export type FailedStage =
  | 'fix'
  | 'build'
  | 'check'
  | 'test'
  | 'check/test'
  | 'standards'
  | 'scope_gates'
  | 'tree_drift'
  | 'generated_drift'

const STEP_KINDS: Readonly<Record<PlannedJob['kind'], StepKind>> = {
  job: 'job',
  generated: 'job',
  scope: 'scope-gate',
  standard: 'standard',
}

const STEP_OUTCOMES = { passed: 'ok', failed: 'failed', skipped: 'skipped', cancelled: 'cancelled' } as const

/** The plan as `--dry-run` shows it: what would run, in which stage, with which commands. */
export const planSteps = (plan: readonly PlannedJob[]): readonly Step[] =>
  plan.map(planned => ({
    kind: STEP_KINDS[planned.kind],
    label: planned.label,
    disposition: 'run',
    group: planned.stage,
    ...(planned.recipe.run.length > 0
      ? { note: planned.recipe.run.join(' && ') }
      : { note: planned.standard ? `read from ${planned.standard.producer}` : 'nothing is configured to run' }),
  }))

/** How an answer says that a job did not run because its evidence stands. */
export const reusedWords = (head: string): string => `same inputs as at ${head.slice(0, PROOF_HEAD_DIGITS)}`

const noteOf = ({ planned, reason, reusedFrom, measured }: GateJob): { readonly note?: string } => {
  const value = measured && planned.standard ? standardWords(planned.standard, measured) : undefined
  const words = [reason ?? value, reusedFrom === undefined ? undefined : reusedWords(reusedFrom)].filter(Boolean)
  return words.length === 0 ? {} : { note: words.join(', ') }
}

/** The recorded step of one job. */
export const stepOf = (job: GateJob): Step => ({
  kind: STEP_KINDS[job.planned.kind],
  label: job.planned.label,
  disposition: job.outcome === 'skipped' || job.reusedFrom !== undefined ? 'skip' : 'run',
  group: job.planned.stage,
  outcome: STEP_OUTCOMES[job.outcome],
  ...noteOf(job),
  ...(job.outcome === 'skipped' || job.reusedFrom !== undefined ? {} : { duration_s: job.durationMs / 1000 }),
  ...(job.outputPath === undefined
    ? {}
    : { output_path: job.outputPath, output_lines: job.outputLines, error_like_lines: job.errorLikeLines }),
})

/**
 * The outcome of a job from its recorded steps alone. Several steps of one job: a failure decides, then a cancellation; a
 * pass needs every step to have passed.
 */
export const jobOutcome = (planned: PlannedJob, steps: readonly Step[]): JobOutcome => {
  const kind = STEP_KINDS[planned.kind]
  const outcomes = steps
    .filter(step => step.kind === kind && step.label === planned.label && step.group === planned.stage)
    // What was not run because its evidence stands has passed no test of this state.
    .map(step => (step.disposition === 'skip' ? 'skipped' : step.outcome))
  if (outcomes.includes('failed')) return 'failed'
  if (outcomes.includes('cancelled')) return 'cancelled'
  if (outcomes.length === 0 || outcomes.includes(undefined)) return 'unavailable'
  return outcomes.includes('skipped') ? 'skipped' : 'passed'
}

/** Where the gate failed, or `null`. A job that failed outweighs a tree that changed. */
export const failedStage = (jobs: readonly GateJob[], drift: readonly string[]): FailedStage | null => {
  const failures = jobs.filter(job => job.outcome === 'failed')
  // Nothing failed and yet not everything passed: a job that never could start counts where it stands.
  const guilty = failures.length > 0 || drift.length > 0 ? failures : jobs.filter(job => job.outcome !== 'passed')
  const stages = new Set(guilty.map(job => job.planned.stage))
  if (stages.has('fix')) return 'fix'
  if (stages.has('build')) {
    return guilty.some(job => job.planned.stage === 'build' && job.drift.length === 0) ? 'build' : 'generated_drift'
  }
  if (stages.has('check')) return stages.has('test') ? 'check/test' : 'check'
  if (stages.has('test')) return 'test'
  if (stages.has('standard')) return 'standards'
  if (stages.has('scope')) return 'scope_gates'
  return drift.length > 0 ? 'tree_drift' : null
}

/** How a command ended when it did not pass, or `undefined` when it did. */
export const failureOf = (result: CommandResult, timeoutS: number): string | undefined => {
  if (result.spawnFailed !== undefined) return `could not be started: ${result.spawnFailed}`
  if (result.timedOut) return `timed out after ${timeoutS} s`
  if (result.cancelled) return 'stopped'
  if (result.signal !== null) return `ended by ${result.signal}`
  return result.exitCode === 0 ? undefined : `exit ${result.exitCode ?? 'unknown'}`
}

/** Output as lines a person reads: no colour, no trailing newline, and of a line that was redrawn its last state. */
export const outputLines = (output: Buffer): readonly string[] => {
  const text = stripVTControlCharacters(output.toString('utf8')).replace(/\n+$/, '')
  if (text === '') return []
  return text.split('\n').map(line => {
    const shown = line.replace(/\r+$/, '')
    return shown.slice(shown.lastIndexOf('\r') + 1)
  })
}

const ERROR_LIKE = /\b(error|errors|failed|failure|fatal|panic|exception|traceback|not ok)\b|[✗✖✘]/i
/** A count of none, as in "0 errors", is good news. */
const NO_ERROR = /\b(0|no|zero) (errors?|failed|failures?|exceptions?)\b|\b(errors?|failed|failures?): 0\b/gi

/** Whether a line looks like a complaint. For emphasis only; nothing is decided by it. */
export const isErrorLike = (line: string): boolean => ERROR_LIKE.test(line.replace(NO_ERROR, ''))

const cut = (line: string): string =>
  line.length > JOB_TAIL_LINE_LIMIT_CHARACTERS ? `${line.slice(0, JOB_TAIL_LINE_LIMIT_CHARACTERS)}…` : line

const quote = (word: string): string =>
  /^[A-Za-z0-9_./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

/** The command as a person types it from where they stand. */
export const reproduceCommand = (command: string, topLevel: string, cwd: string): string =>
  cwd === topLevel ? command : `cd ${quote(topLevel)} && ${command}`

/** The finding of a failed job: the first line that complains, the end of its output, and the command that shows it again. */
export const diagnosticOf = (
  job: GateJob,
  lines: readonly string[],
  command: string,
  place: { readonly topLevel: string; readonly cwd: string },
): Diagnostic => {
  const reason = job.reason ?? 'failed'
  const complaint = lines.find(line => isErrorLike(line))?.trim()
  const ownWords = job.exitCode !== null && job.drift.length === 0 && complaint
  const tail = lines.slice(-JOB_TAIL_LINES)
  const shown = tail.map(cut)
  return {
    tool: job.planned.label,
    severity: 'error',
    message: ownWords ? cut(complaint) : reason,
    reproduce_cmd: reproduceCommand(command, place.topLevel, place.cwd),
    ...(shown.length === 0 ? {} : { output: shown.join('\n') }),
    ...(job.omittedBytes > 0 || tail.length < lines.length || shown.some((line, at) => line !== tail[at])
      ? { truncated: true }
      : {}),
    ...(job.outputPath === undefined ? {} : { output_path: job.outputPath }),
  }
}

/** A few paths for a sentence. */
export const namePaths = (paths: readonly string[]): string =>
  paths.length <= 5
    ? paths.map(displayPath).join(', ')
    : `${paths.slice(0, 5).map(displayPath).join(', ')} and ${paths.length - 5} more`

/** The step and the finding of tracked files that changed under a stage's jobs (facts 7.1, step 12). */
export const driftFinding = (
  stage: string,
  paths: readonly string[],
  place: { readonly topLevel: string; readonly cwd: string },
): { readonly step: Step; readonly diagnostic: Diagnostic } => ({
  step: {
    kind: 'checkout-clean-check',
    label: 'tracked files unchanged',
    disposition: 'run',
    group: stage,
    outcome: 'failed',
    note: namePaths(paths),
  },
  diagnostic: {
    tool: 'git',
    severity: 'error',
    message: `tracked files changed in stage ${stage}: ${namePaths(paths)}`,
    reproduce_cmd: reproduceCommand('git status', place.topLevel, place.cwd),
  },
})
