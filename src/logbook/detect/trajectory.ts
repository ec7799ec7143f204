/** Trajectories: what slowly gets worse while every single run is fine. */
import {
  DURATION_CREEP_FILES_RATIO,
  DURATION_CREEP_RATIO,
  STANDARD_ROOM_LOST_SHARE,
  TRAJECTORY_WINDOW_COUNT,
} from '../../limits.ts'
import {
  condition,
  durationWords,
  gateVerdict,
  halves,
  median,
  newest,
  percentWords,
  rounded,
  seriesOf,
  versionsOf,
} from '../basis.ts'
import { concluded, type Detector, type Finding } from '../detector.ts'
import type { StandardRecord, VerbEvent } from '../event.ts'

interface GreenRun {
  readonly at: string
  readonly ms: number
  readonly files: number
  readonly epoch: string | null
  readonly writer: string | undefined
}

/** A job whose evidence stood for it was not run, and makes the run look faster than the gate is. */
const reusedEvidence = ({ steps = [] }: VerbEvent): boolean =>
  steps.some(({ disposition, outcome }) => disposition === 'skip' && outcome === 'ok')

/**
 * The gate got slower though the changes did not get larger: of at least 8 of the newest green runs that ran everything, the later
 * half takes at least 1.5 times as long in the middle, with at most 1.25 times as many files.
 */
export const durationCreep: Detector = {
  name: 'duration-creep',
  family: 'trajectory',
  threshold: 8,
  counts: 'green runs of the whole gate',
  question: 'does the gate get slower?',
  start: () => {
    const window = newest<GreenRun>(TRAJECTORY_WINDOW_COUNT)
    const excluded: Record<string, number> = {}
    const exclude = (reason: string): void => {
      excluded[reason] = (excluded[reason] ?? 0) + 1
    }
    return {
      observe: ({ event }) => {
        if (gateVerdict(event) !== 'green') return
        if (event.gate_ran !== true) return exclude('reused-proof')
        if (reusedEvidence(event)) return exclude('reused-evidence')
        if (event.change === undefined) return exclude('size-unknown')
        const { at, duration_ms, waited_ms = 0, epoch, writer, change } = event
        window.add({ at, ms: Math.max(0, duration_ms - waited_ms), files: change.files, epoch, writer })
      },
      conclude: () => {
        const runs = window.values()
        const judged = runs.length >= durationCreep.threshold
        const needs = `${runs.length} of 8 green runs of the whole gate`
        const [earlier, later] = halves(runs)
        const before = median(earlier.map(({ ms }) => ms))
        const after = median(later.map(({ ms }) => ms))
        const filesBefore = median(earlier.map(({ files }) => files))
        const filesAfter = median(later.map(({ files }) => files))
        const crept =
          before > 0 && after >= before * DURATION_CREEP_RATIO && filesAfter <= filesBefore * DURATION_CREEP_FILES_RATIO
        if (!judged || !crept) return concluded([], judged, needs)
        const slower = later.filter(({ ms }) => ms > before).length
        const finding: Finding = {
          about: 'gate',
          seen: `green runs went from ${durationWords(before)} to ${durationWords(after)} in the middle (${rounded(after / before)} times), with ${rounded(filesBefore)} and ${rounded(filesAfter)} files changed; ${slower} of the later ${later.length} were slower than the middle of the earlier ones`,
          next_action:
            'compare the durations of the jobs in git discern done --rerun with what you expect; what grew is where to split or to declare inputs',
          basis: {
            count: slower,
            denominator: later.length,
            unit: 'runs of the later half',
            versions: versionsOf(runs.map(({ writer }) => writer)),
            matched: [condition('verb', ['done']), condition('outcome', ['ok'])],
            differing: [
              condition(
                'configuration',
                runs.map(({ epoch }) => epoch ?? 'unknown'),
              ),
            ],
            excluded,
            limitations: ['the machine, and what else ran on it, are not recorded'],
            evidence: 'observed',
          },
          series: seriesOf(runs.map(({ at, ms }) => ({ at, value: rounded(ms / 1000) }))),
          series_unit: 'seconds',
        }
        return concluded([finding], true, needs)
      },
    }
  },
}

interface Reading {
  readonly at: string
  readonly value: number
  readonly limit: number
  readonly direction: StandardRecord['direction']
  readonly head: string | null
  readonly branch: string | null
  readonly writer: string | undefined
}

/**
 * A standard drifts to its limit: of at least 8 of its newest readings the later half is worse than the earlier one in the middle,
 * and at least half of the room that was there to today's limit is gone. It still holds, so nothing else says so. The same commit
 * read twice counts once.
 */
export const standardTrajectory: Detector = {
  name: 'standard-trajectory',
  family: 'trajectory',
  threshold: 8,
  counts: 'readings of one standard',
  question: 'which standard drifts to its limit?',
  start: () => {
    const windows = new Map<string, ReturnType<typeof newest<Reading>>>()
    const last = new Map<string, Reading>()
    let unreadable = 0
    const add = ({ name, reading, limit, direction }: StandardRecord, event: VerbEvent): void => {
      if (reading === undefined) {
        unreadable += 1
        return
      }
      const { at, head, branch, writer } = event
      const before = last.get(name)
      if (
        before !== undefined &&
        head !== null &&
        before.head === head &&
        before.value === reading &&
        before.limit === limit
      )
        return
      const one = { at, value: reading, limit, direction, head, branch, writer }
      const readings = windows.get(name) ?? newest<Reading>(TRAJECTORY_WINDOW_COUNT)
      readings.add(one)
      windows.set(name, readings)
      last.set(name, one)
    }
    return {
      observe: ({ event }) => {
        for (const record of event.standards ?? []) add(record, event)
      },
      conclude: () => {
        const standards = new Map([...windows].map(([name, window]) => [name, window.values()]))
        const most = Math.max(0, ...[...standards.values()].map(({ length }) => length))
        const judged = [...standards].filter(([, readings]) => readings.length >= standardTrajectory.threshold)
        const found = judged.flatMap(([name, readings]): readonly Finding[] => {
          const today = readings.at(-1)
          if (today === undefined) return []
          const { direction, limit } = today
          const [before, after] = halves(readings).map(half => median(half.map(({ value }) => value)))
          if (before === undefined || after === undefined) return []
          const room = (value: number): number => (direction === 'up' ? value - limit : limit - value)
          const lost = 1 - room(after) / room(before)
          if (room(before) <= 0 || lost < STANDARD_ROOM_LOST_SHARE) return []
          const worse = halves(readings)[1].filter(({ value }) => room(value) < room(before)).length
          return [
            {
              about: `standard ${name}`,
              seen: `went from ${rounded(before)} to ${rounded(after)} in the middle of ${readings.length} readings, ${direction === 'up' ? 'at least' : 'at most'} ${limit} is asked: ${percentWords(lost)} of the room is gone`,
              next_action: `look at it while it still holds: git discern standards ${name}`,
              basis: {
                count: worse,
                denominator: halves(readings)[1].length,
                unit: 'readings of the later half',
                versions: versionsOf(readings.map(({ writer }) => writer)),
                matched: [condition('standard', [name]), condition('direction', [direction])],
                differing: [
                  condition(
                    'limit',
                    readings.map(one => String(one.limit)),
                  ),
                  condition(
                    'branch',
                    readings.flatMap(({ branch }) => branch ?? []),
                  ),
                ],
                excluded: unreadable > 0 ? { 'no-reading': unreadable } : {},
                limitations: ['readings of branches that never landed are among them'],
                evidence: 'observed',
              },
              series: seriesOf(readings.map(({ at, value }) => ({ at, value }))),
              series_unit: name,
            },
          ]
        })
        found.sort((left, right) => right.basis.count - left.basis.count || (left.about < right.about ? -1 : 1))
        return concluded(found, judged.length > 0, `${most} of 8 readings of one standard`)
      },
    }
  },
}
