/** Where git looks for hooks here, and whether that is a place of ours to write to (cases 1 to 4). */
import { realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { quoted } from '../escape.ts'
import type { ConfigEntry } from './config.ts'
import { HOOK_EVENTS } from './hook-stub.ts'
import { splitNul } from './path.ts'
import { isInside, type Repository } from './repository.ts'
import { git, gitOutput, type Place } from './run.ts'
import { listCheckouts, openCheckout } from './worktrees.ts'

/**
 * - `default`: `<common dir>/hooks`, also when `core.hooksPath` spells it out (case 4).
 * - `own`: another directory inside the git directory.
 * - `work-tree-ignored`: in a work tree, where git ignores it, as husky's `.husky/_`.
 * - `work-tree-tracked`: in a work tree, where a new file would show up as a change.
 * - `foreign`: outside the repository; only an explicit wish writes there (case 3).
 * - `missing`: `core.hooksPath` leads to no directory, so git runs no hook at all (cases 2, 4).
 */
export type HooksDirectoryKind = 'default' | 'own' | 'work-tree-ignored' | 'work-tree-tracked' | 'foreign' | 'missing'

export interface HooksDirectory {
  readonly kind: HooksDirectoryKind
  /** Absolute. */
  readonly path: string
  /** The `core.hooksPath` that leads there; `undefined` without one. */
  readonly setBy: { readonly value: string; readonly where: string; readonly clear: string } | undefined
}

/** What `openRepository` returns: hooks need no work tree, but a path may lie in one. */
export type HooksRepository = Repository & { readonly topLevel: string | undefined }

/**
 * Resolves and classifies the directory git runs hooks from. No git process without `core.hooksPath`, two with a path in this
 * work tree, up to four with one elsewhere.
 */
export const hooksDirectory = async (
  repository: HooksRepository,
  entries: readonly ConfigEntry[],
): Promise<HooksDirectory> => {
  const standard = join(repository.commonDir, 'hooks')
  const entry = entries.findLast(({ key }) => key === 'core.hookspath')
  if (entry === undefined) return { kind: 'default', path: standard, setBy: undefined }
  // Git runs hooks at the top of the work tree, or in the git directory of a bare repository; a relative path starts there.
  const asked = await git(repository, ['rev-parse', '--path-format=absolute', '--git-path', 'hooks'], {
    cwd: repository.topLevel ?? repository.gitDir,
  })
  // Git has no absolute form of an empty path.
  const path = asked.exitCode === 0 ? asked.stdout.toString('utf8').replace(/\n$/, '') : resolve(entry.value || '/')
  const found = { path, setBy: { value: entry.value, ...setBy(repository, entry) } }
  if ((await resolved(path)) === (await resolved(standard))) return { ...found, kind: 'default' }
  if (!(await isDirectory(path)) || asked.exitCode !== 0) return { ...found, kind: 'missing' }
  for (const folder of [repository.commonDir, repository.gitDir]) {
    if (await isInside(path, folder)) return { ...found, kind: 'own' }
  }
  const checkout = await checkoutAround(repository, path)
  if (checkout === undefined) return { ...found, kind: 'foreign' }
  return { ...found, kind: (await isIgnored(checkout, path)) ? 'work-tree-ignored' : 'work-tree-tracked' }
}

const isDirectory = async (path: string): Promise<boolean> =>
  stat(path).then(
    found => found.isDirectory(),
    () => false,
  )

/** The directory itself may be missing; what it lies in is not. */
const resolved = async (path: string): Promise<string> =>
  realpath(path).catch(async () => {
    const parent = await realpath(dirname(path)).catch(() => dirname(path))
    return join(parent, path.slice(dirname(path).length))
  })

/** Names the file that holds the setting and the one command that clears it, for every scope git has. */
const setBy = (repository: Repository, entry: ConfigEntry): { readonly where: string; readonly clear: string } => {
  if (!entry.origin.startsWith('file:')) {
    return { where: 'the command line or environment', clear: 'run git without -c core.hooksPath' }
  }
  const file = resolve(repository.cwd, entry.origin.slice('file:'.length))
  const own: Readonly<Record<string, string>> = {
    [join(repository.commonDir, 'config')]: 'git config --local --unset-all core.hooksPath',
    [join(repository.gitDir, 'config.worktree')]: 'git config --worktree --unset-all core.hooksPath',
  }
  return { where: file, clear: own[file] ?? `git config --file ${quoted(file)} --unset-all core.hooksPath` }
}

/** The checkout of this repository that a directory lies in; `undefined` outside all of them. */
const checkoutAround = async (repository: HooksRepository, path: string): Promise<Place | undefined> => {
  if (repository.topLevel !== undefined && (await isInside(path, repository.topLevel))) return repository
  for (const { topLevel } of await listCheckouts(repository)) {
    if (await isInside(path, topLevel)) return openCheckout(repository, topLevel)
  }
  return undefined
}

/** Whether git would never show our hooks in this directory as a change. */
const isIgnored = async (checkout: Place, path: string): Promise<boolean> => {
  const names = HOOK_EVENTS.map(event => join(path, event))
  const run = await git(checkout, ['check-ignore', '-z', '--stdin'], {
    input: names.map(name => `${name}\0`).join(''),
    // This one command refuses literal pathspecs, and takes every name literally anyway.
    env: { GIT_LITERAL_PATHSPECS: '0' },
  })
  return run.exitCode === 0 && splitNul(run.stdout).length === names.length
}

/** The version of git as numbers, for example `[2, 39, 5]`. One git process. */
export const gitVersion = async (place: Place): Promise<readonly number[]> => {
  const text = (await gitOutput(place, ['version'])).toString('utf8')
  return (/(\d+(?:\.\d+)*)/.exec(text)?.[1] ?? '0').split('.').map(Number)
}

/** Whether a version is at least another one. */
export const atLeast = (version: readonly number[], wanted: readonly number[]): boolean => {
  for (const [at, number] of wanted.entries()) {
    if ((version[at] ?? 0) !== number) return (version[at] ?? 0) > number
  }
  return true
}
