/**
 * One commit that changes limits in `discern.toml` and nothing else, made without the user's editor, hooks or signature, and
 * the branch, index and file brought along. A journal stands from before the branch moves until everything is recorded, so
 * that a run that was killed is finished by the next one.
 */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { bringAlong, checkoutProblem } from '../git/checkout.ts'
import { parseCommit, parseTree, writeBlob } from '../git/objects.ts'
import { headBranch, isAncestor, readRefs, shortBranch, updateRefs } from '../git/refs.ts'
import { oidDigits, type Worktree } from '../git/repository.ts'
import { git, gitLine, gitOutput } from '../git/run.ts'
import { editLimits } from '../policy/limit-edit.ts'
import { CONFIG_FILE, readCommittedConfiguration } from '../policy/read.ts'
import type { StandardProposal } from '../proof/claim.ts'
import { clearMarker } from '../proof/marker.ts'
import { adminPath, createAdmin, readAdmin, removeAdmin } from '../store/admin.ts'
import { isProposal, recordProposals } from './proposal.ts'

const JOURNAL = 'standard-limit-proposal-transaction'

export interface LimitChange {
  /** Full ref name of the branch that is checked out, and the commit it stands on; the work tree is clean. */
  readonly branch: string
  readonly head: string
  /** New limits by standard. */
  readonly limits: ReadonlyMap<string, number>
  readonly message: string
  /** What is recorded once the commit is there; its id is filled in. */
  readonly proposals: readonly Omit<StandardProposal, 'commit' | 'bound_commit'>[]
}

/** Nothing has moved when there is a problem. */
export type LimitCommit =
  | { readonly commit: string; readonly proposals: readonly StandardProposal[] }
  | { readonly problem: string; readonly next: string }

interface Journal {
  readonly branch: string
  readonly expected: string
  readonly target: string
  readonly proposals: readonly StandardProposal[]
}

/** The caller's own words for who commits; git takes the rest from its configuration. */
const IDENTITY = [
  'GIT_AUTHOR_NAME',
  'GIT_AUTHOR_EMAIL',
  'GIT_AUTHOR_DATE',
  'GIT_COMMITTER_NAME',
  'GIT_COMMITTER_EMAIL',
  'GIT_COMMITTER_DATE',
  'EMAIL',
] as const

/**
 * Makes the commit on top of `head` and moves everything to it. Refuses before anything moved when the file, the identity, the
 * index or a ref is in the way. About ten git processes.
 */
export const commitLimits = async (context: Context, worktree: Worktree, change: LimitChange): Promise<LimitCommit> => {
  const { branch, head } = change
  const made = await makeCommit(context, worktree, change)
  if ('problem' in made) return made
  const target = made.commit
  const problem = await checkoutProblem(worktree, { from: head, to: target })
  if (problem !== undefined) {
    return {
      problem: `git cannot bring the work tree along: ${problem}`,
      next: 'see what is in the way: git status',
    }
  }
  const proposals = change.proposals.map(proposal => ({ ...proposal, commit: target, bound_commit: target }))
  const journal: Journal = { branch, expected: head, target, proposals }
  if (!(await createAdmin(worktree, JOURNAL, journal))) {
    return { problem: 'another run is changing limits here', next: 'wait for it to end, then run the same again' }
  }
  const moved = await updateRefs(worktree, [{ ref: branch, to: target, from: head }], `discern: ${subjectOf(change)}`)
  if (!moved.moved) {
    await removeAdmin(worktree, JOURNAL)
    return { problem: `git refused to move ${shortBranch(branch)}: ${moved.reason}`, next: 'git status' }
  }
  const reason = await bringAlong(worktree, { from: journal.expected, to: journal.target })
  if (reason !== undefined) {
    const back = await updateRefs(worktree, [{ ref: branch, to: head, from: target }], 'discern: take a limit back')
    if (back.moved) await removeAdmin(worktree, JOURNAL)
    return { problem: `git could not bring the work tree along: ${reason}`, next: 'see what is in the way: git status' }
  }
  await settle(context, worktree, journal)
  return { commit: target, proposals }
}

const subjectOf = ({ message }: LimitChange): string => message.split('\n', 1)[0] ?? ''

/** Writes blob, tree and commit; nothing refers to them yet. */
const makeCommit = async (
  context: Context,
  worktree: Worktree,
  { head, limits, message }: LimitChange,
): Promise<{ readonly commit: string } | { readonly problem: string; readonly next: string }> => {
  const committed = await readCommittedConfiguration(worktree, head)
  const text = committed.status === 'ok' ? editLimits(committed.text, limits) : undefined
  if (committed.status !== 'ok' || text === undefined) {
    return { problem: `${CONFIG_FILE} at ${head.slice(0, 12)} cannot be edited`, next: `look at ${CONFIG_FILE}` }
  }
  if (text === committed.text) {
    return { problem: `the limit is already in ${CONFIG_FILE}`, next: `restore the trunk's limit in ${CONFIG_FILE}` }
  }
  const tree = await treeWith(worktree, head, await writeBlob(worktree, text))
  const env: Record<string, string> = {}
  for (const name of IDENTITY) {
    const value = context.env[name]
    if (value !== undefined) env[name] = value
  }
  const run = await git(
    worktree,
    ['-c', 'i18n.commitEncoding=UTF-8', 'commit-tree', '--no-gpg-sign', tree, '-p', head],
    { env, input: `${message.trimEnd()}\n` },
  )
  if (run.exitCode === 0) return { commit: run.stdout.toString('utf8').trim() }
  return {
    problem: `git could not commit: ${run.stderr.split('\n').find(line => /^(fatal|error):/.test(line)) ?? run.stderr.split('\n')[0] ?? ''}`,
    next: 'git config user.name "<name>" && git config user.email "<address>"',
  }
}

/** The root tree of a commit with another `discern.toml`, mode kept. */
const treeWith = async (worktree: Worktree, commit: string, blob: string): Promise<string> => {
  const object = await worktree.objects.read(commit)
  const root = object && (await worktree.objects.read(parseCommit(object.content).tree))
  if (!root) throw new Refusal('store_unreadable', { path: commit, reason: 'git cannot read its tree' })
  const entries = parseTree(root.content, oidDigits(worktree))
  const at = entries.findIndex(({ path }) => path === CONFIG_FILE)
  // Each entry is mode, blank, name, NUL and the id in binary; only the id of one of them changes.
  const name = Buffer.from(` ${CONFIG_FILE}\0`)
  const start = root.content.indexOf(Buffer.concat([name, Buffer.from(entries[at]?.oid ?? '', 'hex')]))
  if (at === -1 || start === -1) throw new Error(`${CONFIG_FILE} is not in the tree that was just read`)
  const content = Buffer.from(root.content)
  Buffer.from(blob, 'hex').copy(content, start + name.length)
  return gitLine(worktree, ['hash-object', '-w', '-t', 'tree', '--stdin'], { input: content })
}

/** Everything after the branch moved; each step may be repeated. */
const settle = async (context: Context, worktree: Worktree, journal: Journal): Promise<void> => {
  await recordProposals(context, worktree, journal.branch, journal.proposals)
  await clearMarker(worktree)
  await removeAdmin(worktree, JOURNAL)
}

const readJournal = async (worktree: Worktree): Promise<Journal | undefined> => {
  const path = adminPath(worktree, JOURNAL)
  const read = await readAdmin(worktree, JOURNAL)
  switch (read.status) {
    case 'missing':
      return undefined
    case 'newer':
      throw new Refusal('store_newer', { path, version: read.version })
    case 'invalid':
    case 'unavailable':
      throw new Refusal('store_unreadable', { path, reason: read.reason })
    case 'ok': {
      const { branch, expected, target, proposals } = read.value
      const isWhole =
        [branch, expected, target].every(value => typeof value === 'string') &&
        Array.isArray(proposals) &&
        proposals.every(isProposal)
      if (!isWhole) throw new Refusal('store_unreadable', { path, reason: 'fields are missing' })
      return read.value as unknown as Journal
    }
  }
}

/** Whether a change of limits was interrupted here. No git process. */
export const limitsInterrupted = async (worktree: Worktree): Promise<boolean> =>
  (await readAdmin(worktree, JOURNAL)).status !== 'missing'

/**
 * Ends what a killed run left: a branch that never moved is as it was, and one that moved gets its index, file and records.
 * Refuses with `conflict` when the work tree cannot follow; nothing is lost then. Gives the commit that was finished.
 */
export const recoverLimits = async (context: Context, worktree: Worktree): Promise<string | undefined> => {
  const journal = await readJournal(worktree)
  if (!journal) return undefined
  const { branch, target } = journal
  const tip = (await readRefs(worktree, [branch])).get(branch)?.oid
  if (tip === undefined || (await isAncestor(worktree, target, tip)) !== true) {
    await removeAdmin(worktree, JOURNAL)
    return undefined
  }
  // Whoever committed on top of it, or checked something else out, has an index and files of their own making.
  if (tip === target && (await headBranch(worktree)) === branch) {
    await adoptWritten(worktree, target)
    const reason = await bringAlong(worktree, { from: journal.expected, to: journal.target })
    if (reason !== undefined) {
      throw new Refusal('conflict', {
        problem: `${CONFIG_FILE} was committed as ${target.slice(0, 12)}, and git could not bring the work tree along: ${reason}`,
        next: `restore ${CONFIG_FILE} and run the same command again: git restore --source=HEAD --staged --worktree ${CONFIG_FILE}`,
      })
    }
  }
  await settle(context, worktree, journal)
  return target
}

/** Enters the file into the index when it was written already, so that git does not take it for a local edit. */
const adoptWritten = async (worktree: Worktree, target: string): Promise<void> => {
  const wanted = await gitOutput(worktree, ['ls-tree', target, '--', CONFIG_FILE])
  const [mode = '', , rest = ''] = wanted.toString('utf8').trim().split(' ')
  const oid = rest.split('\t')[0] ?? ''
  const written = await git(worktree, ['hash-object', '--', CONFIG_FILE])
  if (written.exitCode !== 0 || written.stdout.toString('utf8').trim() !== oid) return
  await git(worktree, ['update-index', '--cacheinfo', `${mode},${oid},${CONFIG_FILE}`])
}
