/**
 * What runs, how long, and what is left: live on a terminal, plain lines elsewhere, nothing when quiet. Everything that a
 * project could have chosen is escaped. The timers here never keep the process alive.
 */
import type { ProgressEvent } from '../context.ts'
import { escapeText } from '../escape.ts'
import { PROGRESS_REDRAW_MS, PROGRESS_STILL_RUNNING_MS } from '../limits.ts'
import { openLines, type StreamedLines } from './progress-lines.ts'
import { renderText, type Tone } from './render.ts'

export interface Progress {
  readonly event: (event: ProgressEvent) => void
  /** Stops drawing and leaves the cursor on a fresh line; may be called often. */
  readonly end: () => void
}

export interface Look {
  readonly terminal: boolean
  readonly colour: boolean
  readonly quiet: boolean
  /** Size of the terminal now; it may change. */
  readonly columns: () => number
  readonly rows: () => number
  /** Milliseconds of a clock that only goes forward. */
  readonly now: () => number
}

interface Running {
  readonly label: string
  readonly stage: string
  readonly since: number
  /** When a line says that it still runs, where there is no terminal. */
  tellAt: number
  readonly lines: StreamedLines
}

type Outcome = Extract<ProgressEvent, { kind: 'end' }>['outcome']

const TONES: Readonly<Record<Outcome, Tone>> = { passed: 'good', failed: 'bad', skipped: 'dim', cancelled: 'warn' }

/** `0.4s`, `1m05s`, `2h03m`. */
export const formatDuration = (ms: number): string => {
  // What rounds up to a minute is one.
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`
  const seconds = Math.round(ms / 1000)
  const two = (value: number): string => String(value).padStart(2, '0')
  return seconds < 3600
    ? `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`
    : `${Math.floor(seconds / 3600)}h${two(Math.floor((seconds % 3600) / 60))}m`
}

const fit = (line: string, columns: number): string => {
  const characters = [...line]
  return characters.length <= columns ? line : `${characters.slice(0, Math.max(0, columns - 1)).join('')}…`
}

/** Shows the events of one program run; `write` is where they go, usually standard error. */
export const progressFor = (look: Look, write: (text: string) => void): Progress => {
  if (look.quiet) return { event: () => {}, end: () => {} }
  const running = new Map<string, Running>()
  let left: string[] = []
  let width = 0
  const surface = look.terminal ? openBlock(look, write, () => frame()) : openPlain(write, () => tellStillRunning())

  const line = (text: string, tone: Tone = 'plain'): void =>
    surface.print(renderText([{ kind: 'line', text, tone }], look.colour))

  const columns = (stage: string, label: string, rest: string): string =>
    `${stage.padEnd(5)}  ${label.padEnd(width)}  ${rest}`

  const frame = (): readonly string[] => {
    const now = look.now()
    // The label last: on a narrow terminal it is the part that can be cut.
    const lines = [...running.values()].map(
      one => `${one.stage.padEnd(5)}  ${formatDuration(now - one.since).padStart(6)}  ${one.label}`,
    )
    const room = Math.max(1, look.rows() - 2)
    const shown = lines.length > room ? [...lines.slice(0, room - 1), `and ${lines.length - room + 1} more`] : lines
    if (left.length > 0) shown.push(`left   ${left.join(', ')}`)
    return shown.map(text =>
      renderText([{ kind: 'line', text: fit(escapeText(text), look.columns()) }], false).trimEnd(),
    )
  }

  const tellStillRunning = (): void => {
    const now = look.now()
    for (const one of running.values()) {
      if (now < one.tellAt) continue
      one.tellAt = one.since + 2 * (one.tellAt - one.since)
      line(columns(one.stage, one.label, `running  ${formatDuration(now - one.since)}`))
    }
  }

  const finish = (label: string): void => {
    running.get(label)?.lines.end()
    running.delete(label)
    left = left.filter(other => other !== label)
  }

  const event = (event: ProgressEvent): void => {
    switch (event.kind) {
      case 'plan':
        left = [...event.labels]
        width = Math.max(0, ...left.map(label => label.length))
        return
      case 'start': {
        const { label, stage } = event
        const since = look.now()
        const lines = openLines(text => line(`${label} | ${text}`))
        finish(label)
        running.set(label, { label, stage, since, tellAt: since + PROGRESS_STILL_RUNNING_MS, lines })
        surface.wake()
        return
      }
      case 'output':
        running.get(event.label)?.lines.write(event.bytes)
        return
      case 'end':
        finish(event.label)
        // What never ran is in the answer; here it would only be noise.
        if (event.outcome === 'skipped') return
        line(
          columns(event.stage, event.label, `${event.outcome}  ${event.note ?? formatDuration(event.durationMs)}`),
          TONES[event.outcome],
        )
        return
      case 'note':
        line(event.text)
        return
    }
  }

  return {
    event,
    end: () => {
      for (const one of running.values()) one.lines.end()
      surface.end()
    },
  }
}

interface Surface {
  /** Lines that stay. */
  readonly print: (text: string) => void
  /** Something runs: draw, or look at the clock, from now on. */
  readonly wake: () => void
  readonly end: () => void
}

const openPlain = (write: (text: string) => void, onTick: () => void): Surface => {
  let timer: NodeJS.Timeout | undefined
  return {
    print: write,
    wake: () => {
      timer ??= setInterval(onTick, PROGRESS_STILL_RUNNING_MS / 30).unref()
    },
    end: () => {
      clearInterval(timer)
      timer = undefined
    },
  }
}

const HELD_LIMIT_CHARACTERS = 65_536

type Update = ReturnType<typeof import('log-update').createLogUpdate>

/** A block that is redrawn below the lines that stay. log-update is read when something runs for the first time. */
const openBlock = (look: Look, write: (text: string) => void, frame: () => readonly string[]): Surface => {
  let update: Update | undefined
  let loading = false
  let timer: NodeJS.Timeout | undefined
  let held = ''

  const flush = (): void => {
    if (held === '') return
    update?.clear()
    write(held)
    held = ''
  }

  const draw = (): void => {
    flush()
    const lines = frame()
    if (lines.length > 0) update?.(lines.join('\n'))
    else update?.clear()
  }

  const load = async (): Promise<void> => {
    const { createLogUpdate } = await import('log-update')
    // It needs no more of a stream than this; the cursor it hides comes back on every way out of the process.
    const stream = {
      write,
      isTTY: true,
      get columns() {
        return look.columns()
      },
      get rows() {
        return look.rows()
      },
    } as unknown as NodeJS.WritableStream
    update = createLogUpdate(stream)
    if (timer) draw()
  }

  return {
    print: text => {
      held += text
      // Redrawing for each line would make a chatty job slow; the next drawing is at most a moment away.
      if (!timer || held.length > HELD_LIMIT_CHARACTERS) flush()
    },
    wake: () => {
      timer ??= setInterval(draw, PROGRESS_REDRAW_MS).unref()
      if (loading) return
      loading = true
      // Without it there is no live block; everything else is still told.
      load().catch(() => {})
    },
    end: () => {
      clearInterval(timer)
      timer = undefined
      update?.clear()
      flush()
      update?.done()
    },
  }
}
