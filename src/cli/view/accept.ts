/** What a person reads after `accept`: what landed, who consented, where the Proof is. */
import type { Result } from '../../result.ts'
import type { Block, Row, Tone } from '../render.ts'
import { type CheckpointView, owedBlocks } from './owed.ts'

interface AcceptData {
  readonly checkpoints?: readonly CheckpointView[]
  readonly branch?: string
  readonly trunk?: string
  readonly commit?: string
  readonly previous?: string
  readonly summary?: readonly string[]
  readonly consent?: { readonly source: string; readonly scopes?: readonly string[] }
  readonly variances?: readonly { readonly checkpoint: string; readonly why: string }[]
  readonly landed?: readonly { readonly branch: string; readonly commit: string }[]
  readonly waiting?: readonly { readonly branch: string; readonly message: string; readonly hints: readonly string[] }[]
  readonly landing?: { readonly recovery_performed: boolean }
  readonly proof_note?: {
    readonly write: { readonly status: string; readonly ref: string; readonly reason?: string }
    readonly fetch: { readonly status: string }
  }
}

const NOTE_WORDS: Readonly<Record<string, readonly [string, Tone]>> = {
  recorded: ['recorded', 'good'],
  already_present: ['already there', 'good'],
  record_failed: ['not recorded yet', 'warn'],
  missing_proof: ['there was no Proof to record', 'warn'],
}

const short = (oid: string | undefined): string => (oid ?? '').slice(0, 12)

/** Advice was given before; a landing is about conclusions. */
const stands = ({ mode }: CheckpointView): boolean => mode === 'stop'

/** Several landings: what landed, and of each other branch why it waits. */
const severalBlocks = (
  landed: NonNullable<AcceptData['landed']>,
  waiting: AcceptData['waiting'] = [],
): readonly Block[] => [
  ...(landed.length + waiting.length === 0 ? [{ kind: 'line', text: 'no branch asks to land' } as const] : []),
  ...landed.map(
    ({ branch, commit }): Block => ({ kind: 'line', text: `landed ${branch} at ${short(commit)}`, tone: 'good' }),
  ),
  ...waiting.flatMap(({ branch, message, hints }): readonly Block[] => [
    { kind: 'line', text: `${branch} waits: ${message}`, tone: 'warn' },
    ...hints.map((hint): Block => ({ kind: 'line', text: `  ${hint}`, tone: 'dim' })),
  ]),
]

export const view = (result: Result): readonly Block[] => {
  const data = (result.data ?? {}) as AcceptData
  if (data.landed) return severalBlocks(data.landed, data.waiting)
  if (result.dry_run) {
    return [
      { kind: 'list', items: data.summary ?? [] },
      { kind: 'line', text: 'would, after consent:' },
      { kind: 'list', items: (result.plan ?? []).map(step => step.label) },
    ]
  }
  if (!data.landing) return owedBlocks((data.checkpoints ?? []).filter(stands), true)
  const [word, tone] = NOTE_WORDS[data.proof_note?.write.status ?? ''] ?? ['unknown', 'warn' as Tone]
  return [
    {
      kind: 'line',
      text: `${data.landing.recovery_performed ? 'finished the landing of' : 'landed'} ${data.branch} on ${data.trunk}`,
      tone: 'good',
    },
    {
      kind: 'rows',
      rows: [
        [data.trunk ?? 'trunk', `${short(data.previous)} -> ${short(data.commit)}`],
        [
          'consent',
          `${data.consent?.source ?? 'unknown'}${data.consent?.scopes ? ` (${data.consent.scopes.join(', ')})` : ''}`,
        ],
        ...(data.variances ?? []).map(({ checkpoint, why }): Row => ['variance', `${checkpoint}: ${why}`]),
        ['Proof', `${word} (${data.proof_note?.write.ref ?? 'refs/notes/discern'})`, tone],
      ],
    },
  ]
}
