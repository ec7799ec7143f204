/**
 * The quick way to merge two notes trees, by git's own `merge-tree`: taken when both sides have done nothing but add notes,
 * which is nearly always. Whatever else it finds it leaves to the careful way.
 */
import { splitNul } from './path.ts'
import { oidDigits, type Repository } from './repository.ts'
import { git, gitOutput } from './run.ts'
import { readTrees, scanTree, TREE_MODE } from './trees.ts'

export interface NotesUnion {
  readonly tree: string
  /** How many notes theirs alone has, and ours alone. */
  readonly adopted: number
  readonly kept: number
}

interface Additions {
  /** Subject to path. */
  readonly notes: ReadonlyMap<string, string>
  /** Folders of the newer tree that are new or different, except its root: path to id. */
  readonly folders: ReadonlyMap<string, string>
}

/** What was added from one commit or tree to another, or `undefined` when that is not all that was done. One git process. */
const readAdditions = async (repository: Repository, from: string, to: string): Promise<Additions | undefined> => {
  const digits = oidDigits(repository)
  const command = ['diff-tree', '-r', '-t', '-z', '--no-renames', '--no-abbrev', from, to]
  const text = (await gitOutput(repository, command)).toString('latin1')
  const notes = new Map<string, string>()
  const folders = new Map<string, string>()
  // Each record is `:<mode> <mode> <id> <id> <status>\0<path>\0`, with fixed widths before the path.
  const newOid = 16 + digits
  const status = newOid + digits + 1
  for (let at = 0; at < text.length; ) {
    const start = at + status + 2
    const end = text.indexOf('\0', start)
    const path = text.slice(start, end)
    if (text.startsWith(TREE_MODE, at + 8)) folders.set(path, text.slice(at + newOid, at + newOid + digits))
    else if (text[at + status] !== 'A') return undefined
    else notes.set(path.replaceAll('/', ''), path)
    at = end + 1
  }
  return { notes, folders }
}

/**
 * Whether each folder holds either notes or folders of notes, so that no note in it can stand at a second fan-out. At most
 * one git process.
 */
const isPlain = async (repository: Repository, folders: ReadonlyMap<string, string>): Promise<boolean> => {
  const digits = oidDigits(repository)
  const contents = await readTrees(repository, [...folders.values()])
  for (const [path, oid] of folders) {
    const rest = digits - path.replaceAll('/', '').length
    let leaves = false
    let below = false
    scanTree(contents.get(oid) ?? Buffer.alloc(0), digits, (mode, name) => {
      if (mode === TREE_MODE) below ||= name.length === 2
      else leaves ||= name.length === rest
    })
    if (leaves && below) return false
  }
  return true
}

/**
 * The tree that holds the notes of both sides, when each has only added to `base` and no subject stands twice; else
 * `undefined`. At most four git processes, most of them at the same time; moves nothing.
 */
export const uniteNotes = async (
  repository: Repository,
  base: string,
  ours: string,
  theirs: string,
  theirsTree: string,
): Promise<NotesUnion | undefined> => {
  const settings = ['-c', 'merge.renames=false', '-c', 'merge.directoryRenames=false']
  const [merge, local, remote] = await Promise.all([
    // Before git 2.38 this fails, as it does on a conflict.
    git(repository, [...settings, 'merge-tree', '--write-tree', '-z', '--no-messages', ours, theirs]),
    readAdditions(repository, base, ours),
    readAdditions(repository, base, theirs),
  ])
  if (merge.exitCode !== 0 || !local || !remote) return undefined
  let common = 0
  for (const [subject, path] of remote.notes) {
    const standing = local.notes.get(subject)
    if (standing === undefined) continue
    if (standing !== path) return undefined
    common += 1
  }
  if (!(await isPlain(repository, new Map([['', theirsTree], ...remote.folders])))) return undefined
  const [tree] = splitNul(merge.stdout)
  if (!tree) return undefined
  return {
    tree: tree.toString('latin1'),
    adopted: remote.notes.size - common,
    kept: local.notes.size - common,
  }
}
