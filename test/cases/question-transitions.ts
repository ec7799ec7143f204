import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  currentDeclaration,
  declare,
  declareAll,
  evidenceIdentity,
  keptBinding,
  type Questions,
  reconcile,
  settle,
} from '../../src/checkpoint/question.ts'
import { sha256 } from '../../src/store/digest.ts'
import { binding, digest, openEntry } from '../support/question.ts'

const at = (minute: number): string => `2026-01-01T00:${String(minute).padStart(2, '0')}:00.000Z`

describe('a question of a branch', () => {
  it('is opened by the first fire and awaits a declaration', () => {
    const related = [{ kind: 'similar_existing', forPath: 'src/a.ts', path: 'src/b.ts' }] as const
    const { transition, question } = reconcile(undefined, binding('q', 'a', 'b', { relatedPaths: related }), at(1))
    assert.equal(transition, 'opened')
    assert.deepEqual(question, {
      checkpoint: 'q',
      definitionHash: digest('a'),
      subject: digest('b'),
      matchedPaths: ['src/a.ts'],
      relatedPaths: related,
      openedAt: at(1),
    })
  })

  it('is carried, as the same value, while definition and subject stay', () => {
    const standing = openEntry('q', 'a', 'b')
    const { transition, question } = reconcile(standing, binding('q', 'a', 'b'), at(9))
    assert.equal(transition, 'carried')
    assert.equal(question, standing)
  })

  for (const [what, definition, subject] of [
    ['definition', 'c', 'b'],
    ['subject', 'a', 'c'],
  ] as const) {
    it(`is reopened in place by another ${what}, and its old declaration stays without being current`, () => {
      const declared = declare(openEntry('q', 'a', 'b'), { conclusion: 'met' }, at(2))
      const { transition, question } = reconcile(
        declared,
        binding('q', definition, subject, { matchedPaths: ['src/z.ts'] }),
        at(3),
      )
      assert.equal(transition, 'reopened')
      assert.deepEqual(question, {
        ...declared,
        definitionHash: digest(definition),
        subject: digest(subject),
        matchedPaths: ['src/z.ts'],
        reopenedAt: at(3),
      })
      assert.equal(question.declaration?.declaredAt, at(2))
      assert.equal(currentDeclaration(question), undefined)
    })
  }

  it('outlives a later veto: its own paths are what is bound', () => {
    const standing = openEntry('q', 'a', 'b', { matchedPaths: ['x', 'y'] })
    const same = keptBinding(standing, digest('a'), digest('b'))
    assert.equal(reconcile(standing, same, at(4)).question, standing)
    const edited = reconcile(standing, keptBinding(standing, digest('a'), digest('c')), at(4))
    assert.equal(edited.transition, 'reopened')
    assert.deepEqual(edited.question.matchedPaths, ['x', 'y'])
  })

  it('keeps the first timestamp when the same conclusion is declared again, and replaces any other', () => {
    const met = declare(openEntry('q', 'a', 'b'), { conclusion: 'met' }, at(1))
    assert.equal(declare(met, { conclusion: 'met' }, at(2)), met)
    const unmet = declare(met, { conclusion: 'unmet', why: 'one' }, at(3))
    assert.deepEqual(unmet.declaration, {
      conclusion: 'unmet',
      why: 'one',
      definitionHash: digest('a'),
      subject: digest('b'),
      declaredAt: at(3),
    })
    assert.equal(declare(unmet, { conclusion: 'unmet', why: 'one' }, at(4)), unmet)
    assert.equal(declare(unmet, { conclusion: 'unmet', why: 'two' }, at(5)).declaration?.declaredAt, at(5))
    const again = declare(unmet, { conclusion: 'met' }, at(6))
    assert.deepEqual(Object.keys(again.declaration ?? {}).includes('why'), false)
  })

  it('is answered again by its old declaration when the edit is taken back', () => {
    const met = declare(openEntry('q', 'a', 'b'), { conclusion: 'met' }, at(1))
    const edited = reconcile(met, binding('q', 'a', 'c'), at(2)).question
    const back = reconcile(edited, binding('q', 'a', 'b'), at(3)).question
    assert.equal(currentDeclaration(edited), undefined)
    assert.equal(currentDeclaration(back)?.declaredAt, at(1))
  })
})

describe('the questions of a branch', () => {
  it('are the same value when nothing changes, and only what changed is replaced', () => {
    const standing: Questions = new Map([
      ['p', openEntry('p', 'a', 'b')],
      ['q', openEntry('q', 'a', 'b')],
    ])
    const same = settle(standing, [binding('p', 'a', 'b'), binding('q', 'a', 'b')], at(1))
    assert.equal(same.questions, standing)
    const { questions, transitions } = settle(standing, [binding('q', 'a', 'c'), binding('r', 'a', 'b')], at(1))
    assert.deepEqual(
      [...transitions],
      [
        ['q', 'reopened'],
        ['r', 'opened'],
      ],
    )
    assert.equal(questions.get('p'), standing.get('p'))
    assert.equal(standing.get('q')?.subject, digest('b'))
  })

  it('take all declarations or none', () => {
    const standing: Questions = new Map([['p', openEntry('p', 'a', 'b')]])
    const refused = declareAll(
      standing,
      [
        { checkpoint: 'p', conclusion: 'met' },
        { checkpoint: 'x', conclusion: 'met' },
      ],
      at(1),
    )
    assert.deepEqual(refused.missing, ['x'])
    assert.equal(refused.questions, standing)
    const taken = declareAll(standing, [{ checkpoint: 'p', conclusion: 'met' }], at(1))
    assert.equal(taken.questions.get('p')?.declaration?.conclusion, 'met')
    assert.equal(
      declareAll(taken.questions, [{ checkpoint: 'p', conclusion: 'met' }], at(2)).questions,
      taken.questions,
    )
  })
})

describe('the declaration-evidence identity', () => {
  const evidence = (lines: readonly string[]): string => sha256(['checkpoint-evidence/v1', ...lines].join('\n'))
  const [a, b, c] = [digest('a'), digest('b'), digest('c')]

  it('is the published lines, sorted, without instants', () => {
    const open = openEntry('z', 'a', 'b')
    const met = declare(openEntry('p', 'a', 'b'), { conclusion: 'met' }, at(1))
    const unmet = reconcile(
      declare(openEntry('q', 'a', 'b'), { conclusion: 'unmet', why: 'too big' }, at(1)),
      binding('q', 'a', 'c'),
      at(2),
    ).question
    const expected = evidence([
      `p\0${a}\0${b}\0met\0${a}\0${b}\0`,
      `q\0${a}\0${c}\0unmet\0${a}\0${b}\0too big`,
      `z\0${a}\0${b}\0-`,
    ])
    assert.equal(evidenceIdentity([open, unmet, met]), expected)
    assert.equal(evidenceIdentity([met, { ...open, openedAt: at(50) }, { ...unmet, reopenedAt: at(51) }]), expected)
    assert.notEqual(evidenceIdentity([open, met]), expected)
  })

  it('has one constant value without questions', () => {
    assert.equal(evidenceIdentity([]), '33e93966b3e7f28a6d166da2376c63223e7b8333b6dd14d6b92695bb347cd04d')
  })
})

type Event =
  | { readonly kind: 'fire' | 'veto'; readonly edit: string; readonly definition: string }
  | { readonly kind: 'declare'; readonly conclusion: 'met' | 'unmet'; readonly why: string }

/** The words of facts 5.2 over the whole list of events, each time from the start: slow, and without the code under test. */
const oracle = (events: readonly Event[]) => {
  let bound: string | undefined
  let openedAt: number | undefined
  let reopenedAt: number | undefined
  let declared: { bound: string; text: string; at: number } | undefined
  events.forEach((event, minute) => {
    if (event.kind === 'declare') {
      if (bound === undefined) return
      const text = event.conclusion === 'met' ? 'met' : `unmet ${event.why}`
      if (declared?.bound !== bound || declared.text !== text) declared = { bound, text, at: minute }
      return
    }
    if (bound === undefined && event.kind === 'veto') return
    const now = `${digest(event.definition)} ${digest(event.edit)}`
    if (bound === undefined) openedAt = minute
    else if (bound !== now) reopenedAt = minute
    bound = now
  })
  return bound === undefined
    ? undefined
    : {
        bound,
        openedAt,
        reopenedAt,
        declared: declared && `${declared.text} at ${declared.at}`,
        current: declared?.bound === bound,
      }
}

const moment = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : new Date(text).getUTCMinutes()

describe('any sequence of fire, veto, edit and declare', () => {
  it('leaves the entry that facts 5.2 describe', () => {
    const event: fc.Arbitrary<Event> = fc.oneof(
      fc.record({
        kind: fc.constantFrom('fire' as const, 'veto' as const),
        edit: fc.constantFrom('1', '2', '3'),
        definition: fc.constantFrom('a', 'b'),
      }),
      fc.record({
        kind: fc.constant('declare' as const),
        conclusion: fc.constantFrom('met' as const, 'unmet' as const),
        why: fc.constantFrom('one', 'two'),
      }),
    )
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), events => {
        let questions: Questions = new Map()
        events.forEach((one, minute) => {
          if (one.kind === 'declare') {
            const answer =
              one.conclusion === 'met' ? { conclusion: one.conclusion } : { conclusion: one.conclusion, why: one.why }
            questions = declareAll(questions, [{ checkpoint: 'q', ...answer } as never], at(minute)).questions
            return
          }
          const standing = questions.get('q')
          if (one.kind === 'fire') {
            questions = settle(questions, [binding('q', one.definition, one.edit)], at(minute)).questions
          } else if (standing) {
            const kept = keptBinding(standing, digest(one.definition), digest(one.edit))
            questions = settle(questions, [kept], at(minute)).questions
          }
        })
        const entry = questions.get('q')
        const { declaration } = entry ?? {}
        assert.deepEqual(
          entry && {
            bound: `${entry.definitionHash} ${entry.subject}`,
            openedAt: moment(entry.openedAt),
            reopenedAt: moment(entry.reopenedAt),
            declared:
              declaration &&
              `${declaration.conclusion === 'met' ? 'met' : `unmet ${declaration.why}`} at ${moment(declaration.declaredAt)}`,
            current: currentDeclaration(entry) !== undefined,
          },
          oracle(events),
        )
      }),
      { numRuns: 500 },
    )
  })
})
