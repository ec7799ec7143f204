/** What stands where a hook of one event could be, and what that means. Reads files, starts nothing, writes nothing. */
import { access, constants, lstat, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { HOOK_LIMIT_BYTES } from '../limits.ts'
import {
  type ChainValues,
  callsDiscern,
  type HookEvent,
  isPreCommits,
  readStub,
  renderStub,
  type StubValues,
} from './hook-stub.ts'

export type Standing =
  | { readonly kind: 'absent' }
  /** Ours to the letter, whichever version wrote it. */
  | { readonly kind: 'ours'; readonly bytes: Buffer; readonly executable: boolean; readonly values: StubValues }
  | { readonly kind: 'edited' }
  | { readonly kind: 'hook'; readonly bytes: Buffer; readonly executable: boolean }
  | { readonly kind: 'symlink'; readonly target: string; readonly bytes: Buffer | undefined }
  /** A directory, a device, or something that cannot be read. */
  | { readonly kind: 'blocked'; readonly what: string }

/** What stands at one path. Never throws. */
export const readStanding = async (path: string, event: HookEvent): Promise<Standing> => {
  try {
    const found = await lstat(path)
    if (found.isSymbolicLink()) {
      const bytes = await readFile(path).catch(() => undefined)
      if (bytes !== undefined && readStub(bytes).kind !== 'foreign') return { kind: 'edited' }
      return { kind: 'symlink', target: await readlink(path), bytes }
    }
    if (!found.isFile()) return { kind: 'blocked', what: found.isDirectory() ? 'a directory' : 'no regular file' }
    const executable = (found.mode & 0o111) !== 0
    if (found.size > HOOK_LIMIT_BYTES) return { kind: 'hook', bytes: Buffer.alloc(0), executable }
    const bytes = await readFile(path)
    const stub = readStub(bytes)
    if (stub.kind === 'edited' && stub.event === event) return { kind: 'edited' }
    if (stub.kind === 'intact' && stub.event === event) {
      return { kind: 'ours', bytes, executable, values: stub.values }
    }
    return { kind: 'hook', bytes, executable }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    return code === 'ENOENT' || code === 'ENOTDIR'
      ? { kind: 'absent' }
      : { kind: 'blocked', what: `not readable (${code ?? 'unknown'})` }
  }
}

/** The four names under which managers keep a hook of one event. */
export interface Slots {
  readonly event: HookEvent
  readonly directory: string
  readonly hook: Standing
  /** Where pre-commit puts, and from where it runs, the hook it found. */
  readonly legacy: Standing
  /** Where lefthook puts the hook it found; it does not run it. */
  readonly old: Standing
  /** Where we put the hook we found; ours runs it first. */
  readonly chained: Standing
}

export type SlotName = 'hook' | 'legacy' | 'old' | 'chained'

const SUFFIX: Readonly<Record<SlotName, string>> = { hook: '', legacy: '.legacy', old: '.old', chained: '.pre-discern' }

export const slotPath = (slots: Pick<Slots, 'directory' | 'event'>, name: SlotName): string =>
  join(slots.directory, `${slots.event}${SUFFIX[name]}`)

export const readSlots = async (directory: string, event: HookEvent): Promise<Slots> => {
  const read = (name: SlotName): Promise<Standing> => readStanding(slotPath({ directory, event }, name), event)
  const [hook, legacy, old, chained] = await Promise.all([read('hook'), read('legacy'), read('old'), read('chained')])
  return { event, directory, hook, legacy, old, chained }
}

/** Whether two standing hooks are the same to the letter, so that one of them can go without any loss. */
export const isSame = (one: Standing, other: Standing): boolean => {
  if (one.kind === 'symlink' && other.kind === 'symlink') return one.target === other.target
  if (one.kind !== 'hook' || other.kind !== 'hook' || one.bytes.length === 0) return false
  return one.executable === other.executable && one.bytes.equals(other.bytes)
}

export const standingBytes = (standing: Standing): Buffer =>
  (standing.kind === 'hook' || standing.kind === 'symlink' ? standing.bytes : undefined) ?? Buffer.alloc(0)

export type HookState =
  | 'installed'
  /** Another manager renamed our hook and runs it from there, as pre-commit does. */
  | 'chained-by-other'
  /** It was here, and something else stands in its place or it was moved away; nothing of ours runs. */
  | 'displaced'
  | 'absent'
  /** Changed after we wrote it: left alone, whatever it does. */
  | 'edited'
  /** Something that is no file stands there. */
  | 'blocked'
  /** Ours and unchanged, but from another version or place, or with a Node that is gone. */
  | 'other-version'

export interface HookInspection {
  readonly event: HookEvent
  readonly state: HookState
  /** Absolute path of the file that the state speaks of, or the configuration key. */
  readonly path: string
  readonly detail: string | undefined
}

/** The values of the running program. */
export type Programs = Omit<StubValues, keyof ChainValues>

/**
 * Why a hook of ours is not what this program would write, or `undefined` when it is. Another Node than today's is right as
 * long as it can start, so that two Nodes do not take turns.
 */
export const outdated = async (
  standing: Extract<Standing, { kind: 'ours' }>,
  event: HookEvent,
  programs: Programs,
): Promise<string | undefined> => {
  const { values, bytes } = standing
  if (values.version !== programs.version) return `made by git discern ${values.version}`
  if (values.launcher !== programs.launcher) return `made by the git discern at ${values.launcher}`
  if (values.node !== programs.node && !(await canStart(values.node))) return `its Node is gone: ${values.node}`
  return (await renderStub(event, values)) === bytes.toString('latin1')
    ? undefined
    : 'made by another build of this version'
}

/** Whether a file is there that the operating system would start. */
export const canStart = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  )

/** What the four names mean together. `recorded` says that an earlier installation here wrote this event's hook. */
export const judge = async (slots: Slots, programs: Programs, recorded: boolean): Promise<HookInspection> => {
  const { event, hook, legacy, old, chained } = slots
  const say = (state: HookState, name: SlotName = 'hook', detail?: string): HookInspection => ({
    event,
    state,
    path: slotPath(slots, name),
    detail,
  })
  if (hook.kind === 'blocked') return say('blocked', 'hook', hook.what)
  if (hook.kind === 'edited') return say('edited')
  if (hook.kind === 'ours') {
    if (!hook.executable) return say('edited', 'hook', 'is not executable')
    const reason = await outdated(hook, event, programs)
    return reason === undefined ? say('installed') : say('other-version', 'hook', reason)
  }
  if (hook.kind !== 'absent') {
    const bytes = standingBytes(hook)
    if (legacy.kind === 'ours' && legacy.executable && isPreCommits(bytes)) {
      const reason = await outdated(legacy, event, programs)
      return reason === undefined ? say('chained-by-other', 'legacy') : say('other-version', 'legacy', reason)
    }
    if (callsDiscern(bytes, event)) return say('installed', 'hook', 'called by hand')
  }
  const evidence = recorded || old.kind === 'ours' || legacy.kind === 'ours' || chained.kind !== 'absent'
  if (!evidence) return say('absent')
  return hook.kind === 'absent' ? say('displaced', 'hook', 'removed after they were installed') : say('displaced')
}
