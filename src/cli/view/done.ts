/** What a person reads after `done`: what ran, what failed and how to see it again, what was proven. */
import type { Diagnostic, Result, Step } from '../../result.ts'
import type { Block, Row, Tone } from '../render.ts'
import { type CheckpointView, owedBlocks } from './owed.ts'

interface DoneData {
  readonly mode?: string
  readonly unreviewed?: readonly string[]
  readonly checkpoints?: readonly CheckpointView[]
  readonly failed_stage?: string | null
  readonly gate_ran?: boolean
  readonly scopes_changed?: readonly string[]
  readonly proof?: { readonly branch: string; readonly trunk: string; readonly head: string } & Readonly<
    Record<string, number>
  >
}

const TONES: Readonly<Record<string, Tone>> = { ok: 'good', failed: 'bad', cancelled: 'warn', skipped: 'dim' }
const WORDS: Readonly<Record<string, string>> = { ok: 'passed' }

const stepRow = (step: Step): Row => {
  const label = step.group ? `${step.group}: ${step.label}` : step.label
  const outcome = step.outcome ?? step.disposition
  const word = WORDS[outcome] ?? outcome
  const time = step.duration_s === undefined ? '' : ` in ${step.duration_s.toFixed(1)}s`
  return [label, `${word}${time}${step.note ? ` (${step.note})` : ''}`, TONES[outcome]]
}

const diagnosticBlocks = (diagnostic: Diagnostic): readonly Block[] => [
  { kind: 'heading', text: `${diagnostic.tool} failed: ${diagnostic.message}` },
  ...(diagnostic.output ? [{ kind: 'code', text: diagnostic.output } as const] : []),
  { kind: 'line', text: `again: ${diagnostic.reproduce_cmd}` },
  ...(diagnostic.output_path
    ? [{ kind: 'line', text: `all of it: ${diagnostic.output_path}`, tone: 'dim' } as const]
    : []),
]

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

/** A report says what passed and what nobody reviewed; it proves nothing. */
const reportBlocks = ({ unreviewed = [] }: DoneData): readonly Block[] => [
  { kind: 'line', text: 'gate passed (report only, nothing was recorded)', tone: 'good' },
  ...(unreviewed.length > 0
    ? [{ kind: 'line', text: `unreviewed, not enforced: ${unreviewed.join(', ')}`, tone: 'warn' } as const]
    : []),
]

const proofBlocks = (data: DoneData, ok: boolean): readonly Block[] => {
  const { proof } = data
  if (data.mode === 'report') return ok && data.gate_ran ? reportBlocks(data) : []
  if (!proof) return []
  const size = `${plural(proof['files_total'] ?? 0, 'file')}, +${proof['insertions'] ?? 0} -${proof['deletions'] ?? 0} against ${proof.trunk}`
  const how = data.gate_ran ? 'gate passed' : 'Proof is current, nothing had to run'
  return [{ kind: 'line', text: `${how}: ${proof.branch} at ${proof.head} (${size})`, tone: 'good' }]
}

export const view = (result: Result, told: boolean): readonly Block[] => {
  const data = (result.data ?? {}) as DoneData
  const steps = result.plan ?? (told ? [] : (result.steps ?? []))
  return [
    ...(result.dry_run ? [{ kind: 'line', text: 'would run, in this order:' } as const] : []),
    ...(steps.length > 0 ? [{ kind: 'rows', rows: steps.map(stepRow) } as const] : []),
    ...(result.diagnostics ?? []).flatMap(diagnosticBlocks),
    ...owedBlocks(data.checkpoints ?? [], result.ok && !result.dry_run),
    ...proofBlocks(data, result.ok),
  ]
}
