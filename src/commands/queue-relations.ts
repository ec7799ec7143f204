/** How submissions stand to the trunk: from what is written in them, and for the others from git, asked about all together. */
import { isAncestor, readRefs, refsWith } from '../git/refs.ts'
import type { Submission } from '../landing/submission.ts'
import type { SubmissionFacts } from '../landing/wait.ts'
import type { Depth } from './queue-owed.ts'
import type { Situation } from './situation.ts'

interface One {
  readonly submission: Submission
}

/** Submissions that are not looked at have none. */
export type Relations = ReadonlyMap<One, SubmissionFacts['relation']>

/** One git process, and none where only the branch that is checked out here asks to land. */
export const readTips = async (
  { worktree, state, refs, trunk }: Situation,
  asked: readonly One[],
): Promise<ReadonlyMap<string, string>> => {
  const known = new Map<string, string>()
  for (const { name, oid } of refs.values()) known.set(name, oid)
  if (state.branch !== undefined && state.head !== undefined) known.set(state.branch, state.head)
  const missing = new Set([trunk.target, ...asked.map(({ submission }) => submission.branch)])
  for (const name of known.keys()) missing.delete(name)
  if (missing.size > 0)
    for (const { name, oid } of (await readRefs(worktree, [...missing])).values()) known.set(name, oid)
  return known
}

/**
 * A Proof on the trunk's tip says by itself that it is a fast-forward; of the others git is asked together. Which of those would
 * still be one, as after a trunk that was moved back, changes nothing about what they wait for, and is not asked in a hurry.
 */
export const relate = async (
  { worktree, trunk }: Situation,
  asked: readonly One[],
  tips: ReadonlyMap<string, string>,
  depth: Depth,
): Promise<Relations> => {
  const relations = new Map<One, SubmissionFacts['relation']>()
  const tip = tips.get(trunk.target)
  if (tip === undefined) return relations
  const others = asked.filter(one => {
    const isOnTip = one.submission.predecessor === tip
    if (isOnTip) relations.set(one, 'ahead')
    return !isOnTip
  })
  const atTip = others.filter(({ submission }) => tips.get(submission.branch) === submission.head)
  const names = atTip.map(({ submission }) => submission.branch)
  const merged = await refsWith(worktree, 'merged', tip, names)
  const rest = depth === 'stored' ? [] : names.filter(name => !merged.has(name))
  const ahead = await refsWith(worktree, 'contains', tip, rest)
  for (const one of others) {
    const { branch, head } = one.submission
    if (!atTip.includes(one)) relations.set(one, (await isAncestor(worktree, head, tip)) === true ? 'behind' : 'other')
    else relations.set(one, merged.has(branch) ? 'behind' : ahead.has(branch) ? 'ahead' : 'other')
  }
  return relations
}
