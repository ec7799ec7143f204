/** Whether a limit may be proposed to the owner at all, and the proposal that then is (facts 14). Pure. */
import { parseRationale, RATIONALE } from '../checkpoint/declare.ts'
import { Refusal } from '../errors.ts'
import { verdictOf } from '../gate/standard.ts'
import { displayPath } from '../git/path.ts'
import type { Configuration } from '../policy/definition.ts'
import { matchesAny } from '../policy/paths.ts'
import { changedMeaning, type TrunkStandards } from '../policy/ratchet.ts'
import { CONFIG_FILE } from '../policy/read.ts'
import { meaningFingerprint, readStandards, type StandardDefinition } from '../policy/standards.ts'
import type { StandardProposal } from '../proof/claim.ts'

/** What is known before anything is measured. */
export interface ProposalRequest {
  readonly standard: string
  /** As it was typed. */
  readonly reason: string
  readonly trunk: TrunkStandards
  /** The configuration at the commit that will be measured. */
  readonly configuration: Configuration
  /** What is recorded for the branch. */
  readonly recorded: readonly StandardProposal[]
  /** Paths that the branch changed, as `committedChange` gives them. */
  readonly changed: readonly string[]
}

/** A standard whose limit may be proposed, should its reading breach that of the trunk. */
export interface Proposable {
  readonly before: StandardDefinition
  readonly after: StandardDefinition
  /** Trimmed. */
  readonly reason: string
  /** Never empty; as they are displayed. */
  readonly evidence: readonly string[]
  /** What is recorded for this standard and stands in the file. */
  readonly standing: StandardProposal | undefined
}

const fail = (standard: string, problem: string, next: string): never => {
  throw new Refusal('proposal_failed', { standard, problem, next })
}

/**
 * Checks everything that can be checked without measuring. Refuses with `invalid_value` for the reason and with
 * `proposal_failed` for everything else, naming what to do instead.
 */
export const prepareProposal = (request: ProposalRequest): Proposable => {
  const { standard: name, trunk, configuration, recorded } = request
  const rationale = parseRationale(request.reason)
  if ('found' in rationale) {
    throw new Refusal('invalid_value', {
      what: '--reason',
      expected: RATIONALE,
      found: rationale.found,
      next: `git discern standards propose ${name} --reason "<reason>"`,
    })
  }
  const after = readStandards(configuration).find(standard => standard.name === name)
  if (!after) throw new Error(`${name} is no standard of this configuration`)
  if ('unavailable' in trunk) {
    return fail(
      name,
      `the trunk's limit cannot be read: ${trunk.unavailable}`,
      `put ${CONFIG_FILE} of the trunk right first`,
    )
  }
  const before = trunk.known && readStandards(trunk.known).find(standard => standard.name === name)
  if (!before)
    return fail(name, 'the trunk does not have this standard', `set the limit that it shall have in ${CONFIG_FILE}`)
  const meaning = changedMeaning(before, after)
  if (meaning !== undefined) return fail(name, meaning, `restore what the trunk has in ${CONFIG_FILE} and commit`)
  const standing = recorded.find(
    proposal =>
      proposal.standard === name &&
      proposal.proposed_limit === after.limit &&
      proposal.definition_fingerprint === meaningFingerprint(after),
  )
  if (after.limit !== before.limit && !standing) {
    const problem = `its limit was changed by hand from ${before.limit} to ${after.limit}`
    return fail(name, problem, `restore the limit ${before.limit} in ${CONFIG_FILE}, commit, and propose again`)
  }
  const evidence = evidenceOf(after, request.changed)
  if (evidence.length === 0) {
    return fail(
      name,
      'no path that this branch changed is among its inputs, so nothing here explains another value',
      'git discern standards',
    )
  }
  return { before, after, reason: rationale.why, evidence, standing }
}

/** Without inputs everything may explain a value, but for the file in which the limits stand. */
const evidenceOf = ({ inputs }: StandardDefinition, changed: readonly string[]): readonly string[] => {
  const explains = inputs === undefined ? (path: string) => path !== CONFIG_FILE : matchesAny(inputs)
  return changed.filter(explains).map(displayPath)
}

export interface MeasuredAt {
  readonly reading: number
  /** Full ids of the commit that was measured and of the trunk's tip. */
  readonly commit: string
  readonly trunkCommit: string
  /** Short name. */
  readonly trunk: string
}

/** The proposal of a reading; refuses with `proposal_failed` when it holds the trunk's limit. */
export const proposalOf = (
  { before, after, reason, evidence }: Proposable,
  measured: MeasuredAt,
): Omit<StandardProposal, 'commit' | 'bound_commit'> => {
  const { reading } = measured
  if (verdictOf(before, reading) !== 'breached') {
    const next =
      after.limit === before.limit
        ? 'git discern done'
        : `restore the limit ${before.limit} in ${CONFIG_FILE}, commit, and run: git discern done`
    return fail(before.name, `${reading} holds the trunk's limit ${before.limit}`, next)
  }
  return {
    standard: before.name,
    measured_commit: measured.commit,
    definition_fingerprint: meaningFingerprint(after),
    trunk: measured.trunk,
    trunk_commit: measured.trunkCommit,
    direction: before.direction,
    trunk_limit: before.limit,
    proposed_limit: reading,
    measurement: reading,
    delta: reading - before.limit,
    reason,
    evidence_paths: evidence,
  }
}
