/**
 * The five components of a captured state as keyed digests over framed fields (facts 12.4). Nothing here can be read out of a
 * digest, and equal digests mean equal fields. The order of paths is that of their bytes.
 */
import type { IndexEntry } from '../git/state.ts'
import { type Key, keyed, keyedStream } from '../store/digest.ts'
import { type Keyed, STATE_COMPONENTS, type StateEvidence } from './event.ts'
import type { Inner } from './submodules.ts'
import type { Standing } from './work-tree.ts'

export const headDigest = (key: Key, head: string): Keyed => keyed(key, 'validation-head-v1', [['head', head]])

/** Fields `tag`, `mode`, `object`, `stage` and `path` of each entry, in the order of the index. */
export const indexDigest = (key: Key, entries: readonly IndexEntry[]): Keyed => {
  const stream = keyedStream(key, 'validation-index-v1')
  for (const { tag, mode, oid, stage, path } of entries) {
    stream.add('tag', tag)
    stream.add('mode', mode)
    stream.add('object', oid)
    stream.add('stage', stage)
    stream.add('path', path)
  }
  return stream.digest()
}

export interface StandingsDigest {
  /** Takes one path: fields `path` and `kind`, then `target`, or `executable` (0 or 1) and `content`, or those of repositories. */
  readonly add: (path: Buffer, standing: Standing, repositories?: readonly Inner[]) => void
  readonly digest: () => Keyed
}

export const standingsDigest = (key: Key, component: 'tracked' | 'untracked'): StandingsDigest => {
  const stream = keyedStream(key, `validation-${component}-v1`)
  return {
    add: (path, standing, repositories = []) => {
      stream.add('path', path)
      stream.add('kind', standing.kind)
      switch (standing.kind) {
        case 'deleted':
        case 'directory':
          break
        case 'symlink':
          stream.add('target', standing.target)
          break
        case 'file':
          stream.add('executable', standing.executable ? '1' : '0')
          stream.add('content', standing.content)
          break
        default: {
          const never: never = standing
          return never
        }
      }
      addRepositories(stream, repositories)
    },
    digest: stream.digest,
  }
}

/** Fields `depth` (decimal), `path` and `head` of each, depth first. */
export const submodulesDigest = (key: Key, found: readonly Inner[]): Keyed => {
  const stream = keyedStream(key, 'validation-submodules-v1')
  addRepositories(stream, found)
  return stream.digest()
}

const addRepositories = (stream: ReturnType<typeof keyedStream>, found: readonly Inner[]): void => {
  for (const { depth, path, head } of found) {
    stream.add('depth', String(depth))
    stream.add('path', path)
    stream.add('head', head)
  }
}

/** One field for each component, in the order of the specification; `undefined` unless all are there. */
export const stateDigest = (key: Key, components: NonNullable<StateEvidence['components']>): Keyed | undefined => {
  const fields: [string, string][] = []
  for (const name of STATE_COMPONENTS) {
    const digest = components[name]
    if (digest === undefined) return undefined
    fields.push([name, digest])
  }
  return keyed(key, 'validation-state-v1', fields)
}
