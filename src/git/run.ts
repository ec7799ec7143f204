/**
 * The only place that spawns git. A non-zero exit is a value; only "git could not be run", a passed deadline and an output
 * past the cap throw. Bytes in, bytes out.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { Interrupted, Refusal, reasonOf } from '../errors.ts'
import { GIT_CALL_LIMIT_MS, GIT_OUTPUT_LIMIT_BYTES, JOB_DRAIN_LIMIT_MS, USER_OUTPUT_KEPT_BYTES } from '../limits.ts'

/** Where git runs and with which environment; made once per repository by `openRepository`. */
export interface Place {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Ends every git that runs here; only for who writes nothing, since a git that writes is not to be ended half-way (case 83). */
  readonly signal?: AbortSignal
}

export interface GitRun {
  readonly exitCode: number
  readonly stdout: Buffer
  /** Trimmed, for messages only: no decision may rest on it (case 78). */
  readonly stderr: string
}

export interface GitOptions {
  readonly input?: string | Uint8Array
  readonly deadlineMs?: number
  readonly capBytes?: number
  /** Added to the place's environment for this call alone, for example an identity. */
  readonly env?: Readonly<Record<string, string>>
  /** Another directory than the place's. */
  readonly cwd?: string
  readonly signal?: AbortSignal
  /** A session and process group of its own, so that it can be ended with all it started. */
  readonly ownGroup?: boolean
}

/** The variables of the caller that git gets to see; everything else is dropped, above all git's own repository-local ones. */
const INHERITED = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'TMPDIR',
  'TMP',
  'TEMP',
  'XDG_CONFIG_HOME',
  'GIT_EXEC_PATH',
  'GIT_CONFIG_GLOBAL',
  'GIT_CONFIG_SYSTEM',
  'GIT_CONFIG_NOSYSTEM',
  'GIT_CONFIG_PARAMETERS',
  'GIT_CONFIG_COUNT',
  'GIT_TRACE2',
  'GIT_TRACE2_EVENT',
  'GIT_TRACE2_PERF',
  'GIT_TEST_ASSUME_DIFFERENT_OWNER',
  'GNUPGHOME',
  'SYSTEMROOT',
  'COMSPEC',
  'PATHEXT',
  'USERPROFILE',
  'APPDATA',
  'LOCALAPPDATA',
  'DISCERN_HOOK_NESTED',
] as const

/**
 * Git's environment, from an allow-list of the caller's. It never takes an optional lock, never talks to a remote (an empty
 * protocol list also stops the lazy fetch of gits that do not know `GIT_NO_LAZY_FETCH`, case 58), never prompts, never sees
 * replaced objects, and takes every pathspec literally.
 */
export const gitEnvironment = (env: Readonly<Record<string, string | undefined>>): Record<string, string> => {
  const result: Record<string, string> = {}
  for (const name of INHERITED) {
    const value = env[name]
    if (value !== undefined) result[name] = value
  }
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && /^GIT_CONFIG_(KEY|VALUE)_\d+$/.test(name)) result[name] = value
  }
  return {
    ...result,
    LC_ALL: 'C',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: '',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_LITERAL_PATHSPECS: '1',
  }
}

/** Runs git once. Throws `git_unavailable` when it cannot start, and an `Error` past the deadline or the output cap. */
export const git = (place: Place, args: readonly string[], options: GitOptions = {}): Promise<GitRun> =>
  new Promise((resolve, reject) => {
    const child = start(place, args, options)
    const out: Buffer[] = []
    const err: Buffer[] = []
    const cap = options.capBytes ?? GIT_OUTPUT_LIMIT_BYTES
    let size = 0
    let failure: Error | undefined
    const stop = (error: Error): void => {
      failure ??= error
      child.kill('SIGTERM')
    }
    const deadline = options.deadlineMs ?? GIT_CALL_LIMIT_MS
    const timer = setTimeout(() => stop(new Error(`git ${args[0]} took longer than ${deadline} ms`)), deadline)
    const signal = options.signal ?? place.signal
    const abort = (): void => stop(new Error(`git ${args[0]} was cancelled`))
    signal?.addEventListener('abort', abort, { once: true })
    if (signal?.aborted) abort()
    const collect = (into: Buffer[]) => (chunk: Buffer) => {
      size += chunk.length
      if (size > cap) stop(new Error(`git ${args[0]} printed more than ${cap} bytes`))
      else into.push(chunk)
    }
    child.stdout?.on('data', collect(out))
    child.stderr?.on('data', collect(err))
    // A git that exits early closes its end of the pipe; its exit code tells the story, not EPIPE.
    child.stdin?.on('error', () => {})
    child.on('error', error => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      reject(new Refusal('git_unavailable', { reason: reasonOf(error) }))
    })
    child.on('close', (code, ended) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      if (failure) return reject(failure)
      resolve({
        exitCode: code ?? (ended ? 128 + 15 : 128),
        stdout: Buffer.concat(out),
        stderr: Buffer.concat(err).toString('utf8').trim(),
      })
    })
    if (options.input !== undefined) child.stdin?.end(options.input)
    else child.stdin?.end()
  })

/**
 * The first `limitBytes` of what git prints, and whether it printed more, in which case it is ended: for a question whose
 * answer may be larger than anybody wants to hold (case 80). Throws as `git` does. One git process.
 */
export const gitPrefix = async (
  place: Place,
  args: readonly string[],
  limitBytes: number,
): Promise<{
  readonly exitCode: number
  readonly stdout: Buffer
  readonly stderrBytes: number
  readonly more: boolean
}> =>
  new Promise((resolve, reject) => {
    const child = start(place, args)
    const out: Buffer[] = []
    let size = 0
    let stderrBytes = 0
    let late = false
    const timer = setTimeout(() => {
      late = true
      child.kill('SIGTERM')
    }, GIT_CALL_LIMIT_MS)
    const abort = (): void => {
      child.kill('SIGTERM')
    }
    place.signal?.addEventListener('abort', abort, { once: true })
    if (place.signal?.aborted) abort()
    child.stdout?.on('data', (chunk: Buffer) => {
      if (size <= limitBytes) out.push(chunk)
      size += chunk.length
      if (size > limitBytes) child.kill('SIGTERM')
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      stderrBytes += chunk.length
    })
    child.stdin?.on('error', () => {})
    child.stdin?.end()
    child.on('error', error => {
      clearTimeout(timer)
      place.signal?.removeEventListener('abort', abort)
      reject(new Refusal('git_unavailable', { reason: reasonOf(error) }))
    })
    child.on('close', code => {
      clearTimeout(timer)
      place.signal?.removeEventListener('abort', abort)
      if (late) return reject(new Error(`git ${args[0]} took longer than ${GIT_CALL_LIMIT_MS} ms`))
      const stdout = Buffer.concat(out).subarray(0, limitBytes)
      resolve({ exitCode: code ?? 128, stdout, stderrBytes, more: size > limitBytes })
    })
  })

export interface UserRun {
  /** 128 and the number of the signal that ended it, as a shell would say. */
  readonly exitCode: number
  /** The end of what it and its hooks printed, both streams; for messages only (case 78). */
  readonly output: string
}

/**
 * Runs a git command of the user's, as if it had been typed where they stand: their whole environment, their hooks, identity,
 * signing and editor. No limit in time, since all of those may take theirs. An interruption is handed on to git, which leaves
 * its own state; a process that a hook left behind is not waited for. Standard input is empty.
 */
export const gitAsUser = (
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
  { signal, onOutput }: { readonly signal: AbortSignal; readonly onOutput: (bytes: Buffer) => void },
): Promise<UserRun> =>
  new Promise((resolve, reject) => {
    const child = spawn('git', [...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true })
    let kept = Buffer.alloc(0)
    const collect = (chunk: Buffer): void => {
      kept = Buffer.concat([kept, chunk]).subarray(-USER_OUTPUT_KEPT_BYTES)
      onOutput(chunk)
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    const hand = (): void => {
      child.kill(signal.reason instanceof Interrupted ? signal.reason.signal : 'SIGTERM')
    }
    if (signal.aborted) hand()
    signal.addEventListener('abort', hand, { once: true })
    let drain: NodeJS.Timeout | undefined
    const end = (code: number | null, ended: NodeJS.Signals | null): void => {
      clearTimeout(drain)
      signal.removeEventListener('abort', hand)
      child.stdout.destroy()
      child.stderr.destroy()
      resolve({ exitCode: code ?? 128 + (constants.signals[ended ?? 'SIGTERM'] ?? 15), output: kept.toString('utf8') })
    }
    child.on('error', error => {
      signal.removeEventListener('abort', hand)
      reject(new Refusal('git_unavailable', { reason: reasonOf(error) }))
    })
    child.on('exit', (code, ended) => {
      drain = setTimeout(() => end(code, ended), JOB_DRAIN_LIMIT_MS)
    })
    child.on('close', end)
  })

/** Starts a git that is talked to for longer than one question, such as `cat-file --batch`. */
export const start = (place: Place, args: readonly string[], options: GitOptions = {}): ChildProcess =>
  spawn('git', [...args], {
    cwd: options.cwd ?? place.cwd,
    env: options.env ? { ...place.env, ...options.env } : place.env,
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
    detached: options.ownGroup ?? false,
  })

/** Standard output of a git that must succeed; anything else is `git_failed` with git's own words. */
export const gitOutput = async (place: Place, args: readonly string[], options: GitOptions = {}): Promise<Buffer> => {
  const run = await git(place, args, options)
  if (run.exitCode !== 0) {
    throw new Refusal('git_failed', { command: args.join(' '), exitCode: run.exitCode, stderr: run.stderr })
  }
  return run.stdout
}

/** One line of text from a git that must succeed. */
export const gitLine = async (place: Place, args: readonly string[], options: GitOptions = {}): Promise<string> =>
  (await gitOutput(place, args, options)).toString('utf8').replace(/\n$/, '')
