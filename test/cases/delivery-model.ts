/** Random lives of a delivery in two clones, against a slow model of the document that works everything out anew each time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { DeliveryRecord } from '../../src/delivery/record.ts'
import { advance, type Standing } from '../../src/delivery/standing.ts'
import {
  decide,
  draw,
  idOf,
  isLegal,
  type Line,
  legalWords,
  newest,
  SOURCE,
  stagesOf,
} from '../support/delivery-line.ts'
import { at, deeds, hold, legalDeeds } from '../support/delivery-lives.ts'
import { refusal } from '../support/delivery-standing.ts'

/** One clone: its line, where the rules of the program have it, and every record that it ever had. */
interface Side {
  readonly line: Line
  readonly standing: Standing
  readonly known: ReadonlySet<string>
}

const begin = (): Side => {
  const line = [draw([], { kind: 'start', source: SOURCE, corpus: 'corpus-1' })]
  return extend(undefined, newest(line))
}

const extend = (side: Side | undefined, record: DeliveryRecord, more: ReadonlySet<string> = new Set()): Side => {
  const standing = advance(side?.standing, record)
  assert.ok(!('problem' in standing), 'problem' in standing ? standing.problem : '')
  return {
    line: [...(side?.line ?? []), record],
    standing,
    known: new Set([...(side?.known ?? []), ...more, idOf(record)]),
  }
}

/** The program and the model agree about everything that a line says. */
const agree = ({ line, standing }: Side): void => {
  const { state, generation, sourceCommit, corpusRevision, blockers, next } = newest(line)
  const stages = [...stagesOf(line)]
  assert.deepEqual(
    {
      ...standing,
      valid: [...standing.valid].map(([id, record]) => [id, record.generation]),
      invalidated: standing.invalidated.map(one => [one.checkpoint, one.generation, one.by.generation]),
    },
    {
      state,
      generation,
      sourceCommit,
      corpusRevision,
      valid: stages.filter(([, { lost }]) => lost === undefined).map(([id, { made }]) => [id, made]),
      invalidated: stages.filter(([, { lost }]) => lost !== undefined).map(([id, { made, lost }]) => [id, made, lost]),
      blockers,
      next,
    },
  )
}

const step = fc.record({
  side: fc.boolean(),
  what: fc.oneof(
    { weight: 8, arbitrary: fc.constant('legal' as const) },
    { weight: 3, arbitrary: fc.constant('any' as const) },
    { weight: 1, arbitrary: fc.constant('stale' as const) },
    { weight: 2, arbitrary: fc.constant('meet' as const) },
  ),
  pick: fc.nat(1000),
})

test('no life of a delivery in two clones breaks a rule of the document, nor does the program refuse what it allows', () => {
  const seen = { released: 0, refused: 0, stale: 0, conflicts: 0, lost: 0 }
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }), steps => {
      const first = begin()
      const sides: [Side, Side] = [first, first]
      const stale: DeliveryRecord[] = []
      for (const { side, what, pick } of steps) {
        const [mine, theirs] = side ? ([0, 1] as const) : ([1, 0] as const)
        const here = sides[mine]
        switch (what) {
          case 'legal':
          case 'any': {
            const deed = at(what === 'legal' ? legalDeeds(here.line) : deeds(here.line), pick)
            const record = draw(here.line, deed, { rollback: `by ${mine}` })
            // What is looked at now and written later.
            stale.push(record)
            const problem = refusal(here.standing, record)
            // A promotion is a move in the words of a record.
            const legal = isLegal(
              here.line,
              deed.kind === 'move' && deed.to === 'RELEASED' ? { kind: 'promote' } : deed,
            )
            assert.equal(problem === undefined, legal, `${JSON.stringify(deed)}: ${problem}`)
            if (problem === undefined) {
              sides[mine] = extend(here, record)
              break
            }
            seen.refused += 1
            const misplaced =
              deed.kind === 'move' || (deed.kind === 'stage' && !/ lacks | is a statement/.test(problem))
            if (misplaced) for (const word of legalWords(here.line)) assert.ok(problem.includes(word), problem)
            break
          }
          case 'stale': {
            const old = stale.filter(({ generation }) => generation <= here.standing.generation)
            if (old.length === 0) break
            const record = at(old, pick)
            seen.stale += 1
            assert.equal(
              refusal(here.standing, record),
              `generation ${record.generation} does not follow generation ${here.standing.generation}`,
            )
            break
          }
          case 'meet': {
            const there = sides[theirs]
            if (here.known.has(idOf(newest(there.line)))) sides[theirs] = here
            else if (there.known.has(idOf(newest(here.line)))) sides[mine] = there
            else {
              seen.conflicts += 1
              const decided = extend(here, decide(here.line, there.line), there.known)
              sides[mine] = decided
              sides[theirs] = decided
            }
          }
        }
        for (const one of sides) {
          agree(one)
          hold(one.line)
        }
      }
      for (const { line, standing } of sides) {
        if (line.some(({ state }) => state === 'RELEASED')) seen.released += 1
        seen.lost += standing.invalidated.length
      }
    }),
    { numRuns: 150, seed: 15 },
  )
  // Lives that get nowhere prove nothing.
  for (const [what, count] of Object.entries(seen)) assert.ok(count > 60, `${what}: ${count}`)
})
