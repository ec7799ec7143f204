/** What a person reads after `notes list`, `notes merge` and `notes resolve`. */
import type { Result } from '../../result.ts'
import type { Block } from '../render.ts'

interface Conflict {
  readonly commit: string
  readonly local: readonly string[]
  readonly remote: readonly string[]
  readonly ref: string
}

type NotesData =
  | {
      readonly action: 'list'
      readonly ref: string
      readonly notes: readonly { readonly commit: string; readonly blob: string }[]
      readonly ambiguous: readonly { readonly commit: string; readonly blobs: readonly string[] }[]
    }
  | {
      readonly action: 'merge'
      readonly ref: string
      readonly adopted: number
      readonly restored: number
      readonly conflicts: readonly Conflict[]
      readonly unreadable_refs: readonly string[]
    }
  | {
      readonly action: 'resolve'
      readonly commit: string
      readonly keep: string
      readonly remaining: readonly Conflict[]
    }

const notes = (count: number): string => `${count} ${count === 1 ? 'note' : 'notes'}`

const conflictBlock = ({ commit, local, remote, ref }: Conflict): Block => ({
  kind: 'rows',
  rows: [
    ['commit', commit, 'bad'],
    ['here', local.join(', ') || 'none'],
    [ref, remote.join(', ')],
  ],
})

/** Pure; an answer without data, such as a refusal, shows nothing here. */
export const view = ({ data }: Result): readonly Block[] => {
  const answer = data as NotesData | undefined
  switch (answer?.action) {
    case 'list':
      return [
        ...(answer.notes.length + answer.ambiguous.length === 0
          ? [{ kind: 'line', text: `${answer.ref} holds no notes` } as const]
          : []),
        // As `git notes list` prints it: the note first.
        ...answer.notes.map(({ commit, blob }) => ({ kind: 'line', text: `${blob} ${commit}` }) as const),
        ...answer.ambiguous.map(
          ({ commit, blobs }) =>
            ({ kind: 'line', text: `ambiguous ${commit}: ${blobs.join(', ')}`, tone: 'bad' }) as const,
        ),
      ]
    case 'merge':
      return [
        {
          kind: 'line',
          text:
            answer.adopted + answer.restored === 0
              ? `${answer.ref} holds everything that was fetched`
              : `adopted ${notes(answer.adopted)}, restored ${answer.restored}`,
          tone: 'good',
        },
        ...answer.unreadable_refs.map(
          ref => ({ kind: 'line', text: `${ref} holds no commit and was left alone`, tone: 'warn' }) as const,
        ),
        ...answer.conflicts.map(conflictBlock),
      ]
    case 'resolve':
      return [
        { kind: 'line', text: `the ${answer.keep} Proof stands for ${answer.commit}`, tone: 'good' },
        ...answer.remaining.map(conflictBlock),
      ]
    case undefined:
      return []
  }
}
