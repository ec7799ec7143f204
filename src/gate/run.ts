/**
 * Runs a plan: fix, build, check and test side by side, scope gates; after each, the tracked files must be as they were
 * committed (facts 7.1, steps 7 to 12). Nothing is decided here about Proofs.
 */
import { availableParallelism } from 'node:os'
import { throwIfInterrupted } from '../errors.ts'
import type { Worktree } from '../git/repository.ts'
import { JOB_PARALLEL_MINIMUM_COUNT } from '../limits.ts'
import { neededJob, type PlannedJob } from '../policy/definition.ts'
import type { StandardDefinition } from '../policy/standards.ts'
import type { Advisory, Diagnostic, Step } from '../result.ts'
import { type Slot, takeSlot } from '../store/slot.ts'
import { enclosingRuns } from './environment.ts'
import { type Executed, type ExecuteInput, executeJob, reusedJob, skippedJob, survivorAdvisory } from './execute.ts'
import { type Measured, measureAgain, measureStandard } from './measure.ts'
import { driftFinding, type FailedStage, failedStage, type GateJob, reusedWords, stepOf } from './outcome.ts'
import { strays } from './processes.ts'
import { runPool } from './schedule.ts'
import { standardWords } from './standard.ts'

export interface GateInput extends ExecuteInput {
  /** The verb that runs the gate, for those who wait for its test slot. */
  readonly verb: string
  readonly worktree: { readonly topLevel: string; readonly gitDir: string; readonly commonDir: string }
  readonly settings: {
    readonly failFast: boolean
    readonly concurrentTestRuns: number
    readonly streamOutput: boolean
  }
  /** Called once, right before check and test: the moment whose state validation evidence records (facts 12.3). */
  readonly boundary?: () => Promise<void>
  /** Jobs that need not run, by id: the commit on which the evidence was made that stands for them, and what it measured. */
  readonly reused?: ReadonlyMap<string, { readonly head: string; readonly metrics: Readonly<Record<string, number>> }>
  /** Where standards are measured: the work tree, and the full id of the commit that sizes are taken from. */
  readonly measuring?: { readonly worktree: Worktree; readonly commit: string }
  /** Most jobs side by side; by default the processors, at least 2. */
  readonly parallel?: number
}

export interface GateRun {
  readonly passed: boolean
  readonly failedStage: FailedStage | null
  /** Tracked files, or outputs of a generator, that the jobs changed. */
  readonly driftPaths: readonly string[]
  /** One for each planned job, in the order of the plan. */
  readonly jobs: readonly GateJob[]
  readonly steps: readonly Step[]
  readonly diagnostics: readonly Diagnostic[]
  readonly advisories: readonly Advisory[]
  /** Time spent waiting for another worktree's tests. */
  readonly waitedMs: number
}

/** The groups in their order. Those of one group run side by side; `fix` rewrites files, so one job at a time. */
const GROUPS: readonly {
  readonly stages: readonly PlannedJob['stage'][]
  readonly name: string
  readonly serial?: true
}[] = [
  { stages: ['fix'], name: 'fix', serial: true },
  { stages: ['build'], name: 'build' },
  { stages: ['check', 'test', 'standard'], name: 'check/test' },
  { stages: ['scope'], name: 'scope gates' },
]

interface Run {
  readonly input: GateInput
  readonly id: string
  readonly done: Map<string, Executed>
  /** Tests share one slot for the whole group. */
  slot: Promise<Slot | undefined> | undefined
}

/**
 * Runs the plan and answers when no process of it is alive. A failed gate is a value; throws `Interrupted` after everything
 * is dead when the context's signal aborts. Git processes: one `inspect` before, and one after each group that ran something.
 */
export const runGate = async (input: GateInput): Promise<GateRun> => {
  const { context, plan } = input
  throwIfInterrupted(context)
  const run: Run = { input, id: context.uuid(), done: new Map(), slot: undefined }
  context.progress({ kind: 'plan', labels: plan.map(job => job.label) })
  const watched = input.allowEdits !== true && plan.some(works) && (await input.inspect()).length === 0
  let failedIn: string | undefined
  let drift: readonly string[] = []
  for (const job of plan) {
    const standing = input.reused?.get(job.id)
    if (standing) await reuse(run, job, standing)
  }
  for (const group of GROUPS) {
    const jobs = plan.filter(job => group.stages.includes(job.stage))
    if (failedIn !== undefined) {
      for (const job of jobs.filter(({ id }) => !run.done.has(id)))
        skip(run, job, `not started: the gate failed in ${failedIn}`)
      continue
    }
    if (group.stages.includes('test')) await input.boundary?.()
    throwIfInterrupted(context)
    await runGroup(run, jobs, group.serial ? 1 : width(input))
    throwIfInterrupted(context)
    if (watched && jobs.every(job => passed(run, job)) && jobs.some(job => works(job) && ran(run, job)))
      drift = await input.inspect()
    if (drift.length > 0 || !jobs.every(job => passed(run, job))) failedIn = group.name
  }
  return answer(run, failedIn, drift)
}

const answer = async (run: Run, failedIn: string | undefined, drift: readonly string[]): Promise<GateRun> => {
  const { context, plan, worktree } = run.input
  const done = plan.flatMap(job => run.done.get(job.id) ?? [])
  const jobs = done.map(one => one.job)
  const finding =
    failedIn !== undefined && drift.length > 0
      ? driftFinding(failedIn, drift, { topLevel: worktree.topLevel, cwd: context.cwd })
      : undefined
  return {
    passed: failedIn === undefined,
    failedStage: failedStage(jobs, drift),
    driftPaths: drift.length > 0 ? drift : jobs.flatMap(job => job.drift),
    jobs,
    steps: [...jobs.map(stepOf), ...(finding ? [finding.step] : [])],
    diagnostics: [...done.flatMap(one => one.diagnostic ?? []), ...(finding ? [finding.diagnostic] : [])],
    advisories: [
      ...done.flatMap(one => one.advisories),
      ...(plan.some(works) ? strays(run.id).map(stray => survivorAdvisory('the gate', stray)) : []),
    ],
    waitedMs: (await run.slot)?.waitedMs ?? 0,
  }
}

const works = (job: PlannedJob): boolean => job.recipe.run.length > 0

const passed = (run: Run, job: PlannedJob): boolean => run.done.get(job.id)?.job.outcome === 'passed'

const ran = (run: Run, job: PlannedJob): boolean => run.done.get(job.id)?.job.reusedFrom === undefined

/** Keeps the record of a job that is over, and says so. */
const conclude = (run: Run, { id, label, stage }: PlannedJob, executed: Executed): void => {
  run.done.set(id, executed)
  const { outcome, durationMs, reusedFrom } = executed.job
  const note = reusedFrom === undefined ? undefined : reusedWords(reusedFrom)
  run.input.context.progress({ kind: 'end', label, stage, outcome, durationMs, ...(note ? { note } : {}) })
}

/** A job that does not run because its evidence stands; a standard is judged by what was measured then. */
const reuse = async (
  run: Run,
  job: PlannedJob,
  { head, metrics }: { readonly head: string; readonly metrics: Readonly<Record<string, number>> },
): Promise<void> => {
  const executed = reusedJob(job, head, run.input.context.now())
  if (!job.standard) return conclude(run, job, executed)
  const { worktree, commit } = placeOf(run)
  conclude(run, job, judged(job.standard, executed, await measureAgain(worktree, commit, job.standard, metrics)))
}

const placeOf = ({ input }: Run): NonNullable<GateInput['measuring']> => {
  if (!input.measuring) throw new Error('a plan with standards needs a commit to measure them on')
  return input.measuring
}

/** Measures a standard from its own output, or from that of the job whose output holds its metric. */
const judge = async (
  run: Run,
  job: PlannedJob,
  standard: StandardDefinition,
  executed: Executed,
  signal: AbortSignal,
): Promise<Executed> => {
  const { context, env, plan } = run.input
  const producer = standard.producer === undefined ? executed : run.done.get(standard.producer)
  // A standard without commands may need a job that is no part of this run.
  const source = producer?.job ?? executed.job
  if (executed.job.outcome !== 'passed') return executed
  const marker = `${run.id}.${plan.length + plan.indexOf(job) + 1}`
  const input = { ...placeOf(run), context, standard, job: source, env, marker, signal }
  return judged(standard, executed, await measureStandard(input))
}

const judged = (standard: StandardDefinition, executed: Executed, measured: Measured): Executed => {
  const known = 'known' in measured ? measured.known : undefined
  const reason =
    'unavailable' in measured
      ? measured.unavailable
      : measured.known.verdict === 'breached'
        ? standardWords(standard, measured.known)
        : undefined
  const job: GateJob = {
    ...executed.job,
    outcome: reason === undefined ? executed.job.outcome : 'failed',
    reason: reason ?? executed.job.reason,
    measured: known,
  }
  if (reason === undefined) return { ...executed, job }
  const diagnostic = {
    tool: job.planned.label,
    severity: 'error',
    message: reason,
    reproduce_cmd: `git discern standards ${standard.name} --force`,
  } as const
  return { ...executed, job, diagnostic }
}

const width = (input: GateInput): number =>
  Math.max(1, input.parallel ?? Math.max(availableParallelism(), JOB_PARALLEL_MINIMUM_COUNT))

const skip = (run: Run, job: PlannedJob, reason: string): void => {
  run.done.set(job.id, skippedJob(job, reason, run.input.context.now()))
  run.input.context.progress({ kind: 'end', label: job.label, stage: job.stage, outcome: 'skipped', durationMs: 0 })
}

const runGroup = async (run: Run, jobs: readonly PlannedJob[], width: number): Promise<void> => {
  const { context, plan, settings } = run.input
  try {
    await runPool({
      // Checks first: they are quick, and a test may have to wait for another worktree's.
      jobs: jobs
        .filter(({ id }) => !run.done.has(id))
        .sort((a, b) => Number(a.stage === 'test') - Number(b.stage === 'test')),
      width,
      failFast: settings.failFast,
      signal: context.signal,
      standing: need => {
        const job = neededJob(plan, need)
        if (!job) return 'foreign'
        return passed(run, job) ? 'passed' : run.done.has(job.id) ? 'not-passed' : 'pending'
      },
      skip: (job, reason) => skip(run, job, reason),
      run: async (job, signal) => {
        if (job.stage === 'test' && works(job) && !(await testSlot(run, signal))) {
          skip(run, job, 'not started: stopped while waiting for other tests')
          return false
        }
        const executed = await executeJob(run.input, run.id, job, signal)
        conclude(run, job, job.standard ? await judge(run, job, job.standard, executed, signal) : executed)
        return passed(run, job)
      },
    })
  } finally {
    await (await run.slot)?.release()
  }
}

const testSlot = (run: Run, signal: AbortSignal): Promise<Slot | undefined> => {
  const { context, worktree, settings, verb, env } = run.input
  run.slot ??= takeSlot(context, {
    directories: worktree,
    count: settings.concurrentTestRuns,
    worktree: worktree.topLevel,
    run: run.id,
    enclosing: enclosingRuns(env),
    verb,
    signal,
    onWait: other => context.progress({ kind: 'note', text: `waiting for the tests of ${other}` }),
  })
  return run.slot
}
