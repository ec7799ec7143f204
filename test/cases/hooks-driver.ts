/** What the hook cases share: an installation without a verb around it, a Node that counts its starts, and a picture of a directory. */
import { spawnSync } from 'node:child_process'
import { chmodSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import type { Context } from '../../src/context.ts'
import { readConfig } from '../../src/git/config.ts'
import {
  type HooksInspection,
  type HooksOutcome,
  type InstallRequest,
  inspectHooks,
  installHooks,
  touchHookStamp,
  uninstallHooks,
} from '../../src/git/hooks.ts'
import { openRepository } from '../../src/git/repository.ts'
import { launcher, type Scratch } from '../support/scratch.ts'

/** The repositories whose git may define hooks in its configuration; everywhere else hooks are files, whatever git runs the tests. */
export const knowsConfigHooks = new WeakSet<Scratch>()

const version = spawnSync('git', ['version'], { encoding: 'utf8' }).stdout
const isNew = /^git version (?:2\.(?:5[4-9]|[6-9]\d)|[3-9])/.test(version)

/** A directory with a git that says it is older than configured hooks, and is otherwise the same. */
export const olderGit = (s: Scratch): string => {
  const git = s.sh('.', 'command -v git').out.trim()
  const shim = `#!/bin/sh\n[ "$1" = version ] && exec echo 'git version 2.53.0'\nexec '${git}' "$@"\n`
  return dirname(s.write('older/git', shim, 0o755))
}

/** Makes every git of these cases an older one, where hooks are files. */
export const filesOnly = (s: Scratch): Scratch => {
  if (isNew) s.env['PATH'] = `${olderGit(s)}:${s.env['PATH']}`
  return s
}

/** Runs `work` with the repository around a directory, opened as a verb would open it. */
export const inRepository = async <T>(
  s: Scratch,
  cwd: string,
  work: (
    repository: Awaited<ReturnType<typeof openRepository>>,
    entries: Awaited<ReturnType<typeof readConfig>>,
  ) => Promise<T>,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<T> => {
  const closers: (() => void | Promise<void>)[] = []
  const context: Context = {
    cwd: cwd.startsWith('/') ? cwd : s.path(cwd),
    env: {
      ...s.env,
      ...(isNew && !knowsConfigHooks.has(s) ? { PATH: `${olderGit(s)}:${s.env['PATH']}` } : {}),
      ...env,
    },
    now: () => new Date(),
    uuid: () => '00000000-0000-4000-8000-000000000000',
    pid: process.pid,
    host: hostname(),
    node: process.execPath,
    launcher,
    version: '0.0.0-test',
    platform: 'test',
    terminal: false,
    signal: new AbortController().signal,
    progress: () => {},
    confirm: undefined,
    defer: close => closers.push(close),
  }
  try {
    const repository = await openRepository(context)
    return await work(repository, await readConfig(repository))
  } finally {
    for (const close of closers) await close()
  }
}

export const programs = { node: process.execPath, launcher, version: '1.0.0-test' } as const

/** Installs the hooks and says, as setup does last, that the configuration has been looked at. */
export const install = (
  s: Scratch,
  cwd: string,
  request: Partial<InstallRequest> = {},
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<HooksOutcome> =>
  inRepository(
    s,
    cwd,
    async (repository, entries) => {
      const outcome = await installHooks(repository, entries, { ...programs, ...request })
      await touchHookStamp(repository)
      return outcome
    },
    env,
  )

export const inspect = (
  s: Scratch,
  cwd: string,
  env: Readonly<Record<string, string | undefined>> = {},
  expected: Partial<InstallRequest> = {},
): Promise<HooksInspection> =>
  inRepository(s, cwd, (repository, entries) => inspectHooks(repository, entries, { ...programs, ...expected }), env)

export const uninstall = (
  s: Scratch,
  cwd: string,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<HooksOutcome> => inRepository(s, cwd, (repository, entries) => uninstallHooks(repository, entries), env)

/** `event: state`, as one object. */
export const states = ({ events }: HooksInspection): Record<string, string> =>
  Object.fromEntries(events.map(({ event, state }) => [event, state]))

/** `event: action, action`, as one object. */
export const actions = ({ actions: done }: HooksOutcome): Record<string, string> => {
  const named: Record<string, string> = {}
  for (const { event, action } of done) named[event] = named[event] ? `${named[event]}, ${action}` : action
  return named
}

/**
 * A Node that writes a line for every start and then does `then`, and a launcher that starts it as the real one does: what
 * the hooks decide is tested without the time that a real Node takes.
 */
export const counting = (s: Scratch, then = ''): { readonly node: string; readonly launcher: string } => ({
  node: s.write('counting/node', `#!/bin/sh\necho "$*" >>'${s.path('starts')}'\n${then}\n`, 0o755),
  launcher: s.write('counting/git-discern', '#!/bin/sh\nexec "$DISCERN_NODE" bundle "$@"\n', 0o755),
})

/** The arguments of every start so far, without the bundle's path. */
export const starts = (s: Scratch): readonly string[] => {
  try {
    return readFileSync(s.path('starts'), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map(line => line.replace(/^\S+ /, ''))
  } catch {
    return []
  }
}

/** Everything in a directory: name, kind, mode and content, in one comparable value. The samples of git are left out. */
export const picture = (directory: string): Record<string, string> => {
  const seen: Record<string, string> = {}
  for (const name of readdirSync(directory).sort()) {
    if (name.endsWith('.sample')) continue
    const path = join(directory, name)
    const found = lstatSync(path)
    seen[name] = found.isSymbolicLink()
      ? `-> ${readlinkSync(path)}`
      : found.isDirectory()
        ? 'directory'
        : `${(found.mode & 0o777).toString(8)} ${readFileSync(path, 'latin1')}`
  }
  return seen
}

/** Writes a hook as a person would. */
export const hook = (s: Scratch, path: string, body: string, mode = 0o755): string => {
  const full = s.write(path, `#!/bin/sh\n${body}\n`)
  chmodSync(full, mode)
  return full
}
