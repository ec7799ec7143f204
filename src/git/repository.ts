/**
 * The repository, resolved once from the caller's directory and environment. `Repository` is enough for refs, objects and
 * configuration; `Worktree` also has files.
 */
import { realpath } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { type ObjectReader, openObjects } from './objects.ts'
import { git, gitEnvironment, type Place } from './run.ts'

export type ObjectFormat = 'sha1' | 'sha256'

export interface Repository extends Place {
  /** This worktree's own git directory, absolute. */
  readonly gitDir: string
  /** The directory that all worktrees share, absolute. */
  readonly commonDir: string
  readonly objectFormat: ObjectFormat
  readonly bare: boolean
  /** One long-lived `cat-file --batch`; started at the first question. */
  readonly objects: ObjectReader
  /** What HEAD named when the repository was opened, where it is a born branch; whoever acts on it reads HEAD again. */
  readonly opened: { readonly branch: string; readonly head: string } | undefined
}

export interface Worktree extends Repository {
  /** Top of the checkout, absolute; every git call runs here. */
  readonly topLevel: string
}

/** Length in hexadecimal digits of a full object id of this repository. */
export const oidDigits = (repository: Pick<Repository, 'objectFormat'>): 40 | 64 =>
  repository.objectFormat === 'sha256' ? 64 : 40

/** The all-zero id, git's word for "does not exist". */
export const zeroOid = (repository: Pick<Repository, 'objectFormat'>): string => '0'.repeat(oidDigits(repository))

/** Whether a text is a full object id of this repository (case 61: never "40 or 64" by pattern alone). */
export const isOid = (repository: Pick<Repository, 'objectFormat'>, text: string): boolean =>
  text.length === oidDigits(repository) && /^[0-9a-f]+$/.test(text)

/** Only these of git's repository-local variables say which repository is meant; the others belong to one git command. */
const CHOOSES_REPOSITORY = [
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_COMMON_DIR',
  'GIT_CEILING_DIRECTORIES',
  'GIT_DISCOVERY_ACROSS_FILESYSTEM',
]

type Opened = Repository & { readonly topLevel: string | undefined }

/** An invocation stands in one place, so whoever opens the repository after the first gets the same answer. */
const standing = new WeakMap<Context, Promise<Opened>>()

/**
 * Resolves the repository around `context.cwd`. One git process for each context. Refuses with `not_initialized` when there is
 * none. `signal` ends every git that is asked here later.
 */
export const openRepository = (context: Context, signal?: AbortSignal): Promise<Opened> => {
  if (signal) return resolveRepository(context, signal)
  const answer = standing.get(context) ?? resolveRepository(context)
  standing.set(context, answer)
  return answer
}

const resolveRepository = async (context: Context, signal?: AbortSignal): Promise<Opened> => {
  const inherited: Record<string, string> = {}
  for (const name of CHOOSES_REPOSITORY) {
    const value = context.env[name]
    if (value !== undefined) inherited[name] = value
  }
  const env = gitEnvironment(context.env)
  const run = await git({ cwd: context.cwd, env: { ...env, ...inherited } }, [
    'rev-parse',
    '--path-format=absolute',
    '--git-dir',
    '--git-common-dir',
    '--show-object-format',
    '--is-bare-repository',
    '--is-inside-work-tree',
    // Fails in a bare repository and inside a git directory; what was printed before it still counts.
    '--show-toplevel',
    'HEAD',
    '--symbolic-full-name',
    'HEAD',
  ])
  const [gitDir, commonDir, objectFormat, bare, , topLevel, head, branch] = run.stdout.toString('utf8').split('\n')
  if (!gitDir || !commonDir || (objectFormat !== 'sha1' && objectFormat !== 'sha256')) {
    throw new Refusal('not_initialized', {
      directory: context.cwd,
      reason: run.stderr.split('\n')[0] || 'git found no repository',
    })
  }
  const place: Place = {
    cwd: topLevel || context.cwd,
    env: { ...env, GIT_DIR: gitDir, ...(topLevel ? { GIT_WORK_TREE: topLevel } : {}) },
    ...(signal ? { signal } : {}),
  }
  const objects = openObjects(place, commonDir)
  context.defer(() => objects.close())
  return {
    ...place,
    gitDir,
    commonDir,
    objectFormat,
    bare: bare === 'true',
    objects,
    opened: head && branch?.startsWith('refs/heads/') ? { branch, head } : undefined,
    topLevel: topLevel || undefined,
  }
}

/** Resolves the checkout around `context.cwd`; refuses where there are no files, as in a bare repository. */
export const openWorktree = async (context: Context, signal?: AbortSignal): Promise<Worktree> => {
  const repository = await openRepository(context, signal)
  if (repository.topLevel === undefined) {
    throw new Refusal('not_initialized', { directory: context.cwd, reason: 'this repository has no work tree here' })
  }
  return { ...repository, topLevel: repository.topLevel }
}

/** Another checkout of the same repository, given its top directory and git directory. Shares the object reader. */
export const siblingWorktree = (repository: Repository, topLevel: string, gitDir: string): Worktree => ({
  ...repository,
  cwd: topLevel,
  env: { ...repository.env, GIT_DIR: gitDir, GIT_WORK_TREE: topLevel },
  gitDir,
  topLevel,
  opened: undefined,
})

/** `path` below the worktree's own git directory, as `git rev-parse --git-path` would resolve it for a worktree-scoped file. */
export const worktreePath = (repository: Repository, path: string): string => join(repository.gitDir, path)

/** `path` below the directory that all worktrees share. */
export const commonPath = (repository: Repository, path: string): string => join(repository.commonDir, path)

/** Whether `path` lies at or below `folder`, both resolved through symbolic links as far as they exist. */
export const isInside = async (path: string, folder: string): Promise<boolean> => {
  const inner = await resolveExisting(path)
  const outer = await resolveExisting(folder)
  return inner === outer || inner.startsWith(outer.endsWith('/') ? outer : `${outer}/`)
}

/** An absolute path with the symbolic links of its existing part resolved. */
export const resolveExisting = async (path: string): Promise<string> => {
  if (!isAbsolute(path)) throw new Error(`${path} is not absolute`)
  try {
    return await realpath(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(await resolveExisting(parent), path.slice(parent.length).replace(/^\//, ''))
  }
}
