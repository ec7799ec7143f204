/**
 * A bare repository of ours in a temporary folder that borrows another one's objects. It has no attributes, no configuration
 * but its object format, no hooks and no remote, so what git says there depends on the objects alone (cases 58, 64, 65); what
 * is written there never reaches the real repository.
 */
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { displayPath } from './path.ts'
import { oidDigits, type Repository, type Worktree } from './repository.ts'
import { gitOutput, type Place } from './run.ts'

export interface TreeLine {
  readonly mode: string
  readonly oid: string
  /** Without a slash; ASCII, so that the order of strings is git's order. */
  readonly name: string
}

export interface Borrowed extends Place {
  /** Writes a blob here and returns its id. No git process. */
  readonly addBlob: (content: Uint8Array) => Promise<string>
  /** Writes a tree of blobs and gitlinks, given in the order of their names, and returns its id. No git process. */
  readonly addTree: (lines: readonly TreeLine[]) => Promise<string>
  /**
   * Ids of files of the worktree as `git add` would give them, clean filters and line endings included; the blobs are kept
   * here. `asIs` leaves the conversions out. Throws `git_failed` when a file cannot be read or a required filter fails. Each
   * file must be regular: git would follow a link. One git process.
   */
  readonly addFiles: (worktree: Worktree, paths: readonly string[], asIs?: boolean) => Promise<readonly string[]>
  /** Removes the folder. */
  readonly close: () => Promise<void>
}

/** Settings of the person or the repository that change what hashing a file does besides its content (case 64). */
const STEADY = ['-c', 'core.safecrlf=false', '-c', 'core.looseCompression=0', '-c', 'core.fsync=none'] as const

/** Makes such a repository; the caller closes it. Throws the system's error when there is no temporary folder. No git process. */
export const openBorrowed = async (repository: Repository): Promise<Borrowed> => {
  const dir = await mkdtemp(join(repository.env.TMPDIR || tmpdir(), 'discern-objects-'))
  const close = (): Promise<void> => rm(dir, { recursive: true, force: true, maxRetries: 3 })
  // Files are hashed into a store that borrows nothing: git would renew the times of the real objects it finds.
  const written = join(dir, 'written')
  try {
    await Promise.all([
      mkdir(join(dir, 'refs')),
      mkdir(join(dir, 'objects', 'info'), { recursive: true }),
      mkdir(written),
    ])
    await Promise.all([
      writeFile(join(dir, 'HEAD'), 'ref: refs/heads/none\n'),
      writeFile(join(dir, 'config'), configuration(repository)),
      writeFile(join(dir, 'objects', 'info', 'alternates'), `${join(repository.commonDir, 'objects')}\n${written}\n`),
    ])
  } catch (error) {
    await close()
    throw error
  }
  const digits = oidDigits(repository)
  const add = (type: 'blob' | 'tree', content: Uint8Array): Promise<string> => writeLoose(dir, digits, type, content)
  return {
    cwd: dir,
    env: borrowedEnvironment(repository, dir),
    ...(repository.signal ? { signal: repository.signal } : {}),
    addBlob: content => add('blob', content),
    addTree: lines => add('tree', encodeTree(lines)),
    addFiles: (worktree, paths, asIs = false) =>
      hashFiles(worktree, paths, ['-w', ...(asIs ? ['--no-filters'] : [])], { GIT_OBJECT_DIRECTORY: written }),
    close,
  }
}

/**
 * Ids of regular files as `git add` would give them (`filtered`) or of their bytes (`as-is`); nothing is kept. Throws
 * `git_failed` when one cannot be read or a required filter fails. One git process, none without paths.
 */
export const fileIds = (
  worktree: Worktree,
  paths: readonly string[],
  conversion: 'filtered' | 'as-is',
): Promise<readonly string[]> => hashFiles(worktree, paths, conversion === 'as-is' ? ['--no-filters'] : [], {})

const hashFiles = async (
  worktree: Worktree,
  paths: readonly string[],
  options: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<readonly string[]> => {
  if (paths.length === 0) return []
  const input = `${paths.map(displayPath).join('\n')}\n`
  const output = await gitOutput(worktree, [...STEADY, 'hash-object', ...options, '--stdin-paths'], { input, env })
  const ids = output.toString('latin1').split('\n').slice(0, -1)
  if (ids.length !== paths.length) throw new Error(`git hash-object answered ${ids.length} of ${paths.length} files`)
  return ids
}

const configuration = ({ objectFormat }: Repository): string =>
  objectFormat === 'sha256'
    ? '[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = sha256\n'
    : '[core]\n\trepositoryformatversion = 0\n\tbare = true\n'

const borrowedEnvironment = (repository: Repository, dir: string): Readonly<Record<string, string>> => {
  const env = Object.entries(repository.env).filter(([name]) => !/^GIT_(CONFIG|DIR$|WORK_TREE$)/.test(name))
  return {
    ...Object.fromEntries(env),
    GIT_DIR: dir,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    XDG_CONFIG_HOME: dir,
    HOME: dir,
  }
}

const writeLoose = async (
  dir: string,
  digits: 40 | 64,
  type: 'blob' | 'tree',
  content: Uint8Array,
): Promise<string> => {
  const object = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content])
  const oid = createHash(digits === 40 ? 'sha1' : 'sha256')
    .update(object)
    .digest('hex')
  const folder = join(dir, 'objects', oid.slice(0, 2))
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, oid.slice(2)), deflateSync(object, { level: 1 }))
  return oid
}

const encodeTree = (lines: readonly TreeLine[]): Buffer =>
  Buffer.concat(
    lines.flatMap(({ mode, oid, name }) => [
      Buffer.from(`${mode.replace(/^0/, '')} ${name}\0`, 'utf8'),
      Buffer.from(oid, 'hex'),
    ]),
  )
