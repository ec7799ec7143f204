/** The facts that some definition needs, and no others (facts 2.1). */
import type { Worktree } from '../git/repository.ts'
import { collectBaseFiles, openBaseTree } from './base.ts'
import type { CollectedChange } from './effort.ts'
import type { Fact, Facts, Needs } from './facts.ts'
import { collectHistory } from './history.ts'
import { collectLines } from './lines.ts'

/**
 * Answers to `needs`; history up to `head`, a commit id or `HEAD`. A fact that nobody asked for is not looked up: its history
 * reads as `git_failed`. Never throws for what the repository holds. Git processes as in `collectLines` and `collectHistory`.
 */
export const collectFacts = async (
  worktree: Worktree,
  change: CollectedChange,
  needs: Needs,
  head = 'HEAD',
): Promise<Facts> => {
  const [lines, history, baseFiles, baseHolds] = await Promise.all([
    collectLines(worktree, change, needs.content),
    needs.history ? collectHistory(worktree, change.base, head) : ({ unavailable: 'git_failed' } as const),
    collectBaseFiles(worktree, change.base, needs.baseFolders),
    answerFolders(worktree, change.base, needs.baseHolds ?? []),
  ])
  return { lines, history, baseFiles, baseHolds }
}

const answerFolders = async (
  worktree: Worktree,
  base: string,
  questions: NonNullable<Needs['baseHolds']>,
): Promise<ReadonlyMap<string, Fact<boolean>>> => {
  const tree = openBaseTree(worktree, base)
  const answers = new Map<string, Fact<boolean>>()
  for (const { key, folder, admits } of questions) answers.set(key, await tree.holds(folder, admits))
  return answers
}
