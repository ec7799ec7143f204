/**
 * Hooks defined in the repository's configuration, for git 2.54 and newer (case 8). Each of our events has a name of its own,
 * since git does not tell a command which event it runs for; the file it reads lies in the git directory, where no other
 * manager looks.
 */
import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { adminFolder } from '../store/admin.ts'
import { replaceFile } from '../store/file.ts'
import { addConfigValue, type ConfigEntry, configValue, configValues, removeConfigValue } from './config.ts'
import type { HookAction } from './hook-files.ts'
import { type HookInspection, outdated, type Programs, readStanding } from './hook-slot.ts'
import { callsDiscern, type HookEvent, renderStub } from './hook-stub.ts'
import type { Repository } from './repository.ts'

const SECTION = (event: HookEvent): string => `hook.discern-${event}`

export const configHookPath = (repository: Repository, event: HookEvent): string =>
  join(adminFolder(repository, 'hooks'), event)

/**
 * What git's shell runs. It reads the file rather than starting another shell, and it is true when the file is gone, as in a
 * repository that was moved: a failing reference-transaction hook would stop every ref update (case 10).
 */
const command = (repository: Repository, event: HookEvent): string => {
  const path = `'${configHookPath(repository, event).replaceAll("'", "'\\''")}'`
  const early = event === 'reference-transaction' ? 'test "$1" != committed || ' : ''
  return `${early}test ! -r ${path} || . ${path}`
}

/** Names of hooks that a person configured to call us for an event. */
const byHand = (entries: readonly ConfigEntry[], event: HookEvent): readonly string[] => {
  const names = entries.flatMap(({ key, value }) => {
    const name = /^hook\.(.+)\.event$/.exec(key)?.[1]
    return name !== undefined && value === event && name !== `discern-${event}` ? [name] : []
  })
  return names.filter(
    name =>
      callsDiscern(Buffer.from(configValue(entries, `hook.${name}.command`) ?? ''), event) &&
      !isOff(configValue(entries, `hook.${name}.enabled`)),
  )
}

const isOff = (value: string | undefined): boolean => /^(false|no|off|0|)$/i.test(value ?? 'true')

/** Whether the configuration says anything of hooks of ours. */
export const hasConfigHooks = (entries: readonly ConfigEntry[], events: readonly HookEvent[]): boolean =>
  events.some(event => ownEntries(entries, event).length > 0 || byHand(entries, event).length > 0)

const ownEntries = (entries: readonly ConfigEntry[], event: HookEvent): readonly ConfigEntry[] =>
  entries.filter(({ key }) => key === `${SECTION(event)}.command` || key === `${SECTION(event)}.event`)

/** The state of one event's configured hook. */
export const inspectConfigHook = async (
  repository: Repository,
  entries: readonly ConfigEntry[],
  event: HookEvent,
  programs: Programs,
): Promise<HookInspection> => {
  const [hand] = byHand(entries, event)
  if (hand !== undefined) {
    return { event, state: 'installed', path: `hook.${hand}.command`, detail: 'configured by hand' }
  }
  const own = { event, path: `${SECTION(event)}.command`, detail: undefined }
  if (ownEntries(entries, event).length === 0) return { ...own, state: 'absent' }
  if (isOff(configValue(entries, `${SECTION(event)}.enabled`))) {
    return { ...own, state: 'edited', detail: 'is switched off by its `enabled` key' }
  }
  const standing = await readStanding(configHookPath(repository, event), event)
  if (
    configValues(entries, `${SECTION(event)}.event`).join() !== event ||
    configValues(entries, `${SECTION(event)}.command`).join('\n') !== command(repository, event) ||
    standing.kind === 'absent'
  ) {
    return { ...own, state: 'displaced', detail: 'the configured command does not lead to this repository any more' }
  }
  if (standing.kind !== 'ours') return { ...own, state: 'edited', path: configHookPath(repository, event) }
  const reason = await outdated(standing, event, programs)
  return reason === undefined ? { ...own, state: 'installed' } : { ...own, state: 'other-version', detail: reason }
}

/** Defines one event's hook in the repository's own configuration. Up to four git processes. */
export const installConfigHook = async (
  repository: Repository,
  entries: readonly ConfigEntry[],
  event: HookEvent,
  programs: Programs,
  dryRun: boolean,
): Promise<readonly HookAction[]> => {
  const seen = await inspectConfigHook(repository, entries, event, programs)
  const { path, detail } = seen
  if (seen.state === 'installed') return [{ event, action: 'unchanged', path, ...(detail ? { detail } : {}) }]
  if (seen.state === 'edited') {
    return [{ event, action: 'left', path, detail: detail ?? 'edited after it was installed' }]
  }
  if (!dryRun) {
    const file = configHookPath(repository, event)
    await replaceFile(file, await renderStub(event, { ...programs, as: '', beside: '' }), 0o644)
    if (seen.state !== 'other-version') {
      await removeEntries(repository, entries, event)
      await addConfigValue(repository, `${SECTION(event)}.command`, command(repository, event))
      await addConfigValue(repository, `${SECTION(event)}.event`, event)
    }
  }
  return [{ event, action: seen.state === 'absent' ? 'installed' : 'updated', path }]
}

const removeEntries = async (
  repository: Repository,
  entries: readonly ConfigEntry[],
  event: HookEvent,
): Promise<void> => {
  for (const { key, value, scope } of ownEntries(entries, event)) {
    if (scope === 'local') await removeConfigValue(repository, key, value)
  }
}

/** Takes one event's hook out of the repository's own configuration. Up to two git processes. */
export const removeConfigHook = async (
  repository: Repository,
  entries: readonly ConfigEntry[],
  event: HookEvent,
  dryRun: boolean,
): Promise<readonly HookAction[]> => {
  const actions: HookAction[] = []
  const path = `${SECTION(event)}.command`
  if (ownEntries(entries, event).some(({ scope }) => scope === 'local')) {
    if (!dryRun) await removeEntries(repository, entries, event)
    actions.push({ event, action: 'removed', path })
  }
  const file = configHookPath(repository, event)
  const standing = await readStanding(file, event)
  if (standing.kind === 'ours') {
    if (!dryRun) await unlink(file)
    actions.push({ event, action: 'removed', path: file })
  } else if (standing.kind !== 'absent') {
    actions.push({ event, action: 'left', path: file, detail: 'edited after it was installed' })
  }
  return actions
}
