/** What a question is about, as one hash: the definition and both states of every path it matched (facts 4.1, 4.2). */
import { createHash } from 'node:crypto'
import { fileIds } from '../git/borrowed.ts'
import { encodePath } from '../git/path.ts'
import { oidDigits, type Worktree } from '../git/repository.ts'
import { HASH_BATCH_COUNT } from '../limits.ts'
import { sha256 } from '../store/digest.ts'
import { openBaseTree } from './base.ts'
import type { Fact, RelatedPath, UnavailableReason } from './facts.ts'
import { standingAt } from './untracked.ts'

export interface SubjectInput {
  readonly worktree: Worktree
  /** The policy commit, full id. */
  readonly base: string
  readonly definitionHash: string
  /** Only for a definition with `min_commits`. */
  readonly historyFingerprint: string | undefined
  readonly matched: readonly string[]
  readonly related: readonly RelatedPath[]
  /** The files as they are now, or those of a commit (full id). */
  readonly current: 'worktree' | { readonly commit: string }
}

/** `mode blob` of each path that is there. */
type States = ReadonlyMap<string, string>

/**
 * The fingerprint, 64 hexadecimal digits. Regular files are hashed with their clean filters, as a commit would, links by their
 * target. `unreadable`: a path holds a directory, special file or submodule, or cannot be looked at; `git_failed`: git could
 * not hash; `object-missing`: a tree is not here. One git process for each `HASH_BATCH_COUNT` regular files; none for a commit.
 */
export const subjectFingerprint = async (input: SubjectInput): Promise<Fact<string>> => {
  const { worktree, base, matched, related, current } = input
  const changed = sorted(matched)
  const paths = sorted([...matched, ...related.map(({ path }) => path)])
  const before = await committedStates(worktree, base, paths)
  if ('unavailable' in before) return before
  const now =
    current === 'worktree'
      ? await worktreeStates(worktree, paths)
      : await committedStates(worktree, current.commit, paths)
  if ('unavailable' in now) return now
  const parts = [
    'checkpoint-subject/v3',
    input.definitionHash,
    'history',
    input.historyFingerprint ?? '-',
    'changed',
    ...changed,
    'related',
    ...[...related].sort(byPaths).map(({ kind, forPath, path }) => `${kind}\0${forPath}\0${path}`),
    'states',
    ...paths.map(path => `${path}\0${before.known.get(path) ?? '-'}\0${now.known.get(path) ?? '-'}`),
  ]
  return { known: sha256(encodePath(parts.join('\n'))) }
}

const sorted = (paths: readonly string[]): readonly string[] => [...new Set(paths)].sort()

const byPaths = (left: RelatedPath, right: RelatedPath): number =>
  compare(left.forPath, right.forPath) || compare(left.path, right.path)

const compare = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

const committedStates = async (worktree: Worktree, commit: string, paths: readonly string[]): Promise<Fact<States>> => {
  const tree = openBaseTree(worktree, commit)
  const states = new Map<string, string>()
  for (const path of paths) {
    const entry = await tree.entry(path)
    if ('unavailable' in entry) return entry
    if (entry.known) states.set(path, `${entry.known.mode} ${entry.known.oid}`)
  }
  return { known: states }
}

const worktreeStates = async (worktree: Worktree, paths: readonly string[]): Promise<Fact<States>> => {
  const states = new Map<string, string>()
  const folders = new Map<string, Promise<boolean>>()
  const files: { readonly path: string; readonly mode: string }[] = []
  for (const path of paths) {
    const standing = await standingAt(worktree.topLevel, path, folders)
    switch (standing.kind) {
      case 'absent':
        break
      case 'other':
      case 'unreadable':
        return { unavailable: 'unreadable' }
      case 'link':
        states.set(path, `120000 ${blobId(worktree, standing.target)}`)
        break
      case 'file':
        files.push({ path, mode: standing.mode })
        break
      default: {
        const never: never = standing
        return never
      }
    }
  }
  for (let at = 0; at < files.length; at += HASH_BATCH_COUNT) {
    const batch = files.slice(at, at + HASH_BATCH_COUNT)
    const ids = await hashed(
      worktree,
      batch.map(({ path }) => path),
    )
    if ('unavailable' in ids) return ids
    for (const [index, { path, mode }] of batch.entries()) states.set(path, `${mode} ${ids.known[index] ?? ''}`)
  }
  return { known: states }
}

const hashed = async (worktree: Worktree, paths: readonly string[]): Promise<Fact<readonly string[]>> => {
  try {
    return { known: await fileIds(worktree, paths, 'filtered') }
  } catch {
    const reason: UnavailableReason = 'git_failed'
    return { unavailable: reason }
  }
}

/** The id git gives to a blob with this content. */
const blobId = (worktree: Worktree, content: Buffer): string =>
  createHash(oidDigits(worktree) === 40 ? 'sha1' : 'sha256')
    .update(`blob ${content.length}\0`)
    .update(content)
    .digest('hex')
