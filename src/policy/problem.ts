/**
 * Turns what is wrong with a `discern.toml` into a refusal that a person can act on: file, line, dotted key, what was
 * expected and the nearest right spelling. Loaded only when something is wrong; nothing here runs for a file that is right.
 */
import { closestMatch } from 'leven'
import { type AST, parseTOML } from 'toml-eslint-parser'
import schemaFile from '../../schema/discern-config.schema.json' with { type: 'json' }
import { Refusal } from '../errors.ts'
import type { Violation } from '../store/schema.ts'
import { RENAMED } from './normalise.ts'

export interface ConfigProblem {
  /** Keys from the top of the file; numbers of list items as decimal text. */
  readonly path: readonly string[]
  readonly problem: string
  readonly nearest?: string | undefined
  /** A word that was not understood, and those that would have been. */
  readonly unknown?: { readonly word: string; readonly among: readonly string[] }
}

/** The part of JSON Schema that the contract of the configuration uses. */
interface SchemaNode {
  readonly $ref?: string
  readonly title?: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly type?: string
  readonly if?: SchemaNode
  readonly then?: SchemaNode | boolean
  readonly else?: SchemaNode
  readonly items?: SchemaNode
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: SchemaNode | boolean
  readonly $defs?: Readonly<Record<string, SchemaNode>>
}

const schema: SchemaNode = schemaFile as unknown as SchemaNode

/** A misspelling this far away is still recognised; twice that is a different word. */
const NEAR = 2

/** The candidate that is spelled most like the text, if one is within the given distance; case does not count. */
export const nearest = (text: string, candidates: readonly string[], distance = NEAR): string | undefined => {
  const match = closestMatch(
    text.toLowerCase(),
    candidates.map(candidate => candidate.toLowerCase()),
    { maxDistance: distance },
  )
  return match === undefined ? undefined : candidates.find(candidate => candidate.toLowerCase() === match)
}

const isTable = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

const own = <T>(table: Readonly<Record<string, T>> | undefined, key: string): T | undefined =>
  table && Object.hasOwn(table, key) ? table[key] : undefined

/** Follows references, and conditions on the type of the value; those are all the conditions that choose a shape. */
const resolve = (node: SchemaNode, value: unknown): SchemaNode => {
  if (node.$ref !== undefined) {
    const target = own(schema.$defs, node.$ref.replace('#/$defs/', '')) ?? {}
    return { ...resolve(target, value), ...(node.description ? { description: node.description } : {}) }
  }
  if (node.if?.type === undefined || node.properties) return node
  const holds = node.if.type === 'array' ? Array.isArray(value) : isTable(value)
  const chosen = holds ? node.then : node.else
  return typeof chosen === 'object' ? resolve(chosen, value) : node
}

/** The schema of the value at a path, as far as it is described. */
const schemaAt = (
  document: unknown,
  path: readonly string[],
): { readonly node: SchemaNode; readonly value: unknown } => {
  let node = resolve(schema, document)
  let value = document
  for (const key of path) {
    value = Array.isArray(value) ? value[Number(key)] : isTable(value) ? own(value, key) : undefined
    const rest = typeof node.additionalProperties === 'object' ? node.additionalProperties : {}
    node = resolve(node.items ?? own(node.properties, key) ?? rest, value)
  }
  return { node, value }
}

const TYPES: Readonly<Record<string, string>> = {
  object: 'a table',
  array: 'a list',
  string: 'a text',
  boolean: 'true or false',
  number: 'a number',
  integer: 'a whole number',
}

const shown = (value: unknown): string => {
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'string') {
    const text = JSON.stringify(value)
    return text.length > 60 ? `${text.slice(0, 57)}..."` : text
  }
  // TOML's own words for the numbers that JSON does not have.
  return isTable(value) ? 'a table' : String(value).replace('Infinity', 'inf').replace('NaN', 'nan')
}

const currentKeys = (node: SchemaNode): readonly string[] =>
  Object.entries(node.properties ?? {}).flatMap(([key, child]) => (child.deprecated ? [] : [key]))

/** Where a key of our tables with fixed keys belongs: `fail_fast` is `gate.fail_fast`. */
export const ownerOf = (key: string): string | undefined => {
  const table = ['project', 'repository', 'gate', 'acceptance'].find(
    name => own(own(schema.properties, name)?.properties, key) !== undefined,
  )
  const renamed = RENAMED.find(([owner, from]) => owner === table && from === key)
  return table && `${table}.${renamed?.[2] ?? key}`
}

const unknownKey = (at: readonly string[], key: string, node: SchemaNode): ConfigProblem => {
  const keys = currentKeys(node)
  return {
    path: [...at, key],
    problem: `unknown key; [${dotted(at)}] has ${keys.join(', ')}`,
    nearest: nearest(key, keys, Math.max(NEAR, Math.floor(key.length / 3))) ?? ownerOf(key),
  }
}

/** A name that only its spelling keeps from having a stage of its own. */
const meantJob = (path: readonly string[]): string | undefined => {
  const [table, name] = path
  if (table !== 'jobs' || name === undefined) return undefined
  const known = Object.keys(own(schema.properties, 'jobs')?.properties ?? {})
  const meant = known.includes(name) ? undefined : nearest(name, known)
  return meant && `jobs.${meant}`
}

/** What the first violation of the contract means. */
export const describeViolation = (document: unknown, found: readonly Violation[]): ConfigProblem => {
  const violation = found[0]
  if (!violation) throw new Error('there is no violation to describe')
  const path = violation.path.split('/').slice(1).map(unescapePointer)
  const { node, value } = schemaAt(document, path)
  const name = found.find(({ keyword }) => keyword === 'propertyNames')?.params['propertyName']
  if (typeof name === 'string') {
    const rule = own(schema.$defs, path[0] === 'jobs' ? 'jobName' : 'name')?.title ?? ''
    return { path: [...path, name], problem: `expected ${rule}`, nearest: meantJob([...path, name]) }
  }
  switch (violation.keyword) {
    case 'additionalProperties':
      return unknownKey(path, String(violation.params['additionalProperty']), node)
    case 'dependentRequired':
    case 'required': {
      // A key that is missing is most often there under a wrong name.
      const stray = isTable(value) && Object.keys(value).find(other => own(node.properties, other) === undefined)
      if (stray && node.additionalProperties === false) return unknownKey(path, stray, node)
      const key = String(violation.params['missingProperty'])
      const missing = schemaAt(document, [...path, key]).node
      const expected = missing.title ?? missing.description ?? 'a value'
      return { path: [...path, key], problem: `missing; expected ${expected}`, nearest: meantJob(path) }
    }
    case 'false schema':
      return { path, problem: `not allowed here: ${node.description ?? ''}` }
    default: {
      const allowed = violation.params['allowedValues']
      return {
        path,
        problem: `expected ${node.title ?? TYPES[node.type ?? ''] ?? 'another value'}, found ${shown(value)}`,
        nearest:
          Array.isArray(allowed) && typeof value === 'string' ? nearest(value, allowed.map(String)) : meantJob(path),
      }
    }
  }
}

const unescapePointer = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~')

const dotted = (path: readonly string[]): string =>
  path.map(key => (/^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key))).join('.')

type Place = readonly [path: readonly string[], line: number]

const keysOf = (key: AST.TOMLKey): readonly string[] =>
  key.keys.map(part => (part.type === 'TOMLBare' ? part.name : part.value))

const placesIn = (node: AST.TOMLKeyValue | AST.TOMLTable | AST.TOMLContentNode, at: readonly string[]): Place[] => {
  switch (node.type) {
    case 'TOMLTable': {
      const path = node.resolvedKey.map(String)
      return [[path, node.loc.start.line], ...node.body.flatMap(child => placesIn(child, path))]
    }
    case 'TOMLKeyValue': {
      const path = [...at, ...keysOf(node.key)]
      return [[path, node.loc.start.line], ...placesIn(node.value, path)]
    }
    case 'TOMLInlineTable':
      return node.body.flatMap(child => placesIn(child, at))
    case 'TOMLArray':
      return node.elements.flatMap((child, index) => {
        const path = [...at, String(index)]
        return [[path, child.loc.start.line] as const, ...placesIn(child, path)]
      })
    case 'TOMLValue':
      return []
  }
}

/** Every key of the file with its line, in the order of the file; empty for a file that is not TOML. */
export const readPlaces = (text: string): readonly Place[] => {
  try {
    return parseTOML(text, { tomlVersion: 'latest' }).body[0].body.flatMap(node => placesIn(node, []))
  } catch {
    return []
  }
}

/** The line of a key, of its nearest table that is in the file, or 1. */
const lineOf = (text: string, path: readonly string[]): number => {
  const places = readPlaces(text)
  for (let length = path.length; length > 0; length -= 1) {
    const found = places.find(([place]) => path.slice(0, length).every((key, index) => place[index] === key))
    if (found) return found[1]
  }
  return 1
}

/** The refusal for one problem, with the line that the text has it on. */
export const configRefusal = (text: string, file: string, problem: ConfigProblem): Refusal<'invalid_config'> =>
  new Refusal('invalid_config', {
    file,
    line: lineOf(text, problem.path),
    key: dotted(problem.path),
    problem: problem.problem,
    nearest: problem.nearest ?? (problem.unknown && nearest(problem.unknown.word, problem.unknown.among)),
  })
