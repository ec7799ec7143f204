/** `git discern update`: the trunk brought into the branch by the user's own git (facts 7.6). */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { quoted } from '../escape.ts'
import { displayPath } from '../git/path.ts'
import { isAncestor, resolveCommit, shortBranch } from '../git/refs.ts'
import { gitAsUser, gitLine, type UserRun } from '../git/run.ts'
import { listCheckouts, listUnmerged, operationInProgress, worktreeState } from '../git/worktrees.ts'
import { carrying, withRecording } from '../logbook/recording.ts'
import { inspectMarker } from '../proof/marker.ts'
import type { Advisory, Result } from '../result.ts'
import type { Call } from './call.ts'
import { type Effort, readSituation, requireEffort } from './situation.ts'

const VERB = 'update'
const WORDS_SHOWN_LINES = 4

type Operation = 'merge' | 'rebase'

interface Source {
  /** As a person would type it. */
  readonly name: string
  readonly oid: string
}

export const run = async (context: Context, call: Call): Promise<Result> => {
  const effort = await requireEffort(await readSituation(context), VERB)
  const { worktree, head, state } = effort
  if (state.tracked.length > 0) throw new Refusal('dirty_worktree', { paths: state.tracked.map(displayPath) })
  const { from } = call.flags
  const source = await sourceOf(effort, typeof from === 'string' ? from : undefined)
  const operation: Operation = call.flags['rebase'] === true ? 'rebase' : 'merge'
  const advisories = from === undefined ? await behindRemote(effort) : []
  const data = { branch: shortBranch(effort.branch), source: source.name, source_commit: source.oid, before: head }
  if ((await isAncestor(worktree, source.oid, head)) === true) {
    return { ok: true, verb: VERB, data: { ...data, after: head, kind: 'up-to-date' }, advisories }
  }
  const args = operation === 'merge' ? ['merge', '--no-edit', source.name] : ['rebase', source.name]
  if (call.flags['dry-run'] === true) {
    const kind = (await isAncestor(worktree, head, source.oid)) === true ? 'fast-forward' : operation
    const label = `git ${args.map(quoted).join(' ')}`
    const plan = [{ kind: 'git', label, disposition: 'run', note: kind } as const]
    return { ok: true, verb: VERB, dry_run: true, plan, data: { ...data, kind }, advisories }
  }
  const proven = (await inspectMarker(worktree, { head, dirty: [], evidence: undefined })).status === 'honored'
  const ran = await runAsUser(context, args)
  const after = await settled(context, effort, { source, operation, args, ran })
  const kind = after === source.oid ? 'fast-forward' : operation
  const result: Result = {
    ok: true,
    verb: VERB,
    data: { ...data, after, kind, ...(proven ? { proof: { head, current: false } } : {}) },
    advisories,
    // A branch that is the trunk itself has nothing to prove yet.
    hints: kind === 'fast-forward' && from === undefined ? [] : ['git discern done'],
  }
  return withRecording(result, { clean: true, update: { mode: operation, moved: after !== head, conflict: false } })
}

/** What is brought in. The trunk is named so that no tag can be meant, and otherwise as short as a person would. */
const sourceOf = async ({ worktree, trunk, predecessor }: Effort, from: string | undefined): Promise<Source> => {
  if (from === undefined) {
    return { name: await gitLine(worktree, ['rev-parse', '--abbrev-ref=strict', trunk.ref]), oid: predecessor }
  }
  const oid = from.startsWith('-') ? undefined : await resolveCommit(worktree, from)
  if (oid !== undefined) return { name: from, oid }
  throw new Refusal('invalid_value', {
    what: '--from',
    expected: 'a branch, tag or commit of this repository',
    found: from,
    next: 'git branch --all',
  })
}

const runAsUser = async (context: Context, args: readonly string[]): Promise<UserRun> => {
  const label = `git ${args.map(quoted).join(' ')}`
  const since = context.now().getTime()
  // It says where an alias was typed, and git would take it for its own.
  const { GIT_PREFIX: _alias, ...env } = context.env
  context.progress({ kind: 'start', label, stage: 'git', command: label })
  const ran = await gitAsUser(context.cwd, env, args, {
    signal: context.signal,
    onOutput: bytes => context.progress({ kind: 'output', label, bytes }),
  })
  const outcome = context.signal.aborted ? 'cancelled' : ran.exitCode === 0 ? 'passed' : 'failed'
  context.progress({ kind: 'end', label, stage: 'git', outcome, durationMs: context.now().getTime() - since })
  return ran
}

interface Done {
  readonly source: Source
  readonly operation: Operation
  readonly args: readonly string[]
  readonly ran: UserRun
}

/** Where the branch stands now that it contains the source, or the refusal that says what git left. Changes nothing. */
const settled = async (context: Context, effort: Effort, { source, operation, args, ran }: Done): Promise<string> => {
  const { worktree } = effort
  const branch = shortBranch(effort.branch)
  const waiting = await operationInProgress(worktree.gitDir)
  if (context.signal.aborted) {
    context.progress({ kind: 'note', text: await afterInterrupt(effort, waiting, operation) })
    throw context.signal.reason
  }
  const reason = lastWords(ran.output)
  const after = await resolveCommit(worktree, 'HEAD')
  if (waiting && ran.exitCode !== 0) {
    const paths = (await listUnmerged(worktree)).map(displayPath)
    const stopped = new Refusal('update_stopped', { operation, source: source.name, branch, paths, reason })
    throw carrying(stopped, { clean: true, update: { mode: operation, moved: false, conflict: paths.length > 0 } })
  }
  const contains = after === undefined ? false : await isAncestor(worktree, source.oid, after)
  // What git cannot tell in a shallow clone, its own exit code says.
  if (!waiting && after !== undefined && (contains ?? ran.exitCode === 0)) return after
  if (ran.exitCode !== 0) {
    throw new Refusal('git_failed', { command: args.map(quoted).join(' '), exitCode: ran.exitCode, stderr: reason })
  }
  throw new Refusal('incomplete', {
    problem: `git ${args.join(' ')} ended without a commit that contains ${source.name}, as your configuration of git asks`,
    next: waiting ? 'git commit && git discern done' : 'git status',
  })
}

/** What git left behind; tracked files were clean before, so that taking it back loses nothing. */
const afterInterrupt = async (
  { worktree }: Effort,
  waiting: string | undefined,
  operation: Operation,
): Promise<string> => {
  if (waiting) return `git was interrupted in a ${waiting}; to take it back: git ${operation} --abort`
  const { tracked } = await worktreeState(worktree)
  return tracked.length === 0
    ? 'git was interrupted and left nothing behind'
    : 'git was interrupted and left uncommitted changes; to take them back: git reset --merge'
}

/** What git said last about what went wrong, with the few lines that belong to it, or its last line. */
const lastWords = (output: string): string => {
  const lines = output.split(/[\r\n]+/).flatMap(line => (line.trim() === '' ? [] : [line.trim()]))
  const at = lines.findLastIndex(line => /^(error|fatal): /.test(line))
  const words = at === -1 ? lines.slice(-1) : lines.slice(at, at + WORDS_SHOWN_LINES)
  return words.join(' ') || 'git said nothing'
}

/** Nothing is fetched here; what was fetched and not brought into the local trunk is said. */
const behindRemote = async ({ worktree, refs, trunk, predecessor }: Effort): Promise<readonly Advisory[]> => {
  const fetched = trunk.tracking === undefined ? undefined : refs.get(trunk.tracking)?.oid
  if (fetched === undefined || fetched === predecessor) return []
  if ((await isAncestor(worktree, predecessor, fetched)) !== true) return []
  const name = trunk.tracking?.replace(/^refs\/remotes\//, '') ?? ''
  const holder = (await listCheckouts(worktree)).find(({ branch }) => branch === trunk.target)
  const command = holder
    ? `git -C ${quoted(holder.topLevel)} merge --ff-only ${quoted(name)}`
    : `git fetch . ${quoted(`${name}:${trunk.name}`)}`
  return [
    {
      kind: 'trunk-behind-remote',
      evidence: `${name} has commits that the local ${trunk.name} does not have, and this branch got the local one`,
      next_action: `${command} && git discern update`,
    },
  ]
}
