/**
 * What a landing may clear away, on request alone (facts 10.5; design 4.11): the linked worktree of the landed branch and the
 * branch itself, and only when nothing but what has landed is in them. Git removes the worktree, never by force.
 */
import { realpath } from 'node:fs/promises'
import { reasonOf } from '../errors.ts'
import { decodePath, displayPath, splitNul } from '../git/path.ts'
import { readRefs, shortBranch, updateRefs } from '../git/refs.ts'
import { isInside, type Repository, siblingWorktree, type Worktree, zeroOid } from '../git/repository.ts'
import { git, gitOutput, type Place } from '../git/run.ts'
import { listCheckouts, operationInProgress, worktreeState } from '../git/worktrees.ts'
import { IGNORED_SHOWN_COUNT } from '../limits.ts'
import { readAdmin } from '../store/admin.ts'
import { isMembers, namedBranches } from '../store/by-branch.ts'
import { type WorktreePlace, worktreePlaces } from './submission.ts'
import { MARKER_REFS } from './transition.ts'

export interface RetireRequest {
  /** Full ref name of the branch that landed. */
  readonly branch: string
  /** Full id of what landed. */
  readonly landed: string
  readonly worktreeTopLevel: string
}

export type RetainReason =
  | 'later-commits'
  | 'uncommitted-changes'
  | 'locked'
  | 'main-worktree'
  | 'other-branches'
  /** Git would not; `detail` has its words. */
  | 'refused'

export type Retirement =
  | {
      readonly status: 'retired'
      /** Ignored files that went with the worktree: the first of them as they are displayed, and how many there were. */
      readonly ignored: { readonly paths: readonly string[]; readonly count: number }
    }
  | {
      readonly status: 'retained'
      readonly worktreeRemoved: boolean
      readonly reason: RetainReason
      readonly detail: string
    }

const retained = (reason: RetainReason, detail: string): Retirement => ({
  status: 'retained',
  worktreeRemoved: false,
  reason,
  detail,
})

/**
 * Removes the linked worktree of a landed branch and then the branch, by compare-and-swap, or says why both stay. Nothing is
 * removed unless HEAD there is the branch at what landed, nothing is uncommitted, no operation is under way, and no other branch
 * has a submission, a grant or an open question in that worktree. Never refuses; whatever fails is the reason why it stays. The
 * caller's own worktree may be the one that goes: nothing can run in it afterwards.
 */
export const retire = async (repository: Repository, request: RetireRequest): Promise<Retirement> => {
  try {
    const place = await placeOf(repository, request.worktreeTopLevel)
    if (place === undefined)
      return retained('other-branches', `${request.worktreeTopLevel} is no worktree of this repository`)
    const obstacle = await obstacleIn(repository, place, request)
    if (obstacle) return obstacle
    return await remove(repository, place, request)
  } catch (error) {
    return retained('refused', reasonOf(error))
  }
}

const placeOf = async (repository: Repository, topLevel: string): Promise<WorktreePlace | undefined> => {
  const wanted = await realpath(topLevel)
  for (const place of await worktreePlaces(repository)) {
    const found = place.topLevel && (await realpath(place.topLevel).catch(() => undefined))
    if (found === wanted) return place
  }
  return undefined
}

/** The first reason to keep it, in the order in which a person would have to deal with them. */
const obstacleIn = async (
  repository: Repository,
  place: WorktreePlace,
  { branch, landed, worktreeTopLevel: topLevel }: RetireRequest,
): Promise<Retirement | undefined> => {
  if (!place.linked)
    return retained('main-worktree', `${topLevel} is the main worktree, and it has ${shortBranch(branch)}`)
  if (place.locked) return retained('locked', `${topLevel} is locked: git worktree unlock`)
  const worktree = siblingWorktree(repository, topLevel, place.gitDir)
  const operation = await operationInProgress(place.gitDir)
  if (operation) return retained('uncommitted-changes', `a ${operation} is in progress in ${topLevel}`)
  const state = await worktreeState(worktree)
  if (state.branch !== branch) {
    const other = state.branch ? shortBranch(state.branch) : 'a detached HEAD'
    return retained('other-branches', `${topLevel} has ${other} checked out`)
  }
  if (state.head !== landed) {
    return retained('later-commits', `${shortBranch(branch)} is at ${state.head ?? 'nothing'}, and ${landed} landed`)
  }
  const dirty = state.tracked.length + state.untracked.length
  if (dirty > 0) {
    return retained('uncommitted-changes', `${dirty} uncommitted ${dirty === 1 ? 'path' : 'paths'} in ${topLevel}`)
  }
  const others =
    (await otherBranches(worktree, branch)) ?? (await privateRefs(worktree)) ?? (await inside(repository, topLevel))
  if (others !== undefined) return retained('other-branches', others)
  const elsewhere = (await listCheckouts(repository)).find(head => head.topLevel !== topLevel && head.branch === branch)
  return elsewhere && retained('other-branches', `${shortBranch(branch)} is also checked out in ${elsewhere.topLevel}`)
}

/** What the stores of a worktree hold for branches that still exist; those of a branch that is gone are history. */
const otherBranches = async (worktree: Worktree, branch: string): Promise<string | undefined> => {
  const named = new Set<string>()
  for (const file of ['submission', 'effort-grant', 'standard-limit-proposals'] as const) {
    const names = await namedBranches(worktree, file)
    if ('unavailable' in names) return `its ${file} cannot be read: ${names.unavailable}`
    for (const name of names.known) named.add(name)
  }
  const questions = await readAdmin(worktree, 'checkpoint-open-questions')
  if (questions.status === 'newer' || questions.status === 'unavailable' || questions.status === 'invalid') {
    return 'its open questions cannot be read'
  }
  if (questions.status === 'ok') {
    const { branch: own, openQuestions, branches } = questions.value
    if (typeof own === 'string' && isMembers(openQuestions) && Object.keys(openQuestions).length > 0) named.add(own)
    for (const [name, asked] of Object.entries(isMembers(branches) ? branches : {})) {
      if (isMembers(asked) && Object.keys(asked).length > 0) named.add(name)
    }
  }
  const journal = await readAdmin(worktree, 'acceptance-transaction')
  if (journal.status !== 'missing') {
    const of = journal.status === 'ok' ? journal.value['worktree_branch'] : undefined
    if (of !== branch) return 'a landing of another branch is not finished there'
  }
  named.delete(branch)
  const standing =
    named.size > 0 ? [...(await readRefs(worktree, [...named])).keys()].filter(ref => named.has(ref)) : []
  return standing.length > 0 ? `it also has records of ${standing.map(shortBranch).join(', ')}` : undefined
}

/** Refs that only this worktree has and that would go with it, besides the ones that landings leave. */
const privateRefs = async (worktree: Worktree): Promise<string | undefined> => {
  const refs = [...(await readRefs(worktree, ['refs/worktree/'])).keys()].filter(ref => !ref.startsWith(MARKER_REFS))
  return refs.length > 0 ? `it has refs of its own: ${refs.join(', ')}` : undefined
}

/** Another worktree, or the repository itself, that lies inside and would go with it. */
const inside = async (repository: Repository, topLevel: string): Promise<string | undefined> => {
  if (await isInside(repository.commonDir, topLevel)) return `the repository itself is inside ${topLevel}`
  const own = await realpath(topLevel)
  for (const place of await worktreePlaces(repository)) {
    const other = place.topLevel
    if (other === undefined || (await realpath(other).catch(() => other)) === own) continue
    if (await isInside(other, topLevel)) return `the worktree ${other} is inside it`
  }
  return undefined
}

/** Where git runs when the caller's own worktree is about to go. */
const commonPlace = ({ env, commonDir }: Repository): Place => {
  const { GIT_WORK_TREE: _gone, ...rest } = env
  return { cwd: commonDir, env: { ...rest, GIT_DIR: commonDir } }
}

const remove = async (
  repository: Repository,
  { gitDir }: WorktreePlace,
  { branch, landed, worktreeTopLevel: topLevel }: RetireRequest,
): Promise<Retirement> => {
  const common = commonPlace(repository)
  const ignored = await ignoredFiles(siblingWorktree(repository, topLevel, gitDir))
  // Git looks for changes once more before it removes anything, untracked files included whatever the user shows of them.
  const args = ['-c', 'status.showUntrackedFiles=all', 'worktree', 'remove', topLevel]
  const run = await git(common, args)
  if (run.exitCode !== 0) return retained('refused', run.stderr.split('\n')[0] || 'git worktree remove refused')
  const deleted = await updateRefs(
    common,
    [{ ref: branch, to: zeroOid(repository), from: landed }],
    `discern accept: retire ${shortBranch(branch)}`,
  )
  return deleted.moved
    ? { status: 'retired', ignored }
    : { status: 'retained', worktreeRemoved: true, reason: 'later-commits', detail: deleted.reason }
}

const ignoredFiles = async (
  worktree: Worktree,
): Promise<{ readonly paths: readonly string[]; readonly count: number }> => {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']
  const paths = splitNul(await gitOutput(worktree, args)).map(decodePath)
  return { paths: paths.slice(0, IGNORED_SHOWN_COUNT).map(displayPath), count: paths.length }
}
