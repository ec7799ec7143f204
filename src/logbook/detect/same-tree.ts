/** Gate fit, from validation evidence: the same state and the same job, and yet another answer (facts 12.6). */

import { condition, shortDigest, versionsOf } from '../basis.ts'
import type { Shape } from '../comparable.ts'
import { concluded, type Detector, type Finding } from '../detector.ts'
import { EXCLUSIONS } from '../event.ts'
import type { Occasion } from '../population.ts'
import { groupBy, neitherWords, type SameStates, type State, sameStates, tallyOf } from './same-state.ts'

/** One run of one job on one state. */
interface Run {
  readonly shape: Shape
  readonly job: Shape['units'][number]
}

interface Group {
  readonly state: State
  readonly runs: readonly [Run, ...Run[]]
}

/** What equal digests do not cover, in words. */
const NOT_RECORDED = `not recorded: ${EXCLUSIONS.map(name => name.replaceAll('-', ' ')).join(', ')}`

/** Feeds comparable evidence into a table of states, and counts what is not comparable. */
const watch = (): {
  readonly states: SameStates
  readonly observe: (occasion: Occasion) => void
  readonly excluded: Record<string, number>
} => {
  const states = sameStates()
  const excluded: Record<string, number> = {}
  return {
    states,
    excluded,
    observe: ({ event, evidence }) => {
      if (evidence === undefined) return
      if (typeof evidence === 'string') excluded[evidence] = (excluded[evidence] ?? 0) + 1
      else states.add(event, evidence)
    },
  }
}

interface Groups {
  /** Runs of one job on one state, at least two, where not all of them were the same. */
  readonly groups: readonly Group[]
  /** States on which the same execution had the same outcomes each time. */
  readonly uniform: number
}

/** The runs of each job on each repeated state, apart by everything that `keyOf` tells apart. */
const groupsOf = (states: SameStates, keyOf: (run: Run) => string): Groups => {
  const groups: Group[] = []
  let uniform = 0
  for (const state of states.repeated()) {
    if (state.uniform) uniform += 1
    const runs = state.runs.flatMap(shape => shape.units.map(job => ({ shape, job })))
    for (const [first, ...more] of groupBy(runs, keyOf).values()) {
      if (first !== undefined && more.length > 0) groups.push({ state, runs: [first, ...more] })
    }
  }
  return { groups, uniform }
}

/** A finding with what orders it: how sure it is that somebody sees both answers again. */
interface Ranked {
  readonly finding: Finding
  readonly weight: number
  readonly key: string
}

/** The strongest finding of each job before the second of any, so that the few that are shown are about different jobs. */
const ranked = (found: readonly Ranked[]): readonly Finding[] => {
  const ordered = [...found].sort((left, right) => right.weight - left.weight || (left.key < right.key ? -1 : 1))
  const seen = new Map<string, number>()
  return ordered
    .map(({ finding }) => {
      const round = seen.get(finding.about) ?? 0
      seen.set(finding.about, round + 1)
      return { finding, round }
    })
    .sort((left, right) => left.round - right.round)
    .map(({ finding }) => finding)
}

const onState = ({ head }: State): string =>
  head === null ? 'one and the same state' : `one and the same state at commit ${head.slice(0, 12)}`

const jobConditions = ({ shape, job }: Run, { digest }: State) => [
  condition('state', [shortDigest(digest)]),
  condition('evidence version', [String(shape.version)]),
  condition('writer', [shape.writer]),
  condition('configuration', [shortDigest(shape.configuration)]),
  condition('setup', [shortDigest(shape.setup)]),
  condition('job definition', [shortDigest(job.definition_digest)]),
]

const contextConditions = (runs: readonly Run[]) => [
  condition('captured', new Set(runs.map(({ shape }) => shape.capture))),
  condition('mode', new Set(runs.map(({ shape }) => shape.mode))),
  condition(
    'beside other jobs',
    runs.map(({ job }) => (job.concurrent_siblings ? 'yes' : 'no')),
  ),
  condition(
    'other jobs',
    runs.map(({ shape, job }) => {
      const others = shape.jobs.filter(({ id }) => id !== job.id)
      return others.length === 0 ? 'none' : others.map(({ id }) => id).join(', ')
    }),
  ),
]

/** The definitions of the jobs beside it, as far as they tell contexts apart. */
const otherDefinitions = (runs: readonly Run[]) =>
  condition(
    'definitions of other jobs',
    runs.map(({ shape, job }) =>
      shape.jobs
        .filter(({ id }) => id !== job.id)
        .map(({ definition_digest }) => shortDigest(definition_digest))
        .join(', '),
    ),
  )

const outcomes = (runs: readonly Run[]): readonly Run['job']['outcome'][] => runs.map(({ job }) => job.outcome)

/** Base, context and the job itself: together exactly the group key of facts 12.6, in which the siblings are the context's other jobs. */
const flakeKey = ({ shape, job }: Run): string => `${shape.base} ${shape.context} ${job.number}`

/**
 * A job of the test stage that passed and failed on the same state under the same conditions. Nothing the project or its
 * configuration says is different, so the job itself does not decide by the change alone.
 */
export const sameTreeFlake: Detector = {
  name: 'same-tree-flake',
  family: 'gate-fit',
  threshold: 2,
  counts: 'runs of one job on one state',
  question: 'does a test job pass and fail on the very same state?',
  start: () => {
    const { states, observe, excluded } = watch()
    const findingOf = ({ state, runs }: Group): Ranked | undefined => {
      const tally = tallyOf(outcomes(runs))
      if (tally.failed === 0 || tally.passed === 0) return undefined
      const { id } = runs[0].job
      const finding: Finding = {
        about: `job ${id}`,
        seen: `failed ${tally.failed} and passed ${tally.passed} of ${runs.length} times on ${onState(state)}${neitherWords(tally)}`,
        next_action: `look in ${id} for what is not in the commit: time, order, chance, network, leftover files; until then its red says nothing about a change`,
        basis: {
          count: tally.failed,
          denominator: runs.length,
          unit: 'runs of this job on this state',
          versions: versionsOf([runs[0].shape.writer]),
          matched: [...jobConditions(runs[0], state), ...contextConditions(runs)],
          differing: [condition('outcome', outcomes(runs))],
          excluded,
          limitations: [NOT_RECORDED],
          evidence: 'observed',
        },
      }
      return { finding, weight: Math.min(tally.failed, tally.passed), key: `${id} ${state.digest} ${flakeOrder(runs)}` }
    }
    return {
      observe,
      conclude: () => {
        const { groups, uniform } = groupsOf(states, flakeKey)
        const found = groups.flatMap(group => findingOf(group) ?? [])
        return concluded(
          ranked(found),
          groups.length + uniform > 0,
          'no job ran twice on one state with complete evidence',
        )
      },
    }
  },
}

/** Tells two groups of one job on one state apart whatever order their runs came in. */
const flakeOrder = ([{ shape, job }]: Group['runs']): string => {
  const { capture, mode, writer, configuration, setup, jobs } = shape
  const roster = jobs.map(({ id, definition_digest, concurrent_siblings }) => [
    id,
    definition_digest,
    concurrent_siblings,
  ])
  return JSON.stringify([capture, mode, writer, configuration, setup, job.definition_digest, roster])
}

/** The job itself and everything but its context. */
const jobKey = ({ shape, job }: Run): string => `${shape.base} ${job.number}`

/**
 * A job that always passes in one context and always fails in another one, on the same state: standalone or in the whole gate,
 * with or without others beside it. A context that is itself mixed mutes this, since that is a flake and said there.
 */
export const executionContextDivergence: Detector = {
  name: 'execution-context-divergence',
  family: 'gate-fit',
  threshold: 2,
  counts: 'contexts in which one job answered on one state',
  question: 'does a test job answer otherwise alone than in the whole gate?',
  start: () => {
    const { states, observe, excluded } = watch()
    const answer = (runs: readonly Run[]): 'red' | 'green' | 'mixed' | undefined => {
      const { failed, passed } = tallyOf(outcomes(runs))
      if (failed > 0) return passed > 0 ? 'mixed' : 'red'
      return passed > 0 ? 'green' : undefined
    }
    const judge = ({ state, runs }: Group): Ranked | 'quiet' | undefined => {
      const contexts = groupBy(runs, ({ shape }) => String(shape.context))
      const answers = [...contexts.values()].map(answer).filter(one => one !== undefined)
      if (answers.length < 2) return undefined
      if (answers.includes('mixed') || new Set(answers).size < 2) return 'quiet'
      const red = answers.filter(one => one === 'red').length
      const tally = tallyOf(outcomes(runs))
      const { id } = runs[0].job
      const inContext = [...contextConditions(runs), otherDefinitions(runs)]
      const finding: Finding = {
        about: `job ${id}`,
        seen: `always failed in ${red} and always passed in ${answers.length - red} of ${answers.length} contexts on ${onState(state)}${neitherWords(tally)}`,
        next_action: `compare what differs for ${id}: what another job leaves behind or takes at the same time, and what only the whole gate builds`,
        basis: {
          count: tally.failed,
          denominator: runs.length,
          unit: 'runs of this job on this state',
          versions: versionsOf([runs[0].shape.writer]),
          matched: [
            ...jobConditions(runs[0], state),
            ...contextConditions(runs).filter(({ values }) => values.length === 1),
          ],
          differing: [...inContext.filter(({ values }) => values.length > 1), condition('outcome', outcomes(runs))],
          excluded,
          limitations: [NOT_RECORDED],
          evidence: 'observed',
        },
      }
      return { finding, weight: Math.min(tally.failed, tally.passed), key: `${id} ${state.digest}` }
    }
    return {
      observe,
      conclude: () => {
        const judged = groupsOf(states, jobKey)
          .groups.map(judge)
          .filter(one => one !== undefined)
        const found = judged.flatMap(one => (one === 'quiet' ? [] : [one]))
        return concluded(ranked(found), judged.length > 0, 'no job answered in two contexts on one state')
      },
    }
  },
}
