/** From a job that ran to the reading of the standard that its output holds (facts 14). */
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { reasonOf } from '../errors.ts'
import type { Worktree } from '../git/repository.ts'
import { JOB_OUTPUT_LIMIT_BYTES, STANDARD_ARTIFACT_LIMIT_BYTES } from '../limits.ts'
import type { StandardDefinition } from '../policy/standards.ts'
import { readRegularFile } from '../store/file.ts'
import { runCommand } from './job.ts'
import { failureOf, type GateJob } from './outcome.ts'
import {
  extractMetric,
  type Measurement,
  type Metrics,
  measureSizes,
  type Quantity,
  type Reading,
  readingOf,
  verdictOf,
} from './standard.ts'

/** `unavailable` says why there is no reading; a standard without one has failed. */
export type Measured = { readonly known: Measurement } | { readonly unavailable: string }

export interface MeasureInput {
  readonly context: Context
  readonly worktree: Worktree
  /** Full id of the commit whose files a size is taken from. */
  readonly commit: string
  readonly standard: StandardDefinition
  /** The job whose output holds the metric, as it ran: the standard's own, or its producer's. */
  readonly job: GateJob
  readonly env: Readonly<Record<string, string | undefined>>
  /** `<run>.<number>`, unique among the commands of a run. */
  readonly marker: string
  readonly signal: AbortSignal
}

/** The text marker of what an extracting command reads, opened for it as its standard input. */
const INPUT = 'DISCERN_STANDARD_INPUT'

/**
 * Measures one standard. Starts one process when `extract` is a command, and git processes when `per` is a size. Whatever goes
 * wrong is the answer; nothing is thrown for it.
 */
export const measureStandard = async (input: MeasureInput): Promise<Measured> => {
  const { worktree, commit, standard, job } = input
  if (job.outcome !== 'passed') {
    return { unavailable: `${job.planned.label} did not pass: ${job.reason ?? job.outcome}` }
  }
  const extracted = await metricsOf(input)
  if ('unavailable' in extracted) return extracted
  const reading = readingOf(standard, extracted.known, await sizeAt(worktree, commit, standard))
  if ('unavailable' in reading) {
    const where = whereOf(input)
    return {
      unavailable:
        job.omittedBytes > 0 && standard.artifact === undefined
          ? `${where}: ${reading.unavailable}; ${job.omittedBytes} bytes of the output were not kept`
          : `${where}: ${reading.unavailable}`,
    }
  }
  return { known: measurementOf(standard, reading.known, extracted.known) }
}

const measurementOf = (standard: StandardDefinition, reading: Reading, printed: Metrics): Measurement => {
  const metrics: Record<string, number> = {}
  for (const [name, quantity] of printed) if (name !== '' && 'known' in quantity) metrics[name] = quantity.known
  return { ...reading, verdict: verdictOf(standard, reading.reading), metrics }
}

/** What standing evidence says at another commit: the metrics are those of then, the size of files is that of `commit`. */
export const measureAgain = async (
  worktree: Worktree,
  commit: string,
  standard: StandardDefinition,
  metrics: Readonly<Record<string, number>>,
): Promise<Measured> => {
  const printed: Metrics = new Map(Object.entries(metrics).map(([name, known]) => [name, { known }]))
  const reading = readingOf(standard, printed, await sizeAt(worktree, commit, standard))
  return 'unavailable' in reading ? reading : { known: measurementOf(standard, reading.known, printed) }
}

const sizeAt = async (
  worktree: Worktree,
  commit: string,
  { per }: StandardDefinition,
): Promise<Quantity | undefined> =>
  per?.kind === 'size' ? measureSizes(worktree, commit, per.globs, per.unit) : undefined

const whereOf = ({ standard, job }: MeasureInput): string => standard.artifact ?? `output of ${job.planned.label}`

const metricsOf = async (
  input: MeasureInput,
): Promise<{ readonly known: Metrics } | { readonly unavailable: string }> => {
  const { standard, worktree, job } = input
  const path = standard.artifact === undefined ? job.outputPath : join(worktree.topLevel, standard.artifact)
  if (path === undefined) return { unavailable: `the output of ${job.planned.label} could not be kept` }
  const limit = standard.artifact === undefined ? JOB_OUTPUT_LIMIT_BYTES * 2 : STANDARD_ARTIFACT_LIMIT_BYTES
  let bytes: Buffer | undefined
  try {
    bytes = await readRegularFile(path, limit)
  } catch (error) {
    return { unavailable: `${whereOf(input)} cannot be read: ${reasonOf(error)}` }
  }
  if (bytes === undefined) return { unavailable: `${whereOf(input)} is not there` }
  if (standard.extract?.kind === 'command') {
    const printed = await runExtract(input, standard.extract.command, path)
    if ('unavailable' in printed) return printed
    bytes = printed.known
  }
  return { known: extractMetric(standard.extract, standard.metric, bytes) }
}

/** What the extracting command printed; it has failed when it ends with anything but 0. */
const runExtract = async (
  { context, worktree, standard, env, marker, signal }: MeasureInput,
  command: string,
  path: string,
): Promise<{ readonly known: Buffer } | { readonly unavailable: string }> => {
  const result = await runCommand({
    // The shell opens the input itself, and what it runs has it as its own.
    command: `exec <"$${INPUT}" || exit\n${command}`,
    cwd: worktree.topLevel,
    env,
    extra: { [INPUT]: path },
    marker,
    timeoutMs: standard.timeoutS * 1000,
    signal,
    now: context.now,
    daemons: 'stop',
  })
  const failure = failureOf(result, standard.timeoutS)
  return failure === undefined
    ? { known: result.output }
    : { unavailable: `extract did not pass: ${failure}${lastLine(result.output)}` }
}

const lastLine = (output: Buffer): string => {
  const line = output.toString('utf8').trimEnd().split('\n').at(-1)?.trim()
  return line ? ` (${line.slice(0, 200)})` : ''
}
