/** `git discern done`: answer, run the gate, stamp the Proof (facts 7.1). */
import { type CommittedChange, committedChange } from '../change/collect.ts'
import type { DeclarationRequest } from '../checkpoint/declare.ts'
import type { Drop } from '../checkpoint/drop.ts'
import { makeDrop } from '../checkpoint/drop.ts'
import type { Preflight } from '../checkpoint/preflight.ts'
import { evidenceIdentity } from '../checkpoint/question.ts'
import { evidenceOf, readQuestions } from '../checkpoint/question-store.ts'
import type { Context } from '../context.ts'
import { Refusal, reasonOf } from '../errors.ts'
import { type GateRun, runGate } from '../gate/run.ts'
import { parseCommit } from '../git/objects.ts'
import { displayPath } from '../git/path.ts'
import { isAncestor, readRefs, shortBranch } from '../git/refs.ts'
import { worktreeState } from '../git/worktrees.ts'
import { liveProposals, sameProposals } from '../landing/proposal.ts'
import { recordSubmission } from '../landing/submission.ts'
import { carrying, type Recording, withRecording } from '../logbook/recording.ts'
import { openValidation, type ValidationCapture } from '../logbook/validation.ts'
import { type GatePlan, planGate } from '../policy/jobs.ts'
import { matchesAny } from '../policy/paths.ts'
import { policyDigest, readCommittedConfiguration } from '../policy/read.ts'
import type { ProofClaim } from '../proof/claim.ts'
import { type CompleteInput, completeProof, type StampedProof, standardsShown } from '../proof/complete.ts'
import { effortId } from '../proof/effort.ts'
import { abbreviate } from '../proof/envelope.ts'
import { clearMarker, completeMarker, inspectMarker, refuseNewerMarker, writeMarker } from '../proof/marker.ts'
import { newestVerdict, recordCompletion, recordVerdict, reserveSequence } from '../proof/records.ts'
import type { Result } from '../result.ts'
import { adminFolder, readAdmin, writeAdmin } from '../store/admin.ts'
import { sha256Json } from '../store/digest.ts'
import { probeWrite } from '../store/file.ts'
import type { Call } from './call.ts'
import { answer, awaiting, failed, preview, withheld } from './done-answer.ts'
import { type Evidence, recordFailures, recordPasses, reusedOf, weighEvidence } from './done-evidence.ts'
import { requireLimits, settleProposals, unverifiedBy } from './done-standards.ts'
import { gateSetting } from './gate-setting.ts'
import { type Asked, declaredRows, lookAtCheckpoints, settleCheckpoints } from './owed.ts'
import { changeRecord, checkpointFacts, standardRecords } from './recordings.ts'
import { type Effort, readSituation, requireEffort } from './situation.ts'
import { readSettledSituation } from './standards-effort.ts'

const VERB = 'done'

/** What `done` knows before any job runs. */
interface Ready {
  readonly effort: Effort
  readonly change: CommittedChange
  readonly plan: GatePlan
  readonly owed: Preflight
  /** Declaration-evidence identity the Proof will be bound to. */
  readonly evidence: string
  /** What was lost of the checkpoints, the evidence identity included. */
  readonly drops: readonly Drop[]
}

export const run = async (context: Context, call: Call): Promise<Result> => {
  const request = requestOf(call)
  const ends = call.flags['ci'] !== true && call.flags['dry-run'] !== true
  const situation = await (ends ? readSettledSituation(context, VERB) : readSituation(context))
  if (call.flags['ci'] === true) return (await import('./done-report.ts')).report(context, situation, call)
  const stray = ['policy-base', 'standalone'].find(flag => call.flags[flag] !== undefined)
  if (stray) {
    throw new Refusal('invalid_arguments', {
      problem: `done: --${stray} belongs to --ci`,
      usage: 'git discern done --ci',
    })
  }
  const effort = await requireEffort(situation, VERB)
  const evidence = evidenceOf(await readQuestions(effort.worktree, effort.branch))
  const dirty = [...effort.state.tracked, ...effort.state.untracked]
  const inspection = await inspectMarker(effort.worktree, {
    head: effort.head,
    dirty,
    evidence: 'known' in evidence ? evidence.known : undefined,
  })
  refuseNewerMarker(effort.worktree, inspection)
  const rerun = call.flags['rerun'] === true
  const dryRun = call.flags['dry-run'] === true
  const declares = request.met.length + request.unmet.length > 0 || request.why !== undefined
  const marker = inspection.status === 'honored' ? completeMarker(inspection.marker) : undefined
  if (
    !rerun &&
    !dryRun &&
    !declares &&
    marker &&
    'known' in evidence &&
    (await isReusable(effort, marker.proof.claim))
  ) {
    return withRecording(answer(effort, { gateRan: false, executions: 0, scopes: [], proof: marker.proof }), {
      clean: true,
    })
  }
  if (!dryRun && dirty.length > 0) {
    throw carrying(new Refusal('dirty_worktree', { paths: dirty.map(displayPath) }), { clean: false })
  }
  await requireContainsTrunk(effort)
  const change = await committedChange(effort.worktree, effort.predecessor, effort.head)
  const plan = planGate(effort.configuration, { changedPaths: change.paths.map(({ path }) => path) })
  if (dryRun) return preview(effort, plan, dirty, await lookAtCheckpoints(askedOf(effort)))
  const owed = await settleCheckpoints(context, askedOf(effort), request, 'strict')
  const [first, ...others] = owed.blocking.map(({ definition }) => definition.id)
  if (first !== undefined) {
    throw carrying(awaiting(effort, owed, [first, ...others]), {
      clean: true,
      change: changeRecord(change),
      scopes: plan.scopesChanged,
      checkpoints: checkpointFacts(context, owed),
    })
  }
  const ready = readyOf({ effort, change, plan, owed })
  if (!rerun && !declares) await refuseUnchangedRerun(effort, ready.evidence)
  await probeStores(effort)
  return finish(context, ready, rerun)
}

const requestOf = ({ flags }: Call): DeclarationRequest => {
  const { met, unmet, why } = flags
  return {
    met: Array.isArray(met) ? met : [],
    unmet: Array.isArray(unmet) ? unmet : [],
    why: typeof why === 'string' ? why : undefined,
  }
}

/** The tree is clean when it counts, so the commit itself is asked about. */
const askedOf = ({ worktree, branch, predecessor, head }: Effort): Asked => ({
  worktree,
  branch,
  policy: predecessor,
  base: predecessor,
  scope: { kind: 'commit', commit: head },
})

/** Evidence whose identity cannot be had is a drop of its own, and such a Proof is never reused (facts 6.4). */
const readyOf = (ready: Omit<Ready, 'evidence' | 'drops'>): Ready => {
  const { evidence, drops } = ready.owed
  if ('known' in evidence) return { ...ready, evidence: evidence.known, drops }
  const lost = makeDrop('declaration_evidence_unavailable', evidence.unavailable, {
    policyCommit: ready.effort.predecessor,
  })
  return { ...ready, evidence: evidenceIdentity([]), drops: [...drops, lost] }
}

/** Facts 7.3: the recorded predecessor is still the trunk's tip, and no later verdict stands on this commit. */
const isReusable = async (effort: Effort, claim: ProofClaim): Promise<boolean> => {
  if (claim.completion.candidate.predecessor !== effort.predecessor) return false
  if ((claim.checkpoint_drops ?? []).some(forbidsReuse)) return false
  if (claim.trunk !== effort.trunk.name || claim.branch !== shortBranch(effort.branch)) return false
  const live = await liveProposals(effort.worktree, effort.branch, effort.head)
  if (!sameProposals(live, claim.standard_proposals)) return false
  const verdict = await newestVerdict(effort.worktree, effort.head)
  return verdict?.proofId === claim.completion.proof_id
}

/** An indeterminate stop and unknowable evidence make a green Proof good for one landing only (facts 6.4). */
const forbidsReuse = ({ reason, mode }: Drop): boolean =>
  reason === 'declaration_evidence_unavailable' ||
  reason === 'strand_check_unavailable' ||
  (reason.startsWith('when_') && mode === 'stop')

const requireContainsTrunk = async (effort: Effort): Promise<void> => {
  const { worktree, predecessor, head, trunk, branch } = effort
  if ((await isAncestor(worktree, head, predecessor)) === true) {
    throw new Refusal('nothing_to_prove', { branch: shortBranch(branch), trunk: trunk.name })
  }
  const contains = await isAncestor(worktree, predecessor, head)
  if (contains === true) return
  const detail =
    contains === false
      ? {
          problem: `${shortBranch(branch)} does not contain ${trunk.name} (${abbreviate(predecessor)})`,
          next: 'git discern update',
        }
      : {
          problem: `git cannot tell whether ${shortBranch(branch)} contains ${trunk.name}: history is missing here`,
          next: 'fetch the missing history: git fetch --unshallow',
        }
  throw new Refusal('precondition_failed', detail, { data: { failed_stage: 'merge', gate_ran: false } })
}

/** The same head, trunk and declarations, and the last verdict was red: only a deliberate rerun may try again (facts 7.1). */
const refuseUnchangedRerun = async (effort: Effort, evidence: string): Promise<void> => {
  const last = await readAdmin(effort.worktree, 'last-gate-run')
  if (last.status !== 'ok' || last.value['passed'] !== false) return
  const same = { head: effort.head, predecessor: effort.predecessor, evidence }
  if (Object.entries(same).every(([key, value]) => last.value[key] === value)) {
    throw new Refusal('unchanged_tree_rerun', { head: abbreviate(effort.head) })
  }
}

const probeStores = async (effort: Effort): Promise<void> => {
  for (const path of [`${effort.worktree.gitDir}/discern`, adminFolder(effort.worktree, 'records')]) {
    try {
      await probeWrite(path)
    } catch (error) {
      const partial = { data: { failed_stage: 'write_access', gate_ran: false } }
      throw new Refusal('write_access', { path, reason: reasonOf(error) }, partial)
    }
  }
}

/** Runs the gate and keeps what it proved, or what it did not. */
const finish = async (context: Context, ready: Ready, rerun: boolean): Promise<Result> => {
  const { effort, plan, owed, change } = ready
  const { worktree } = effort
  const standing = await requireLimits(effort)
  const rerunOf = rerun ? ((await newestVerdict(worktree, effort.head))?.attemptId ?? null) : null
  const attempt = {
    id: context.uuid(),
    sequence: await reserveSequence(worktree),
    rerunOf,
    startedAt: context.now().getTime(),
  }
  const governing = await readCommittedConfiguration(worktree, effort.predecessor)
  const policy = policyDigest('text' in governing ? governing.text : undefined)
  const evidence = await weighEvidence(context, worktree, plan, { policy, head: effort.head }, rerun)
  const validation = effort.configuration.project.recordLogbook
    ? openValidation({ context, worktree, verb: VERB, plan: plan.jobs, reused: new Set(evidence.reused.keys()) })
    : undefined
  const gate = await runPlannedGate(context, effort, plan, evidence, validation)
  const told: Recording = {
    clean: true,
    change: changeRecord(change),
    scopes: plan.scopesChanged,
    standards: standardRecords(gate.jobs),
    checkpoints: checkpointFacts(context, owed),
    ...(validation ? { validation: validation.conclude(gate.steps) } : {}),
  }
  const verdict = { sequence: attempt.sequence, mode: 'strict', attemptId: attempt.id } as const
  if (!gate.passed) {
    await recordVerdict(worktree, effort.head, { ...verdict, passed: false, proofId: undefined })
    await recordFailures(worktree, gate, evidence, attempt)
    await clearMarker(worktree)
    await keepLastRun(ready, false)
    return withRecording(failed(effort, plan, gate, owed), told)
  }
  const reason = await whatMoved(effort)
  if (reason) throw carrying(withheld(effort, plan, gate, owed, reason), told)
  const proposals = await settleProposals(context, effort, standing, gate)
  const standards = standardsShown(gate.jobs, unverifiedBy(standing))
  const proof = await stamp(context, ready, { gate, evidence, policy, proposals, standards }, attempt)
  await recordCompletion(worktree, proof.claim, proof)
  await recordPasses(worktree, proof.claim.completion)
  await recordVerdict(worktree, effort.head, { ...verdict, passed: true, proofId: proof.claim.completion.proof_id })
  const marker = await writeMarker(worktree, effort.head, proof, ready.evidence)
  await keepLastRun(ready, true)
  const { completion } = proof.claim
  await recordSubmission(context, worktree, {
    ...completion.candidate.source,
    proof: { candidate_id: completion.candidate_id, proof_id: completion.proof_id },
    evidence: ready.evidence,
    predecessor: effort.predecessor,
    trunk: effort.trunk.target,
  })
  if (marker.status === 'record_failed') {
    throw new Refusal('write_access', { path: `${worktree.gitDir}/discern/gate-proof`, reason: marker.reason })
  }
  const executions = gate.jobs.filter(({ reusedFrom }) => reusedFrom === undefined).length
  const ended = answer(effort, { gateRan: true, executions, scopes: plan.scopesChanged, proof, gate, owed })
  return withRecording(ended, told)
}

const runPlannedGate = (
  context: Context,
  effort: Effort,
  plan: GatePlan,
  { reused }: Evidence,
  validation: ValidationCapture | undefined,
): Promise<GateRun> => {
  const { worktree, configuration } = effort
  const dirt = async (): Promise<readonly string[]> => {
    const state = await worktreeState(worktree)
    return [...state.tracked, ...state.untracked]
  }
  return runGate({
    ...gateSetting(context, VERB, worktree, configuration),
    plan: plan.jobs,
    reused: new Map([...reused].map(([id, evidence]) => [id, reusedOf(evidence)])),
    measuring: { worktree, commit: effort.head },
    ...(validation ? { boundary: validation.boundary } : {}),
    // The tree was clean, so what differs from the commit below a generator's paths is what it changed.
    digestOutputs: async globs => sha256Json((await dirt()).filter(matchesAny(globs)).sort().map(displayPath)),
  })
}

/** Why a green run proves nothing: the commit, the tree or the trunk is not what it was when the gate began. */
const whatMoved = async (effort: Effort): Promise<string | undefined> => {
  const { worktree, trunk } = effort
  const [state, refs] = await Promise.all([worktreeState(worktree), readRefs(worktree, [trunk.target])])
  if (state.head !== effort.head) return `HEAD moved from ${abbreviate(effort.head)} while the gate ran`
  if (state.branch !== effort.branch) return 'another branch was checked out while the gate ran'
  const dirty = [...state.tracked, ...state.untracked]
  if (dirty.length > 0) return `the tree is not clean any more: ${dirty.slice(0, 5).map(displayPath).join(', ')}`
  if (refs.get(trunk.target)?.oid !== effort.predecessor) return `${trunk.name} moved while the gate ran`
  return undefined
}

/** What the run of the gate made of the effort. */
interface Made extends Pick<CompleteInput, 'policy' | 'proposals' | 'standards'> {
  readonly gate: GateRun
  readonly evidence: Evidence
}

const stamp = async (
  context: Context,
  { effort, change, plan, owed, drops }: Ready,
  { gate, evidence, ...made }: Made,
  attempt: Parameters<typeof completeProof>[1]['attempt'],
): Promise<StampedProof> => {
  const { worktree, branch, head, predecessor, trunk } = effort
  const commit = await worktree.objects.read(head)
  if (!commit) throw new Refusal('store_unreadable', { path: head, reason: 'git cannot read the commit' })
  return completeProof(context, {
    source: {
      effort_id: await effortId(context, worktree, branch),
      branch,
      head,
      tree: parseCommit(commit.content).tree,
    },
    predecessor,
    trunk: trunk.name,
    ...made,
    change,
    requirements: plan.requirements,
    requirementSet: plan.requirementSet,
    jobs: gate.jobs,
    ...evidence,
    mode: 'strict',
    attempt,
    declared: declaredRows(owed),
    drops,
  })
}

const keepLastRun = ({ effort, evidence }: Ready, passed: boolean): Promise<void> => {
  const { head, predecessor, worktree } = effort
  return writeAdmin(worktree, 'last-gate-run', { head, predecessor, passed, evidence, mode: 'strict' })
}
