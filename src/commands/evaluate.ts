/**
 * `git discern evaluate`: the checkpoints of a revision or the work tree, for scripts and hooks. Nothing is written, no condition
 * runs. `--porcelain` prints one line per governing checkpoint: obligation, id, mode, separated by tabs.
 */
import { awaitsConclusion } from '../checkpoint/obligation.ts'
import type { CheckpointState } from '../checkpoint/preflight.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { isAncestor, resolveCommit, shortBranch } from '../git/refs.ts'
import type { Result } from '../result.ts'
import type { Call } from './call.ts'
import { lookNow } from './checkpoints.ts'
import { checkpointsData, lookAtCheckpoints } from './owed.ts'
import { readSituation, type Situation } from './situation.ts'

const VERB = 'evaluate'

export const run = async (context: Context, call: Call): Promise<Result> => {
  const revision = call.operands[0]
  const { situation, looked } =
    revision === undefined ? await lookNow(context) : await lookAtRevision(context, revision)
  const states = looked?.owed.checkpoints ?? []
  const owed = states.filter(({ obligation }) => awaitsConclusion(obligation))
  const answered = owed.filter(({ obligation }) => obligation !== 'will_open')
  const data = {
    ...(looked ? checkpointsData(looked.policy, looked.owed) : { checkpoints: [], ungoverned: [], drops: [] }),
    ...(call.flags['porcelain'] ? { porcelain: states.map(porcelain) } : {}),
  }
  if (call.flags['exit-code'] && owed.length > 0) {
    const [first = '', ...others] = owed.map(({ definition }) => definition.id)
    const refusal = new Refusal('awaiting_declaration', { checkpoints: [first, ...others] })
    return { ok: false, verb: VERB, data, error: refusal.slug, message: refusal.message, hints: [...refusal.next] }
  }
  return {
    ok: true,
    verb: VERB,
    data,
    ...(answered.length > 0 ? { message: sentence(situation, answered) } : {}),
  }
}

const porcelain = ({ definition, obligation }: CheckpointState): string =>
  [obligation, definition.id, definition.mode].join('\t')

/** What the hooks print: only when an answer is owed for a question that was already asked. */
const sentence = ({ state }: Situation, owed: readonly CheckpointState[]): string => {
  const ids = owed.map(
    ({ definition, obligation }) => `${definition.id}${obligation === 'reopened' ? ' (asked again)' : ''}`,
  )
  return `${shortBranch(state.branch ?? 'HEAD')} owes a conclusion: ${ids.join(', ')}; see: git discern checkpoints`
}

const lookAtRevision = async (context: Context, revision: string): ReturnType<typeof lookNow> => {
  const situation = await readSituation(context)
  const { worktree, trunk, refs, state } = situation
  const commit = await resolveCommit(worktree, revision)
  if (commit === undefined) {
    throw new Refusal('invalid_value', {
      what: 'revision',
      expected: 'a commit',
      found: revision,
      next: 'git discern evaluate HEAD',
    })
  }
  const policy = refs.get(trunk.ref)?.oid
  if (policy === undefined || state.branch === undefined) return { situation, looked: undefined }
  const contains = await isAncestor(worktree, policy, commit)
  if (contains !== true) {
    throw new Refusal('precondition_failed', {
      problem: `${revision} does not contain ${trunk.name}${contains === undefined ? ', as far as is known here' : ''}`,
      next: contains === undefined ? 'git fetch --unshallow' : 'git discern update',
    })
  }
  const scope = { kind: 'commit', commit } as const
  const owed = await lookAtCheckpoints({ worktree, branch: state.branch, policy, base: policy, scope })
  return { situation, looked: { owed, policy, lagging: undefined } }
}
