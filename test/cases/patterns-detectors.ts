/** Every detector fired, quiet, and short of evidence, each from lines written by hand. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { detectors } from '../../src/logbook/detectors.ts'
import type { LandingRecord, QuestionRecord, StandardRecord, VerbEvent } from '../../src/logbook/event.ts'
import { event, keyed, lookAt, minute, red, reportOf, step, times } from '../support/events.ts'

const HOUR = 60

const landing = (fields: Partial<LandingRecord> = {}): LandingRecord => ({
  commit: 'c'.repeat(40),
  trunk: 'main',
  consent: 'conversation',
  variances: [],
  proposals: 0,
  publication: 'recorded',
  ...fields,
})

const accept = (branch: string, fields: Partial<VerbEvent> = {}, record: Partial<LandingRecord> = {}): VerbEvent =>
  event({ verb: 'accept', branch, landing: [landing(record)], ...fields })

const question = (id: string): QuestionRecord => ({ id, definition: keyed('ab'), subject: keyed('cd') })

describe('the table of detectors', () => {
  it('has distinct names, one of four families, a question and a threshold for each', () => {
    assert.deepEqual(
      detectors.map(({ name, family, threshold }) => `${name} ${family} ${threshold}`),
      [
        'same-tree-flake gate-fit 2',
        'execution-context-divergence gate-fit 2',
        'recurring-red-job gate-fit 5',
        'done-thrash behavior 3',
        'loops-to-green funnel 2',
        'duration-creep trajectory 8',
        'dominant-stage gate-fit 8',
        'standard-trajectory trajectory 8',
        'landing-cycle-time funnel 3',
        'checkpoint-dead gate-fit 8',
        'checkpoint-noisy gate-fit 8',
        'checkpoint-varied gate-fit 3',
      ],
    )
    for (const { question: asked, counts } of detectors) assert.match(`${asked}|${counts}`, /^[a-z].*\?\|[a-z]/)
  })

  it('says of an empty Logbook what each of them needs', async () => {
    const { reports } = await lookAt([])
    for (const report of Object.values(reports)) {
      assert.equal(report.status, 'insufficient-evidence', report.detector)
      assert.match(report.needs ?? '', /^(\d+ of \d+ |no job )/, report.detector)
    }
  })
})

describe('done-thrash', () => {
  const session = (name: string): Pick<VerbEvent, 'driver'> => ({
    driver: { session: name.repeat(16), json: false, tty: true, ci: false, agent_signals: [] },
  })

  it('fires on three red runs of done in a row in one session, across refusals and branches', async () => {
    const report = await reportOf('done-thrash', [
      red(),
      red({ branch: 'other', failed_stage: 'check', writer: '1.10.0' }),
      event({ outcome: 'refused', error: 'awaiting_declaration' }),
      event({ verb: 'prepare' }),
      red({ writer: '1.9.0' }),
      event(),
      red(),
      red(),
    ])
    assert.equal(report.findings_total, 1, 'two red runs at the end are no row')
    const [finding] = report.findings
    assert.deepEqual(
      [finding?.about, finding?.seen, finding?.next_action],
      [
        '2 branches',
        'done was red 3 times in a row in one session, 2 times in test',
        'run git discern test until it is green, and done only then',
      ],
    )
    assert.deepEqual(
      [finding?.basis.count, finding?.basis.denominator, finding?.basis.versions, finding?.basis.differing],
      [
        3,
        6,
        ['1.2.0', '1.9.0', '1.10.0'],
        [
          { condition: 'branch', values: ['feat', 'other'] },
          { condition: 'failed stage', values: ['check', 'test'] },
        ],
      ],
    )
  })

  it('names the branch where there is one, and prepare where the check stage is red', async () => {
    const report = await reportOf(
      'done-thrash',
      times(4, () => red({ failed_stage: 'check' })),
    )
    assert.deepEqual(
      report.findings.map(({ about, seen, next_action }) => [about, seen, next_action]),
      [
        [
          'branch feat',
          'done was red 4 times in a row in one session, always in check',
          'run git discern prepare until it is green, and done only then',
        ],
      ],
    )
  })

  it('is quiet where green came between, where sessions differ, and where we or an interrupt ended it', async () => {
    assert.equal((await reportOf('done-thrash', [red(), red(), event(), red(), red()])).status, 'quiet')
    const sessions = [session('a'), session('b'), session('a'), session('b'), session('a')]
    const others = sessions.map((one, at) => (at < 4 ? red(one) : event(one)))
    assert.equal((await reportOf('done-thrash', others)).status, 'quiet')
    const crash = red({ crash: true, error: 'internal_error' })
    const interrupted = red({ error: 'interrupted' })
    assert.equal((await reportOf('done-thrash', [red(), red(), crash, interrupted, event()])).status, 'quiet')
  })

  it('needs three runs of one session, and counts those of nobody', async () => {
    const report = await reportOf('done-thrash', [
      red(),
      red(),
      red({ driver: { ...session('a').driver, session: undefined } as never }),
    ])
    assert.deepEqual([report.status, report.needs], ['insufficient-evidence', '2 of 3 runs of done in one session'])
    const counted = await reportOf('done-thrash', [red(), red(), red(), red({ driver: undefined } as never)])
    assert.deepEqual(counted.findings[0]?.basis.excluded, { 'no-session': 1 })
  })
})

describe('recurring-red-job', () => {
  const runs = (branch: string, outcome: 'ok' | 'failed', label = 'e2e') =>
    event({ branch, outcome: outcome === 'ok' ? 'ok' : 'failed', steps: [step(label, { outcome })] })

  it('fires on five failures of one job from three branches, whatever verb ran it', async () => {
    const report = await reportOf('recurring-red-job', [
      ...times(2, () => runs('a', 'failed')),
      ...times(2, () => runs('b', 'failed')),
      ...times(4, () => runs('c', 'ok')),
      { ...runs('c', 'failed'), verb: 'test' },
    ])
    assert.deepEqual(
      report.findings.map(({ about, seen, basis }) => [about, seen, basis.count, basis.denominator]),
      [['job e2e', 'failed in 5 of its newest 9 runs, on 3 branches', 5, 9]],
    )
    assert.deepEqual(report.findings[0]?.basis.differing, [
      { condition: 'branch', values: ['a', 'b', 'c'] },
      { condition: 'stage', values: ['test'] },
    ])
  })

  it('looks at the newest fifty answers alone', async () => {
    const old = ['a', 'b', 'c', 'd', 'e'].map(branch => runs(branch, 'failed'))
    assert.equal((await reportOf('recurring-red-job', [...old, ...times(45, () => runs('f', 'ok'))])).status, 'fired')
    const report = await reportOf('recurring-red-job', [...old, ...times(46, () => runs('f', 'ok'))])
    assert.deepEqual([report.status, report.needs], ['insufficient-evidence', '4 of 5 failures of one job'])
  })

  it('is quiet on two branches, and takes no skipped, reused, cancelled or unknown step for an answer', async () => {
    assert.equal(
      (
        await reportOf(
          'recurring-red-job',
          ['a', 'a', 'a', 'b', 'b'].map(branch => runs(branch, 'failed')),
        )
      ).status,
      'quiet',
    )
    const none = (['cancelled', 'skipped', 'unknown'] as const).map(outcome => step('e2e', { outcome }))
    const reused = step('e2e', { outcome: 'failed', disposition: 'skip' })
    const merge = step('e2e', { outcome: 'failed', kind: 'merge-check' })
    const report = await reportOf(
      'recurring-red-job',
      ['a', 'b', 'c', 'd', 'e'].map(branch => event({ branch, steps: [...none, reused, merge] })),
    )
    assert.equal(report.status, 'insufficient-evidence')
  })
})

describe('loops-to-green', () => {
  it('fires on six red runs before the green one, once two branches got green', async () => {
    const long = [...times(6, () => red({ branch: 'long' })), event({ branch: 'long' })]
    const lacking = await reportOf('loops-to-green', long)
    assert.deepEqual([lacking.status, lacking.needs], ['insufficient-evidence', '1 of 2 branches that got green'])
    const report = await reportOf('loops-to-green', [...long, event({ branch: 'short' }), red({ branch: 'open' })])
    assert.deepEqual(
      report.findings.map(({ about, seen, basis }) => [about, seen, basis.count, basis.denominator, basis.excluded]),
      [['branch long', 'took 6 red runs of done before the green one', 6, 7, { 'branches-not-green-yet': 1 }]],
    )
  })

  it('is quiet below six, counts each loop by itself, and no branch that never got green', async () => {
    const report = await reportOf('loops-to-green', [
      ...times(5, () => red({ branch: 'a' })),
      event({ branch: 'a' }),
      ...times(5, () => red({ branch: 'a' })),
      event({ branch: 'a' }),
      event({ branch: 'b' }),
      ...times(9, () => red({ branch: 'c' })),
    ])
    assert.equal(report.status, 'quiet')
  })

  it('takes a branch of the same name after its landing for another effort', async () => {
    const report = await reportOf('loops-to-green', [
      event({ branch: 'b' }),
      event({ branch: 'a', head: 'a'.repeat(40) }),
      ...times(3, () => red({ branch: 'a' })),
      accept('a', {}, { commit: 'a'.repeat(40) }),
      ...times(3, () => red({ branch: 'a' })),
      event({ branch: 'a' }),
    ])
    assert.equal(report.status, 'quiet')
  })
})

describe('duration-creep', () => {
  const green = (ms: number, files: number, more: Partial<VerbEvent> = {}) =>
    event({ duration_ms: ms, change: { files, insertions: 1, deletions: 0 }, ...more })

  it('fires where the later half takes half as long again with no more files, and shows how it went', async () => {
    const report = await reportOf(
      'duration-creep',
      [10, 20, 30, 40, 30, 30, 60, 45].map((s, at) =>
        green(s * 1000 + 500, at < 4 ? 4 : 5, { waited_ms: 500, at: minute(at) }),
      ),
    )
    // Middle of 10 20 30 40 is 25; of 30 30 60 45 it is 37.5, and 37.5 is one and a half times 25.
    const [finding] = report.findings
    assert.equal(
      finding?.seen,
      'green runs went from 25 s to 38 s in the middle (1.5 times), with 4 and 5 files changed; 4 of the later 4 were slower than the middle of the earlier ones',
    )
    assert.deepEqual(
      finding?.series?.map(({ value }) => value),
      [10, 20, 30, 40, 30, 30, 60, 45],
    )
    assert.deepEqual([finding?.series_unit, finding?.series?.[0]?.at], ['seconds', minute(0)])
  })

  it('is quiet just below, and where the changes grew as well', async () => {
    const below = [10, 20, 30, 40, 30, 30, 60, 44].map(s => green(s * 1000, 4))
    assert.equal((await reportOf('duration-creep', below)).status, 'quiet')
    const grown = [10, 10, 10, 10, 30, 30, 30, 30].map((s, at) => green(s * 1000, at < 4 ? 4 : 6))
    assert.equal((await reportOf('duration-creep', grown)).status, 'quiet')
  })

  it('counts no run that is red, reused a Proof or evidence, or whose size is unknown, and says so', async () => {
    const slow = [
      green(90_000, 1, { outcome: 'failed' }),
      green(90_000, 1, { gate_ran: false }),
      green(90_000, 1, { steps: [step('unit', { disposition: 'skip', outcome: 'ok' })] }),
      event({ duration_ms: 90_000 }),
      event({ verb: 'test', duration_ms: 90_000, change: { files: 1, insertions: 0, deletions: 0 } }),
    ]
    const seven = times(7, () =>
      green(10_000, 1, { steps: [step('blank', { disposition: 'skip', outcome: 'skipped' })] }),
    )
    const lacking = await reportOf('duration-creep', [...seven, ...slow])
    assert.deepEqual([lacking.status, lacking.needs], ['insufficient-evidence', '7 of 8 green runs of the whole gate'])
    const report = await reportOf('duration-creep', [
      ...times(4, () => green(10_000, 1)),
      ...slow,
      ...times(4, () => green(20_000, 1)),
    ])
    assert.deepEqual(report.findings[0]?.basis.excluded, { 'reused-proof': 1, 'reused-evidence': 1, 'size-unknown': 1 })
  })

  it('shows at most 24 points, each the middle of a stretch, of the newest 200 runs', async () => {
    const old = times(300, () => green(90_000, 1))
    const report = await reportOf('duration-creep', [
      ...old,
      ...times(100, () => green(10_000, 1)),
      ...times(100, () => green(20_000, 1)),
    ])
    const series = report.findings[0]?.series ?? []
    assert.deepEqual(
      series.map(({ value }) => value),
      [...times(12, () => 10), ...times(12, () => 20)],
    )
    assert.equal(report.findings[0]?.basis.denominator, 100)
  })
})

describe('dominant-stage', () => {
  const timed = (unit: number, e2e: number, lint: number) =>
    event({
      steps: [
        step('unit', { duration_s: unit }),
        step('e2e', { duration_s: e2e }),
        step('lint', { group: 'check', duration_s: lint }),
        step('kept', { group: 'check', duration_s: 999, disposition: 'skip' }),
      ],
    })

  it('fires on a stage that takes sixty percent of a gate of half a minute, and names the job in it', async () => {
    const report = await reportOf(
      'dominant-stage',
      times(8, () => timed(6, 18, 16)),
    )
    const [finding] = report.findings
    assert.deepEqual(
      [finding?.about, finding?.seen],
      ['stage test', 'took 60 % of the working time of 8 green runs, 40 s each in the middle; 75 % of it in e2e'],
    )
    assert.deepEqual(
      [finding?.basis.count, finding?.basis.denominator, finding?.basis.evidence],
      [192, 320, 'estimated'],
    )
  })

  it('is quiet on a smaller share, a short gate and a gate of one stage, and needs eight green runs', async () => {
    assert.equal(
      (
        await reportOf(
          'dominant-stage',
          times(8, () => timed(6, 17, 17)),
        )
      ).status,
      'quiet',
    )
    assert.equal(
      (
        await reportOf(
          'dominant-stage',
          times(8, () => timed(6, 18, 5)),
        )
      ).status,
      'quiet',
    )
    const alone = times(8, () => event({ steps: [step('unit', { duration_s: 99 })] }))
    assert.equal((await reportOf('dominant-stage', alone)).status, 'quiet')
    const without = [...times(7, () => timed(6, 18, 16)), event(), event({ ...timed(6, 18, 16), outcome: 'failed' })]
    const report = await reportOf('dominant-stage', without)
    assert.deepEqual([report.status, report.needs], ['insufficient-evidence', '7 of 8 green runs with durations'])
  })
})

describe('standard-trajectory', () => {
  let commits = 0
  const reading = (value: number | undefined, more: Partial<StandardRecord> = {}, fields: Partial<VerbEvent> = {}) => {
    commits += 1
    return event({
      head: String(commits).padStart(40, '0'),
      standards: [
        {
          name: 'coverage',
          direction: 'up',
          limit: 80,
          verdict: 'held',
          ...(value === undefined ? {} : { reading: value }),
          ...more,
        },
      ],
      ...fields,
    })
  }

  it('fires where half of the room to the limit of today is gone, up and down', async () => {
    const up = await reportOf(
      'standard-trajectory',
      [90, 90, 90, 90, 88, 85, 85, 84].map(value => reading(value)),
    )
    assert.deepEqual(
      up.findings.map(({ about, seen, basis }) => [about, seen, basis.count, basis.denominator]),
      [
        [
          'standard coverage',
          'went from 90 to 85 in the middle of 8 readings, at least 80 is asked: 50 % of the room is gone',
          4,
          4,
        ],
      ],
    )
    const down = await reportOf(
      'standard-trajectory',
      [100, 100, 100, 100, 160, 160, 160, 160].map(value =>
        reading(value, { direction: 'down', limit: 200, name: 'size' }),
      ),
    )
    assert.match(down.findings[0]?.seen ?? '', /^went from 100 to 160 .* at most 200 is asked: 60 % of the room/)
  })

  it('is quiet on less, on what got better, and where only the limit was tightened', async () => {
    const quiet = async (values: readonly VerbEvent[]) => (await reportOf('standard-trajectory', values)).status
    assert.equal(await quiet([90, 90, 90, 90, 85.1, 85.1, 85.1, 85.1].map(value => reading(value))), 'quiet')
    assert.equal(await quiet([81, 81, 81, 81, 90, 90, 90, 90].map(value => reading(value))), 'quiet')
    const tightened = [90, 90, 90, 90, 91, 91, 91, 91].map((value, at) => reading(value, { limit: at < 4 ? 80 : 90 }))
    assert.equal(await quiet(tightened), 'quiet')
  })

  it('needs eight readings, and takes one of the same commit again for none', async () => {
    const same = times(8, () => reading(90, {}, { head: 'f'.repeat(40) }))
    const report = await reportOf('standard-trajectory', [...same, reading(undefined, { verdict: 'failed' })])
    assert.deepEqual([report.status, report.needs], ['insufficient-evidence', '1 of 8 readings of one standard'])
    const failed = [90, 90, 90, undefined, 90, 82, 82, 82, 82].map(value => reading(value))
    assert.deepEqual((await reportOf('standard-trajectory', failed)).findings[0]?.basis.excluded, { 'no-reading': 1 })
  })
})

describe('landing-cycle-time', () => {
  /** First red, then green, then landed, these minutes after the start. */
  const way = (branch: string, first: number, green: number, landed: number) => {
    const head = branch.padEnd(40, '0')
    return [
      red({ branch, at: minute(first) }),
      event({ branch, head, at: minute(green) }),
      accept(branch, { at: minute(landed), head }, { commit: head }),
    ]
  }

  it('fires where what is green waits hours and most of its way, and shows how long each took', async () => {
    const report = await reportOf('landing-cycle-time', [
      ...way('a', 0, 2 * HOUR, 6 * HOUR),
      ...way('b', 0, 2 * HOUR, 12 * HOUR),
      ...way('c', 0, HOUR, 2 * HOUR),
    ])
    const [finding] = report.findings
    // Waits of 4, 10 and 1 hours of ways of 6, 12 and 2.
    assert.equal(
      finding?.seen,
      'in the middle of 3 landings a green change waited 4 h of 6 h (67 %); 2 waited 4 h or longer',
    )
    assert.deepEqual(
      [finding?.basis.count, finding?.basis.denominator, finding?.series?.map(({ value }) => value)],
      [2, 3, [6, 12, 2]],
    )
  })

  it('is quiet where the wait is short, or the way before it longer', async () => {
    const short = ['a', 'b', 'c'].flatMap(branch => way(branch, 0, 10, 3 * HOUR))
    assert.equal((await reportOf('landing-cycle-time', short)).status, 'quiet')
    const work = ['a', 'b', 'c'].flatMap(branch => way(branch, 0, 20 * HOUR, 26 * HOUR))
    assert.equal((await reportOf('landing-cycle-time', work)).status, 'quiet')
  })

  it('follows a landing from the trunk by its commit, several at once too, and says what it could not follow', async () => {
    const all = ['a', 'b', 'c'].map(branch => way(branch, 0, HOUR, 9 * HOUR))
    const runs = all.flatMap(events => events.slice(0, 2))
    const landings = ['a', 'b', 'c', 'd'].map(branch => landing({ commit: branch.padEnd(40, '0') }))
    const together = accept('main', { at: minute(9 * HOUR), landing: landings })
    const report = await reportOf('landing-cycle-time', [...runs, together])
    assert.deepEqual(
      [report.status, report.findings[0]?.basis.count, report.findings[0]?.basis.excluded],
      ['fired', 3, { 'landing-of-an-unknown-branch': 1 }],
    )
    const targeted = ['a', 'b', 'c'].map(branch =>
      accept('main', { at: minute(9 * HOUR), target: branch }, { commit: 'e'.repeat(40) }),
    )
    assert.equal((await reportOf('landing-cycle-time', [...runs, ...targeted])).status, 'fired')
    const lacking = await reportOf('landing-cycle-time', [...way('a', 0, 1, 2), accept('b'), accept('c')])
    assert.deepEqual(
      [lacking.status, lacking.needs],
      ['insufficient-evidence', '1 of 3 landings with a run before them'],
    )
  })

  it('counts no way on which the clock went back', async () => {
    const report = await reportOf(
      'landing-cycle-time',
      ['a', 'b', 'c'].flatMap(branch => way(branch, 9, 5, 99 * HOUR)),
    )
    assert.equal(report.status, 'insufficient-evidence')
  })
})

describe('checkpoints that do not fit', () => {
  /** One effort whose gate ran, in which these fired. */
  const effort = (at: number, fired: readonly string[], more: Partial<VerbEvent> = {}) =>
    event({ branch: `b${at}`, checkpoints: { fired: fired.map(question) }, ...more })

  it('dead: fired in none of eight efforts whose gate ran, and governs today', async () => {
    const events = times(8, at => effort(at, at === 0 ? ['once'] : ['other']))
    const report = await reportOf('checkpoint-dead', events, { checkpoints: ['once', 'never'] })
    assert.deepEqual(
      report.findings.map(({ about, seen, basis }) => [about, seen, basis.count, basis.denominator]),
      [['checkpoint never', 'fired in none of 8 efforts whose gate ran', 0, 8]],
    )
    assert.equal((await reportOf('checkpoint-dead', events, { checkpoints: ['once'] })).status, 'quiet')
    const unknown = await reportOf('checkpoint-dead', events, { checkpoints: undefined })
    assert.deepEqual(
      [unknown.status, unknown.needs],
      ['insufficient-evidence', 'the checkpoints that govern cannot be read'],
    )
  })

  it('dead: advice, an answer and a question asked again are firings too', async () => {
    const events = times(8, at => effort(at, []))
    const signs = [
      { advise: [{ id: 'it' }] },
      { reopened: [question('it')] },
      { declared: [{ ...question('it'), conclusion: 'met', revised: false } as const] },
    ]
    for (const checkpoints of signs) {
      const one = event({ verb: 'prepare', branch: 'b3', checkpoints })
      assert.equal((await reportOf('checkpoint-dead', [...events, one], { checkpoints: ['it'] })).status, 'quiet')
    }
    assert.equal((await reportOf('checkpoint-dead', events, { checkpoints: ['it'] })).status, 'fired')
  })

  it('dead: an effort counts when its gate ran, once, and on the trunk there is none', async () => {
    const seven = times(7, at => effort(at, []))
    for (const more of [
      [effort(0, [])],
      [effort(9, [], { gate_ran: false })],
      [effort(9, [], { verb: 'test' })],
      [effort(9, [], { branch: 'main' })],
      [effort(9, [], { branch: null })],
    ]) {
      const report = await reportOf('checkpoint-dead', [...seven, ...more], { checkpoints: ['never'] })
      assert.deepEqual([report.status, report.needs], ['insufficient-evidence', '7 of 8 efforts whose gate ran'])
    }
  })

  it('noisy: fired in four of five efforts and more', async () => {
    const often = (count: number) => times(10, at => effort(at, at < count ? ['it', 'it'] : []))
    const report = await reportOf('checkpoint-noisy', often(8), { checkpoints: ['it', 'other'] })
    assert.deepEqual(
      report.findings.map(({ about, seen }) => [about, seen]),
      [['checkpoint it', 'fired in 8 of 10 efforts whose gate ran (80 %)']],
    )
    assert.equal((await reportOf('checkpoint-noisy', often(7), { checkpoints: ['it'] })).status, 'quiet')
    assert.equal((await reportOf('checkpoint-noisy', often(8), { checkpoints: undefined })).status, 'fired')
    assert.equal(
      (await reportOf('checkpoint-noisy', often(8), { checkpoints: [] })).status,
      'quiet',
      'it governs no more',
    )
    assert.equal(
      (await reportOf('checkpoint-noisy', often(8).slice(0, 7), { checkpoints: ['it'] })).status,
      'insufficient-evidence',
    )
  })

  it('varied: half of three landings with its question were under a variance', async () => {
    const landed = (branch: string, variances: readonly string[]) => [
      effort(0, ['it', 'other'], { branch, head: branch.padEnd(40, '0') }),
      accept(branch, {}, { commit: branch.padEnd(40, '0'), variances }),
    ]
    const events = [...landed('a', ['it']), ...landed('b', []), ...landed('c', ['it', 'other']), ...landed('d', [])]
    const report = await reportOf('checkpoint-varied', events)
    assert.deepEqual(
      report.findings.map(({ about, seen, basis }) => [about, seen, basis.count, basis.denominator]),
      [['checkpoint it', 'landed under a variance 2 of 4 times', 2, 4]],
    )
    assert.equal((await reportOf('checkpoint-varied', [...events, ...landed('e', [])])).status, 'quiet')
    const lacking = await reportOf('checkpoint-varied', events.slice(0, 4))
    assert.deepEqual([lacking.status, lacking.needs], ['insufficient-evidence', '2 of 3 landings with one question'])
  })
})

describe('what findings hold', () => {
  it('names at most sixteen values of a condition, then counts the others', async () => {
    const branches = times(20, at => `b${String(at).padStart(2, '0')}`)
    const report = await reportOf(
      'recurring-red-job',
      branches.map(branch => red({ branch, steps: [step('unit', { outcome: 'failed' })] })),
    )
    assert.deepEqual(report.findings[0]?.basis.differing[0], {
      condition: 'branch',
      values: branches.slice(0, 16),
      distinct: 20,
      omitted: 4,
    })
  })

  it('shows three findings of a detector, counts all, and shows all when asked', async () => {
    const long = ['a', 'b', 'c', 'd'].flatMap(branch => [...times(6, () => red({ branch })), event({ branch })])
    const few = await reportOf('loops-to-green', long, { all: false })
    assert.deepEqual([few.findings.length, few.findings_total], [3, 4])
    const every = await reportOf('loops-to-green', long)
    assert.deepEqual([every.findings.length, every.findings_total], [4, 4])
  })
})
