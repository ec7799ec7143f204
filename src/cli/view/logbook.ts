/** What a person reads of `logbook`: the newest events, the counts, the folder, and what became of it. */
import { LOGBOOK_SHOWN_LIMIT_COUNT } from '../../limits.ts'
import type { Archive } from '../../logbook/archive.ts'
import type { LogbookEvent } from '../../logbook/event.ts'
import type { Counts, LogbookReading, Newest, Unreadable } from '../../logbook/read.ts'
import type { EventTally } from '../../logbook/tally.ts'
import type { Result } from '../../result.ts'
import { formatDuration } from '../progress.ts'
import type { Block, Row, Tone } from '../render.ts'

type Recording = { readonly known: boolean } | { readonly unavailable: string }

type Show = Newest & { readonly action: 'show'; readonly verb?: string }

interface Stats extends LogbookReading, EventTally {
  readonly action: 'stats'
  readonly path: string
  readonly recording: Recording
  readonly bytes: number
  readonly archives: readonly Archive[]
  readonly pending: readonly string[]
}

interface Ending {
  readonly action: 'seal' | 'reset'
  readonly archives?: readonly Archive[]
  readonly removed?: readonly string[]
  readonly pending?: readonly string[]
}

type LogbookData = Show | Stats | Ending | { readonly action: 'path'; readonly path: string }

const line = (text: string, tone: Tone = 'plain'): Block => ({ kind: 'line', text, tone })

const count = (number: number, one: string, many = `${one}s`): string => `${number} ${number === 1 ? one : many}`

const size = (bytes: number): string => {
  if (bytes < 1024) return count(bytes, 'byte')
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}

const TONES = { ok: 'good', failed: 'bad', partial: 'warn', refused: 'warn' } as const

const eventRow = (event: LogbookEvent): Row => [
  event.at,
  eventText(event),
  event.kind === 'verb' ? TONES[event.outcome] : 'dim',
]

const onBranch = (branch: string | null): string => (branch === null ? 'on no branch' : `on ${branch}`)

const eventText = (event: LogbookEvent): string => {
  switch (event.kind) {
    case 'begin':
      return `${event.verb} begins ${onBranch(event.branch)}`
    case 'verb': {
      const cause = [event.error, event.failed_stage ? `in ${event.failed_stage}` : undefined].filter(Boolean)
      const why = cause.length > 0 ? `: ${cause.join(' ')}` : ''
      return `${event.verb} ${event.outcome} ${onBranch(event.branch)}${why}, ${formatDuration(event.duration_ms)}`
    }
    case 'config-change':
      return `configuration changed ${onBranch(event.branch)}: ${event.sections.join(', ')}`
    case 'pin':
      return `limit of ${event.standard} tightened ${onBranch(event.branch)}: ${event.from} -> ${event.to}`
    case 'prune': {
      const events = event.removed.reduce((total, file) => total + file.events, 0)
      return `dropped ${event.removed.map(({ file }) => file).join(', ')}: ${count(events, 'event')}`
    }
  }
}

const skipped = ({ torn, foreign }: Pick<Counts, 'torn' | 'foreign'>): string =>
  [...(torn > 0 ? [`${torn} torn`] : []), ...(foreign > 0 ? [`${foreign} foreign`] : [])].join(', ')

const unreadableLines = (unreadable: readonly Unreadable[]): readonly Block[] =>
  unreadable.map(({ name, reason }) => line(`${name} cannot be read: ${reason}`, 'bad'))

const showBlocks = (data: Show): readonly Block[] => {
  const { events, all, verb, unreadable } = data
  const what = `event${events.length === 1 && all ? '' : 's'}${verb === undefined ? '' : ` of ${verb}`}`
  const rest = skipped(data)
  return [
    ...(events.length === 0 ? [line(`the Logbook holds no ${what}`)] : []),
    ...(events.length > 0 ? [{ kind: 'rows', rows: events.map(eventRow) } as const] : []),
    ...(all
      ? []
      : [
          line(
            `older ${what} are there: ${events.length < LOGBOOK_SHOWN_LIMIT_COUNT ? 'git discern logbook show --all' : 'in the files of git discern logbook path'}`,
            'dim',
          ),
        ]),
    ...(rest === '' ? [] : [line(`skipped: ${rest}`, 'dim')]),
    ...unreadableLines(unreadable),
  ]
}

const OUTCOMES = ['ok', 'failed', 'partial', 'refused'] as const

const statsBlocks = (data: Stats): readonly Block[] => {
  const { recording, files, verbs, kinds, archives, pending, others } = data
  const state = 'known' in recording ? (recording.known ? 'on' : 'off') : `unknown: ${recording.unavailable}`
  const rest = skipped(data)
  const rows: Row[] = [
    ['folder', data.path],
    ['recording', state, 'known' in recording && recording.known ? 'good' : 'warn'],
    ...(data.oldest === null ? [] : [['oldest', data.oldest] as const, ['newest', `${data.newest}`] as const]),
    ...(rest === '' ? [] : [['skipped', rest, 'warn'] as const]),
    ...(others.length === 0 ? [] : [['ignored', others.join(', '), 'dim'] as const]),
    ...pending.map(
      path => ['pending', `${path}: an interrupted seal; git discern logbook seal finishes it`, 'warn'] as const,
    ),
  ]
  const sections: readonly (readonly [string, readonly Row[]])[] = [
    [
      'months',
      files.map(({ name, bytes, events, ...counts }): Row => {
        const more = skipped(counts)
        return [name, `${count(events, 'event')}, ${size(bytes)}${more === '' ? '' : `, ${more}`}`]
      }),
    ],
    ['kinds', Object.entries(kinds).map(([kind, number]): Row => [kind, `${number}`])],
    [
      'verbs',
      verbs.map(tally => {
        const outcomes = OUTCOMES.flatMap(name => (tally[name] === undefined ? [] : [`${tally[name]} ${name}`]))
        return [tally.verb, `${tally.count}: ${outcomes.join(', ')}`] as const
      }),
    ],
    ['archives', archives.map(({ path, bytes }) => [size(bytes), path] as const)],
  ]
  return [
    line(
      files.length === 0
        ? 'the Logbook is empty'
        : `the Logbook holds ${count(data.events, 'event')} in ${count(files.length, 'month')}, ${size(data.bytes)}`,
    ),
    { kind: 'rows', rows },
    ...unreadableLines(data.unreadable),
    ...sections.flatMap(([title, sectionRows]): readonly Block[] =>
      sectionRows.length === 0
        ? []
        : [
            { kind: 'heading', text: title },
            { kind: 'rows', rows: sectionRows },
          ],
    ),
  ]
}

/** Pure; an answer without data, such as a refusal, shows nothing here. */
export const view = ({ data, plan }: Result): readonly Block[] => {
  const answer = data as LogbookData | undefined
  const [step] = plan ?? []
  if (step) return [line(step.disposition === 'run' ? `would do this: ${step.label}` : 'there is nothing to do')]
  switch (answer?.action) {
    case 'show':
      return showBlocks(answer)
    case 'stats':
      return statsBlocks(answer)
    case 'path':
      return [line(answer.path)]
    case 'seal':
      if ((answer.archives ?? []).length === 0) return [line('the Logbook is empty; nothing was sealed')]
      return (answer.archives ?? []).map(({ path, bytes }) => line(`sealed ${size(bytes)} into ${path}`, 'good'))
    case 'reset': {
      const removed = answer.removed ?? []
      const left = (answer.archives ?? []).length + (answer.pending ?? []).length
      return [
        removed.length === 0
          ? line('the Logbook is empty; nothing was deleted')
          : line(`deleted ${removed.join(', ')}`, 'good'),
        ...(left === 0 ? [] : [line('what was sealed stays: git discern logbook stats', 'dim')]),
      ]
    }
    case undefined:
      return []
  }
}
