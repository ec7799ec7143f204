/**
 * Limits that a branch proposes to loosen, and the owner's approval of exactly them (facts 14, "proposal life"). A proposal is
 * evidence of one commit: it counts while the branch stands on the commit it is bound to, and moves on only when the same
 * value was measured again. Restoring the trunk's limit declines it.
 */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { isAncestor } from '../git/refs.ts'
import type { Repository } from '../git/repository.ts'
import type { Configuration } from '../policy/definition.ts'
import type { TrunkStandards } from '../policy/ratchet.ts'
import { meaningFingerprint, readStandards, type StandardDefinition } from '../policy/standards.ts'
import type { StandardProposal } from '../proof/claim.ts'
import { clearMarker } from '../proof/marker.ts'
import { type BranchStore, changeBranch, isMembers, readBranch } from '../store/by-branch.ts'
import { canonicalJson, sha256Json } from '../store/digest.ts'

interface Directories {
  readonly gitDir: string
  readonly commonDir: string
}

interface Recorded {
  /** Sorted by standard, each at most once. */
  readonly proposals: readonly StandardProposal[]
}

const TEXTS = [
  'standard',
  'commit',
  'bound_commit',
  'measured_commit',
  'definition_fingerprint',
  'trunk',
  'trunk_commit',
  'direction',
  'reason',
] as const

const NUMBERS = ['trunk_limit', 'proposed_limit', 'measurement', 'delta'] as const

/** Whether a value has every field of a proposal; one without `bound_commit` is none (facts 11.1). */
export const isProposal = (value: unknown): value is StandardProposal =>
  isMembers(value) &&
  TEXTS.every(key => typeof value[key] === 'string' && value[key] !== '') &&
  (value['direction'] === 'up' || value['direction'] === 'down') &&
  NUMBERS.every(key => Number.isFinite(value[key])) &&
  Array.isArray(value['evidence_paths']) &&
  value['evidence_paths'].length > 0 &&
  value['evidence_paths'].every(path => typeof path === 'string')

const store: BranchStore<Recorded> = {
  file: 'standard-limit-proposals',
  field: 'branches',
  parse: value =>
    isMembers(value) && Array.isArray(value['proposals']) && value['proposals'].every(isProposal)
      ? { proposals: value['proposals'] }
      : undefined,
}

const byStandard = (proposals: readonly StandardProposal[]): readonly StandardProposal[] =>
  [...proposals].sort((left, right) => (left.standard < right.standard ? -1 : 1))

/**
 * Every proposal that is recorded for a branch (full ref name), sorted by standard; the ratchet takes these. Refuses with
 * `store_newer` or `store_unreadable`; writes nothing, no git process.
 */
export const recordedProposals = async (
  directories: Directories,
  branch: string,
): Promise<readonly StandardProposal[]> => (await readBranch(directories, store, branch))?.proposals ?? []

/** Those of them that are bound to this very commit: what a Proof of it carries and what the owner is asked about. */
export const liveProposals = async (
  directories: Directories,
  branch: string,
  head: string,
): Promise<readonly StandardProposal[]> =>
  (await recordedProposals(directories, branch)).filter(({ bound_commit }) => bound_commit === head)

/** Records proposals of a branch in place of those of the same standards. Recording the same ones again changes nothing. */
export const recordProposals = async (
  context: Context,
  directories: Directories,
  branch: string,
  proposals: readonly StandardProposal[],
): Promise<void> => {
  if (proposals.length === 0) return
  const names = new Set(proposals.map(({ standard }) => standard))
  await change(context, directories, branch, standing =>
    byStandard([...standing.filter(({ standard }) => !names.has(standard)), ...proposals]),
  )
}

/** Records one proposal anew, bound to another commit or for another reason, and clears the Proof when that changed anything. */
export const rebindProposal = async (
  context: Context,
  directories: Directories,
  branch: string,
  proposal: StandardProposal,
): Promise<StandardProposal> => {
  const changed = await change(context, directories, branch, standing =>
    byStandard([...standing.filter(({ standard }) => standard !== proposal.standard), proposal]),
  )
  if (changed) await clearMarker(directories)
  return proposal
}

const change = async (
  context: Context,
  directories: Directories,
  branch: string,
  next: (standing: readonly StandardProposal[]) => readonly StandardProposal[],
): Promise<boolean> => {
  let changed = false
  await changeBranch(context, directories, store, branch, standing => {
    const before = standing?.proposals ?? []
    const after = next(before)
    changed = canonicalJson(before) !== canonicalJson(after)
    if (!changed) return standing
    return after.length > 0 ? { proposals: after } : undefined
  })
  return changed
}

export interface RenewInput {
  readonly worktree: Repository
  /** Full ref name. */
  readonly branch: string
  readonly head: string
  /** The configuration at `head`. */
  readonly configuration: Configuration
  /** The configuration of the trunk that the branch will land on. */
  readonly trunk: TrunkStandards
  /** What was measured at `head`, by standard. */
  readonly readings: ReadonlyMap<string, number>
}

export interface Renewed {
  /** Bound to `head` now. */
  readonly live: readonly StandardProposal[]
  /** Recorded and not bound to `head`, each with the reason. */
  readonly stale: readonly { readonly standard: string; readonly reason: string }[]
}

/**
 * Binds the proposals of a branch to a descendant on which everything about them is the same, makes no commit, and clears the
 * Proof when anything changed. A proposal whose limit is not in the configuration any more was declined and is forgotten. One
 * git process for each proposal that is not bound to `head` yet.
 */
export const renewProposals = async (context: Context, input: RenewInput): Promise<Renewed> => {
  const { worktree, branch, head, configuration } = input
  const recorded = await recordedProposals(worktree, branch)
  if (recorded.length === 0) return { live: [], stale: [] }
  const own = new Map(readStandards(configuration).map(standard => [standard.name, standard]))
  const declined = new Set<string>()
  const stale = new Map<string, string>()
  for (const proposal of recorded) {
    const standard = own.get(proposal.standard)
    if (standard?.limit !== proposal.proposed_limit) declined.add(proposal.standard)
    else {
      const reason = await whyStale(input, proposal, standard)
      if (reason !== undefined) stale.set(proposal.standard, reason)
    }
  }
  const changed = await change(context, worktree, branch, standing =>
    standing
      .filter(({ standard }) => !declined.has(standard))
      .map(proposal => (stale.has(proposal.standard) ? proposal : { ...proposal, bound_commit: head })),
  )
  if (changed) await clearMarker(worktree)
  return {
    live: (await liveProposals(worktree, branch, head)).filter(({ standard }) => !stale.has(standard)),
    stale: [...stale].map(([standard, reason]) => ({ standard, reason })),
  }
}

const whyStale = async (
  { worktree, trunk, readings, head }: RenewInput,
  proposal: StandardProposal,
  standard: StandardDefinition,
): Promise<string | undefined> => {
  if (meaningFingerprint(standard) !== proposal.definition_fingerprint) return 'the standard means something else now'
  const before =
    'known' in trunk && trunk.known ? readStandards(trunk.known).find(({ name }) => name === standard.name) : undefined
  if (before?.limit !== proposal.trunk_limit) {
    return `the trunk's limit is ${before?.limit ?? 'unknown'} and was ${proposal.trunk_limit}`
  }
  const reading = readings.get(standard.name)
  if (reading === undefined) return 'it was not measured'
  if (reading !== proposal.measurement) return `${reading} was measured, and ${proposal.measurement} is proposed`
  if (proposal.bound_commit === head || (await isAncestor(worktree, proposal.commit, head)) === true) return undefined
  return 'its commit is not part of this branch any more'
}

/** 64 hexadecimal digits over what the owner approves: this limit of this standard for this reason (facts 14). */
export const approvalToken = (standard: string, proposedLimit: number, reason: string): string =>
  sha256Json({ standard, proposed_limit: proposedLimit, reason })

const tokenOf = ({ standard, proposed_limit, reason }: StandardProposal): string =>
  approvalToken(standard, proposed_limit, reason)

/**
 * The approved proposals: the tokens must be exactly those of the live ones, no more and no less, in any order. Refuses with
 * `awaiting_standard_approval`. Nothing else than a token approves: no grant, no variance, no general consent.
 */
export const checkApprovals = (
  tokens: readonly string[],
  live: readonly StandardProposal[],
): readonly StandardProposal[] => {
  const expected = new Set(live.map(tokenOf))
  const unknown = tokens.filter(token => !expected.has(token))
  if (unknown.length === 0 && live.every(proposal => tokens.includes(tokenOf(proposal)))) return live
  throw new Refusal('awaiting_standard_approval', {
    proposals: live.map(proposal => ({
      standard: proposal.standard,
      from: proposal.trunk_limit,
      to: proposal.proposed_limit,
      reason: proposal.reason,
      token: tokenOf(proposal),
    })),
    unknown,
  })
}

/** Whether a Proof carries exactly these proposals, in any order. */
export const sameProposals = (live: readonly StandardProposal[], proven: readonly StandardProposal[] = []): boolean =>
  canonicalJson(byStandard(live)) === canonicalJson(byStandard(proven))

/** Refuses with `proposal_stale` unless a Proof carries exactly the live proposals. */
export const requireSameProposals = (
  live: readonly StandardProposal[],
  proven: readonly StandardProposal[] = [],
): void => {
  if (sameProposals(live, proven)) return
  throw new Refusal('proposal_stale', {
    standards: [...new Set([...live, ...proven].map(({ standard }) => standard))].sort(),
    problem: `it carries ${proven.length}, and ${live.length} ${live.length === 1 ? 'is' : 'are'} live`,
  })
}
