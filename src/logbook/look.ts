/** One look through the Logbook: its events folded into a population, and what the detectors make of it (facts 12.6). */
import type { Detection } from './detectors.ts'
import type { LogbookEvent } from './event.ts'
import { foldPopulation, type Occasion, type Population } from './population.ts'

export interface Look<Reading> {
  readonly population: Population
  readonly reading: Reading
  readonly detection: Detection | undefined
}

export interface LookOptions<Reading> {
  /** Hands every event to its argument, oldest first; called again where copies turned out to contradict each other. */
  readonly read: (visit: (event: LogbookEvent) => void) => Promise<Reading>
  /** Short name of the trunk. */
  readonly trunk: string | undefined
  /** Starts detectors afresh; absent where only the population is asked for. */
  readonly start?: () => Detection
}

const IGNORE = (_: Occasion): void => {}

/**
 * Reads everything once, and a second time where an invocation turned out to be delivered more than once, which is rare: only who
 * knows all copies knows whether they agree. Keeps no event but the copies, until the last of them came.
 */
export const look = async <Reading>({ read, trunk, start }: LookOptions<Reading>): Promise<Look<Reading>> => {
  const pass = async (copies: ReadonlyMap<string, number>) => {
    const detection = start?.()
    const fold = foldPopulation({ trunk, copies, observe: detection?.observe ?? IGNORE })
    const reading = await read(fold.add)
    return { fold, reading, detection }
  }
  const first = await pass(new Map())
  const { fold, reading, detection } = first.fold.repeated.size === 0 ? first : await pass(first.fold.repeated)
  return { population: fold.population(), reading, detection }
}
