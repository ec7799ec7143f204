/**
 * From a document that keeps its contract to the frozen configuration: defaults filled in, older spellings understood,
 * references replaced, and commands that mean nothing left out.
 */
import { JOB_TIMEOUT_DEFAULT_S } from '../limits.ts'
import type { Configuration, GeneratedDefinition, JobDefinition, Recipe, ScopeDefinition, Stage } from './definition.ts'
import { expandPattern, expandText, readReferences } from './references.ts'

type Table = Readonly<Record<string, unknown>>

/** A configuration as the contract in `schema/` lets it through; every member may be absent. */
export interface ConfigDocument {
  readonly project?: { readonly name?: string; readonly record_logbook?: boolean; readonly logbook?: boolean }
  readonly repository?: {
    readonly trunk?: string
    readonly branch_prefix?: string
    readonly proof_notes_mode?: 'local' | 'fetch'
    readonly proof_notes?: 'local' | 'fetch'
  }
  readonly jobs?: Readonly<Record<string, RecipeShape>>
  readonly scopes?: Readonly<
    Record<string, { readonly paths: readonly string[]; readonly gate?: RecipeShape; readonly neutral?: boolean }>
  >
  readonly generated?: Readonly<Record<string, RecipeTable & { readonly paths: readonly string[] }>>
  readonly gate?: {
    readonly fail_fast?: boolean
    readonly timeout?: number
    readonly concurrent_test_runs?: number
    readonly stream_output?: boolean
    readonly stream?: boolean
  }
  readonly acceptance?: { readonly pre_authorized?: readonly string[] }
  readonly checkpoints?: Table
  readonly standards?: Table
  readonly delivery?: Table
}

type Commands = string | readonly string[]
type RecipeShape = Commands | RecipeTable

interface RecipeTable {
  readonly stage?: Stage
  readonly run?: Commands
  readonly inputs?: readonly string[]
  readonly needs?: readonly string[]
  readonly artifacts?: readonly string[]
  readonly environment?: readonly string[]
  readonly toolchain?: readonly string[]
  readonly provides?: readonly string[]
  readonly timeout?: number
}

/** The jobs whose name says their stage (facts 7.11). */
export const KNOWN_STAGES: ReadonlyMap<string, Stage> = new Map([
  ['format', 'fix'],
  ['build', 'build'],
  ['lint', 'check'],
  ['typecheck', 'check'],
  ['test', 'test'],
  ['smoke', 'test'],
])

/** Older spellings and what they are called now (facts 16.3, row 18). */
export const RENAMED: readonly (readonly [table: 'project' | 'repository' | 'gate', from: string, to: string])[] = [
  ['project', 'logbook', 'record_logbook'],
  ['repository', 'proof_notes', 'proof_notes_mode'],
  ['gate', 'stream', 'stream_output'],
]

interface Setting {
  readonly references: Readonly<Record<string, string>>
  readonly timeoutS: number
  /** Jobs that stand in the file without a command: needing one of them is needing nothing. */
  readonly absent: ReadonlySet<string>
}

/** Whether a command means something; a blank one or `:` means that nothing is configured. */
export const isCommand = (command: string): boolean => !/^\s*:?\s*$/.test(command)

const isList = (value: unknown): value is readonly string[] => Array.isArray(value)

const tableOf = (shape: RecipeShape): RecipeTable =>
  typeof shape === 'string' || isList(shape) ? { run: shape } : (shape as RecipeTable)

const commandsOf = (shape: RecipeShape): readonly string[] => {
  const { run = [] } = tableOf(shape)
  return (typeof run === 'string' ? [run] : run).filter(isCommand)
}

const recipeOf = (shape: RecipeShape, setting: Setting): Recipe | undefined => {
  const run = commandsOf(shape)
  if (run.length === 0) return undefined
  const table = tableOf(shape)
  const patterns = (list: readonly string[]): readonly string[] =>
    list.map(pattern => expandPattern(pattern, setting.references))
  return {
    run: run.map(command => expandText(command, setting.references)),
    timeoutS: table.timeout ?? setting.timeoutS,
    inputs: table.inputs && patterns(table.inputs),
    needs: (table.needs ?? []).filter(name => !setting.absent.has(name)),
    artifacts: patterns(table.artifacts ?? []),
    environment: table.environment ?? [],
    toolchain: patterns(table.toolchain ?? []),
    provides: table.provides ?? [],
  }
}

const jobsOf = (entries: readonly (readonly [string, RecipeShape])[], setting: Setting): readonly JobDefinition[] =>
  entries.flatMap(([name, shape]) => {
    const recipe = recipeOf(shape, setting)
    const stage = tableOf(shape).stage ?? KNOWN_STAGES.get(name)
    return recipe && stage ? [{ name, stage, ...recipe }] : []
  })

/** Entries of a table in the order given by `order`, which knows the file; keys that look like numbers lose theirs in JavaScript. */
export type Order = (table: string, keys: readonly string[]) => readonly string[]

/** Normalises a valid document. `foreignTables` are the names that were found to belong to other programs. */
export const normalise = (
  document: ConfigDocument,
  foreignTables: readonly string[],
  order: Order = (_, keys) => keys,
): Configuration => {
  const { project = {}, repository = {}, gate = {} } = document
  const entries = <T>(name: string, table: Readonly<Record<string, T>> = {}): readonly (readonly [string, T])[] =>
    order(name, Object.keys(table)).flatMap(key => {
      const value = table[key]
      return value === undefined ? [] : [[key, value] as const]
    })
  const jobs = entries('jobs', document.jobs)
  const setting: Setting = {
    references: readReferences(document as Table),
    timeoutS: gate.timeout ?? JOB_TIMEOUT_DEFAULT_S,
    absent: new Set(jobs.flatMap(([name, shape]) => (commandsOf(shape).length === 0 ? [name] : []))),
  }
  const patterns = (list: readonly string[]): readonly string[] =>
    list.map(pattern => expandPattern(pattern, setting.references))
  const scopes = entries('scopes', document.scopes).map(
    ([name, scope]): ScopeDefinition => ({
      name,
      paths: patterns(scope.paths),
      neutral: scope.neutral ?? false,
      gate: scope.gate === undefined ? undefined : recipeOf(scope.gate, setting),
    }),
  )
  const generated = entries('generated', document.generated).map(
    ([name, group]): GeneratedDefinition => ({
      name,
      paths: patterns(group.paths),
      generator: recipeOf(group, setting),
    }),
  )
  return freeze({
    project: { name: project.name, recordLogbook: project.record_logbook ?? project.logbook ?? true },
    repository: {
      trunk: repository.trunk?.replace(/^refs\/heads\//, '') || undefined,
      branchPrefix: repository.branch_prefix ?? 'agent/',
      proofNotesMode: repository.proof_notes_mode ?? repository.proof_notes ?? 'local',
    },
    gate: {
      failFast: gate.fail_fast ?? true,
      timeoutS: setting.timeoutS,
      concurrentTestRuns: gate.concurrent_test_runs ?? 1,
      streamOutput: gate.stream_output ?? gate.stream ?? false,
    },
    acceptance: { preAuthorized: document.acceptance?.pre_authorized ?? [] },
    jobs: jobsOf(jobs, setting),
    scopes,
    generated,
    checkpoints: document.checkpoints ?? {},
    standards: document.standards ?? {},
    delivery: document.delivery ?? {},
    foreignTables,
    renamedKeys: RENAMED.filter(([table, from]) =>
      Object.hasOwn((document[table] as Table | undefined) ?? {}, from),
    ).map(([table, from, to]) => ({ from: `${table}.${from}`, to: `${table}.${to}` })),
    references: setting.references,
  })
}

const freeze = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) freeze(member)
  return Object.freeze(value)
}
