/**
 * A git that may take only what is left of a shared allowance. It ends when that is used up, whoever holds its pipes: the
 * answer comes at the deadline and never later, and which limit it was is a value.
 */
import type { ChildProcess } from 'node:child_process'
import { platform } from 'node:os'
import process from 'node:process'
import { type Place, start } from './run.ts'

export type Limit = 'time-limit' | 'byte-limit' | 'path-limit'

/** What is left for everything that shares it, at this very moment. */
export interface Bounds {
  /** Milliseconds until the deadline; not positive once it has passed. */
  readonly remainingMs: () => number
  /** Counts what was printed or is about to be read; `false` when that is more than may be. */
  readonly takeBytes: (count: number) => boolean
  /** The same for paths that are observed. */
  readonly takePaths: (count: number) => boolean
  /** Ends what runs. */
  readonly signal?: AbortSignal
}

/** `unavailable`: git could not be started, or somebody else ended it. `cancelled`: the signal of its bounds or place did. */
export type Unanswered = Limit | 'unavailable' | 'cancelled'

export type BoundedRun =
  | { readonly exitCode: number; readonly stdout: Buffer; readonly limit?: undefined }
  | { readonly limit: Unanswered }

/**
 * Runs git once within `bounds`. Both streams count against the bytes, standard error is not kept; with `paths` each NUL of the
 * output counts as one path. Past a limit the process and what it started are killed and its pipes closed. Never throws.
 */
export const gitWithin = (
  place: Place,
  args: readonly string[],
  bounds: Bounds,
  { paths = false }: { readonly paths?: boolean } = {},
): Promise<BoundedRun> =>
  new Promise(resolve => {
    const remaining = bounds.remainingMs()
    if (remaining <= 0) return resolve({ limit: 'time-limit' })
    if (bounds.signal?.aborted || place.signal?.aborted) return resolve({ limit: 'cancelled' })
    let child: ChildProcess
    try {
      child = start(place, args, { ownGroup: true })
    } catch {
      return resolve({ limit: 'unavailable' })
    }
    const chunks: Buffer[] = []
    let settled = false
    const settle = (run: BoundedRun): void => {
      settled = true
      clearTimeout(timer)
      bounds.signal?.removeEventListener('abort', cancel)
      place.signal?.removeEventListener('abort', cancel)
      resolve(run)
    }
    const end = (limit: Unanswered): void => {
      if (settled) return
      kill(child)
      // Whoever inherited the pipes may hold them for ever.
      for (const pipe of child.stdio) pipe?.destroy()
      child.unref()
      chunks.length = 0
      settle({ limit })
    }
    const cancel = (): void => end('cancelled')
    const timer = setTimeout(() => end('time-limit'), remaining)
    bounds.signal?.addEventListener('abort', cancel, { once: true })
    place.signal?.addEventListener('abort', cancel, { once: true })
    for (const pipe of child.stdio) pipe?.on('error', () => {})
    child.stdin?.end()
    child.stdout?.on('data', (chunk: Buffer) => {
      if (settled) return
      if (!bounds.takeBytes(chunk.length)) return end('byte-limit')
      if (paths && !bounds.takePaths(countNul(chunk))) return end('path-limit')
      chunks.push(chunk)
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      if (!settled && !bounds.takeBytes(chunk.length)) end('byte-limit')
    })
    child.on('error', () => settle({ limit: 'unavailable' }))
    child.on('close', code =>
      // A late answer is none, even where this process was too busy to end it in time.
      settle(
        bounds.remainingMs() <= 0
          ? { limit: 'time-limit' }
          : code === null
            ? { limit: 'unavailable' }
            : { exitCode: code, stdout: Buffer.concat(chunks) },
      ),
    )
  })

/** The whole group, so that no filter or nested git of it goes on. */
const kill = (child: ChildProcess): void => {
  try {
    if (child.pid !== undefined && platform() !== 'win32') process.kill(-child.pid, 'SIGKILL')
    else child.kill('SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

const countNul = (chunk: Buffer): number => {
  let count = 0
  for (let at = chunk.indexOf(0); at !== -1; at = chunk.indexOf(0, at + 1)) count += 1
  return count
}
