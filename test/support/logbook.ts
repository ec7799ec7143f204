/** A Logbook in a scratch folder, without a repository around it, and processes that write into it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import type { VerbEvent } from '../../src/logbook/event.ts'
import { projectRoot, type Scratch } from './scratch.ts'

export interface Places {
  /** As the functions of the Logbook take them. */
  readonly directories: { readonly gitDir: string; readonly commonDir: string }
  readonly folder: string
  readonly archives: string
  readonly recovery: string
}

/** Where the Logbook of a git directory is (facts 0.4). */
export const placesIn = (gitDir: string): Places => ({
  directories: { gitDir, commonDir: gitDir },
  folder: join(gitDir, 'discern/logbook'),
  archives: join(gitDir, 'discern/logbook-archives'),
  recovery: join(gitDir, 'discern/logbook-recovery'),
})

/** An event that keeps its contract. */
export const verbEvent = (
  invocation: string,
  at = '2026-03-10T10:00:00.000Z',
  more: Partial<VerbEvent> = {},
): VerbEvent => ({
  schema: 1,
  at,
  kind: 'verb',
  invocation,
  verb: 'done',
  surface: 'cli',
  branch: 'feat',
  head: null,
  clean: true,
  outcome: 'ok',
  duration_ms: 1,
  epoch: null,
  ...more,
})

/** The line of an event that begins a verb. */
export const beginLine = (invocation: string, at: string, verb = 'done'): string =>
  JSON.stringify({
    schema: 1,
    at,
    kind: 'begin',
    invocation,
    verb,
    surface: 'cli',
    driver: { json: false, tty: true, ci: false, agent_signals: [] },
    branch: 'feat',
    head: null,
    epoch: null,
  })

export const lines = (path: string): readonly string[] => readFileSync(path, 'utf8').split('\n').filter(Boolean)

/** Every raw line of every file below these folders whose name ends in `.jsonl`. */
export const linesBelow = (...folders: readonly string[]): readonly string[] =>
  folders.flatMap(folder =>
    existsSync(folder)
      ? readdirSync(folder, { recursive: true, encoding: 'utf8' })
          .filter(name => name.endsWith('.jsonl') && !name.split('/').at(-1)?.startsWith('.'))
          .sort()
          .flatMap(name => lines(join(folder, name)))
      : [],
  )

export interface Writer {
  readonly child: ChildProcess
  /** What it said it had written, once it ended. */
  readonly wrote: Promise<readonly string[]>
}

const writerScript = (s: Scratch): string => {
  const script = s.path('built/a/writer.mjs')
  if (existsSync(script)) return script
  // From there the contracts are where the source expects them.
  mkdirSync(s.path('built/a'), { recursive: true })
  symlinkSync(join(projectRoot, 'dist'), s.path('dist'))
  buildSync({
    entryPoints: [join(projectRoot, 'test/support/logbook-writer.ts')],
    outfile: script,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
  return script
}

/** Starts processes, each with a name for its events, and lets all of them write at once when all are up. */
export const startWriters = async (
  s: Scratch,
  gitDir: string,
  names: readonly string[],
  { count, bytes }: { readonly count: number; readonly bytes: number },
): Promise<readonly Writer[]> => {
  const script = writerScript(s)
  const signal = s.path(`go-${names[0]}`)
  const started = names.map(name => {
    const child = spawn(process.execPath, [script, gitDir, name, `${count}`, `${bytes}`, signal], { env: s.env })
    let out = ''
    let err = ''
    const ready = new Promise<void>(resolve => {
      child.stdout.on('data', chunk => {
        out += chunk
        resolve()
      })
    })
    child.stderr.on('data', chunk => {
      err += chunk
    })
    const wrote = new Promise<readonly string[]>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', () => (err === '' ? resolve(out.split('\n').slice(1, -1)) : reject(new Error(err))))
    })
    return { child, ready, wrote }
  })
  await Promise.race([Promise.all(started.map(({ ready }) => ready)), ...started.map(({ wrote }) => wrote)])
  writeFileSync(signal, '')
  return started
}
