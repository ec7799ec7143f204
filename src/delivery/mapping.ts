/** How ledgers come here: a fetch line of ours in each remote that can carry one, and the refs that it fills (design 4.6, 4.9). */
import { type ConfigEntry, configValue, configValues, remoteNames } from '../git/config.ts'
import { readRefs } from '../git/refs.ts'
import type { Repository } from '../git/repository.ts'
import { isRefName, mayCarryMapping } from '../proof/refspec.ts'
import { type FetchLine, type MappingResult, reconcileMapping, trackingRef } from '../proof/remote.ts'
import { DELIVERY_PREFIX, isDeliveryName } from './ledger.ts'

/** Multi-valued, local: one value for each remote whose mapping we added and may take away again. */
export const DELIVERY_MARKER_KEY = 'discern.deliveryFetchRemote'

/** Where the deliveries of a remote are after a fetch; no remote's name is ever read out of a ref. */
const trackingFolder = (remote: string): string => `refs/discern/remotes/${remote}/delivery/`

export const deliveryMapping = (remote: string): string => `+${DELIVERY_PREFIX}*:${trackingFolder(remote)}*`

export const trackingDeliveryRef = (remote: string, name: string): string => `${trackingFolder(remote)}${name}`

/**
 * Whether a remote's folder is its own. A remote may be called `a/delivery`, whose notes stand where a delivery of `a` would; and
 * where case makes no difference, `A` and `a` are one folder (case 74).
 */
const hasFolderOfItsOwn = (entries: readonly ConfigEntry[], remote: string): boolean => {
  const folds = configValue(entries, 'core.ignorecase')?.toLowerCase() === 'true'
  const place = (text: string): string => (folds ? text.toLowerCase() : text)
  const folder = place(trackingFolder(remote))
  return remoteNames(entries).every(other => {
    const [theirs, notes] = [place(trackingFolder(other)), place(trackingRef(other))]
    const apart = !theirs.startsWith(folder) && !folder.startsWith(theirs)
    return (other === remote || apart) && !notes.startsWith(folder) && !folder.startsWith(`${notes}/`)
  })
}

const usable = (entries: readonly ConfigEntry[], remote: string): boolean =>
  isRefName(trackingDeliveryRef(remote, 'a')) && hasFolderOfItsOwn(entries, remote)

const LINE: FetchLine = {
  marker: DELIVERY_MARKER_KEY,
  mapping: deliveryMapping,
  fits: (entries, remote) => mayCarryMapping(entries, remote) && usable(entries, remote),
}

/** Has every remote that can carry it bring deliveries with a plain fetch. Idempotent; never throws. */
export const wireDeliveries = (repository: Repository, entries: readonly ConfigEntry[]): Promise<MappingResult> =>
  reconcileMapping(repository, entries, 'fetch', { removeWhenLocal: false, line: LINE })

/** The same where deliveries are at home already, which our marker tells; anywhere else nothing is looked at. */
export const keepDeliveriesWired = async (
  repository: Repository,
  entries: readonly ConfigEntry[],
  dryRun: boolean,
): Promise<MappingResult | undefined> =>
  configValues(entries, DELIVERY_MARKER_KEY.toLowerCase()).length === 0
    ? undefined
    : reconcileMapping(repository, entries, 'fetch', { removeWhenLocal: false, dryRun, line: LINE })

/** Takes away the lines that we added, and no other. Never throws. */
export const unwireDeliveries = (
  repository: Repository,
  entries: readonly ConfigEntry[],
  dryRun: boolean,
): Promise<MappingResult> =>
  reconcileMapping(repository, entries, 'local', { removeWhenLocal: true, dryRun, line: LINE })

/** What a remote was last seen to have of one delivery. */
export interface Tracked {
  readonly remote: string
  /** Full name of the tracking ref, and the commit it holds. */
  readonly ref: string
  readonly tip: string
}

/** What the configured remotes were last seen to have, by delivery, each sorted by remote. One git process; none without remotes. */
export const trackedDeliveries = async (
  repository: Repository,
  entries: readonly ConfigEntry[],
): Promise<ReadonlyMap<string, readonly Tracked[]>> => {
  const remotes = remoteNames(entries).filter(remote => usable(entries, remote))
  if (remotes.length === 0) return new Map()
  const refs = await readRefs(repository, remotes.map(trackingFolder))
  const found = new Map<string, Tracked[]>()
  for (const remote of remotes) {
    for (const [ref, { oid }] of refs) {
      const name = ref.startsWith(trackingFolder(remote)) ? ref.slice(trackingFolder(remote).length) : ''
      if (!isDeliveryName(name)) continue
      found.set(name, [...(found.get(name) ?? []), { remote, ref, tip: oid }])
    }
  }
  return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)))
}
