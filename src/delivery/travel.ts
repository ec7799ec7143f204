/**
 * What other clones did with a delivery (design 4.10). A plain `git fetch` brings their refs beside ours; here ours follows one that
 * is strictly ahead, and two sides that went on from one generation are a conflict, with both kept, until someone decides.
 */
import type { Context } from '../context.ts'
import type { ConfigEntry } from '../git/config.ts'
import { updateRefs } from '../git/refs.ts'
import { type Repository, zeroOid } from '../git/repository.ts'
import { DELIVERY_ATTEMPT_LIMIT_COUNT } from '../limits.ts'
import { type Conflict, compareWith, contended, readOurs } from './compare.ts'
import { deliveryRef } from './ledger.ts'
import { type Tracked, trackedDeliveries } from './mapping.ts'

export { type Comparison, type Conflict, compare } from './compare.ts'
export {
  DELIVERY_MARKER_KEY,
  deliveryMapping,
  keepDeliveriesWired,
  type Tracked,
  trackedDeliveries,
  trackingDeliveryRef,
  unwireDeliveries,
  wireDeliveries,
} from './mapping.ts'
export { type Resolution, resolve } from './resolve.ts'

/** A remote's side that breaks a rule; it is never followed. */
export interface Distrusted {
  readonly remote: string
  readonly problem: string
}

export type Adoption = { readonly invalid: readonly Distrusted[] } & (
  | { readonly unchanged: true }
  | { readonly adopted: { readonly remote: string; readonly generation: number; readonly commit: string } }
  | { readonly conflict: Conflict }
)

/**
 * Makes ours what the remotes are strictly ahead with, by compare-and-swap and only after every record was held to the rules.
 * Nothing moves where ours is ahead or both are the same, nor to a side that went on apart: that is a conflict, and the first is
 * told. Refuses as `readLedger` when ours cannot be read, and with `precondition_failed` when others keep moving it. Three git
 * processes.
 */
export const adopt = async (
  _context: Context,
  repository: Repository,
  entries: readonly ConfigEntry[],
  name: string,
): Promise<Adoption> => {
  const tracked = (await trackedDeliveries(repository, entries)).get(name) ?? []
  if (tracked.length === 0) return { unchanged: true, invalid: [] }
  for (let attempt = 0; attempt < DELIVERY_ATTEMPT_LIMIT_COUNT; attempt += 1) {
    const adoption = await adoptOnce(repository, name, tracked)
    if (adoption) return adoption
  }
  throw contended(name)
}

/** `undefined` when the ref moved meanwhile. */
const adoptOnce = async (
  repository: Repository,
  name: string,
  tracked: readonly Tracked[],
): Promise<Adoption | undefined> => {
  const before = await readOurs(repository, name)
  let ours = before
  let from: string | undefined
  let invalid: Distrusted[] = []
  let conflicts: Conflict[] = []
  // What one remote has may settle what seemed to be a conflict with another, so everything is looked at again after a step.
  for (let stepped = true; stepped; ) {
    stepped = false
    invalid = []
    conflicts = []
    for (const one of tracked) {
      const { comparison, theirs } = await compareWith(repository, name, ours, one)
      const { remote, relation } = comparison
      if (relation === 'invalid') invalid.push({ remote, problem: comparison.problem })
      if (relation === 'diverged') conflicts.push({ remote, generation: comparison.common })
      if (relation === 'behind') {
        ours = theirs
        from = remote
        stepped = true
      }
    }
  }
  if (ours && from !== undefined) {
    const moved = await updateRefs(
      repository,
      [{ ref: deliveryRef(name), from: before?.tip ?? zeroOid(repository), to: ours.tip }],
      `discern delivery: generation ${ours.standing.generation} of ${from}`,
    )
    if (!moved.moved) return undefined
  }
  const [conflict] = conflicts
  if (conflict) return { conflict, invalid }
  if (!ours || from === undefined) return { unchanged: true, invalid }
  return { adopted: { remote: from, generation: ours.standing.generation, commit: ours.tip }, invalid }
}
