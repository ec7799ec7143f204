/**
 * Whether a condition is true of an answer: True, False, or Unknown where it could not be evaluated, each with a reason (facts
 * 15). Nothing is read from anywhere; the same answers and the same time give the same verdict.
 */
import { createContext, runInContext } from 'node:vm'
import { escapeText } from '../escape.ts'
import {
  CONDITION_CLOCK_LIMIT_MS,
  CONDITION_MATCH_LIMIT_BYTES,
  CONDITION_MATCH_LIMIT_MS,
  CONDITION_QUOTE_LIMIT_CHARACTERS,
} from '../limits.ts'
import { replaceValues, type ValueName } from '../policy/delivery.ts'
import type { Fetched } from './endpoint.ts'
import type { Condition, Role, Test } from './settings.ts'

export type Truth = 'True' | 'False' | 'Unknown'

export interface Verdict {
  readonly endpoint: Role
  readonly name: string
  readonly value: Truth
  /** One harmless line. */
  readonly reason: string
}

/** What `${...}` stands for; a value that is not there makes a condition that names it Unknown. */
export type Values = Readonly<Partial<Record<ValueName, string>>>

/** A condition that cannot be evaluated, and why. */
class Unknown extends Error {}

const quote = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  const cut =
    text.length > CONDITION_QUOTE_LIMIT_CHARACTERS ? `${text.slice(0, CONDITION_QUOTE_LIMIT_CHARACTERS)}…` : text
  return escapeText(typeof value === 'string' ? JSON.stringify(cut) : cut)
}

/** A value of an answer can be of any depth and size; only its kind is said unless it is small by nature. */
const found = (value: unknown): string => {
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'a table' : quote(value)
}

/** Never throws for anything that is in an answer. */
export const evaluateCondition = (condition: Condition, fetched: Fetched, values: Values, now: Date): Verdict => {
  const { role: endpoint, name } = condition
  const verdict = (value: Truth, reason: string): Verdict => ({ endpoint, name, value, reason })
  if ('unavailable' in fetched) return verdict('Unknown', fetched.unavailable)
  try {
    const { holds, reason } = judge(condition.test, fetched.known, values, now)
    return verdict(holds ? 'True' : 'False', reason)
  } catch (error) {
    if (error instanceof Unknown) return verdict('Unknown', error.message)
    throw error
  }
}

interface Judged {
  readonly holds: boolean
  readonly reason: string
}

const judge = (
  test: Test,
  answer: { readonly status: number; readonly body: Buffer; readonly sha256: string },
  values: Values,
  now: Date,
): Judged => {
  switch (test.kind) {
    case 'status':
      return { holds: answer.status === test.status, reason: `expected ${test.status}, found ${answer.status}` }
    case 'sha256': {
      const expected = replaced(test.sha256, values)
      return { holds: answer.sha256 === expected, reason: `expected ${expected}, found ${answer.sha256}` }
    }
    case 'equals': {
      const expected = replacedIn(test.value, values)
      const value = valueAt(answer.body, test.pointer)
      return { holds: sameJson(expected, value), reason: `expected ${quote(expected)}, found ${found(value)}` }
    }
    case 'matches': {
      const value = valueAt(answer.body, test.pointer)
      if (typeof value !== 'string') return { holds: false, reason: `expected a text, found ${found(value)}` }
      const pattern = replaced(test.pattern, values, literally)
      return { holds: matches(pattern, value), reason: `expected ${quote(pattern)} in ${quote(value)}` }
    }
    case 'fresh':
      return fresh(valueAt(answer.body, test.pointer), test.seconds, now)
  }
}

const replaced = (text: string, values: Values, write: (value: string) => string = value => value): string =>
  replaceValues(text, name => {
    const value = Object.hasOwn(values, name) ? values[name as ValueName] : undefined
    if (value === undefined) throw new Unknown(`there is no ${name} to compare with`)
    return write(value)
  })

const replacedIn = (value: unknown, values: Values): unknown => {
  if (typeof value === 'string') return replaced(value, values)
  if (Array.isArray(value)) return value.map(item => replacedIn(item, values))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, replacedIn(member, values)]))
}

/** A value inside a regular expression stands for itself, also in a class of characters. */
const literally = (value: string): string =>
  value.replace(/[^A-Za-z0-9_]/gu, character => `\\u{${character.codePointAt(0)?.toString(16)}}`)

const valueAt = (body: Buffer, pointer: string): unknown => {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw new Unknown(body.length === 0 ? 'the body is empty' : 'the body is no JSON text in UTF-8')
  }
  let walked = ''
  for (const token of pointer.split('/').slice(1)) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
    walked += `/${token}`
    const reachable =
      typeof value === 'object' &&
      value !== null &&
      Object.hasOwn(value, key) &&
      (!Array.isArray(value) || /^(?:0|[1-9]\d*)$/.test(key))
    if (!reachable) throw new Unknown(`there is nothing at ${quote(walked)}`)
    value = (value as Readonly<Record<string, unknown>>)[key]
  }
  return value
}

/** Goes only as deep as what is expected, which the configuration bounds. */
const sameJson = (expected: unknown, value: unknown): boolean => {
  if (typeof expected !== 'object' || expected === null) return expected === value
  if (typeof value !== 'object' || value === null || Array.isArray(expected) !== Array.isArray(value)) return false
  const members = Object.entries(expected)
  return (
    Object.keys(value).length === members.length &&
    members.every(
      ([key, member]) => Object.hasOwn(value, key) && sameJson(member, (value as Record<string, unknown>)[key]),
    )
  )
}

/**
 * The expression comes from the trunk, the text from the network: both lengths are bounded, and so is the time, by V8 itself, which ends the expression
 * in its midst. Nothing of this program is reachable from in there.
 */
const matches = (pattern: string, text: string): boolean => {
  if (Buffer.byteLength(text) > CONDITION_MATCH_LIMIT_BYTES) {
    throw new Unknown(`the text is longer than ${CONDITION_MATCH_LIMIT_BYTES} bytes`)
  }
  const inside = createContext(Object.assign(Object.create(null), { pattern, text }))
  try {
    return runInContext('new RegExp(pattern, "u").test(text)', inside, { timeout: CONDITION_MATCH_LIMIT_MS }) === true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Unknown(
      code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
        ? `the expression took longer than ${CONDITION_MATCH_LIMIT_MS} ms`
        : 'the expression cannot be tried',
    )
  }
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/

const fresh = (value: unknown, seconds: number, now: Date): Judged => {
  const time = typeof value === 'string' && TIME.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(time)) throw new Unknown(`expected a time such as 2026-01-31T12:00:00Z, found ${found(value)}`)
  const ageMs = now.getTime() - time
  if (ageMs < -CONDITION_CLOCK_LIMIT_MS) return { holds: false, reason: `${quote(value)} is in the future` }
  return {
    holds: ageMs <= seconds * 1000,
    reason: `expected at most ${seconds} s ago, found ${Math.max(0, Math.round(ageMs / 1000))} s ago`,
  }
}
