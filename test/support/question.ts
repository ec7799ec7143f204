/** What the tests of open questions share: short words for hashes, bindings and entries. */
import type { ChangedFile } from '../../src/change/facts.ts'
import type { Binding, OpenQuestion } from '../../src/checkpoint/question.ts'

/** A digest that a person can tell from another: `digest('a')` is 64 times `a`. */
export const digest = (digit: string): string => digit.repeat(64)

export const binding = (
  checkpoint: string,
  definition: string,
  subject: string,
  more: Partial<Binding> = {},
): Binding => ({
  checkpoint,
  definitionHash: digest(definition),
  subject: digest(subject),
  matchedPaths: ['src/a.ts'],
  relatedPaths: [],
  ...more,
})

export const openEntry = (
  checkpoint: string,
  definition: string,
  subject: string,
  more: Partial<OpenQuestion> = {},
): OpenQuestion => ({ ...binding(checkpoint, definition, subject), openedAt: '2026-01-01T00:00:00.000Z', ...more })

export const changed = (path: string, more: Partial<ChangedFile> = {}): ChangedFile => ({
  path,
  kind: 'modified',
  insertions: 1,
  deletions: 0,
  binary: { known: false },
  ...more,
})
