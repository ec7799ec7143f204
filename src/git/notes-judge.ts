/** Which of two notes for one subject stands after a merge. Every rule is symmetrical, so all clones come to the same answer. */
import { requireNotesCommit } from './notes-commit.ts'
import { type Difference, type Side, sameSide } from './notes-compare.ts'
import { locateNote, openNotes } from './notes-tree.ts'
import type { Repository } from './repository.ts'
import { gitOutput } from './run.ts'

/** Whether two notes make the same claim; unreadable bytes make none. */
export type SameClaim = (left: Buffer, right: Buffer) => boolean

export type Verdict = 'ours' | 'theirs' | 'conflict'

interface Rules {
  /** What stood for a subject in the only merge base; without exactly one, nothing is known about who moved on. */
  readonly base: (subject: string) => Side | undefined
  readonly decided: (difference: Difference) => boolean
  readonly sameBlobs: (left: string, right: string) => Promise<boolean>
}

/** The rules, in order (design 4.4). */
const judge = async (rules: Rules, difference: Difference): Promise<Verdict> => {
  const { subject, ours, theirs } = difference
  if (theirs.length === 0 || sameSide(ours, theirs)) return 'ours'
  const [mine] = ours
  const [other] = theirs
  if (ours.length <= 1 && theirs.length === 1 && other !== undefined) {
    if (mine === undefined) return 'theirs'
    const base = rules.base(subject)
    // One side alone moved on from what both had: that is a decision, not a contradiction.
    if (base && sameSide(base, ours)) return 'theirs'
    if (base && sameSide(base, theirs)) return 'ours'
    if (await rules.sameBlobs(mine, other)) return mine < other ? 'ours' : 'theirs'
  }
  return rules.decided(difference) ? 'ours' : 'conflict'
}

/** What a decision is about: the subject, what was kept, what was dropped. */
const decisionKey = (subject: string, kept: Side, dropped: Side): string =>
  `${subject} ${[...kept].sort().join('+') || '-'} ${[...dropped].sort().join('+') || '-'}`

const DECISION_TRAILER = 'Notes-Decision'

/** A decision to keep ours as it stands in a commit message, with the tip of theirs that was known to whoever decided. */
export const decisionLine = ({ subject, ours, theirs }: Difference, theirTip: string): string =>
  `${DECISION_TRAILER}: ${decisionKey(subject, ours, theirs)} ${theirTip}`

/** Decisions in the given range of history: each key, and the tips they were made against. One git process. */
const readDecisions = async (repository: Repository, range: readonly string[]) => {
  // Not git's own trailer parser, which a `trailer.separators` setting bends.
  const args = ['rev-list', '--no-commit-header', '--format=%B', '--ignore-missing', ...range, '--']
  const messages = (await gitOutput(repository, args)).toString('latin1')
  const found = [...messages.matchAll(/^Notes-Decision: (\S+ \S+ \S+) ([0-9a-f]+)$/gm)]
  return { keys: found.map(match => match[1] ?? ''), against: found.map(match => match[2] ?? '') }
}

/**
 * Our decisions that theirs does not contain yet, unless theirs holds the opposite one, made without knowledge of ours. Two
 * git processes.
 */
const standingDecisions = async (
  repository: Repository,
  ours: string,
  theirs: string,
): Promise<(difference: Difference) => boolean> => {
  const mine = await readDecisions(repository, [ours, `^${theirs}`])
  if (mine.keys.length === 0) return () => false
  const others = await readDecisions(repository, [theirs, `^${ours}`, ...mine.against.map(tip => `^${tip}`)])
  const [kept, opposed] = [new Set(mine.keys), new Set(others.keys)]
  return ({ subject, ours, theirs }) =>
    kept.has(decisionKey(subject, ours, theirs)) && !opposed.has(decisionKey(subject, theirs, ours))
}

const readBase = async (
  repository: Repository,
  bases: readonly string[],
  subjects: readonly string[],
): Promise<Rules['base']> => {
  const [only, second] = bases
  if (only === undefined || second !== undefined || subjects.length === 0) return () => undefined
  const folder = await openNotes(repository, (await requireNotesCommit(repository, only)).tree, subjects)
  return subject => locateNote(folder, subject)
}

interface Histories {
  readonly ours: string
  readonly theirs: string
  /** All their merge bases. */
  readonly bases: readonly string[]
  readonly sameClaim: SameClaim
}

/** A verdict for each difference, in their order. Blobs are read, and decisions looked up, only where sides contradict. */
export const judgeNotes = async (
  repository: Repository,
  { ours, theirs, bases, sameClaim }: Histories,
  differences: readonly Difference[],
): Promise<readonly Verdict[]> => {
  const contested = differences.filter(difference => difference.ours.length > 0)
  const rules: Rules = {
    base: await readBase(
      repository,
      bases,
      contested.map(difference => difference.subject),
    ),
    decided: () => false,
    sameBlobs: async (left, right) => {
      const [one, two] = await Promise.all([repository.objects.read(left), repository.objects.read(right)])
      return one?.type === 'blob' && two?.type === 'blob' && sameClaim(one.content, two.content)
    },
  }
  const verdicts: Verdict[] = []
  for (const difference of differences) {
    verdicts.push(
      difference.ours.length === 0 && difference.theirs.length === 1 ? 'theirs' : await judge(rules, difference),
    )
  }
  if (!verdicts.includes('conflict')) return verdicts
  const informed = { ...rules, decided: await standingDecisions(repository, ours, theirs) }
  for (const [at, difference] of differences.entries()) {
    if (verdicts[at] === 'conflict') verdicts[at] = await judge(informed, difference)
  }
  return verdicts
}
