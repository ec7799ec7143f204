/**
 * The execution envelope: under which conditions the jobs of a run did what they did (facts 12.3, 12.4). Equal digests mean the
 * same configuration, the same setup and the same definition; nothing of any of them can be read out of one.
 */
import { jobOutcome } from '../gate/outcome.ts'
import { EXECUTION_JOB_LIMIT_COUNT, EXECUTION_LIMIT_BYTES } from '../limits.ts'
import type { PlannedJob } from '../policy/definition.ts'
import type { Step } from '../result.ts'
import { canonicalJson, type Key, keyed } from '../store/digest.ts'
import { plainDocument } from './epoch.ts'
import {
  type ExecutionEvidence,
  type ExecutionJob,
  type ExecutionMode,
  type Incomplete,
  type IncompleteReason,
  VALIDATION_VERSION,
} from './event.ts'

type Table = Readonly<Record<string, unknown>>

export interface ExecutionInput {
  readonly mode: ExecutionMode
  /** Version of this program. */
  readonly writer: string
  /** Every job of the stages that are registered, in the order of the plan. */
  readonly jobs: readonly Selected[]
}

/** A job that the envelope tells of. */
export interface Selected {
  readonly planned: PlannedJob
  /** It has commands, and no standing evidence replaces them. */
  readonly willRun: boolean
  /** Other jobs of its group could run at the same time. */
  readonly concurrentSiblings: boolean
}

/** An envelope whose jobs have not ended. */
export interface Envelope extends ExecutionInput {
  readonly digests: { readonly config: string; readonly setup: string; readonly jobs: readonly string[] } | undefined
  readonly incomplete: readonly Incomplete[]
}

/** Why there are no digests. */
export const withoutDigests = (
  input: ExecutionInput,
  reason: IncompleteReason,
  category: Incomplete['category'],
): Envelope => ({
  ...input,
  digests: undefined,
  incomplete: [{ category, reason }],
})

/** Tables that prepare a work tree before any job; the public program's, which this one only carries along. */
const SETUP_TABLES = ['ensure', 'env', 'environment', 'hooks', 'resources', 'worktree'] as const

/** Digests the configuration, what sets a work tree up, and each definition. Throws for what is no JSON. */
export const sealEnvelope = (input: ExecutionInput, key: Key, document: Table): Envelope => {
  const { jobs } = input
  if (jobs.length > EXECUTION_JOB_LIMIT_COUNT) return withoutDigests(input, 'entry-limit', 'execution')
  const config = plainDocument(document)
  const setup = {
    tables: Object.fromEntries(
      SETUP_TABLES.flatMap(name => (Object.hasOwn(config, name) ? [[name, config[name]]] : [])),
    ),
    environment: [...new Set(jobs.flatMap(({ planned }) => planned.recipe.environment))].sort(),
  }
  const definitions = jobs.map(({ planned, willRun }) => ({
    label: planned.label,
    command: planned.recipe.run,
    kind: planned.kind,
    stage: planned.stage,
    will_run: willRun,
    timeout: planned.recipe.timeoutS,
  }))
  if (!fits([config, setup, definitions], EXECUTION_LIMIT_BYTES))
    return withoutDigests(input, 'byte-limit', 'execution')
  const digest = (domain: string, value: unknown): string => keyed(key, domain, [['value', canonicalJson(value)]])
  return {
    ...input,
    digests: {
      config: digest('validation-config-v1', config),
      setup: digest('validation-setup-v1', setup),
      jobs: definitions.map(definition => digest('validation-job-v1', definition)),
    },
    incomplete: [],
  }
}

/** Whether values take at most so many bytes as JSON, counted without making the text; stops as soon as they do not. */
export const fits = (value: unknown, limitBytes: number): boolean => {
  let left = limitBytes
  const count = (part: unknown): boolean => {
    if (typeof part === 'string') left -= Buffer.byteLength(JSON.stringify(part))
    else if (Array.isArray(part)) {
      left -= 2 + Math.max(0, part.length - 1)
      return left >= 0 && part.every(count)
    } else if (typeof part === 'object' && part !== null) {
      const entries = Object.entries(part).filter(([, member]) => member !== undefined)
      left -= 2 + Math.max(0, entries.length - 1) + entries.length
      return left >= 0 && entries.every(([name, member]) => count(name) && count(member))
    } else left -= String(part).length
    return left >= 0
  }
  return count(value)
}

/** The envelope with what became of each job, which only an explicit step tells. */
export const concludeEnvelope = (envelope: Envelope, steps: readonly Step[]): ExecutionEvidence => {
  const { mode, writer, jobs, digests, incomplete } = envelope
  const told = jobs.length > EXECUTION_JOB_LIMIT_COUNT ? [] : jobs
  return {
    version: VALIDATION_VERSION,
    complete: digests !== undefined && incomplete.length === 0,
    mode,
    writer,
    ...(digests ? { config_digest: digests.config, setup_digest: digests.setup } : {}),
    jobs: told.map(({ planned, concurrentSiblings }, at): ExecutionJob => {
      const definition = digests?.jobs[at]
      return {
        id: planned.id,
        stage: planned.stage,
        kind: planned.kind,
        ...(definition === undefined ? {} : { definition_digest: definition }),
        outcome: jobOutcome(planned, steps),
        concurrent_siblings: concurrentSiblings,
      }
    }),
    ...(incomplete.length > 0 ? { incomplete } : {}),
  }
}
