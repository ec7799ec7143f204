/** One invocation from arguments to exit code. Everything of the process arrives as a parameter, so tests run it in-process. */
import { commands } from '../commands/command.ts'
import { runCommand } from '../commands/recorded.ts'
import type { Context } from '../context.ts'
import { Interrupted, Refusal, reasonOf, refusalOf, refusals } from '../errors.ts'
import type { Result } from '../result.ts'
import { commandHelp, findCommand, type Invocation, parseArguments, programHelp } from './argv.ts'
import { type Block, renderMarkdown, renderText } from './render.ts'
import { view } from './view.ts'

export interface Streams {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Whether colour may be used on each stream. */
  readonly colour: { readonly out: boolean; readonly err: boolean }
  readonly stdin: () => Promise<Buffer>
}

const INTERRUPT_EXIT = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/** The result envelope of something thrown: a refusal as it is, anything else as our own defect (exit 70). */
export const failure = (verb: string, error: unknown): { readonly result: Result; readonly exit: number } => {
  const known = refusalOf(error)
  if (known) {
    return {
      result: { ok: false, verb, ...known.partial, error: known.slug, message: known.message, hints: [...known.next] },
      exit: known.exit,
    }
  }
  const refusal = new Refusal('internal_error', { detail: reasonOf(error) })
  return {
    result: { ok: false, verb, error: refusal.slug, message: refusal.message, hints: [...refusal.next] },
    exit: 70,
  }
}

/** Runs one command line and returns its exit code (facts 7.10). */
export const runProgram = async (argv: readonly string[], context: Context, streams: Streams): Promise<number> => {
  const [first, ...rest] = argv
  if (first === '--version' || first === '-v' || first === 'version') {
    streams.out(`git-discern ${context.version}\n`)
    return 0
  }
  if (first === '-h' || first === '--help' || (first === 'help' && rest.length === 0)) {
    streams.out(programHelp())
    return 0
  }
  const name =
    first === undefined || (first.startsWith('-') && first !== '--')
      ? 'status'
      : first === 'help'
        ? (rest[0] ?? '')
        : first
  const args = first === 'help' ? ['-h'] : name === first ? rest : argv
  let invocation: Invocation | undefined
  try {
    const command = await findCommand(name)
    invocation = await parseArguments(command, args, streams.stdin)
    if (invocation.help) {
      streams.out(commandHelp(command))
      return 0
    }
    const result = await runCommand(context, command, invocation.call, 'cli', invocation.output === 'json')
    await show(result, invocation, streams)
    return exitOf(result)
  } catch (error) {
    if (error instanceof Interrupted) {
      streams.err(`git discern: ${error.message}\n`)
      return INTERRUPT_EXIT[error.signal]
    }
    const verb = commands.some(command => command.name === name) ? name : 'help'
    const { result, exit } = failure(verb, error)
    if (invocation) await show(result, invocation, streams)
    else if (argv.includes('--json')) streams.out(`${JSON.stringify(result)}\n`)
    else streams.err(renderText(failureBlocks(result), streams.colour.err))
    if (exit === 70 && error instanceof Error && context.env['DISCERN_DEBUG']) streams.err(`${error.stack}\n`)
    return exit
  }
}

const exitOf = (result: Result): number => {
  if (result.ok) return 0
  return result.error ? refusals[result.error].exit : 1
}

const failureBlocks = (result: Result): readonly Block[] => [
  { kind: 'line', text: `git discern: ${result.message ?? result.error ?? 'failed'}`, tone: 'bad' },
  ...(result.hints ?? []).map(hint => ({ kind: 'line', text: `  next: ${hint}` }) as const),
]

/** Answers go to standard output; a refusal speaks on standard error, after whatever partial answer there is. */
const show = async (result: Result, invocation: Invocation, streams: Streams): Promise<void> => {
  if (invocation.output === 'json') {
    streams.out(`${JSON.stringify(result)}\n`)
    return
  }
  const blocks = await view(result, invocation.output === 'text')
  if (invocation.output === 'markdown') {
    streams.out(renderMarkdown([...blocks, ...(result.ok ? [] : failureBlocks(result))]))
    return
  }
  if (!invocation.quiet) streams.out(renderText(blocks, streams.colour.out))
  if (!result.ok) streams.err(renderText(failureBlocks(result), streams.colour.err))
}
