/**
 * Several deliveries of one invocation (facts 12.6): merged when all of them are equal, and unknown when they contradict each
 * other. Only who knows how many there are can tell, so that is found out by an earlier pass over the same events. Pure.
 */
import { isDeepStrictEqual } from 'node:util'
import type { VerbEvent } from './event.ts'

export interface Copies {
  /** The event that counts for its invocation, once; `undefined` while copies are missing, and where they contradict each other. */
  readonly merge: (event: VerbEvent) => VerbEvent | undefined
  /** How often each invocation was delivered that nobody had said is delivered more than once. */
  readonly repeated: ReadonlyMap<string, number>
  /** Events that were merged into another one. */
  readonly duplicates: () => number
  /** Events of invocations that count as unknown. */
  readonly contradictory: () => number
}

/** `known`: how often each invocation is delivered that is delivered more than once. */
export const mergeCopies = (known: ReadonlyMap<string, number>): Copies => {
  const delivered = new Set<string>()
  const repeated = new Map<string, number>()
  const waiting = new Map<string, VerbEvent[]>()
  let duplicates = 0
  let contradictory = 0

  const mergeKnown = (event: VerbEvent, invocation: string, expected: number): VerbEvent | undefined => {
    const held = waiting.get(invocation) ?? []
    waiting.set(invocation, held)
    held.push(event)
    if (held.length < expected) return undefined
    waiting.delete(invocation)
    if (held.every(copy => isDeepStrictEqual(copy, held[0]))) {
      duplicates += held.length - 1
      return event
    }
    contradictory += held.length
    return undefined
  }

  return {
    merge: event => {
      const { invocation } = event
      if (invocation === undefined) return event
      const expected = known.get(invocation)
      if (expected !== undefined) return mergeKnown(event, invocation, expected)
      if (!delivered.has(invocation)) {
        delivered.add(invocation)
        return event
      }
      repeated.set(invocation, (repeated.get(invocation) ?? 1) + 1)
      contradictory += 1
      return undefined
    },
    repeated,
    duplicates: () => duplicates,
    // What still waits came in while the events were read again.
    contradictory: () => [...waiting.values()].reduce((sum, held) => sum + held.length, contradictory),
  }
}
