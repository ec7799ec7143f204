/** One planned job from its first command to its recorded outcome. */
import { join } from 'node:path'
import type { Context } from '../context.ts'
import type { PlannedJob } from '../policy/definition.ts'
import { matchesAny } from '../policy/paths.ts'
import type { Advisory, Diagnostic } from '../result.ts'
import { type Capture, type CaptureFile, openCapture } from './capture.ts'
import { type CommandLimits, type CommandResult, commandLimits, runCommand, type Survivor } from './job.ts'
import { diagnosticOf, failureOf, type GateJob, isErrorLike, namePaths, outputLines } from './outcome.ts'

export interface ExecuteInput {
  readonly context: Context
  readonly worktree: { readonly topLevel: string }
  /** What to run; a verb that wants some stages alone passes only their jobs. */
  readonly plan: readonly PlannedJob[]
  readonly settings: { readonly streamOutput: boolean }
  /** Where the output files go, `01-lint.log` and so on in the order of the plan; made when it is missing. */
  readonly outputFolder: string
  /** The caller's environment for the commands, unfiltered. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Tracked paths that differ from HEAD now. */
  readonly inspect: () => Promise<readonly string[]>
  /** One digest over the content of all files that match, tracked or not. */
  readonly digestOutputs: (globs: readonly string[]) => Promise<string>
  /** The jobs may edit files, as in `prepare`: no drift is looked for. */
  readonly allowEdits?: boolean
  readonly limits?: Partial<CommandLimits>
}

export interface Executed {
  readonly job: GateJob
  readonly diagnostic: Diagnostic | undefined
  readonly advisories: readonly Advisory[]
}

const nothingPrinted = {
  outputPath: undefined,
  outputDigest: undefined,
  outputBytes: 0,
  omittedBytes: 0,
  outputLines: 0,
  errorLikeLines: 0,
} as const

/** The record of a job that was not started. */
export const skippedJob = (planned: PlannedJob, reason: string, now: Date): Executed => ({
  job: {
    planned,
    outcome: 'skipped',
    exitCode: null,
    startedAt: now.getTime(),
    finishedAt: now.getTime(),
    durationMs: 0,
    ...nothingPrinted,
    reason,
    drift: [],
  },
  diagnostic: undefined,
  advisories: [],
})

/** The record of a job whose evidence stands from another run, on the commit `head`. */
export const reusedJob = (planned: PlannedJob, head: string, now: Date): Executed => {
  const { job, ...rest } = skippedJob(planned, '', now)
  return { ...rest, job: { ...job, outcome: 'passed', reason: undefined, reusedFrom: head } }
}

/**
 * Runs the commands of one job one after another, until one does not pass. Job limits hold for all of them together. A job
 * without commands passes at once. `signal` cancels. Spawns one process for each command; asks `inspect` once when a
 * generator changed its outputs.
 */
export const executeJob = async (
  input: ExecuteInput,
  run: string,
  planned: PlannedJob,
  signal: AbortSignal,
): Promise<Executed> => {
  const { context, worktree } = input
  const { id, label, recipe, stage } = planned
  const number = input.plan.indexOf(planned) + 1
  const startedAt = context.now().getTime()
  context.progress({ kind: 'start', label, stage, command: recipe.run.join(' && ') })
  const path = join(input.outputFolder, `${String(number).padStart(2, '0')}-${id}.log`)
  const capture = openCapture(
    { ...commandLimits, ...input.limits }.outputBytes,
    recipe.run.length > 0 ? path : undefined,
  )
  const watched = planned.outputs.length > 0 && input.allowEdits !== true && recipe.run.length > 0
  const before = watched ? await input.digestOutputs(planned.outputs) : undefined
  const last = await runCommands(input, `${run}.${number}`, planned, startedAt, capture, signal)
  const file = await capture.finish()
  const failure = last && failureOf(last.result, recipe.timeoutS)
  const drift =
    watched && failure === undefined && (await input.digestOutputs(planned.outputs)) !== before
      ? await changedOutputs(input, planned)
      : []
  const reason = failure ?? (drift.length > 0 ? `changed its committed outputs: ${namePaths(drift)}` : undefined)
  const lines = outputLines(capture.bytes())
  const finishedAt = context.now().getTime()
  const job: GateJob = {
    planned,
    outcome: reason === undefined ? 'passed' : last?.result.cancelled ? 'cancelled' : 'failed',
    exitCode: last?.result.exitCode ?? null,
    startedAt,
    finishedAt,
    durationMs: Math.max(0, finishedAt - startedAt),
    outputPath: file.path,
    outputDigest: file.path === undefined ? undefined : file.digest,
    outputBytes: file.path === undefined ? 0 : file.bytes,
    omittedBytes: capture.omitted(),
    outputLines: lines.length,
    errorLikeLines: lines.filter(isErrorLike).length,
    reason,
    drift,
  }
  return {
    job,
    diagnostic:
      job.outcome === 'failed'
        ? diagnosticOf(job, lines, last?.command ?? '', { topLevel: worktree.topLevel, cwd: context.cwd })
        : undefined,
    advisories: [
      ...outputAdvisories(label, file),
      ...(last?.result.survivors ?? []).map(survivor => survivorAdvisory(label, survivor)),
    ],
  }
}

const runCommands = async (
  input: ExecuteInput,
  marker: string,
  planned: PlannedJob,
  startedAt: number,
  capture: Capture,
  signal: AbortSignal,
): Promise<{ readonly command: string; readonly result: CommandResult } | undefined> => {
  const { context, settings } = input
  const { label, recipe } = planned
  const survivors: Survivor[] = []
  let last: { readonly command: string; readonly result: CommandResult } | undefined
  for (const command of recipe.run) {
    const used = context.now().getTime() - startedAt
    const result = await runCommand({
      command,
      cwd: input.worktree.topLevel,
      env: input.env,
      marker,
      // At least a moment, so that a used-up budget ends as a timeout and not as no limit.
      timeoutMs: recipe.timeoutS === 0 ? 0 : Math.max(1, recipe.timeoutS * 1000 - used),
      signal,
      now: context.now,
      capture,
      ...(settings.streamOutput ? { sink: bytes => context.progress({ kind: 'output', label, bytes }) } : {}),
      ...(input.limits ? { limits: input.limits } : {}),
    })
    survivors.push(...result.survivors)
    last = { command, result: { ...result, survivors } }
    if (failureOf(result, recipe.timeoutS) !== undefined) break
  }
  return last
}

/** Which outputs to name: tracked files that changed, or the globs when git tracks none of them. */
const changedOutputs = async (input: ExecuteInput, planned: PlannedJob): Promise<readonly string[]> => {
  const outputs = (await input.inspect()).filter(matchesAny(planned.outputs))
  return outputs.length > 0 ? outputs : planned.outputs
}

const outputAdvisories = (label: string, file: CaptureFile): readonly Advisory[] =>
  file.problem === undefined
    ? []
    : [
        {
          kind: 'gate-output-incomplete',
          evidence: `the output of ${label} could not be kept: ${file.problem}`,
          next_action:
            'free some space or make the Git directory writable; the outcome of the gate does not depend on it',
        },
      ]

/** What a person must know about a process that outlived its job. */
export const survivorAdvisory = (label: string, survivor: Survivor): Advisory => ({
  kind: 'gate-process-alive',
  evidence: `${label} left a process behind: ${survivor.pid}${survivor.command ? ` (${survivor.command})` : ''}`,
  next_action: `if it is not meant to go on: kill ${survivor.pid}`,
})
