/**
 * Real repositories in a folder of their own, under an environment built from nothing: HOME, configuration, dates, zone and
 * locale are fixed, so object ids are constants. Cleanup is registered here, never by the test.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runProgram } from '../../src/cli/program.ts'
import type { Context, ProgressEvent } from '../../src/context.ts'
import type { Result } from '../../src/result.ts'
import { violations } from '../../src/store/schema.ts'

export const projectRoot = fileURLToPath(new URL('../..', import.meta.url))
export const launcher = join(projectRoot, 'git-discern')

export interface Finished {
  readonly exit: number
  readonly out: string
  readonly err: string
}

/** Parsed JSON that a test reads by name; its contract was checked before. */
// biome-ignore lint/suspicious/noExplicitAny: tests reach into many shapes
export type Loose = any

export interface DiscernRun extends Finished {
  /** `result.data`, or an empty object. */
  readonly data: Loose
  /** The parsed envelope when `--json` was given. */
  readonly result: Result<Record<string, unknown>>
  readonly events: readonly ProgressEvent[]
}

export interface DiscernOptions {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly now?: Date
  readonly confirm?: (question: string) => Promise<boolean>
  readonly signal?: AbortSignal
  readonly stdin?: string
  /** Another installation than this one. */
  readonly program?: Partial<Pick<Context, 'node' | 'launcher' | 'version'>>
}

export class Scratch {
  readonly dir: string
  readonly home: string
  readonly env: Record<string, string>

  constructor(t: TestContext) {
    this.dir = realpathSync(mkdtempSync(join(tmpdir(), 'discern-test-')))
    this.home = join(this.dir, 'home')
    mkdirSync(this.home)
    const bin = join(this.dir, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'git-discern'), `#!/bin/sh\nexec '${launcher}' "$@"\n`)
    chmodSync(join(bin, 'git-discern'), 0o755)
    writeFileSync(
      join(this.home, '.gitconfig'),
      '[user]\n\tname = Dev\n\temail = dev@example.invalid\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n',
    )
    this.env = {
      PATH: `${bin}:${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
      HOME: this.home,
      TMPDIR: this.dir,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
      GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
      TZ: 'UTC',
      LC_ALL: 'C',
    }
    t.after(() => rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 }))
  }

  path(...parts: string[]): string {
    return join(this.dir, ...parts)
  }

  write(path: string, text: string | Uint8Array, mode?: number): string {
    const full = path.startsWith('/') ? path : this.path(path)
    mkdirSync(dirname(full), { recursive: true })
    writeFileSync(full, text)
    if (mode !== undefined) chmodSync(full, mode)
    return full
  }

  read(path: string): string {
    return readFileSync(path.startsWith('/') ? path : this.path(path), 'utf8')
  }

  /** Runs any command; never fails the test by itself. */
  exec(
    cwd: string,
    command: string,
    args: readonly string[],
    options: { env?: Record<string, string | undefined>; input?: string } = {},
  ): Finished {
    const done = spawnSync(command, [...args], {
      cwd: this.at(cwd),
      env: { ...this.env, ...options.env } as NodeJS.ProcessEnv,
      input: options.input ?? '',
      maxBuffer: 1 << 28,
      timeout: 120_000,
    })
    if (done.error) throw done.error
    return { exit: done.status ?? 128, out: done.stdout.toString('utf8'), err: done.stderr.toString('utf8') }
  }

  /** Runs any command without blocking the event loop, so that several can race. */
  execAsync(
    cwd: string,
    command: string,
    args: readonly string[],
    options: { env?: Record<string, string | undefined>; input?: string } = {},
  ): Promise<Finished> {
    return new Promise((resolve, reject) => {
      const child = spawn(command, [...args], {
        cwd: this.at(cwd),
        env: { ...this.env, ...options.env } as NodeJS.ProcessEnv,
      })
      let out = ''
      let err = ''
      child.stdout.on('data', chunk => {
        out += chunk
      })
      child.stderr.on('data', chunk => {
        err += chunk
      })
      child.stdin.on('error', () => {})
      child.stdin.end(options.input ?? '')
      child.on('error', reject)
      child.on('close', (code, signal) => resolve({ exit: code ?? (signal === 'SIGKILL' ? 137 : 128), out, err }))
    })
  }

  /** Runs git, which must succeed, and returns its trimmed output. */
  git(cwd: string, ...args: string[]): string {
    const done = this.exec(cwd, 'git', args)
    assert.equal(done.exit, 0, `git ${args.join(' ')} in ${cwd}: ${done.err}${done.out}`)
    return done.out.replace(/\n$/, '')
  }

  /** Runs git and returns whatever happened. */
  tryGit(cwd: string, ...args: string[]): Finished {
    return this.exec(cwd, 'git', args)
  }

  /** Runs a POSIX shell script. */
  sh(cwd: string, script: string, env: Record<string, string | undefined> = {}): Finished {
    return this.exec(cwd, 'sh', ['-c', script], { env })
  }

  /** A new repository with one commit that adds `f`. Extra arguments go to `git init`. */
  init(name: string, ...args: string[]): string {
    this.git('.', 'init', '-q', ...args, name)
    this.write(join(name, 'f'), '1\n')
    this.commit(name, 'one')
    return this.path(name)
  }

  /** Stages everything and commits it; returns the commit id. */
  commit(cwd: string, message: string): string {
    this.git(cwd, 'add', '-A')
    this.git(cwd, 'commit', '-q', '--allow-empty', '-m', message)
    return this.git(cwd, 'rev-parse', 'HEAD')
  }

  /** Runs a verb in this process. With `--json` the envelope is parsed and checked against its contract. */
  async discern(cwd: string, args: readonly string[], options: DiscernOptions = {}): Promise<DiscernRun> {
    const closers: (() => void | Promise<void>)[] = []
    const events: ProgressEvent[] = []
    let out = ''
    let err = ''
    let clock = options.now?.getTime() ?? Date.parse('2026-01-02T00:00:00Z')
    const env = { ...this.env, ...options.env }
    const context: Context = {
      cwd: this.at(cwd),
      env,
      // Time moves, but the same way in every run.
      now: () => new Date(clock++),
      uuid: () => randomUUID(),
      pid: process.pid,
      host: hostname(),
      node: process.execPath,
      launcher,
      version: '0.0.0-test',
      platform: 'test-x64',
      terminal: false,
      signal: options.signal ?? new AbortController().signal,
      progress: event => events.push(event),
      confirm: options.confirm,
      defer: close => closers.push(close),
      ...options.program,
    }
    let exit: number
    try {
      exit = await runProgram(args, context, {
        out: text => {
          out += text
        },
        err: text => {
          err += text
        },
        colour: { out: false, err: false },
        stdin: async () => Buffer.from(options.stdin ?? ''),
      })
    } finally {
      for (const close of closers.reverse()) await close()
    }
    let result = {} as DiscernRun['result']
    if (args.includes('--json')) {
      result = JSON.parse(out) as DiscernRun['result']
      assert.deepEqual(violations('discern-results', result), [], `${args.join(' ')} breaks its contract: ${out}`)
      assert.equal(out.indexOf('\n'), out.length - 1, 'exactly one line of JSON')
    }
    return { exit, out, err, result, data: result.data ?? {}, events }
  }

  /** Runs a verb through the real launcher, as a person would. */
  launch(cwd: string, args: readonly string[], env: Record<string, string | undefined> = {}): Finished {
    return this.exec(cwd, 'git', ['discern', ...args], { env })
  }

  private at(cwd: string): string {
    return cwd.startsWith('/') ? cwd : this.path(cwd)
  }
}

export const scratch = (t: TestContext): Scratch => new Scratch(t)
