/** What one producer's evidence holds for, as digests (facts 8.3). Pure: everything that can change a result is given. */
import type { ProducerState } from '../gate/inputs.ts'
import type { PlannedJob } from '../policy/definition.ts'
import { sha256Json } from '../store/digest.ts'
import type { Applicability } from './claim.ts'

/** The commit the evidence was made on, and the policy that governed there. */
export interface Ground {
  readonly policy: string
  readonly head: string
}

/**
 * With a declared closure the evidence counts for every commit of which all of this is true; else for its own commit alone.
 * Environment values are hashed one by one and never kept.
 */
export const applicabilityOf = (
  planned: PlannedJob,
  state: ProducerState,
  { policy, head }: Ground,
): Applicability => ({
  producer: planned.producer,
  policy,
  protected_definitions: sha256Json({
    requirement: planned.definition,
    standard: planned.standard ? planned.definition : null,
    inputs: planned.recipe.inputs ?? null,
    patterns: planned.recipe.inputs ?? null,
    per: planned.standard?.per ?? null,
  }),
  command: sha256Json(state.closure.map(({ producer, recipe }) => ({ selector: producer, run: recipe.run }))),
  extractor: planned.standard?.extract
    ? sha256Json([planned.standard.extract, planned.standard.artifact ?? null])
    : null,
  inputs: state.inputs,
  // A size is taken again at each commit that the evidence counts for, so that nothing of it has to be remembered.
  denominator_inputs: sha256Json(planned.standard?.per ?? null),
  toolchain: state.toolchain,
  environment: state.environment,
  seed: 0,
  closure: state.declared
    ? {
        kind: 'declared',
        declaration: sha256Json(state.closure.map(({ producer, definition }) => [producer, definition])),
      }
    : { kind: 'candidate', head },
})

/** The identity of what an applicability is about: a subject of attempts (facts 8.3). */
export const subjectOf = (applicability: Applicability): string => sha256Json(applicability)
