/** Checkouts: what is dirty, which operation is under way, and who has which branch checked out. */
import { access, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { LARGE_INDEX_BYTES } from '../limits.ts'
import { decodePath, splitNul } from './path.ts'
import { type Repository, siblingWorktree, type Worktree } from './repository.ts'
import { gitOutput, type Place } from './run.ts'

export interface WorktreeState {
  /** Full ref name, or `undefined` when HEAD is detached. */
  readonly branch: string | undefined
  /** Full id of HEAD, or `undefined` on an unborn branch. */
  readonly head: string | undefined
  /** Tracked paths that differ from HEAD, staged or not, conflicted included. */
  readonly tracked: readonly string[]
  /** Untracked paths that git does not ignore. */
  readonly untracked: readonly string[]
}

const STATUS = [
  'status',
  '--porcelain=v2',
  '-z',
  '--branch',
  '--no-renames',
  '--no-ahead-behind',
  '--ignore-submodules=none',
] as const

/**
 * HEAD and everything uncommitted, independent of `status.*` and `diff.*` settings and of what `.gitmodules` says to ignore
 * (cases 60, 69). Takes no lock. One git process; with a large index two side by side, since git compares what it tracks with
 * several threads but looks for what it does not track with one, after that.
 */
export const worktreeState = async (place: Place & { readonly gitDir: string }): Promise<WorktreeState> => {
  if (!(await hasLargeIndex(place.gitDir)))
    return parseState(await gitOutput(place, [...STATUS, '--untracked-files=all']))
  const [output, untracked] = await Promise.all([
    gitOutput(place, [...STATUS, '--untracked-files=no']),
    listUntracked(place),
  ])
  return { ...parseState(output), untracked }
}

const hasLargeIndex = async (gitDir: string): Promise<boolean> => {
  try {
    return (await stat(join(gitDir, 'index'))).size > LARGE_INDEX_BYTES
  } catch {
    return false
  }
}

/** Untracked paths that git does not ignore, whatever `status.showUntrackedFiles` says (case 69). One git process. */
export const listUntracked = async (place: Place): Promise<readonly string[]> => {
  const args = ['-c', 'core.fsmonitor=false', 'ls-files', '--others', '--exclude-standard', '-z']
  return splitNul(await gitOutput(place, args)).map(decodePath)
}

/** Paths with an unresolved conflict, each once. One git process. */
export const listUnmerged = async (place: Place): Promise<readonly string[]> => {
  const records = splitNul(await gitOutput(place, ['ls-files', '--unmerged', '-z']))
  return [...new Set(records.map(record => decodePath(record.subarray(record.indexOf(9) + 1))))]
}

const parseState = (output: Buffer): WorktreeState => {
  const tracked: string[] = []
  const untracked: string[] = []
  let branch: string | undefined
  let head: string | undefined
  for (const record of splitNul(output)) {
    const kind = String.fromCharCode(record[0] ?? 0)
    if (kind === '#') {
      const text = record.toString('utf8')
      const oid = /^# branch\.oid ([0-9a-f]+)$/.exec(text)?.[1]
      const name = /^# branch\.head (.+)$/.exec(text)?.[1]
      if (oid) head = oid
      if (name && name !== '(detached)') branch = `refs/heads/${name}`
    } else if (kind === '?') untracked.push(decodePath(record.subarray(2)))
    else if (kind === '1') tracked.push(decodePath(afterFields(record, 8)))
    else if (kind === 'u') tracked.push(decodePath(afterFields(record, 10)))
    else if (kind === '2') tracked.push(decodePath(afterFields(record, 9)))
  }
  return { branch, head, tracked, untracked }
}

/** The rest of a record after `count` fields that end in a space. */
const afterFields = (record: Buffer, count: number): Buffer => {
  let at = 0
  for (let field = 0; field < count; field += 1) at = record.indexOf(32, at) + 1
  return record.subarray(at)
}

/** Files in a worktree's git directory that say an operation waits to be finished, and what people call it. */
const OPERATIONS: readonly (readonly [file: string, operation: string])[] = [
  ['MERGE_HEAD', 'merge'],
  ['rebase-merge', 'rebase'],
  ['rebase-apply', 'rebase or am'],
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
  ['BISECT_LOG', 'bisect'],
]

/** The operation in progress in a worktree, or `undefined`. No git process. */
export const operationInProgress = async (gitDir: string): Promise<string | undefined> => {
  for (const [file, operation] of OPERATIONS) {
    try {
      await access(join(gitDir, file))
      return operation
    } catch {
      // Not there: the usual case.
    }
  }
  return undefined
}

export interface Checkout {
  readonly topLevel: string
  /** Full ref name, or `undefined` when detached or bare. */
  readonly branch: string | undefined
  readonly locked: boolean
}

/** Every worktree of the repository, the main one first. One git process. */
export const listCheckouts = async (repository: Repository): Promise<readonly Checkout[]> => {
  const output = await gitOutput(repository, ['worktree', 'list', '--porcelain', '-z'])
  const checkouts: Checkout[] = []
  for (const block of output.toString('utf8').split('\0\0')) {
    const fields = block.split('\0')
    const value = (name: string): string | undefined =>
      fields.find(field => field.startsWith(`${name} `))?.slice(name.length + 1)
    const topLevel = value('worktree')
    if (!topLevel || fields.includes('bare') || fields.some(field => field.startsWith('prunable'))) continue
    checkouts.push({
      topLevel,
      branch: value('branch'),
      locked: fields.some(field => field === 'locked' || field.startsWith('locked ')),
    })
  }
  return checkouts
}

/** The worktree at `topLevel` as a place to run git in. One git process. */
export const openCheckout = async (repository: Repository, topLevel: string): Promise<Worktree> => {
  const { GIT_DIR: _dir, GIT_WORK_TREE: _tree, ...env } = repository.env
  const output = await gitOutput({ cwd: topLevel, env }, ['rev-parse', '--path-format=absolute', '--git-dir'])
  return siblingWorktree(repository, topLevel, output.toString('utf8').trim())
}
