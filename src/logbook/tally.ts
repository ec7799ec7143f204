/** Counting events: by kind, and verbs by outcome. */
import type { LogbookEvent, Outcome } from './event.ts'

export interface VerbTally extends Readonly<Partial<Record<Outcome, number>>> {
  readonly verb: string
  readonly count: number
}

export interface EventTally {
  readonly kinds: Readonly<Partial<Record<LogbookEvent['kind'], number>>>
  /** Verbs that ended, the most frequent first. */
  readonly verbs: readonly VerbTally[]
  /** Of the lines' own times; `null` without events. */
  readonly oldest: string | null
  readonly newest: string | null
}

/** A counter of a stream of events; its memory grows with the number of different verbs alone. */
export const tallyEvents = (): { readonly add: (event: LogbookEvent) => void; readonly result: () => EventTally } => {
  const kinds = new Map<LogbookEvent['kind'], number>()
  const verbs = new Map<string, Map<Outcome, number>>()
  let oldest: string | null = null
  let newest: string | null = null
  const more = <K>(counts: Map<K, number>, key: K): void => {
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return {
    add: event => {
      more(kinds, event.kind)
      if (oldest === null || event.at < oldest) oldest = event.at
      if (newest === null || event.at > newest) newest = event.at
      if (event.kind !== 'verb') return
      const outcomes = verbs.get(event.verb) ?? new Map<Outcome, number>()
      verbs.set(event.verb, outcomes)
      more(outcomes, event.outcome)
    },
    result: () => ({
      kinds: Object.fromEntries([...kinds].sort()),
      verbs: [...verbs]
        .map(([verb, outcomes]) => ({ verb, count: sumOf(outcomes), ...Object.fromEntries(outcomes) }))
        .sort((one, other) => other.count - one.count || (one.verb < other.verb ? -1 : 1)),
      oldest,
      newest,
    }),
  }
}

const sumOf = (counts: ReadonlyMap<unknown, number>): number => [...counts.values()].reduce((sum, count) => sum + count)
