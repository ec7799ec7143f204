/** What the gate has to run and to prove for one change (facts 7.11, 8.3, 8.4): a plan as data, shown or executed. */
import { sha256Json } from '../store/digest.ts'
import { type Configuration, generatedId, type PlannedJob, type Recipe, STAGES } from './definition.ts'
import { matchesAny } from './paths.ts'
import type { ConfigProblem } from './problem.ts'
import { standardPlan } from './standards.ts'

/** One thing that a complete Proof has a receipt for (facts 8.2). */
export interface Requirement {
  readonly id: string
  readonly kind: 'job' | 'scope' | 'standard'
  readonly definition: string
}

export interface GatePlan {
  /** In stage order and, within a stage, every job after those it needs. Never empty. */
  readonly jobs: readonly PlannedJob[]
  /** What is configured and not run for this change, and why. */
  readonly skipped: readonly { readonly label: string; readonly reason: string }[]
  /** Every scope that a changed path is in, neutral ones too, in the order of the file. */
  readonly scopesChanged: readonly string[]
  /** Sorted by kind, then id; never empty. */
  readonly requirements: readonly Requirement[]
  /** SHA-256 over the requirements (facts 8.3). */
  readonly requirementSet: string
}

type Work = Omit<PlannedJob, 'definition'>

const jobWork = (configuration: Configuration): readonly Work[] =>
  configuration.jobs.map(({ name, stage, ...recipe }) => ({
    id: name,
    kind: 'job',
    label: name,
    stage,
    producer: `jobs.${name}`,
    recipe,
    outputs: [],
  }))

const generatedWork = (configuration: Configuration): readonly Work[] =>
  configuration.generated.flatMap(({ name, paths, generator }) =>
    generator
      ? [
          {
            id: generatedId(name),
            kind: 'generated',
            label: `generated ${name}`,
            stage: 'build',
            producer: `generated.${name}`,
            recipe: generator,
            outputs: paths,
          },
        ]
      : [],
  )

const scopeWork = (configuration: Configuration): readonly Work[] =>
  configuration.scopes.flatMap(({ name, gate }) =>
    gate
      ? [
          {
            id: `discern-scope-${name}`,
            kind: 'scope',
            label: `scope ${name}`,
            stage: 'scope',
            producer: `scopes.${name}.gate`,
            recipe: gate,
            outputs: [],
          },
        ]
      : [],
  )

/** So that the set of requirements is never empty (facts 8.4). It has no command and passes by itself. */
const preflight: Work = {
  id: 'discern-preflight',
  kind: 'job',
  label: 'preflight',
  stage: 'check',
  producer: 'jobs.discern-preflight',
  recipe: {
    run: [],
    timeoutS: 0,
    inputs: undefined,
    needs: [],
    artifacts: [],
    environment: [],
    toolchain: [],
    provides: [],
  },
  outputs: [],
}

/** The `definition` hash of a job or scope gate (facts 8.3); what is merely provided to others does not change its meaning. */
const definitionOf = (selector: string, recipe: Recipe): string =>
  sha256Json({
    selector,
    run: recipe.run,
    inputs: recipe.inputs ?? null,
    needs: recipe.needs,
    artifacts: recipe.artifacts,
    environment: recipe.environment,
    toolchain: recipe.toolchain,
    timeout: recipe.timeoutS,
  })

/** Jobs of one stage or of all, each after those it needs, otherwise as given. The needs are known to have no cycle. */
const inOrderOfNeed = <Job extends Work>(work: readonly Job[]): readonly Job[] => {
  const byId = new Map(work.map(job => [job.id, job]))
  const ordered = new Set<Job>()
  const visit = (job: Job): void => {
    if (ordered.has(job)) return
    for (const name of job.recipe.needs) {
      const needed = byId.get(name)
      if (needed) visit(needed)
    }
    ordered.add(job)
  }
  for (const job of work) visit(job)
  return [...ordered]
}

const ORDER: readonly PlannedJob['stage'][] = [...STAGES, 'standard', 'scope']
const rank = (stage: PlannedJob['stage']): number => ORDER.indexOf(stage)

const byStage = <Job extends Work>(work: readonly Job[]): readonly Job[] =>
  ORDER.flatMap(stage => inOrderOfNeed(work.filter(job => job.stage === stage)))

/** The plan for a change. Pure; starts no process. `changedPaths` are in the form of `git/path.ts`. */
export const planGate = (
  configuration: Configuration,
  { changedPaths }: { readonly changedPaths: readonly string[] },
): GatePlan => {
  const scopesOf = classifyScopes(configuration)
  const changed = new Set(changedPaths.flatMap(scopesOf))
  const unaffected = new Map(
    configuration.scopes.flatMap(({ name, neutral }) => {
      const reason = neutral
        ? 'the scope is neutral'
        : changed.has(name)
          ? undefined
          : 'no changed path is in this scope'
      return reason ? [[`scopes.${name}.gate`, reason]] : []
    }),
  )
  const gates = scopeWork(configuration)
  const work = [
    ...jobWork(configuration),
    ...generatedWork(configuration),
    ...gates.filter(({ producer }) => !unaffected.has(producer)),
  ]
  const standards = standardPlan(configuration)
  const own = (work.length + standards.length === 0 ? [preflight] : work).map(job => ({
    ...job,
    definition: definitionOf(job.producer, job.recipe),
  }))
  const jobs = byStage<PlannedJob>([...own, ...standards])
  const requirements = jobs
    .map(({ id, kind, definition }): Requirement => ({ id, kind: kind === 'generated' ? 'job' : kind, definition }))
    .sort((a, b) => compare(a.kind, b.kind) || compare(a.id, b.id))
  return {
    jobs,
    skipped: gates.flatMap(({ label, producer }) => {
      const reason = unaffected.get(producer)
      return reason ? [{ label, reason }] : []
    }),
    scopesChanged: configuration.scopes.flatMap(({ name }) => (changed.has(name) ? [name] : [])),
    requirements,
    requirementSet: sha256Json(requirements.map(({ kind, id, definition }) => [kind, id, definition])),
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** All scopes that a path is in, in the order of the file; a path in none counts as code (facts 1.3). */
export const classifyScopes = (configuration: Pick<Configuration, 'scopes'>): ((path: string) => readonly string[]) => {
  const scopes = configuration.scopes.map(({ name, paths }) => ({ name, matches: matchesAny(paths) }))
  return path => scopes.flatMap(({ name, matches }) => (matches(path) ? [name] : []))
}

/** The generated group that owns a path: the first in the order of the file with a matching glob (facts 1.3). */
export const classifyGenerated = (
  configuration: Pick<Configuration, 'generated'>,
): ((path: string) => string | undefined) => {
  const groups = configuration.generated.map(({ name, paths }) => ({ name, matches: matchesAny(paths) }))
  return path => groups.find(({ matches }) => matches(path))?.name
}

/** The first `needs` that names nothing, points at a later stage, or closes a circle. */
export const findNeedsProblem = (configuration: Configuration): ConfigProblem | undefined => {
  const jobs = [...jobWork(configuration), ...generatedWork(configuration)]
  const byId = new Map(jobs.map(job => [job.id, job]))
  for (const job of [...jobs, ...scopeWork(configuration)]) {
    const path = [...job.producer.split('.'), 'needs']
    for (const name of job.recipe.needs) {
      const needed = byId.get(name)
      if (!needed) {
        return {
          path,
          problem: `there is no job ${JSON.stringify(name)}`,
          unknown: { word: name, among: [...byId.keys()] },
        }
      }
      if (rank(needed.stage) > rank(job.stage)) {
        return { path, problem: `${name} is of stage ${needed.stage}, which comes after ${job.stage}` }
      }
    }
  }
  for (const job of jobs) {
    const circle = circleThrough(job, byId)
    if (circle) return { path: [...job.producer.split('.'), 'needs'], problem: `a circle: ${circle.join(' needs ')}` }
  }
  return undefined
}

/** The names on the shortest way from a job back to itself. */
const circleThrough = (start: Work, byId: ReadonlyMap<string, Work>): readonly string[] | undefined => {
  const ways: (readonly string[])[] = [[start.id]]
  const seen = new Set<string>()
  for (const way of ways) {
    for (const name of byId.get(way.at(-1) ?? '')?.recipe.needs ?? []) {
      if (name === start.id) return [...way, name]
      if (seen.has(name)) continue
      seen.add(name)
      ways.push([...way, name])
    }
  }
  return undefined
}
