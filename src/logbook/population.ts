/**
 * Events into the population that patterns are looked for in (facts 12.6): `verb` events of people and agents who work. CI, dry
 * runs and the branch that git discern was set up on are left out; copies of one invocation are merged when they are equal, and
 * count as unknown when they contradict each other. Everything left out is counted. Pure; no event is kept.
 */
import { type Comparable, comparable, type NotComparable } from './comparable.ts'
import { efforts } from './effort.ts'
import type { LandingRecord, LogbookEvent, Outcome, VerbEvent } from './event.ts'

/** Why an event is not in the population. */
export type LeftOut = 'other-kind' | 'ci' | 'dry-run' | 'setup-branch' | 'duplicate' | 'contradictory'

/** One event of the population, with what more than one detector asks of it. */
export interface Occasion {
  readonly event: VerbEvent
  /** The change on one branch up to its landing; `undefined` on the trunk and on no branch. */
  readonly effort: string | undefined
  readonly landed: readonly { readonly effort: string | undefined; readonly landing: LandingRecord }[]
  /** Of `done` and `test`; `undefined` of every other verb. */
  readonly evidence: Comparable | NotComparable | undefined
}

export interface Population {
  /** Readable events of any kind: `counted` and everything in `left_out`. */
  readonly events: number
  readonly counted: number
  readonly left_out: Readonly<Partial<Record<LeftOut, number>>>
  readonly from?: string
  readonly to?: string
  readonly writers: readonly string[]
  readonly verbs: readonly ({ readonly verb: string } & Readonly<Record<Outcome, number>>)[]
  readonly evidence: {
    /** Runs of `done` and `test` whose evidence may be compared. */
    readonly comparable: number
    readonly not_comparable: Readonly<Partial<Record<NotComparable, number>>>
    /** How many runs had each reason; one run may have several. */
    readonly incomplete: readonly { readonly category: string; readonly reason: string; readonly count: number }[]
  }
}

export interface PopulationOptions {
  /** Short name; its own events belong to no effort, and it is nobody's setup branch. */
  readonly trunk: string | undefined
  /** Invocations whose copies are known to contradict each other. */
  readonly contradictory?: ReadonlySet<string>
  readonly observe: (occasion: Occasion) => void
}

export interface Fold {
  readonly add: (event: LogbookEvent) => void
  /** Invocations found to be contradictory whose first copy was counted; the fold has to be done again with them known. */
  readonly contradictory: ReadonlySet<string>
  readonly population: () => Population
}

const NONE: ReadonlySet<string> = new Set()

/** Starts a fold. Events are added oldest first. */
export const foldPopulation = ({ trunk, contradictory = NONE, observe }: PopulationOptions): Fold => {
  const delivered = new Map<string, number>()
  const found = new Set<string>()
  const leftOut: Partial<Record<LeftOut, number>> = {}
  const verbs = new Map<string, Record<Outcome, number>>()
  const writers = new Set<string>()
  const incomplete = new Map<string, number>()
  const notComparable: Partial<Record<NotComparable, number>> = {}
  const tracked = efforts(trunk)
  let events = 0
  let counted = 0
  let comparableRuns = 0
  let from: string | undefined
  let to: string | undefined

  const reasonToLeaveOut = (event: LogbookEvent): LeftOut | undefined => {
    if (event.kind !== 'verb') return 'other-kind'
    const copy = copyOf(event)
    if (copy !== undefined) return copy
    if (event.driver?.ci === true) return 'ci'
    if (event.dry_run) return 'dry-run'
    return tracked.isSetUpOn(event) ? 'setup-branch' : undefined
  }

  const copyOf = (event: VerbEvent): 'duplicate' | 'contradictory' | undefined => {
    const { invocation } = event
    if (invocation === undefined) return undefined
    if (contradictory.has(invocation)) return 'contradictory'
    const print = fingerprint(event)
    const before = delivered.get(invocation)
    if (before === undefined) {
      delivered.set(invocation, print)
      return undefined
    }
    if (before === print) return 'duplicate'
    found.add(invocation)
    return 'contradictory'
  }

  const count = ({ verb, outcome, writer, at }: VerbEvent): void => {
    counted += 1
    if (writer !== undefined) writers.add(writer)
    if (from === undefined || at < from) from = at
    if (to === undefined || at > to) to = at
    const row = verbs.get(verb) ?? { ok: 0, failed: 0, partial: 0, refused: 0 }
    row[outcome] += 1
    verbs.set(verb, row)
  }

  const evidenceOf = ({ verb, validation }: VerbEvent): Comparable | NotComparable | undefined => {
    if (verb !== 'done' && verb !== 'test') return undefined
    const evidence = comparable(validation)
    if (typeof evidence !== 'string') comparableRuns += 1
    else notComparable[evidence] = (notComparable[evidence] ?? 0) + 1
    const entries = [...(validation?.state.incomplete ?? []), ...(validation?.execution.incomplete ?? [])]
    for (const what of new Set(entries.map(({ category, reason }) => `${category}/${reason}`))) {
      incomplete.set(what, (incomplete.get(what) ?? 0) + 1)
    }
    return evidence
  }

  return {
    add: event => {
      events += 1
      const reason = reasonToLeaveOut(event)
      if (reason !== undefined) {
        leftOut[reason] = (leftOut[reason] ?? 0) + 1
        return
      }
      const counting = event as VerbEvent
      count(counting)
      observe({ event: counting, ...tracked.follow(counting), evidence: evidenceOf(counting) })
    },
    contradictory: found,
    population: () => ({
      events,
      counted,
      left_out: leftOut,
      ...(from === undefined || to === undefined ? {} : { from, to }),
      writers: [...writers].sort(),
      verbs: [...verbs]
        .map(([verb, row]) => ({ verb, ...row }))
        .sort((left, right) => (left.verb < right.verb ? -1 : 1)),
      evidence: {
        comparable: comparableRuns,
        not_comparable: notComparable,
        incomplete: [...incomplete]
          .map(([what, count]) => {
            const [category = '', reason = ''] = what.split('/')
            return { category, reason, count }
          })
          .sort((left, right) => right.count - left.count),
      },
    }),
  }
}

const hashText = (text: string, seed: number): number => {
  let hash = seed
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}

/** Deeper than any event of ours; what is below tells no copies apart. */
const DEEPEST = 32

/** 32 bits over a JSON value in which the order of members does not count; only ever compared between copies of one invocation. */
const fingerprint = (value: unknown, depth = 0): number => {
  if (typeof value === 'string') return hashText(value, 0x811c9dc5)
  if (typeof value !== 'object' || value === null) return hashText(String(value), 0x2f0b4a27)
  if (depth > DEEPEST) return 0
  if (Array.isArray(value)) {
    let hash = 0x3c6ef372
    for (const item of value) hash = (Math.imul(hash ^ fingerprint(item, depth + 1), 0x5bd1e995) + 1) | 0
    return hash
  }
  let sum = 0x1b873593
  for (const name in value) {
    const member = fingerprint((value as Record<string, unknown>)[name], depth + 1)
    const mixed = Math.imul(hashText(name, 0x811c9dc5) ^ Math.imul(member, 0x5bd1e995), 0x27d4eb2f)
    sum = (sum + (mixed ^ (mixed >>> 15))) | 0
  }
  return sum
}
