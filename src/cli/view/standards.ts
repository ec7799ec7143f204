/** What a person reads of `standards`: each value against its limit, what the trunk says to it, and what awaits the owner. */
import type { Result } from '../../result.ts'
import type { Block, Row, Tone } from '../render.ts'

interface StandardView {
  readonly name: string
  readonly direction: 'up' | 'down'
  readonly limit: number
  readonly margin: number
  readonly verdict: string
  readonly reading?: number
  readonly reason?: string
  readonly measured_at?: string
  readonly ratchet?: { readonly status: string; readonly sentence: string }
}

interface ProposalView {
  readonly standard: string
  readonly trunk_limit: number
  readonly proposed_limit: number
  readonly reason: string
  readonly token: string
  readonly commit?: string
}

interface StandardsData {
  readonly standards: readonly StandardView[]
  readonly lost?: readonly { readonly standard: string; readonly sentence: string }[]
  readonly proposals?: readonly ProposalView[]
  readonly proposal?: ProposalView
  readonly tightened?: readonly { readonly standard: string; readonly from: number; readonly to: number }[]
  readonly commit?: string
}

const TONES: Readonly<Record<string, Tone>> = {
  improved: 'good',
  held: 'good',
  breached: 'bad',
  unavailable: 'bad',
  unmeasured: 'dim',
}

const rowOf = ({
  name,
  direction,
  limit,
  margin,
  verdict,
  reading,
  reason,
  measured_at,
  ratchet,
}: StandardView): Row => {
  const bound = `${direction === 'up' ? 'at least' : 'at most'} ${limit}${margin > 0 ? ` (margin ${margin})` : ''}`
  const value = reading === undefined ? '' : `${reading}, `
  const since = measured_at === undefined ? '' : ` (measured at ${measured_at.slice(0, 12)})`
  const trunk = ratchet === undefined || ratchet.status === 'verified' ? '' : `; ${ratchet.sentence}`
  const tone = ratchet?.status === 'failed' ? 'bad' : (TONES[verdict] ?? 'plain')
  return [name, `${value}${bound}: ${verdict}${reason === undefined ? '' : `: ${reason}`}${since}${trunk}`, tone]
}

/** A limit that awaits the owner, with the words that say yes and no. */
export const proposalBlocks = ({
  standard,
  trunk_limit,
  proposed_limit,
  reason,
  token,
}: ProposalView): readonly Block[] => [
  { kind: 'heading', text: `proposed: ${standard} ${trunk_limit} -> ${proposed_limit}` },
  { kind: 'line', text: `  ${reason}` },
  {
    kind: 'line',
    text: `  lands only with the owner's approval; restoring ${trunk_limit} takes it back`,
    tone: 'warn',
  },
  { kind: 'code', text: `git discern accept --confirmed --approve-standard ${token}` },
]

export const view = (result: Result, told: boolean): readonly Block[] => {
  if (!result.data) return []
  const { standards, lost = [], proposals = [], proposal, tightened, commit } = result.data as StandardsData
  if (standards.length === 0 && lost.length === 0) {
    return [{ kind: 'line', text: 'discern.toml has no [standards]' }]
  }
  const planned = (result.plan ?? []).map(
    ({ label, disposition, note }) => `${label}: ${disposition}${note ? ` (${note})` : ''}`,
  )
  const shown = [
    ...proposals.filter(({ standard }) => standard !== proposal?.standard),
    ...(proposal ? [proposal] : []),
  ]
  return [
    ...(planned.length > 0
      ? [{ kind: 'line', text: 'would run, in this order:' } as const, { kind: 'list', items: planned } as const]
      : []),
    ...(result.diagnostics ?? [])
      .filter(({ output }) => output !== undefined && !told)
      .flatMap(({ tool, output = '' }): readonly Block[] => [
        { kind: 'heading', text: `${tool} failed` },
        { kind: 'code', text: output },
      ]),
    { kind: 'rows', rows: [...standards.map(rowOf), ...lost.map(row => [row.standard, row.sentence, 'bad'] as const)] },
    ...(tightened ?? []).map(({ standard, from, to }): Block => {
      return { kind: 'line', text: `tightened: ${standard} ${from} -> ${to}`, tone: 'good' }
    }),
    ...(tightened?.length === 0 && !result.dry_run
      ? [{ kind: 'line', text: 'no limit could be tightened' } as const]
      : []),
    ...(commit === undefined ? [] : [{ kind: 'line', text: `committed ${commit.slice(0, 12)}` } as const]),
    ...shown.flatMap(proposalBlocks),
  ]
}
