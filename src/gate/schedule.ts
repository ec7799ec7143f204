/** Which jobs run when: in the order of their needs, at most so many side by side, and none after a failure that matters. */
import type { PlannedJob } from '../policy/definition.ts'

export interface Pool {
  readonly jobs: readonly PlannedJob[]
  /** Jobs that may run at the same time. */
  readonly width: number
  readonly failFast: boolean
  /** Ends everything from outside. */
  readonly signal: AbortSignal
  /** Whether a name of a `needs` list has passed, did not pass, or is not a part of this run. */
  readonly standing: (need: string) => 'passed' | 'not-passed' | 'pending' | 'foreign'
  /** Runs one job; `signal` aborts when it should end early. Answers whether it passed. */
  readonly run: (job: PlannedJob, signal: AbortSignal) => Promise<boolean>
  /** Told once for each job that is not started. */
  readonly skip: (job: PlannedJob, reason: string) => void
}

/**
 * Returns when every job has ended or was skipped. An error thrown by `run` ends the others and is thrown when they are
 * over, so nothing runs on behind a failure.
 */
export const runPool = (pool: Pool): Promise<void> =>
  new Promise((resolve, reject) => {
    const waiting = [...pool.jobs]
    const stop = new AbortController()
    const signal = AbortSignal.any([pool.signal, stop.signal])
    let running = 0
    let stopped: string | undefined
    let defect: { readonly error: unknown } | undefined

    const reasonToSkip = (job: PlannedJob): string | undefined => {
      if (pool.signal.aborted) return 'interrupted'
      if (stopped !== undefined) return stopped
      const missing = job.recipe.needs.find(need => pool.standing(need) === 'not-passed')
      return missing === undefined ? undefined : `needs ${missing}, which did not pass`
    }

    const isReady = (job: PlannedJob): boolean => job.recipe.needs.every(need => pool.standing(need) !== 'pending')

    const launch = (job: PlannedJob): void => {
      running += 1
      pool
        .run(job, signal)
        .then(
          passed => {
            if (!passed && pool.failFast) halt(`stopped because ${job.label} did not pass`)
          },
          error => {
            defect ??= { error }
            halt('stopped by a defect')
          },
        )
        .then(() => {
          running -= 1
          pump()
        })
    }

    const halt = (reason: string): void => {
      stopped ??= reason
      stop.abort()
    }

    const pump = (): void => {
      // From the start again after each change: a skipped job may decide about one before it.
      for (let at = 0; at < waiting.length; ) {
        const job = waiting[at]
        const reason = job && reasonToSkip(job)
        if (!job || (reason === undefined && !(running < pool.width && isReady(job)))) {
          at += 1
          continue
        }
        waiting.splice(at, 1)
        if (reason === undefined) launch(job)
        else pool.skip(job, reason)
        at = 0
      }
      if (running > 0) return
      // Nothing runs and nothing can start: what is left waits for itself.
      for (const job of waiting.splice(0))
        pool.skip(job, `needs ${job.recipe.needs.join(', ')}, which cannot run before it`)
      if (defect) reject(defect.error)
      else resolve()
    }

    pump()
  })
