/** `git discern delivery resolve`: which of two sides counts that went on from one generation (design 4.10). */
import type { Context } from '../context.ts'
import { readLedger } from '../delivery/ledger.ts'
import { resolve as decide } from '../delivery/travel.ts'
import type { Result } from '../result.ts'
import type { Call } from './call.ts'
import { openPlace, requireName, VERB } from './delivery-place.ts'
import { standingData } from './delivery-status.ts'
import { pushHints, text, usage } from './delivery-write.ts'

export const resolve = async (
  context: Context,
  [name, ...more]: readonly string[],
  flags: Call['flags'],
): Promise<Result> => {
  const keep = text(flags['keep'])
  if (name === undefined || more.length > 0 || keep === undefined) {
    throw usage('resolve needs a name and the side to keep', 'resolve <name> --keep local|<remote>')
  }
  const place = await openPlace(context)
  const { commit, decided, conflicts } = await decide(context, place.worktree, place.entries, requireName(name), keep)
  return {
    ok: true,
    verb: VERB,
    data: {
      action: decided.length > 0 ? 'resolved' : 'unchanged',
      commit,
      decided,
      conflicts,
      ...standingData(await readLedger(place.worktree, name, commit)),
    },
    hints: decided.length > 0 ? pushHints(place, name) : [],
  }
}
