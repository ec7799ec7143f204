/**
 * Both sides of every changed path as git objects, and what git says about them in a repository that has nothing but objects.
 * Paths become numbers there, so neither their bytes nor any attribute, setting or environment can change an answer (cases 64,
 * 65, 67).
 */
import { type Borrowed, fileIds, type TreeLine } from '../git/borrowed.ts'
import { decodePath, splitNul } from '../git/path.ts'
import { oidDigits, type Worktree, zeroOid } from '../git/repository.ts'
import { gitOutput } from '../git/run.ts'
import { HASH_TRY_LIMIT_COUNT } from '../limits.ts'
import type { ChangeKind } from './facts.ts'
import { standingAt } from './untracked.ts'

/** A submodule. */
export const GITLINK_MODE = '160000'

export interface Side {
  readonly mode: string
  /** Full id; `undefined` for content of the work tree that git has not hashed yet, and for a submodule's that moved or is dirty. */
  readonly oid: string | undefined
}

/** One changed path as git lists it, both sides as far as they are there. */
export interface RawChange {
  readonly path: string
  readonly kind: ChangeKind
  readonly base: Side | undefined
  readonly current: Side | undefined
}

const RAW = ['--raw', '-r', '-z', '--no-abbrev', '--no-renames', '--no-relative', '--ignore-submodules=none'] as const

/**
 * Tracked paths that differ from `base`, in the work tree or in a commit, content unread. A path that is unmerged, or that
 * only looks different because its file was touched, is listed too. Throws `git_failed`. One git process.
 */
export const listTracked = async (
  worktree: Worktree,
  base: string,
  commit: string | undefined,
): Promise<readonly RawChange[]> => {
  const args = commit === undefined ? ['diff-index', ...RAW, base, '--'] : ['diff-tree', ...RAW, base, commit, '--']
  const records = splitNul(await gitOutput(worktree, ['-c', 'core.fsmonitor=false', ...args]))
  const changes = new Map<string, RawChange>()
  for (let at = 0; at + 1 < records.length; at += 2) {
    const path = decodePath(records[at + 1] ?? Buffer.alloc(0))
    const change = parseRaw(records[at]?.toString('latin1') ?? '', path)
    // An unmerged path may come twice; the second line tells what the work tree holds.
    if (change.unmerged && changes.has(path)) continue
    changes.set(path, change)
  }
  return [...changes.values()]
}

const parseRaw = (record: string, path: string): RawChange & { readonly unmerged: boolean } => {
  const [baseMode = '', currentMode = '', baseOid = '', currentOid = '', status = ''] = record.slice(1).split(' ')
  const side = (mode: string, oid: string): Side | undefined =>
    /^0+$/.test(mode) ? undefined : { mode, oid: /^0+$/.test(oid) ? undefined : oid }
  const letter = status.charAt(0)
  const current = side(currentMode, currentOid)
  // A submodule at the same commit is listed because its work tree is dirty (case 60).
  const isDirty = currentMode === GITLINK_MODE && baseMode === currentMode && baseOid === currentOid
  return {
    path,
    kind: letter === 'A' ? 'added' : letter === 'D' ? 'deleted' : 'modified',
    base: side(baseMode, baseOid),
    current: current && isDirty ? { mode: current.mode, oid: undefined } : current,
    unmerged: letter === 'U',
  }
}

/** Ids of changed files of the work tree, and whether their bytes count as they are, see `hashChanged`. */
export interface Hashed {
  readonly oid: string
  readonly asIs: boolean
}

/**
 * Hashes files of the work tree as `git add` would (case 70) and keeps their blobs in `borrowed`. Content that is in the base
 * with CRLF line endings stays as it is, as git itself keeps it under `text=auto`, so that no untouched line reads as changed.
 * A path that is missing in the answer could not be hashed, for one because its filter failed. Two git processes, one more
 * when line endings are in play, and some more when files fail.
 */
export const hashChanged = async (
  worktree: Worktree,
  borrowed: Borrowed,
  paths: readonly { readonly path: string; readonly base: Side | undefined }[],
): Promise<ReadonlyMap<string, Hashed>> => {
  const hashed = new Map<string, Hashed>()
  const folders = new Map<string, Promise<boolean>>()
  const regular: { readonly path: string; readonly base: Side | undefined }[] = []
  for (const change of paths) {
    const standing = await standingAt(worktree.topLevel, change.path, folders)
    if (standing.kind === 'file') regular.push(change)
    else if (standing.kind === 'link') {
      hashed.set(change.path, { oid: await borrowed.addBlob(standing.target), asIs: true })
    }
  }
  const names = regular.map(({ path }) => path)
  const [filtered, plain] = await Promise.all([
    forEachHashable(names, some => borrowed.addFiles(worktree, some)),
    forEachHashable(names, some => fileIds(worktree, some, 'as-is')),
  ])
  const kept: string[] = []
  for (const { path, base } of regular) {
    const oid = filtered.get(path)
    if (oid === undefined) continue
    hashed.set(path, { oid, asIs: false })
    const converted = oid !== plain.get(path) && oid !== base?.oid
    if (converted && base?.oid && base.mode !== GITLINK_MODE && (await hasCrlf(worktree, base.oid))) kept.push(path)
  }
  const asIs = await forEachHashable(kept, some => borrowed.addFiles(worktree, some, true))
  for (const [path, oid] of asIs) hashed.set(path, { oid, asIs: true })
  return hashed
}

/** What git calls text with CRLF in the index: no NUL, no CR that stands alone. */
const hasCrlf = async (worktree: Worktree, oid: string): Promise<boolean> => {
  const content = (await worktree.objects.read(oid))?.content
  if (!content || content.includes(0) || !content.includes('\r\n')) return false
  for (let cr = content.indexOf(13); cr !== -1; cr = content.indexOf(13, cr + 1)) {
    if (content[cr + 1] !== 10) return false
  }
  return true
}

/** Hashes in one go; when that fails, in halves, so that one bad file costs only itself, up to a number of tries. */
const forEachHashable = async (
  paths: readonly string[],
  hash: (paths: readonly string[]) => Promise<readonly string[]>,
): Promise<ReadonlyMap<string, string>> => {
  const ids = new Map<string, string>()
  let tries = 0
  const attempt = async (some: readonly string[]): Promise<void> => {
    if (some.length === 0 || tries >= HASH_TRY_LIMIT_COUNT) return
    tries += 1
    try {
      const answer = await hash(some)
      some.forEach((path, at) => {
        const oid = answer[at]
        if (oid !== undefined) ids.set(path, oid)
      })
    } catch {
      if (some.length === 1) return
      const middle = some.length >> 1
      await attempt(some.slice(0, middle))
      await attempt(some.slice(middle))
    }
  }
  await attempt(paths)
  return ids
}

/** A path with both sides hashed; the position in the list becomes its name in the trees. */
export interface Pair {
  readonly base: Side | undefined
  readonly current: Side | undefined
}

/** Two trees in `borrowed` that hold the sides of `pairs` under their numbers. No git process. */
export const pairTrees = async (
  worktree: Worktree,
  borrowed: Borrowed,
  pairs: readonly Pair[],
): Promise<readonly [base: string, current: string]> => {
  // A submodule whose work tree moved or is dirty has no id that git could look up, nor is one ever looked up.
  const unknown = zeroOid(worktree).replaceAll('0', 'f')
  const lines = (side: 'base' | 'current'): readonly TreeLine[] =>
    pairs.flatMap((pair, at) => {
      const { mode, oid = unknown } = pair[side] ?? {}
      return mode === undefined ? [] : [{ mode, oid, name: pairName(at) }]
    })
  return [await borrowed.addTree(lines('base')), await borrowed.addTree(lines('current'))]
}

/** The name of the pair at a position: digits of one width, so that git's order is the order of the list. */
export const pairName = (at: number): string => String(at).padStart(9, '0')

/** Of these ids those whose objects are not here. One git process. */
export const missingObjects = async (borrowed: Borrowed, oids: readonly string[]): Promise<ReadonlySet<string>> => {
  if (oids.length === 0) return new Set()
  const output = await gitOutput(borrowed, ['cat-file', '--batch-check=%(objecttype)'], {
    input: `${oids.join('\n')}\n`,
  })
  return new Set(
    output
      .toString('latin1')
      .split('\n')
      .flatMap(line => (line.endsWith(' missing') ? [line.slice(0, -' missing'.length)] : [])),
  )
}

/** Whether a side names a blob of this repository's id length. */
export const isBlobSide = (worktree: Worktree, side: Side | undefined): side is Side & { readonly oid: string } =>
  side !== undefined && side.mode !== GITLINK_MODE && side.oid?.length === oidDigits(worktree)
