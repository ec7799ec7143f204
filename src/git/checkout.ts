/** Brings a checkout from one commit to another by a two-tree merge, which keeps local edits, staged and untracked files (case 51). */
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { CHECKOUT_TRY_COUNT, REF_RETRY_PAUSE_LIMIT_MS } from '../limits.ts'
import type { Worktree } from './repository.ts'
import { git } from './run.ts'

interface Move {
  /** Full ids: what the index is known to hold, and what it shall. */
  readonly from: string
  readonly to: string
}

/** The arguments of the merge; with `dry` git only says whether it would work. */
const readTree = ({ from, to }: Move, dry: boolean): string[] => [
  'read-tree',
  ...(dry ? ['-n'] : []),
  '-u',
  '-m',
  '--no-recurse-submodules',
  from,
  to,
]

/**
 * Git's first line about why the merge would not work, or `undefined`. `env` may name another index, so that the real one keeps
 * its file times. Two git processes.
 */
export const checkoutProblem = async (
  checkout: Worktree,
  move: Move,
  env: Readonly<Record<string, string>> = {},
): Promise<string | undefined> => {
  await git(checkout, ['update-index', '-q', '--refresh'], { env })
  const run = await git(checkout, readTree(move, true), { env })
  return run.exitCode === 0 ? undefined : firstLine(run.stderr)
}

/** The merge; `undefined` when it worked, else git's reason. Waits briefly for somebody else's `index.lock` (case 85). */
export const bringAlong = async (checkout: Worktree, move: Move): Promise<string | undefined> => {
  let reason = ''
  for (let tries = 0; tries < CHECKOUT_TRY_COUNT; tries += 1) {
    await git(checkout, ['update-index', '-q', '--refresh'])
    const run = await git(checkout, readTree(move, false))
    if (run.exitCode === 0) return undefined
    reason = firstLine(run.stderr)
    if (!(await lstat(join(checkout.gitDir, 'index.lock')).catch(() => undefined))) break
    await pause(REF_RETRY_PAUSE_LIMIT_MS)
  }
  return reason
}

const firstLine = (stderr: string): string => stderr.split('\n')[0] || 'git read-tree refused'
