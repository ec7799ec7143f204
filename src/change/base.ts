/** What the policy commit holds at a few places; only the trees on the way there are read, never the whole listing (facts 2.1). */
import { parseTree, type TreeEntry } from '../git/objects.ts'
import { oidDigits, type Repository } from '../git/repository.ts'
import { TREE_MODE } from '../git/trees.ts'
import type { Fact } from './facts.ts'

/** A commit's tree, read folder by folder and each tree once. */
export interface BaseTree {
  /** Entries of a folder (`''` is the root) in git's order; `undefined` when there is no such folder. */
  readonly entries: (folder: string) => Promise<Fact<readonly TreeEntry[] | undefined>>
  /** The file, link or gitlink at a path; `undefined` when nothing or a folder is there. */
  readonly entry: (path: string) => Promise<Fact<TreeEntry | undefined>>
  /** Whether any file below a folder satisfies `admits`; ends at the first one. Reads the folder's whole subtree at worst. */
  readonly holds: (folder: string, admits: (path: string) => boolean) => Promise<Fact<boolean>>
}

type Folder = ReadonlyMap<string, TreeEntry>

const MISSING = { unavailable: 'object-missing' } as const

/**
 * Opens the tree of a commit given by its full id. What a partial or damaged repository lacks is `object-missing`, never
 * fetched (case 58). No git process besides the repository's object reader.
 */
export const openBaseTree = (repository: Repository, commit: string): BaseTree => {
  const trees = new Map<string, Promise<Folder | undefined>>()
  const read = (name: string): Promise<Folder | undefined> => {
    const known = trees.get(name)
    if (known) return known
    const reading = repository.objects.read(name).then(object => {
      if (object?.type !== 'tree') return undefined
      return new Map(parseTree(object.content, oidDigits(repository)).map(entry => [entry.path, entry]))
    })
    trees.set(name, reading)
    return reading
  }

  const open = async (folder: string): Promise<Fact<Folder | undefined>> => {
    let tree = await read(`${commit}^{tree}`)
    if (!tree) return MISSING
    for (const name of folder === '' ? [] : folder.split('/')) {
      const next: TreeEntry | undefined = tree.get(name)
      if (next?.mode !== TREE_MODE) return { known: undefined }
      tree = await read(next.oid)
      if (!tree) return MISSING
    }
    return { known: tree }
  }

  const entries: BaseTree['entries'] = async folder => {
    const found = await open(folder)
    return 'unavailable' in found ? found : { known: found.known && [...found.known.values()] }
  }

  const holds: BaseTree['holds'] = async (folder, admits) => {
    const found = await entries(folder)
    if ('unavailable' in found) return found
    for (const { path: name, mode } of found.known ?? []) {
      const path = folder === '' ? name : `${folder}/${name}`
      const inside = mode === TREE_MODE ? await holds(path, admits) : { known: admits(path) }
      if ('unavailable' in inside || inside.known) return inside
    }
    return { known: false }
  }

  return {
    entries,
    entry: async path => {
      const slash = path.lastIndexOf('/')
      const folder = await open(path.slice(0, Math.max(slash, 0)))
      if ('unavailable' in folder) return folder
      const found = folder.known?.get(path.slice(slash + 1))
      return { known: found?.mode === TREE_MODE ? undefined : found }
    },
    holds,
  }
}

/**
 * Names of the files directly in each folder of the policy commit, links and gitlinks included. A folder that is there has an
 * entry, perhaps an empty one; a folder that is not there has none. No git process besides the repository's object reader.
 */
export const collectBaseFiles = async (
  repository: Repository,
  base: string,
  folders: readonly string[],
): Promise<Fact<ReadonlyMap<string, readonly string[]>>> => {
  const tree = openBaseTree(repository, base)
  const files = new Map<string, readonly string[]>()
  for (const folder of folders) {
    const found = await tree.entries(folder)
    if ('unavailable' in found) return found
    if (found.known) {
      files.set(
        folder,
        found.known.filter(({ mode }) => mode !== TREE_MODE).map(({ path }) => path),
      )
    }
  }
  return { known: files }
}
