/**
 * Repositories inside a checkout (facts 12.4): their commit stands for their files only where they are clean and nothing in them
 * hides a file from git. Their bytes are never read.
 */
import type { Bounds, Unanswered } from '../git/bounded.ts'
import type { Place } from '../git/run.ts'
import { differences, GITLINK_MODE, type IndexEntry, indexEntries, isPlain } from '../git/state.ts'
import { STATE_REPOSITORY_COUNT } from '../limits.ts'
import type { Observer } from './work-tree.ts'

/** One repository: 1 for those of the checkout itself, its path from the top, and its commit. */
export interface Inner {
  readonly depth: number
  readonly path: Buffer
  readonly head: string
}

/**
 * `unavailable`: not initialised, without a commit, or git does not answer. `invalid`: at another commit than its gitlink, in
 * conflict, or with files that are hidden from git. `dirty`: it has changes or untracked files.
 */
export type InnerProblem = Unanswered | 'invalid' | 'dirty'

export type Inners = { readonly known: readonly Inner[] } | { readonly unavailable: InnerProblem }

export interface Outer {
  readonly place: Place
  readonly topLevel: string
  readonly observer: Observer
  readonly bounds: Bounds
}

/** The submodules that these entries of an index name and all inside them, depth first. Two git processes for each. */
export const submodules = async (
  outer: Outer,
  entries: readonly IndexEntry[],
  depth = 1,
  above: Buffer = Buffer.alloc(0),
): Promise<Inners> => {
  const links = entries.filter(({ mode }) => mode === GITLINK_MODE)
  if (links.some(({ stage }) => stage !== '0')) return { unavailable: 'invalid' }
  const known: Inner[] = []
  for (let at = 0; at < links.length; at += STATE_REPOSITORY_COUNT) {
    const batch = await Promise.all(
      links
        .slice(at, at + STATE_REPOSITORY_COUNT)
        .map(({ path, oid }) => repositoryAt(outer, Buffer.concat([above, path]), depth, oid)),
    )
    for (const inner of batch) {
      if ('unavailable' in inner) return inner
      known.push(...inner.known)
    }
  }
  return { known }
}

/** The repository at a path and all submodules inside it; with `expected`, only at that commit. */
export const repositoryAt = async (outer: Outer, path: Buffer, depth = 1, expected?: string): Promise<Inners> => {
  const { bounds, observer } = outer
  if (!bounds.takePaths(1)) return { unavailable: 'path-limit' }
  const name = path.toString('utf8')
  // A process can be started only in a folder whose name is text.
  if (!Buffer.from(name, 'utf8').equals(path)) return { unavailable: 'unavailable' }
  if (!(await observer.isRepository(path).catch(() => false))) return { unavailable: 'unavailable' }
  const place = placeOf(outer, name)
  const [state, index] = await Promise.all([differences(place, bounds, 'everything'), indexEntries(place, bounds)])
  if ('unavailable' in state) return state
  if ('unavailable' in index) return index
  const { head, clean } = state.known
  if (head === undefined) return { unavailable: 'unavailable' }
  if (expected !== undefined && head !== expected) return { unavailable: 'invalid' }
  if (!clean) return { unavailable: 'dirty' }
  const { entries } = index.known
  if (!entries.every(isPlain)) return { unavailable: 'invalid' }
  const inside = await submodules(outer, entries, depth + 1, Buffer.concat([path, Buffer.from('/')]))
  return 'unavailable' in inside ? inside : { known: [{ depth, path, head }, ...inside.known] }
}

/** Names the repository outright: one that is broken must not make git look for another further up. */
const placeOf = ({ place, topLevel }: Outer, name: string): Place => {
  const folder = `${topLevel}/${name}`
  return { ...place, cwd: folder, env: { ...place.env, GIT_DIR: `${folder}/.git`, GIT_WORK_TREE: folder } }
}
