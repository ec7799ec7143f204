/**
 * One holder at a time for one worktree's own stores. The lock is a file with the holder's identity; a holder that is gone
 * (other boot, no such process, or a process that started later) does not count (case 84). Refs need no lock: they are moved by
 * compare-and-swap.
 */
import { link, readFile, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { adminFolder } from './admin.ts'
import { createFile, readRegularFile } from './file.ts'

/** Who holds a lock or a slot. */
export interface Holder {
  readonly pid: number
  readonly host: string
  /** Start identity of the process where the system tells it: a reused pid has another one. */
  readonly started: string
  readonly verb: string
}

/** Boot id and start time of a process, from Linux's `/proc`; empty where there is none, and then only the pid counts. */
const startIdentity = async (pid: number): Promise<string> => {
  try {
    const [boot, stat] = await Promise.all([
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
      readFile(`/proc/${pid}/stat`, 'utf8'),
    ])
    // The command name is in parentheses and may hold spaces; the start time is the 20th field after it.
    return `${boot.trim()}:${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`
  } catch {
    return ''
  }
}

/** This process as a holder. */
export const holderOf = async (context: Context, verb: string): Promise<Holder> => ({
  pid: context.pid,
  host: context.host,
  started: await startIdentity(context.pid),
  verb,
})

/** Whether a holder still exists; one on another host counts as alive, since nothing here can tell. */
export const isAlive = async (holder: Holder, host: string): Promise<boolean> => {
  if (holder.host !== host) return true
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  return holder.started === '' || (await startIdentity(holder.pid)) === holder.started
}

/**
 * Runs `work` while holding the worktree's lock of that name. Does not wait: a living holder refuses with `busy`, naming it.
 */
export const withLock = async <T>(
  context: Context,
  directories: { readonly gitDir: string; readonly commonDir: string },
  name: string,
  verb: string,
  work: () => Promise<T>,
): Promise<T> => {
  const path = join(adminFolder(directories, 'lock'), name)
  const mine = await holderOf(context, verb)
  for (let tries = 0; ; tries += 1) {
    if (await createFile(path, `${JSON.stringify(mine)}\n`)) break
    const holder = await readHolder(path)
    if (holder && ((await isAlive(holder, context.host)) || tries > 3)) {
      throw new Refusal('busy', {
        what: `git discern ${holder.verb}`,
        holder: `process ${holder.pid} on ${holder.host}`,
        path,
      })
    }
    await buryHolder(path, holder, context)
  }
  try {
    return await work()
  } finally {
    await unlink(path).catch(() => {})
  }
}

/**
 * Takes the file of a dead holder out of the way. Several processes may find the same dead one, and the first may already
 * have put its own file there: that one goes back. `undefined` stands for a file that names no holder.
 */
export const buryHolder = async (path: string, dead: Holder | undefined, context: Context): Promise<void> => {
  const grave = `${path}.dead-${context.pid}-${context.uuid()}`
  try {
    await rename(path, grave)
  } catch {
    return
  }
  const found = await readHolder(grave)
  if (found && JSON.stringify(found) !== JSON.stringify(dead)) await link(grave, path).catch(() => {})
  await unlink(grave).catch(() => {})
}

const readHolder = async (path: string): Promise<Holder | undefined> => {
  try {
    const bytes = await readRegularFile(path, 65_536)
    return bytes && (JSON.parse(bytes.toString('utf8')) as Holder)
  } catch {
    return undefined
  }
}
