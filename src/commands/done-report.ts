/**
 * `git discern done --ci`: the same policy, obligations, conditions and jobs, as a report (facts 7.5). Only jobs decide the exit
 * code, and nothing is written that a strict run would read: no question, no declaration, no Proof, no verdict.
 */
import { committedChange } from '../change/collect.ts'
import type { Preflight } from '../checkpoint/preflight.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { planSteps } from '../gate/outcome.ts'
import { runGate } from '../gate/run.ts'
import { decodePath, splitNul } from '../git/path.ts'
import { isAncestor, resolveCommit, shortBranch } from '../git/refs.ts'
import type { Worktree } from '../git/repository.ts'
import { git, gitOutput } from '../git/run.ts'
import { worktreeState } from '../git/worktrees.ts'
import { type Recording, withRecording } from '../logbook/recording.ts'
import { openValidation } from '../logbook/validation.ts'
import { planGate } from '../policy/jobs.ts'
import { CONFIG_FILE } from '../policy/read.ts'
import { ranRow, standardsShown } from '../proof/complete.ts'
import { abbreviate } from '../proof/envelope.ts'
import { presentProof } from '../proof/page.ts'
import type { Result } from '../result.ts'
import { configurationAdvisories } from './advise.ts'
import type { Call } from './call.ts'
import { dropAdvisories, nothingOwed, withoutAncestor } from './checkpoints.ts'
import { gateSetting } from './gate-setting.ts'
import { checkpointsData, declaredRows, isUnreviewed, lookAtCheckpoints, settleCheckpoints } from './owed.ts'
import { changeRecord, checkpointFacts, standardRecords } from './recordings.ts'
import type { Situation } from './situation.ts'

const VERB = 'done'

/** The commit that governs, and the one the change is measured from; without the second no checkpoint can be judged. */
interface Ground {
  readonly policy: string | undefined
  readonly base: string | undefined
  readonly reason: string
}

export const report = async (context: Context, situation: Situation, call: Call): Promise<Result> => {
  const { worktree, configuration, state, trunk } = situation
  refuseDeclarations(call)
  if (!configuration) throw new Refusal('not_set_up', { file: CONFIG_FILE })
  const { head } = state
  if (head === undefined) {
    throw new Refusal('nothing_to_prove', { branch: shortBranch(state.branch ?? 'HEAD'), trunk: trunk.name })
  }
  const ground = await groundOf(situation, call, head)
  const dryRun = call.flags['dry-run'] === true
  const owed = await owedOn(context, situation, ground, head, dryRun)
  const change = ground.base === undefined ? undefined : await committedChange(worktree, ground.base, head)
  // Where the change cannot be measured every scope counts as changed: a gate that was left out would lie.
  const changedPaths = change ? change.paths.map(({ path }) => path) : await everyPath(worktree, head)
  const plan = planGate(configuration, { changedPaths })
  const data = {
    ...(ground.policy ? checkpointsData(ground.policy, owed) : { checkpoints: [], ungoverned: [], drops: owed.drops }),
    checkpoint_drops: owed.drops,
    mode: 'report',
    scopes_changed: plan.scopesChanged,
    unreviewed: owed.checkpoints.filter(isUnreviewed).map(({ definition }) => definition.id),
  }
  const advisories = [...configurationAdvisories(configuration), ...dropAdvisories(owed)]
  if (dryRun) {
    const previewed = { ...data, failed_stage: null, gate_ran: false }
    return { ok: true, verb: VERB, dry_run: true, plan: planSteps(plan.jobs), data: previewed, advisories }
  }
  const validation = configuration.project.recordLogbook
    ? openValidation({ context, worktree, verb: VERB, plan: plan.jobs })
    : undefined
  const gate = await runGate({
    ...gateSetting(context, VERB, worktree, configuration),
    plan: plan.jobs,
    ...(validation ? { boundary: validation.boundary } : {}),
    measuring: { worktree, commit: head },
    digestOutputs: async () => (await worktreeState(worktree)).tracked.join('\0'),
  })
  const claim = {
    branch: shortBranch(state.branch ?? 'HEAD'),
    trunk: trunk.name,
    head: abbreviate(head),
    files_total: change?.filesTotal ?? 0,
    insertions: change?.insertions ?? 0,
    deletions: change?.deletions ?? 0,
    mode: 'report',
    ...(owed.drops.length > 0 ? { checkpoint_drops: owed.drops } : {}),
  } as const
  const page = presentProof({
    claim,
    predecessor: ground.policy ?? '',
    ran: gate.jobs.map(ranRow),
    declared: declaredRows(owed, true),
    standards: standardsShown(gate.jobs, 'a report compares no limits'),
  })
  const result = {
    verb: VERB,
    steps: gate.steps,
    diagnostics: gate.diagnostics,
    data: {
      ...data,
      failed_stage: gate.failedStage,
      gate_ran: true,
      producer_executions: gate.jobs.filter(({ outcome }) => outcome !== 'skipped').length,
      completion: { kind: 'diagnostic', pending: [], pending_reasons: [] },
      report: gate.passed ? page : { line: '', markdown: '' },
    },
    advisories: [...advisories, ...gate.advisories],
  }
  const told: Recording = {
    clean: state.tracked.length + state.untracked.length === 0,
    ...(change ? { change: changeRecord(change) } : {}),
    scopes: plan.scopesChanged,
    standards: standardRecords(gate.jobs),
    checkpoints: checkpointFacts(context, owed),
    ...(validation ? { validation: validation.conclude(gate.steps) } : {}),
  }
  if (gate.passed) return withRecording({ ok: true, ...result }, told)
  const refusal = new Refusal('gate_failed', {
    stage: gate.failedStage ?? 'the gate',
    failed: gate.jobs.filter(({ outcome }) => outcome === 'failed').map(({ planned }) => planned.label),
    rerun: gate.diagnostics[0]?.reproduce_cmd ?? 'git discern done --ci',
  })
  const failure = { error: refusal.slug, message: refusal.message, hints: [...refusal.next] }
  return withRecording({ ok: false, ...result, ...failure }, told)
}

/** A report is nobody's conclusion (facts 7.5). */
const refuseDeclarations = ({ flags }: Call): void => {
  const given = ['met', 'unmet', 'why'].find(flag => {
    const value = flags[flag]
    return Array.isArray(value) ? value.length > 0 : value !== undefined
  })
  if (!given) return
  throw new Refusal('invalid_arguments', {
    problem: `done: --ci takes no --${given}: a report records no conclusion`,
    usage: 'git discern done --ci',
  })
}

/** The named comparison policy, else the trunk as it is known here, local or fetched. */
const groundOf = async ({ worktree, refs, trunk }: Situation, call: Call, head: string): Promise<Ground> => {
  const named = call.flags['policy-base']
  if (typeof named === 'string' && (await resolveCommit(worktree, named)) === undefined) {
    throw new Refusal('invalid_value', {
      what: '--policy-base',
      expected: 'a commit that is here',
      found: named,
      next: `fetch it first: git fetch origin ${trunk.name}`,
    })
  }
  const policy =
    typeof named === 'string'
      ? await resolveCommit(worktree, named)
      : (refs.get(trunk.ref)?.oid ?? (trunk.tracking ? refs.get(trunk.tracking)?.oid : undefined))
  if (policy === undefined) {
    return { policy, base: undefined, reason: `${trunk.name} is not here; name it: --policy-base <ref>` }
  }
  if ((await isAncestor(worktree, policy, head)) === true) return { policy, base: policy, reason: '' }
  const run = await git(worktree, ['merge-base', policy, head])
  const base = run.exitCode === 0 ? run.stdout.toString('utf8').trim() : undefined
  return { policy, base, reason: base === undefined ? await withoutAncestor(worktree) : '' }
}

const owedOn = (
  context: Context,
  { worktree, state }: Situation,
  { policy, base, reason }: Ground,
  head: string,
  dryRun: boolean,
): Promise<Preflight> => {
  if (policy === undefined || base === undefined) return Promise.resolve(nothingOwed(policy, reason))
  const asked = {
    worktree,
    branch: state.branch ?? 'HEAD',
    policy,
    base,
    scope: { kind: 'commit', commit: head },
  } as const
  const request = { met: [], unmet: [], why: undefined }
  return dryRun ? lookAtCheckpoints(asked) : settleCheckpoints(context, asked, request, 'report')
}

const everyPath = async (worktree: Worktree, head: string): Promise<readonly string[]> =>
  splitNul(await gitOutput(worktree, ['ls-tree', '-r', '-z', '--name-only', head])).map(decodePath)
