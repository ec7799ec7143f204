/** What a person reads of `delivery`: where each one stands, what counts, what was lost and why, what may come next. */
import type { Result } from '../../result.ts'
import type { Block, Row } from '../render.ts'

interface EvidenceView {
  readonly part: string
  readonly kind: string
  readonly text?: string
  readonly oid?: string
  readonly sha256?: string
  readonly name?: string
  readonly url?: string
}

interface StageView {
  readonly checkpoint: string
  readonly title: string
  readonly status: 'valid' | 'invalidated' | 'missing'
  readonly generation?: number
  readonly source_commit?: string
  readonly accepted_by?: string
  readonly gate_ids?: readonly string[]
  readonly was?: number
  readonly by?: { readonly generation: number; readonly why: string }
  readonly needs?: readonly string[]
}

interface HistoryView {
  readonly generation: number
  readonly checkpoint: string | null
  readonly state: string
  readonly source_commit: string
  readonly reason?: string
  readonly observed_at: string
  readonly evidence: readonly EvidenceView[]
  readonly rollback: string
}

interface RemoteView {
  readonly remote: string
  readonly relation: string
  readonly generation?: number
}

interface DeliveryView {
  readonly delivery: string
  readonly state?: string
  readonly generation?: number
  readonly source_commit?: string
  readonly corpus_revision?: string
  readonly stages?: readonly StageView[]
  readonly blockers?: readonly string[]
  readonly next?: { readonly checkpoints: readonly string[]; readonly states: readonly string[] }
  readonly trunk?: { readonly name: string; readonly tip: string }
  readonly remotes?: readonly RemoteView[]
  readonly history?: readonly HistoryView[]
  readonly problem?: string
}

interface ConditionView {
  readonly endpoint: string
  readonly name: string
  readonly value: string
  readonly reason: string
}

interface DeliveryData extends DeliveryView {
  readonly action?: string
  readonly deliveries?: readonly DeliveryView[]
  readonly conditions?: readonly ConditionView[]
  readonly file?: string
  readonly checks?: readonly { readonly what: string; readonly value: string }[]
}

const short = (oid: string): string => oid.slice(0, 12)

const stageRow = ({
  checkpoint,
  title,
  status,
  generation,
  accepted_by,
  gate_ids = [],
  was,
  by,
  needs = [],
}: StageView): Row => {
  const label = `${checkpoint} ${title}`
  if (status === 'valid') {
    const gates = gate_ids.length > 0 ? `, gates ${gate_ids.join(', ')}` : ''
    const owner = accepted_by === undefined ? '' : `, accepted by ${accepted_by}`
    return [label, `recorded in generation ${generation}${owner}${gates}`, 'good']
  }
  if (status === 'invalidated') {
    return [label, `no longer counts (generation ${was}): ${by?.why} in generation ${by?.generation}`, 'warn']
  }
  return [label, `needs ${needs.join(', ')}`, 'dim']
}

const evidenceWords = ({ part, kind, text, oid, sha256, name, url }: EvidenceView): string => {
  const value = kind === 'statement' ? text : kind === 'git' ? `git ${oid}` : `sha256:${sha256}`
  return `${part}: ${value}${name === undefined ? '' : ` (${name})`}${url === undefined ? '' : ` at ${url}`}`
}

const historyBlocks = (history: readonly HistoryView[]): readonly Block[] =>
  history.flatMap(({ generation, checkpoint, state, source_commit, reason, observed_at, evidence, rollback }) => [
    { kind: 'heading', text: `generation ${generation}: ${checkpoint ?? state}` } as const,
    {
      kind: 'list',
      items: [
        `source ${short(source_commit)}, written ${observed_at}`,
        ...(reason === undefined ? [] : [`because: ${reason}`]),
        ...evidence.map(evidenceWords),
        `taken back by: ${rollback}`,
      ],
    } as const,
  ])

const nextWords = ({ delivery, next, generation, source_commit }: DeliveryView): readonly string[] => [
  ...(next?.checkpoints ?? []).map(id => `git discern delivery record ${id} ${delivery}`),
  ...(next?.states ?? []).map(to =>
    to === 'RELEASED'
      ? `git discern delivery promote ${delivery} --generation ${generation} --commit ${short(source_commit ?? '')}`
      : `git discern delivery move ${to} ${delivery} --reason "<reason>"`,
  ),
]

const RELATIONS: Readonly<Record<string, string>> = {
  equal: 'has the same',
  ahead: 'does not have the newest generation yet',
  behind: 'has newer generations, which the next record here takes over',
  diverged: 'went on by itself: nothing is promoted until somebody decides',
  invalid: 'has something that is not to be trusted',
}

const deliveryBlocks = (one: DeliveryView, told: boolean): readonly Block[] => {
  if (one.problem !== undefined) return [{ kind: 'line', text: `${one.delivery}: ${one.problem}`, tone: 'bad' }]
  if (one.state === undefined) {
    const remotes = (one.remotes ?? []).map(({ remote }) => remote).join(', ')
    return [{ kind: 'line', text: `${one.delivery}: only at ${remotes} so far; the next record here takes it over` }]
  }
  const corpus = one.corpus_revision === undefined ? '' : `, corpus ${one.corpus_revision}`
  return [
    { kind: 'heading', text: `${one.delivery}: ${one.state}` },
    { kind: 'line', text: `generation ${one.generation} for ${short(one.source_commit ?? '')}${corpus}` },
    ...(one.blockers ?? []).map(text => ({ kind: 'line', text: `blocked by: ${text}`, tone: 'bad' }) as const),
    { kind: 'rows', rows: (one.stages ?? []).map(stageRow) },
    ...(one.trunk
      ? [
          {
            kind: 'line',
            text: `${one.trunk.name} has moved on to ${short(one.trunk.tip)}; this delivery stays with its source until: git discern delivery source ${one.trunk.name} ${one.delivery}`,
            tone: 'warn',
          } as const,
        ]
      : []),
    ...(one.remotes ?? []).map(
      ({ remote, relation }) =>
        ({
          kind: 'line',
          text: `${remote} ${RELATIONS[relation] ?? relation}`,
          tone: relation === 'equal' ? 'dim' : 'warn',
        }) as const,
    ),
    ...(told ? nextWords(one).map(text => ({ kind: 'line', text: `next: ${text}` }) as const) : []),
    ...historyBlocks(one.history ?? []),
  ]
}

const TONES = { True: 'good', False: 'bad', Unknown: 'warn' } as const

export const view = (result: Result): readonly Block[] => {
  const data = (result.data ?? {}) as DeliveryData
  const conditions = (data.conditions ?? []).map(({ endpoint, name, value, reason }): Row => {
    return [`${endpoint}: ${name}`, `${value}${reason === '' ? '' : `: ${reason}`}`, TONES[value as keyof typeof TONES]]
  })
  const deliveries = data.deliveries ?? (data.delivery === undefined || data.state === undefined ? [] : [data])
  return [
    ...(conditions.length > 0 ? [{ kind: 'rows', rows: conditions } as const] : []),
    ...(data.checks
      ? [{ kind: 'rows', rows: data.checks.map(({ what, value }): Row => [what, value, 'good']) } as const]
      : []),
    ...(data.file === undefined || !result.ok
      ? []
      : [{ kind: 'line', text: `CP7 is in ${data.file}`, tone: 'good' } as const]),
    ...(data.action === 'status' && deliveries.length === 0
      ? [{ kind: 'line', text: 'no delivery was started here' } as const]
      : []),
    ...deliveries.flatMap(one => deliveryBlocks(one, result.ok)),
  ]
}
