/** What a person reads after `accept`: what landed, who consented, where the Proof is. */
import type { Result } from '../../result.ts'
import type { Block, Tone } from '../render.ts'
import { type CheckpointView, owedBlocks } from './owed.ts'

interface AcceptData {
  readonly checkpoints?: readonly CheckpointView[]
  readonly branch?: string
  readonly trunk?: string
  readonly commit?: string
  readonly previous?: string
  readonly summary?: readonly string[]
  readonly consent?: { readonly source: string }
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

export const view = (result: Result): readonly Block[] => {
  const data = (result.data ?? {}) as AcceptData
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
        ['consent', data.consent?.source ?? 'unknown'],
        ['Proof', `${word} (${data.proof_note?.write.ref ?? 'refs/notes/discern'})`, tone],
      ],
    },
  ]
}
