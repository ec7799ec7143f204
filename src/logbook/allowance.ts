/** What all of one piece of validation evidence may cost together: time, bytes and paths (facts 12.5). */
import type { Bounds } from '../git/bounded.ts'
import { STATE_LIMIT_BYTES, STATE_LIMIT_MS, STATE_PATH_LIMIT_COUNT } from '../limits.ts'

export interface Allowance extends Bounds {
  /** Milliseconds since it was opened. */
  readonly elapsedMs: () => number
  /** Bytes that were granted so far. */
  readonly usedBytes: () => number
}

export interface AllowanceLimits {
  readonly ms: number
  readonly bytes: number
  readonly paths: number
}

/**
 * Opens an allowance; its time runs from now. `clock` counts milliseconds and never goes back. `signal` ends everything that
 * runs under it.
 */
export const openAllowance = ({
  limits = {},
  signal,
  clock = () => performance.now(),
}: {
  readonly limits?: Partial<AllowanceLimits>
  readonly signal?: AbortSignal
  readonly clock?: () => number
} = {}): Allowance => {
  const { ms = STATE_LIMIT_MS, bytes = STATE_LIMIT_BYTES, paths = STATE_PATH_LIMIT_COUNT } = limits
  const opened = clock()
  let bytesUsed = 0
  let pathsUsed = 0
  const elapsedMs = (): number => Math.max(0, clock() - opened)
  return {
    elapsedMs,
    remainingMs: () => ms - elapsedMs(),
    usedBytes: () => bytesUsed,
    takeBytes: count => {
      if (count > bytes - bytesUsed) return false
      bytesUsed += count
      return true
    },
    takePaths: count => {
      if (count > paths - pathsUsed) return false
      pathsUsed += count
      return true
    },
    ...(signal ? { signal } : {}),
  }
}

/**
 * What `work` comes to, or `time-limit` at the deadline, whatever `work` does: a result or a failure that comes later is looked
 * at and dropped. A failure in time is thrown. Nothing is started once the deadline has passed.
 */
export const within = <T>(
  allowance: Pick<Allowance, 'remainingMs'>,
  work: Promise<T> | (() => Promise<T>),
): Promise<{ readonly known: T } | { readonly unavailable: 'time-limit' }> =>
  new Promise((resolve, reject) => {
    const late = { unavailable: 'time-limit' } as const
    // One that runs already is observed in any case, so that its failure is nobody's surprise.
    if (typeof work !== 'function') work.catch(() => {})
    const remaining = allowance.remainingMs()
    if (remaining <= 0) return resolve(late)
    const timer = setTimeout(() => resolve(late), remaining)
    const started = typeof work === 'function' ? Promise.resolve().then(work) : work
    started
      .then(
        known => resolve(allowance.remainingMs() <= 0 ? late : { known }),
        error => (allowance.remainingMs() <= 0 ? resolve(late) : reject(error)),
      )
      .finally(() => clearTimeout(timer))
  })
