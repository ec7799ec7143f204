/** What a person reads of `queue`: each branch with what it waits for, and what cannot be read. `status` shows the same rows. */
import type { Result } from '../../result.ts'
import type { Block, Row, Tone } from '../render.ts'

export interface QueueRowView {
  readonly branch: string
  readonly target: string
  readonly state: 'ready' | 'pending' | 'landed'
  readonly relation: 'selected' | 'ahead' | 'behind' | 'other'
  readonly pending: readonly { readonly waits_for: string; readonly command: string }[]
  readonly consent: { readonly source: string; readonly scopes?: readonly string[] }
  readonly note: string
}

interface QueueData {
  readonly trunk: { readonly name: string; readonly tip: string | null }
  readonly rows: readonly QueueRowView[]
  readonly unavailable: readonly {
    readonly worktree: string
    readonly branch: string | null
    readonly reason: string
  }[]
}

const short = (oid: string | null): string => (oid ?? 'nothing').slice(0, 12)

const RELATIONS: Readonly<Record<QueueRowView['relation'], string>> = {
  selected: 'checked out here',
  ahead: 'fast-forward',
  behind: 'on the trunk',
  other: 'the trunk went another way',
}

const TONES: Readonly<Record<QueueRowView['state'], Tone>> = { ready: 'good', pending: 'plain', landed: 'dim' }

const CONSENTS: Readonly<Record<string, string>> = {
  'effort-grant': '; allowed by an effort grant',
  'standing-grant': '; allowed by a standing grant',
}

const consentWords = ({ consent, state }: QueueRowView): string => {
  if (state === 'landed') return ''
  const scopes = consent.scopes ? ` (${consent.scopes.join(', ')})` : ''
  return `${CONSENTS[consent.source] ?? ''}${scopes}`
}

/** One line for a row, without what it waits for. */
export const queueLine = (row: QueueRowView): string =>
  `${row.state}, ${RELATIONS[row.relation]}, at ${short(row.target)}${consentWords(row)}`

/** A row with everything it waits for. */
export const queueRow = (row: QueueRowView): Row => [row.branch, queueLine(row), TONES[row.state]]

export const view = (result: Result): readonly Block[] => {
  if (!result.data) return []
  const { trunk, rows, unavailable } = result.data as QueueData
  const blocks: Block[] = []
  if (rows.length + unavailable.length === 0) {
    return [{ kind: 'line', text: `nothing waits to land on ${trunk.name} (${short(trunk.tip)})` }]
  }
  for (const row of rows) {
    blocks.push({ kind: 'line', text: `${row.branch}: ${queueLine(row)}`, tone: TONES[row.state] })
    blocks.push({
      kind: 'list',
      items: row.pending.flatMap(({ waits_for, command }) => [`waits for ${waits_for}`, `  ${command}`]),
    })
  }
  for (const { worktree, branch, reason } of unavailable) {
    const what = branch === null ? 'its submissions' : `what ${branch} asks to land`
    blocks.push({ kind: 'line', text: `${worktree}: ${what} cannot be read: ${reason}`, tone: 'warn' })
  }
  return blocks
}
