/**
 * Where a delivery stands, folded from its records, and what may come next (facts 15). Pure: writing asks here before it writes,
 * and reading asks here again, so that a record that came from elsewhere is held to the same rules.
 */
import type { DeliveryRecord, Next } from './record.ts'
import {
  type CheckpointId,
  FIRST_BOUND,
  MOVES,
  PROMOTION,
  rankOf,
  STAGES,
  type Stage,
  type State,
  stageOf,
} from './stage.ts'

/** A record that no longer counts, and what took it away. */
export interface Invalidated {
  readonly checkpoint: CheckpointId
  readonly generation: number
  readonly by: { readonly generation: number; readonly why: string }
}

export interface Standing {
  readonly state: State
  /** Of the newest record. */
  readonly generation: number
  readonly sourceCommit: string
  readonly corpusRevision: string | undefined
  /** The record that counts for each stage, by id, in the order of the stages. */
  readonly valid: ReadonlyMap<CheckpointId, DeliveryRecord>
  /** Stages whose newest record does not count any more. */
  readonly invalidated: readonly Invalidated[]
  readonly blockers: readonly string[]
  readonly next: Next
}

/** What a record is for, as far as the rules are concerned. */
export type Deed =
  | { readonly kind: 'start' }
  | { readonly kind: 'stage'; readonly stage: Stage }
  /** Another source commit or corpus revision. */
  | { readonly kind: 'source' }
  | { readonly kind: 'promotion' }
  /** A decision for this side and against another one, which moves nothing on this side. */
  | { readonly kind: 'decision' }
  | { readonly kind: 'move'; readonly to: State; readonly invalidatesFrom: CheckpointId | undefined }

/** A rule that a record breaks: what it was, and what would be legal instead. */
export interface Illegal {
  readonly problem: string
}

const sameSource = (
  one: Pick<DeliveryRecord, 'sourceCommit' | 'corpusRevision'>,
  other: Pick<DeliveryRecord, 'sourceCommit' | 'corpusRevision'>,
): boolean => one.sourceCommit === other.sourceCommit && one.corpusRevision === other.corpusRevision

const sourceWords = ({
  sourceCommit,
  corpusRevision,
}: Pick<DeliveryRecord, 'sourceCommit' | 'corpusRevision'>): string =>
  `${sourceCommit.slice(0, 12)}${corpusRevision === undefined ? '' : ` with corpus ${corpusRevision}`}`

/** Records of stages before one, in order. */
const before = (rank: number): readonly Stage[] => STAGES.slice(0, rank)

/** The first stage before `rank` that has no record that counts. */
const missingBefore = (valid: Standing['valid'], rank: number): Stage | undefined =>
  before(rank).find(({ id }) => !valid.has(id))

/** The state that the records before the source-bound stages support: where a changed source leaves a delivery. */
const supported = (valid: Standing['valid']): State => {
  const reached = before(rankOf(FIRST_BOUND))
    .filter(({ id }) => valid.has(id))
    .at(-1)
  return reached ? reached.to : 'DISCOVERED'
}

/** States in which another source may still be taken: what was released is what was accepted, and is not exchanged. */
const SOURCE_STATES: readonly State[] = [
  'DISCOVERED',
  'PLANNED',
  'IMPLEMENTING',
  'VERIFYING',
  'CANDIDATE',
  'HUMAN_ACCEPTED',
  'BLOCKED',
  'REJECTED',
]

const stagesFrom = (state: State, valid: Standing['valid']): readonly CheckpointId[] =>
  STAGES.filter(stage => stage.from === state && missingBefore(valid, rankOf(stage.id)) === undefined).map(
    ({ id }) => id,
  )

const statesFrom = (state: State): readonly State[] => [
  ...MOVES.filter(({ from }) => from === state).map(({ to }) => to),
  ...(PROMOTION.from === state ? [PROMOTION.to] : []),
]

const nextOf = (state: State, valid: Standing['valid']): Next => ({
  checkpoints: stagesFrom(state, valid),
  states: statesFrom(state),
})

/** What may legally come next, in a sentence. */
export const legalMoves = ({ state, next }: Pick<Standing, 'state' | 'next'>): string => {
  const all = [
    ...next.checkpoints.map(id => `record ${id} (${stageOf(id).title})`),
    ...next.states.map(to => `go to ${to}`),
  ]
  return all.length === 0 ? `nothing leads on from ${state}` : `from ${state} one can ${all.join(', ')}`
}

/** What a record does, told from its standing and itself; or why no rule allows it. */
export const deedOf = (standing: Standing | undefined, record: DeliveryRecord): Deed | Illegal => {
  if (!standing) {
    if (record.generation !== 1 || record.previous !== null)
      return { problem: 'the first generation is 1 and follows nothing' }
    if (record.checkpoint !== null || record.state !== 'DISCOVERED')
      return { problem: 'a delivery starts as DISCOVERED' }
    return record.resolves ? { problem: 'the first generation decides nothing' } : { kind: 'start' }
  }
  if (record.resolves) return decisionDeed(standing, record, record.resolves.generation)
  if (record.generation !== standing.generation + 1) {
    return { problem: `generation ${record.generation} does not follow generation ${standing.generation}` }
  }
  if (!sameSource(record, { sourceCommit: standing.sourceCommit, ...corpus(standing.corpusRevision) })) {
    return sourceDeed(standing, record)
  }
  return record.checkpoint === null ? moveDeed(standing, record) : stageDeed(standing, record, record.checkpoint)
}

const corpus = (revision: string | undefined): { readonly corpusRevision?: string } =>
  revision === undefined ? {} : { corpusRevision: revision }

/** Its number is above both sides, so that nobody who looked at either can take it for what they saw. */
const decisionDeed = (standing: Standing, record: DeliveryRecord, other: number): Deed | Illegal => {
  const generation = Math.max(standing.generation, other) + 1
  if (record.generation !== generation) {
    return { problem: `a decision between generations ${standing.generation} and ${other} is generation ${generation}` }
  }
  const moved =
    record.checkpoint !== null ||
    record.state !== standing.state ||
    !sameSource(record, { sourceCommit: standing.sourceCommit, ...corpus(standing.corpusRevision) }) ||
    record.blockers.join('\0') !== standing.blockers.join('\0')
  if (moved) return { problem: 'a decision between two sides leaves the one that it keeps as it is' }
  return record.reason === undefined ? { problem: 'a decision between two sides needs a reason' } : { kind: 'decision' }
}

const sourceDeed = (standing: Standing, record: DeliveryRecord): Deed | Illegal => {
  const now = sourceWords({ sourceCommit: standing.sourceCommit, ...corpus(standing.corpusRevision) })
  if (record.checkpoint !== null) {
    return { problem: `${record.checkpoint} is for ${sourceWords(record)}, and the delivery is for ${now}` }
  }
  if (!SOURCE_STATES.includes(standing.state)) {
    return { problem: `what is ${standing.state} is ${now}; another source is another delivery` }
  }
  const to = supported(standing.valid)
  return record.state === to
    ? { kind: 'source' }
    : { problem: `a changed source leaves the delivery ${to}, not ${record.state}` }
}

/** Why a stage cannot be recorded now, whatever its evidence; `undefined` when it can. */
export const stageProblem = (standing: Standing, { id, from }: Stage): Illegal | undefined => {
  if (standing.state !== from) {
    return { problem: `${id} is recorded from ${from}, and this is ${standing.state}: ${legalMoves(standing)}` }
  }
  const missing = missingBefore(standing.valid, rankOf(id))
  return missing && { problem: `${id} needs a valid ${missing.id} (${missing.title}) first: ${legalMoves(standing)}` }
}

const stageDeed = (standing: Standing, record: DeliveryRecord, id: CheckpointId): Deed | Illegal => {
  const stage = stageOf(id)
  const problem = stageProblem(standing, stage)
  if (problem) return problem
  if (record.state !== stage.to) return { problem: `${id} leads to ${stage.to}, not ${record.state}` }
  const lacking = stage.parts.filter(({ name }) => !record.evidence.some(({ part }) => part === name))
  if (lacking.length > 0) {
    return { problem: `${id} lacks ${lacking.map(({ name, means }) => `${name} (${means})`).join(', ')}` }
  }
  const loose = stage.parts.find(
    ({ name, statement }) =>
      !statement && record.evidence.some(({ part, kind }) => part === name && kind === 'statement'),
  )
  if (loose) return { problem: `${loose.name} of ${id} is a statement, and needs a hash or an object id` }
  const stray = record.evidence.find(({ part }) => !stage.parts.some(({ name }) => name === part))
  if (stray) {
    return {
      problem: `${id} has no part ${stray.part}; its parts are ${stage.parts.map(({ name }) => name).join(', ')}`,
    }
  }
  if (id === 'CP6' && record.acceptedBy === undefined) return { problem: 'CP6 needs the word of an accountable owner' }
  if (record.blockers.length > 0)
    return { problem: `${id} is not complete while something blocks: ${record.blockers[0]}` }
  return { kind: 'stage', stage }
}

const moveDeed = (standing: Standing, record: DeliveryRecord): Deed | Illegal => {
  if (standing.state === PROMOTION.from && record.state === PROMOTION.to) {
    const missing = missingBefore(standing.valid, rankOf('CP7'))
    return missing ? { problem: `a promotion needs a valid ${missing.id} (${missing.title})` } : { kind: 'promotion' }
  }
  const move = MOVES.find(({ from, to }) => from === standing.state && to === record.state)
  if (!move) return { problem: `nothing leads from ${standing.state} to ${record.state}: ${legalMoves(standing)}` }
  if (record.reason === undefined) return { problem: `the move to ${record.state} needs a reason` }
  if (record.state === 'BLOCKED' && record.blockers.length === 0) return { problem: 'BLOCKED needs to say what blocks' }
  return { kind: 'move', to: record.state, invalidatesFrom: move.invalidatesFrom }
}

/** What becomes of a standing by a legal deed. */
const after = (standing: Standing | undefined, record: DeliveryRecord, deed: Deed): Standing => {
  const [firstLost, why] = lossOf(record, deed)
  const valid = new Map(standing?.valid)
  const lost: Invalidated[] = []
  for (const { id } of firstLost === undefined ? [] : STAGES.slice(rankOf(firstLost))) {
    const old = valid.get(id)
    if (!old) continue
    valid.delete(id)
    lost.push({ checkpoint: id, generation: old.generation, by: { generation: record.generation, why } })
  }
  if (deed.kind === 'stage') valid.set(deed.stage.id, record)
  const gone = [
    ...(standing?.invalidated ?? []).filter(({ checkpoint }) => !lost.some(one => one.checkpoint === checkpoint)),
    ...lost,
  ]
  return {
    state: record.state,
    generation: record.generation,
    sourceCommit: record.sourceCommit,
    corpusRevision: record.corpusRevision,
    valid,
    invalidated: gone
      .filter(({ checkpoint }) => !valid.has(checkpoint))
      .sort((one, other) => rankOf(one.checkpoint) - rankOf(other.checkpoint)),
    blockers: record.blockers,
    next: nextOf(record.state, valid),
  }
}

/** The first stage whose record a deed takes away, with those after it, and why. */
const lossOf = (record: DeliveryRecord, deed: Deed): readonly [first: CheckpointId | undefined, why: string] => {
  switch (deed.kind) {
    case 'start':
    case 'promotion':
    case 'decision':
      return [undefined, '']
    case 'source':
      return [FIRST_BOUND, `the source changed to ${sourceWords(record)}`]
    case 'stage':
      return [deed.stage.id, `${deed.stage.id} was recorded again`]
    case 'move':
      return [deed.invalidatesFrom, `the delivery went back to ${record.state}: ${record.reason ?? ''}`]
  }
}

/** The standing after one more record, or the rule that it breaks. A record's own `next` must be what the rules say. */
export const advance = (standing: Standing | undefined, record: DeliveryRecord): Standing | Illegal => {
  const deed = deedOf(standing, record)
  if ('problem' in deed) return deed
  const result = after(standing, record, deed)
  return sameNext(result.next, record.next) ? result : { problem: 'its next moves are not those that the rules allow' }
}

const sameNext = (one: Next, other: Next): boolean =>
  one.checkpoints.join() === other.checkpoints.join() && one.states.join() === other.states.join()

/** The `next` of a record that is about to be written; `record.next` is not looked at. */
export const nextAfter = (standing: Standing | undefined, record: DeliveryRecord): Next | Illegal => {
  const deed = deedOf(standing, record)
  return 'problem' in deed ? deed : after(standing, record, deed).next
}

/** The state that another source leaves a delivery in. */
export const stateWithSource = ({ valid }: Standing): State => supported(valid)
