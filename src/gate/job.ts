/**
 * One of the owner's commands, run to its real end: on return nothing of it is alive, or what is alive is named. The only
 * user of execa, which is read when the first command runs. Waiting ends on exit and a bounded drain, never on `close`: a
 * descendant may hold the pipe for ever (case 82).
 */
import { platform } from 'node:os'
import { setImmediate as turn } from 'node:timers/promises'
import { reasonOf } from '../errors.ts'
import { JOB_DRAIN_LIMIT_MS, JOB_KILL_LIMIT_MS, JOB_OUTPUT_LIMIT_BYTES, JOB_TERMINATION_GRACE_MS } from '../limits.ts'
import { type Capture, openCapture } from './capture.ts'
import { commandEnvironment } from './environment.ts'
import { endGroup, type Group, groupAlive, groupOf, holdGroup, pollUntil, type Survivor } from './processes.ts'

export type { Survivor } from './processes.ts'

/** Defaults are the constants of the same names in `limits.ts`; tests choose smaller ones. */
export interface CommandLimits {
  readonly graceMs: number
  readonly drainMs: number
  readonly outputBytes: number
}

export const commandLimits: CommandLimits = {
  graceMs: JOB_TERMINATION_GRACE_MS,
  drainMs: JOB_DRAIN_LIMIT_MS,
  outputBytes: JOB_OUTPUT_LIMIT_BYTES,
}

export interface CommandCall {
  /** Text for the shell. */
  readonly command: string
  readonly cwd: string
  /** The caller's environment, unfiltered. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly extra?: Readonly<Record<string, string>>
  /** `<run>.<number>`, unique; how descendants are recognised. */
  readonly marker: string
  /** 0 for no limit. */
  readonly timeoutMs: number
  /** Ends the command early; the result is then `cancelled`. */
  readonly signal: AbortSignal
  readonly now: () => Date
  /** Gets every byte as it comes, kept or not. */
  readonly sink?: (bytes: Buffer) => void
  /** Where output is kept; several commands may share one. The caller finishes it. */
  readonly capture?: Capture
  /** `merge` (default): one pipe for both, in the true order. `apart`: only standard output is kept and given to the sink. */
  readonly stderr?: 'merge' | 'apart'
  /** What output past the cap does: `omit` (default) leaves out the middle, `stop` ends the command. */
  readonly overflow?: 'omit' | 'stop'
  /**
   * Processes that left the command's session before a command that was not cut short ended: `leave` (default), since a build
   * server or an agent may be wanted, or `stop`. A command that is cut short takes them with it either way.
   */
  readonly daemons?: 'leave' | 'stop'
  readonly limits?: Partial<CommandLimits>
}

/** How one command ended. A non-zero exit is a value; nothing is thrown. */
export interface CommandResult {
  /** `null` when a signal ended it, or when it never started. */
  readonly exitCode: number | null
  readonly signal: string | null
  readonly timedOut: boolean
  readonly cancelled: boolean
  /** The system's reason when the shell could not be started. */
  readonly spawnFailed: string | undefined
  /** More was printed than is kept. */
  readonly outputLimit: boolean
  readonly durationMs: number
  /** The kept bytes: both halves, with a line that counts what was left out. Empty when the caller gave a `capture`. */
  readonly output: Buffer
  /** All bytes that were printed. */
  readonly outputBytes: number
  /** What could not be ended: a typed cleanup failure (case 82). */
  readonly survivors: readonly Survivor[]
}

interface Exit {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly spawnFailed?: string
}

interface Ending extends Exit {
  readonly survivors: readonly Survivor[]
}

type Cut = 'timeout' | 'cancel' | 'overflow'

const SHELL = '/bin/sh'
/** The longest delay a timer can have; about 24 days. */
const TIMER_LIMIT_MS = 2 ** 31 - 1

/** Runs one command and answers when it is over. Spawns one process; needs at most `graceMs` + `drainMs` + 2 s past its limit. */
export const runCommand = async (call: CommandCall): Promise<CommandResult> => {
  const limits = { ...commandLimits, ...call.limits }
  const startedAt = call.now().getTime()
  const capture = call.capture ?? openCapture(limits.outputBytes)
  const printedBefore = capture.total()
  const cutter = openCutter(call)
  let ending: Ending = { exitCode: null, signal: null, survivors: [] }
  try {
    if (cutter.reason() === undefined) {
      ending = await supervise(call, limits, cutter, chunk => {
        capture.write(chunk)
        if (call.overflow === 'stop' && capture.omitted() > 0) cutter.cut('overflow')
        call.sink?.(chunk)
      })
    }
  } finally {
    cutter.close()
  }
  return {
    exitCode: ending.exitCode,
    signal: ending.signal,
    timedOut: cutter.reason() === 'timeout',
    cancelled: cutter.reason() === 'cancel',
    spawnFailed: ending.spawnFailed,
    outputLimit: capture.omitted() > 0,
    durationMs: Math.max(0, call.now().getTime() - startedAt),
    output: call.capture ? Buffer.alloc(0) : capture.bytes(),
    outputBytes: capture.total() - printedBefore,
    survivors: ending.survivors,
  }
}

interface Cutter {
  readonly cut: (reason: Cut) => void
  /** Why the command was cut short; the first reason counts, and none after `close`. */
  readonly reason: () => Cut | undefined
  readonly happened: Promise<void>
  readonly close: () => void
}

const openCutter = (call: CommandCall): Cutter => {
  let reason: Cut | undefined
  let open = true
  let wake = (): void => {}
  const happened = new Promise<void>(resolve => {
    wake = resolve
  })
  const cut = (because: Cut): void => {
    if (!open || reason !== undefined) return
    reason = because
    wake()
  }
  const cancel = (): void => cut('cancel')
  const timer =
    call.timeoutMs > 0 ? setTimeout(() => cut('timeout'), Math.min(call.timeoutMs, TIMER_LIMIT_MS)) : undefined
  if (call.signal.aborted) cancel()
  else call.signal.addEventListener('abort', cancel, { once: true })
  return {
    cut,
    reason: () => reason,
    happened,
    close: () => {
      open = false
      clearTimeout(timer)
      call.signal.removeEventListener('abort', cancel)
    },
  }
}

/** Starts the shell, waits for its exit or the cut, and ends what is left of it. */
const supervise = async (
  call: CommandCall,
  limits: CommandLimits,
  cutter: Cutter,
  onChunk: (chunk: Buffer) => void,
): Promise<Ending> => {
  const shell = await startShell(call, onChunk)
  if (shell.group === undefined) return { ...(await shell.exited), survivors: [] }
  const { group } = shell
  const release = holdGroup(group)
  try {
    await Promise.race([shell.exited, cutter.happened])
    let survivors: readonly Survivor[] = []
    if (cutter.reason() !== undefined) survivors = await endGroup(group, 'all', limits.graceMs)
    else {
      cutter.close()
      // What the shell left in the background may be about to finish, as `> >(tee log)` is.
      await settled(shell.piped, group, limits.drainMs)
      if (call.daemons === 'stop') survivors = await endGroup(group, 'all', limits.graceMs)
      else if (groupAlive(group)) survivors = await endGroup(group, 'group', limits.graceMs)
    }
    const exit = await within(shell.exited, JOB_KILL_LIMIT_MS)
    await within(shell.piped, limits.drainMs)
    // A busy event loop reaches its timers before its pipes; give what is already in them one chance.
    await turn()
    await turn()
    return { ...(exit ?? { exitCode: null, signal: null }), survivors }
  } finally {
    shell.letGo()
    release()
  }
}

interface Shell {
  /** `undefined` when it could not be started. */
  readonly group: Group | undefined
  readonly exited: Promise<Exit>
  /** Both pipes have reached their end. */
  readonly piped: Promise<void>
  /** Closes our ends of the pipes and forgets the process. */
  readonly letGo: () => void
}

const startShell = async (call: CommandCall, onChunk: (chunk: Buffer) => void): Promise<Shell> => {
  const { execa } = await import('execa')
  const windows = platform() === 'win32'
  const apart = call.stderr === 'apart'
  // The outer shell only joins the two streams and replaces itself; the command's text reaches the inner one untouched.
  const args = apart ? ['-c', call.command] : ['-c', 'exec "$0" -c "$1" 2>&1', SHELL, call.command]
  const child = execa(windows ? call.command : SHELL, windows ? [] : args, {
    shell: windows,
    cwd: call.cwd,
    env: commandEnvironment(call.env, call.extra ?? {}, call.marker),
    extendEnv: false,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    detached: !windows,
    cleanup: false,
    buffer: false,
    reject: false,
    windowsHide: true,
  })
  const exited = new Promise<Exit>(resolve => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }))
    // Only a shell that never started settles without an exit.
    child.then(
      result => {
        if (child.pid === undefined) {
          resolve({ exitCode: null, signal: null, spawnFailed: reasonOf(result.cause ?? 'unknown reason') })
        }
      },
      error => resolve({ exitCode: null, signal: null, spawnFailed: reasonOf(error) }),
    )
  })
  const streams = [child.stdout, child.stderr]
  child.stdout.on('data', onChunk)
  child.stderr.on('data', apart ? () => {} : onChunk)
  const piped = Promise.all(
    streams.map(
      stream =>
        new Promise<void>(resolve => {
          stream.once('close', resolve)
          stream.once('end', resolve)
          stream.on('error', () => resolve())
        }),
    ),
  ).then(() => {})
  return {
    group: child.pid === undefined ? undefined : groupOf(child.pid, call.marker),
    exited,
    piped,
    letGo: () => {
      for (const stream of streams) stream.destroy()
      child.unref()
    },
  }
}

/** Waits, at most `limitMs`, until the pipes have ended and nothing of the group is alive. */
const settled = async (piped: Promise<void>, group: Group, limitMs: number): Promise<void> => {
  let ended = false
  const watched = piped.then(() => {
    ended = true
  })
  await within(watched, limitMs)
  if (ended) await pollUntil(() => !groupAlive(group), limitMs)
}

/** The value, or `undefined` after `limitMs`. Leaves no timer behind. */
const within = async <Value>(promise: Promise<Value>, limitMs: number): Promise<Value | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(resolve, limitMs, undefined)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
