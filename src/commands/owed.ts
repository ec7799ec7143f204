/** The questions that a change raises, for every verb alike: looked at without a write, or settled by `done` (facts 5, 7.1). */
import { collectChange, type Scope } from '../change/effort.ts'
import { type Trial, tryCheckpoints } from '../checkpoint/decide.ts'
import type { DeclarationRequest } from '../checkpoint/declare.ts'
import { type Governing, governingPolicy } from '../checkpoint/govern.ts'
import { type CheckpointState, inspect, type Preflight, preflight } from '../checkpoint/preflight.ts'
import type { OpenQuestion } from '../checkpoint/question.ts'
import type { RunWhen } from '../checkpoint/when.ts'
import type { Context } from '../context.ts'
import { runCommand } from '../gate/job.ts'
import { displayPath } from '../git/path.ts'
import type { Worktree } from '../git/repository.ts'
import type { DeclaredRow } from '../proof/page.ts'

/** What is asked of which state: the policy of one commit over the difference between another and the work tree or a commit. */
export interface Asked {
  readonly worktree: Worktree
  /** Full ref name of the branch whose questions count. */
  readonly branch: string
  /** Full id of the commit that governs: the trunk's tip. */
  readonly policy: string
  /** Full id of the commit the change is measured from; the policy commit, except on a branch that lags. */
  readonly base: string
  readonly scope: Scope
}

/** Tries the governing checkpoints; where none governs, no difference is collected. Writes nothing, runs nothing. */
export const tryGoverning = async (asked: Omit<Asked, 'branch'>): Promise<Trial> => {
  const { worktree, base, scope } = asked
  const governing: Governing = await governingPolicy(worktree, asked.policy)
  const effort =
    governing.definitions.length === 0
      ? ({ status: 'ok', change: { base, files: [], sides: new Map() } } as const)
      : await collectChange(worktree, base, scope)
  return tryCheckpoints(worktree, governing, effort, scope.kind === 'commit' ? scope.commit : 'HEAD')
}

const currentOf = ({ scope }: Asked): 'worktree' | { readonly commit: string } =>
  scope.kind === 'commit' ? { commit: scope.commit } : 'worktree'

/** Every obligation as it stands; writes nothing and runs no `when` (facts 7.6). `trial` is taken over where it is known already. */
export const lookAtCheckpoints = async (asked: Asked, trial?: Trial): Promise<Preflight> => {
  const { worktree, branch } = asked
  return inspect({ worktree, branch, trial: trial ?? (await tryGoverning(asked)), current: currentOf(asked) })
}

/** Runs conditions, opens and reopens questions, records declarations (facts 7.1 step 3); a report writes nothing. */
export const settleCheckpoints = async (
  context: Context,
  asked: Asked,
  request: DeclarationRequest,
  mode: 'strict' | 'report',
): Promise<Preflight> => {
  const { worktree, branch } = asked
  const trial = await tryGoverning(asked)
  return preflight({
    context,
    worktree,
    branch,
    trial,
    current: currentOf(asked),
    mode,
    request,
    run: whenRunner(context, worktree),
    verb: 'done',
  })
}

/** Runs a condition in the candidate's work tree with the owner's environment; nothing of it outlives the call. */
const whenRunner = (context: Context, worktree: Worktree): RunWhen => {
  const run = context.uuid()
  let calls = 0
  return ({ outputBytes, ...call }) => {
    calls += 1
    return runCommand({
      ...call,
      cwd: worktree.topLevel,
      env: context.env,
      marker: `${run}.${calls}`,
      signal: context.signal,
      now: context.now,
      overflow: 'stop',
      daemons: 'stop',
      limits: { outputBytes },
    })
  }
}

const declarationData = ({ declaration, definitionHash, subject }: OpenQuestion): object =>
  declaration
    ? {
        declaration: {
          conclusion: declaration.conclusion,
          ...(declaration.conclusion === 'unmet' ? { why: declaration.why } : {}),
          declared_at: declaration.declaredAt,
          current: declaration.definitionHash === definitionHash && declaration.subject === subject,
        },
      }
    : {}

/** An open question as facts 7.7 gives it; `state` is one of the four words of 5.4. */
const questionData = (question: OpenQuestion, state: string): object => ({
  state,
  definition_hash: question.definitionHash,
  subject: question.subject,
  matched: question.matchedPaths.map(displayPath),
  ...(question.relatedPaths.length > 0 ? { related: question.relatedPaths.map(({ path }) => displayPath(path)) } : {}),
  opened_at: question.openedAt,
  ...(question.reopenedAt ? { reopened_at: question.reopenedAt } : {}),
  ...declarationData(question),
  ...(state === 'declared_unmet' ? { variance_required: true } : {}),
})

const STORED = ['awaiting_declaration', 'declared_met', 'declared_unmet', 'reopened']

const storedState = (question: OpenQuestion): string => {
  const { declaration } = question
  if (!declaration) return 'awaiting_declaration'
  const current = declaration.definitionHash === question.definitionHash && declaration.subject === question.subject
  return current ? `declared_${declaration.conclusion}` : 'reopened'
}

/** One checkpoint as every JSON answer gives it (facts 7.7). */
export const checkpointData = (state: CheckpointState): object => {
  const { definition, decision, obligation, extra, question, matched, related } = state
  return {
    id: definition.id,
    mode: definition.mode,
    question: definition.question,
    ...(definition.teach ? { teach: definition.teach } : {}),
    ...(definition.reference ? { reference: definition.reference } : {}),
    trigger: definition.summary,
    obligation,
    ...(extra ? { obligation_detail: extra } : {}),
    fired: state.fired,
    ...(decision.kind === 'holds'
      ? {
          preview: {
            holds: true,
            ...(extra === 'when_pending' ? { when_pending: true } : {}),
            matched: matched.map(displayPath),
            ...(related.length > 0 ? { related: related.map(({ path }) => displayPath(path)) } : {}),
          },
        }
      : decision.kind === 'vetoed'
        ? { preview: { holds: false, vetoed_by: decision.veto } }
        : {}),
    ...(question
      ? { open_question: questionData(question, STORED.includes(obligation) ? obligation : storedState(question)) }
      : {}),
  }
}

/** Everything of a look or a settlement that programs read (facts 7.7). */
export const checkpointsData = (policy: string, looked: Preflight): object => ({
  policy,
  checkpoints: looked.checkpoints.map(checkpointData),
  ungoverned: looked.ungoverned.map(question => ({
    id: question.checkpoint,
    open_question: questionData(question, storedState(question)),
  })),
  drops: looked.drops,
})

const rowOf = (
  { definition, question, matched, related }: CheckpointState,
  conclusion: DeclaredRow['conclusion'],
  why: string | undefined,
): DeclaredRow => ({
  id: definition.id,
  conclusion,
  why,
  question: definition.question,
  source: definition.questionFile,
  teach: definition.teach,
  reference: definition.reference,
  changed: (question?.matchedPaths ?? matched).map(displayPath),
  related: (question?.relatedPaths ?? related).map(({ path }) => displayPath(path)),
})

/** Whether a report must list this stop: it fired, or it was asked before and nobody's conclusion is current (facts 7.5, 16.5). */
export const isUnreviewed = ({ definition, fired, obligation, question }: CheckpointState): boolean =>
  definition.mode === 'stop' &&
  (fired || question !== undefined) &&
  obligation !== 'declared_met' &&
  obligation !== 'declared_unmet'

const ORDER: readonly DeclaredRow['conclusion'][] = ['unreviewed', 'met', 'unmet']

/** The conclusions that a page shows, apart from what machines answered: unreviewed, then met, then unmet (facts 9.3). */
export const declaredRows = (owed: Preflight, report = false): readonly DeclaredRow[] =>
  owed.checkpoints
    .flatMap((state): readonly DeclaredRow[] => {
      const declaration = state.question?.declaration
      if (declaration && state.obligation === 'declared_met') return [rowOf(state, 'met', undefined)]
      if (declaration?.conclusion === 'unmet' && state.obligation === 'declared_unmet') {
        return [rowOf(state, 'unmet', declaration.why)]
      }
      return report && isUnreviewed(state) ? [rowOf(state, 'unreviewed', undefined)] : []
    })
    .sort((left, right) => ORDER.indexOf(left.conclusion) - ORDER.indexOf(right.conclusion))
