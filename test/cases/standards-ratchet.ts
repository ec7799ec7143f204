/** The ratchet: a branch may add standards and tighten them, and an independent table of rules agrees for every pair of files. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { normalise } from '../../src/policy/normalise.ts'
import { type ProposedLimit, ratchet, trunkStandards } from '../../src/policy/ratchet.ts'
import { parseConfiguration } from '../../src/policy/read.ts'
import { meaningFingerprint, readStandards } from '../../src/policy/standards.ts'

type Table = Readonly<Record<string, unknown>>

const of = (standards: Readonly<Record<string, Table>>) =>
  normalise({ jobs: { test: 't', lint: 'l' }, standards } as Parameters<typeof normalise>[0], [])

const plain: Table = { direction: 'up', limit: 80, run: 'm' }

const judge = (before: Table | undefined, after: Table | undefined, proposed: readonly ProposedLimit[] = []) =>
  ratchet({ known: of(before ? { s: before } : {}) }, of(after ? { s: after } : {}), proposed)

const proposal = (after: Table, change: Partial<ProposedLimit> = {}): ProposedLimit => {
  const [standard] = readStandards(of({ s: after }))
  if (!standard) throw new Error('no standard')
  return {
    standard: 's',
    definition_fingerprint: meaningFingerprint(standard),
    trunk_limit: 80,
    proposed_limit: Number(after['limit']),
    ...change,
  }
}

describe('the ratchet', () => {
  const rows: readonly (readonly [
    what: string,
    before: Table | undefined,
    after: Table | undefined,
    status: string,
    sentence: RegExp,
  ])[] = [
    ['a new standard', undefined, plain, 'verified', /^it is new, with the limit 80$/],
    ['an unchanged one', plain, plain, 'verified', /limit is that of the trunk, 80/],
    ['a deleted one', plain, undefined, 'failed', /deleted; restore \[standards\.s\]/],
    ['a tightened limit', plain, { ...plain, limit: 81 }, 'verified', /tightened from 80 to 81/],
    [
      'a loosened limit',
      plain,
      { ...plain, limit: 79 },
      'failed',
      /loosened from 80 to 79.*git discern standards propose s/,
    ],
    [
      'a tightened limit the other way',
      { ...plain, direction: 'down' },
      { ...plain, direction: 'down', limit: 79 },
      'verified',
      /tightened/,
    ],
    [
      'a loosened limit the other way',
      { ...plain, direction: 'down' },
      { ...plain, direction: 'down', limit: 81 },
      'failed',
      /loosened/,
    ],
    ['another direction', plain, { ...plain, direction: 'down' }, 'failed', /its direction was changed/],
    ['another metric', plain, { ...plain, metric: 'x' }, 'failed', /its metric was changed/],
    ['the same metric written out', plain, { ...plain, metric: 's' }, 'verified', /that of the trunk/],
    ['another command', plain, { ...plain, run: 'n' }, 'failed', /its run was changed/],
    [
      'a producer in place of a command',
      plain,
      { direction: 'up', limit: 80, producer: 'test' },
      'failed',
      /its run was changed/,
    ],
    [
      'another producer',
      { direction: 'up', limit: 80, producer: 'test' },
      { direction: 'up', limit: 80, producer: 'lint' },
      'failed',
      /its producer was changed/,
    ],
    [
      'another extract',
      { ...plain, extract: 'a' },
      { ...plain, extract: { json: '/a' } },
      'failed',
      /its extract was changed/,
    ],
    [
      'another artifact',
      { ...plain, extract: 'a', artifact: 'x' },
      { ...plain, extract: 'a', artifact: 'y' },
      'failed',
      /its artifact was changed/,
    ],
    ['another per', { ...plain, per: 'a' }, { ...plain, per: { lines: ['a'] } }, 'failed', /its per was changed/],
    [
      'a widened per',
      { ...plain, per: { lines: ['a'] } },
      { ...plain, per: { lines: ['a', 'b'] } },
      'failed',
      /its per was changed/,
    ],
    ['another scale', { ...plain, per: 'a' }, { ...plain, per: 'a', scale: 2 }, 'failed', /its scale was changed/],
    ['another margin and time limit', plain, { ...plain, margin: 5, timeout: 1 }, 'verified', /that of the trunk/],
    ['widened inputs', { ...plain, inputs: ['a'] }, { ...plain, inputs: ['b', 'a'] }, 'verified', /that of the trunk/],
    ['inputs that went', { ...plain, inputs: ['a'] }, plain, 'verified', /that of the trunk/],
    [
      'narrowed inputs',
      { ...plain, inputs: ['a', 'b'] },
      { ...plain, inputs: ['b'] },
      'failed',
      /a was removed from its inputs/,
    ],
    ['inputs that came to none', plain, { ...plain, inputs: ['a'] }, 'failed', /narrowed from everything/],
    [
      'more environment, tools and needs',
      plain,
      { ...plain, environment: ['A'], toolchain: ['t'], needs: ['lint'] },
      'verified',
      /that of the trunk/,
    ],
    [
      'less environment',
      { ...plain, environment: ['A', 'B'] },
      { ...plain, environment: ['A'] },
      'failed',
      /B was removed from its environment/,
    ],
    ['fewer tools', { ...plain, toolchain: ['t'] }, plain, 'failed', /t was removed from its toolchain/],
    ['fewer needs', { ...plain, needs: ['lint'] }, plain, 'failed', /lint was removed from its needs/],
    [
      'a tightened limit with another meaning',
      plain,
      { ...plain, limit: 90, run: 'n' },
      'failed',
      /its run was changed/,
    ],
  ]
  for (const [what, before, after, status, sentence] of rows) {
    it(`finds ${what} ${status}`, () => {
      const found = judge(before, after)
      assert.deepEqual([found.status, found.rows.map(row => [row.standard, row.status])], [status, [['s', status]]])
      assert.match(found.rows[0]?.sentence ?? '', sentence)
    })
  }

  it('lets a proposal stand for a loosened limit only when all of it is exactly what was recorded', () => {
    const loosened = { ...plain, limit: 79 }
    assert.equal(judge(plain, loosened, [proposal(loosened)]).status, 'proposed')
    for (const other of [
      proposal(loosened, { standard: 't' }),
      proposal(loosened, { trunk_limit: 81 }),
      proposal(loosened, { proposed_limit: 78 }),
      proposal(loosened, { definition_fingerprint: '0'.repeat(64) }),
    ]) {
      assert.equal(judge(plain, loosened, [other]).status, 'failed')
    }
    assert.equal(judge(plain, { ...loosened, run: 'n' }, [proposal({ ...loosened, run: 'n' })]).status, 'failed')
    assert.equal(judge(plain, plain, [proposal(loosened)]).status, 'verified', 'restoring the limit declines it')
  })

  it('says so, without blocking, when the trunk cannot be read', async () => {
    const found = ratchet({ unavailable: 'the tree is not here' }, of({ s: plain, t: { ...plain, limit: 1 } }))
    assert.deepEqual([found.status, found.rows.length], ['unverified', 2])
    assert.match(found.rows[0]?.sentence ?? '', /compared with nothing: the tree is not here/)
    const text = '[standards.s]\ndirection = "up"\nlimit = 80\nrun = "m"\n'
    assert.equal(ratchet(trunkStandards({ status: 'absent' }), of({ s: plain })).status, 'verified')
    assert.equal(
      ratchet(trunkStandards({ status: 'unreadable', reason: 'gone' }), of({ s: plain })).status,
      'unverified',
    )
    const configuration = await parseConfiguration(text, 'discern.toml')
    assert.equal(ratchet(trunkStandards({ status: 'ok', text, configuration }), of({})).status, 'failed')
  })

  it('tells the worst first: failed, unverified, proposed, verified', () => {
    const trunk = { known: of({ a: plain, b: plain, c: plain }) }
    const branch = of({ a: { ...plain, limit: 79 }, b: { ...plain, limit: 79 }, d: plain })
    const found = ratchet(trunk, branch, [
      { ...proposal({ ...plain, limit: 79 }), standard: 'a', definition_fingerprint: fingerprintOf('a') },
    ])
    assert.deepEqual(
      found.rows.map(row => [row.standard, row.status]),
      [
        ['a', 'proposed'],
        ['b', 'failed'],
        ['d', 'verified'],
        ['c', 'failed'],
      ],
    )
    assert.equal(found.status, 'failed')
  })
})

const fingerprintOf = (name: string): string => {
  const [standard] = readStandards(of({ [name]: plain }))
  return standard ? meaningFingerprint(standard) : ''
}

/** What the rule of facts 14 says about one standard, from the two tables alone. */
const oracle = (before: Table | undefined, after: Table | undefined): boolean => {
  if (!before) return true
  if (!after) return false
  const text = (table: Table, key: string, otherwise: unknown): string => JSON.stringify(table[key] ?? otherwise)
  for (const [key, otherwise] of [
    ['direction', null],
    ['metric', 's'],
    ['run', null],
    ['producer', null],
    ['extract', null],
    ['per', null],
    ['scale', 1],
  ] as const) {
    if (text(before, key, otherwise) !== text(after, key, otherwise)) return false
  }
  for (const key of ['environment', 'toolchain', 'needs']) {
    const kept = new Set((after[key] as string[] | undefined) ?? [])
    if (((before[key] as string[] | undefined) ?? []).some(item => !kept.has(item))) return false
  }
  const [wide, narrow] = [before['inputs'], after['inputs']] as (string[] | undefined)[]
  if (narrow && (!wide || wide.some(item => !narrow.includes(item)))) return false
  const gain = Number(after['limit']) - Number(before['limit'])
  return before['direction'] === 'up' ? gain >= 0 : gain <= 0
}

describe('the ratchet and its rule', () => {
  const subset = (...items: readonly string[]) => fc.option(fc.shuffledSubarray([...items]), { nil: undefined })
  const common = {
    direction: fc.constantFrom('up', 'down'),
    limit: fc.constantFrom(-1, 0, 0.5, 1, 80, 80.5),
    metric: fc.constantFrom(undefined, 's', 'x'),
    scale: fc.constantFrom(undefined, 1, 100),
    margin: fc.constantFrom(undefined, 0, 2),
    timeout: fc.constantFrom(undefined, 5),
    inputs: subset('a', 'b', 'c'),
    environment: subset('A', 'B'),
    toolchain: subset('t', 'u'),
    needs: subset('test', 'lint'),
    per: fc.constantFrom<unknown>(undefined, 'd', { lines: ['d'] }),
  }
  const table = fc
    .oneof(
      fc.record({ ...common, run: fc.constantFrom('m', 'n') }),
      fc.record({ ...common, producer: fc.constantFrom('test', 'lint'), extract: fc.constantFrom(undefined, 'e') }),
    )
    .map(record => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as Table)
  // Near pairs, since two random tables differ almost always.
  const pair = fc
    .tuple(table, table, fc.array(fc.constantFrom(...Object.keys(common), 'run'), { maxLength: 2 }))
    .map(([before, other, keys]): readonly [Table, Table] => {
      const after: Record<string, unknown> = { ...before }
      for (const key of keys) {
        if (key === 'run' ? 'run' in before && 'run' in other : true) {
          if (other[key] === undefined) delete after[key]
          else after[key] = other[key]
        }
      }
      return [before, after]
    })

  it('agree on every pair of tables', () => {
    let passed = 0
    let failed = 0
    fc.assert(
      fc.property(pair, ([before, after]) => {
        const expected = oracle(before, after) ? 'verified' : 'failed'
        assert.equal(judge(before, after).status, expected)
        if (expected === 'failed') failed += 1
        else passed += 1
      }),
      { numRuns: 500 },
    )
    assert.ok(passed > 50 && failed > 50, `both outcomes occur: ${passed}, ${failed}`)
  })

  it('are transitive: a branch of a branch that passed passes against the first trunk', () => {
    fc.assert(
      fc.property(pair, table, ([first, second], other) => {
        const third: Table = { ...second, margin: other['margin'] ?? 0, limit: other['limit'] }
        if (judge(first, second).status === 'verified' && judge(second, third).status === 'verified') {
          assert.equal(judge(first, third).status, 'verified')
        }
      }),
    )
  })
})
