/** Behavior: how people and agents use the verbs, by session. */
import { condition, gateVerdict, versionsOf } from '../basis.ts'
import { concluded, type Detector, type Finding } from '../detector.ts'
import type { VerbEvent } from '../event.ts'

/** The red runs in a row. */
type Streak = Pick<VerbEvent, 'branch' | 'failed_stage' | 'writer'>[]

interface Session {
  /** Runs of `done` that were green or red. */
  answers: number
  /** There only while the last run was red, since most sessions are short and green. */
  streak: Streak | undefined
  long: readonly Streak[]
}

const NONE_LONG: readonly Streak[] = []

/** The word that was seen most, and how often; the first of equals. */
const mostOf = (words: readonly string[]): readonly [string, number] => {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return [...counts].sort((left, right) => right[1] - left[1])[0] ?? ['unknown', 0]
}

const nextFor = (stage: string): string =>
  stage === 'fix' || stage === 'check'
    ? 'run git discern prepare until it is green, and done only then'
    : stage === 'test'
      ? 'run git discern test until it is green, and done only then'
      : 'run what failed alone until it is green, and done only then'

/**
 * One session ran `done` red at least three times in a row: the whole gate is used where one job would answer faster. A refusal
 * is neither red nor green and does not end the row.
 */
export const doneThrash: Detector = {
  name: 'done-thrash',
  family: 'behavior',
  threshold: 3,
  counts: 'runs of done in one session',
  question: 'does somebody run done red again and again?',
  start: () => {
    const sessions = new Map<string, Session>()
    let without = 0
    const end = (session: Session): void => {
      if (session.streak && session.streak.length >= doneThrash.threshold)
        session.long = [...session.long, session.streak]
      session.streak = undefined
    }
    const observe = (event: VerbEvent): void => {
      const verdict = gateVerdict(event)
      if (verdict === undefined) return
      const key = event.driver?.session
      if (key === undefined) {
        without += 1
        return
      }
      const session: Session = sessions.get(key) ?? { answers: 0, streak: undefined, long: NONE_LONG }
      sessions.set(key, session)
      session.answers += 1
      if (verdict === 'green') {
        end(session)
        return
      }
      const { branch, failed_stage = 'unknown', writer } = event
      session.streak ??= []
      session.streak.push({ branch, failed_stage, ...(writer === undefined ? {} : { writer }) })
    }
    return {
      observe: ({ event }) => observe(event),
      conclude: () => {
        const most = Math.max(0, ...[...sessions.values()].map(({ answers }) => answers))
        const found: Finding[] = []
        for (const session of sessions.values()) {
          end(session)
          for (const streak of session.long) {
            const reds = streak.length
            const stages = streak.map(({ failed_stage = 'unknown' }) => failed_stage)
            const branches = new Set(streak.flatMap(({ branch }) => branch ?? []))
            const [stage, often] = mostOf(stages)
            found.push({
              about: branches.size === 1 ? `branch ${[...branches][0]}` : `${branches.size} branches`,
              seen: `done was red ${reds} times in a row in one session, ${often === reds ? 'always' : `${often} times`} in ${stage}`,
              next_action: nextFor(stage),
              basis: {
                count: reds,
                denominator: session.answers,
                unit: 'runs of done in this session that were green or red',
                versions: versionsOf(streak.map(({ writer }) => writer)),
                matched: [],
                differing: [condition('branch', branches), condition('failed stage', stages)],
                excluded: without > 0 ? { 'no-session': without } : {},
                limitations: ['what was changed between two runs is not recorded'],
                evidence: 'observed',
              },
            })
          }
        }
        found.sort((left, right) => right.basis.count - left.basis.count)
        return concluded(found, most >= doneThrash.threshold, `${most} of 3 runs of done in one session`)
      },
    }
  },
}
