import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { mergeNotes } from '../../src/git/notes-merge.ts'
import {
  filesOf,
  type History,
  importHistories,
  note,
  notesOf,
  openFor,
  pathOf,
  sameClaim,
  subjectOf,
  testWriter,
} from '../support/notes.ts'
import { scratch } from '../support/scratch.ts'

interface Add {
  readonly subject: number
  readonly claim: string
  readonly show: string
}

interface Clone {
  readonly depth: number
  readonly adds: readonly Add[]
  /** Notes of the common past that this clone deletes. */
  readonly deletes: readonly number[]
  readonly unrelated: boolean
}

const PAST = 5

const add = fc.record({
  subject: fc.integer({ min: 0, max: 7 }),
  claim: fc.constantFrom('one', 'one', 'one', 'two'),
  show: fc.constantFrom('a', 'b', 'c'),
})

const clone: fc.Arbitrary<Clone> = fc.record({
  depth: fc.constantFrom(0, 1, 1, 2),
  adds: fc.uniqueArray(add, { selector: ({ subject }) => subject, maxLength: 5 }),
  deletes: fc.uniqueArray(fc.integer({ min: 0, max: PAST - 1 }), { maxLength: 2 }),
  unrelated: fc.boolean(),
})

const pastSubject = (at: number): string => subjectOf(`past ${at}`)
const newSubject = (at: number): string => subjectOf(`new ${at}`)

/** The past at one fan-out, and each clone's own commit on top of it or beside it, laid out as the clone pleases. */
const histories = (pastDepth: number, clones: readonly Clone[]): readonly History[] => {
  const past: History = {
    ref: 'refs/x/past',
    files: new Map([
      ['README', 'no note\n'],
      ...Array.from({ length: PAST }, (_, at) => [pathOf(pastSubject(at), pastDepth), note(`past ${at}`)] as const),
    ]),
  }
  return [
    past,
    ...clones.map(({ depth, adds, deletes, unrelated }, at): History => {
      const own = adds.map(
        ({ subject, claim, show }) => [pathOf(newSubject(subject), depth), note(claim, show)] as const,
      )
      return unrelated
        ? { ref: `refs/x/${at}`, files: new Map([[`other-${at}`, `${at}\n`], ...own]) }
        : {
            ref: `refs/x/${at}`,
            from: 'refs/x/past',
            files: new Map<string, string | undefined>([
              ...deletes.map(gone => [pathOf(pastSubject(gone), pastDepth), undefined] as const),
              [`other-${at}`, `${at}\n`],
              ...own,
            ]),
          }
    }),
  ]
}

test('clones that exchange their notes in any order hold the same tree, and nothing is lost', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', 'r')
  const repository = await openFor(t, s, 'r')
  const merge = (ours: string, theirs: string) =>
    mergeNotes(repository, { ours, theirs, ref: 'refs/x/other', sameClaim, writer: testWriter() })

  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(0, 1, 2),
      fc.array(clone, { minLength: 2, maxLength: 3 }),
      fc.boolean(),
      async (pastDepth, clones, atOnce) => {
        const [past = '', ...tips] = importHistories(s, 'r', histories(pastDepth, clones))
        // A clone that deletes part of the past still descends from it; one that never saw the past holds none of it.
        const expected = new Map<string, Set<string>>()
        const expect = (subject: string, body: string): void => {
          expected.set(subject, (expected.get(subject) ?? new Set()).add(body))
        }
        for (const [subject, body] of notesOf(s, 'r', past)) {
          const lost = clones.every(
            ({ deletes, unrelated }) => unrelated || deletes.some(at => pastSubject(at) === subject),
          )
          if (!lost) expect(subject, body)
        }
        for (const { adds } of clones) {
          for (const { subject, claim, show } of adds) expect(newSubject(subject), note(claim, show))
        }
        const contested = [...expected].filter(
          ([, bodies]) => new Set([...bodies].map(body => (JSON.parse(body) as { claim: string }).claim)).size > 1,
        )

        const round = async (): Promise<void> => {
          const before = [...tips]
          for (const at of tips.keys()) {
            for (const other of tips.keys()) {
              if (other === at) continue
              const theirs = (atOnce ? before : tips)[other] ?? ''
              tips[at] = (await merge(tips[at] ?? '', theirs)).tip
            }
          }
        }
        let settled: readonly string[] = []
        for (let rounds = 0; settled.join() !== tips.join(); rounds += 1) {
          assert.ok(rounds < 5, 'a few exchanges are enough, and one more makes no new commit')
          settled = [...tips]
          await round()
        }

        for (const tip of tips) {
          const files = filesOf(s, 'r', tip)
          for (const at of clones.keys())
            assert.equal(files.get(`other-${at}`), `${at}\n`, 'paths that are no notes survive')
          const found = notesOf(s, 'r', tip)
          assert.deepEqual([...found.keys()].sort(), [...expected.keys()].sort(), 'every note is everywhere')
          for (const [subject, body] of found)
            assert.ok(expected.get(subject)?.has(body), 'and is one that somebody wrote')
        }
        if (contested.length === 0) {
          assert.equal(new Set(tips).size, 1, 'without a contradiction all stand at one commit')
        } else {
          const agreed = tips.map(tip => {
            const all = new Map(notesOf(s, 'r', tip))
            for (const [subject] of contested) all.delete(subject)
            return [...all].sort()
          })
          for (const notes of agreed) assert.deepEqual(notes, agreed[0], 'beside the contradictions all agree')
        }
      },
    ),
    { numRuns: 8 },
  )
})
