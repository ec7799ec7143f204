/** How the sides of a delivery stand to each other: ours, and what each remote was last seen to have (design 4.10). Writes nothing. */
import { Refusal } from '../errors.ts'
import type { ConfigEntry } from '../git/config.ts'
import { readRefs } from '../git/refs.ts'
import type { Repository } from '../git/repository.ts'
import { lastCommon } from './history.ts'
import { deliveryRef, type Ledger, readLedger } from './ledger.ts'
import { type Tracked, trackedDeliveries } from './mapping.ts'

/** Two sides that went on from one generation; 0 when they were started apart. */
export interface Conflict {
  readonly remote: string
  readonly generation: number
}

/** How a remote's side stands to ours: `behind` means that the remote has more, `ahead` that a push would bring it all. */
export type Comparison = Tracked &
  (
    | { readonly relation: 'equal' | 'ahead' | 'behind'; readonly generation: number }
    /** `common` is the last generation of both. */
    | { readonly relation: 'diverged'; readonly generation: number; readonly common: number }
    | { readonly relation: 'invalid'; readonly problem: string }
  )

/** A comparison with what was read for it. */
export type Compared = { readonly comparison: Comparison; readonly theirs: Ledger | undefined }

/** Reads and holds to the rules what one remote has; a side that breaks one is a value. */
export const compareWith = async (
  repository: Repository,
  name: string,
  ours: Ledger | undefined,
  tracked: Tracked,
): Promise<Compared> => {
  if (ours?.tip === tracked.tip) {
    return {
      comparison: { ...tracked, relation: 'equal', generation: ours.standing.generation },
      theirs: ours,
    }
  }
  let theirs: Ledger
  try {
    theirs = await readLedger(repository, name, tracked.tip)
  } catch (error) {
    if (!(error instanceof Refusal) || (error.slug !== 'delivery_invalid' && error.slug !== 'store_newer')) throw error
    return { comparison: { ...tracked, relation: 'invalid', problem: error.message }, theirs: undefined }
  }
  const { generation } = theirs.standing
  const relation = !ours || theirs.history.has(ours.tip) ? 'behind' : ours.history.has(theirs.tip) ? 'ahead' : undefined
  if (relation !== undefined) return { comparison: { ...tracked, relation, generation }, theirs }
  const common = lastCommon(ours?.history ?? new Map(), theirs.history)
  return { comparison: { ...tracked, relation: 'diverged', generation, common }, theirs }
}

/** Our side as it is now; `undefined` when there is none. One git process. */
export const readOurs = async (repository: Repository, name: string): Promise<Ledger | undefined> => {
  const tip = (await readRefs(repository, [deliveryRef(name)])).get(deliveryRef(name))?.oid
  return tip === undefined ? undefined : readLedger(repository, name, tip)
}

/**
 * How each remote's side of a delivery stands to ours. Writes nothing. Refuses as `readLedger` when ours cannot be read. Two git
 * processes.
 */
export const compare = async (
  repository: Repository,
  entries: readonly ConfigEntry[],
  name: string,
): Promise<readonly Comparison[]> => {
  const tracked = (await trackedDeliveries(repository, entries)).get(name) ?? []
  if (tracked.length === 0) return []
  const ours = await readOurs(repository, name)
  const all: Comparison[] = []
  for (const one of tracked) all.push((await compareWith(repository, name, ours, one)).comparison)
  return all
}

/** What is said of a delivery that would not stand still. */
export const contended = (name: string): Refusal =>
  new Refusal('precondition_failed', {
    problem: `delivery ${name} moved each time that it was read`,
    next: `git discern delivery status ${name}`,
  })
