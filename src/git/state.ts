/**
 * What git knows of a checkout at this moment, in bytes and within bounds (facts 12.4): HEAD, every entry of the index, and the
 * paths whose files differ from it. Nothing is written and no lock taken.
 */
import { type Bounds, gitWithin, type Unanswered } from './bounded.ts'
import { splitNul } from './path.ts'
import type { Place } from './run.ts'

/** `unavailable`: git did not answer. `invalid`: it answered with what we do not know. */
export type Probe<T> = { readonly known: T } | { readonly unavailable: Unanswered | 'invalid' }

export interface IndexEntry {
  /** `H`, `S` (skip-worktree) or `M` (conflict); lower case means assume-unchanged. */
  readonly tag: string
  readonly mode: string
  readonly oid: string
  readonly stage: string
  readonly path: Buffer
}

export const GITLINK_MODE = '160000'

/** Whether the entry is a plain one: what `git status` says about its file can be relied on. */
export const isPlain = (entry: IndexEntry): boolean => entry.tag === 'H' && entry.stage === '0'

/** No hook or daemon that a setting names answers for the files. */
const OWN_EYES = ['-c', 'core.fsmonitor=false'] as const

/**
 * Every entry of the index in git's order, sparse folders opened up, and the size of the listing. An unknown tag makes it
 * `invalid`. One git process.
 */
export const indexEntries = async (
  place: Place,
  bounds: Bounds,
): Promise<Probe<{ readonly entries: readonly IndexEntry[]; readonly bytes: number }>> => {
  const run = await gitWithin(place, [...OWN_EYES, 'ls-files', '--stage', '-v', '-z'], bounds, { paths: true })
  if (run.limit) return { unavailable: run.limit }
  if (run.exitCode !== 0) return { unavailable: 'unavailable' }
  const entries: IndexEntry[] = []
  for (const record of splitNul(run.stdout)) {
    const tab = record.indexOf(9)
    const found = /^([HSMhsm]) ([0-7]{6}) ([0-9a-f]{40}|[0-9a-f]{64}) ([0-3])$/.exec(record.toString('latin1', 0, tab))
    if (!found || tab === -1) return { unavailable: 'invalid' }
    const [, tag = '', mode = '', oid = '', stage = ''] = found
    entries.push({ tag, mode, oid, stage, path: record.subarray(tab + 1) })
  }
  return { known: { entries, bytes: run.stdout.length } }
}

export interface Differences {
  /** Full id of HEAD; `undefined` before the first commit. */
  readonly head: string | undefined
  /** Paths whose file differs from the index in content, type or mode, or is missing. */
  readonly changed: readonly Buffer[]
  /** HEAD, index and files agree, and nothing is untracked, as far as that was asked; not looking at what submodules hold. */
  readonly clean: boolean
}

/**
 * HEAD, and what differs between the index and the files. It is `git status` that compares, since `git diff` would rewrite the
 * index where only its file times are stale, even without optional locks, and `git diff-files` would take those for changes.
 * One git process.
 *
 * `everything` looks for untracked files and staged submodules too; `tracked` does not, and leaves out all submodules.
 */
export const differences = async (
  place: Place,
  bounds: Bounds,
  scope: 'tracked' | 'everything',
): Promise<Probe<Differences>> => {
  const asked = {
    tracked: ['--untracked-files=no', '--ignore-submodules=all'],
    everything: ['--untracked-files=all', '--ignore-submodules=dirty'],
  } as const
  const args = ['status', '--porcelain=v2', '-z', '--branch', '--no-renames', '--no-ahead-behind', ...asked[scope]]
  const run = await gitWithin(place, [...OWN_EYES, ...args], bounds)
  if (run.limit) return { unavailable: run.limit }
  if (run.exitCode !== 0) return { unavailable: 'unavailable' }
  let head: string | undefined
  let clean = true
  const changed: Buffer[] = []
  for (const record of splitNul(run.stdout)) {
    const text = record.toString('latin1')
    if (text.startsWith('# ')) {
      head = /^# branch\.oid ([0-9a-f]+)$/.exec(text)?.[1] ?? head
      continue
    }
    // A submodule that is elsewhere than its gitlink; whoever looks at the submodules sees that.
    if (/^1 \.M S/.test(text)) continue
    clean = false
    if (text.startsWith('? ')) continue
    // Bytes and characters of latin1 are the same in number, so that the match tells where the path starts.
    const found = /^(?:1 .(.) \S{4}(?: \S+){5}|u .(.) \S{4}(?: \S+){7}) /.exec(text)
    if (!found) return { unavailable: 'invalid' }
    if ((found[1] ?? found[2]) !== '.') changed.push(record.subarray(found[0].length))
  }
  return { known: { head, changed, clean } }
}

/** Paths that git neither tracks nor ignores; a repository inside is one path with a slash at its end. One git process. */
export const untrackedPaths = async (place: Place, bounds: Bounds): Promise<Probe<readonly Buffer[]>> => {
  const args = [...OWN_EYES, 'ls-files', '--others', '--exclude-standard', '-z']
  const run = await gitWithin(place, args, bounds, { paths: true })
  if (run.limit) return { unavailable: run.limit }
  if (run.exitCode !== 0) return { unavailable: 'unavailable' }
  return { known: splitNul(run.stdout) }
}
