/**
 * Validates a value against one of the JSON contracts in `schema/`. The validators are compiled when the program is built
 * (`src/build.mjs`) and each is loaded when it is first used, so that starting a command compiles nothing.
 */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

export type SchemaName =
  | 'discern-config'
  | 'discern-proof-note'
  | 'discern-proof-payload'
  | 'discern-gate-proof'
  | 'discern-records'
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

declare const DISCERN_BUNDLE: boolean | undefined
const loadModule = createRequire(import.meta.url)
const folder = fileURLToPath(
  new URL(typeof DISCERN_BUNDLE === 'undefined' ? '../../dist/validators/' : './validators/', import.meta.url),
)
const loaded = new Map<SchemaName, Validator>()

/** Every violation of the named contract, in the order found; empty when the value is valid. */
export const violations = (name: SchemaName, value: unknown): readonly Violation[] => {
  let validate = loaded.get(name)
  if (!validate) {
    validate = loadModule(`${folder}${name}.cjs`) as Validator
    loaded.set(name, validate)
  }
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
