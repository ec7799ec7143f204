/** What is wrong with `[delivery]` beyond the shape of its tables, which the contract in `schema/` holds. */
import type { Configuration } from './definition.ts'
import {
  type ConditionTable,
  conditionName,
  deliveryTable,
  type EndpointTable,
  POINTER_KINDS,
  ROLES,
  replaceValues,
  urlProblem,
  VALUES,
  valuesIn,
} from './delivery.ts'
import type { ConfigProblem } from './problem.ts'
import { isPointer } from './standards-problem.ts'

/** The first thing about an endpoint that its table's shape does not show. */
export const findDeliveryProblem = (configuration: Pick<Configuration, 'delivery'>): ConfigProblem | undefined => {
  const { endpoints = {} } = deliveryTable(configuration)
  for (const role of ROLES) {
    const endpoint = endpoints[role]
    const found = endpoint && endpointProblem(endpoint)
    if (found) return { ...found, path: ['delivery', 'endpoints', role, ...found.path] }
  }
  return undefined
}

const endpointProblem = ({ url, conditions }: EndpointTable): ConfigProblem | undefined => {
  const wrongUrl = /[\s{}]/.test(url) ? 'a URL here holds no blank and no value in braces' : urlProblem(url)
  if (wrongUrl !== undefined) return { path: ['url'], problem: wrongUrl }
  const names = new Set<string>()
  for (const [index, condition] of conditions.entries()) {
    const path = ['conditions', String(index)]
    const found = conditionProblem(condition)
    if (found) return { ...found, path: [...path, ...found.path] }
    const name = conditionName(condition)
    if (names.has(name)) {
      return { path, problem: `another condition here is called ${JSON.stringify(name)}; give this one a \`name\`` }
    }
    names.add(name)
  }
  return undefined
}

const conditionProblem = (condition: ConditionTable): ConfigProblem | undefined => {
  const subjects = (['status', 'sha256', 'pointer'] as const).filter(key => condition[key] !== undefined)
  if (subjects.length !== 1) {
    return { path: [], problem: `expected exactly one of status, sha256 and pointer, found ${subjects.length}` }
  }
  const { pointer, matches, equals } = condition
  if (pointer === undefined) return undefined
  if (!isPointer(pointer)) {
    return { path: ['pointer'], problem: 'expected a JSON pointer, such as "/build/commit"' }
  }
  const kinds = POINTER_KINDS.filter(kind => condition[kind] !== undefined)
  if (kinds.length !== 1) {
    return { path: ['pointer'], problem: `expected exactly one of equals, matches and fresh, found ${kinds.length}` }
  }
  if (matches !== undefined) return withPath(['matches'], patternProblem(matches))
  return equals === undefined ? undefined : withPath(['equals'], jsonProblem(equals))
}

type Found = Omit<ConfigProblem, 'path'> | undefined

const withPath = (path: readonly string[], found: Found): ConfigProblem | undefined => found && { path, ...found }

const unknownValue = (text: string): Found => {
  const stray = valuesIn(text).find(name => !VALUES.some(value => value === name))
  return stray === undefined
    ? undefined
    : {
        problem: `there is no value ${JSON.stringify(stray)}; expected one of ${VALUES.join(', ')}`,
        unknown: { word: stray, among: VALUES },
      }
}

const patternProblem = (pattern: string): Found => {
  const unknown = unknownValue(pattern)
  if (unknown) return unknown
  try {
    new RegExp(
      replaceValues(pattern, () => 'x'),
      'u',
    )
    return undefined
  } catch (error) {
    return { problem: `not a regular expression: ${(error as Error).message.split(': ').at(-1)}` }
  }
}

/** TOML has dates and numbers that JSON does not have, and no body can hold one. */
const jsonProblem = (value: unknown): Found => {
  if (typeof value === 'string') return unknownValue(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return { problem: 'expected a finite number' }
  if (value instanceof Date) return { problem: 'expected a text, since JSON has no dates' }
  if (typeof value !== 'object' || value === null) return undefined
  for (const member of Object.values(value)) {
    const found = jsonProblem(member)
    if (found) return found
  }
  return undefined
}
