/**
 * The processes of one command, found and ended. A command is the leader of a session and process group of its own; what
 * leaves both is found on Linux through `/proc`: by a marker in its environment, or as a child of one that was found. Elsewhere
 * only the group is known (case 82).
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { platform } from 'node:os'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { JOB_KILL_LIMIT_MS, JOB_POLL_MS } from '../limits.ts'
import { JOB_MARKER } from './environment.ts'

/** A process that is alive though it should not be. */
export interface Survivor {
  readonly pid: number
  /** Its name as the system tells it; empty where it does not. */
  readonly command: string
}

/** The leader of a command's group; `marker` is the last word of its `DISCERN_JOB`. */
export interface Group {
  readonly pid: number
  readonly marker: string
  /** Start of the leader in clock ticks; nothing older can descend from it. `undefined` where there is no `/proc`. */
  readonly started: number | undefined
}

interface Process extends Survivor {
  readonly parent: number
  readonly group: number
  readonly session: number
  readonly started: number
}

const PROC = platform() === 'linux' && existsSync('/proc/self/stat')

/** A living process, or `undefined`: zombies are dead, only their parent does not know yet. */
const readProcess = (pid: number): Process | undefined => {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return undefined
  }
  // The name is in parentheses and may hold spaces and parentheses itself.
  const end = stat.lastIndexOf(')')
  const [state, parent, group, session, ...more] = stat.slice(end + 2).split(' ')
  if (state === 'Z' || state === 'X' || state === undefined) return undefined
  return {
    pid,
    command: stat.slice(stat.indexOf('(') + 1, end),
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    started: Number(more[15]),
  }
}

/** The markers of a process, or none when its environment cannot be read. */
const markersOf = (pid: number): readonly string[] => {
  try {
    const environment = `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`
    const from = environment.indexOf(`\0${JOB_MARKER}=`)
    if (from === -1) return []
    const value = environment.slice(from + JOB_MARKER.length + 2)
    return value.slice(0, Math.max(0, value.indexOf('\0'))).split(' ')
  } catch {
    return []
  }
}

const processesSince = (started: number): readonly Process[] =>
  readdirSync('/proc').flatMap(name => {
    const found = /^\d+$/.test(name) ? readProcess(Number(name)) : undefined
    return found && found.started >= started ? [found] : []
  })

/** The group as it can be told apart later. Must be called as long as the leader was not waited for. */
export const groupOf = (pid: number, marker: string): Group => ({
  pid,
  marker,
  started: PROC ? startOf(pid) : undefined,
})

/** A zombie still has its start time, unlike in `readProcess`. */
const startOf = (pid: number): number | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19])
  } catch {
    return undefined
  }
}

/** `group`: what stayed in the command's process group. `all`: also what left it. */
export type Reach = 'group' | 'all'

const members = (group: Group, reach: Reach): readonly Process[] => {
  const all = processesSince(group.started ?? 0)
  if (reach === 'group') return all.filter(one => one.group === group.pid)
  const found = new Map<number, Process>()
  for (const one of all) {
    if (one.group === group.pid || one.session === group.pid || markersOf(one.pid).includes(group.marker)) {
      found.set(one.pid, one)
    }
  }
  // Children of what was found, so that an emptied environment hides nobody whose parent is still there.
  for (let before = -1; before !== found.size; ) {
    before = found.size
    for (const one of all) if (found.has(one.parent)) found.set(one.pid, one)
  }
  return [...found.values()]
}

const send = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    // Not ours to signal means that it is there.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Windows has no process groups; there the leader stands for all. */
const groupTarget = (group: Group): number => (platform() === 'win32' ? group.pid : -group.pid)

const livingMembers = (group: Group, reach: Reach): readonly Survivor[] => {
  if (PROC) return members(group, reach)
  return send(groupTarget(group), 0) ? [{ pid: group.pid, command: '' }] : []
}

const signalAll = (group: Group, found: readonly Survivor[], signal: NodeJS.Signals): void => {
  if (!PROC) {
    send(groupTarget(group), signal)
    return
  }
  const inGroup = (one: Survivor): boolean => readProcess(one.pid)?.group === group.pid
  // The group in one call, so that a member cannot fork itself past it.
  if (found.some(inGroup)) send(-group.pid, signal)
  for (const one of found) if (!inGroup(one)) send(one.pid, signal)
}

/** Whether anything of the group itself is alive. Cheap when nothing is. */
export const groupAlive = (group: Group): boolean =>
  send(groupTarget(group), 0) && (!PROC || members(group, 'group').length > 0)

const isSame = (one: Survivor): boolean => {
  const now = readProcess(one.pid)
  return now !== undefined && now.started === (one as Process).started
}

const gone = (group: Group, found: readonly Survivor[], limitMs: number): Promise<void> =>
  pollUntil(() => (PROC ? !found.some(isSame) : !send(groupTarget(group), 0)), limitMs)

/** Asks again and again until the answer is yes, for at most `limitMs`, however slowly a busy machine lets it ask. */
export const pollUntil = async (isSo: () => boolean, limitMs: number): Promise<void> => {
  let late = false
  const timer = setTimeout(() => {
    late = true
  }, limitMs)
  while (!isSo() && !late) await pause(JOB_POLL_MS)
  clearTimeout(timer)
}

/** Rounds of SIGKILL: whoever was forked while the last round was under way is found by the next. */
const KILL_ROUNDS = 4

/**
 * Ends the command's processes: SIGTERM, a grace of `graceMs`, SIGKILL. Answers with those that could not be ended; empty is
 * the rule. Takes at most the grace and a few times `JOB_KILL_LIMIT_MS`.
 */
export const endGroup = async (group: Group, reach: Reach, graceMs: number): Promise<readonly Survivor[]> => {
  let found = livingMembers(group, reach)
  if (found.length > 0) {
    signalAll(group, found, 'SIGTERM')
    await gone(group, found, graceMs)
  }
  for (let round = 0; round < KILL_ROUNDS; round += 1) {
    // Those of before count even when they cannot be found any more, as a child whose parent is dead.
    found = [...livingMembers(group, reach), ...(PROC ? found.filter(isSame) : [])]
    if (found.length === 0) return []
    signalAll(group, found, 'SIGKILL')
    await gone(group, found, JOB_KILL_LIMIT_MS)
  }
  return livingMembers(group, reach).map(({ pid, command }) => ({ pid, command }))
}

/** Processes of a run that left their job's session and still live. Empty where there is no `/proc`. */
export const strays = (run: string): readonly Survivor[] => {
  const since = PROC ? startOf(process.pid) : undefined
  if (since === undefined) return []
  return processesSince(since)
    .filter(one => markersOf(one.pid).some(marker => marker.startsWith(`${run}.`)))
    .map(({ pid, command }) => ({ pid, command }))
}

const living = new Set<Group>()
let watching = false

/** Kills a group and what left it, should this process end before the group is released: nothing outlives an early exit. */
export const holdGroup = (group: Group): (() => void) => {
  if (!watching) {
    watching = true
    process.on('exit', () => {
      for (const held of living) signalAll(held, livingMembers(held, 'all'), 'SIGKILL')
    })
  }
  living.add(group)
  return () => living.delete(group)
}
