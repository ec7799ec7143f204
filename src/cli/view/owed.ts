/** Questions and what is owed for them, as `done`, `checkpoints`, `prepare` and `status` show them alike. */
import type { Block } from '../render.ts'

export interface CheckpointView {
  readonly id: string
  readonly mode: string
  readonly question: string
  readonly teach?: string
  readonly reference?: string
  readonly trigger: string
  readonly obligation: string
  readonly fired: boolean
  readonly preview?: {
    readonly holds: boolean
    readonly vetoed_by?: string
    readonly matched?: readonly string[]
    readonly related?: readonly string[]
  }
  readonly open_question?: {
    readonly matched: readonly string[]
    readonly declaration?: { readonly conclusion: string; readonly why?: string; readonly current: boolean }
  }
}

const OWED = ['awaiting_declaration', 'reopened', 'will_open']

/** What an obligation means to the one who finishes (facts 5.4). */
export const OBLIGATION_WORDS: Readonly<Record<string, string>> = {
  none: 'nothing is owed',
  unknown: 'not known yet; it may require your conclusion',
  will_open: 'done will ask',
  awaiting_declaration: 'awaits your conclusion',
  reopened: 'asked again: what it is about changed',
  declared_met: 'declared met',
  declared_unmet: 'declared unmet; landing needs the owner\u2019s variance',
}

const few = (paths: readonly string[]): string =>
  paths.length <= 6 ? paths.join(', ') : `${paths.slice(0, 6).join(', ')} and ${paths.length - 6} more`

/** The question itself, why it fired, what it is about, and the commands that answer it. */
export const questionBlocks = (checkpoint: CheckpointView): readonly Block[] => {
  const { id, question, trigger, preview, open_question, teach, reference } = checkpoint
  const matched = preview?.matched?.length ? preview.matched : (open_question?.matched ?? [])
  const related = preview?.related ?? []
  return [
    { kind: 'heading', text: `${id}: ${OBLIGATION_WORDS[checkpoint.obligation] ?? checkpoint.obligation}` },
    ...question
      .trim()
      .split(/\r?\n/)
      .map(text => ({ kind: 'line', text: `  ${text}` }) as const),
    {
      kind: 'rows',
      rows: [
        ['fired by', trigger],
        ['about', few(matched)],
        ...(related.length > 0 ? ([['beside', few(related)]] as const) : []),
        ...(teach ? ([['know', teach]] as const) : []),
        ...(reference ? ([['see', reference]] as const) : []),
      ],
    },
    { kind: 'code', text: `git discern done --met ${id}\ngit discern done --unmet ${id} --why "<reason>"` },
  ]
}

/** Owed questions in full; with `declaredToo`, one line for each conclusion that stands, and for each advice that fired. */
export const owedBlocks = (checkpoints: readonly CheckpointView[], declaredToo: boolean): readonly Block[] => [
  ...checkpoints.filter(({ obligation }) => OWED.includes(obligation)).flatMap(questionBlocks),
  ...checkpoints
    .filter(({ mode, fired }) => mode === 'advise' && fired)
    .flatMap(({ id, question, preview }): readonly Block[] => [
      { kind: 'line', text: `advice ${id}: ${question.trim().split('\n')[0]}`, tone: 'warn' },
      { kind: 'line', text: `  about ${few(preview?.matched ?? [])}` },
    ]),
  ...(declaredToo
    ? checkpoints
        .filter(({ obligation }) => obligation === 'declared_met' || obligation === 'declared_unmet')
        .map(({ id, obligation, open_question }): Block => {
          const why = open_question?.declaration?.why
          return { kind: 'line', text: `${id}: ${OBLIGATION_WORDS[obligation]}${why ? ` (${why})` : ''}` }
        })
    : []),
]
