/** Our fetch mapping: made as facts 11.4 says, one row of its table after the other, and never more than that. */

import { join } from 'node:path'
import { reasonOf } from '../errors.ts'
import {
  addConfigValue,
  type ConfigEntry,
  configValues,
  mergeConfigValues,
  remoteNames,
  removeConfigValue,
} from '../git/config.ts'
import type { Repository } from '../git/repository.ts'
import type { Place } from '../git/run.ts'
import { canonicalMapping, mayCarryMapping } from './refspec.ts'

export { type Publication, type PublicationState, publicationOf } from './publication.ts'
export {
  canonicalMapping,
  type MappingHazard,
  mappingHazards,
  trackingClashes,
  trackingRef,
  trackingRefs,
} from './refspec.ts'

/** Multi-valued, local: one value for each remote whose mapping we added and may take away again. */
export const MARKER_KEY = 'discern.proofNotesFetchRemote'

/** One fetch line of ours that may stand in each remote, and the key that says where we put it. */
export interface FetchLine {
  readonly marker: string
  readonly mapping: (remote: string) => string
  /** Whether it may stand beside what the remote has. */
  readonly fits: (entries: readonly ConfigEntry[], remote: string) => boolean
}

const NOTES_LINE: FetchLine = { marker: MARKER_KEY, mapping: canonicalMapping, fits: mayCarryMapping }

export interface MappingResult {
  readonly mode: 'local' | 'fetch'
  /** `wired`: something was changed in mode `fetch`. `no_remote`: there is no remote that our mapping could stand with. */
  readonly status: 'local' | 'no_remote' | 'wired' | 'unchanged' | 'failed'
  /** Remotes whose fetch brings Proof notes. */
  readonly remotes: readonly string[]
  /** Remotes that got the mapping, and remotes that lost it or its marker, in this call. */
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly errors: readonly { readonly remote: string; readonly reason: string }[]
}

/** What the configuration says of one remote. Counts are those of the repository's own file, which is all that we edit. */
interface State {
  readonly remote: string
  readonly marker: string
  readonly mapping: string
  readonly exists: boolean
  readonly eligible: boolean
  readonly markers: number
  readonly mappings: number
  /** Whether the mapping is in effect, from whatever file. */
  readonly mapped: boolean
}

const readStates = (repository: Repository, entries: readonly ConfigEntry[], line: FetchLine): readonly State[] => {
  // An included file and a worktree's own are read by git, but not edited by `git config --local`.
  const own = entries.filter(entry => entry.origin === `file:${join(repository.commonDir, 'config')}`)
  const marked = configValues(own, line.marker.toLowerCase())
  const existing = remoteNames(entries)
  return [...new Set([...existing, ...marked])].sort().map(remote => {
    const key = `remote.${remote}.fetch`
    const mapping = line.mapping(remote)
    return {
      remote,
      marker: line.marker,
      mapping,
      exists: existing.includes(remote),
      eligible: line.fits(entries, remote),
      markers: marked.filter(name => name === remote).length,
      mappings: configValues(own, key).filter(value => value === mapping).length,
      mapped: configValues(entries, key).includes(mapping),
    }
  })
}

type Change = 'added' | 'removed' | 'reduced' | undefined

/** The edits of one value; a dry run makes none of them. */
interface Edits {
  readonly add: (key: string, value: string) => Promise<void>
  readonly remove: (key: string, value: string) => Promise<unknown>
  readonly merge: (key: string, value: string) => Promise<void>
}

const editsOf = (place: Place, dryRun: boolean): Edits => {
  const nothing = async (): Promise<void> => {}
  if (dryRun) return { add: nothing, remove: nothing, merge: nothing }
  return {
    add: (key, value) => addConfigValue(place, key, value),
    remove: (key, value) => removeConfigValue(place, key, value),
    merge: (key, value) => mergeConfigValues(place, key, value),
  }
}

const unwire = async (edits: Edits, { remote, marker, mapping, mappings }: State): Promise<Change> => {
  if (mappings > 0) await edits.remove(`remote.${remote}.fetch`, mapping)
  await edits.remove(marker, remote)
  return 'removed'
}

const wire = async (edits: Edits, state: State): Promise<Change> => {
  const { remote, marker, mapping, markers, mappings, mapped } = state
  const key = `remote.${remote}.fetch`
  if (markers === 0) {
    if (mapped) return undefined
    await edits.add(marker, remote)
    try {
      await edits.add(key, mapping)
    } catch (error) {
      // A marker without its mapping would one day let us remove a line that is not ours.
      await edits.remove(marker, remote)
      throw error
    }
    return 'added'
  }
  if (markers > 1) await edits.merge(marker, remote)
  if (!mapped) await edits.add(key, mapping)
  else if (mappings > 1) await edits.merge(key, mapping)
  return mapped ? (markers > 1 || mappings > 1 ? 'reduced' : undefined) : 'added'
}

/**
 * Makes the mapping of every remote what `mode` says. `removeWhenLocal` is for `setup` and `refresh`: hooks and other verbs
 * leave a mapping alone in mode `local`, or each switch to a branch with another `discern.toml` would rewrite the
 * configuration. A remote that can no longer carry the mapping loses it at once, since alone it would change what a fetch
 * brings. The configuration file stays as it is, byte by byte, when nothing is to be changed; no push setting and no line of
 * the user's is ever touched. A dry run answers the same and edits nothing. `line` is that of Proof notes unless said. One git process for each value that is changed; never throws.
 */
export const reconcileMapping = async (
  repository: Repository,
  entries: readonly ConfigEntry[],
  mode: 'local' | 'fetch',
  {
    removeWhenLocal,
    dryRun = false,
    line = NOTES_LINE,
  }: { readonly removeWhenLocal: boolean; readonly dryRun?: boolean; readonly line?: FetchLine },
): Promise<MappingResult> => {
  const edits = editsOf(repository, dryRun)
  const remotes: string[] = []
  const added: string[] = []
  const removed: string[] = []
  const errors: { remote: string; reason: string }[] = []
  let reduced = false
  for (const state of readStates(repository, entries, line)) {
    const { remote, eligible, exists, markers, mapped } = state
    const orphaned = markers > 0 && (!exists || !eligible)
    try {
      let change: Change
      if (orphaned || (mode === 'local' && removeWhenLocal && markers > 0)) change = await unwire(edits, state)
      else if (mode === 'fetch' && eligible) change = await wire(edits, state)
      if (change === 'added') added.push(remote)
      if (change === 'removed') removed.push(remote)
      reduced ||= change === 'reduced'
      if (exists && change !== 'removed' && (mapped || change === 'added')) remotes.push(remote)
    } catch (error) {
      errors.push({ remote, reason: reasonOf(error) })
    }
  }
  const result = { mode, remotes, added, removed, errors }
  if (errors.length > 0) return { ...result, status: 'failed' }
  if (mode === 'local') return { ...result, status: 'local' }
  if (remotes.length === 0) return { ...result, status: 'no_remote' }
  return { ...result, status: reduced || added.length + removed.length > 0 ? 'wired' : 'unchanged' }
}
