/** From output to verdict: metrics, the three ways to take a number, readings, tolerance, sizes of a commit. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { extractMetric, measureSizes, metricOf, parseMetrics, readingOf, verdictOf } from '../../src/gate/standard.ts'
import { openWorktree } from '../../src/git/repository.ts'
import { contextFor } from '../support/gate.ts'
import { scratch } from '../support/scratch.ts'

const metric = (output: string, name = 'cov') => metricOf(parseMetrics(Buffer.from(output)), name)

describe('a metric', () => {
  const known: readonly (readonly [what: string, output: string, value: number])[] = [
    ['stands alone on a line', 'DISCERN_METRIC cov 85\n', 85],
    ['needs no line ending', 'DISCERN_METRIC cov 85', 85],
    ['may follow other words', 'ok 3 tests | DISCERN_METRIC cov 85.25 | 4s', 85.25],
    ['may stand between tabs, before a carriage return', '\tDISCERN_METRIC\tcov\t85\r\n', 85],
    [
      'counts when it is the last of its name',
      'DISCERN_METRIC cov 1\nDISCERN_METRIC cov 2\nDISCERN_METRIC other 3\n',
      2,
    ],
    ['may follow another one on the same line', 'DISCERN_METRIC a 1 DISCERN_METRIC cov 2', 2],
    ['replaces a broken one that came before', 'DISCERN_METRIC cov x\nDISCERN_METRIC cov 2\n', 2],
    ['may be coloured', '\u001b[32mDISCERN_METRIC cov 85\u001b[0m\n', 85],
    ['may have an exponent and a sign', 'DISCERN_METRIC cov -1.5e-3', -0.0015],
    ['may begin or end in a point', 'DISCERN_METRIC cov .5', 0.5],
    ['is not disturbed by another broken one', 'DISCERN_METRIC other\nDISCERN_METRIC cov 4', 4],
  ]
  for (const [what, output, value] of known) it(what, () => assert.deepEqual(metric(output), { known: value }))

  const unavailable: readonly (readonly [what: string, output: string, reason: RegExp])[] = [
    ['that was not printed', 'nothing\n', /^no line DISCERN_METRIC cov <number>$/],
    ['beside others', 'DISCERN_METRIC a 1\nDISCERN_METRIC b 1', /printed were a, b$/],
    ['whose marker is part of a word', '"DISCERN_METRIC cov 85"', /no line/],
    ['whose marker has another case', 'discern_metric cov 85', /no line/],
    [
      'whose number is a word',
      'a\nDISCERN_METRIC cov high\n',
      /^DISCERN_METRIC cov: line 2: expected a number, found "high"$/,
    ],
    ['whose number is missing', 'DISCERN_METRIC cov\nDISCERN_METRIC', /line 1: expected a number, found ""/],
    ['whose number is not finite', 'DISCERN_METRIC cov inf', /found "inf"/],
    ['whose number is too large to be finite', 'DISCERN_METRIC cov 1e999', /found "1e999"/],
    ['whose number has a unit', 'DISCERN_METRIC cov 85%', /found "85%"/],
    ['whose number has separators', 'DISCERN_METRIC cov 1,000', /found "1,000"/],
    ['whose number is hexadecimal', 'DISCERN_METRIC cov 0x10', /found "0x10"/],
    ['that was broken after a good one', 'DISCERN_METRIC cov 1\nDISCERN_METRIC cov x', /line 2/],
    ['with a marker that has no name', 'a\nb\nDISCERN_METRIC', /line 3: expected a number/],
  ]
  for (const [what, output, reason] of unavailable) {
    it(`is unavailable ${what}`, () => {
      const found = metric(output)
      assert.match('unavailable' in found ? found.unavailable : 'known', reason)
    })
  }

  it('called like a property of every object is one like any other', () => {
    assert.deepEqual(metric('DISCERN_METRIC __proto__ 3', '__proto__'), { known: 3 })
    assert.ok('unavailable' in metric('DISCERN_METRIC a 3', 'constructor'))
  })

  it('is read back as it was printed, wherever it stands', () => {
    fc.assert(
      fc.property(
        // The text of -0 is that of 0.
        fc.double({ noDefaultInfinity: true, noNaN: true }).map(value => value + 0),
        fc.array(fc.stringMatching(/^[ -~]*$/)),
        fc.array(fc.stringMatching(/^[ -~]*$/)),
        (value, before, after) => {
          const noise = (lines: readonly string[]): readonly string[] =>
            lines.filter(line => !line.includes('DISCERN_METRIC'))
          const output = [...noise(before), `x DISCERN_METRIC cov ${value}`, ...noise(after)].join('\n')
          assert.deepEqual(metric(output), { known: value })
        },
      ),
    )
  })
})

describe('a number is taken', () => {
  const take = (extract: Parameters<typeof extractMetric>[0], text: string) =>
    metricOf(extractMetric(extract, 'cov', Buffer.from(text)), 'cov')

  it('from JSON at a pointer', () => {
    const text = '\uFEFF{"a/b":{"~":[1,{"":2.5}]},"s":"3","n":null,"toString":4}'
    assert.deepEqual(take({ kind: 'json', pointer: '/a~1b/~0/1/' }, text), { known: 2.5 })
    assert.deepEqual(take({ kind: 'json', pointer: '/toString' }, text), { known: 4 })
    assert.deepEqual(take({ kind: 'json', pointer: '' }, '7'), { known: 7 })
    const wrong: readonly (readonly [pointer: string, text: string, reason: RegExp])[] = [
      ['/s', text, /"\/s": expected a number, found "\\"3\\""/],
      ['/n', text, /expected a number, found "null"/],
      ['/valueOf', text, /nothing at "\/valueOf"/],
      ['/s/length', text, /nothing at "\/s\/length"/],
      ['/a~1b/~0/9', text, /nothing at "\/a~1b\/~0\/9"/],
      ['/a~1b/~0/01', text, /is a list/],
      ['/a', '{"a":1e999}', /expected a number/],
      ['/a', 'oops', /not JSON/],
      ['/a', '', /not JSON/],
    ]
    for (const [pointer, source, reason] of wrong) {
      const found = take({ kind: 'json', pointer }, source)
      assert.match('unavailable' in found ? found.unavailable : 'known', reason, pointer)
    }
  })

  it('by a pattern, from the last match of the last line that has one', () => {
    const pattern = { kind: 'pattern', pattern: '^All files *\\| *([0-9.]+)' } as const
    assert.deepEqual(take(pattern, 'All files | 10\r\nAll files | 81.5 | x\r\nother'), { known: 81.5 })
    assert.deepEqual(take({ kind: 'pattern', pattern: '(\\d+)ms' }, '1ms 2ms\nnone'), { known: 2 })
    const wrong: readonly (readonly [pattern: string, text: string, reason: RegExp])[] = [
      ['(\\d+)ms', 'none', /no line matches "\(\\\\d\+\)ms"/],
      ['took (\\w+)', 'a\ntook long', /line 2: expected a number, found "long"/],
      ['took(x)?', 'took', /line 1: expected a number, found ""/],
    ]
    for (const [source, text, reason] of wrong) {
      const found = take({ kind: 'pattern', pattern: source }, text)
      assert.match('unavailable' in found ? found.unavailable : 'known', reason)
    }
  })

  it('from the lines that a command printed', () => {
    assert.deepEqual(take({ kind: 'command', command: 'x' }, 'DISCERN_METRIC cov 3'), { known: 3 })
  })
})

describe('a reading', () => {
  const metrics = parseMetrics(
    Buffer.from('DISCERN_METRIC n 3\nDISCERN_METRIC all 8\nDISCERN_METRIC none 0\nDISCERN_METRIC big 1e308\n'),
  )
  const plain = { metric: 'n', per: undefined, scale: 100 } as const
  const per = (name: string, metric = 'n', scale = 100) => ({
    metric,
    per: { kind: 'metric', metric: name } as const,
    scale,
  })
  const sized = { metric: 'n', per: { kind: 'size', unit: 'lines', globs: ['x'] } as const, scale: 1000 }

  it('is the value, which a scale without a denominator leaves alone', () => {
    assert.deepEqual(readingOf(plain, metrics), { known: { value: 3, denominator: undefined, reading: 3 } })
  })

  it('is divided by another metric or by a size, and scaled', () => {
    assert.deepEqual(readingOf(per('all'), metrics), { known: { value: 3, denominator: 8, reading: 37.5 } })
    assert.deepEqual(readingOf(sized, metrics, { known: 12 }), { known: { value: 3, denominator: 12, reading: 250 } })
  })

  it('is unavailable without a denominator above 0, and where it is no finite number', () => {
    const reasons = [
      readingOf(per('none'), metrics),
      readingOf(per('missing'), metrics),
      readingOf(sized, metrics, { known: 0 }),
      readingOf(sized, metrics, { unavailable: 'lib is a submodule' }),
      readingOf(per('all', 'big', 1e10), metrics),
      readingOf({ ...plain, metric: 'absent' }, metrics),
    ].map(found => ('unavailable' in found ? found.unavailable : 'known'))
    const expected = [
      /per: expected more than 0, found 0/,
      /per: no line/,
      /per: expected more than 0/,
      /per: lib is a submodule/,
      /no finite number/,
      /^no line/,
    ]
    for (const [at, reason] of reasons.entries()) assert.match(reason, expected[at] ?? /^$/)
  })
})

describe('a verdict', () => {
  const table: readonly (readonly ['up' | 'down', number, number, string])[] = [
    ['up', 80, 80, 'held'],
    ['up', 80, 81, 'improved'],
    ['up', 80, 79, 'breached'],
    ['up', 80, 79.9999999995, 'held'],
    ['up', 80, 80.0000000005, 'held'],
    ['up', 80, 79.999999, 'breached'],
    ['up', 0.3, 0.1 + 0.2, 'held'],
    ['down', 5, 5, 'held'],
    ['down', 5, 4, 'improved'],
    ['down', 5, 6, 'breached'],
    ['down', 5, 5.0000000005, 'held'],
    ['down', 5, 5.000001, 'breached'],
    ['down', 0, 0, 'held'],
    ['up', -2, -1, 'improved'],
  ]
  for (const [direction, limit, reading, verdict] of table) {
    it(`${direction} ${limit}: ${reading} is ${verdict}`, () =>
      assert.equal(verdictOf({ direction, limit }, reading), verdict))
  }
})

describe('the size of files', () => {
  it('is that of the commit, whatever the work tree holds, links and executables included and submodules refused', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/src/a.txt', 'one two\nthree\n')
    s.write('r/src/b.sh', 'four', 0o755)
    s.write('r/src/empty', '')
    s.write('r/lib/c', 'x\n')
    s.sh('r', 'ln -s a.txt src/link')
    const head = s.commit('r', 'two')
    s.write('r/src/a.txt', 'changed and much longer than before\n')
    s.write('r/src/untracked.txt', 'a\nb\n')
    const closers: (() => void | Promise<void>)[] = []
    const worktree = await openWorktree({ ...contextFor(s.path('r'), s.env), defer: close => closers.push(close) })
    try {
      const sizes = async (...globs: readonly string[]) =>
        Promise.all(
          (['files', 'lines', 'words', 'bytes'] as const).map(unit => measureSizes(worktree, head, globs, unit)),
        )
      const known = (...values: readonly number[]) => values.map(value => ({ known: value }))
      assert.deepEqual(await sizes('src/**'), known(4, 4, 5, 23))
      assert.deepEqual(await sizes('*.sh'), known(1, 1, 1, 4))
      assert.deepEqual(await sizes('nothing/**'), known(0, 0, 0, 0))
      assert.deepEqual(await sizes('src/**', 'src/a.txt'), known(4, 4, 5, 23), 'a file counts once')
      s.git('r', 'update-index', '--add', '--cacheinfo', `160000,${head},src/sub`)
      s.git('r', 'commit', '-q', '-m', 'sub')
      const withModule = s.git('r', 'rev-parse', 'HEAD')
      assert.deepEqual(await measureSizes(worktree, withModule, ['src/**'], 'files'), {
        unavailable: 'src/sub is a submodule',
      })
      assert.deepEqual(await measureSizes(worktree, withModule, ['src/*.sh'], 'files'), { known: 1 })
    } finally {
      for (const close of closers) await close()
    }
  })
})
