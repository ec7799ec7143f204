/** Measuring the standards of a checkout: which jobs that takes, what is known already, and what came of it (facts 14). */
import type { Context } from '../context.ts'
import { closureOf, describeProducers } from '../gate/inputs.ts'
import { planSteps } from '../gate/outcome.ts'
import { runGate } from '../gate/run.ts'
import { measureSizes } from '../gate/standard.ts'
import type { Worktree } from '../git/repository.ts'
import type { Configuration, PlannedJob } from '../policy/definition.ts'
import { planGate } from '../policy/jobs.ts'
import { meaningFingerprint, type StandardDefinition, standardPlan } from '../policy/standards.ts'
import type { Advisory, Diagnostic, Step } from '../result.ts'
import { sha256Json } from '../store/digest.ts'
import { gateSetting } from './gate-setting.ts'
import {
  keepMeasurements,
  readingOfStored,
  readMeasurements,
  type StandardReading,
  type StoredMeasurement,
} from './standards-store.ts'

export type { StandardReading }

export interface MeasurePlace {
  readonly worktree: Worktree
  readonly configuration: Configuration
  /** Full id. */
  readonly head: string
  /** Nothing is uncommitted; only then a measurement is one of the commit. */
  readonly clean: boolean
}

/** What measuring would take. Writes nothing and starts none of the owner's commands. */
export interface MeasurePlan {
  readonly place: MeasurePlace
  /** The jobs that have to run, in their order, and the standards' own commands after them. */
  readonly jobs: readonly PlannedJob[]
  readonly standards: readonly PlannedJob[]
  /** Per selected standard: what makes its measurement hold, and the one that is known already. */
  readonly selected: readonly {
    readonly standard: StandardDefinition
    readonly planned: PlannedJob
    readonly key: string | undefined
    readonly known: StandardReading | undefined
  }[]
}

/** Plans the measuring of some standards. `force` ignores what is known. Git processes as in `describeProducers`. */
export const planMeasuring = async (
  context: Context,
  place: MeasurePlace,
  chosen: readonly StandardDefinition[],
  force: boolean,
): Promise<MeasurePlan> => {
  const { worktree, configuration, head, clean } = place
  const jobs = planGate(configuration, { changedPaths: [] }).jobs.filter(({ kind }) => kind !== 'standard')
  const standards = standardPlan(configuration)
  const all = [...jobs, ...standards]
  const surroundings = { platform: context.platform, env: context.env }
  const states = clean ? await describeProducers(worktree, head, all, surroundings) : undefined
  const stored = clean && !force ? await readMeasurements(worktree) : new Map<string, StoredMeasurement>()
  const selected = await Promise.all(
    chosen.map(async standard => {
      const planned = standards.find(({ producer }) => producer === `standards.${standard.name}`)
      if (!planned) throw new Error(`${standard.name} is not planned`)
      const state = states?.get(planned.id)
      const key =
        state &&
        sha256Json({
          meaning: meaningFingerprint(standard),
          jobs: state.closure.filter(({ kind }) => kind !== 'standard').map(({ definition }) => definition),
          inputs: state.inputs,
          toolchain: state.toolchain,
          environment: state.environment,
          size: standard.per?.kind === 'size' ? await sizeOf(place, standard.per) : null,
          closure: state.declared ? null : head,
        })
      const found = stored.get(standard.name)
      const known = found && found.key === key ? readingOfStored(standard, found) : undefined
      return { standard, planned, key, known }
    }),
  )
  const needed = new Set(selected.flatMap(({ planned, known }) => (known ? [] : closureOf(planned, all))))
  return {
    place,
    jobs: jobs.filter(job => needed.has(job)),
    standards: standards.filter(job => needed.has(job)),
    selected,
  }
}

const sizeOf = async (
  { worktree, head }: MeasurePlace,
  per: StandardDefinition['per'] & { readonly kind: 'size' },
): Promise<number | string> => {
  const size = await measureSizes(worktree, head, per.globs, per.unit)
  return 'known' in size ? size.known : size.unavailable
}

/** The plan as `--dry-run` shows it. */
export const measuringSteps = ({ jobs, standards, selected }: MeasurePlan): readonly Step[] => [
  ...planSteps(jobs),
  ...planSteps(standards),
  ...selected.flatMap(({ planned, known }): readonly Step[] =>
    known
      ? [
          {
            kind: 'standard',
            label: planned.label,
            disposition: 'skip',
            group: planned.stage,
            note: `measured at ${known.reusedFrom?.slice(0, 12)}; --force measures again`,
          },
        ]
      : [],
  ),
]

export interface Measuring {
  /** In the order of the selection. */
  readonly readings: readonly StandardReading[]
  /** Of the jobs that ran for them. */
  readonly steps: readonly Step[]
  readonly diagnostics: readonly Diagnostic[]
  readonly advisories: readonly Advisory[]
  readonly waitedMs: number
}

/**
 * Runs what the plan says and reads the metrics. What fails is part of the answer. Measurements of a clean commit are kept in
 * the worktree. Throws `Interrupted` once everything is dead.
 */
export const measureStandards = async (context: Context, verb: string, plan: MeasurePlan): Promise<Measuring> => {
  const { worktree, configuration, head } = plan.place
  const jobs = [...plan.jobs, ...plan.standards]
  const setting = gateSetting(context, verb, worktree, configuration)
  const gate =
    jobs.length === 0
      ? undefined
      : await runGate({
          ...setting,
          settings: { ...setting.settings, failFast: false },
          plan: jobs,
          measuring: { worktree, commit: head },
          digestOutputs: async () => '',
          allowEdits: true,
        })
  const done = new Map((gate?.jobs ?? []).map(job => [job.planned.id, job]))
  const readings = plan.selected.map(({ standard, planned, known }): StandardReading => {
    if (known) return known
    const job = done.get(planned.id)
    if (job?.measured) return { standard, measured: { known: job.measured } }
    const guilty = planned.recipe.needs
      .flatMap(need => done.get(need) ?? [])
      .find(({ outcome }) => outcome !== 'passed')
    const reason = guilty
      ? `${guilty.planned.label} did not pass: ${guilty.reason ?? guilty.outcome}`
      : (job?.reason ?? 'it did not run')
    return { standard, measured: { unavailable: reason } }
  })
  await keepMeasurements(plan.place, plan.selected, readings)
  return {
    readings,
    steps: (gate?.steps ?? []).filter(({ kind }) => kind !== 'standard'),
    diagnostics: gate?.diagnostics ?? [],
    advisories: gate?.advisories ?? [],
    waitedMs: gate?.waitedMs ?? 0,
  }
}
