/**
 * What an effort asks to land (facts 0.4, 10.1 step 4): one record for each branch, in the worktree that proved it. The queue
 * reads those of all worktrees.
 */
import { access, readdir } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join } from 'node:path'
import type { Context } from '../context.ts'
import type { Repository } from '../git/repository.ts'
import { type BranchStore, changeBranch, isMembers, readBranch, readBranches } from '../store/by-branch.ts'
import { readRegularFile } from '../store/file.ts'

interface Directories {
  readonly gitDir: string
  readonly commonDir: string
}

export interface Submission {
  /** Lowercase UUIDs. */
  readonly id: string
  readonly effort_id: string
  /** Full ref name. */
  readonly branch: string
  readonly head: string
  readonly tree: string
  readonly proof: { readonly candidate_id: string; readonly proof_id: string }
  /** Declaration-evidence identity that the Proof is bound to (facts 4.3). */
  readonly evidence: string
  /** Tip of the trunk that the Proof was made on. */
  readonly predecessor: string
  /** Full ref name of the trunk, symbolic refs resolved. */
  readonly trunk: string
  /** Epoch milliseconds. */
  readonly submitted_at: number
}

const isUuid = (value: unknown): boolean => typeof value === 'string' && /^[0-9a-f-]{36}$/.test(value)

const isOidText = (value: unknown): boolean => typeof value === 'string' && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(value)

const isRef = (value: unknown): boolean => typeof value === 'string' && value.startsWith('refs/')

const parse = (value: unknown, branch: string): Submission | undefined => {
  if (!isMembers(value) || value['branch'] !== branch || !isMembers(value['proof'])) return undefined
  const { id, effort_id, head, tree, proof, evidence, predecessor, trunk, submitted_at } = value
  const sound =
    [id, effort_id, proof['candidate_id'], proof['proof_id']].every(isUuid) &&
    [head, tree, predecessor].every(isOidText) &&
    typeof evidence === 'string' &&
    [branch, trunk].every(isRef) &&
    Number.isSafeInteger(submitted_at)
  return sound ? (value as unknown as Submission) : undefined
}

const store: BranchStore<Submission> = { file: 'submission', field: 'submissions', parse }

const isSame = (left: Omit<Submission, 'id' | 'submitted_at'>, right: typeof left): boolean =>
  left.head === right.head &&
  left.proof.proof_id === right.proof.proof_id &&
  left.proof.candidate_id === right.proof.candidate_id &&
  left.effort_id === right.effort_id &&
  left.evidence === right.evidence &&
  left.predecessor === right.predecessor &&
  left.trunk === right.trunk

/**
 * Says what a branch asks to land, in place of what it asked before; the same head with the same Proof keeps its record, its
 * id and its instant. Refuses with `store_newer`, `store_unreadable` or `busy`; then nothing was changed.
 */
export const recordSubmission = async (
  context: Context,
  directories: Directories,
  submission: Omit<Submission, 'id' | 'submitted_at'>,
): Promise<Submission> => {
  const fresh = { ...submission, id: context.uuid(), submitted_at: context.now().getTime() }
  const standing = await changeBranch(context, directories, store, submission.branch, before =>
    before && isSame(before, submission) ? before : fresh,
  )
  return standing ?? fresh
}

/** What one branch of this worktree asks to land. Refuses with `store_newer` or `store_unreadable`. */
export const readSubmission = (directories: Directories, branch: string): Promise<Submission | undefined> =>
  readBranch(directories, store, branch)

/** Takes back the submission with that id; a later one of the same branch stays. */
export const clearSubmission = async (
  context: Context,
  directories: Directories,
  branch: string,
  id: string,
): Promise<void> => {
  await changeBranch(context, directories, store, branch, standing => (standing?.id === id ? undefined : standing))
}

/** A worktree of the repository, found from the common directory. */
export interface WorktreePlace {
  readonly gitDir: string
  /** Top of its checkout; `undefined` for the main one where nothing but git's configuration says where it is. */
  readonly topLevel: string | undefined
  readonly linked: boolean
  readonly locked: boolean
}

/** One submission, or why a worktree's submissions, or that of one branch, cannot be told. */
export type SubmissionRow =
  | { readonly place: WorktreePlace; readonly submission: Submission }
  | { readonly place: WorktreePlace; readonly branch: string | undefined; readonly unavailable: string }

/**
 * What every branch of every worktree asks to land, oldest first, with what cannot be read after them. Worktrees that git would
 * prune are skipped. Never throws, writes nothing, starts no git process.
 */
export const allSubmissions = async (
  repository: Pick<Repository, 'gitDir' | 'commonDir'> & { readonly topLevel?: string | undefined },
): Promise<readonly SubmissionRow[]> => {
  const known: Extract<SubmissionRow, { readonly submission: Submission }>[] = []
  const unknown: SubmissionRow[] = []
  for (const place of await worktreePlaces(repository)) {
    const read = await readBranches({ gitDir: place.gitDir, commonDir: repository.commonDir }, store)
    if ('unavailable' in read) {
      unknown.push({ place, branch: undefined, unavailable: read.unavailable })
      continue
    }
    for (const [branch, item] of read.known) {
      if ('unavailable' in item) unknown.push({ place, branch, unavailable: item.unavailable })
      else known.push({ place, submission: item })
    }
  }
  const order = ({ submission: { submitted_at } }: (typeof known)[number]): number => submitted_at
  return [...known.sort((left, right) => order(left) - order(right)), ...unknown]
}

/** Every worktree that git would not prune, the main one first; no git process. */
export const worktreePlaces = async (
  repository: Pick<Repository, 'gitDir' | 'commonDir'> & { readonly topLevel?: string | undefined },
): Promise<readonly WorktreePlace[]> => {
  const { gitDir, commonDir, topLevel } = repository
  const main: WorktreePlace = {
    gitDir: commonDir,
    topLevel:
      (gitDir === commonDir ? topLevel : undefined) ??
      (basename(commonDir) === '.git' ? dirname(commonDir) : undefined),
    linked: false,
    locked: false,
  }
  const folder = join(commonDir, 'worktrees')
  const names = (await readdir(folder).catch(() => [])).sort()
  const linked = await Promise.all(names.map(name => linkedPlace(join(folder, name))))
  return [main, ...linked.filter(place => place !== undefined)]
}

const GITDIR_LIMIT_BYTES = 1 << 16

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** As `git worktree prune` decides: a linked worktree counts while the `.git` it names exists, or while it is locked. */
const linkedPlace = async (gitDir: string): Promise<WorktreePlace | undefined> => {
  // A folder that another git is just making or removing has no such file yet, or no longer.
  const bytes = await readRegularFile(join(gitDir, 'gitdir'), GITDIR_LIMIT_BYTES).catch(() => undefined)
  const text = bytes?.toString('utf8').trimEnd() ?? ''
  if (text === '') return undefined
  const dotGit = isAbsolute(text) ? text : join(gitDir, text)
  const locked = await isThere(join(gitDir, 'locked'))
  if (!locked && !(await isThere(dotGit))) return undefined
  return { gitDir, topLevel: dirname(dotGit), linked: true, locked }
}
