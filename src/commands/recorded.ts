/** Runs a verb and, where the table says so, tells the Logbook what it was: for every surface alike (facts 12.2). */
import type { Context } from '../context.ts'
import type { Result } from '../result.ts'
import type { Call } from './call.ts'
import type { Command } from './command.ts'

/** Runs one verb. The Logbook changes neither its answer nor what it throws. */
export const runCommand = async (
  context: Context,
  command: Command,
  call: Call,
  surface: 'cli' | 'mcp',
  /** Whether a program reads the answer. */
  json: boolean,
): Promise<Result> => {
  const module = await command.load()
  if (!isRecorded(command, call)) return module.run(context, call)
  const { openRecorder } = await import('../logbook/recorder.ts')
  const { target } = call.flags
  const recorder = await openRecorder(context, {
    verb: command.name,
    surface,
    json,
    flags: Object.keys(call.flags).filter(name => isGiven(call.flags[name])),
    hasOperands: call.operands.length > 0,
    target: typeof target === 'string' ? target : undefined,
  })
  try {
    const result = await module.run(context, call)
    await recorder?.end({ result })
    return result
  } catch (error) {
    await recorder?.end({ error })
    throw error
  }
}

const isGiven = (value: Call['flags'][string]): boolean =>
  Array.isArray(value) ? value.length > 0 : value !== undefined

/** What changes nothing writes nothing, so a dry run leaves no line either. */
const isRecorded = ({ records }: Command, call: Call): boolean =>
  call.flags['dry-run'] !== true && records?.(call) === true
