/** What a person reads of `patterns`: what is worth looking into, then in one line each what is quiet and what cannot be told yet. */
import type { Result } from '../../result.ts'
import type { Block, Row } from '../render.ts'

interface ConditionView {
  readonly condition: string
  readonly values: readonly string[]
  readonly omitted?: number
}

interface FindingView {
  readonly about: string
  readonly seen: string
  readonly next_action: string
  readonly basis: {
    readonly versions: readonly string[]
    readonly differing: readonly ConditionView[]
    readonly excluded: Readonly<Record<string, number>>
    readonly limitations: readonly string[]
    readonly evidence: 'observed' | 'estimated'
  }
  readonly series?: readonly { readonly value: number }[]
  readonly series_unit?: string
}

interface ReportView {
  readonly detector: string
  readonly status: 'fired' | 'quiet' | 'insufficient-evidence'
  readonly needs?: string
  readonly findings_total: number
  readonly findings: readonly FindingView[]
}

interface PopulationView {
  readonly events: number
  readonly counted: number
  readonly left_out: Readonly<Record<string, number>>
  readonly from?: string
  readonly to?: string
  readonly writers: readonly string[]
  readonly verbs: readonly {
    readonly verb: string
    readonly ok: number
    readonly failed: number
    readonly partial: number
    readonly refused: number
  }[]
  readonly evidence: {
    readonly comparable: number
    readonly not_comparable: Readonly<Record<string, number>>
    readonly incomplete: readonly { readonly category: string; readonly reason: string; readonly count: number }[]
  }
  readonly torn: number
  readonly foreign: number
}

interface PatternsData {
  readonly recording: 'on' | 'off' | 'not-set-up' | 'unknown'
  readonly population: PopulationView
  readonly unreadable: readonly { readonly name: string; readonly reason: string }[]
  readonly detectors: readonly ReportView[]
}

const RECORDING: Readonly<Record<PatternsData['recording'], string | undefined>> = {
  on: undefined,
  off: 'nothing is recorded: record_logbook is off in discern.toml',
  'not-set-up': 'nothing is recorded: this repository has no discern.toml',
  unknown: 'whether anything is recorded here is unknown: discern.toml cannot be read',
}

const LEFT_OUT: Readonly<Record<string, string>> = {
  'other-kind': 'other kinds of lines',
  ci: 'CI',
  'dry-run': 'dry runs',
  'setup-branch': 'the branch it was set up on',
  duplicate: 'second copies',
  contradictory: 'copies that contradict each other',
}

const line = (text: string): Block => ({ kind: 'line', text })

const counts = (counted: Readonly<Record<string, number>>, words: Readonly<Record<string, string>> = {}): string =>
  Object.entries(counted)
    .map(([name, count]) => `${words[name] ?? name.replaceAll('-', ' ')} ${count}`)
    .join(', ')

const period = ({ from, to }: PopulationView): string =>
  from === undefined || to === undefined ? '' : `, ${from.slice(0, 10)} to ${to.slice(0, 10)}`

const condition = ({ condition: name, values, omitted }: ConditionView): string =>
  `${name}: ${values.join(', ')}${omitted === undefined ? '' : ` and ${omitted} more`}`

const findingBlocks = (
  detector: string,
  { about, seen, next_action, basis, series = [], series_unit = '' }: FindingView,
): readonly Block[] => {
  const { versions, differing, excluded, limitations, evidence } = basis
  const told = differing.filter(({ values }) => values.length > 0)
  const rows: Row[] = [
    ...(series.length > 0
      ? [['over time', `${series.map(({ value }) => value).join(' ')} (${series_unit})`] as const]
      : []),
    ...(told.length > 0 ? [['differs', told.map(condition).join('; ')] as const] : []),
    [
      'rests on',
      `${evidence}, git discern ${versions.join(', ')}${Object.keys(excluded).length > 0 ? `; left out: ${counts(excluded)}` : ''}`,
    ],
    ['not known', limitations.join('; ')],
    ['next', next_action],
  ]
  return [
    { kind: 'heading', text: `${detector}: ${about}` },
    { kind: 'line', text: seen, tone: 'warn' },
    { kind: 'rows', rows },
  ]
}

const statsBlocks = ({ population }: PatternsData): readonly Block[] => {
  const { events, counted, left_out, writers, verbs, evidence, torn, foreign } = population
  const outcomes = (row: PopulationView['verbs'][number]): string =>
    (['ok', 'failed', 'partial', 'refused'] as const)
      .filter(outcome => row[outcome] > 0)
      .map(outcome => `${outcome} ${row[outcome]}`)
      .join(', ')
  const rows: Row[] = [
    ['events', `${events}, of them ${counted} counted${period(population)}`],
    ...(Object.keys(left_out).length > 0 ? [['left out', counts(left_out, LEFT_OUT)] as const] : []),
    ['lines skipped', `torn ${torn}, foreign ${foreign}`],
    ...(writers.length > 0 ? [['written by', `git discern ${writers.join(', ')}`] as const] : []),
    ['evidence', [`comparable ${evidence.comparable}`, counts(evidence.not_comparable)].filter(Boolean).join(', ')],
    ...(evidence.incomplete.length > 0
      ? [
          [
            'incomplete',
            evidence.incomplete.map(({ category, reason, count }) => `${category}/${reason} ${count}`).join(', '),
          ] as const,
        ]
      : []),
  ]
  return [
    { kind: 'rows', rows },
    ...(verbs.length > 0
      ? [
          { kind: 'heading', text: 'verbs' } as const,
          { kind: 'rows', rows: verbs.map(row => [row.verb, outcomes(row)] as const) } as const,
        ]
      : []),
  ]
}

/** What was skipped or left out, where there is any; begin lines and the like are no loss. */
const lost = ({ left_out, torn, foreign }: PopulationView): readonly Block[] => {
  const { 'other-kind': _, ...left } = left_out
  const words = [
    ...(Object.keys(left).length > 0 ? [`left out: ${counts(left, LEFT_OUT)}`] : []),
    ...(torn + foreign > 0 ? [`lines skipped: torn ${torn}, foreign ${foreign}`] : []),
  ]
  return words.length > 0 ? [{ kind: 'line', text: words.join('; '), tone: 'dim' }] : []
}

const detectorBlocks = ({ population, detectors }: PatternsData): readonly Block[] => {
  const fired = detectors.filter(({ status }) => status === 'fired')
  const quiet = detectors.filter(({ status }) => status === 'quiet')
  const lacking = detectors.filter(({ status }) => status === 'insufficient-evidence')
  const total = fired.reduce((sum, { findings_total }) => sum + findings_total, 0)
  return [
    line(`${total === 0 ? 'nothing' : total} to look into, from ${population.counted} events${period(population)}`),
    ...fired.flatMap(({ detector, findings, findings_total }): readonly Block[] => [
      ...findings.flatMap(finding => findingBlocks(detector, finding)),
      ...(findings_total > findings.length
        ? [
            {
              kind: 'line',
              text: `${findings_total - findings.length} more of ${detector}: git discern patterns ${detector} --all`,
              tone: 'dim',
            } as const,
          ]
        : []),
    ]),
    ...(quiet.length > 0 ? [line(`quiet: ${quiet.map(({ detector }) => detector).join(', ')}`)] : []),
    ...(lacking.length > 0
      ? [line(`too little to tell: ${lacking.map(({ detector, needs }) => `${detector} (${needs})`).join(', ')}`)]
      : []),
  ]
}

const bodyOf = (data: PatternsData): readonly Block[] => {
  const { population, detectors } = data
  if (detectors.length === 0) return statsBlocks(data)
  return population.events === 0 ? [line('the Logbook is empty here')] : detectorBlocks(data)
}

export const view = (result: Result): readonly Block[] => {
  if (!result.data) return []
  const data = result.data as PatternsData
  const { recording, population, unreadable, detectors } = data
  const off = RECORDING[recording]
  return [
    ...(off === undefined ? [] : [{ kind: 'line', text: off, tone: 'warn' } as const]),
    ...bodyOf(data),
    ...(detectors.length === 0 ? [] : lost(population)),
    ...unreadable.map(
      ({ name, reason }) => ({ kind: 'line', text: `${name} cannot be read: ${reason}`, tone: 'warn' }) as const,
    ),
  ]
}
