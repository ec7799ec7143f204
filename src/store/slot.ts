/**
 * A bounded number of holders at a time in one repository, across worktrees (facts 7.11, `concurrent_test_runs`). Unlike a lock
 * this is only kept to spare the machine: a folder that cannot be written means no limit, and a holder that is gone or was
 * not heard of for a while does not count. Each slot is a file with its holder's identity.
 */
import { lstat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { SLOT_BEAT_MS, SLOT_POLL_MS, SLOT_SILENCE_LIMIT_MS } from '../limits.ts'
import { adminFolder } from './admin.ts'
import { createFile, readRegularFile, removeFile } from './file.ts'
import { buryHolder, type Holder, holderOf, isAlive } from './lock.ts'

interface SlotHolder extends Holder {
  /** Top directory of the worktree that holds it, for the message of those who wait. */
  readonly worktree: string
  /** The run it is held for; a run inside that run does not wait for it. */
  readonly run: string
}

export interface SlotRequest {
  readonly directories: { readonly gitDir: string; readonly commonDir: string }
  /** How many may hold one at a time; 0 is no limit. */
  readonly count: number
  readonly worktree: string
  readonly run: string
  /** Runs that this one is a part of. */
  readonly enclosing: readonly string[]
  readonly verb: string
  readonly signal: AbortSignal
  /** Told once for each holder that is waited for. */
  readonly onWait: (worktree: string) => void
  readonly pollMs?: number
  readonly silenceMs?: number
}

export interface Slot {
  readonly waitedMs: number
  readonly release: () => Promise<void>
}

const free = (waitedMs: number): Slot => ({ waitedMs, release: async () => {} })

/** Takes a slot, waiting for one as long as all holders live. `undefined` when `signal` aborts first. */
export const takeSlot = async (context: Context, request: SlotRequest): Promise<Slot | undefined> => {
  if (request.count === 0) return free(0)
  const folder = adminFolder(request.directories, 'test-slots')
  const holder = { ...(await holderOf(context, request.verb)), worktree: request.worktree, run: request.run }
  const pollMs = request.pollMs ?? SLOT_POLL_MS
  const watch = openWatch(context, Math.ceil((request.silenceMs ?? SLOT_SILENCE_LIMIT_MS) / pollMs))
  const since = context.now().getTime()
  const told = new Set<string>()
  for (let looks = 0; !request.signal.aborted; looks += 1) {
    const waitedMs = (): number => (looks === 0 ? 0 : Math.max(0, context.now().getTime() - since))
    const living: SlotHolder[] = []
    for (let at = 0; at < request.count; at += 1) {
      const path = join(folder, String(at))
      const taken = await take(path, holder)
      if (taken === 'unwritable') return free(0)
      if (taken === 'taken') return held(context, path, holder, waitedMs())
      const standing = await readSlot(path)
      if (standing && request.enclosing.includes(standing.run)) return free(waitedMs())
      if (await watch.isDead(path, standing)) {
        await buryHolder(path, standing, context)
        if ((await take(path, holder)) === 'taken') return held(context, path, holder, waitedMs())
      } else if (standing) living.push(standing)
    }
    for (const { run, worktree } of living) if (!told.has(run)) request.onWait(worktree)
    for (const { run } of living) told.add(run)
    await pause(pollMs, undefined, { signal: request.signal }).catch(() => {})
  }
  return undefined
}

const take = async (path: string, holder: SlotHolder): Promise<'taken' | 'busy' | 'unwritable'> => {
  try {
    return (await createFile(path, `${JSON.stringify(holder)}\n`)) ? 'taken' : 'busy'
  } catch {
    return 'unwritable'
  }
}

/**
 * Tells dead holders: gone from this host, or, wherever they run, without a beat for so many looks. Counting looks instead of
 * comparing clocks makes neither a skewed clock nor a suspended machine declare anybody dead.
 */
const openWatch = (context: Context, limit: number) => {
  const seen = new Map<string, { readonly beat: number; readonly looks: number }>()
  return {
    isDead: async (path: string, standing: SlotHolder | undefined): Promise<boolean> => {
      const beat = await lstat(path).then(
        stat => stat.mtimeMs,
        () => 0,
      )
      const last = seen.get(path)
      const looks = last?.beat === beat ? last.looks + 1 : 0
      seen.set(path, { beat, looks })
      return looks >= limit || (standing !== undefined && !(await isAlive(standing, context.host)))
    },
  }
}

const held = (context: Context, path: string, holder: SlotHolder, waitedMs: number): Slot => {
  const beat = setInterval(() => {
    const now = context.now()
    utimes(path, now, now).catch(() => {})
  }, SLOT_BEAT_MS)
  beat.unref()
  return {
    waitedMs,
    release: async () => {
      clearInterval(beat)
      // Taken for dead while this machine slept, the slot may be somebody else's by now.
      if ((await readSlot(path))?.run === holder.run) await removeFile(path).catch(() => {})
    },
  }
}

const readSlot = async (path: string): Promise<SlotHolder | undefined> => {
  try {
    const bytes = await readRegularFile(path, 65_536)
    return bytes && (JSON.parse(bytes.toString('utf8')) as SlotHolder)
  } catch {
    return undefined
  }
}
