/**
 * Validation evidence: exactly what state and under which conditions the jobs of a run saw (facts 12.3 to 12.5). It is captured
 * once, at the boundary before the first job that counts, and never changes what the run finds: whatever fails here is written
 * down as incomplete evidence.
 */
import type { Context } from '../context.ts'
import type { Worktree } from '../git/repository.ts'
import type { PlannedJob } from '../policy/definition.ts'
import { readLiveDocument } from '../policy/read.ts'
import type { Step } from '../result.ts'
import { type KeyAnswer, openKey } from '../store/hmac-key.ts'
import { type Allowance, openAllowance, within } from './allowance.ts'
import {
  type CaptureBoundary,
  type ExecutionMode,
  type Incomplete,
  type StateEvidence,
  VALIDATION_VERSION,
  type Validation,
} from './event.ts'
import { concludeEnvelope, type Envelope, type ExecutionInput, sealEnvelope, withoutDigests } from './execution.ts'
import { captureState, internalState, notReached } from './state.ts'

type Stage = PlannedJob['stage']

/** The verbs whose runs count as validation. Every planned job of their stages is told of; a new one is a new row. */
const ENTRY_POINTS = {
  done: { mode: 'full-gate', stages: ['check', 'test'], capture: 'after-fix-build' },
  test: { mode: 'standalone-test', stages: ['test'], capture: 'before-test-group' },
} as const satisfies Record<
  string,
  { readonly mode: ExecutionMode; readonly stages: readonly Stage[]; readonly capture: CaptureBoundary }
>

export type EntryPoint = keyof typeof ENTRY_POINTS

/** Stages whose jobs run side by side with those of the entry points. */
const GROUP: readonly Stage[] = ['check', 'test', 'standard']

export interface ValidationInput {
  readonly context: Context
  readonly worktree: Worktree
  readonly verb: EntryPoint
  readonly plan: readonly PlannedJob[]
  /** Ids of jobs that do not run because their evidence stands. */
  readonly reused?: ReadonlySet<string>
}

export interface ValidationCapture {
  /** Captures state and conditions; to be awaited right before the jobs start. Never throws, never later than its deadline. */
  readonly boundary: () => Promise<void>
  /** The evidence of a run with these steps; not reached, when `boundary` was never called. Never throws. */
  readonly conclude: (steps: readonly Step[]) => Validation
}

interface Captured {
  readonly state: StateEvidence
  readonly envelope: Envelope
}

export const openValidation = (input: ValidationInput): ValidationCapture => {
  const { mode, stages, capture } = ENTRY_POINTS[input.verb]
  const execution: ExecutionInput = { mode, writer: input.context.version, jobs: select(input, stages) }
  let captured: Captured = {
    state: notReached(capture),
    envelope: withoutDigests(execution, 'not-reached', 'boundary'),
  }
  return {
    boundary: async () => {
      captured = await captureAll(input, capture, execution)
    },
    conclude: steps => ({
      version: VALIDATION_VERSION,
      state: captured.state,
      execution: concludeEnvelope(captured.envelope, steps),
    }),
  }
}

const select = ({ plan, reused }: ValidationInput, stages: readonly Stage[]): ExecutionInput['jobs'] => {
  const willRun = ({ id, recipe }: PlannedJob): boolean => recipe.run.length > 0 && reused?.has(id) !== true
  const running = plan.filter(job => GROUP.includes(job.stage) && willRun(job))
  return plan
    .filter(({ stage }) => stages.includes(stage))
    .map(planned => ({
      planned,
      willRun: willRun(planned),
      concurrentSiblings: running.some(({ id }) => id !== planned.id),
    }))
}

/** State and conditions under one allowance; both halves are total, and so is what puts them together. */
const captureAll = async (
  { context, worktree }: ValidationInput,
  capture: CaptureBoundary,
  execution: ExecutionInput,
): Promise<Captured> => {
  try {
    const allowance = openAllowance({ signal: context.signal })
    const key = openKey(worktree)
    const [state, envelope] = await Promise.all([
      captureState(worktree, { capture, allowance, key }),
      captureExecution(worktree, execution, allowance, key),
    ])
    return { state, envelope }
  } catch {
    return { state: internalState(capture, 0), envelope: withoutDigests(execution, 'unavailable', 'internal') }
  }
}

const captureExecution = async (
  worktree: Worktree,
  execution: ExecutionInput,
  allowance: Allowance,
  key: Promise<KeyAnswer>,
): Promise<Envelope> => {
  const without = ({ category, reason }: Incomplete): Envelope => withoutDigests(execution, reason, category)
  try {
    const sealed = await within(allowance, async () => {
      const answer = await key
      if ('unavailable' in answer) return without({ category: 'key', reason: answer.unavailable })
      const document = await readLiveDocument(worktree)
      if (!document) return without({ category: 'execution', reason: 'unavailable' })
      return sealEnvelope(execution, answer.known, document)
    })
    return 'known' in sealed ? sealed.known : without({ category: 'budget', reason: sealed.unavailable })
  } catch {
    return without({ category: 'execution', reason: 'unavailable' })
  }
}
