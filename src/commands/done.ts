import type { Context } from '../context.ts'
import type { Result } from '../result.ts'
import type { Call } from './command.ts'

export const run = async (_context: Context, _call: Call): Promise<Result> => ({
  ok: true,
  verb: 'done',
  message: 'not yet',
})
