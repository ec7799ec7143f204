/** Funnel: from the first run on a branch over the first green one to what landed. */
import {
  LANDING_WAIT_MINIMUM_MS,
  LANDING_WAIT_SHARE,
  LOOPS_TO_GREEN_RED_COUNT,
  TRAJECTORY_WINDOW_COUNT,
} from '../../limits.ts'
import {
  condition,
  durationWords,
  gateVerdict,
  median,
  newest,
  percentWords,
  rounded,
  seriesOf,
  versionsOf,
} from '../basis.ts'
import { concluded, type Detector, type Finding } from '../detector.ts'
import { branchOf } from '../effort.ts'

interface Loop {
  reds: number
  readonly stages: string[]
  readonly writers: Set<string | undefined>
}

/**
 * A branch that took at least 6 red runs of `done` to one green one. Judged once two branches got green; a branch that never did
 * is not judged, since nobody knows how it ends.
 */
export const loopsToGreen: Detector = {
  name: 'loops-to-green',
  family: 'funnel',
  threshold: 2,
  counts: 'branches that got green',
  question: 'which branch needed many red runs before it was green?',
  start: () => {
    const open = new Map<string, Loop>()
    const green = new Set<string>()
    const long: (Loop & { readonly branch: string })[] = []
    return {
      observe: ({ event, effort }) => {
        const verdict = gateVerdict(event)
        if (verdict === undefined || effort === undefined) return
        const loop = open.get(effort) ?? { reds: 0, stages: [], writers: new Set() }
        loop.writers.add(event.writer)
        if (verdict === 'green') {
          green.add(branchOf(effort))
          open.delete(effort)
          if (loop.reds >= LOOPS_TO_GREEN_RED_COUNT) long.push({ ...loop, branch: branchOf(effort) })
          return
        }
        loop.reds += 1
        loop.stages.push(event.failed_stage ?? 'unknown')
        open.set(effort, loop)
      },
      conclude: () => {
        const judged = green.size >= loopsToGreen.threshold
        const found = long.map(
          ({ branch, reds, stages, writers }): Finding => ({
            about: `branch ${branch}`,
            seen: `took ${reds} red runs of done before the green one`,
            next_action: `run git discern prepare and git discern test before done; smaller changes need fewer of them`,
            basis: {
              count: reds,
              denominator: reds + 1,
              unit: 'runs of done up to the green one',
              versions: versionsOf(writers),
              matched: [condition('branch', [branch])],
              differing: [condition('failed stage', stages)],
              excluded: open.size > 0 ? { 'branches-not-green-yet': open.size } : {},
              limitations: ['what was changed between two runs is not recorded'],
              evidence: 'observed',
            },
          }),
        )
        found.sort((left, right) => right.basis.count - left.basis.count)
        return concluded(judged ? found : [], judged, `${green.size} of 2 branches that got green`)
      },
    }
  },
}

interface Way {
  readonly branch: string
  readonly at: string
  readonly wholeMs: number
  /** From the first green run to the landing. */
  readonly waitMs: number
  readonly consent: string
  readonly writer: string | undefined
}

/**
 * What is green waits long to land: in the middle of the newest landings at least 4 hours, and at least half of the whole way
 * from the first run on the branch. That is time that no faster gate gives back, only a grant or an earlier yes.
 */
export const landingCycleTime: Detector = {
  name: 'landing-cycle-time',
  family: 'funnel',
  threshold: 3,
  counts: 'landings with a run before them',
  question: 'how long does a change take to land, and what of that is waiting?',
  start: () => {
    const open = new Map<string, { readonly first: number; green: number | undefined }>()
    const window = newest<Way>(TRAJECTORY_WINDOW_COUNT)
    const excluded: Record<string, number> = {}
    const exclude = (reason: string): void => {
      excluded[reason] = (excluded[reason] ?? 0) + 1
    }
    return {
      observe: ({ event, effort, landed }) => {
        if (effort !== undefined && landed.length === 0) {
          const way = open.get(effort) ?? { first: Date.parse(event.at), green: undefined }
          if (way.green === undefined && gateVerdict(event) === 'green') way.green = Date.parse(event.at)
          open.set(effort, way)
        }
        if (landed.length === 0) return
        const at = Date.parse(event.at)
        for (const { effort: which, landing } of landed) {
          if (which === undefined) {
            exclude('landing-of-an-unknown-branch')
            continue
          }
          const way = open.get(which)
          open.delete(which)
          if (way?.green === undefined) exclude('no-green-run-before')
          else if (at < way.green || way.green < way.first) exclude('clock-went-back')
          else {
            const one = { branch: branchOf(which), at: event.at, wholeMs: at - way.first, waitMs: at - way.green }
            window.add({ ...one, consent: landing.consent, writer: event.writer })
          }
        }
      },
      conclude: () => {
        const ways = window.values()
        const judged = ways.length >= landingCycleTime.threshold
        const needs = `${ways.length} of 3 landings with a run before them`
        const wait = median(ways.map(({ waitMs }) => waitMs))
        const whole = median(ways.map(({ wholeMs }) => wholeMs))
        const share = median(ways.map(({ waitMs, wholeMs }) => (wholeMs === 0 ? 0 : waitMs / wholeMs)))
        if (!judged || wait < LANDING_WAIT_MINIMUM_MS || share < LANDING_WAIT_SHARE) {
          return concluded([], judged, needs)
        }
        const long = ways.filter(({ waitMs }) => waitMs >= LANDING_WAIT_MINIMUM_MS)
        const finding: Finding = {
          about: 'landings',
          seen: `in the middle of ${ways.length} landings a green change waited ${durationWords(wait)} of ${durationWords(whole)} (${percentWords(share)}); ${long.length} waited ${durationWords(LANDING_WAIT_MINIMUM_MS)} or longer`,
          next_action:
            'git discern grant allows the next landing of a branch beforehand; git discern queue shows what waits now',
          basis: {
            count: long.length,
            denominator: ways.length,
            unit: 'newest landings',
            versions: versionsOf(ways.map(({ writer }) => writer)),
            matched: [],
            differing: [
              condition(
                'branch',
                ways.map(({ branch }) => branch),
              ),
              condition(
                'consent',
                ways.map(({ consent }) => consent),
              ),
            ],
            excluded,
            limitations: ['work before the first run of a verb on the branch is not recorded'],
            evidence: 'estimated',
          },
          series: seriesOf(ways.map(({ at, wholeMs }) => ({ at, value: rounded(wholeMs / 3_600_000) }))),
          series_unit: 'hours from the first run to the landing',
        }
        return concluded([finding], true, needs)
      },
    }
  },
}
