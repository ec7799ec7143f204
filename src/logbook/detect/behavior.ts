/** Behavior: how people and agents use the verbs, by session. */
import { condition, gateVerdict, versionsOf } from '../basis.ts'
import { concluded, type Detector, type Finding } from '../detector.ts'
import type { VerbEvent } from '../event.ts'

interface Streak {
  reds: number
  readonly branches: Set<string>
  readonly stages: string[]
  readonly writers: Set<string | undefined>
}

interface Session {
  /** Runs of `done` that were green or red. */
  answers: number
  streak: Streak
  readonly long: Streak[]
}

const streak = (): Streak => ({ reds: 0, branches: new Set(), stages: [], writers: new Set() })

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
      if (session.streak.reds >= doneThrash.threshold) session.long.push(session.streak)
      session.streak = streak()
    }
    const observe = (event: VerbEvent): void => {
      const verdict = gateVerdict(event)
      if (verdict === undefined) return
      const key = event.driver?.session
      if (key === undefined) {
        without += 1
        return
      }
      const session = sessions.get(key) ?? { answers: 0, streak: streak(), long: [] }
      sessions.set(key, session)
      session.answers += 1
      if (verdict === 'green') {
        end(session)
        return
      }
      session.streak.reds += 1
      session.streak.writers.add(event.writer)
      session.streak.stages.push(event.failed_stage ?? 'unknown')
      if (event.branch !== null) session.streak.branches.add(event.branch)
    }
    return {
      observe: ({ event }) => observe(event),
      conclude: () => {
        const most = Math.max(0, ...[...sessions.values()].map(({ answers }) => answers))
        const found: Finding[] = []
        for (const session of sessions.values()) {
          end(session)
          for (const { reds, branches, stages, writers } of session.long) {
            const [stage, often] = mostOf(stages)
            found.push({
              about: branches.size === 1 ? `branch ${[...branches][0]}` : `${branches.size} branches`,
              seen: `done was red ${reds} times in a row in one session, ${often === reds ? 'always' : `${often} times`} in ${stage}`,
              next_action: nextFor(stage),
              basis: {
                count: reds,
                denominator: session.answers,
                unit: 'runs of done in this session that were green or red',
                versions: versionsOf(writers),
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
