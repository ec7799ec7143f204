/** What a person reads of `checkpoints`: what is owed in full, the rest one line each. */
import { durationWords } from '../../logbook/basis.ts'
import type { Result } from '../../result.ts'
import type { Block } from '../render.ts'
import { type CheckpointView, OBLIGATION_WORDS, questionBlocks } from './owed.ts'

interface CheckpointsData {
  readonly policy?: string
  readonly checkpoints: readonly CheckpointView[]
  readonly ungoverned: readonly { readonly id: string }[]
  readonly drops: readonly unknown[]
  readonly economics?: {
    readonly lines: number
    readonly checkpoints: readonly {
      readonly id: string
      readonly fired: number
      readonly met: number
      readonly unmet: number
      readonly varied: number
      readonly median_answer_ms?: number
    }[]
  }
}

const OWED = ['awaiting_declaration', 'reopened', 'will_open']

/** Why nothing is listed: an answer that is not known is never told as none. */
const nothing = ({ policy, drops }: CheckpointsData): string => {
  if (policy === undefined) return 'nothing can be asked here: there is no branch, no commit or no trunk'
  return drops.length > 0
    ? 'no checkpoint can be asked here, enforcement was lost:'
    : 'no checkpoint governs here: the trunk\u2019s discern.toml has no [checkpoints]'
}

const why = ({ obligation, preview, mode, fired, open_question }: CheckpointView): string => {
  if (mode === 'advise')
    return fired ? 'advice for this change' : `not for this change (${preview?.vetoed_by ?? 'unknown'})`
  if (obligation === 'none') return `not asked (${preview?.vetoed_by ?? 'unknown'})`
  const rationale = open_question?.declaration?.why
  return `${OBLIGATION_WORDS[obligation] ?? obligation}${rationale ? `: ${rationale}` : ''}`
}

/** What each checkpoint cost and brought lately, as the Logbook tells. */
const lately = ({ economics }: CheckpointsData): readonly Block[] =>
  economics === undefined
    ? []
    : [
        { kind: 'heading', text: `in the newest ${economics.lines} lines of the Logbook` },
        {
          kind: 'rows',
          rows: economics.checkpoints.map(({ id, fired, met, unmet, varied, median_answer_ms: ms }) => [
            id,
            `fired in ${fired} ${fired === 1 ? 'effort' : 'efforts'}, declared met ${met}, unmet ${unmet}, landed under a variance ${varied}${ms === undefined ? '' : `, answered in ${durationWords(ms)}`}`,
          ]),
        },
      ]

export const view = (result: Result): readonly Block[] => {
  if (!result.data) return []
  const data = result.data as CheckpointsData
  const { policy, checkpoints, ungoverned } = data
  if (checkpoints.length === 0 && ungoverned.length === 0) return [{ kind: 'line', text: nothing(data) }]
  return [
    { kind: 'line', text: `policy of ${policy?.slice(0, 12) ?? 'unknown'}` },
    {
      kind: 'rows',
      rows: checkpoints.map(
        checkpoint =>
          [
            `${checkpoint.id} (${checkpoint.mode})`,
            `${checkpoint.trigger}: ${why(checkpoint)}`,
            OWED.includes(checkpoint.obligation) ? 'warn' : 'plain',
          ] as const,
      ),
    },
    ...lately(data),
    ...checkpoints.filter(({ obligation }) => OWED.includes(obligation)).flatMap(questionBlocks),
    ...(ungoverned.length > 0
      ? [{ kind: 'line', text: `history, no longer asked: ${ungoverned.map(({ id }) => id).join(', ')}` } as const]
      : []),
  ]
}
