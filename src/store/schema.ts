/**
 * Validates a value against one of the JSON contracts in `schema/`. The validators are compiled when the program is built
 * (`src/build.mjs`) and each is loaded when it is first used, so that starting a command compiles nothing.
 */
import { createRequire } from 'node:module'

export type SchemaName =
  | 'discern-config'
  | 'discern-proof-note'
  | 'discern-proof-payload'
  | 'discern-gate-proof'
  | 'discern-records'
  | 'discern-logbook'
  | 'discern-delivery-checkpoint'
  | 'discern-results'

/** One violation: where in the value, which keyword, and in words. */
export interface Violation {
  readonly path: string
  readonly keyword: string
  readonly message: string
  readonly params: Readonly<Record<string, unknown>>
}

interface Validator {
  (value: unknown): boolean
  errors?:
    | readonly { instancePath: string; keyword: string; message?: string; params: Record<string, unknown> }[]
    | null
}

/** The bundle has the validators inside; from source each is read from where the build put it. */
declare const bundledValidators: Readonly<Record<string, () => Validator>> | undefined

const load = (name: SchemaName): Validator => {
  if (typeof bundledValidators === 'undefined') {
    return createRequire(import.meta.url)(`../../dist/validators/${name}.cjs`) as Validator
  }
  const bundled = bundledValidators[name]
  if (!bundled) throw new Error(`no contract ${name}`)
  return bundled()
}

const loaded = new Map<SchemaName, Validator>()

/** Looked for once: a Logbook has a hundred thousand lines. */
const validatorOf = (name: SchemaName): Validator => {
  const validator = loaded.get(name) ?? load(name)
  loaded.set(name, validator)
  return validator
}

/** Every violation of the named contract, in the order found; empty when the value is valid. */
export const violations = (name: SchemaName, value: unknown): readonly Violation[] => {
  const validate = validatorOf(name)
  if (validate(value)) return []
  return (validate.errors ?? []).map(error => ({
    path: error.instancePath,
    keyword: error.keyword,
    message: error.message ?? error.keyword,
    params: error.params,
  }))
}

/** Throws our own defect when a value that we are about to write breaks its contract. */
export const assertValid = (name: SchemaName, value: unknown): void => {
  const first = violations(name, value)[0]
  if (first) throw new Error(`${name}: ${first.path || '/'} ${first.message}`)
}
