/**
 * The owner's permission for the next landing of one branch (facts 10.3), and how one landing takes it. The record stands in the
 * worktree's `effort-grant`; a landing moves it to `effort-grant-claims/<landing id>.json` before its journal is written.
 *
 * One rule keeps a grant from being spent twice and from being lost, whatever is killed when: *a grant that stands was not
 * spent*. A claim is written first and the grant removed after it, so that a claim beside its standing grant was never finished
 * and counts for nothing. A claim alone is spent if its landing happened, and goes back if not.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { Refusal, reasonOf } from '../errors.ts'
import { effortId } from '../proof/effort.ts'
import { adminFolder } from '../store/admin.ts'
import { type BranchStore, changeBranch, isMembers, readBranch } from '../store/by-branch.ts'
import { createFile, readRegularFile, removeFile } from '../store/file.ts'
import { readJournal } from './journal.ts'

interface Directories {
  readonly gitDir: string
  readonly commonDir: string
}

export interface EffortGrant {
  /** Lowercase UUIDs. */
  readonly id: string
  /** Full ref name. */
  readonly branch: string
  readonly effort_id: string
  /** Epoch milliseconds. */
  readonly granted_at: number
}

const CLAIM_LIMIT_BYTES = 1 << 16
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const isUuid = (value: unknown): boolean => typeof value === 'string' && UUID.test(value)

const parse = (value: unknown, branch: string): EffortGrant | undefined => {
  if (!isMembers(value) || value['branch'] !== branch) return undefined
  const { id, effort_id, granted_at } = value
  return isUuid(id) && isUuid(effort_id) && Number.isSafeInteger(granted_at)
    ? { id: String(id), branch, effort_id: String(effort_id), granted_at: Number(granted_at) }
    : undefined
}

const store: BranchStore<EffortGrant> = { file: 'effort-grant', field: 'grants', parse }

/** What is granted to a branch, if anything. Refuses with `store_newer` or `store_unreadable`; writes nothing. */
export const readGrant = (directories: Directories, branch: string): Promise<EffortGrant | undefined> =>
  readBranch(directories, store, branch)

/**
 * Grants the next landing of a branch; the owner's act, so the caller has asked. A grant that stands stays as it is. Refuses
 * with `store_newer`, `store_unreadable` or `busy`, and then nothing was changed.
 */
export const grantEffort = async (
  context: Context,
  directories: Directories,
  branch: string,
): Promise<{ readonly grant: EffortGrant; readonly fresh: boolean }> => {
  const effort_id = await effortId(context, directories, branch)
  const fresh: EffortGrant = { id: context.uuid(), branch, effort_id, granted_at: context.now().getTime() }
  const grant = await changeBranch(context, directories, store, branch, standing =>
    standing?.effort_id === effort_id ? standing : fresh,
  )
  return { grant: grant ?? fresh, fresh: grant === fresh }
}

/**
 * Takes the grant of a branch back, and claims of it that were left by a landing that never ended. Gives what stood. A landing
 * that happened has spent its grant, and nothing here changes that.
 */
export const revokeGrant = async (
  context: Context,
  directories: Directories,
  branch: string,
): Promise<EffortGrant | undefined> => {
  let revoked: EffortGrant | undefined
  await changeBranch(context, directories, store, branch, async standing => {
    for (const claim of await claimsOf(directories)) {
      if ('problem' in claim || claim.grant.branch !== branch) continue
      revoked ??= claim.grant
      await removeFile(claim.path)
    }
    if (standing) revoked = standing
    return undefined
  })
  return revoked
}

/** A grant that a landing holds, or why a file of the folder is none. */
export type Claim =
  | { readonly path: string; readonly landingId: string; readonly grant: EffortGrant }
  | { readonly path: string; readonly landingId: string; readonly problem: string }

const claimPath = (directories: Directories, landingId: string): string => {
  if (!UUID.test(landingId)) throw new Error(`${landingId} is no id of a landing`)
  return join(adminFolder(directories, 'effort-grant-claims'), `${landingId}.json`)
}

const readClaim = async (path: string, landingId: string): Promise<Claim | undefined> => {
  try {
    const bytes = await readRegularFile(path, CLAIM_LIMIT_BYTES)
    if (bytes === undefined) return undefined
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    if (!isMembers(value)) return { path, landingId, problem: 'not a JSON object' }
    if (value['version'] !== 1) return { path, landingId, problem: `version ${String(value['version'])}` }
    const held = value['grant']
    const grant = isMembers(held) ? parse(held, String(held['branch'])) : undefined
    if (!grant || value['landing_id'] !== landingId) return { path, landingId, problem: 'fields are missing' }
    return { path, landingId, grant }
  } catch (error) {
    return { path, landingId, problem: reasonOf(error) }
  }
}

/** Every claim of this worktree. Never throws, writes nothing. */
export const claimsOf = async (directories: Directories): Promise<readonly Claim[]> => {
  const claims: Claim[] = []
  for (const name of (await readdir(adminFolder(directories, 'effort-grant-claims')).catch(() => [])).sort()) {
    const landingId = name.replace(/\.json$/, '')
    if (!name.endsWith('.json') || !UUID.test(landingId)) continue
    const claim = await readClaim(claimPath(directories, landingId), landingId)
    if (claim) claims.push(claim)
  }
  return claims
}

/**
 * Moves the grant of a branch to one landing, before that landing writes its journal; `undefined` when none stands, so that of
 * two callers with one grant only one gets it. Whoever got it ends it with `consumeClaim` or `restoreClaim`.
 */
export const claimGrant = async (
  context: Context,
  directories: Directories,
  branch: string,
  landingId: string,
): Promise<EffortGrant | undefined> => {
  let claimed: EffortGrant | undefined
  await changeBranch(context, directories, store, branch, async standing => {
    if (!standing) return undefined
    // A claim beside its grant was begun by a process that was killed before it took the grant away.
    for (const claim of await claimsOf(directories)) {
      if ('grant' in claim && claim.grant.id === standing.id) await removeFile(claim.path)
    }
    const path = claimPath(directories, landingId)
    const claim = { version: 1, landing_id: landingId, claimed_at: context.now().getTime(), grant: standing }
    if (!(await createFile(path, `${JSON.stringify(claim)}\n`))) {
      throw new Refusal('store_unreadable', { path, reason: 'another landing has this id' })
    }
    claimed = standing
    return undefined
  })
  return claimed
}

/**
 * Gives the grant of a landing that did not happen back to its branch; a newer grant that stands there wins. The caller knows
 * that the trunk was not moved by this landing. Safe to call again.
 */
export const restoreClaim = async (
  context: Context,
  directories: Directories,
  landingId: string,
): Promise<EffortGrant | undefined> => {
  const path = claimPath(directories, landingId)
  const claim = await readClaim(path, landingId)
  if (claim === undefined) return undefined
  if ('problem' in claim) throw new Refusal('store_unreadable', { path, reason: claim.problem })
  const grant = await changeBranch(context, directories, store, claim.grant.branch, async standing =>
    // Revoked meanwhile, it stays revoked.
    (await readClaim(path, landingId)) ? (standing ?? claim.grant) : standing,
  )
  await removeFile(path)
  return grant
}

/**
 * Ends the claim of a landing that happened: its grant is spent. To be called *before* the journal and the marker ref of that
 * landing are retired, since they are what says that it happened. Safe to call again.
 */
export const consumeClaim = async (context: Context, directories: Directories, landingId: string): Promise<void> => {
  const path = claimPath(directories, landingId)
  const claim = await readClaim(path, landingId)
  if (claim && 'grant' in claim) {
    const { branch, id } = claim.grant
    await changeBranch(context, directories, store, branch, standing => (standing?.id === id ? undefined : standing))
  }
  await removeFile(path)
}

export interface ClaimRecovery {
  readonly restored: readonly EffortGrant[]
  /** Landings whose claim was ended. */
  readonly consumed: readonly string[]
  /** Left as they are: of a newer version, or damaged. */
  readonly kept: readonly { readonly path: string; readonly reason: string }[]
}

/**
 * Settles every claim whose landing is over without having said so: spent where `isLanded` (its marker ref exists, facts 10.5),
 * given back otherwise. The claim of a journal that stands is left to that journal's own recovery. The caller holds the lock of
 * acceptance, so that no landing of this worktree is under way.
 */
export const recoverClaims = async (
  context: Context,
  directories: Directories,
  isLanded: (landingId: string) => Promise<boolean>,
): Promise<ClaimRecovery> => {
  const restored: EffortGrant[] = []
  const consumed: string[] = []
  const kept: { path: string; reason: string }[] = []
  const claims = await claimsOf(directories)
  if (claims.length === 0) return { restored, consumed, kept }
  const journal = await readJournal(directories)
  for (const claim of claims) {
    const { landingId } = claim
    if ('problem' in claim) kept.push({ path: claim.path, reason: claim.problem })
    else if (journal?.id === landingId) continue
    else if (await isLanded(landingId)) {
      await consumeClaim(context, directories, landingId)
      consumed.push(landingId)
    } else {
      const grant = await restoreClaim(context, directories, landingId)
      if (grant) restored.push(grant)
    }
  }
  return { restored, consumed, kept }
}
