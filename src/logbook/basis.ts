/** The small arithmetic of detectors: conditions, series, medians, and figures as a person reads them. Pure. */
import { CONDITION_VALUE_LIMIT_COUNT, KEYED_SHORT_DIGITS, SERIES_LIMIT_COUNT } from '../limits.ts'
import type { Condition, Point } from './detector.ts'
import type { VerbEvent } from './event.ts'

/** The distinct values of a condition in order, shortened to what a finding may hold. */
export const condition = (name: string, values: Iterable<string>): Condition => {
  const distinct = [...new Set(values)].sort()
  return distinct.length <= CONDITION_VALUE_LIMIT_COUNT
    ? { condition: name, values: distinct }
    : {
        condition: name,
        values: distinct.slice(0, CONDITION_VALUE_LIMIT_COUNT),
        distinct: distinct.length,
        omitted: distinct.length - CONDITION_VALUE_LIMIT_COUNT,
      }
}

/** Keyed digests are long and say nothing by themselves; these digits tell those of one repository apart. */
export const shortDigest = (digest: string): string => digest.slice(0, KEYED_SHORT_DIGITS)

/** `1.9.0` before `1.10.0`; a collator would cost as much as everything else here. */
const byVersion = (left: string, right: string): number => {
  const [ours, theirs] = [left.split('.'), right.split('.')]
  const at = ours.findIndex((part, index) => part !== theirs[index])
  if (at === -1) return ours.length - theirs.length
  const [mine = '', other = ''] = [ours[at], theirs[at]]
  return Number.parseInt(mine, 10) - Number.parseInt(other, 10) || (mine < other ? -1 : 1)
}

/** Distinct writers, oldest version first. */
export const versionsOf = (writers: Iterable<string | undefined>): readonly string[] =>
  [...new Set([...writers].map(writer => writer ?? 'unknown'))].sort(byVersion)

/** Middle of the values; the mean of both middles where they are even in number. `0` of none. */
export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((left, right) => left - right)
  const half = sorted.length >> 1
  const upper = sorted[half] ?? 0
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? upper) + upper) / 2
}

/** The earlier and the later half; a middle one belongs to neither. */
export const halves = <T>(values: readonly T[]): readonly [earlier: readonly T[], later: readonly T[]] => {
  const half = values.length >> 1
  return [values.slice(0, half), values.slice(values.length - half)]
}

/** A long series as medians of equal stretches, each at the time of its last point. */
export const seriesOf = (points: readonly Point[]): readonly Point[] => {
  if (points.length <= SERIES_LIMIT_COUNT) return points
  const stretch = (at: number): number => Math.round((at * points.length) / SERIES_LIMIT_COUNT)
  return Array.from({ length: SERIES_LIMIT_COUNT }, (_, at) => {
    const part = points.slice(stretch(at), stretch(at + 1))
    return { at: part.at(-1)?.at ?? '', value: rounded(median(part.map(({ value }) => value))) }
  })
}

/** Three significant places after the point are enough for whoever reads; standards come with their own. */
export const rounded = (value: number): number => Math.round(value * 1000) / 1000

/** `45 s`, `12 min`, `3.5 h`, `2.1 d`. */
export const durationWords = (ms: number): string => {
  const s = ms / 1000
  if (s < 120) return `${s < 10 ? Math.round(s * 10) / 10 : Math.round(s)} s`
  if (s < 7200) return `${Math.round(s / 60)} min`
  return s < 172_800 ? `${Math.round(s / 360) / 10} h` : `${Math.round(s / 8640) / 10} d`
}

export const percentWords = (share: number): string => `${Math.round(share * 100)} %`

/** The newest values of a stream: older ones are let go now and then, not at every step. */
export const newest = <T>(limit: number): { readonly add: (value: T) => void; readonly values: () => readonly T[] } => {
  const window: T[] = []
  return {
    add: value => {
      window.push(value)
      if (window.length >= 2 * limit) window.splice(0, window.length - limit)
    },
    values: () => window.slice(-limit),
  }
}

/** A gate that answered: green, red, or neither, as a refusal, an interruption or a crash is. */
export const gateVerdict = ({ verb, outcome, error, crash }: VerbEvent): 'green' | 'red' | undefined => {
  if (verb !== 'done' || crash || error === 'interrupted') return undefined
  return outcome === 'ok' ? 'green' : outcome === 'failed' ? 'red' : undefined
}
