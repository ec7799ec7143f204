/** `git discern test`: the test stage alone, on the tree as it is; no Proof (facts 7, verb table). */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { runGate } from '../gate/run.ts'
import { openWorktree } from '../git/repository.ts'
import { withRecording } from '../logbook/recording.ts'
import { openValidation } from '../logbook/validation.ts'
import type { PlannedJob } from '../policy/definition.ts'
import { planGate } from '../policy/jobs.ts'
import { CONFIG_FILE, readLiveConfiguration } from '../policy/read.ts'
import type { Result } from '../result.ts'
import { configurationAdvisories } from './advise.ts'
import type { Call } from './call.ts'
import { gateSetting } from './gate-setting.ts'

const VERB = 'test'

export const run = async (context: Context, { operands }: Call): Promise<Result> => {
  const worktree = await openWorktree(context)
  const configuration = await readLiveConfiguration(worktree)
  if (!configuration) throw new Refusal('not_set_up', { file: CONFIG_FILE })
  const tests = planGate(configuration, { changedPaths: [] }).jobs.filter(({ stage }) => stage === 'test')
  const plan = await named(tests, operands)
  const capture = configuration.project.recordLogbook
    ? openValidation({ context, worktree, verb: VERB, plan })
    : undefined
  const gate = await runGate({
    ...gateSetting(context, VERB, worktree, configuration),
    plan,
    digestOutputs: async () => '',
    allowEdits: true,
    ...(capture ? { boundary: capture.boundary } : {}),
  })
  const result = {
    verb: VERB,
    steps: gate.steps,
    diagnostics: gate.diagnostics,
    data: {
      jobs: gate.jobs.map(({ planned, outcome }) => ({ id: planned.id, outcome })),
      failed_stage: gate.failedStage,
      gate_ran: true,
    },
    advisories: [...configurationAdvisories(configuration), ...gate.advisories],
    ...(gate.waitedMs > 0 ? { waited_ms: gate.waitedMs } : {}),
  }
  const recorded = capture ? { validation: capture.conclude(gate.steps) } : {}
  if (gate.passed) return withRecording({ ok: true, ...result }, recorded)
  const refusal = new Refusal('gate_failed', {
    stage: gate.failedStage ?? VERB,
    failed: gate.jobs.filter(({ outcome }) => outcome === 'failed').map(({ planned }) => planned.label),
    rerun: gate.diagnostics[0]?.reproduce_cmd ?? 'git discern test',
  })
  const failure = { error: refusal.slug, message: refusal.message, hints: [...refusal.next] }
  return withRecording({ ok: false, ...result, ...failure }, recorded)
}

/**
 * The test jobs that were named, or all. What else a job needs is as it lies in the tree, since nothing is built here; a test
 * that another one needs runs with it.
 */
const named = async (tests: readonly PlannedJob[], names: readonly string[]): Promise<readonly PlannedJob[]> => {
  if (tests.length === 0) {
    throw new Refusal('precondition_failed', {
      problem: `${CONFIG_FILE} has no job of stage test`,
      next: 'add one, for example: [jobs.test] run = "npm test"',
    })
  }
  const stray = names.find(name => !tests.some(({ id }) => id === name))
  if (stray !== undefined) {
    const { closestMatch } = await import('leven')
    const ids = tests.map(({ id }) => id)
    throw new Refusal('invalid_value', {
      what: 'the job',
      expected: `a job of stage test: ${ids.join(', ')}`,
      found: stray,
      next: `git discern test ${closestMatch(stray, ids, { maxDistance: 3 }) ?? ids[0]}`,
    })
  }
  const kept = new Set(names.length === 0 ? tests.map(({ id }) => id) : names)
  // The plan has every job after those it needs, so that one pass from its end finds them all.
  for (const { id, recipe } of [...tests].reverse()) {
    if (kept.has(id)) for (const need of recipe.needs) if (tests.some(test => test.id === need)) kept.add(need)
  }
  return tests
    .filter(({ id }) => kept.has(id))
    .map(job => ({ ...job, recipe: { ...job.recipe, needs: job.recipe.needs.filter(need => kept.has(need)) } }))
}
