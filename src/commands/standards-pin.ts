/** `git discern standards --pin`: limits follow what was reached, in a commit of their own (facts 14). */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { commitLimits } from '../landing/limit-commit.ts'
import { withRecording } from '../logbook/recording.ts'
import type { StandardDefinition } from '../policy/standards.ts'
import type { Result } from '../result.ts'
import type { Call } from './call.ts'
import {
  choose,
  compareWithTrunk,
  ratchetAdvisories,
  standardSteps,
  standardsData,
  VERB,
  wordsOf,
} from './standards.ts'
import { rereadLimits, withEffort } from './standards-effort.ts'
import { measureStandards, measuringSteps, planMeasuring, type StandardReading } from './standards-measure.ts'

interface Tightened {
  readonly standard: string
  readonly from: number
  readonly to: number
  readonly reading: number
}

/**
 * The limit that keeps the margin to a reading, when that is tighter than the one that stands; else `undefined`. What a
 * subtraction leaves behind the twelfth digit is rounded away where it is only that.
 */
export const tightened = (
  { direction, limit, margin }: Pick<StandardDefinition, 'direction' | 'limit' | 'margin'>,
  reading: number,
): number | undefined => {
  const exact = direction === 'up' ? reading - margin : reading + margin
  const round = Number(exact.toPrecision(12))
  const noise = 4 * Number.EPSILON * Math.max(Math.abs(reading), margin)
  const next = Math.abs(round - exact) <= noise ? round : exact
  return (direction === 'up' ? next > limit : next < limit) ? next : undefined
}

export const pin = (context: Context, names: readonly string[], flags: Call['flags']): Promise<Result> =>
  withEffort(context, flags['dry-run'] === true, async place => {
    const chosen = await choose(place.situation, names)
    const plan = await planMeasuring(context, place, chosen, flags['force'] === true)
    const standing = await compareWithTrunk(place)
    const whole = names.length === 0
    if (flags['dry-run'] === true) {
      const shown = plan.selected.map(({ standard, known }) => known ?? { standard, measured: undefined })
      return {
        ok: true,
        verb: VERB,
        dry_run: true,
        plan: measuringSteps(plan),
        data: { ...standardsData(shown, standing, whole), tightened: [] },
        advisories: ratchetAdvisories(standing),
      }
    }
    const measuring = await measureStandards(context, VERB, plan)
    const { readings } = measuring
    const partial = {
      steps: [...measuring.steps, ...standardSteps(readings)],
      diagnostics: measuring.diagnostics,
      data: standardsData(readings, standing, whole),
    }
    const broken = readings.find(({ measured }) => !('known' in measured) || measured.known.verdict === 'breached')
    if (broken) {
      const { name } = broken.standard
      throw new Refusal(
        'pin_failed',
        { problem: `${name}: ${wordsOf(broken)}`, next: `git discern standards ${name}` },
        partial,
      )
    }
    const limits = readings.flatMap(tighten)
    const commit = limits.length === 0 ? undefined : await commitPins(context, place, limits, partial)
    const now = commit === undefined ? { readings, standing } : await rereadLimits(place, readings)
    const result: Result = {
      ok: true,
      verb: VERB,
      ...partial,
      data: {
        ...standardsData(now.readings, now.standing, whole),
        tightened: limits,
        ...(commit === undefined ? {} : { commit }),
      },
      advisories: [...ratchetAdvisories(standing), ...measuring.advisories],
      hints: commit === undefined ? [] : ['git discern done'],
    }
    const pins = limits.map(({ standard, from, to, reading }) => ({ standard, from, to, measured: reading }))
    return withRecording(result, { clean: true, pins })
  })

const tighten = ({ standard, measured }: StandardReading): readonly Tightened[] => {
  if (!('known' in measured)) return []
  const { reading } = measured.known
  const to = tightened(standard, reading)
  return to === undefined ? [] : [{ standard: standard.name, from: standard.limit, to, reading }]
}

const messageOf = (limits: readonly Tightened[]): string => {
  const [first, ...others] = limits
  if (first && others.length === 0) {
    return `Tighten the limit of standard ${first.standard} from ${first.from} to ${first.to}`
  }
  const rows = limits.map(({ standard, from, to }) => `${standard}: ${from} -> ${to}`)
  return `Tighten the limits of ${limits.length} standards\n\n${rows.join('\n')}`
}

const commitPins = async (
  context: Context,
  { effort, worktree }: Parameters<Parameters<typeof withEffort>[2]>[0],
  limits: readonly Tightened[],
  partial: Readonly<Record<string, unknown>>,
): Promise<string> => {
  const made = await commitLimits(context, worktree, {
    branch: effort.branch,
    head: effort.head,
    limits: new Map(limits.map(({ standard, to }) => [standard, to])),
    message: messageOf(limits),
    proposals: [],
  })
  if ('commit' in made) return made.commit
  throw new Refusal('pin_failed', made, partial)
}
