/** What a person reads of `status`: the change, what is missing, what landed; nothing about what is in order. */
import type { Result } from '../../result.ts'
import type { Block, Row } from '../render.ts'
import { type CheckpointView, OBLIGATION_WORDS } from './owed.ts'
import { type QueueRowView, queueLine } from './queue.ts'

interface LandedProof {
  readonly commit: string
  readonly ref: string
  readonly proof: { readonly branch: string; readonly line: string; readonly markdown?: string }
}

interface StatusData {
  readonly set_up: boolean
  readonly branch: string | null
  readonly head: string | null
  readonly trunk: { readonly name: string; readonly tip: string | null }
  readonly relation: string
  readonly operation?: string
  readonly marker: { readonly status: string; readonly current: boolean; readonly explanation: string }
  readonly missing: { readonly done: readonly string[]; readonly accept: readonly string[] }
  readonly landed_proof?: LandedProof
  readonly landed_proof_stale?: { readonly commit: string; readonly reason: string }
  readonly landed_proof_unsupported?: { readonly commit: string; readonly format: string }
  readonly trunk_proof: string
  readonly dirty: readonly string[]
  readonly questions: readonly CheckpointView[]
  readonly queue: readonly QueueRowView[]
  readonly queue_unavailable: readonly { readonly worktree: string; readonly reason: string }[]
  readonly pending_notes: readonly { readonly commit: string; readonly branch: string }[]
  readonly proof_notes: {
    readonly fetch?: { readonly added?: readonly string[] }
    readonly publication: readonly { readonly remote: string; readonly state: string; readonly command?: string }[]
  }
  readonly projection: { readonly omitted: Readonly<Record<string, number>> }
}

const short = (oid: string | null | undefined): string => (oid ? oid.slice(0, 12) : 'none')

const RELATIONS: Readonly<Record<string, string>> = {
  'on-trunk': 'this is the trunk',
  ahead: 'contains the trunk',
  diverged: 'does not contain the trunk',
  landed: 'already on the trunk',
  'no-trunk': 'there is no local trunk',
  unknown: 'history is missing, the relation is unknown',
}

/** What is said of notes that a remote does not have; nothing is said of published ones. */
const PUBLICATION: Readonly<Record<string, string>> = {
  behind: 'not yet published to',
  unknown: 'not yet published, as far as is known here, to',
  diverged: 'the histories differ here and at',
  conflict: 'two Proofs of one commit stand here and at',
}

const landedRow = (data: StatusData): Row => {
  if (data.landed_proof) {
    const { commit, proof, ref } = data.landed_proof
    return ['landed Proof', `${short(commit)} from ${proof.branch} (${ref})`, 'good']
  }
  if (data.landed_proof_stale)
    return ['landed Proof', `${short(data.landed_proof_stale.commit)} stale: ${data.landed_proof_stale.reason}`, 'warn']
  if (data.landed_proof_unsupported) {
    return [
      'landed Proof',
      `${short(data.landed_proof_unsupported.commit)} in a format that is not supported here: ${data.landed_proof_unsupported.format}`,
      'warn',
    ]
  }
  return ['landed Proof', `the tip ${short(data.trunk.tip)} has no Proof`, 'dim']
}

export const view = (result: Result): readonly Block[] => {
  if (!result.data) return []
  const data = result.data as StatusData
  const rows: Row[] = [
    ['branch', `${data.branch ?? 'detached'} at ${short(data.head)}`],
    ['trunk', `${data.trunk.name} at ${short(data.trunk.tip)} (${RELATIONS[data.relation] ?? data.relation})`],
  ]
  if (data.set_up && data.relation !== 'on-trunk' && data.relation !== 'landed') {
    rows.push(['Proof', data.marker.explanation, data.marker.current ? 'good' : 'plain'])
  }
  rows.push(landedRow(data))
  for (const { remote, state } of data.proof_notes.publication) {
    const words = PUBLICATION[state]
    if (words) rows.push(['notes', `${words} ${remote}`, 'warn'])
  }
  for (const remote of data.proof_notes.fetch?.added ?? []) rows.push(['fetch', `added ${remote}`])
  for (const { branch, commit } of data.pending_notes)
    rows.push(['owed', `the note of ${branch} at ${short(commit)}`, 'warn'])
  for (const row of data.queue) {
    const [first] = row.pending
    const waits = first && row.state === 'pending' ? `; waits for ${first.waits_for}` : ''
    rows.push(['queue', `${row.branch}: ${queueLine(row)}${waits}`, row.state === 'ready' ? 'good' : 'plain'])
  }
  const omitted = data.projection.omitted['queue'] ?? 0
  if (omitted > 0) rows.push(['queue', `and ${omitted} more: git discern queue`])
  for (const { worktree, reason } of data.queue_unavailable)
    rows.push(['queue', `what ${worktree} asks to land cannot be read: ${reason}`, 'warn'])
  for (const { id, mode, obligation, question } of data.questions) {
    if (mode === 'advise') rows.push([`advice ${id}`, question.split('\n')[0] ?? ''])
    else
      rows.push([
        `question ${id}`,
        OBLIGATION_WORDS[obligation] ?? obligation,
        obligation === 'declared_met' ? 'plain' : 'warn',
      ])
  }
  const blocks: Block[] = [{ kind: 'rows', rows }]
  if (data.missing.done.length > 0) {
    blocks.push({ kind: 'line', text: 'before done:' }, { kind: 'list', items: data.missing.done })
  }
  if (data.dirty.length > 0) {
    const omitted = data.projection.omitted['dirty'] ?? 0
    blocks.push(
      { kind: 'line', text: 'uncommitted:' },
      { kind: 'list', items: [...data.dirty, ...(omitted > 0 ? [`and ${omitted} more`] : [])] },
    )
  }
  const page = data.landed_proof?.proof.markdown
  if (page)
    blocks.push(
      { kind: 'heading', text: `Proof of ${short(data.landed_proof?.commit)}` },
      { kind: 'markdown', text: page },
    )
  return blocks
}
