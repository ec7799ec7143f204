/** The commits of a branch since the policy commit, in one fixed order, and their fingerprint (facts 2.5). */
import { isShallow } from '../git/refs.ts'
import { isOid, oidDigits, type Repository } from '../git/repository.ts'
import { git } from '../git/run.ts'
import { HISTORY_LIMIT_BYTES } from '../limits.ts'
import { sha256 } from '../store/digest.ts'
import type { Fact, History } from './facts.ts'

/**
 * Count and fingerprint of `base..head`, merges included; what is not committed counts nothing. Never a smaller number: a
 * shallow clone has no answer (`shallow`, case 57), nor has a list longer than `limitBytes` (`output_limit`) or one that
 * git cannot make (`git_failed`). At most one git process.
 */
export const collectHistory = async (
  repository: Repository,
  base: string,
  head = 'HEAD',
  limitBytes = HISTORY_LIMIT_BYTES,
): Promise<Fact<History>> => {
  if (await isShallow(repository)) return { unavailable: 'shallow' }
  const most = Math.floor(limitBytes / (oidDigits(repository) + 1))
  try {
    const run = await git(repository, [
      'rev-list',
      '--reverse',
      '--topo-order',
      `--max-count=${most + 1}`,
      '--end-of-options',
      `${base}..${head}`,
    ])
    if (run.exitCode !== 0) return { unavailable: 'git_failed' }
    const ids = run.stdout.toString('latin1').split('\n').slice(0, -1)
    if (ids.length > most) return { unavailable: 'output_limit' }
    if (!ids.every(id => isOid(repository, id))) return { unavailable: 'git_failed' }
    return { known: { count: ids.length, fingerprint: historyFingerprint(ids) } }
  } catch {
    return { unavailable: 'git_failed' }
  }
}

/** SHA-256 over the tag and the full ids, oldest first, joined by newlines (facts 2.5). */
export const historyFingerprint = (ids: readonly string[]): string => sha256(`checkpoint-history/v1\n${ids.join('\n')}`)
