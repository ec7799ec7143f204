/** Where a delivery verb works: the repository, the policy of the trunk, and the ledger that is meant. */
import type { Context } from '../context.ts'
import { deliveryRef, isDeliveryName, type Ledger, listDeliveries, readLedger } from '../delivery/ledger.ts'
import { type DeliverySettings, deliverySettings, repositoryIdentity } from '../delivery/settings.ts'
import { Refusal } from '../errors.ts'
import type { ConfigEntry } from '../git/config.ts'
import { readRefs } from '../git/refs.ts'
import type { Worktree } from '../git/repository.ts'
import { readCommittedConfiguration } from '../policy/read.ts'
import { openSituation, type Situation } from './situation.ts'

export const VERB = 'delivery'

export interface Place {
  readonly worktree: Worktree
  readonly entries: readonly ConfigEntry[]
  /** What the trunk says of deliveries; never what a branch says. */
  readonly settings: DeliverySettings
  /** Identity of the repository in records. */
  readonly identity: string
  readonly trunk: Situation['trunk']
  readonly trunkTip: string | undefined
}

/** Opens the repository and reads `[delivery]` of the trunk's tip; where that has no configuration, nothing is set. */
export const openPlace = async (context: Context): Promise<Place> => {
  const { worktree, entries, trunk, refs, state } = await openSituation(context)
  // Nothing here depends on it, and nothing may be left running.
  await state.catch(() => undefined)
  const trunkTip = refs.get(trunk.target)?.oid ?? refs.get(trunk.ref)?.oid
  const governing = trunkTip === undefined ? undefined : await readCommittedConfiguration(worktree, trunkTip)
  if (governing?.status === 'invalid') throw governing.refusal
  if (governing?.status === 'unreadable') {
    throw new Refusal('store_unreadable', { path: `discern.toml of ${trunk.name}`, reason: governing.reason })
  }
  const settings = deliverySettings(governing?.status === 'ok' ? governing.configuration : undefined)
  return {
    worktree,
    entries,
    settings,
    identity: repositoryIdentity(settings, entries, worktree, trunk),
    trunk,
    trunkTip,
  }
}

/** A name as it may stand in a ref; refuses with `invalid_value`. */
export const requireName = (name: string): string => {
  if (isDeliveryName(name)) return name
  throw new Refusal('invalid_value', {
    what: 'the name of a delivery',
    expected: 'letters, digits, dots, dashes and underscores, for example 2026.4 or checkout-v2',
    found: name,
    next: 'git discern delivery start <name>',
  })
}

/** The delivery of a name, or the only one there is. Refuses with `delivery_unknown` and names those that exist. */
export const requireLedger = async ({ worktree }: Place, name: string | undefined): Promise<Ledger> => {
  const all = await listDeliveries(worktree)
  const chosen = name ?? (all.size === 1 ? [...all.keys()][0] : undefined)
  const tip = chosen === undefined ? undefined : all.get(chosen)
  if (chosen === undefined || tip === undefined) {
    throw new Refusal('delivery_unknown', { name: name ?? '', known: [...all.keys()] })
  }
  return readLedger(worktree, chosen, tip)
}

/** The tip of a delivery as it is now. One git process. */
export const currentTip = async ({ worktree }: Place, name: string): Promise<string | undefined> =>
  (await readRefs(worktree, [deliveryRef(name)])).get(deliveryRef(name))?.oid
