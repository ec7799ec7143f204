/** Refs: read in one process, moved only together with the value that was read (design 3). Full names everywhere. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { git, gitOutput, type Place } from './run.ts'

export interface Ref {
  readonly name: string
  readonly oid: string
  /** Full name of the ref this one points at, when it is symbolic. */
  readonly target?: string
}

/** Every ref below the given full names or prefixes (no glob meaning beyond git's own). One git process. */
export const readRefs = async (place: Place, patterns: readonly string[]): Promise<ReadonlyMap<string, Ref>> => {
  const output = await gitOutput(place, [
    'for-each-ref',
    '--format=%(refname)%00%(objectname)%00%(symref)',
    ...patterns,
  ])
  const refs = new Map<string, Ref>()
  for (const line of output.toString('utf8').split('\n')) {
    const [name, oid, target] = line.split('\0')
    if (name && oid) refs.set(name, target ? { name, oid, target } : { name, oid })
  }
  return refs
}

/**
 * Which of these refs, given by full names, `commit` has merged, or which of them contain it. What git cannot tell, in a shallow
 * clone for example, is in neither. One git process; none for no refs.
 */
export const refsWith = async (
  place: Place,
  relation: 'merged' | 'contains',
  commit: string,
  refs: readonly string[],
): Promise<ReadonlySet<string>> => {
  if (refs.length === 0) return new Set()
  const run = await git(place, ['for-each-ref', '--format=%(refname)', `--${relation}=${commit}`, ...refs])
  const wanted = new Set(refs)
  return new Set(
    run.exitCode === 0
      ? run.stdout
          .toString('utf8')
          .split('\n')
          .filter(name => wanted.has(name))
      : [],
  )
}

export interface RefUpdate {
  readonly ref: string
  readonly to: string
  /** What the ref must hold now; the zero id for "must not exist". */
  readonly from: string
}

/**
 * Moves refs in one transaction: all of them or none, and only from the values given. `moved: false` means that at least one
 * did not hold its expected value, or that git refused; `reason` is git's text, for a message. One git process.
 */
export const updateRefs = async (
  place: Place,
  updates: readonly RefUpdate[],
  reflog: string,
): Promise<{ readonly moved: true } | { readonly moved: false; readonly reason: string }> => {
  const lines = updates.map(({ ref, to, from }) =>
    /^0+$/.test(to) ? `delete ${ref}\0${from}\0` : `update ${ref}\0${to}\0${from}\0`,
  )
  const run = await git(place, ['update-ref', '-z', '--stdin', '--create-reflog', '-m', reflog], {
    input: `start\0${lines.join('')}prepare\0commit\0`,
  })
  return run.exitCode === 0 ? { moved: true } : { moved: false, reason: run.stderr.split('\n')[0] ?? '' }
}

/** Full name of the branch that HEAD names, or `undefined` when it is detached. One git process. */
export const headBranch = async (place: Place): Promise<string | undefined> => {
  const run = await git(place, ['symbolic-ref', '-q', 'HEAD'])
  return run.exitCode === 0 ? run.stdout.toString('utf8').trim() : undefined
}

/** The commit a name stands for, or `undefined`. One git process. */
export const resolveCommit = async (place: Place, name: string): Promise<string | undefined> => {
  const run = await git(place, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`])
  return run.exitCode === 0 ? run.stdout.toString('utf8').trim() : undefined
}

/** Where git runs, and where it keeps what all worktrees share. */
export type Shared = Place & { readonly commonDir: string }

/** Whether history ends here because it was never fetched, so that "not found" proves nothing (case 57). No git process. */
export const isShallow = async ({ commonDir }: Shared): Promise<boolean> =>
  (await stat(join(commonDir, 'shallow')).catch(() => undefined)) !== undefined

/**
 * Whether `ancestor` is reachable from `descendant`; `undefined` when git cannot tell: a commit is missing, or the answer is no
 * and history is cut off. One git process.
 */
export const isAncestor = async (place: Shared, ancestor: string, descendant: string): Promise<boolean | undefined> => {
  if (ancestor === descendant) return true
  const run = await git(place, ['merge-base', '--is-ancestor', ancestor, descendant])
  if (run.exitCode === 0) return true
  return run.exitCode === 1 && !(await isShallow(place)) ? false : undefined
}

/** `refs/heads/x` as people write it; other refs keep their full name. */
export const shortBranch = (ref: string): string =>
  ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : ref
