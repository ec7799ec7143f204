/** What stands in the work tree where git's index does not tell it, read and digested path by path (facts 12.4). */
import { GITLINK_MODE, type IndexEntry, isPlain } from '../git/state.ts'
import { STATE_READ_COUNT } from '../limits.ts'
import type { Key } from '../store/digest.ts'
import type { Ledger } from './ledger.ts'
import { standingsDigest } from './manifest.ts'
import { type Outer, repositoryAt } from './submodules.ts'

/** What differs by git's word, and every entry whose file git's word does not cover; submodules are looked at elsewhere. */
export const observed = (entries: readonly IndexEntry[], changed: readonly Buffer[]): readonly Buffer[] => {
  const paths = new Map(changed.map(path => [path.toString('latin1'), path]))
  for (const entry of entries) if (!isPlain(entry)) paths.set(entry.path.toString('latin1'), entry.path)
  for (const { mode, path } of entries) if (mode === GITLINK_MODE) paths.delete(path.toString('latin1'))
  return [...paths.values()].sort(Buffer.compare)
}

/** Reads what stands at each path and digests it in order, some at a time. Without a key nothing is read. */
export const standings = async (
  component: 'tracked' | 'untracked',
  paths: readonly Buffer[],
  key: Key | undefined,
  outer: Outer,
  ledger: Ledger,
): Promise<void> => {
  if (!key) return
  const manifest = standingsDigest(key, component)
  let whole = true
  const lacks = (reason: Parameters<Ledger['lacks']>[1]): void => {
    whole = false
    ledger.lacks(component, reason)
  }
  for (let at = 0; at < paths.length; at += STATE_READ_COUNT) {
    if (outer.bounds.signal?.aborted) return
    const batch = paths.slice(at, at + STATE_READ_COUNT)
    const found = await Promise.all(batch.map(path => outer.observer.observe(path)))
    for (const [offset, standing] of found.entries()) {
      const path = batch[offset] ?? Buffer.alloc(0)
      if ('unavailable' in standing) {
        lacks(standing.unavailable)
        // Whatever comes after a limit is past it too.
        if (standing.unavailable.endsWith('-limit')) return
        continue
      }
      // Git named it a moment ago.
      if (component === 'untracked' && standing.known.kind === 'deleted') lacks('unreadable')
      if (standing.known.kind === 'file') ledger.bytes[`${component}_content`] += standing.known.content.length
      if (standing.known.kind === 'symlink') ledger.bytes[`${component}_content`] += standing.known.target.length
      const folder = path.at(-1) === 47 ? path.subarray(0, -1) : path
      const inside =
        standing.known.kind === 'directory' && (await outer.observer.isRepository(folder).catch(() => true))
          ? await repositoryAt(outer, folder)
          : { known: [] }
      if ('unavailable' in inside) lacks(inside.unavailable)
      else manifest.add(path, standing.known, inside.known)
    }
  }
  if (whole) ledger.components[component] = manifest.digest()
}
