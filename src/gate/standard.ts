/** What a standard's producer said and what it means: metrics, reading, verdict (facts 14). All but `measureSizes` is pure. */
import { stripVTControlCharacters } from 'node:util'
import type { Repository } from '../git/repository.ts'
import { METRIC_QUOTE_LIMIT_CHARACTERS, STANDARD_TOLERANCE } from '../limits.ts'
import type { Extraction, StandardDefinition, Unit } from '../policy/standards.ts'
import { openCommitFiles } from './inputs.ts'

/** A finite number, or in words why there is none. */
export type Quantity = { readonly known: number } | { readonly unavailable: string }

/** What was printed for each metric, by name; a name that was not printed is missing. */
export type Metrics = ReadonlyMap<string, Quantity>

const MARKER = 'DISCERN_METRIC'
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/

const quote = (text: string): string =>
  JSON.stringify(
    text.length > METRIC_QUOTE_LIMIT_CHARACTERS ? `${text.slice(0, METRIC_QUOTE_LIMIT_CHARACTERS)}…` : text,
  )

/** Decimal, with or without an exponent; no separators, no `inf`, no hexadecimal. */
const parseNumber = (text: string): number | undefined => {
  const value = NUMBER.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(value) ? value : undefined
}

/** Lines without colour, numbered from 1. */
const linesOf = (output: Buffer): readonly (readonly [number: number, line: string])[] =>
  output
    .toString('utf8')
    .split('\n')
    .map((line, at) => [at + 1, line] as const)

/**
 * Every `DISCERN_METRIC <name> <number>` of an output. The marker is a whole word anywhere on a line, the last one of a name
 * counts, and one whose number is none makes its metric unavailable, naming the line. A marker without a name stands under the
 * empty name.
 */
export const parseMetrics = (output: Buffer): Metrics => {
  const metrics = new Map<string, Quantity>()
  if (!output.includes(MARKER)) return metrics
  for (const [number, line] of linesOf(output)) {
    if (!line.includes(MARKER)) continue
    const words = stripVTControlCharacters(line).split(/\s+/)
    for (const [at, word] of words.entries()) {
      if (word !== MARKER) continue
      const [name = '', text = ''] = words.slice(at + 1)
      const known = parseNumber(text)
      metrics.set(
        name,
        known === undefined ? { unavailable: `line ${number}: expected a number, found ${quote(text)}` } : { known },
      )
    }
  }
  return metrics
}

/** One metric of those that were printed; a missing one is named together with those that are there. */
export const metricOf = (metrics: Metrics, name: string): Quantity => {
  const found = metrics.get(name)
  if (found) return 'known' in found ? found : { unavailable: `${MARKER} ${name}: ${found.unavailable}` }
  const others = [...metrics.keys()].filter(other => other !== '')
  const seen = others.length > 0 ? `; printed were ${others.slice(0, 5).join(', ')}` : ''
  const nameless = metrics.get('')
  const broken = nameless && 'unavailable' in nameless ? `; ${nameless.unavailable}` : ''
  return { unavailable: `no line ${MARKER} ${name} <number>${seen}${broken}` }
}

/**
 * The metrics in an output or artifact. `undefined` and a command print `DISCERN_METRIC` lines, so for a command these are the
 * bytes that it printed itself; a table takes one number, which is then the metric of that name.
 */
export const extractMetric = (extract: Extraction | undefined, metric: string, bytes: Buffer): Metrics => {
  switch (extract?.kind) {
    case undefined:
    case 'command':
      return parseMetrics(bytes)
    case 'json':
      return new Map([[metric, atPointer(bytes, extract.pointer)]])
    case 'pattern':
      return new Map([[metric, lastMatch(bytes, extract.pattern)]])
  }
}

const atPointer = (bytes: Buffer, pointer: string): Quantity => {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''))
  } catch (error) {
    return { unavailable: `not JSON: ${(error as Error).message}` }
  }
  let walked = ''
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(key)) return { unavailable: `${walked || '/'} is a list` }
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) {
      return { unavailable: `there is nothing at ${quote(`${walked}/${part}`)}` }
    }
    value = (value as Readonly<Record<string, unknown>>)[key]
    walked += `/${part}`
  }
  if (typeof value === 'number' && Number.isFinite(value)) return { known: value }
  return { unavailable: `${quote(pointer)}: expected a number, found ${quote(JSON.stringify(value) ?? '')}` }
}

const lastMatch = (bytes: Buffer, pattern: string): Quantity => {
  const expression = new RegExp(pattern, 'gu')
  let last: readonly [number: number, text: string] | undefined
  for (const [number, line] of linesOf(bytes)) {
    for (const match of stripVTControlCharacters(line).replace(/\r$/, '').matchAll(expression)) {
      last = [number, match[1] ?? '']
    }
  }
  if (last === undefined) return { unavailable: `no line matches ${quote(pattern)}` }
  const known = parseNumber(last[1].trim())
  return known === undefined
    ? { unavailable: `line ${last[0]}: expected a number, found ${quote(last[1])}` }
    : { known }
}

/** What a standard is judged by. `reading` is the value, or the value divided by `denominator`, times the scale. */
export interface Reading {
  readonly value: number
  readonly denominator: number | undefined
  readonly reading: number
}

/**
 * The reading of a standard from the metrics that were printed. `size` is the size of the files of a `per` that names some;
 * it is ignored where `per` is a metric. A denominator must be above 0.
 */
export const readingOf = (
  { metric, per, scale }: Pick<StandardDefinition, 'metric' | 'per' | 'scale'>,
  metrics: Metrics,
  size?: Quantity,
): { readonly known: Reading } | { readonly unavailable: string } => {
  const value = metricOf(metrics, metric)
  if ('unavailable' in value) return value
  if (per === undefined) return { known: { value: value.known, denominator: undefined, reading: value.known } }
  const denominator =
    per.kind === 'metric' ? metricOf(metrics, per.metric) : (size ?? { unavailable: 'no size was taken' })
  if ('unavailable' in denominator) return { unavailable: `per: ${denominator.unavailable}` }
  if (denominator.known <= 0) return { unavailable: `per: expected more than 0, found ${denominator.known}` }
  const reading = (value.known / denominator.known) * scale
  return Number.isFinite(reading)
    ? { known: { value: value.known, denominator: denominator.known, reading } }
    : { unavailable: `${value.known} / ${denominator.known} * ${scale} is no finite number` }
}

export type Verdict = 'improved' | 'held' | 'breached'

/** A standard that was measured, against the limit of its definition. */
export interface Measurement extends Reading {
  readonly verdict: Verdict
  /** Everything the producer printed that is a number, by name. */
  readonly metrics: Readonly<Record<string, number>>
}

/** How a reading stands to its limit, in a few words. */
export const standardWords = (
  { direction, limit }: Pick<StandardDefinition, 'direction' | 'limit'>,
  { reading, verdict }: Pick<Measurement, 'reading' | 'verdict'>,
): string => `${reading}, ${direction === 'up' ? 'at least' : 'at most'} ${limit}: ${verdict}`

/** Equality holds, and a difference of at most 1e-9 is none (facts 14). */
export const verdictOf = (
  { direction, limit }: Pick<StandardDefinition, 'direction' | 'limit'>,
  reading: number,
): Verdict => {
  const better = direction === 'up' ? reading - limit : limit - reading
  if (better > STANDARD_TOLERANCE) return 'improved'
  return isHeld(direction, limit, reading) ? 'held' : 'breached'
}

const isHeld = (direction: 'up' | 'down', limit: number, reading: number): boolean =>
  direction === 'up' ? reading + STANDARD_TOLERANCE >= limit : reading - STANDARD_TOLERANCE <= limit

/**
 * The size of the files that the globs select at a commit, never of the work tree (facts 8.3). Symbolic links count as files;
 * a selected submodule and an object that is not here make it unavailable. Git processes as in `openCommitFiles`.
 */
export const measureSizes = async (
  repository: Repository,
  commit: string,
  globs: readonly string[],
  unit: Unit,
): Promise<Quantity> => {
  const selection = await openCommitFiles(repository, commit).select(globs)
  if ('unavailable' in selection) return selection
  if (unit === 'files') return { known: selection.known.length }
  return { known: selection.known.reduce((sum, file) => sum + file[unit], 0) }
}
