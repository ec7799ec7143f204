/** Gate fit of checkpoints: one that never asks, one that always asks, and one whose answer is a variance. */
import { CHECKPOINT_NOISY_SHARE, CHECKPOINT_VARIED_SHARE, TRAJECTORY_WINDOW_COUNT } from '../../limits.ts'
import { condition, percentWords, versionsOf } from '../basis.ts'
import { type Conclusion, concluded, type Detector, type Finding } from '../detector.ts'
import { branchOf } from '../effort.ts'
import type { CheckpointsRecord } from '../event.ts'
import type { Occasion } from '../population.ts'

/** Adds the ids of the checkpoints that an event shows to have asked a question. */
const addAsked = (ids: Set<string>, { fired, reopened, declared }: CheckpointsRecord): void => {
  for (const list of [fired, reopened, declared]) if (list) for (const { id } of list) ids.add(id)
}

interface Fired {
  gateRan: boolean
  readonly ids: Set<string>
  readonly writers: Set<string | undefined>
}

/** What fired in each of the newest efforts; the one that was touched last is the last. */
const firings = (): {
  readonly observe: (occasion: Occasion) => void
  /** Efforts whose gate ran, the oldest first. */
  readonly gateRun: () => readonly (readonly [effort: string, fired: Fired])[]
} => {
  const efforts = new Map<string, Fired>()
  return {
    observe: ({ event, effort }) => {
      const ran = event.verb === 'done' && event.gate_ran === true
      if (effort === undefined || (!ran && event.checkpoints === undefined)) return
      const fired = efforts.get(effort) ?? { gateRan: false, ids: new Set(), writers: new Set() }
      efforts.delete(effort)
      efforts.set(effort, fired)
      fired.gateRan ||= ran
      fired.writers.add(event.writer)
      if (event.checkpoints) {
        addAsked(fired.ids, event.checkpoints)
        for (const { id } of event.checkpoints.advise ?? []) fired.ids.add(id)
      }
      const [oldest] = efforts.keys()
      if (efforts.size > TRAJECTORY_WINDOW_COUNT && oldest !== undefined) efforts.delete(oldest)
    },
    gateRun: () => [...efforts].filter(([, { gateRan }]) => gateRan),
  }
}

const UNKNOWN_AGE = 'since when a checkpoint asks as it does today is not recorded'

/** The two detectors that count in how many efforts a checkpoint fired. */
const byFirings = (
  detector: Pick<Detector, 'name' | 'threshold' | 'question'>,
  says: (id: string, count: number, efforts: number) => Pick<Finding, 'seen' | 'next_action'> | undefined,
  /** Whether only checkpoints that govern today count; what never fired is in no event. */
  onlyKnown: boolean,
): Detector => {
  const { threshold } = detector
  return {
    ...detector,
    family: 'gate-fit',
    counts: 'efforts whose gate ran',
    start: ({ checkpoints }) => {
      const { observe, gateRun } = firings()
      return {
        observe,
        conclude: (): Conclusion => {
          const efforts = gateRun()
          const needs = `${efforts.length} of ${threshold} efforts whose gate ran`
          if (efforts.length < threshold) return concluded([], false, needs)
          if (onlyKnown && checkpoints === undefined) {
            return concluded([], false, 'the checkpoints that govern cannot be read')
          }
          const fired = efforts.flatMap(([, { ids }]) => [...ids])
          const ids = new Set([...(checkpoints ?? []), ...(checkpoints === undefined ? fired : [])])
          const found = [...ids].flatMap((id): readonly Finding[] => {
            const on = efforts.filter(([, one]) => one.ids.has(id))
            const words = says(id, on.length, efforts.length)
            if (words === undefined) return []
            return [
              {
                about: `checkpoint ${id}`,
                ...words,
                basis: {
                  count: on.length,
                  denominator: efforts.length,
                  unit: 'newest efforts whose gate ran',
                  versions: versionsOf(efforts.flatMap(([, { writers }]) => [...writers])),
                  matched: [condition('checkpoint', [id])],
                  differing: [
                    condition(
                      'branch',
                      efforts.map(([effort]) => branchOf(effort)),
                    ),
                  ],
                  excluded: {},
                  limitations: [UNKNOWN_AGE],
                  evidence: 'observed',
                },
              },
            ]
          })
          found.sort((left, right) => right.basis.count - left.basis.count || (left.about < right.about ? -1 : 1))
          return concluded(found, true, needs)
        },
      }
    },
  }
}

/** A checkpoint that governs and fired in none of at least 8 efforts whose gate ran: its trigger matches nothing people change. */
export const checkpointDead: Detector = byFirings(
  { name: 'checkpoint-dead', threshold: 8, question: 'which checkpoint never asks anything?' },
  (id, count, efforts) =>
    count > 0
      ? undefined
      : {
          seen: `fired in none of ${efforts} efforts whose gate ran`,
          next_action: `git discern checkpoints shows what makes ${id} fire: widen that, or take the checkpoint away`,
        },
  true,
)

/** A checkpoint that fired in at least 80 % of at least 8 efforts: people learn to answer it without reading. */
export const checkpointNoisy: Detector = byFirings(
  { name: 'checkpoint-noisy', threshold: 8, question: 'which checkpoint asks nearly every time?' },
  (id, count, efforts) =>
    count / efforts < CHECKPOINT_NOISY_SHARE
      ? undefined
      : {
          seen: `fired in ${count} of ${efforts} efforts whose gate ran (${percentWords(count / efforts)})`,
          next_action: `narrow what makes ${id} fire, or make it a job where a command can decide`,
        },
  false,
)

interface Landed {
  landings: number
  varied: number
  readonly branches: Set<string>
  readonly writers: Set<string | undefined>
}

/** At least half of at least 3 landings with this question landed under a variance: the owner lets it pass, so it asks for too much. */
export const checkpointVaried: Detector = {
  name: 'checkpoint-varied',
  family: 'gate-fit',
  threshold: 3,
  counts: 'landings with the question of one checkpoint',
  question: 'which checkpoint is mostly landed under a variance?',
  start: () => {
    const asked = new Map<string, Set<string>>()
    const landed = new Map<string, Landed>()
    let unattributed = 0
    return {
      observe: ({ event, effort, landed: landings }) => {
        if (effort !== undefined && event.checkpoints !== undefined) {
          const ids = asked.get(effort) ?? new Set<string>()
          addAsked(ids, event.checkpoints)
          if (ids.size > 0) asked.set(effort, ids)
        }
        for (const { effort: which, landing } of landings) {
          if (which === undefined) {
            unattributed += 1
            continue
          }
          for (const id of new Set([...(asked.get(which) ?? []), ...landing.variances])) {
            const row = landed.get(id) ?? { landings: 0, varied: 0, branches: new Set(), writers: new Set() }
            row.landings += 1
            if (landing.variances.includes(id)) row.varied += 1
            row.branches.add(branchOf(which))
            row.writers.add(event.writer)
            landed.set(id, row)
          }
          asked.delete(which)
        }
      },
      conclude: () => {
        const judged = [...landed].filter(([, { landings }]) => landings >= checkpointVaried.threshold)
        const most = Math.max(0, ...[...landed.values()].map(({ landings }) => landings))
        const found = judged
          .filter(([, { landings, varied }]) => varied / landings >= CHECKPOINT_VARIED_SHARE)
          .map(
            ([id, { landings, varied, branches, writers }]): Finding => ({
              about: `checkpoint ${id}`,
              seen: `landed under a variance ${varied} of ${landings} times`,
              next_action: `ask the owner what ${id} is for: say in its question what is enough, narrow it, or take it away`,
              basis: {
                count: varied,
                denominator: landings,
                unit: 'landings with its question',
                versions: versionsOf(writers),
                matched: [condition('checkpoint', [id])],
                differing: [condition('branch', branches)],
                excluded: unattributed > 0 ? { 'landing-of-an-unknown-branch': unattributed } : {},
                limitations: ['why it was declared unmet is never recorded'],
                evidence: 'observed',
              },
            }),
          )
          .sort((left, right) => right.basis.count - left.basis.count || (left.about < right.about ? -1 : 1))
        return concluded(found, judged.length > 0, `${most} of 3 landings with one question`)
      },
    }
  },
}
