/**
 * One holder at a time for one worktree's own stores. The lock is a file with the holder's identity; a holder that is gone
 * (other boot, no such process, or a process that started later) does not count (case 84). Refs need no lock: they are moved by
 * compare-and-swap.
 */
import { readFile, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { adminFolder } from './admin.ts'
import { createFile, readRegularFile } from './file.ts'

interface Holder {
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

const isAlive = async (holder: Holder, host: string): Promise<boolean> => {
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
  const mine: Holder = { pid: context.pid, host: context.host, started: await startIdentity(context.pid), verb }
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
    // Two processes may find the same dead holder; only one of them can rename the file away.
    const grave = `${path}.dead-${context.pid}-${tries}`
    await rename(path, grave).then(
      () => unlink(grave),
      () => {},
    )
  }
  try {
    return await work()
  } finally {
    await unlink(path).catch(() => {})
  }
}

const readHolder = async (path: string): Promise<Holder | undefined> => {
  try {
    const bytes = await readRegularFile(path, 65_536)
    return bytes && (JSON.parse(bytes.toString('utf8')) as Holder)
  } catch {
    return undefined
  }
}
