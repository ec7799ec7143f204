/** The owner's permission to land what the author declared unmet, named one by one in this conversation (facts 10.2). Pure. */
import type { Preflight } from '../checkpoint/preflight.ts'
import { Refusal } from '../errors.ts'
import type { Variance } from '../proof/claim.ts'

/** What each current declared-unmet conclusion is bound to, by checkpoint id in the order of the policy. */
export const unmetDeclarations = ({ checkpoints }: Preflight): readonly Variance[] =>
  checkpoints.flatMap(({ definition, obligation, question }) =>
    obligation === 'declared_unmet' && question?.declaration?.conclusion === 'unmet'
      ? [
          {
            checkpoint: definition.id,
            definition_hash: question.declaration.definitionHash,
            subject: question.declaration.subject,
            why: question.declaration.why,
          },
        ]
      : [],
  )

/**
 * The variances of a landing. The ids that were named must be exactly those that are declared unmet: one that is not refuses
 * with `invalid_value`; one that is missing, or no word of the owner in this conversation, refuses with `awaiting_variance`,
 * whose data is `data`. No grant stands in for either.
 */
export const settleVariances = (
  owed: Preflight,
  named: readonly string[],
  confirmed: boolean,
  data: object,
): readonly Variance[] => {
  const unmet = unmetDeclarations(owed)
  const [first, ...others] = unmet.map(({ checkpoint }) => checkpoint)
  const command = ['git discern accept --confirmed', ...unmet.map(({ checkpoint }) => `--variance ${checkpoint}`)].join(
    ' ',
  )
  const stray = named.find(id => !unmet.some(({ checkpoint }) => checkpoint === id))
  if (stray !== undefined) {
    throw new Refusal(
      'invalid_value',
      {
        what: '--variance',
        expected:
          first === undefined ? 'no variance: nothing is declared unmet' : `exactly ${[first, ...others].join(', ')}`,
        found: stray,
        next: command,
      },
      { data },
    )
  }
  if (first !== undefined && (!confirmed || unmet.some(({ checkpoint }) => !named.includes(checkpoint)))) {
    throw new Refusal('awaiting_variance', { checkpoints: [first, ...others] }, { data })
  }
  return unmet
}

/** Whether the declarations are still those that the owner allowed: compared again just before the trunk moves. */
export const sameVariances = (allowed: readonly Variance[], found: readonly Variance[]): boolean =>
  allowed.length === found.length &&
  allowed.every((one, at) => {
    const other = found[at]
    return (
      one.checkpoint === other?.checkpoint &&
      one.definition_hash === other.definition_hash &&
      one.subject === other.subject &&
      one.why === other.why
    )
  })
