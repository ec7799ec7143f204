/** `git discern evaluate`: the checkpoints of a revision or the work tree; nothing is written and nothing is started. */
import type { Context } from '../context.ts'
import { openRepository } from '../git/repository.ts'
import type { Result } from '../result.ts'
import type { Call } from './call.ts'

export const run = async (context: Context, _call: Call): Promise<Result> => {
  await openRepository(context)
  return { ok: true, verb: 'evaluate', data: { checkpoints: [] } }
}
