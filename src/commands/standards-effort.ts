/** What tightening and proposing share: a clean branch of its own, one at a time, and whatever was interrupted ended first. */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { verdictOf } from '../gate/standard.ts'
import { displayPath } from '../git/path.ts'
import { isAncestor, shortBranch } from '../git/refs.ts'
import { openWorktree } from '../git/repository.ts'
import { limitsInterrupted, recoverLimits } from '../landing/limit-commit.ts'
import { readLiveConfiguration } from '../policy/read.ts'
import { readStandards } from '../policy/standards.ts'
import { withLock } from '../store/lock.ts'
import { type Effort, readSituation, requireEffort, type Situation } from './situation.ts'
import { compareWithTrunk, type Place, type Standing, VERB } from './standards.ts'
import type { StandardReading } from './standards-measure.ts'

export interface EffortPlace extends Place {
  readonly effort: Effort
}

/**
 * Runs `work` on a clean, committed branch that contains the trunk, while no other run changes limits in this worktree. A
 * dry run takes no lock and ends nothing: it refuses while something is interrupted.
 */
export const withEffort = async <T>(
  context: Context,
  dryRun: boolean,
  work: (place: EffortPlace) => Promise<T>,
): Promise<T> => {
  if (dryRun) return work(await openEffort(context))
  const worktree = await openWorktree(context)
  return withLock(context, worktree, VERB, VERB, async () => {
    await recoverLimits(context, worktree)
    return work(await openEffort(context))
  })
}

/** The situation, after a change of limits that was killed here was ended: until then its index and file look edited. */
export const readSettledSituation = async (context: Context, verb: string): Promise<Situation> => {
  const situation = await readSituation(context)
  const { worktree } = situation
  if (!(await limitsInterrupted(worktree))) return situation
  await withLock(context, worktree, VERB, verb, () => recoverLimits(context, worktree))
  return readSituation(context)
}

const openEffort = async (context: Context): Promise<EffortPlace> => {
  const effort = await requireEffort(await readSituation(context), VERB)
  const { worktree, configuration, head, state, branch, trunk, predecessor } = effort
  if (await limitsInterrupted(worktree)) {
    throw new Refusal('precondition_failed', {
      problem: 'a change of limits was interrupted here',
      next: 'run the same command without --dry-run, which ends it',
    })
  }
  const dirty = [...state.tracked, ...state.untracked]
  if (dirty.length > 0) throw new Refusal('dirty_worktree', { paths: dirty.map(displayPath) })
  if ((await isAncestor(worktree, predecessor, head)) !== true) {
    throw new Refusal('precondition_failed', {
      problem: `${shortBranch(branch)} does not contain ${trunk.name} (${predecessor.slice(0, 12)})`,
      next: 'git discern update',
    })
  }
  return { effort, situation: effort, worktree, configuration, head, clean: true }
}

/** After limits were edited: the same readings judged by the limits that stand now, and how those compare with the trunk. */
export const rereadLimits = async (
  place: EffortPlace,
  readings: readonly StandardReading[],
): Promise<{ readonly readings: readonly StandardReading[]; readonly standing: Standing }> => {
  const configuration = (await readLiveConfiguration(place.worktree)) ?? place.configuration
  const limits = new Map(readStandards(configuration).map(standard => [standard.name, standard]))
  return {
    readings: readings.map(reading => {
      const standard = limits.get(reading.standard.name) ?? reading.standard
      const { measured } = reading
      return 'known' in measured
        ? {
            ...reading,
            standard,
            measured: { known: { ...measured.known, verdict: verdictOf(standard, measured.known.reading) } },
          }
        : { ...reading, standard }
    }),
    standing: await compareWithTrunk({ ...place, configuration }),
  }
}
