/** Our hooks in one repository: where they stand, what git would run, installing them and taking them away again. */
import { rmdir, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Refusal, reasonOf } from '../errors.ts'
import { quoted } from '../escape.ts'
import { CONFIG_HOOKS_GIT_VERSION, HOOK_MISSED_LIMIT_BYTES, HOOK_STAMP_REST_MS, HOOK_STAMP_TICK_MS } from '../limits.ts'
import { adminFolder, readAdmin, removeAdmin, writeAdmin } from '../store/admin.ts'
import { readRegularFile, removeFile, replaceFile } from '../store/file.ts'
import type { ConfigEntry } from './config.ts'
import { hasConfigHooks, inspectConfigHook, installConfigHook, removeConfigHook } from './hook-config.ts'
import { atLeast, gitVersion, type HooksDirectory, type HooksRepository, hooksDirectory } from './hook-directory.ts'
import { type HookAction, installHookFile, ownHookFiles, removeHookFile } from './hook-files.ts'
import { type HooksInspection, type HooksObstacle, obstacleOf } from './hook-report.ts'
import { type HookInspection, judge, type Programs, readSlots } from './hook-slot.ts'
import { HOOK_EVENTS, type HookEvent } from './hook-stub.ts'

export type { HookAction } from './hook-files.ts'
export { type HooksInspection, type HooksObstacle, type HooksProblem, hookProblems } from './hook-report.ts'
export type { HookInspection, HookState, Programs } from './hook-slot.ts'
export type { HookEvent } from './hook-stub.ts'

export interface HooksOutcome {
  readonly mechanism: 'files' | 'config' | 'none'
  readonly actions: readonly HookAction[]
  /** Nothing of ours will run. Nothing was written either, unless a directory was named on purpose. */
  readonly obstacle: HooksObstacle | undefined
}

/** What an installation left behind, so that taking it away is exact. Paths are absolute. */
interface HooksState {
  readonly files: readonly { readonly event: HookEvent; readonly path: string }[]
}

const readState = async (repository: HooksRepository): Promise<HooksState> => {
  const read = await readAdmin(repository, 'hooks-state')
  const files = read.status === 'ok' ? read.value['files'] : undefined
  if (!Array.isArray(files)) return { files: [] }
  return {
    files: files.flatMap(({ event, path }: { event?: unknown; path?: unknown }) => {
      const known = HOOK_EVENTS.find(name => name === event)
      return known && typeof path === 'string' ? [{ event: known, path }] : []
    }),
  }
}

const inspectFiles = async (
  directory: HooksDirectory,
  { files }: HooksState,
  programs: Programs,
): Promise<readonly HookInspection[]> =>
  Promise.all(
    HOOK_EVENTS.map(async event => {
      const path = join(directory.path, event)
      if (directory.kind === 'missing') return { event, state: 'absent', path, detail: undefined } as const
      const recorded = files.some(file => file.event === event && dirname(file.path) === directory.path)
      return judge(await readSlots(directory.path, event), programs, recorded)
    }),
  )

/**
 * What git would run here of ours. Writes nothing. No git process in a repository with neither `core.hooksPath` nor configured
 * hooks; one more where hooks of ours are configured; see `hooksDirectory` for the others.
 */
export const inspectHooks = async (
  repository: HooksRepository,
  entries: readonly ConfigEntry[],
  programs: Programs,
): Promise<HooksInspection> => {
  const directory = await hooksDirectory(repository, entries)
  const state = await readState(repository)
  const optedIn = state.files.some(({ path }) => dirname(path) === directory.path)
  const files = await inspectFiles(directory, state, programs)
  if (files.some(({ state }) => !['absent', 'blocked'].includes(state))) {
    return { mechanism: 'files', directory, optedIn, events: files }
  }
  if (hasConfigHooks(entries, HOOK_EVENTS) && (await knowsConfigHooks(repository))) {
    const events = await Promise.all(HOOK_EVENTS.map(event => inspectConfigHook(repository, entries, event, programs)))
    return { mechanism: 'config', directory, optedIn, events }
  }
  return { mechanism: 'none', directory, optedIn, events: files }
}

const knowsConfigHooks = async (repository: HooksRepository): Promise<boolean> =>
  atLeast(await gitVersion(repository), CONFIG_HOOKS_GIT_VERSION)

export interface InstallRequest extends Programs {
  /** Absolute; an explicit wish to write there, wherever it is (case 3). */
  readonly hooksDir?: string | undefined
  readonly dryRun?: boolean | undefined
}

/**
 * Makes our hooks run, or says why not. One mechanism per repository: files where files are, else configured hooks where git
 * knows them, else files. Again changes nothing. Refuses with `write_access` when the place cannot be written to.
 */
export const installHooks = async (
  repository: HooksRepository,
  entries: readonly ConfigEntry[],
  request: InstallRequest,
): Promise<HooksOutcome> => {
  const dryRun = request.dryRun === true
  const programs: Programs = { node: request.node, launcher: request.launcher, version: request.version }
  const seen = await inspectHooks(repository, entries, programs)
  const directory = request.hooksDir === undefined ? seen.directory.path : request.hooksDir
  const byConfig =
    seen.mechanism === 'config' ||
    (seen.mechanism === 'none' && request.hooksDir === undefined && (await knowsConfigHooks(repository)))
  if (!byConfig && request.hooksDir === undefined && !isOurPlace(seen)) {
    const obstacle = obstacleOf(seen)
    if (obstacle) return { mechanism: 'none', actions: [], obstacle }
    const unchanged = seen.events.filter(({ state }) => state === 'installed')
    const actions = unchanged.map(({ event, path }) => ({ event, action: 'unchanged', path }) as const)
    return { mechanism: 'files', actions, obstacle: undefined }
  }
  const actions: HookAction[] = []
  try {
    for (const event of HOOK_EVENTS) {
      if (byConfig) actions.push(...(await installConfigHook(repository, entries, event, programs, dryRun)))
      else {
        actions.push(...(await installHookFile(directory, event, programs, dryRun)))
        actions.push(...(await removeConfigHook(repository, entries, event, dryRun)))
      }
    }
    if (!dryRun) await recordState(repository, byConfig ? [] : [directory])
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw new Refusal('write_access', { path: byConfig ? repository.commonDir : directory, reason: reasonOf(error) })
  }
  return {
    mechanism: byConfig ? 'config' : 'files',
    actions,
    obstacle: byConfig ? undefined : elsewhere(seen, directory),
  }
}

/** Whether hooks may be written there without being asked to. */
const isOurPlace = ({ directory, optedIn }: HooksInspection): boolean =>
  optedIn || ['default', 'own', 'work-tree-ignored'].includes(directory.kind)

/** A directory that was named on purpose and is not the one git looks into. */
const elsewhere = ({ directory }: HooksInspection, written: string): HooksObstacle | undefined =>
  directory.path === written
    ? undefined
    : {
        reason: `the hooks are in ${written}, and git looks into ${directory.path}`,
        choices: [`git config core.hooksPath ${quoted(written)}`],
      }

/** Remembers every file of ours that stands in these directories or stood on record already. */
const recordState = async (repository: HooksRepository, directories: readonly string[]): Promise<void> => {
  const before = await readState(repository)
  const places = new Set([...before.files.map(({ path }) => dirname(path)), ...directories])
  const files: { event: HookEvent; path: string }[] = []
  for (const directory of [...places].sort()) {
    for (const event of HOOK_EVENTS) {
      for (const path of await ownHookFiles(directory, event)) files.push({ event, path })
    }
  }
  if (JSON.stringify(files) === JSON.stringify(before.files) && files.length > 0) return
  await writeAdmin(repository, 'hooks-state', { files })
}

/**
 * Takes every hook of ours out of this repository, wherever an installation put one, and puts back what had stood there. What
 * was edited since, or is not ours, is left and named (case 6). The files that serve the hooks go too.
 */
export const uninstallHooks = async (
  repository: HooksRepository,
  entries: readonly ConfigEntry[],
  request: { readonly dryRun?: boolean | undefined } = {},
): Promise<HooksOutcome> => {
  const dryRun = request.dryRun === true
  const { files } = await readState(repository)
  const here = await hooksDirectory(repository, entries)
  const places = new Set(files.map(({ path }) => dirname(path)))
  if (!['foreign', 'missing'].includes(here.kind)) places.add(here.path)
  const actions: HookAction[] = []
  for (const event of HOOK_EVENTS) {
    for (const place of places) actions.push(...(await removeHookFile(place, event, dryRun)))
    actions.push(...(await removeConfigHook(repository, entries, event, dryRun)))
  }
  if (!dryRun) {
    await rmdir(adminFolder(repository, 'hooks')).catch(() => {})
    for (const file of ['hook-stamp', 'hook-ungoverned', 'hook-governed', 'missed-hooks', 'notes-pending'] as const) {
      await removeFile(adminFolder(repository, file))
    }
    await removeAdmin(repository, 'hooks-state')
  }
  return { mechanism: 'none', actions, obstacle: undefined }
}

/**
 * Says that the configuration of this worktree has been looked at as it is now. Until a configuration file changes again,
 * post-merge and post-rewrite start no Node for its sake. Errors are ignored: the cost is one more start.
 */
export const touchHookStamp = async (repository: HooksRepository): Promise<void> => {
  const looked = [join(repository.commonDir, 'config'), join(repository.gitDir, 'config.worktree')]
  const times = await Promise.all(
    looked.map(path =>
      stat(path).then(
        found => found.mtimeMs,
        () => 0,
      ),
    ),
  )
  const seen = Math.max(...times)
  const stamp = adminFolder(repository, 'hook-stamp')
  try {
    await replaceFile(stamp, '')
    // The shell asks which is newer. Within a tick of the clock it could not tell, and some shells compare whole seconds: a
    // file that has rested for a while can be left behind by that much without missing the next change.
    const { mtimeMs: now } = await stat(stamp)
    const seconds = Math.max(seen + HOOK_STAMP_TICK_MS, now - HOOK_STAMP_REST_MS) / 1000
    await utimes(stamp, seconds, seconds)
  } catch {
    // A place that cannot be written to only loses the shortcut.
  }
}

/** The runs that found no Node or no git discern, as `event` or `event argument`; at most a hundred (case 9). */
export const missedHooks = async (repository: HooksRepository): Promise<readonly string[]> => {
  const bytes = await readRegularFile(adminFolder(repository, 'missed-hooks'), HOOK_MISSED_LIMIT_BYTES).catch(
    () => undefined,
  )
  return (bytes?.toString('utf8') ?? '').split('\n').filter(line => HOOK_EVENTS.some(event => line.startsWith(event)))
}

/** Forgets the missed runs, once they have been reported and made up for. */
export const forgetMissedHooks = (repository: HooksRepository): Promise<void> =>
  removeFile(adminFolder(repository, 'missed-hooks'))
