/** Standards: measured values that may only get better (facts 14), as frozen definitions with their hashes. */
import { sha256Json } from '../store/digest.ts'
import { type Configuration, generatedId, type PlannedJob, type Recipe } from './definition.ts'
import { isCommand } from './normalise.ts'
import { expandPattern, expandText } from './references.ts'

/** Units that the size of files is counted in. */
export const UNITS = ['files', 'lines', 'words', 'bytes'] as const

export type Unit = (typeof UNITS)[number]

/** Where the number is, when it does not stand after `DISCERN_METRIC` in the output of the producer itself. */
export type Extraction =
  /** Gets the output or the artifact on standard input and prints `DISCERN_METRIC` lines. */
  | { readonly kind: 'command'; readonly command: string }
  /** The number at an RFC 6901 pointer. */
  | { readonly kind: 'json'; readonly pointer: string }
  /** The only group of a regular expression, tried on each line; the last line that matches counts. */
  | { readonly kind: 'pattern'; readonly pattern: string }

export type Denominator =
  | { readonly kind: 'metric'; readonly metric: string }
  | { readonly kind: 'size'; readonly unit: Unit; readonly globs: readonly string[] }

export interface StandardDefinition {
  readonly name: string
  /** Whether the reading must not fall below (`up`) or not rise above (`down`) the limit. */
  readonly direction: 'up' | 'down'
  readonly limit: number
  /** The name after `DISCERN_METRIC`; it has no white space. */
  readonly metric: string
  /** Its own commands; `undefined` where another producer prints the metric. */
  readonly recipe: Recipe | undefined
  /** Id of the job or generator whose output holds the metric; `undefined` where it has commands of its own. */
  readonly producer: string | undefined
  readonly extract: Extraction | undefined
  /** Project-relative file that `extract` reads instead of the output. */
  readonly artifact: string | undefined
  readonly per: Denominator | undefined
  /** Factor of a reading that has a denominator. */
  readonly scale: number
  /** Room that is kept when the limit is tightened. */
  readonly margin: number
  /** Globs of what the reading depends on; `undefined` when the project did not say. */
  readonly inputs: readonly string[] | undefined
  /** Ids of jobs and generators. */
  readonly needs: readonly string[]
  readonly artifacts: readonly string[]
  readonly environment: readonly string[]
  readonly toolchain: readonly string[]
  /** Seconds; 0 means no limit. */
  readonly timeoutS: number
}

/** A table as the contract in `schema/` lets it through. */
export interface StandardTable {
  readonly direction: 'up' | 'down'
  readonly limit: number
  readonly metric?: string
  readonly run?: string | readonly string[]
  readonly producer?: string
  readonly extract?: string | { readonly json: string } | { readonly pattern: string }
  readonly artifact?: string
  readonly per?: string | { readonly [U in Unit]?: readonly string[] }
  readonly scale?: number
  readonly margin?: number
  readonly inputs?: readonly string[]
  readonly needs?: readonly string[]
  readonly artifacts?: readonly string[]
  readonly environment?: readonly string[]
  readonly toolchain?: readonly string[]
  readonly timeout?: number
}

/** The tables with their names, in the order of the file. */
export const tablesOf = ({ standards }: Configuration): readonly (readonly [name: string, table: StandardTable])[] =>
  Object.entries(standards as Readonly<Record<string, StandardTable>>)

const selectorOf = (name: string): string => `standards.${name}`

/** Jobs and generators by every name that a standard may use for one: its id, or the table it stands in. */
export const producersOf = ({ jobs, generated }: Configuration): ReadonlyMap<string, string> => {
  const ids = new Map<string, string>()
  for (const { name } of jobs) ids.set(name, name).set(`jobs.${name}`, name)
  for (const { name, generator } of generated) {
    if (generator) ids.set(generatedId(name), generatedId(name)).set(`generated.${name}`, generatedId(name))
  }
  return ids
}

/** The standards of a configuration that `parseConfiguration` let through, in the order of the file. Pure. */
export const readStandards = (configuration: Configuration): readonly StandardDefinition[] => {
  const producers = producersOf(configuration)
  return tablesOf(configuration).map(([name, table]) => Object.freeze(read(configuration, producers, name, table)))
}

const read = (
  { references, gate }: Configuration,
  producers: ReadonlyMap<string, string>,
  name: string,
  table: StandardTable,
): StandardDefinition => {
  const patterns = (list: readonly string[] = []): readonly string[] =>
    list.map(pattern => expandPattern(pattern, references))
  const conditions = {
    inputs: table.inputs && patterns(table.inputs),
    // A job that stands in the file without a command is there to be needed, and needing it is needing nothing.
    needs: (table.needs ?? []).flatMap(need => producers.get(need) ?? []),
    artifacts: patterns(table.artifacts),
    environment: table.environment ?? [],
    toolchain: patterns(table.toolchain),
    timeoutS: table.timeout ?? gate.timeoutS,
  }
  const run = commandsOf(table).map(command => expandText(command, references))
  return {
    name,
    direction: table.direction,
    limit: table.limit,
    metric: table.metric ?? name,
    recipe: table.run === undefined ? undefined : { ...conditions, run, provides: [] },
    producer: table.producer === undefined ? undefined : producers.get(table.producer),
    extract: extractionOf(table.extract, text => expandText(text, references)),
    artifact: table.artifact && expandPattern(table.artifact, references),
    per: denominatorOf(table.per, patterns),
    scale: table.scale ?? 1,
    margin: table.margin ?? 0,
    ...conditions,
  }
}

/** The commands of a table that mean something. */
export const commandsOf = ({ run = [] }: StandardTable): readonly string[] =>
  (typeof run === 'string' ? [run] : run).filter(isCommand)

const extractionOf = (extract: StandardTable['extract'], expand: (text: string) => string): Extraction | undefined => {
  if (extract === undefined) return undefined
  if (typeof extract === 'string') return { kind: 'command', command: expand(extract) }
  return 'json' in extract ? { kind: 'json', pointer: extract.json } : { kind: 'pattern', pattern: extract.pattern }
}

const denominatorOf = (
  per: StandardTable['per'],
  expand: (list: readonly string[]) => readonly string[],
): Denominator | undefined => {
  if (per === undefined) return undefined
  if (typeof per === 'string') return { kind: 'metric', metric: per }
  const unit = UNITS.find(candidate => per[candidate] !== undefined)
  return unit && { kind: 'size', unit, globs: expand(per[unit] ?? []) }
}

/**
 * The `definition` hash of a standard: its whole table as it stands in the file, references expanded, with the time limit that
 * counts for it (facts 8.3). Limit and margin are part of it; see `meaningFingerprint` for a hash without them.
 */
export const standardDefinition = ({ references, gate, standards }: Configuration, name: string): string => {
  const expand = (value: unknown, expandOne: typeof expandText): unknown => {
    if (typeof value === 'string') return expandOne(value, references)
    if (Array.isArray(value)) return value.map(item => expand(item, expandOne))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, expand(member, key === 'run' ? expandText : expandPattern)]),
    )
  }
  return sha256Json({
    selector: selectorOf(name),
    timeout: gate.timeoutS,
    ...(expand(standards[name], expandText) as object),
  })
}

/**
 * What a standard measures and which way is better: SHA-256 over everything but limit, margin and time limit. It is the
 * `definition_fingerprint` of a proposal (facts 14).
 */
export const meaningFingerprint = (standard: StandardDefinition): string =>
  sha256Json({
    selector: selectorOf(standard.name),
    direction: standard.direction,
    metric: standard.metric,
    run: standard.recipe?.run ?? null,
    producer: standard.producer ?? null,
    extract: standard.extract ?? null,
    artifact: standard.artifact ?? null,
    per: standard.per ?? null,
    scale: standard.scale,
    inputs: standard.inputs ?? null,
    needs: standard.needs,
    artifacts: standard.artifacts,
    environment: standard.environment,
    toolchain: standard.toolchain,
  })

/**
 * What the gate has to run for the standards, in the order of the file. One that reads the output of another producer has no
 * command of its own and needs that producer.
 */
export const standardPlan = (configuration: Configuration): readonly PlannedJob[] =>
  readStandards(configuration).map(standard => {
    const { name, recipe, producer, inputs, needs, artifacts, environment, toolchain, timeoutS } = standard
    return {
      id: `discern-standard-${name}`,
      kind: 'standard',
      label: `standard ${name}`,
      stage: 'standard',
      producer: selectorOf(name),
      recipe: recipe ?? {
        run: [],
        timeoutS,
        inputs,
        needs: [...new Set([...(producer === undefined ? [] : [producer]), ...needs])],
        artifacts,
        environment,
        toolchain,
        provides: [],
      },
      definition: standardDefinition(configuration, name),
      outputs: [],
      standard,
    }
  })
