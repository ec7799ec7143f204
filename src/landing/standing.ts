/** The owner's standing grant: scopes of the trunk's own configuration in which a change may land unasked (facts 10.3). */
import type { Configuration } from '../policy/definition.ts'
import { matchesAny } from '../policy/paths.ts'

export interface StandingQuestion {
  /** The configuration committed at the trunk's tip, never a branch's own. */
  readonly configuration: Pick<Configuration, 'acceptance' | 'scopes'>
  /** Every path that differs between the trunk's tip and the commit that would land, generated ones included. */
  readonly changedPaths: readonly string[]
}

/** `scopes` are those of the grant that some changed path is in, in the order of the file. */
export type StandingAnswer =
  | { readonly covered: true; readonly scopes: readonly [string, ...string[]]; readonly warnings: readonly string[] }
  /** `reason` is `undefined` where the trunk grants nothing, which nobody needs to be told. */
  | { readonly covered: false; readonly reason: string | undefined; readonly warnings: readonly string[] }

/**
 * Whether the standing grant covers a change: only when there is one and every path of it is inside at least one granted scope
 * that the configuration has. A name that is no scope grants nothing and comes back as a warning. Pure.
 */
export const standingGrant = ({ configuration, changedPaths }: StandingQuestion): StandingAnswer => {
  const named = configuration.acceptance.preAuthorized
  const known = new Set(configuration.scopes.map(({ name }) => name))
  const warnings = [...new Set(named)]
    .filter(name => !known.has(name))
    .map(name => `[acceptance].pre_authorized names ${JSON.stringify(name)}, which is no scope and grants nothing`)
  const refuse = (reason: string | undefined): StandingAnswer => ({ covered: false, reason, warnings })
  if (named.length === 0) return refuse(undefined)
  if (changedPaths.length === 0)
    return refuse('nothing differs from the trunk, and a standing grant covers changes alone')
  const granted = configuration.scopes
    .filter(({ name }) => named.includes(name))
    .map(({ name, paths }) => ({ name, matches: matchesAny(paths) }))
  const used = new Set<string>()
  const outside: string[] = []
  for (const path of changedPaths) {
    const inside = granted.filter(({ matches }) => matches(path))
    if (inside.length === 0) outside.push(path)
    for (const { name } of inside) used.add(name)
  }
  if (outside.length > 0) {
    const granting = granted.length > 0 ? granted.map(({ name }) => name).join(', ') : 'none that exists'
    const paths = outside.length === 1 ? '1 changed path is' : `${outside.length} changed paths are`
    return refuse(`${paths} outside the granted scopes (${granting})`)
  }
  const [first, ...others] = granted.flatMap(({ name }) => (used.has(name) ? [name] : []))
  return first === undefined ? refuse(undefined) : { covered: true, scopes: [first, ...others], warnings }
}
