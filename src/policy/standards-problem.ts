/** What is wrong with a standard beyond the shape of its table, which the contract in `schema/` holds. */
import type { Configuration } from './definition.ts'
import { isCommand } from './normalise.ts'
import type { ConfigProblem } from './problem.ts'
import { expandPattern } from './references.ts'
import { commandsOf, producersOf, type StandardTable, tablesOf } from './standards.ts'

/** The first thing about a standard that its table's shape does not show. `absent` are jobs without a command. */
export const findStandardsProblem = (
  configuration: Configuration,
  absent: ReadonlySet<string>,
): ConfigProblem | undefined => {
  const producers = producersOf(configuration)
  for (const [name, table] of tablesOf(configuration)) {
    for (const { key, problem } of CHECKS) {
      const found = problem(table, { producers, absent, configuration })
      if (found) return { path: ['standards', name, ...key], ...found }
    }
  }
  return undefined
}

interface Surroundings {
  readonly producers: ReadonlyMap<string, string>
  readonly absent: ReadonlySet<string>
  readonly configuration: Configuration
}

type Found = Omit<ConfigProblem, 'path'> | undefined

/** A metric stands between blanks, so its name holds none. */
const METRIC = /^\S+$/

const unknownProducer = (name: string, { producers, absent }: Surroundings): Found => {
  if (producers.has(name)) return undefined
  return absent.has(name.replace(/^jobs\./, ''))
    ? { problem: `the job ${JSON.stringify(name)} has no command` }
    : {
        problem: `there is no job ${JSON.stringify(name)}`,
        unknown: { word: name, among: [...new Set(producers.values())] },
      }
}

const CHECKS: readonly {
  readonly key: readonly string[]
  readonly problem: (table: StandardTable, surroundings: Surroundings) => Found
}[] = [
  {
    key: ['run'],
    problem: table =>
      table.run === undefined || commandsOf(table).length > 0
        ? undefined
        : { problem: 'expected a command; without one nothing is measured' },
  },
  {
    key: ['producer'],
    problem: ({ producer }, surroundings) =>
      producer === undefined ? undefined : unknownProducer(producer, surroundings),
  },
  {
    key: ['needs'],
    problem: ({ needs = [] }, surroundings) => {
      const stray = needs.find(need => !surroundings.absent.has(need) && !surroundings.producers.has(need))
      return stray === undefined ? undefined : unknownProducer(stray, surroundings)
    },
  },
  {
    key: ['metric'],
    problem: ({ metric }) =>
      metric === undefined || METRIC.test(metric) ? undefined : { problem: 'the name of a metric holds no blank' },
  },
  {
    key: ['extract'],
    problem: ({ extract }) =>
      typeof extract !== 'string' || isCommand(extract) ? undefined : { problem: 'expected a command or a table' },
  },
  {
    key: ['extract', 'json'],
    problem: ({ extract }) =>
      typeof extract !== 'object' || !('json' in extract) || isPointer(extract.json)
        ? undefined
        : { problem: 'expected a JSON pointer, such as "/total/lines/pct"' },
  },
  {
    key: ['extract', 'pattern'],
    problem: ({ extract }) =>
      typeof extract !== 'object' || !('pattern' in extract) ? undefined : patternProblem(extract.pattern),
  },
  {
    key: ['artifact'],
    problem: ({ artifact }, { configuration }) =>
      artifact === undefined || isInner(expandPattern(artifact, configuration.references))
        ? undefined
        : { problem: 'expected the path of a file inside the project' },
  },
  {
    key: ['per'],
    problem: ({ per, extract }, { configuration }) => perProblem(per, extract, configuration),
  },
]

const perProblem = (
  per: StandardTable['per'],
  extract: StandardTable['extract'],
  { references }: Configuration,
): Found => {
  if (per === undefined) return undefined
  if (typeof per === 'string') {
    if (!METRIC.test(per)) return { problem: 'names nothing; expected a metric or a table with path patterns' }
    return typeof extract === 'object'
      ? { problem: `extract takes one number, so there is no metric ${JSON.stringify(per)} beside it` }
      : undefined
  }
  const globs = Object.values(per).flat()
  return globs.some(glob => expandPattern(glob, references) !== '')
    ? undefined
    : { problem: 'names nothing; expected at least one path pattern' }
}

/** RFC 6901: empty, or parts that each begin with `/`, where `~` stands only before 0 or 1. */
export const isPointer = (text: string): boolean => /^(?:\/(?:[^~/]|~[01])*)*$/.test(text)

const isInner = (path: string): boolean =>
  path !== '' && !path.startsWith('/') && !path.split('/').some(name => name === '..')

const patternProblem = (pattern: string): Found => {
  try {
    const groups = (new RegExp(`${pattern}|`, 'u').exec('') ?? []).length - 1
    // Compiled by itself as well: the alternative must not be what makes it valid.
    new RegExp(pattern, 'u')
    return groups === 1 ? undefined : { problem: `expected a regular expression with one group, found ${groups}` }
  } catch (error) {
    return { problem: `not a regular expression: ${(error as Error).message.split(': ').at(-1)}` }
  }
}
