import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  checkDeclarations,
  type DeclarationRefusal,
  type DeclarationRequest,
  parseRationale,
} from '../../src/checkpoint/declare.ts'
import { Refusal } from '../../src/errors.ts'

const request = (more: Partial<DeclarationRequest>): DeclarationRequest => ({
  met: [],
  unmet: [],
  why: undefined,
  ...more,
})
const ACTIVE = ['b', 'a', 'c']

describe('a request to declare', () => {
  it('is accepted whole, with the rationale trimmed', () => {
    assert.deepEqual(checkDeclarations(request({ met: ['a', 'b'], unmet: ['c'], why: '\n  not yet  ' }), ACTIVE), {
      accepted: [
        { checkpoint: 'a', conclusion: 'met' },
        { checkpoint: 'b', conclusion: 'met' },
        { checkpoint: 'c', conclusion: 'unmet', why: 'not yet' },
      ],
    })
    assert.deepEqual(checkDeclarations(request({}), []), { accepted: [] })
  })

  const rows: readonly [what: string, more: Partial<DeclarationRequest>, problem: DeclarationRefusal['problem']][] = [
    ['an id that is not active', { met: ['a', 'x'] }, 'no_open_question'],
    ['an unmet id that is not active', { unmet: ['x'], why: 'y' }, 'no_open_question'],
    ['an id twice as met', { met: ['a', 'a'] }, 'repeated_id'],
    ['an id as met and unmet', { met: ['a'], unmet: ['a'], why: 'y' }, 'repeated_id'],
    ['an id twice as unmet', { unmet: ['a', 'a'], why: 'y' }, 'repeated_id'],
    ['two unmet', { unmet: ['a', 'b'], why: 'y' }, 'several_unmet'],
    ['unmet without a why', { unmet: ['a'] }, 'invalid_rationale'],
    ['a blank why', { unmet: ['a'], why: ' \n ' }, 'invalid_rationale'],
    ['a why of two lines', { unmet: ['a'], why: 'one\ntwo' }, 'invalid_rationale'],
    ['a why without unmet', { met: ['a'], why: 'y' }, 'why_without_unmet'],
  ]
  for (const [what, more, problem] of rows) {
    it(`is refused whole for ${what}, and the refusal names the active set`, () => {
      const { accepted, refused } = checkDeclarations(request(more), ACTIVE)
      assert.equal(accepted, undefined)
      assert.equal(refused?.problem, problem)
      assert.deepEqual(refused?.active, ['a', 'b', 'c'])
      assert.ok(refused && new Refusal('invalid_value', refused.data).next.length > 0)
    })
  }

  it('says what can be declared, or that nothing can', () => {
    const some = checkDeclarations(request({ met: ['x'] }), ACTIVE).refused
    assert.match(new Refusal('invalid_value', some?.data ?? assert.fail()).message, /one of a, b, c, found x/)
    const none = checkDeclarations(request({ met: ['x'] }), []).refused
    assert.match(new Refusal('invalid_value', none?.data ?? assert.fail()).message, /there is none, found x/)
    assert.match(none?.data.next ?? '', /git discern checkpoints/)
  })
})

describe('a rationale', () => {
  it('has 1 to 500 characters, counted as code points', () => {
    assert.deepEqual(parseRationale('😀'.repeat(500)), { why: '😀'.repeat(500) })
    assert.deepEqual(parseRationale('😀'.repeat(501)), { found: '501 characters' })
    assert.deepEqual(parseRationale(` ${'x'.repeat(500)}\n`), { why: 'x'.repeat(500) })
    assert.deepEqual(parseRationale('x'), { why: 'x' })
    assert.deepEqual(parseRationale(''), { found: 'nothing' })
  })

  it('holds no control, format or separator character, and no half of one', () => {
    for (const [character, name] of [
      ['\n', 'U+000A'],
      ['\t', 'U+0009'],
      ['\0', 'U+0000'],
      ['\x1b', 'U+001B'],
      ['\x85', 'U+0085'],
      ['\u200b', 'U+200B'],
      ['\u202e', 'U+202E'],
      ['\u2028', 'U+2028'],
      ['\u2029', 'U+2029'],
      ['\ufeff', 'U+FEFF'],
      ['\u{e0001}', 'U+E0001'],
      ['\ud800', 'U+D800'],
    ] as const) {
      assert.deepEqual(parseRationale(`a${character}b`), { found: `the character ${name}` })
    }
    for (const fine of ['a\u00a0b', '`rm -rf` $(x) "y" \\ |', 'für 日本語 🎉'])
      assert.deepEqual(parseRationale(fine), { why: fine })
  })

  it('is accepted exactly when every character may stand in one line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), text => {
        const trimmed = text.trim()
        const forbidden = [...trimmed].some(character => /^[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]$/u.test(character))
        assert.equal('why' in parseRationale(text), trimmed !== '' && !forbidden)
      }),
    )
  })
})
