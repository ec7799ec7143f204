/**
 * What the document says of deliveries, written a second time and slowly: everything is worked out again from the whole line of
 * records, and nothing here asks the code under test.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { DeliveryRecord, Evidence } from '../../src/delivery/record.ts'
import type { CheckpointId, State } from '../../src/delivery/stage.ts'
import type { Scratch } from './scratch.ts'

export const CHECKPOINTS = ['CP0', 'CP1', 'CP2', 'CP3', 'CP4', 'CP5', 'CP6', 'CP7'] as const

/** The stages of the document: from, to, and their exit evidence; a part in `soft` may be a sentence. */
export const TABLE: Readonly<
  Record<CheckpointId, { from: State; to: State; hard: readonly string[]; soft: readonly string[] }>
> = {
  CP0: { from: 'DISCOVERED', to: 'PLANNED', hard: [], soft: ['owner', 'authority', 'scope', 'rollback-boundary'] },
  CP1: {
    from: 'PLANNED',
    to: 'IMPLEMENTING',
    hard: ['decisions', 'contracts'],
    soft: ['threat-boundary', 'compatibility-plan'],
  },
  CP2: { from: 'IMPLEMENTING', to: 'VERIFYING', hard: ['changed-paths', 'package-tests'], soft: [] },
  CP3: { from: 'VERIFYING', to: 'VERIFYING', hard: ['lint', 'types', 'tests', 'builds', 'previews'], soft: [] },
  CP4: {
    from: 'VERIFYING',
    to: 'VERIFYING',
    hard: ['cross-product', 'security', 'hosts', 'provenance', 'performance'],
    soft: ['signing'],
  },
  CP5: {
    from: 'VERIFYING',
    to: 'CANDIDATE',
    hard: ['clean-commit', 'artifacts', 'candidate-url'],
    soft: ['source-provenance'],
  },
  CP6: { from: 'CANDIDATE', to: 'HUMAN_ACCEPTED', hard: ['references'], soft: ['owner', 'decision', 'exceptions'] },
  CP7: { from: 'RELEASED', to: 'RELEASED', hard: ['remote-refs', 'readback'], soft: ['release-ids', 'rollback'] },
}

/** Arrows of the document that no stage and no promotion makes; BLOCKED is entered from where work goes on. */
export const ARROWS: readonly (readonly [State, State])[] = [
  ['IMPLEMENTING', 'BLOCKED'],
  ['VERIFYING', 'BLOCKED'],
  ['BLOCKED', 'IMPLEMENTING'],
  ['CANDIDATE', 'REJECTED'],
  ['REJECTED', 'IMPLEMENTING'],
  ['RELEASED', 'ROLLED_BACK'],
  ['ROLLED_BACK', 'VERIFYING'],
]

/** The records of one side, oldest first. */
export type Line = readonly DeliveryRecord[]

export type Deed =
  | { readonly kind: 'start'; readonly source: string; readonly corpus?: string }
  | { readonly kind: 'source'; readonly source: string; readonly corpus?: string }
  | { readonly kind: 'stage'; readonly id: CheckpointId; readonly note?: string }
  | { readonly kind: 'move'; readonly to: State }
  | { readonly kind: 'promote' }

export const newest = (line: Line): DeliveryRecord => {
  const record = line.at(-1)
  if (!record) throw new Error('an empty line')
  return record
}

const rank = (id: CheckpointId): number => CHECKPOINTS.indexOf(id)

/** Whether the record at `at` takes away the record of stage `id` that an earlier one made. */
const takesAway = (line: Line, at: number, id: CheckpointId): boolean => {
  const [before, record] = [line[at - 1], line[at]]
  if (!before || !record || record.resolves) return false
  const changed = before.sourceCommit !== record.sourceCommit || before.corpusRevision !== record.corpusRevision
  if (changed) return rank(id) >= 2
  if (record.checkpoint !== null) return rank(record.checkpoint) <= rank(id)
  if (record.state === 'IMPLEMENTING') return rank(id) >= 2
  return before.state === 'ROLLED_BACK' && rank(id) >= 3
}

/** For each stage with a record: its generation, and that of the record that took it away, if one did. */
export const stagesOf = (line: Line): ReadonlyMap<CheckpointId, { made: number; lost: number | undefined }> => {
  const stages = new Map<CheckpointId, { made: number; lost: number | undefined }>()
  for (const id of CHECKPOINTS) {
    const at = line.findLastIndex(({ checkpoint }) => checkpoint === id)
    const record = line[at]
    if (!record) continue
    const loss = line.findIndex((_, later) => later > at && takesAway(line, later, id))
    stages.set(id, { made: record.generation, lost: line[loss]?.generation })
  }
  return stages
}

const isValid = (line: Line, id: CheckpointId): boolean => {
  const stage = stagesOf(line).get(id)
  return stage !== undefined && stage.lost === undefined
}

const allBefore = (line: Line, count: number): boolean => CHECKPOINTS.slice(0, count).every(id => isValid(line, id))

/** Where a changed source leaves a delivery. */
const ground = (line: Line): State =>
  isValid(line, 'CP1') ? 'IMPLEMENTING' : isValid(line, 'CP0') ? 'PLANNED' : 'DISCOVERED'

export const isLegal = (line: Line, deed: Deed): boolean => {
  if (line.length === 0) return deed.kind === 'start'
  const { state, sourceCommit, corpusRevision } = newest(line)
  switch (deed.kind) {
    case 'start':
      return false
    case 'source': {
      const same = deed.source === sourceCommit && deed.corpus === corpusRevision
      return !same && state !== 'RELEASED' && state !== 'ROLLED_BACK'
    }
    case 'stage':
      return TABLE[deed.id].from === state && allBefore(line, rank(deed.id))
    case 'move':
      return ARROWS.some(([from, to]) => from === state && to === deed.to)
    case 'promote':
      return state === 'HUMAN_ACCEPTED' && allBefore(line, 7)
  }
}

/** What the state of a line lets happen next, as a record says it. */
const nextOf = (line: Line): DeliveryRecord['next'] => {
  const { state } = newest(line)
  return {
    checkpoints: CHECKPOINTS.filter(id => isLegal(line, { kind: 'stage', id })),
    states: [
      ...ARROWS.filter(([from]) => from === state).map(([, to]) => to),
      ...(state === 'HUMAN_ACCEPTED' ? (['RELEASED'] as const) : []),
    ],
  }
}

/** Every word of `legalMoves` that a refusal of a wrong deed has to say. */
export const legalWords = (line: Line): readonly string[] => {
  const { checkpoints, states } = nextOf(line)
  return [...checkpoints.map(id => `record ${id}`), ...states.map(to => `go to ${to}`)]
}

export const evidenceOf = (id: CheckpointId, note = ''): readonly Evidence[] => [
  ...TABLE[id].hard.map(part => ({ part, kind: 'digest' as const, sha256: sha256(`${part}${note}`) })),
  ...TABLE[id].soft.map(part => ({ part, kind: 'statement' as const, text: `what ${part} is` })),
]

const stateOf = (line: Line, deed: Deed): State => {
  switch (deed.kind) {
    case 'start':
      return 'DISCOVERED'
    case 'source':
      return ground(line)
    case 'stage':
      return TABLE[deed.id].to
    case 'move':
      return deed.to
    case 'promote':
      return 'RELEASED'
  }
}

/** The record of a deed, legal or not; `over` replaces members before `next` is worked out. */
export const draw = (line: Line, deed: Deed, over: Partial<DeliveryRecord> = {}): DeliveryRecord => {
  const before = line.at(-1)
  const moved = deed.kind === 'start' || deed.kind === 'source'
  const corpus = moved ? deed.corpus : before?.corpusRevision
  const generation = (before?.generation ?? 0) + 1
  const record: DeliveryRecord = {
    schema: 1,
    delivery: 'x',
    repository: 'https://example.invalid/r',
    generation,
    previous: before ? idOf(before) : null,
    checkpoint: deed.kind === 'stage' ? deed.id : null,
    state: stateOf(line, deed),
    sourceCommit: moved ? deed.source : (before?.sourceCommit ?? ''),
    ...(corpus === undefined ? {} : { corpusRevision: corpus }),
    gateIds: [],
    evidence: deed.kind === 'stage' ? evidenceOf(deed.id, deed.note) : [],
    blockers: deed.kind === 'move' && deed.to === 'BLOCKED' ? ['something'] : [],
    rollback: 'as it was',
    next: { checkpoints: [], states: [] },
    ...(deed.kind === 'move' ? { reason: 'so it is' } : {}),
    ...(deed.kind === 'stage' && deed.id === 'CP6' ? { acceptedBy: 'terminal' } : {}),
    observedAt: new Date(Date.UTC(2026, 0, 3) + generation * 1000).toISOString(),
    ...over,
  }
  return { ...record, next: nextOf([...line, record]) }
}

/** A decision for one line and against another. */
export const decide = (kept: Line, other: Line, over: Partial<DeliveryRecord> = {}): DeliveryRecord => {
  const [ours, theirs] = [newest(kept), newest(other)]
  return {
    ...draw(kept, { kind: 'move', to: ours.state }),
    generation: Math.max(ours.generation, theirs.generation) + 1,
    blockers: ours.blockers,
    resolves: { record: idOf(theirs), generation: theirs.generation },
    next: nextOf(kept),
    ...over,
  }
}

/** A line of deeds that are all legal. */
export const grow = (line: Line, ...deeds: readonly Deed[]): Line => {
  const grown = [...line]
  for (const deed of deeds) {
    if (!isLegal(grown, deed)) throw new Error(`${JSON.stringify(deed)} is not legal from ${grown.at(-1)?.state}`)
    grown.push(draw(grown, deed))
  }
  return grown
}

export const stages = (...ids: readonly CheckpointId[]): readonly Deed[] => ids.map(id => ({ kind: 'stage', id }))

export const SOURCE = 'a'.repeat(40)
export const OTHER_SOURCE = 'b'.repeat(40)

/** The shortest line to each state, at one source. */
export const lineTo = (state: State, source = SOURCE): Line => {
  const sealed = stages('CP0', 'CP1', 'CP2', 'CP3', 'CP4', 'CP5')
  const way: Readonly<Record<State, readonly Deed[]>> = {
    DISCOVERED: [],
    PLANNED: stages('CP0'),
    IMPLEMENTING: stages('CP0', 'CP1'),
    VERIFYING: stages('CP0', 'CP1', 'CP2'),
    CANDIDATE: sealed,
    HUMAN_ACCEPTED: [...sealed, ...stages('CP6')],
    RELEASED: [...sealed, ...stages('CP6'), { kind: 'promote' }],
    BLOCKED: [...stages('CP0', 'CP1'), { kind: 'move', to: 'BLOCKED' }],
    REJECTED: [...sealed, { kind: 'move', to: 'REJECTED' }],
    ROLLED_BACK: [...sealed, ...stages('CP6'), { kind: 'promote' }, { kind: 'move', to: 'ROLLED_BACK' }],
  }
  return grow([], { kind: 'start', source, corpus: 'corpus-1' }, ...way[state])
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Canonical JSON of what records hold: text, whole numbers, null, lists, and objects with their names in order. */
const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join(',')}}`
}

export const bytesOf = (record: DeliveryRecord): string => `${canonical(record)}\n`

export const idOf = (record: DeliveryRecord): string => `sha256:${sha256(bytesOf(record))}`

/** One commit to plant: what stands in `record.json`, and beside it; parents are full ids, or places in the same list. */
export interface Planted {
  readonly bytes: string
  readonly files?: Readonly<Record<string, string>>
  readonly name?: string
  readonly mode?: string
  readonly parents: readonly (string | number)[]
}

/** Writes commits with plain git, and the last of them to a ref; returns their ids. */
export const plant = (s: Scratch, cwd: string, ref: string, commits: readonly Planted[]): readonly string[] => {
  const stream = commits.map(({ bytes, files = {}, name = 'record.json', mode = '100644', parents }, at) => {
    const named = parents.map(parent => (typeof parent === 'number' ? `:${parent + 1}` : parent))
    const [first, ...others] = named
    const from = first === undefined ? '' : `from ${first}\n`
    return [
      `reset ${ref}\n${from}\n`,
      `commit ${ref}\nmark :${at + 1}\ncommitter discern <done@discern.sh> ${1_767_400_000 + at} +0000\n`,
      `data 2\nx\n${from}${others.map(other => `merge ${other}\n`).join('')}deleteall\n`,
      ...Object.entries({ [name]: bytes, ...files }).map(
        ([path, text]) =>
          `M ${path === name ? mode : '100644'} inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}\n`,
      ),
      '\n',
    ].join('')
  })
  const marks = s.path('marks')
  const run = s.exec(cwd, 'git', ['fast-import', '--quiet', '--force', `--export-marks=${marks}`], {
    input: stream.join(''),
  })
  if (run.exit !== 0) throw new Error(run.err)
  const ids = new Map(
    readFileSync(marks, 'utf8')
      .split('\n')
      .map(text => text.split(' ') as [string, string]),
  )
  return commits.map((_, at) => ids.get(`:${at + 1}`) ?? '')
}

/** A line as commits on a ref. */
export const plantLine = (s: Scratch, cwd: string, line: Line, ref = 'refs/discern/delivery/x'): readonly string[] =>
  plant(
    s,
    cwd,
    ref,
    line.map((record, at) => ({ bytes: bytesOf(record), parents: at === 0 ? [] : [at - 1] })),
  )
