/** What `accept` may land: the proven commit of this checkout, or what another branch of the repository asked to land. */
import { evidenceOf, readQuestions } from '../checkpoint/question-store.ts'
import { Refusal } from '../errors.ts'
import { displayPath } from '../git/path.ts'
import { isAncestor, readRefs, shortBranch } from '../git/refs.ts'
import { siblingWorktree } from '../git/repository.ts'
import { allSubmissions, type SubmissionRow } from '../landing/submission.ts'
import { abbreviate } from '../proof/envelope.ts'
import { completeMarker, inspectMarker, refuseNewerMarker } from '../proof/marker.ts'
import { newestVerdict, readProofRecord, type StoredProof } from '../proof/records.ts'
import type { Effort, Situation } from './situation.ts'

/** A branch with the Proof it wants to land. `worktree` of the effort is the one that has its stores. */
export interface Subject {
  readonly effort: Effort
  readonly proof: StoredProof
}

const refuse = (problem: string, next: string): Refusal => new Refusal('incomplete', { problem, next })

/** A later verdict on the same commit, in any worktree, stands before the Proof (facts 8.5). */
const requireNewest = async ({ worktree, head }: Effort, proof: StoredProof, next: string): Promise<void> => {
  const verdict = await newestVerdict(worktree, head)
  if (verdict && verdict.proofId !== proof.claim.completion.proof_id) {
    throw refuse(`a later run of the gate superseded the Proof of ${abbreviate(head)}`, next)
  }
}

/** The honoured, complete, strict marker of the checkout, or a refusal that says what is missing (facts 10.1 step 3). */
export const subjectHere = async (effort: Effort): Promise<Subject> => {
  const { worktree, branch, head, state } = effort
  const evidence = evidenceOf(await readQuestions(worktree, branch))
  const inspection = await inspectMarker(worktree, {
    head,
    dirty: [...state.tracked, ...state.untracked],
    evidence: 'known' in evidence ? evidence.known : undefined,
  })
  refuseNewerMarker(worktree, inspection)
  const next = 'git discern done'
  switch (inspection.status) {
    case 'dirty':
      throw new Refusal('dirty_worktree', { paths: inspection.paths.map(displayPath) })
    case 'report_only':
      throw new Refusal('report_only_proof', { head: abbreviate(head) })
    case 'stale':
      throw refuse(
        `the Proof here is for ${abbreviate(inspection.head)}, and ${shortBranch(branch)} is at ${abbreviate(head)}: ${inspection.reason}`,
        next,
      )
    case 'unavailable':
    case 'read_failed':
      throw refuse(`the Proof of this worktree cannot be read: ${inspection.reason}`, next)
    case 'missing':
    case 'newer':
      throw refuse(`${abbreviate(head)} has no Proof yet`, next)
    case 'honored': {
      const marker = completeMarker(inspection.marker)
      if (!marker) throw refuse('the Proof here lacks evidence that a landing needs', next)
      await requireNewest(effort, marker.proof, next)
      return { effort, proof: marker.proof }
    }
  }
}

const nameOf = (row: SubmissionRow): string =>
  'submission' in row ? shortBranch(row.submission.branch) : row.branch ? shortBranch(row.branch) : row.place.gitDir

/** The newest submission of a branch, from whatever worktree proved it. Refuses with `invalid_value` when there is none. */
export const findSubmission = async (situation: Situation, target: string): Promise<SubmissionRow> => {
  const rows = await allSubmissions(situation.worktree)
  const wanted = target.replace(/^refs\/heads\//, '')
  const found =
    rows.findLast(row => 'submission' in row && nameOf(row) === wanted) ?? rows.find(row => nameOf(row) === wanted)
  if (found) return found
  const names = rows.flatMap(row => ('submission' in row ? [nameOf(row)] : []))
  throw new Refusal('invalid_value', {
    what: '--target',
    expected:
      names.length > 0
        ? `a branch that asks to land (${names.join(', ')})`
        : 'a branch that asks to land, and none does',
    found: target,
    next: `run git discern done on ${wanted} first`,
  })
}

/**
 * What a branch asked to land, wherever it was proven (facts 10.1 step 3): its Proof from the common records. The branch may
 * have moved on since; it must still contain what was proven, and its declarations must be those of the Proof.
 */
export const subjectOf = async (situation: Situation, row: SubmissionRow): Promise<Subject> => {
  if (!('submission' in row)) {
    throw refuse(`what ${nameOf(row)} asks to land cannot be read: ${row.unavailable}`, 'git discern queue')
  }
  const { submission, place } = row
  const { configuration } = situation
  if (!configuration) throw new Refusal('not_set_up', { file: 'discern.toml' })
  const worktree = siblingWorktree(situation.worktree, place.topLevel ?? situation.worktree.topLevel, place.gitDir)
  const { branch, head } = submission
  const effort: Effort = {
    ...situation,
    worktree,
    configuration,
    branch,
    head,
    predecessor: situation.refs.get(situation.trunk.target)?.oid ?? submission.predecessor,
    state: { branch, head, tracked: [], untracked: [] },
  }
  const next = `git -C ${place.topLevel ?? '<its checkout>'} discern done`
  const tip = (await readRefs(worktree, [branch])).get(branch)?.oid
  if (tip === undefined || (tip !== head && (await isAncestor(worktree, head, tip)) !== true)) {
    throw refuse(`${shortBranch(branch)} does not contain ${abbreviate(head)} any more, which it asked to land`, next)
  }
  const proof = await readProofRecord(worktree, submission.proof.proof_id)
  if (proof?.claim.completion.candidate.head !== head) {
    throw refuse(`the Proof of ${abbreviate(head)} is not among the records of this repository`, next)
  }
  if (proof.claim.mode === 'report') throw new Refusal('report_only_proof', { head: abbreviate(head) })
  await requireNewest(effort, proof, next)
  const evidence = evidenceOf(await readQuestions(worktree, branch))
  if ('known' in evidence && evidence.known !== submission.evidence) {
    throw refuse(`the declarations on ${shortBranch(branch)} changed since ${abbreviate(head)} was proven`, next)
  }
  return { effort, proof }
}
