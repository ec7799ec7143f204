/** The process: arguments, environment, streams, signals and the clock enter here and nowhere else. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Context } from '../context.ts'
import { Interrupted } from '../errors.ts'
import { runProgram } from './program.ts'
import { progressFor } from './progress.ts'
import { renderText } from './render.ts'

declare const DISCERN_VERSION: string | undefined

const colourOn = (stream: NodeJS.WriteStream): boolean => {
  if (process.env['NO_COLOR']) return false
  if (process.env['FORCE_COLOR'] || process.env['CLICOLOR_FORCE']) return true
  return stream.isTTY === true && process.env['TERM'] !== 'dumb'
}

const readStdin = async (): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const confirmAtTerminal = (question: string): Promise<boolean> =>
  new Promise(answer => {
    const lines = createInterface({ input: process.stdin, output: process.stderr })
    let answered = false
    lines.on('close', () => answered || answer(false))
    lines.question(`${question} [y/N] `, text => {
      answered = true
      lines.close()
      answer(/^y(es)?$/i.test(text.trim()))
    })
  })

const start = async (): Promise<void> => {
  const argv = process.argv.slice(2)
  // A reader that went away (`| head`) is no defect of ours.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', error => process.exit((error as NodeJS.ErrnoException).code === 'EPIPE' ? 0 : 70))
  }
  const machine = argv.some(word => word === '--json' || word === '--markdown')
  const quiet = argv.some(word => word === '-q' || word === '--quiet')
  const progress = progressFor(
    {
      terminal: process.stderr.isTTY === true && process.env['TERM'] !== 'dumb' && !machine,
      colour: colourOn(process.stderr),
      quiet,
      columns: () => process.stderr.columns || 80,
      rows: () => process.stderr.rows || 24,
      now: () => performance.now(),
    },
    text => process.stderr.write(text),
  )
  const aborter = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      // The second signal does not wait for anything any more.
      if (aborter.signal.aborted) process.exit(130)
      aborter.abort(new Interrupted(signal))
    })
  }
  const closers: (() => void | Promise<void>)[] = []
  /** With `-q` nothing is said of the work, but nobody says yes to what was not shown (design 4.13). */
  const unseen: string[] = []
  const confirm = (question: string): Promise<boolean> => {
    const blocks = unseen.splice(0).map(text => ({ kind: 'line', text }) as const)
    if (blocks.length > 0) process.stderr.write(renderText(blocks, false))
    return confirmAtTerminal(question)
  }
  const context: Context = {
    // For an alias git changes to the top level and says where the user stood (case 90). With GIT_DIR set this is a hook,
    // whose relative GIT_DIR holds only from where git started it.
    cwd: resolve(process.env['GIT_DIR'] === undefined ? (process.env['GIT_PREFIX'] ?? '') : ''),
    env: process.env,
    now: () => new Date(),
    uuid: () => randomUUID(),
    pid: process.pid,
    host: hostname(),
    node: process.execPath,
    launcher: resolve(process.env['DISCERN_LAUNCHER'] ?? process.argv[1] ?? 'git-discern'),
    version: typeof DISCERN_VERSION === 'undefined' ? '0.0.0-source' : DISCERN_VERSION,
    platform: `${process.platform}-${process.arch}`,
    terminal: process.stderr.isTTY === true,
    signal: aborter.signal,
    progress: event => {
      if (quiet && event.kind === 'note') unseen.push(event.text)
      progress.event(event)
    },
    // Asked for by few verbs, and looking at standard input costs more than many a git process.
    get confirm() {
      return !machine && process.stdin.isTTY === true && process.stderr.isTTY === true ? confirm : undefined
    },
    defer: close => closers.push(close),
  }
  let exit = 70
  try {
    exit = await runProgram(argv, context, {
      out: text => {
        progress.end()
        process.stdout.write(text)
      },
      err: text => {
        progress.end()
        process.stderr.write(text)
      },
      colour: { out: colourOn(process.stdout), err: colourOn(process.stderr) },
      stdin: readStdin,
    })
  } finally {
    progress.end()
    for (const close of closers.reverse()) await close()
    process.exitCode = exit
  }
}

void start()
