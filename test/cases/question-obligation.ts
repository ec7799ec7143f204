import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { blocking, type ObligationInput, obligationOf } from '../../src/checkpoint/obligation.ts'
import { declare } from '../../src/checkpoint/question.ts'
import { digest, openEntry } from '../support/question.ts'

const NOW = '2026-01-01T00:00:00.000Z'
const open = openEntry('q', 'a', 'b')
const met = declare(open, { conclusion: 'met' }, NOW)
const unmet = declare(open, { conclusion: 'unmet', why: 'no' }, NOW)
const stale = { ...met, subject: digest('c') }
const same = { known: digest('b') }
const lost = { unavailable: 'unreadable' }

const base: ObligationInput = {
  definition: { mode: 'stop', hash: digest('a') },
  store: 'ok',
  entry: undefined,
  decision: 'holds',
  whenPending: false,
  subject: undefined,
}

const rows: readonly [situation: string, more: Partial<ObligationInput>, obligation: string, extra?: string][] = [
  ['mode advise', { definition: { mode: 'advise', hash: digest('a') } }, 'none'],
  [
    'mode advise, whatever else',
    { definition: { mode: 'advise', hash: digest('a') }, store: 'unavailable', entry: open },
    'none',
  ],
  ['the store is unreadable', { store: 'unavailable' }, 'unknown', 'store_unavailable'],
  ['the store is newer', { store: 'newer' }, 'unknown', 'store_unavailable'],
  ['the store is corrupt', { store: 'invalid', decision: 'vetoed' }, 'unknown', 'store_unavailable'],
  ['no entry, fact unavailable', { decision: 'unavailable' }, 'unknown', 'diff_unavailable'],
  ['no entry, when pending', { whenPending: true }, 'unknown', 'when_pending'],
  ['no entry, vetoed', { decision: 'vetoed' }, 'none'],
  ['no entry, holds', {}, 'will_open'],
  ['no entry, holds, missing store', { store: 'missing', subject: same }, 'will_open'],
  ['no entry, holds, no subject', { subject: lost }, 'unknown', 'subject_unavailable'],
  ['entry without declaration', { entry: open, subject: same }, 'awaiting_declaration'],
  ['entry without declaration, edited', { entry: open, subject: { known: digest('c') } }, 'awaiting_declaration'],
  ['entry without declaration, vetoed now', { entry: open, subject: same, decision: 'vetoed' }, 'awaiting_declaration'],
  [
    'entry without declaration, when pending',
    { entry: open, subject: same, whenPending: true },
    'awaiting_declaration',
  ],
  ['entry, fact unavailable', { entry: open, subject: same, decision: 'unavailable' }, 'awaiting_declaration'],
  ['entry, subject differs', { entry: met, subject: { known: digest('c') } }, 'reopened'],
  [
    'entry, definition differs',
    { entry: met, subject: same, definition: { mode: 'stop', hash: digest('c') } },
    'reopened',
  ],
  ['entry, reopened before', { entry: stale, subject: { known: digest('c') } }, 'reopened'],
  ['entry, differs, when pending', { entry: met, subject: { known: digest('c') }, whenPending: true }, 'reopened'],
  ['entry, current met', { entry: met, subject: same }, 'declared_met'],
  ['entry, current met, vetoed now', { entry: met, subject: same, decision: 'vetoed' }, 'declared_met'],
  ['entry, edit taken back', { entry: stale, subject: same }, 'declared_met'],
  ['entry, current unmet', { entry: unmet, subject: same }, 'declared_unmet', 'variance_required'],
  [
    'entry, conclusion stands, when pending',
    { entry: unmet, subject: same, whenPending: true },
    'unknown',
    'when_pending',
  ],
  ['entry, subject lost', { entry: unmet, subject: lost }, 'unknown', 'subject_unavailable'],
  ['entry without declaration, subject lost', { entry: open, subject: lost }, 'unknown', 'subject_unavailable'],
  ['entry, subject not asked for', { entry: met }, 'unknown', 'subject_unavailable'],
]

describe('what is owed for a checkpoint', () => {
  for (const [situation, more, obligation, extra] of rows) {
    it(`${situation}: ${obligation}`, () => {
      assert.deepEqual(obligationOf({ ...base, ...more }), { obligation, extra })
    })
  }

  it('holds the gate back only where the author still has to answer', () => {
    const all = rows.map(([situation, more]) => ({ situation, ...obligationOf({ ...base, ...more }) }))
    assert.deepEqual(
      blocking(all).map(({ situation }) => situation),
      [
        'entry without declaration',
        'entry without declaration, edited',
        'entry without declaration, vetoed now',
        'entry without declaration, when pending',
        'entry, fact unavailable',
        'entry, subject differs',
        'entry, definition differs',
        'entry, reopened before',
        'entry, differs, when pending',
      ],
    )
  })

  it('never blocks for an advice, a lost store or a lost subject, in any combination', () => {
    const input = fc.record({
      definition: fc.record({
        mode: fc.constantFrom('stop' as const, 'advise' as const),
        hash: fc.constantFrom(digest('a'), digest('c')),
      }),
      store: fc.constantFrom('ok', 'missing', 'invalid', 'newer', 'unavailable') as fc.Arbitrary<
        ObligationInput['store']
      >,
      entry: fc.constantFrom(undefined, open, met, unmet, stale),
      decision: fc.constantFrom('holds', 'vetoed', 'unavailable') as fc.Arbitrary<ObligationInput['decision']>,
      whenPending: fc.boolean(),
      subject: fc.constantFrom(undefined, same, lost, { known: digest('c') }),
    })
    fc.assert(
      fc.property(input, one => {
        const sure =
          one.definition.mode === 'stop' &&
          (one.store === 'ok' || one.store === 'missing') &&
          one.entry !== undefined &&
          one.subject !== undefined &&
          'known' in one.subject
        const bound = one.subject && 'known' in one.subject ? `${one.definition.hash}${one.subject.known}` : ''
        const answered =
          one.entry?.declaration && `${one.entry.declaration.definitionHash}${one.entry.declaration.subject}` === bound
        assert.equal(blocking([obligationOf(one)]).length === 1, sure && !answered)
      }),
    )
  })
})
