/**
 * Events into the population that patterns are looked for in (facts 12.6): `verb` events of people and agents who work. CI, dry
 * runs and the branch that git discern was set up on are left out; copies of one invocation are merged when they are equal, and
 * count as unknown when they contradict each other. Everything left out is counted. Pure; no event is kept.
 */
import { type Comparable, comparing, type NotComparable } from './comparable.ts'
import { mergeCopies } from './copies.ts'
import { efforts } from './effort.ts'
import type { LandingRecord, LogbookEvent, Outcome, Validation, VerbEvent } from './event.ts'

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
  /** How often each invocation is delivered that is delivered more than once, as an earlier fold over the same events found. */
  readonly copies?: ReadonlyMap<string, number>
  readonly observe: (occasion: Occasion) => void
}

export interface Fold {
  readonly add: (event: LogbookEvent) => void
  /**
   * Invocations that were delivered more than once though `copies` did not say so. Their first copies were counted before anything
   * was known of the others, so the fold has to be done again with these.
   */
  readonly repeated: ReadonlyMap<string, number>
  readonly population: () => Population
}

const NONE: ReadonlyMap<string, number> = new Map()

/** Starts a fold. Events are added oldest first. */
export const foldPopulation = ({ trunk, copies = NONE, observe }: PopulationOptions): Fold => {
  const delivered = mergeCopies(copies)
  const comparable = comparing()
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

  const leaveOut = (reason: LeftOut): void => {
    leftOut[reason] = (leftOut[reason] ?? 0) + 1
  }

  const reasonToLeaveOut = (event: VerbEvent): LeftOut | undefined => {
    if (event.driver?.ci === true) return 'ci'
    if (event.dry_run) return 'dry-run'
    return tracked.isSetUpOn(event) ? 'setup-branch' : undefined
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

  const countIncomplete = ({ state, execution }: Validation): void => {
    const entries = [...(state.incomplete ?? []), ...(execution.incomplete ?? [])]
    for (const what of new Set(entries.map(({ category, reason }) => `${category}/${reason}`))) {
      incomplete.set(what, (incomplete.get(what) ?? 0) + 1)
    }
  }

  const evidenceOf = ({ verb, validation }: VerbEvent): Comparable | NotComparable | undefined => {
    if (verb !== 'done' && verb !== 'test') return undefined
    const evidence = comparable(validation)
    if (typeof evidence !== 'string') comparableRuns += 1
    else notComparable[evidence] = (notComparable[evidence] ?? 0) + 1
    if (validation && typeof evidence === 'string') countIncomplete(validation)
    return evidence
  }

  return {
    add: event => {
      events += 1
      if (event.kind !== 'verb') {
        leaveOut('other-kind')
        return
      }
      const whole = delivered.merge(event)
      if (whole === undefined) return
      const reason = reasonToLeaveOut(whole)
      if (reason !== undefined) {
        leaveOut(reason)
        return
      }
      count(whole)
      observe({ event: whole, ...tracked.follow(whole), evidence: evidenceOf(whole) })
    },
    repeated: delivered.repeated,
    population: () => ({
      events,
      counted,
      left_out: {
        ...leftOut,
        ...(delivered.duplicates() > 0 ? { duplicate: delivered.duplicates() } : {}),
        ...(delivered.contradictory() > 0 ? { contradictory: delivered.contradictory() } : {}),
      },
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
