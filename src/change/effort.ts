/**
 * The effort: everything by which a worktree or a commit differs from the policy commit; committed, staged, unstaged and
 * untracked together (facts 2.1). A rename is a deletion and an addition.
 */
import { type Borrowed, openBorrowed } from '../git/borrowed.ts'
import { splitNul } from '../git/path.ts'
import type { Worktree } from '../git/repository.ts'
import { gitOutput } from '../git/run.ts'
import { listUntracked } from '../git/worktrees.ts'
import type { Change, ChangedFile, Fact } from './facts.ts'
import {
  GITLINK_MODE,
  hashChanged,
  isBlobSide,
  listTracked,
  missingObjects,
  pairName,
  pairTrees,
  type RawChange,
  type Side,
} from './sides.ts'
import { untrackedCounts } from './untracked.ts'

export type Scope =
  /** `untracked`: the paths of `listUntracked`, where somebody has listed them already. */
  | { readonly kind: 'worktree'; readonly untracked?: readonly string[] }
  | { readonly kind: 'commit'; readonly commit: string }

/** Where the sides of a changed path are to be found, for whoever needs its lines. */
export interface Sides {
  readonly base: Side | undefined
  readonly current: Side | undefined
  /** `object`: in the repository. `file`: in the work tree, hashed as git adds it or `asIs`. `untracked`: read by ourselves. */
  readonly from: 'object' | 'file' | 'untracked'
  readonly asIs: boolean
}

/** A change together with its sides, which `collectLines` needs. */
export interface CollectedChange extends Change {
  readonly sides: ReadonlyMap<string, Sides>
}

export type Effort =
  | { readonly status: 'ok'; readonly change: CollectedChange }
  | { readonly status: 'unreadable'; readonly reason: string }

/**
 * The change against `base`, a full commit id, sorted by code unit of the path. Text or binary and the line counts come from
 * the bytes alone. Writes nothing into the repository and takes no lock; file contents that git has not stored yet are hashed
 * into a temporary folder. What one path cannot tell is its own `binary: {unavailable}` (a gitlink, a special file, a filter
 * that failed, an object a partial clone lacks), with 0 lines each way, or git's one line for a gitlink; `unreadable` is the
 * whole: git cannot list the change, or its listings disagree. Two git processes for a commit, three for a worktree without
 * modified files, five with them; two more when objects are missing. Grows with the change.
 */
export const collectChange = async (worktree: Worktree, base: string, scope: Scope): Promise<Effort> => {
  let borrowed: Borrowed | undefined
  try {
    const [tracked, untracked] = await Promise.all([
      listTracked(worktree, base, scope.kind === 'commit' ? scope.commit : undefined),
      scope.kind === 'commit' ? [] : (scope.untracked ?? listUntracked(worktree)),
    ])
    const raw = withUntracked(tracked, untracked)
    if (raw.some(({ current, base: old }) => current || old)) borrowed = await openBorrowed(worktree)
    const found = borrowed ? await trackedFiles(worktree, borrowed, raw) : []
    const known = new Set(raw.map(({ path }) => path))
    const fresh = await mapInOrder(
      untracked.filter(path => !known.has(path)),
      path => untrackedFile(worktree, path),
    )
    const all = [...found, ...fresh].sort((left, right) => (left.file.path < right.file.path ? -1 : 1))
    return {
      status: 'ok',
      change: {
        base,
        files: all.map(({ file }) => file),
        sides: new Map(all.map(({ file, sides }) => [file.path, sides])),
      },
    }
  } catch (error) {
    return { status: 'unreadable', reason: error instanceof Error ? error.message : String(error) }
  } finally {
    await borrowed?.close()
  }
}

interface Found {
  readonly file: ChangedFile
  readonly sides: Sides
}

interface Listed extends RawChange {
  /** Taken out of the index, and still there. */
  readonly released?: true
}

/** A file that was taken out of the index but is still there counts as what it now holds, once; unchanged, as deleted. */
const withUntracked = (tracked: readonly RawChange[], untracked: readonly string[]): readonly Listed[] => {
  const there = new Set(untracked)
  return tracked.map(change =>
    change.kind === 'deleted' && change.base && there.has(change.path)
      ? { ...change, kind: 'modified', current: { mode: change.base.mode, oid: undefined }, released: true }
      : change,
  )
}

const trackedFiles = async (
  worktree: Worktree,
  borrowed: Borrowed,
  raw: readonly Listed[],
): Promise<readonly Found[]> => {
  const unhashed = raw.filter(({ current }) => current && current.oid === undefined && current.mode !== GITLINK_MODE)
  const hashed = await hashChanged(worktree, borrowed, unhashed)
  const changes: { readonly raw: RawChange; readonly sides: Sides; readonly lost: boolean }[] = []
  for (const change of raw) {
    const hash = hashed.get(change.path)
    const open =
      change.current !== undefined && change.current.oid === undefined && change.current.mode !== GITLINK_MODE
    const current = change.current && hash ? { mode: change.current.mode, oid: hash.oid } : change.current
    // Only the file's times differ, or only what its filters take out again (case 70).
    if (hash && current?.oid === change.base?.oid && current?.mode === change.base?.mode) {
      if (change.released) changes.push({ raw: { ...change, kind: 'deleted' }, sides: deletion(change), lost: false })
      continue
    }
    changes.push({
      raw: change,
      sides: { base: change.base, current, from: open ? 'file' : 'object', asIs: hash?.asIs ?? false },
      lost: open && !hash,
    })
  }
  const countable = changes.filter(({ lost }) => !lost)
  const counts = await countPairs(
    worktree,
    borrowed,
    countable.map(({ sides }) => sides),
  )
  const countOf = new Map(countable.map(({ raw: { path } }, at) => [path, counts[at]]))
  return changes.map(({ raw: { path, kind }, sides }) => {
    const count = countOf.get(path) ?? { insertions: 0, deletions: 0, binary: { unavailable: 'unreadable' } as const }
    return { file: { path, kind, ...count }, sides }
  })
}

const deletion = ({ base }: RawChange): Sides => ({ base, current: undefined, from: 'object', asIs: false })

type Counts = Pick<ChangedFile, 'insertions' | 'deletions' | 'binary'>

/** Line counts of each pair. What is not here, as in a partial clone, is left out and said (case 58). */
const countPairs = async (
  worktree: Worktree,
  borrowed: Borrowed,
  pairs: readonly Sides[],
): Promise<readonly Counts[]> => {
  if (pairs.length === 0) return []
  const whole = await numstat(worktree, borrowed, pairs).catch(() => undefined)
  if (whole) return whole
  const blobs = (pair: Sides) => [pair.base, pair.current].filter(side => isBlobSide(worktree, side))
  const missing = await missingObjects(
    borrowed,
    pairs.flatMap(pair => blobs(pair).map(({ oid }) => oid)),
  )
  const isHere = (pair: Sides): boolean => blobs(pair).every(({ oid }) => !missing.has(oid))
  const counts = await numstat(worktree, borrowed, pairs.filter(isHere))
  let next = 0
  const lost: Counts = { insertions: 0, deletions: 0, binary: { unavailable: 'object-missing' } }
  return pairs.map(pair => (isHere(pair) ? (counts[next++] ?? lost) : lost))
}

/** Throws when git fails or answers for other paths than it was asked about. One git process. */
const numstat = async (worktree: Worktree, borrowed: Borrowed, pairs: readonly Sides[]): Promise<readonly Counts[]> => {
  if (pairs.length === 0) return []
  const [base, current] = await pairTrees(worktree, borrowed, pairs)
  const output = await gitOutput(borrowed, ['diff-tree', '-z', '--numstat', '--no-renames', base, current])
  const rows = splitNul(output).map(record => record.toString('latin1').split('\t'))
  return pairs.map((pair, at) => {
    const row = rows.shift()
    if (row?.[2] !== pairName(at) || (at === pairs.length - 1 && rows.length > 0)) {
      throw new Error('git lists other paths with their kinds than with their line counts')
    }
    return countsOf(pair, row[0] ?? '-', row[1] ?? '-')
  })
}

const countsOf = ({ base, current }: Sides, insertions: string, deletions: string): Counts => {
  const isBinary = insertions === '-'
  const isGitlink = base?.mode === GITLINK_MODE || current?.mode === GITLINK_MODE
  const binary: Fact<boolean> = isGitlink ? { unavailable: 'unreadable' } : { known: isBinary }
  if (isBinary) return { insertions: 0, deletions: 0, binary }
  return { insertions: Number(insertions), deletions: Number(deletions), binary }
}

const untrackedFile = async (worktree: Worktree, path: string): Promise<Found> => {
  const counts = await untrackedCounts(worktree.topLevel, path)
  return {
    file: {
      path,
      kind: 'added',
      insertions: counts?.insertions ?? 0,
      deletions: 0,
      binary: counts ? { known: counts.binary } : { unavailable: 'unreadable' },
    },
    sides: { base: undefined, current: undefined, from: 'untracked', asIs: true },
  }
}

/** A few at a time, so that many untracked files do not use up the descriptors. */
const mapInOrder = async <T, U>(items: readonly T[], each: (item: T) => Promise<U>): Promise<readonly U[]> => {
  const results: U[] = []
  for (let at = 0; at < items.length; at += 16) results.push(...(await Promise.all(items.slice(at, at + 16).map(each))))
  return results
}
