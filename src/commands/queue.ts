/** `git discern queue`: what waits to land, from every worktree of the repository (facts 10.5). Read-only. */
import type { Context } from '../context.ts'
import { pendingNotes } from '../landing/journal.ts'
import { pendingNoteRow, type QueueRow } from '../landing/queue.ts'
import { allSubmissions } from '../landing/submission.ts'
import { QUEUE_ROW_LIMIT_COUNT } from '../limits.ts'
import type { Result } from '../result.ts'
import { acceptHint } from './advise.ts'
import type { Call } from './call.ts'
import { collectQueue, landingState, type Queue, type QueueOptions } from './queue-facts.ts'
import { readSituation, type Situation } from './situation.ts'

const VERB = 'queue'

export const run = async (context: Context, call: Call): Promise<Result> => {
  const situation = await readSituation(context)
  const limit = call.flags['all'] === true ? Number.POSITIVE_INFINITY : QUEUE_ROW_LIMIT_COUNT
  const { rows, unavailable } = await queueRows(situation, { limit, depth: 'checkpoints' })
  const { trunk, refs } = situation
  return {
    ok: true,
    verb: VERB,
    data: { trunk: { name: trunk.name, tip: refs.get(trunk.target)?.oid ?? null }, rows, unavailable },
    hints: hintsFor(rows),
  }
}

const hintsFor = (rows: readonly QueueRow[]): readonly string[] => {
  const ready = rows.filter(({ state }) => state === 'ready')
  if (ready.some(({ pending }) => pending.length === 0)) return ['git discern accept --all-ready']
  return ready.some(({ relation }) => relation === 'selected') ? [acceptHint] : []
}

/** One row for each submission, oldest first, and one for each landing whose note is owed. Writes nothing. */
export const queueRows = async (situation: Situation, options: QueueOptions): Promise<Queue> => {
  const { rows, unavailable } = await collectQueue(situation, options)
  const notes: QueueRow[] = []
  for (const journal of await pendingNotes(situation.worktree)) {
    notes.push(pendingNoteRow(journal, await landingState(situation, journal)))
  }
  const landed = new Set(notes.map(({ target, branch }) => `${target} ${branch}`))
  return { rows: [...rows.filter(({ target, branch }) => !landed.has(`${target} ${branch}`)), ...notes], unavailable }
}

/**
 * The submissions that are worth a line of `status`: all of them where another branch asks to land, and that of this branch by
 * itself only when it is ready, since everything else about it is said there anyway. Files alone decide whether git is asked.
 */
export const queueForStatus = async (situation: Situation, limit: number): Promise<Queue> => {
  const { worktree, state, refs, trunk } = situation
  const tip = refs.get(trunk.target)?.oid
  const all = await allSubmissions(worktree)
  const others = all.some(
    row => row.place.gitDir !== worktree.gitDir || !('submission' in row) || row.submission.branch !== state.branch,
  )
  const worthIt = others || all.some(row => 'submission' in row && row.submission.predecessor === tip)
  if (!worthIt) return { rows: [], unavailable: [] }
  const queue = await collectQueue(situation, { limit, depth: 'stored' })
  return others || queue.rows.some(row => row.state === 'ready') ? queue : { rows: [], unavailable: [] }
}
