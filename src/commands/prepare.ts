/** `git discern prepare`: fix, regenerate, check; obligations as advice (facts 7.6). No build, no test, no Proof, no `when`. */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { runGate } from '../gate/run.ts'
import { displayPath } from '../git/path.ts'
import { worktreeState } from '../git/worktrees.ts'
import type { PlannedJob } from '../policy/definition.ts'
import { planGate } from '../policy/jobs.ts'
import { CONFIG_FILE } from '../policy/read.ts'
import type { Result } from '../result.ts'
import { configurationAdvisories } from './advise.ts'
import type { Call } from './call.ts'
import { dropAdvisories, lookNow } from './checkpoints.ts'
import { gateSetting } from './gate-setting.ts'
import { checkpointsData } from './owed.ts'
import { readSituation } from './situation.ts'

const VERB = 'prepare'

const belongs = ({ stage, kind }: PlannedJob): boolean => stage === 'fix' || stage === 'check' || kind === 'generated'

export const run = async (context: Context, _call: Call): Promise<Result> => {
  const situation = await readSituation(context)
  const { worktree, configuration } = situation
  if (!configuration) throw new Refusal('not_set_up', { file: CONFIG_FILE })
  const plan = planGate(configuration, { changedPaths: [] }).jobs.filter(belongs)
  const kept = new Set(plan.map(({ id }) => id))
  const gate = await runGate({
    ...gateSetting(context, VERB, worktree, configuration),
    // A check may need a build, which is not prepared here; what is left out is not waited for.
    plan: plan.map(job => ({ ...job, recipe: { ...job.recipe, needs: job.recipe.needs.filter(id => kept.has(id)) } })),
    digestOutputs: async () => '',
    allowEdits: true,
  })
  const { looked } = await lookNow(context)
  const before = new Set(situation.state.tracked)
  const edited = (await worktreeState(worktree)).tracked.filter(path => !before.has(path)).map(displayPath)
  const result = {
    verb: VERB,
    steps: gate.steps,
    diagnostics: gate.diagnostics,
    data: {
      edited,
      ...(looked ? checkpointsData(looked.policy, looked.owed) : { checkpoints: [], ungoverned: [], drops: [] }),
    },
    advisories: [
      ...configurationAdvisories(configuration),
      ...gate.advisories,
      ...(looked ? dropAdvisories(looked.owed) : []),
    ],
  }
  if (gate.passed) return { ok: true, ...result, hints: edited.length > 0 ? ['git diff', 'git commit'] : [] }
  const refusal = new Refusal('gate_failed', {
    stage: gate.failedStage ?? 'prepare',
    failed: gate.jobs.filter(({ outcome }) => outcome === 'failed').map(({ planned }) => planned.label),
    rerun: gate.diagnostics[0]?.reproduce_cmd ?? 'git discern prepare',
  })
  return { ok: false, ...result, error: refusal.slug, message: refusal.message, hints: [...refusal.next] }
}
