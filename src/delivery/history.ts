/**
 * Everything that a commit of a delivery rests on, each record held to the rules (design 4.10). A delivery is a line of
 * generations; where two clones went on from one generation and someone decided between them, the decision is a commit with two
 * parents: first the side that counts from then on, second the other one, which stays reachable and is held to the rules as well.
 */
import { Refusal } from '../errors.ts'
import { parseCommit, parseTree } from '../git/objects.ts'
import { oidDigits, type Repository } from '../git/repository.ts'
import { DELIVERY_GENERATION_LIMIT_COUNT } from '../limits.ts'
import { type DeliveryRecord, parseRecord, recordId } from './record.ts'
import { advance, type Standing } from './standing.ts'

export const RECORD_FILE = 'record.json'

/** One commit of a delivery, and where the delivery stands with it. */
export interface Generation {
  /** Full id. */
  readonly commit: string
  /** None, the one before, or of a decision the side that was kept and the other. */
  readonly parents: readonly string[]
  readonly record: DeliveryRecord
  readonly standing: Standing
}

/** Every generation that is reachable from one, itself included, by the id of its commit; those before others come first. */
export type History = ReadonlyMap<string, Generation>

type Loaded = Omit<Generation, 'standing'>

const invalid = (name: string, commit: string, problem: string): Refusal =>
  new Refusal('delivery_invalid', { where: `commit ${commit} of delivery ${name}`, problem })

/**
 * Reads all that a commit rests on. Refuses with `delivery_invalid`, naming the commit, when one is missing, does not follow what
 * it says it follows, or breaks a rule; `store_newer` for one of a newer version. No git process but the reader's.
 */
export const readHistory = async (repository: Repository, name: string, tip: string): Promise<History> => {
  const loaded = new Map<string, Loaded>()
  const waiting = [tip]
  for (let oid = waiting.pop(); oid !== undefined; oid = waiting.pop()) {
    if (loaded.has(oid)) continue
    if (loaded.size === DELIVERY_GENERATION_LIMIT_COUNT) {
      throw invalid(name, oid, `there are over ${DELIVERY_GENERATION_LIMIT_COUNT} generations`)
    }
    const one = await load(repository, name, oid)
    loaded.set(oid, one)
    waiting.push(...one.parents)
  }
  return hold(name, loaded, tip)
}

const load = async (repository: Repository, name: string, oid: string): Promise<Loaded> => {
  const commit = await repository.objects.read(oid)
  if (commit?.type !== 'commit') throw invalid(name, oid, 'the commit is not here')
  const { tree, parents } = parseCommit(commit.content)
  const listing = await repository.objects.read(tree)
  const [entry, ...others] = listing?.type === 'tree' ? parseTree(listing.content, oidDigits(repository)) : []
  if (entry?.path !== RECORD_FILE || entry.mode !== '100644' || others.length > 0) {
    throw invalid(name, oid, `it does not hold exactly the file ${RECORD_FILE}`)
  }
  const blob = await repository.objects.read(entry.oid)
  if (blob?.type !== 'blob') throw invalid(name, oid, `its ${RECORD_FILE} is not here`)
  const record = parseRecord(blob.content, `commit ${oid} of delivery ${name}`)
  if (record.delivery !== name) throw invalid(name, oid, `it is of ${record.delivery}`)
  const expected = record.resolves ? 2 : 1
  if (parents.length > expected) {
    throw invalid(name, oid, `it has more than ${expected === 1 ? 'one parent' : 'two parents'}`)
  }
  if (record.resolves && parents.length < 2) throw invalid(name, oid, 'it decides between two sides, and has only one')
  return { commit: oid, parents, record }
}

/** Oldest first, each after all that it rests on. */
const hold = (name: string, loaded: ReadonlyMap<string, Loaded>, tip: string): History => {
  const held = new Map<string, Generation>()
  const waiting = [tip]
  for (let oid = waiting.at(-1); oid !== undefined; oid = waiting.at(-1)) {
    const one = loaded.get(oid)
    if (!one) throw new Error(`${oid} was not read`)
    const missing = one.parents.filter(parent => !held.has(parent))
    if (missing.length > 0) {
      waiting.push(...missing)
      continue
    }
    waiting.pop()
    if (!held.has(oid)) held.set(oid, holdOne(name, one, held))
  }
  return held
}

const holdOne = (name: string, one: Loaded, held: History): Generation => {
  const { commit, parents, record } = one
  const [before, other] = parents.map(parent => held.get(parent))
  if (record.previous !== (before ? recordId(before.record) : null)) {
    throw invalid(name, commit, 'it does not follow the record before it')
  }
  if (before && record.repository !== before.record.repository) {
    throw invalid(name, commit, `it is of ${record.repository}, not of ${before.record.repository}`)
  }
  if (before && other) {
    const problem = decisionProblem(record, before, other, held)
    if (problem !== undefined) throw invalid(name, commit, problem)
  }
  const standing = advance(before?.standing, record)
  if ('problem' in standing) throw invalid(name, commit, standing.problem)
  return { ...one, standing }
}

/** What is wrong with a decision that its own side cannot tell. */
const decisionProblem = (
  { resolves }: DeliveryRecord,
  kept: Generation,
  other: Generation,
  held: History,
): string | undefined => {
  if (resolves?.record !== recordId(other.record) || resolves.generation !== other.record.generation) {
    return 'the other side is not the one that it names'
  }
  const [ours, theirs] = [restsOn(held, kept.commit), restsOn(held, other.commit)]
  if (ours.has(other.commit) || theirs.has(kept.commit)) return 'one of its sides is part of the other'
  return droppedPromotion(ours, theirs)
}

/** Of a history, what one of its commits rests on, itself included. */
export const restsOn = (history: History, commit: string): History => {
  const reached = new Set<string>()
  const waiting = [commit]
  for (let oid = waiting.pop(); oid !== undefined; oid = waiting.pop()) {
    if (reached.has(oid)) continue
    reached.add(oid)
    waiting.push(...(history.get(oid)?.parents ?? []))
  }
  return new Map([...history].filter(([oid]) => reached.has(oid)))
}

const promotionsOnlyIn = (one: History, other: History): readonly DeliveryRecord[] =>
  [...one.values()]
    .filter(({ commit, record }) => !other.has(commit) && isPromotion(record))
    .map(({ record }) => record)

const isPromotion = ({ checkpoint, state, resolves }: DeliveryRecord): boolean =>
  state === 'RELEASED' && checkpoint === null && resolves === undefined

/**
 * Why one side cannot be dropped for the other: it was promoted, which happened in the world and is taken back by rolling back,
 * not by a decision about records. Where both were, either can be kept. `undefined` when nothing speaks against it.
 */
export const droppedPromotion = (kept: History, dropped: History): string | undefined => {
  const [lost] = promotionsOnlyIn(dropped, kept)
  if (!lost || promotionsOnlyIn(kept, dropped).length > 0) return undefined
  return `the other side was promoted with generation ${lost.generation}, and what was released is rolled back, not decided away`
}

/** The generation of the newest record that two histories share; 0 when they share none. */
export const lastCommon = (one: History, other: History): number =>
  Math.max(0, ...[...one.values()].filter(({ commit }) => other.has(commit)).map(({ record }) => record.generation))
