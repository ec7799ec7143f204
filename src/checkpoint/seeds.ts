/**
 * The checkpoints that come with the program; `[checkpoints.<id>]` enables one and overrides it field by field (facts 3.3). None
 * of them blocks a change.
 */
import type { FieldName } from './fields.ts'

/** Values as they would stand in the file. */
export type Entry = Readonly<{ [N in FieldName]?: unknown }>

/** By id, which is stable. */
export const seeds: ReadonlyMap<string, Entry> = new Map<string, Entry>([
  [
    'deletion-heavy-change',
    {
      mode: 'advise',
      deletion_dominant: true,
      question:
        'Most of this change takes something away. For each thing that goes: who used it, how do you know that nobody does any longer, and how would you notice if you were wrong?',
    },
  ],
  [
    'parallel-implementation',
    {
      mode: 'advise',
      similar_new_file: true,
      question:
        'A new file is named like one beside it. Why does the existing file not do, and when does one of the two go away?',
    },
  ],
  [
    'new-binary-asset',
    {
      mode: 'advise',
      kinds: ['added'],
      binary: true,
      question:
        'A binary file comes in and stays in the history for good. Can it be built from something smaller, may it be distributed, and who will know how to replace it?',
    },
  ],
  [
    'effort-sprawl',
    {
      mode: 'advise',
      min_changed_files: 25,
      question:
        'This change touches many files. Is it one change, or several that could be reviewed, landed and taken back one by one?',
    },
  ],
  [
    'commit-story',
    {
      mode: 'advise',
      min_changed_files: 15,
      question:
        'Read as a list, do the commits of this change tell a reviewer what happened and why, each one able to stand by itself?',
    },
  ],
])

/** An entry over the seed of its name. The selector is one slot: either half of it replaces the seed's (facts 3.2). */
export const mergeSeed = (id: string, entry: Entry): Entry => {
  const { scope, paths, question, question_file, ...rest } = seeds.get(id) ?? {}
  const selects = Object.hasOwn(entry, 'scope') || Object.hasOwn(entry, 'paths')
  const asks = Object.hasOwn(entry, 'question') || Object.hasOwn(entry, 'question_file')
  return {
    ...rest,
    ...(selects || scope === undefined ? {} : { scope }),
    ...(selects || paths === undefined ? {} : { paths }),
    ...(asks || question === undefined ? {} : { question }),
    ...(asks || question_file === undefined ? {} : { question_file }),
    ...entry,
  }
}
