/**
 * The one transition that moves the trunk: a compare-and-swap of the trunk together with a marker ref, then the checkout of the
 * trunk brought along by a two-tree merge that keeps local edits (facts 10.4; cases 50 to 53). Never `reset --hard`, never a
 * stash. What cannot be done is refused before anything moves.
 */
import { copyFile, lstat, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type ChangedPath, committedChange } from '../change/collect.ts'
import { Refusal } from '../errors.ts'
import { bringAlong, checkoutProblem } from '../git/checkout.ts'
import { decodePath, displayPath, encodePath, filePath, splitNul } from '../git/path.ts'
import { isAncestor, readRefs, shortBranch, updateRefs } from '../git/refs.ts'
import { type Repository, type Worktree, zeroOid } from '../git/repository.ts'
import { git, gitOutput } from '../git/run.ts'
import { listCheckouts, openCheckout, operationInProgress, worktreeState } from '../git/worktrees.ts'
import type { Journal } from './journal.ts'

/** Prefix of the per-worktree refs that prove a transition happened (facts 0.4). */
export const MARKER_REFS = 'refs/worktree/discern/acceptance-transactions/'

export interface Landing {
  /** Full ref name of the trunk, symbolic refs resolved: the ref that is swapped. */
  readonly trunk: string
  readonly expected: string
  readonly target: string
}

export interface LandingPlan extends Landing {
  /** The checkout that has the trunk, or `undefined` when none has. */
  readonly checkout: Worktree | undefined
  readonly change: readonly ChangedPath[]
}

/**
 * Looks at everything that could stop the transition, and changes nothing. Refuses with `trunk_moved`, `conflict`,
 * `operation_in_progress`, `dirty_worktree` or `precondition_failed`, naming what is in the way.
 */
export const planLanding = async (repository: Repository, landing: Landing, next: string): Promise<LandingPlan> => {
  const found = (await readRefs(repository, [landing.trunk])).get(landing.trunk)?.oid
  if (found !== landing.expected) {
    throw new Refusal('trunk_moved', {
      trunk: shortBranch(landing.trunk),
      expected: landing.expected,
      found: found ?? 'nothing',
      next,
    })
  }
  if ((await isAncestor(repository, landing.expected, landing.target)) !== true) {
    throw new Refusal('conflict', { problem: `${landing.target} does not contain ${shortBranch(landing.trunk)}`, next })
  }
  const holders = (await listCheckouts(repository)).filter(checkout => checkout.branch === landing.trunk)
  if (holders.length > 1) {
    throw new Refusal('precondition_failed', {
      problem: `${shortBranch(landing.trunk)} is checked out ${holders.length} times: ${holders.map(holder => holder.topLevel).join(', ')}`,
      next: `switch all but one of them to another branch: git -C ${holders[1]?.topLevel} switch --detach`,
    })
  }
  const { paths: change } = await committedChange(repository, landing.expected, landing.target)
  const holder = holders[0]
  if (!holder) return { ...landing, checkout: undefined, change }
  const checkout = await openCheckout(repository, holder.topLevel)
  await refuseCollision(checkout, landing, change)
  return { ...landing, checkout, change }
}

const moveOf = ({ expected, target }: Landing) => ({ from: expected, to: target })

/**
 * Asks git whether the two-tree merge would work in a checkout, on a copy of its index whose file times were refreshed, so that
 * neither the real index nor a file is touched.
 */
const refuseCollision = async (checkout: Worktree, landing: Landing, change: readonly ChangedPath[]): Promise<void> => {
  const operation = await operationInProgress(checkout.gitDir)
  if (operation) throw new Refusal('operation_in_progress', { operation, where: checkout.topLevel })
  const hidden = await occupied(checkout, landing, change)
  if (hidden.length > 0)
    throw new Refusal('dirty_worktree', { paths: hidden.map(displayPath), where: checkout.topLevel })
  const folder = await mkdtemp(join(checkout.gitDir, 'discern-index-'))
  const copy = join(folder, 'index')
  try {
    await copyFile(join(checkout.gitDir, 'index'), copy).catch(() => {})
    const env = { GIT_INDEX_FILE: copy }
    const problem = await checkoutProblem(checkout, moveOf(landing), env)
    if (problem === undefined) return
    const state = await worktreeState(checkout)
    const dirty = new Set([...state.tracked, ...state.untracked])
    const overlap = change.map(({ path }) => path).filter(path => dirty.has(path))
    throw new Refusal('dirty_worktree', {
      paths: overlap.length > 0 ? overlap.map(displayPath) : [problem],
      where: checkout.topLevel,
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Paths that the landing adds and that already exist as files git does not track, ignored ones included (case 51c). */
const occupied = async (
  checkout: Worktree,
  landing: Landing,
  change: readonly ChangedPath[],
): Promise<readonly string[]> => {
  const added = change.filter(({ kind }) => kind === 'added').map(({ path }) => path)
  const present: string[] = []
  for (const path of added) if (await isThere(checkout, path)) present.push(path)
  if (present.length === 0) return []
  const staged = await gitOutput(checkout, [
    'diff-index',
    '--cached',
    '-z',
    '--name-only',
    '--diff-filter=A',
    landing.expected,
  ])
  const tracked = new Set(splitNul(staged).map(decodePath))
  return present.filter(path => !tracked.has(path))
}

const isThere = async (checkout: Worktree, path: string): Promise<boolean> =>
  (await lstat(filePath(checkout.topLevel, path)).catch(() => undefined)) !== undefined

export type Transition =
  | { readonly kind: 'landed' }
  | { readonly kind: 'moved'; readonly found: string | undefined }
  | { readonly kind: 'checkout-failed'; readonly rolledBack: boolean; readonly reason: string }

/**
 * Moves the trunk and creates the marker ref in one transaction, then brings the checkout along. When the checkout cannot
 * follow, both refs are put back by a second compare-and-swap.
 */
export const performTransition = async (
  repository: Repository,
  plan: LandingPlan,
  journal: Pick<Journal, 'id' | 'worktree_branch'>,
): Promise<Transition> => {
  const marker = `${MARKER_REFS}${journal.id}`
  const branch = shortBranch(journal.worktree_branch)
  const moved = await updateRefs(
    repository,
    [
      { ref: plan.trunk, to: plan.target, from: plan.expected },
      { ref: marker, to: plan.target, from: zeroOid(repository) },
    ],
    `discern accept: fast-forward ${branch}`,
  )
  if (!moved.moved) {
    const found = (await readRefs(repository, [plan.trunk])).get(plan.trunk)?.oid
    if (found !== plan.expected) return { kind: 'moved', found }
    throw new Refusal('conflict', {
      problem: `git refused to move ${shortBranch(plan.trunk)}: ${moved.reason}`,
      next: 'remove what stands in the way (a lock file or a hook), then run: git discern accept --confirmed',
    })
  }
  if (!plan.checkout) return { kind: 'landed' }
  const problem = await bringAlong(plan.checkout, moveOf(plan))
  if (problem === undefined) return { kind: 'landed' }
  const back = await updateRefs(
    repository,
    [
      { ref: plan.trunk, to: plan.expected, from: plan.target },
      { ref: marker, to: zeroOid(repository), from: plan.target },
    ],
    `discern accept: rollback ${branch}`,
  )
  return { kind: 'checkout-failed', rolledBack: back.moved, reason: problem }
}

/** Whether the transition of a journal happened: its marker ref says so, never the trunk's value (facts 10.5). */
export const transitionHappened = async (repository: Repository, id: string): Promise<boolean> =>
  (await readRefs(repository, [`${MARKER_REFS}${id}`])).size > 0

/** Removes this worktree's marker refs; only while no journal refers to one. */
export const retireMarkers = async (repository: Repository): Promise<void> => {
  const refs = [...(await readRefs(repository, [MARKER_REFS])).values()]
  if (refs.length === 0) return
  await updateRefs(
    repository,
    refs.map(ref => ({ ref: ref.name, to: zeroOid(repository), from: ref.oid })),
    'discern accept: retire',
  )
}

/**
 * Brings the trunk's checkout along after an interruption: only while the trunk still holds what was landed there, and keeping
 * local edits. Paths that the killed merge had already written count as done. Returns a reason when a person must look.
 */
export const recoverCheckout = async (repository: Repository, journal: Journal): Promise<string | undefined> => {
  const landing = { trunk: journal.trunk, expected: journal.expected_trunk, target: journal.target }
  const holder = (await listCheckouts(repository)).find(checkout => checkout.branch === journal.trunk)
  if (!holder) return undefined
  const tip = (await readRefs(repository, [journal.trunk])).get(journal.trunk)?.oid
  const { paths: change } = await committedChange(repository, landing.expected, landing.target)
  if (tip === undefined) return undefined
  if (tip !== landing.target) {
    if ((await isAncestor(repository, landing.target, tip)) !== true) return undefined
    const later = new Set((await committedChange(repository, landing.target, tip)).paths.map(({ path }) => path))
    if (change.some(({ path }) => later.has(path))) return undefined
  }
  const checkout = await openCheckout(repository, holder.topLevel)
  await adoptWrittenPaths(checkout, landing)
  return bringAlong(checkout, moveOf(landing))
}

interface TreeChange {
  readonly mode: string
  readonly oid: string
  readonly path: string
}

/** Enters into the index what the killed merge had already written to files, so that git does not take it for local edits. */
const adoptWrittenPaths = async (checkout: Worktree, landing: Landing): Promise<void> => {
  const records = splitNul(
    await gitOutput(checkout, ['diff-tree', '-r', '-z', '--no-renames', landing.expected, landing.target]),
  )
  const written: TreeChange[] = []
  for (let at = 0; at + 1 < records.length; at += 2) {
    const [, mode = '', , oid = ''] = (records[at] ?? '').toString().split(' ')
    const change = { mode, oid, path: decodePath(records[at + 1] ?? Buffer.alloc(0)) }
    if (await isWritten(checkout, change)) written.push(change)
  }
  const input = written.map(({ mode, oid, path }) =>
    Buffer.concat([Buffer.from(`${mode === '000000' ? '0' : mode} ${oid}\t`), encodePath(path), Buffer.from([0])]),
  )
  if (input.length > 0) await git(checkout, ['update-index', '-z', '--index-info'], { input: Buffer.concat(input) })
}

/** Whether the checkout already holds what the landing wanted at this path; filters apply as git applied them. */
const isWritten = async (checkout: Worktree, { mode, oid, path }: TreeChange): Promise<boolean> => {
  const stat = await lstat(filePath(checkout.topLevel, path)).catch(() => undefined)
  if (mode === '000000') return stat === undefined
  if (!stat?.isFile() || !mode.startsWith('100') || !path.isWellFormed()) return false
  const run = await git(checkout, ['hash-object', '--', path])
  return run.exitCode === 0 && run.stdout.toString('utf8').trim() === oid
}
