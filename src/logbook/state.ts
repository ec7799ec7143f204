/**
 * The state of a checkout that jobs are about to see, as keyed evidence (facts 12.4). Every function here is total: what cannot
 * be had in time, within its limits or at all makes the evidence incomplete, and nothing else.
 */
import type { Bounds } from '../git/bounded.ts'
import type { Worktree } from '../git/repository.ts'
import { differences, indexEntries, type Probe, untrackedPaths } from '../git/state.ts'
import type { Key } from '../store/digest.ts'
import type { KeyAnswer } from '../store/hmac-key.ts'
import { type Allowance, within } from './allowance.ts'
import type { CaptureBoundary, StateEvidence } from './event.ts'
import { type Ledger, openLedger } from './ledger.ts'
import { headDigest, indexDigest, stateDigest, submodulesDigest } from './manifest.ts'
import { observed, standings } from './standings.ts'
import { type Outer, submodules } from './submodules.ts'
import { openObserver } from './work-tree.ts'

export interface CaptureInput {
  readonly capture: CaptureBoundary
  /** Shared with everything else that the evidence is made of; its time runs already. */
  readonly allowance: Allowance
  readonly key: KeyAnswer | Promise<KeyAnswer>
  /** Gives up at once. */
  readonly signal?: AbortSignal
}

/** Evidence of a run that ended before its boundary: no tree is looked at that its jobs never saw. */
export const notReached = (capture: CaptureBoundary): StateEvidence => {
  const ledger = openLedger()
  ledger.lacks('boundary', 'not-reached')
  return ledger.evidence(capture, 0)
}

/** Evidence of a defect of ours. */
export const internalState = (capture: CaptureBoundary, elapsedMs: number): StateEvidence =>
  openLedger().evidence(capture, elapsedMs)

/**
 * Captures HEAD, index, changed and hidden tracked files, untracked files and submodules, each looked at as it is now. Three git
 * processes side by side, and two more for each repository inside. Writes nothing, never throws, and answers at the deadline of
 * the allowance at the latest; what was started is ended then.
 */
export const captureState = async (worktree: Worktree, input: CaptureInput): Promise<StateEvidence> => {
  const { capture, allowance } = input
  const ledger = openLedger()
  const stop = new AbortController()
  let digest: string | undefined
  try {
    const given = [input.signal, allowance.signal].filter(signal => signal !== undefined)
    const signal = AbortSignal.any([stop.signal, ...given])
    const cancelled = new Promise<never>((_, reject) => {
      const cancel = (): void => reject(new Error('cancelled'))
      if (signal.aborted) cancel()
      signal.addEventListener('abort', cancel, { once: true })
    })
    cancelled.catch(() => {})
    const all = (): Promise<string | undefined> => look(worktree, { ...allowance, signal }, ledger, input.key)
    const done = await within(allowance, Promise.race([all(), cancelled]))
    if ('known' in done) digest = done.known
    else ledger.lacks('budget', done.unavailable)
  } catch {
    ledger.lacks('internal', 'unavailable')
  } finally {
    stop.abort()
  }
  try {
    return ledger.evidence(capture, allowance.elapsedMs(), digest)
  } catch {
    return internalState(capture, 0)
  }
}

/** Looks at all components side by side; the combined digest, when each could be had. */
const look = async (
  worktree: Worktree,
  bounds: Bounds,
  ledger: Ledger,
  answer: CaptureInput['key'],
): Promise<string | undefined> => {
  const asked: Bounds = {
    ...bounds,
    takeBytes: count => {
      const granted = bounds.takeBytes(count)
      if (granted) ledger.bytes.git_output += count
      return granted
    },
  }
  const key = keyOf(answer, ledger)
  const index = indexEntries(worktree, asked)
  const state = differences(worktree, asked, 'tracked')
  const others = untrackedPaths(worktree, asked)
  const outer: Outer = {
    place: worktree,
    topLevel: worktree.topLevel,
    observer: openObserver(worktree.topLevel, bounds),
    bounds: asked,
  }
  await Promise.all([
    (async () => {
      const known = take('head', await state, ledger)
      if (known && known.head === undefined) ledger.lacks('head', 'unavailable')
      const under = await key
      if (known?.head !== undefined && under) ledger.components.head = headDigest(under, known.head)
    })(),
    (async () => {
      const known = take('index', await index, ledger)
      if (!known) return
      ledger.counts.index_entries = known.entries.length
      ledger.bytes.index_manifest = known.bytes
      const under = await key
      if (under) ledger.components.index = indexDigest(under, known.entries)
    })(),
    (async () => {
      const differing = take('tracked', await state, ledger)
      const entries = await index
      if (!differing || !('known' in entries)) return
      const paths = observed(entries.known.entries, differing.changed)
      ledger.counts.tracked_paths = paths.length
      if (!bounds.takePaths(paths.length)) return ledger.lacks('budget', 'path-limit')
      await standings('tracked', paths, await key, outer, ledger)
    })(),
    (async () => {
      const paths = take('untracked', await others, ledger)
      if (!paths) return
      ledger.counts.untracked_paths = paths.length
      await standings('untracked', [...paths].sort(Buffer.compare), await key, outer, ledger)
    })(),
    (async () => {
      const entries = await index
      if (!('known' in entries)) return
      const found = take('submodules', await submodules(outer, entries.known.entries), ledger)
      if (!found) return
      ledger.counts.submodules = found.length
      const under = await key
      if (under) ledger.components.submodules = submodulesDigest(under, found)
    })(),
  ])
  const under = await key
  return under && stateDigest(under, ledger.components)
}

const keyOf = async (answer: CaptureInput['key'], ledger: Ledger): Promise<Key | undefined> => {
  const found = await Promise.resolve(answer).catch(() => NO_KEY)
  if ('known' in found) return found.known
  ledger.lacks('key', found.unavailable)
  return undefined
}

const NO_KEY = { unavailable: 'unavailable' } as const satisfies KeyAnswer

const take = <T>(
  category: 'head' | 'index' | 'tracked' | 'untracked' | 'submodules',
  probe: Probe<T> | { readonly unavailable: 'dirty' },
  ledger: Ledger,
): T | undefined => {
  if ('known' in probe) return probe.known
  ledger.lacks(category, probe.unavailable)
  return undefined
}
