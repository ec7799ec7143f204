/** What is owed before a submission can land, and what the trunk's own configuration grants. */
import { committedChange } from '../change/collect.ts'
import { governingPolicy } from '../checkpoint/govern.ts'
import { awaitsConclusion } from '../checkpoint/obligation.ts'
import type { QuestionRead } from '../checkpoint/question-store.ts'
import { reasonOf } from '../errors.ts'
import type { Worktree } from '../git/repository.ts'
import { type StandingAnswer, standingGrant } from '../landing/standing.ts'
import type { Submission } from '../landing/submission.ts'
import type { SubmissionFacts } from '../landing/wait.ts'
import { readCommittedConfiguration } from '../policy/read.ts'
import { glanceAtProof, readProofRecord } from '../proof/records.ts'
import { lookAtCheckpoints } from './owed.ts'

/**
 * `checkpoints` looks at every obligation again; `stored` trusts that what `done` settled still stands while the Proof, the
 * trunk and the declarations are the same, which costs no git process.
 */
export type Depth = 'checkpoints' | 'stored'

/** Nothing is granted, or nobody asked. */
export const NOTHING_STANDING: StandingAnswer = { covered: false, reason: undefined, warnings: [] }

/** What author and owner still have to say of a Proof that is current. */
export const owedBy = async (
  depth: Depth,
  worktree: Worktree,
  { branch, head, predecessor }: Submission,
  questions: QuestionRead,
): Promise<SubmissionFacts['owed']> => {
  if (depth === 'stored') return unmetOf(worktree, predecessor, questions)
  try {
    const scope = { kind: 'commit', commit: head } as const
    const { checkpoints } = await lookAtCheckpoints({ worktree, branch, policy: predecessor, base: predecessor, scope })
    const ids = (holds: (obligation: string) => boolean): readonly string[] =>
      checkpoints.filter(({ obligation }) => holds(obligation)).map(({ definition }) => definition.id)
    return { open: ids(awaitsConclusion), unmet: ids(obligation => obligation === 'declared_unmet') }
  } catch (error) {
    return { unavailable: reasonOf(error) }
  }
}

/** With the evidence that the Proof is bound to, every question is answered; what is declared unmet needs its variance. */
const unmetOf = async (
  worktree: Worktree,
  policy: string,
  questions: QuestionRead,
): Promise<SubmissionFacts['owed']> => {
  const declared = 'questions' in questions ? [...questions.questions.values()] : []
  const unmet = declared.filter(({ declaration }) => declaration?.conclusion === 'unmet')
  if (unmet.length === 0) return { open: [], unmet: [] }
  const { definitions } = await governingPolicy(worktree, policy)
  const stops = definitions.filter(({ mode }) => mode === 'stop').map(({ id }) => id)
  return { open: [], unmet: stops.filter(id => unmet.some(({ checkpoint }) => checkpoint === id)) }
}

/** The trunk's own configuration decides, and the difference is read only where it grants anything. */
export const standingFor = async (worktree: Worktree, { head, predecessor }: Submission): Promise<StandingAnswer> => {
  const governing = await readCommittedConfiguration(worktree, predecessor)
  if (governing.status !== 'ok' || governing.configuration.acceptance.preAuthorized.length === 0)
    return NOTHING_STANDING
  const { paths } = await committedChange(worktree, predecessor, head)
  return standingGrant({ configuration: governing.configuration, changedPaths: paths.map(({ path }) => path) })
}

/**
 * The Proof that a submission names, or `undefined` when it is not among the records. For `stored` its shape alone is looked at,
 * as that of the marker is: checking the whole contract costs more than a git process, and counts where something lands.
 */
export const submittedProof = async (
  depth: Depth,
  directories: { readonly gitDir: string; readonly commonDir: string },
  { head, proof: { proof_id } }: Submission,
): Promise<SubmissionFacts['proof']> => {
  const stored = await (depth === 'stored' ? glanceAtProof : readProofRecord)(directories, proof_id)
  return stored?.claim.completion.candidate.head === head ? stored : undefined
}
