/**
 * Hooks as files in git's hooks directory: chained in place of what stands there, and taken out again without a trace. Every
 * change is one rename over the name git starts, so there is no moment at which neither hook runs.
 */
import { link, lstat, rename, symlink, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../store/file.ts'
import {
  isSame,
  judge,
  type Programs,
  readSlots,
  readStanding,
  type SlotName,
  type Slots,
  type Standing,
  slotPath,
  standingBytes,
} from './hook-slot.ts'
import { type ChainValues, type HookEvent, isPreCommits, managersWord, readingShell, renderStub } from './hook-stub.ts'

/** One thing that was done, or would be done in a dry run. `path` is absolute, or a configuration key. */
export interface HookAction {
  readonly event: HookEvent
  readonly action:
    | 'unchanged'
    /** Our hook was written where none stood. */
    | 'installed'
    /** Our hook was written, and what stood there is now `<event>.pre-discern` and runs first. */
    | 'chained'
    /** Our own hook was written anew. */
    | 'updated'
    /** A hook was given another name so that nothing is lost. */
    | 'moved-aside'
    | 'removed'
    /** The hook that had stood there stands there again. */
    | 'restored'
    /** Not touched; `detail` says why. */
    | 'left'
  readonly path: string
  readonly detail?: string
}

/** Writes nothing when `dryRun` is set; the returned actions are the same. */
interface Hand {
  readonly dryRun: boolean
  readonly done: HookAction[]
}

const act = async (hand: Hand, action: HookAction, work: () => Promise<unknown>): Promise<void> => {
  if (!hand.dryRun) await work()
  hand.done.push(action)
}

/** What the hook must know of the one it chains. Husky's generated files have a file `h` beside them. */
const chainValues = async (directory: string, event: HookEvent, chained: Standing): Promise<ChainValues> => {
  const bytes = standingBytes(chained)
  const huskys = (await readStanding(join(directory, 'h'), event)).kind === 'hook'
  return { as: readingShell(bytes, huskys), beside: managersWord(bytes) }
}

const writeStub = async (slots: Slots, name: SlotName, chained: Standing, programs: Programs): Promise<void> => {
  const values = await chainValues(slots.directory, slots.event, chained)
  await replaceFile(slotPath(slots, name), await renderStub(slots.event, { ...programs, ...values }), 0o755)
}

/**
 * Installs, chains again or renews the hook of one event in one directory, or leaves it alone and says why. Installing twice
 * changes nothing, and however often another manager and this take turns, the bytes are those of one turn (case 7).
 */
export const installHookFile = async (
  directory: string,
  event: HookEvent,
  programs: Programs,
  dryRun: boolean,
): Promise<readonly HookAction[]> => {
  const slots = await readSlots(directory, event)
  const { state, path, detail } = await judge(slots, programs, false)
  const hand: Hand = { dryRun, done: [] }
  switch (state) {
    case 'blocked':
    case 'edited':
      return [{ event, action: 'left', path, detail: detail ?? 'edited after it was installed' }]
    case 'installed':
    case 'other-version':
    case 'chained-by-other':
      await renew(hand, slots, state === 'other-version', programs)
      break
    case 'absent':
    case 'displaced':
      // pre-commit runs what stands at `.legacy`, and would move anything at its own place there, over what it holds.
      await place(hand, slots, isPreCommits(standingBytes(slots.hook)) ? 'legacy' : 'hook', programs)
      break
  }
  return hand.done
}

/** Our hook runs already: writes it anew when it is not what this version writes. */
const renew = async (hand: Hand, slots: Slots, isOutdated: boolean, programs: Programs): Promise<void> => {
  const { event, chained } = slots
  const name = slots.hook.kind === 'ours' ? 'hook' : 'legacy'
  const standing = slots[name]
  if (standing.kind !== 'ours') {
    hand.done.push({ event, action: 'unchanged', path: slotPath(slots, 'hook'), detail: 'called by hand' })
    return
  }
  const path = slotPath(slots, name)
  const { as, beside } = await chainValues(slots.directory, event, chained)
  if (isOutdated || standing.values.as !== as || standing.values.beside !== beside) {
    await act(hand, { event, action: 'updated', path }, () => writeStub(slots, name, chained, programs))
  } else hand.done.push({ event, action: 'unchanged', path })
}

/** Puts our hook where it will run; what stands there is kept as `<event>.pre-discern`. */
const place = async (hand: Hand, slots: Slots, name: 'hook' | 'legacy', programs: Programs): Promise<void> => {
  const { event, chained } = slots
  const standing = slots[name]
  const path = slotPath(slots, name)
  const kept = slotPath(slots, 'chained')
  if (standing.kind === 'blocked' || standing.kind === 'edited') {
    hand.done.push({ event, action: 'left', path, detail: standing.kind === 'blocked' ? standing.what : 'edited' })
    return
  }
  if (standing.kind === 'absent' || standing.kind === 'ours') {
    await act(hand, { event, action: 'installed', path }, () => writeStub(slots, name, chained, programs))
    return
  }
  const isKept = isSame(standing, chained)
  if (chained.kind !== 'absent' && !isKept) {
    const aside = await freeName(kept)
    const detail = 'an earlier chained hook; it no longer runs'
    await act(hand, { event, action: 'moved-aside', path: aside, detail }, () => rename(kept, aside))
  }
  await act(hand, { event, action: 'chained', path, detail: kept }, async () => {
    if (!isKept) await keepAs(path, kept, standing)
    await writeStub(slots, name, standing, programs)
  })
}

const freeName = async (path: string): Promise<string> => {
  for (let number = 1; ; number += 1) {
    const name = `${path}-${number}`
    const taken = await lstat(name).then(
      () => true,
      () => false,
    )
    if (!taken) return name
  }
}

/** A second name for the same file, or the same symbolic link again; where the file system has neither, a rename. */
const keepAs = async (path: string, kept: string, standing: Standing): Promise<void> => {
  if (standing.kind === 'symlink') await symlink(standing.target, kept)
  else await link(path, kept).catch(() => rename(path, kept))
}

/**
 * Takes our hook of one event out of one directory and puts back what stood there, with its bytes, mode and name. What was
 * edited, or is not ours, is left (case 6).
 */
export const removeHookFile = async (
  directory: string,
  event: HookEvent,
  dryRun: boolean,
): Promise<readonly HookAction[]> => {
  const slots = await readSlots(directory, event)
  const hand: Hand = { dryRun, done: [] }
  const at = (name: SlotName): string => slotPath(slots, name)
  const { hook, chained } = slots
  if (hook.kind === 'edited') {
    return [{ event, action: 'left', path: at('hook'), detail: 'edited after it was installed' }]
  }
  const remove = (name: SlotName): Promise<void> =>
    act(hand, { event, action: 'removed', path: at(name) }, () => unlink(at(name)))
  const restore = (to: SlotName): Promise<void> =>
    act(hand, { event, action: 'restored', path: at(to) }, () => rename(at('chained'), at(to)))
  // Where the chained hook would be today if we had never come: in place of each of ours, from the most to the least active.
  let homeless = chained.kind !== 'absent'
  if (homeless && isSame(hook, chained)) {
    await remove('chained')
    homeless = false
  }
  for (const name of ['hook', 'legacy', 'old'] as const) {
    const free = name === 'hook' && hook.kind === 'absent'
    if (slots[name].kind !== 'ours' && !free) continue
    if (homeless) await restore(name)
    else if (!free) await remove(name)
    homeless = false
  }
  if (homeless) {
    hand.done.push({ event, action: 'left', path: at('chained'), detail: 'another hook stands in its place' })
  }
  return hand.done
}

/** Absolute paths of the files in a directory that are ours to the letter. */
export const ownHookFiles = async (directory: string, event: HookEvent): Promise<readonly string[]> => {
  const slots = await readSlots(directory, event)
  return (['hook', 'legacy', 'old'] as const)
    .filter(name => slots[name].kind === 'ours')
    .map(name => slotPath(slots, name))
}
