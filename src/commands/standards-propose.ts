/** `git discern standards propose`: asks the owner for another limit, with the measured value and a reason (facts 14). */
import { committedChange } from '../change/collect.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { isAncestor } from '../git/refs.ts'
import { commitLimits } from '../landing/limit-commit.ts'
import { approvalToken, rebindProposal } from '../landing/proposal.ts'
import { type Proposable, prepareProposal, proposalOf } from '../landing/propose.ts'
import type { StandardProposal } from '../proof/claim.ts'
import type { Result } from '../result.ts'
import type { Call } from './call.ts'
import { choose, compareWithTrunk, ratchetAdvisories, standardSteps, standardsData, VERB } from './standards.ts'
import { type EffortPlace, rereadLimits, withEffort } from './standards-effort.ts'
import { measureStandards, measuringSteps, planMeasuring, type StandardReading } from './standards-measure.ts'

export const propose = (context: Context, names: readonly string[], flags: Call['flags']): Promise<Result> => {
  const { reason } = flags
  const [name, ...others] = names
  if (name === undefined || others.length > 0 || typeof reason !== 'string') {
    throw new Refusal('invalid_arguments', {
      problem: `${VERB}: propose takes one standard and --reason`,
      usage: 'git discern standards propose <name> --reason "<reason>"',
    })
  }
  const dryRun = flags['dry-run'] === true
  return withEffort(context, dryRun, async place => {
    const { worktree, effort, head } = place
    const chosen = await choose(place.situation, [name])
    const standing = await compareWithTrunk(place)
    const change = await committedChange(worktree, effort.predecessor, head)
    const proposable = prepareProposal({
      standard: name,
      reason,
      trunk: standing.trunk,
      configuration: effort.configuration,
      recorded: standing.recorded,
      changed: change.paths.map(({ path }) => path),
    })
    const plan = await planMeasuring(context, place, chosen, flags['force'] === true)
    const known = plan.selected[0]?.known
    if (dryRun) {
      const draft = known ? draftOf(place, proposable, known) : undefined
      return {
        ok: true,
        verb: VERB,
        dry_run: true,
        plan: measuringSteps(plan),
        data: {
          ...standardsData([known ?? { standard: proposable.after, measured: undefined }], standing, false),
          ...(draft ? { proposal: { ...draft, token: tokenOf(draft) } } : {}),
        },
        advisories: ratchetAdvisories(standing),
      }
    }
    const measuring = await measureStandards(context, VERB, plan)
    const [reading] = measuring.readings
    if (!reading) throw new Error('one standard was chosen and none was measured')
    const draft = draftOf(place, proposable, reading)
    const proposal = await record(context, place, proposable, draft)
    const now = await rereadLimits(place, [reading])
    return {
      ok: true,
      verb: VERB,
      steps: [...measuring.steps, ...standardSteps([reading])],
      data: {
        ...standardsData(now.readings, now.standing, false),
        proposal: { ...proposal, token: tokenOf(proposal) },
      },
      advisories: measuring.advisories,
      hints: ['git discern done'],
    }
  })
}

type Draft = Omit<StandardProposal, 'commit' | 'bound_commit'>

const tokenOf = ({ standard, proposed_limit, reason }: Draft): string => approvalToken(standard, proposed_limit, reason)

const draftOf = ({ effort, head }: EffortPlace, proposable: Proposable, reading: StandardReading): Draft => {
  const { measured } = reading
  if (!('known' in measured)) {
    throw new Refusal('proposal_failed', {
      standard: proposable.after.name,
      problem: measured.unavailable,
      next: `git discern standards ${proposable.after.name} --force`,
    })
  }
  return proposalOf(proposable, {
    reading: measured.known.reading,
    commit: head,
    trunkCommit: effort.predecessor,
    trunk: effort.trunk.name,
  })
}

/** The same value as already proposed is bound to this commit; another one is a commit of its own. */
const record = async (
  context: Context,
  { worktree, effort, head }: EffortPlace,
  { standing, reason }: Proposable,
  draft: Draft,
): Promise<StandardProposal> => {
  const { branch } = effort
  if (
    standing?.measurement === draft.measurement &&
    standing.trunk_limit === draft.trunk_limit &&
    (await isAncestor(worktree, standing.commit, head)) === true
  ) {
    return rebindProposal(context, worktree, branch, { ...standing, reason, bound_commit: head })
  }
  const { standard, trunk_limit: from, proposed_limit: to } = draft
  const made = await commitLimits(context, worktree, {
    branch,
    head,
    limits: new Map([[standard, to]]),
    message: `Propose ${to} as the limit of standard ${standard}, which is ${from}\n\n${reason}`,
    proposals: [draft],
  })
  const [proposal] = 'commit' in made ? made.proposals : []
  if (proposal) return proposal
  throw new Refusal('proposal_failed', {
    standard,
    ...('problem' in made ? made : { problem: 'nothing was recorded', next: 'git status' }),
  })
}
