/** What a person reads of `logbook`: the newest events, the counts, the folder, and what became of it. */
import type { Result } from '../../result.ts'
import { formatDuration } from '../progress.ts'
import type { Block, Row, Tone } from '../render.ts'

/** An event as the line has it; each kind has some of these. */
interface EventView {
  readonly kind: string
  readonly at: string
  readonly verb?: string
  readonly branch?: string | null
  readonly outcome?: string
  readonly error?: string
  readonly failed_stage?: string
  readonly duration_ms?: number
  readonly sections?: readonly string[]
  readonly standard?: string
  readonly from?: number
  readonly to?: number
  readonly removed?: readonly { readonly file: string; readonly events: number }[]
}

interface Counts {
  readonly torn: number
  readonly foreign: number
}

interface File extends Counts {
  readonly name: string
  readonly bytes: number
  readonly events: number
}

interface Unreadable {
  readonly name: string
  readonly reason: string
}

interface Stored {
  readonly path: string
  readonly bytes: number
}

type LogbookData =
  | (Counts & {
      readonly action: 'show'
      readonly verb?: string
      readonly events: readonly EventView[]
      readonly all: boolean
      readonly unreadable: readonly Unreadable[]
    })
  | (Counts & {
      readonly action: 'stats'
      readonly path: string
      readonly recording: { readonly known: boolean } | { readonly unavailable: string }
      readonly bytes: number
      readonly events: number
      readonly kinds: Readonly<Record<string, number>>
      readonly verbs: readonly (Readonly<Record<string, number | string>> & { verb: string; count: number })[]
      readonly oldest: string | null
      readonly newest: string | null
      readonly files: readonly File[]
      readonly unreadable: readonly Unreadable[]
      readonly others: readonly string[]
      readonly archives: readonly Stored[]
      readonly pending: readonly string[]
    })
  | { readonly action: 'path'; readonly path: string }
  | { readonly action: 'seal'; readonly archives?: readonly Stored[]; readonly pending?: readonly string[] }
  | {
      readonly action: 'reset'
      readonly removed?: readonly string[]
      readonly archives?: readonly Stored[]
      readonly pending?: readonly string[]
    }

const line = (text: string, tone: Tone = 'plain'): Block => ({ kind: 'line', text, tone })

const count = (number: number, one: string, many = `${one}s`): string => `${number} ${number === 1 ? one : many}`

const size = (bytes: number): string => {
  if (bytes < 1024) return count(bytes, 'byte')
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}

const TONES: Readonly<Record<string, Tone>> = { ok: 'good', failed: 'bad', partial: 'warn', refused: 'warn' }

const onBranch = ({ branch }: EventView): string => (branch ? `on ${branch}` : 'on no branch')

const eventText = (event: EventView): string => {
  switch (event.kind) {
    case 'begin':
      return `${event.verb} begins ${onBranch(event)}`
    case 'verb': {
      const cause = [event.error, event.failed_stage ? `in ${event.failed_stage}` : undefined].filter(Boolean)
      const why = cause.length > 0 ? `: ${cause.join(' ')}` : ''
      return `${event.verb} ${event.outcome} ${onBranch(event)}${why}, ${formatDuration(event.duration_ms ?? 0)}`
    }
    case 'config-change':
      return `configuration changed ${onBranch(event)}: ${event.sections?.join(', ')}`
    case 'pin':
      return `limit of ${event.standard} tightened ${onBranch(event)}: ${event.from} -> ${event.to}`
    case 'prune': {
      const removed = event.removed ?? []
      const events = removed.reduce((total, file) => total + file.events, 0)
      return `dropped ${removed.map(({ file }) => file).join(', ')}: ${count(events, 'event')}`
    }
    default:
      return event.kind
  }
}

const skipped = ({ torn, foreign }: Counts): string =>
  [...(torn > 0 ? [`${torn} torn`] : []), ...(foreign > 0 ? [`${foreign} foreign`] : [])].join(', ')

const unreadableLines = (unreadable: readonly Unreadable[]): readonly Block[] =>
  unreadable.map(({ name, reason }) => line(`${name} cannot be read: ${reason}`, 'bad'))

const showBlocks = (data: LogbookData & { action: 'show' }): readonly Block[] => {
  const { events, all, verb, unreadable } = data
  const what = `event${events.length === 1 && all ? '' : 's'}${verb === undefined ? '' : ` of ${verb}`}`
  const rest = skipped(data)
  return [
    ...(events.length === 0 ? [line(`the Logbook holds no ${what}`)] : []),
    ...(events.length > 0
      ? [
          {
            kind: 'rows',
            rows: events.map((event): Row => [event.at, eventText(event), TONES[event.outcome ?? ''] ?? 'dim']),
          } as const,
        ]
      : []),
    ...(all ? [] : [line(`older ${what} are there: git discern logbook show --all`, 'dim')]),
    ...(rest === '' ? [] : [line(`skipped: ${rest}`, 'dim')]),
    ...unreadableLines(unreadable),
  ]
}

const OUTCOMES = ['ok', 'failed', 'partial', 'refused'] as const

const statsBlocks = (data: LogbookData & { action: 'stats' }): readonly Block[] => {
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
