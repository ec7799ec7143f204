/** The facts that the rows of the queue are made of: files first, and git only for what no file says. */
import { join } from 'node:path'
import { evidenceOf, readQuestions } from '../checkpoint/question-store.ts'
import { reasonOf } from '../errors.ts'
import { quoted } from '../escape.ts'
import { NOTES_REF, readNote } from '../git/notes.ts'
import { isAncestor, shortBranch } from '../git/refs.ts'
import { siblingWorktree, type Worktree } from '../git/repository.ts'
import { type EffortGrant, readGrant } from '../landing/grant.ts'
import type { Journal } from '../landing/journal.ts'
import { type QueueRow, submissionRow } from '../landing/queue.ts'
import { allSubmissions, type Submission, type WorktreePlace } from '../landing/submission.ts'
import { isCurrent, type SubmissionFacts } from '../landing/wait.ts'
import { newestVerdict } from '../proof/records.ts'
import { readAdmin } from '../store/admin.ts'
import { readRegularFile } from '../store/file.ts'
import { type Depth, NOTHING_STANDING, owedBy, standingFor, submittedProof } from './queue-owed.ts'
import { type Relations, readTips, relate } from './queue-relations.ts'
import type { Situation } from './situation.ts'

export interface QueueOptions {
  /** Submissions whose details are looked at; the others say that they were not. */
  readonly limit: number
  readonly depth: Depth
}

/** Submissions that cannot be read: of a whole worktree, or of one branch of it. */
export interface UnreadableRow {
  /** Top level of the worktree, or its git directory where that is not known. */
  readonly worktree: string
  readonly branch: string | null
  readonly reason: string
}

export interface Queue {
  readonly rows: readonly QueueRow[]
  readonly unavailable: readonly UnreadableRow[]
}

interface Asked {
  readonly place: WorktreePlace
  readonly submission: Submission
}

/** What is the same for every row. */
interface Ground {
  readonly situation: Situation
  readonly options: QueueOptions
  /** Tips of the submitted branches and of the trunk, by full name. */
  readonly tips: ReadonlyMap<string, string>
  readonly relations: Relations
  /** The newest submission of each branch. */
  readonly newest: ReadonlyMap<string, Asked>
}

/** A row for each submission of the repository, oldest first. Writes nothing. */
export const collectQueue = async (situation: Situation, options: QueueOptions): Promise<Queue> => {
  const all = await allSubmissions(situation.worktree)
  const asked: readonly Asked[] = all.flatMap(row => ('submission' in row ? [row] : []))
  const unavailable = all.flatMap((row): readonly UnreadableRow[] =>
    'submission' in row
      ? []
      : [
          {
            worktree: row.place.topLevel ?? row.place.gitDir,
            branch: row.branch === undefined ? null : shortBranch(row.branch),
            reason: row.unavailable,
          },
        ],
  )
  if (asked.length === 0) return { rows: [], unavailable }
  const tips = await readTips(situation, asked)
  const ground: Ground = {
    situation,
    options,
    tips,
    relations: await relate(situation, asked.slice(0, options.limit), tips, options.depth),
    newest: new Map(asked.map(one => [one.submission.branch, one])),
  }
  const rows: QueueRow[] = []
  for (const [at, one] of asked.entries()) rows.push(submissionRow(await factsOf(ground, one, at >= options.limit)))
  return { rows, unavailable }
}

const factsOf = async (ground: Ground, asked: Asked, unseen: boolean): Promise<SubmissionFacts> => {
  const { situation, tips, newest } = ground
  const { place, submission } = asked
  const { trunk } = situation
  const relation = ground.relations.get(asked) ?? 'other'
  const worktree = worktreeOf(situation, place)
  const facts: SubmissionFacts = {
    submission,
    worktree: place.topLevel ?? null,
    here: isHere(situation, asked) && situation.state.head === submission.head,
    inWorktree: await commandsFor(situation, asked),
    trunk: { name: trunk.name, ref: trunk.target, tip: tips.get(trunk.target) },
    relation,
    branch: 'contains',
    superseded: newest.get(submission.branch) !== asked,
    proof: undefined,
    newest: true,
    evidence: { known: submission.evidence },
    owed: undefined,
    grant: undefined,
    standing: NOTHING_STANDING,
    interrupted: false,
    hasNote: false,
    unseen,
  }
  if (unseen) return facts
  const directories = { gitDir: place.gitDir, commonDir: situation.worktree.commonDir }
  const [proof, verdict, questions, grant, journal] = await Promise.all([
    submittedProof(ground.options.depth, directories, submission),
    newestVerdict(directories, submission.head),
    readQuestions(directories, submission.branch),
    readGrant(directories, submission.branch).catch(unavailable),
    readAdmin(directories, 'acceptance-transaction'),
  ])
  const read: SubmissionFacts = {
    ...facts,
    branch: await branchState(worktree, submission, tips.get(submission.branch)),
    proof,
    newest: verdict === undefined || verdict.proofId === submission.proof.proof_id,
    evidence: evidenceOf(questions),
    grant,
    interrupted: journal.status === 'ok' && journal.value['worktree_branch'] === submission.branch,
    hasNote: relation === 'behind' && (await hasNote(situation, submission.head)),
  }
  if (!isCurrent(read)) return read
  return {
    ...read,
    owed: await owedBy(ground.options.depth, worktree, submission, questions),
    standing: await standingFor(worktree, submission),
  }
}

const unavailable = (error: unknown): EffortGrant | { readonly unavailable: string } => ({
  unavailable: reasonOf(error),
})

const worktreeOf = ({ worktree }: Situation, { gitDir, topLevel }: WorktreePlace): Worktree =>
  gitDir === worktree.gitDir ? worktree : siblingWorktree(worktree, topLevel ?? worktree.commonDir, gitDir)

const isHere = ({ worktree, state }: Situation, { place, submission }: Asked): boolean =>
  place.gitDir === worktree.gitDir && state.branch === submission.branch

const HEAD_LIMIT_BYTES = 1 << 16

/** How verbs are typed for a branch: here, or in the worktree that proved it, where another branch may be checked out by now. */
const commandsFor = async (situation: Situation, asked: Asked): Promise<SubmissionFacts['inWorktree']> => {
  const { topLevel, gitDir } = asked.place
  if (isHere(situation, asked) || topLevel === undefined)
    return (...verbs) => verbs.map(verb => `git discern ${verb}`).join(' && ')
  const git = `git -C ${quoted(topLevel)}`
  const bytes = await readRegularFile(join(gitDir, 'HEAD'), HEAD_LIMIT_BYTES).catch(() => undefined)
  const text = bytes?.toString('utf8').trim() ?? ''
  const { branch } = asked.submission
  // Where refs are kept in another way, this file names no branch that could exist.
  const isElsewhere = /^ref: refs\/heads\/(?!\.invalid$)|^[0-9a-f]{40,}$/.test(text) && text !== `ref: ${branch}`
  const first = isElsewhere ? [`${git} switch ${quoted(shortBranch(branch))}`] : []
  return (...verbs) => [...first, ...verbs.map(verb => `${git} discern ${verb}`)].join(' && ')
}

const branchState = async (
  worktree: Worktree,
  { head }: Submission,
  tip: string | undefined,
): Promise<SubmissionFacts['branch']> => {
  if (tip === undefined) return 'gone'
  return tip === head || (await isAncestor(worktree, head, tip)) === true ? 'contains' : 'rewritten'
}

const hasNote = async ({ worktree, refs }: Situation, commit: string): Promise<boolean> => {
  const tip = refs.get(NOTES_REF)?.oid
  if (tip === undefined) return false
  const read = await readNote(worktree, tip, commit).catch(() => undefined)
  return read?.status === 'one'
}

/** Whether the trunk contains what a journal landed, and whether its landing is still open here. */
export const landingState = async (
  { worktree, refs, trunk }: Situation,
  { id, target }: Journal,
): Promise<{ readonly contained: boolean; readonly open: boolean }> => {
  const tip = refs.get(trunk.target)?.oid
  const journal = await readAdmin(worktree, 'acceptance-transaction')
  return {
    contained: tip !== undefined && (await isAncestor(worktree, target, tip)) === true,
    open: journal.status === 'ok' && journal.value['id'] === id,
  }
}
