/** Detectors over validation evidence: equal state, equal conditions, another answer; and everything that alone makes two runs another thing. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { JobOutcome } from '../../src/gate/outcome.ts'
import type { ExecutionJob, LogbookEvent, VerbEvent } from '../../src/logbook/event.ts'
import { event, evidence, job, keyed, lookAt, minute, reportOf } from '../support/events.ts'

const FLAKE = 'same-tree-flake'
const DIVERGENCE = 'execution-context-divergence'

/** One `done` with one test job of this outcome. */
const ran = (outcome: JobOutcome, more: Partial<VerbEvent> = {}, jobMore: Partial<ExecutionJob> = {}): VerbEvent =>
  event({ validation: evidence({ jobs: [job({ outcome, ...jobMore })] }), ...more })

describe('same-tree-flake', { concurrency: true }, () => {
  it('case 92: fires where one job failed and passed on one state, says out of how many, and what it does not know', async () => {
    const report = await reportOf(FLAKE, [
      ran('passed'),
      ran('failed'),
      ran('passed'),
      ran('skipped'),
      ran('cancelled'),
    ])
    assert.deepEqual(
      [report.status, report.family, report.threshold, report.findings_total],
      ['fired', 'gate-fit', 2, 1],
    )
    assert.deepEqual(report.findings[0], {
      about: 'job unit',
      seen: 'failed 1 and passed 2 of 5 times on one and the same state at commit cccccccccccc; skipped 1, cancelled 1',
      next_action:
        'look in unit for what is not in the commit: time, order, chance, network, leftover files; until then its red says nothing about a change',
      basis: {
        count: 1,
        denominator: 5,
        unit: 'runs of this job on this state',
        versions: ['1.2.0'],
        matched: [
          { condition: 'state', values: ['aa00000000000000'] },
          { condition: 'evidence version', values: ['1'] },
          { condition: 'writer', values: ['1.2.0'] },
          { condition: 'configuration', values: ['cc00000000000000'] },
          { condition: 'setup', values: ['5500000000000000'] },
          { condition: 'job definition', values: ['de00000000000000'] },
          { condition: 'captured', values: ['after-fix-build'] },
          { condition: 'mode', values: ['full-gate'] },
          { condition: 'beside other jobs', values: ['no'] },
          { condition: 'other jobs', values: ['none'] },
        ],
        differing: [{ condition: 'outcome', values: ['cancelled', 'failed', 'passed', 'skipped'] }],
        excluded: {},
        limitations: [
          'not recorded: ignored files, external services, clocks, random seeds, runtime environment, concurrent external processes',
        ],
        evidence: 'observed',
      },
    })
  })

  it('is quiet where every answer on a state was the same, and says what is missing where no state was seen twice', async () => {
    assert.equal((await reportOf(FLAKE, [ran('failed'), ran('failed')])).status, 'quiet')
    const neither = [ran('passed'), ran('skipped'), ran('cancelled'), ran('unavailable')]
    assert.equal((await reportOf(FLAKE, neither)).status, 'quiet')
    const once = await reportOf(FLAKE, [ran('failed')])
    assert.deepEqual(
      [once.status, once.needs, once.findings],
      ['insufficient-evidence', 'no job ran twice on one state with complete evidence', []],
    )
  })

  it('judges each test job by itself, and a standard or a job of another stage not at all', async () => {
    const jobs = (unit: JobOutcome, e2e: JobOutcome, lint: JobOutcome, coverage: JobOutcome) =>
      event({
        validation: evidence({
          jobs: [
            job({ id: 'unit', outcome: unit }),
            job({ id: 'e2e', outcome: e2e }),
            job({ id: 'lint', stage: 'check', outcome: lint }),
            job({ id: 'coverage', stage: 'test', kind: 'standard', outcome: coverage }),
          ],
        }),
      })
    const report = await reportOf(FLAKE, [
      jobs('passed', 'failed', 'passed', 'failed'),
      jobs('passed', 'passed', 'failed', 'passed'),
    ])
    assert.deepEqual(
      report.findings.map(({ about }) => about),
      ['job e2e'],
    )
  })

  it('counts runs of the test verb in their own mode, and shows the strongest finding of each job first', async () => {
    const standalone = (digest: string, id: string, outcome: JobOutcome) =>
      event({
        verb: 'test',
        validation: evidence({
          state: { capture: 'before-test-group', digest: keyed(digest) },
          execution: { mode: 'standalone-test' },
          jobs: [job({ id, outcome })],
        }),
      })
    const both = (digest: string, id: string, often: number) =>
      Array.from({ length: often }, () => [standalone(digest, id, 'passed'), standalone(digest, id, 'failed')]).flat()
    const { reports } = await lookAt([...both('a1', 'a', 3), ...both('a2', 'a', 2), ...both('b1', 'b', 1)], {
      all: false,
    })
    assert.deepEqual(
      reports[FLAKE]?.findings.map(({ about, basis }) => `${about} ${basis.count}/${basis.denominator}`),
      ['job a 3/6', 'job b 1/2', 'job a 2/4'],
    )
    assert.equal(reports[FLAKE]?.findings_total, 3)
  })

  /** Each of these, alone in the second run, makes it another thing than the first. */
  const decoys: Readonly<Record<string, Partial<VerbEvent>>> = {
    'another state': { validation: evidence({ state: { digest: keyed('ab') }, jobs: [job({ outcome: 'failed' })] }) },
    'another configuration': {
      validation: evidence({ execution: { config_digest: keyed('cd') }, jobs: [job({ outcome: 'failed' })] }),
    },
    'another setup': {
      validation: evidence({ execution: { setup_digest: keyed('56') }, jobs: [job({ outcome: 'failed' })] }),
    },
    'another definition': {
      validation: evidence({ jobs: [job({ outcome: 'failed', definition_digest: keyed('df') })] }),
    },
    'another kind of job': { validation: evidence({ jobs: [job({ outcome: 'failed', kind: 'scope' })] }) },
    'another job': { validation: evidence({ jobs: [job({ outcome: 'failed', id: 'other' })] }) },
    'another mode': {
      validation: evidence({ execution: { mode: 'standalone-test' }, jobs: [job({ outcome: 'failed' })] }),
    },
    'another writer': { validation: evidence({ execution: { writer: '1.3.0' }, jobs: [job({ outcome: 'failed' })] }) },
    'another boundary': {
      validation: evidence({ state: { capture: 'before-test-group' }, jobs: [job({ outcome: 'failed' })] }),
    },
    'another concurrency': { validation: evidence({ jobs: [job({ outcome: 'failed', concurrent_siblings: true })] }) },
    'another sibling': {
      validation: evidence({ jobs: [job({ outcome: 'failed' }), job({ id: 'lint', stage: 'check' })] }),
    },
    'an incomplete state': {
      validation: evidence({
        state: { complete: false, incomplete: [{ category: 'untracked', reason: 'path-limit' }] },
        jobs: [job({ outcome: 'failed' })],
      }),
    },
    'a state with an incomplete entry': {
      validation: evidence({
        state: { incomplete: [{ category: 'submodules', reason: 'dirty' }] },
        jobs: [job({ outcome: 'failed' })],
      }),
    },
    'a state without a digest': {
      validation: evidence({ state: { digest: undefined }, jobs: [job({ outcome: 'failed' })] }),
    },
    'an incomplete execution': {
      validation: evidence({ execution: { complete: false }, jobs: [job({ outcome: 'failed' })] }),
    },
    'an execution with an incomplete entry': {
      validation: evidence({
        execution: { incomplete: [{ category: 'execution', reason: 'byte-limit' }] },
        jobs: [job({ outcome: 'failed' })],
      }),
    },
    'no configuration digest': {
      validation: evidence({ execution: { config_digest: undefined }, jobs: [job({ outcome: 'failed' })] }),
    },
    'no setup digest': {
      validation: evidence({ execution: { setup_digest: undefined }, jobs: [job({ outcome: 'failed' })] }),
    },
    'no definition digest': {
      validation: evidence({ jobs: [job({ outcome: 'failed', definition_digest: undefined })] }),
    },
    'a job listed twice': { validation: evidence({ jobs: [job({ outcome: 'failed' }), job()] }) },
    'another version of evidence': { validation: evidence({ version: 2, jobs: [job({ outcome: 'failed' })] }) },
    'another version of its state': {
      validation: evidence({ state: { version: 2 }, jobs: [job({ outcome: 'failed' })] }),
    },
    'another version of its execution': {
      validation: evidence({ execution: { version: 2 }, jobs: [job({ outcome: 'failed' })] }),
    },
    'a skipped job': { validation: evidence({ jobs: [job({ outcome: 'skipped' })] }) },
    'a cancelled job': { validation: evidence({ jobs: [job({ outcome: 'cancelled' })] }) },
    'a job without an answer': { validation: evidence({ jobs: [job({ outcome: 'unavailable' })] }) },
    'a line without evidence': { outcome: 'failed', steps: [] },
    CI: {
      driver: { json: false, tty: false, ci: true, agent_signals: [] },
      validation: evidence({ jobs: [job({ outcome: 'failed' })] }),
    },
    'a dry run': { dry_run: true, validation: evidence({ jobs: [job({ outcome: 'failed' })] }) },
    'another verb': { verb: 'prepare', validation: evidence({ jobs: [job({ outcome: 'failed' })] }) },
  }
  for (const [what, second] of Object.entries(decoys)) {
    it(`does not fire where the second run has ${what}, and does without that`, async () => {
      const control = event({ validation: evidence({ jobs: [job({ outcome: 'failed' })] }) })
      assert.equal((await reportOf(FLAKE, [ran('passed'), control])).status, 'fired')
      // A line whose shape no reader of today knows never gets this far; the rule holds all the same.
      const report = await reportOf(FLAKE, [ran('passed'), event(second)], { checked: false })
      assert.notEqual(report.status, 'fired')
      assert.deepEqual(report.findings, [])
    })
  }

  it('says what it left out of the comparison, by reason', async () => {
    const report = await reportOf(FLAKE, [
      ran('passed'),
      ran('failed'),
      event(),
      event({ validation: evidence({ execution: { complete: false } }) }),
      event({ validation: evidence({ execution: { incomplete: [{ category: 'execution', reason: 'time-limit' }] } }) }),
      event({ verb: 'accept' }),
    ])
    assert.deepEqual(report.findings[0]?.basis.excluded, { 'no-evidence': 1, 'execution-incomplete': 2 })
  })

  it('takes an invocation that was delivered twice once, and one whose copies contradict each other not at all', async () => {
    const pass = ran('passed')
    const fail = ran('failed')
    // The order of members is no difference.
    const again = Object.fromEntries(Object.entries(fail).reverse()) as unknown as VerbEvent
    const twice = await lookAt([pass, fail, again, fail])
    assert.equal(twice.reports[FLAKE]?.findings[0]?.basis.denominator, 2)
    assert.deepEqual([twice.population.counted, twice.population.left_out], [2, { duplicate: 2 }])
    for (const other of [
      ran('passed'),
      { ...fail, outcome: 'failed' },
      { ...fail, duration_ms: 1001 },
      { ...fail, head: null },
    ]) {
      const contradiction = { ...other, invocation: fail.invocation } as VerbEvent
      for (const order of [
        [pass, fail, contradiction],
        [contradiction, pass, fail, fail],
      ]) {
        const { reports, population } = await lookAt(order)
        assert.equal(reports[FLAKE]?.status, 'insufficient-evidence', JSON.stringify(contradiction))
        assert.deepEqual([population.counted, population.left_out], [1, { contradictory: order.length - 1 }])
      }
    }
  })
})

describe('execution-context-divergence', { concurrency: true }, () => {
  const alone = (outcome: JobOutcome): VerbEvent =>
    event({
      verb: 'test',
      validation: evidence({
        state: { capture: 'before-test-group' },
        execution: { mode: 'standalone-test' },
        jobs: [job({ outcome })],
      }),
    })
  const beside = (outcome: JobOutcome, lint: JobOutcome = 'passed'): VerbEvent =>
    event({
      validation: evidence({
        jobs: [
          job({ outcome, concurrent_siblings: true }),
          job({ id: 'lint', stage: 'check', outcome: lint, concurrent_siblings: true }),
        ],
      }),
    })

  it('fires where a job always fails in the gate and always passes alone, and names what differs', async () => {
    const report = await reportOf(DIVERGENCE, [
      alone('passed'),
      beside('failed'),
      beside('failed', 'failed'),
      alone('skipped'),
    ])
    assert.deepEqual([report.status, report.findings_total], ['fired', 1])
    const [finding] = report.findings
    assert.equal(
      finding?.seen,
      'always failed in 1 and always passed in 1 of 2 contexts on one and the same state at commit cccccccccccc; skipped 1',
    )
    assert.deepEqual([finding?.about, finding?.basis.count, finding?.basis.denominator], ['job unit', 2, 4])
    assert.deepEqual(finding?.basis.differing, [
      { condition: 'captured', values: ['after-fix-build', 'before-test-group'] },
      { condition: 'mode', values: ['full-gate', 'standalone-test'] },
      { condition: 'beside other jobs', values: ['no', 'yes'] },
      { condition: 'other jobs', values: ['lint', 'none'] },
      { condition: 'definitions of other jobs', values: ['', 'de00000000000000'] },
      { condition: 'outcome', values: ['failed', 'passed', 'skipped'] },
    ])
  })

  it('is muted where a context is itself mixed, since that is a flake', async () => {
    const { reports } = await lookAt([alone('passed'), alone('failed'), beside('failed')])
    assert.deepEqual([reports[DIVERGENCE]?.status, reports[FLAKE]?.status], ['quiet', 'fired'])
  })

  it('is quiet where contexts agree, and needs two contexts that answered on one state', async () => {
    assert.equal((await reportOf(DIVERGENCE, [alone('failed'), beside('failed')])).status, 'quiet')
    const lacking = await reportOf(DIVERGENCE, [alone('failed'), alone('failed'), beside('cancelled')])
    assert.deepEqual(
      [lacking.status, lacking.needs],
      ['insufficient-evidence', 'no job answered in two contexts on one state'],
    )
    const elsewhere = event({
      validation: evidence({
        state: { digest: keyed('ab') },
        jobs: [job({ outcome: 'passed', concurrent_siblings: true })],
      }),
    })
    assert.equal((await reportOf(DIVERGENCE, [alone('failed'), elsewhere])).status, 'insufficient-evidence')
  })

  for (const [what, execution] of Object.entries({
    writer: { writer: '1.3.0' },
    configuration: { config_digest: keyed('cd') },
    setup: { setup_digest: keyed('56') },
  })) {
    it(`compares only within one ${what}`, async () => {
      const other = event({
        validation: evidence({ execution, jobs: [job({ outcome: 'failed', concurrent_siblings: true })] }),
      })
      assert.equal((await reportOf(DIVERGENCE, [alone('passed'), other])).status, 'insufficient-evidence')
    })
  }
})

/* Random events, and the rule of facts 12.6 written out the slow way. */

const outcomeOf = fc.constantFrom<JobOutcome>(
  'passed',
  'failed',
  'passed',
  'failed',
  'skipped',
  'cancelled',
  'unavailable',
)
const mostly = <T>(usual: T, ...odd: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 30, arbitrary: fc.constant(usual) },
    ...odd.map(one => ({ weight: 1, arbitrary: fc.constant(one) })),
  )

const randomJob = fc.record({
  id: fc.constantFrom('unit', 'unit', 'unit', 'e2e', 'lint'),
  stage: mostly<ExecutionJob['stage']>('test', 'check'),
  kind: mostly<ExecutionJob['kind']>('job', 'standard'),
  definition_digest: mostly<string | undefined>(keyed('de'), keyed('df'), undefined),
  outcome: outcomeOf,
  concurrent_siblings: mostly(false, true),
})

const randomEvent = fc.record({
  verb: mostly('done', 'test', 'prepare'),
  ci: mostly(false, true),
  dryRun: mostly(false, true),
  invocation: fc.integer({ min: 0, max: 30 }),
  digest: mostly<string | undefined>(keyed('aa'), keyed('ab'), undefined),
  stateComplete: mostly(true, false),
  stateIncomplete: mostly(false, true),
  executionComplete: mostly(true, false),
  capture: mostly('after-fix-build', 'before-test-group'),
  mode: mostly('full-gate', 'standalone-test'),
  writer: mostly('1.2.0', '1.3.0'),
  config: mostly<string | undefined>(keyed('cc'), keyed('cd'), undefined),
  setup: mostly<string | undefined>(keyed('55'), keyed('56'), undefined),
  version: mostly(1, 2),
  stateVersion: mostly(1, 2),
  withEvidence: mostly(true, false),
  jobs: fc.oneof(
    { weight: 3, arbitrary: randomJob.map(one => [one]) },
    { weight: 1, arbitrary: fc.array(randomJob, { maxLength: 3 }) },
  ),
})

/** Some events are delivered again, as they are or changed. */
const randomEvents = fc
  .array(fc.tuple(randomEvent, mostly('once', 'again', 'changed')), { minLength: 2, maxLength: 12 })
  .map(rows =>
    rows.flatMap(([random, delivery], at): readonly VerbEvent[] => {
      const one: VerbEvent = {
        ...event(),
        at: minute(at),
        invocation: delivery === 'once' ? `own-${at}` : `shared-${random.invocation % 3}-${at}`,
        verb: random.verb,
        driver: { json: false, tty: true, ci: random.ci, agent_signals: [] },
        ...(random.dryRun ? { dry_run: true } : {}),
        ...(random.withEvidence
          ? {
              validation: evidence({
                version: random.version,
                state: {
                  version: random.stateVersion,
                  digest: random.digest,
                  complete: random.stateComplete,
                  capture: random.capture,
                  ...(random.stateIncomplete ? { incomplete: [{ category: 'head', reason: 'unavailable' }] } : {}),
                },
                execution: {
                  version: random.version,
                  complete: random.executionComplete,
                  mode: random.mode,
                  writer: random.writer,
                  config_digest: random.config,
                  setup_digest: random.setup,
                },
                jobs: random.jobs as readonly ExecutionJob[],
              }),
            }
          : {}),
      }
      if (delivery === 'once') return [one]
      return [one, delivery === 'again' ? one : { ...one, duration_ms: 4711 }]
    }),
  )

interface Flaky {
  readonly job: string
  readonly state: string
  readonly failed: number
  readonly runs: number
}

/** Every pair is compared with every other one; nothing is shared with the program. */
const oracle = (events: readonly VerbEvent[]): readonly Flaky[] => {
  const honest = events.filter(
    (one, at) =>
      events.every(other => other.invocation !== one.invocation || isDeepStrictEqual(other, one)) &&
      events.findIndex(other => other.invocation === one.invocation) === at,
  )
  const units = honest
    .filter(
      ({ verb, driver, dry_run }) => (verb === 'done' || verb === 'test') && driver?.ci === false && dry_run !== true,
    )
    .flatMap(({ validation }) => {
      if (validation === undefined) return []
      const { state, execution, version } = validation
      const { jobs } = execution
      const usable =
        state.complete &&
        state.digest !== undefined &&
        !state.incomplete?.length &&
        execution.complete &&
        !execution.incomplete?.length &&
        execution.config_digest !== undefined &&
        execution.setup_digest !== undefined &&
        version === state.version &&
        version === execution.version &&
        jobs.every(({ definition_digest }) => definition_digest !== undefined) &&
        new Set(jobs.map(({ id }) => id)).size === jobs.length
      if (!usable) return []
      return jobs
        .filter(({ stage, kind }) => stage === 'test' && kind !== 'standard')
        .map(one => ({
          outcome: one.outcome,
          job: one.id,
          state: state.digest ?? '',
          conditions: {
            versions: [version, state.version, execution.version],
            state: state.digest,
            own: { ...one, outcome: undefined },
            controlled: [
              state.capture,
              execution.mode,
              execution.writer,
              execution.config_digest,
              execution.setup_digest,
            ],
            siblings: new Set(
              jobs.filter(other => other !== one).map(other => JSON.stringify({ ...other, outcome: undefined })),
            ),
          },
        }))
    })
  const flaky: Flaky[] = []
  const done = new Set<(typeof units)[number]>()
  for (const unit of units) {
    if (done.has(unit)) continue
    const same = units.filter(other => isDeepStrictEqual(other.conditions, unit.conditions))
    for (const one of same) done.add(one)
    const failed = same.filter(({ outcome }) => outcome === 'failed').length
    if (failed > 0 && same.some(({ outcome }) => outcome === 'passed')) {
      flaky.push({ job: unit.job, state: unit.state, failed, runs: same.length })
    }
  }
  return flaky
}

const flakyWords = (rows: readonly Flaky[]): readonly string[] =>
  rows.map(({ job: id, state, failed, runs }) => `${id} ${state.slice(0, 16)} ${failed}/${runs}`).sort()

describe('same-tree-flake over random events', () => {
  it('finds what the rule written out the slow way finds, and the same in any order', async () => {
    let fired = 0
    const property = fc.asyncProperty(randomEvents, fc.infiniteStream(fc.nat()), async (events, chance) => {
      const report = await reportOf(FLAKE, events, { checked: false })
      const found = report.findings.map(({ about, basis }): Flaky => {
        const state = basis.matched.find(({ condition }) => condition === 'state')?.values[0] ?? ''
        return { job: about.replace(/^job /, ''), state, failed: basis.count, runs: basis.denominator }
      })
      const expected = oracle(JSON.parse(JSON.stringify(events)))
      assert.deepEqual(flakyWords(found), flakyWords(expected))
      assert.equal(report.status === 'fired', expected.length > 0)
      if (expected.length > 0) fired += 1
      const mixed: LogbookEvent[] = events
        .map(one => ({ one, by: chance.next().value ?? 0 }))
        .sort((left, right) => left.by - right.by)
        .map(({ one }) => one)
      assert.deepEqual(await reportOf(FLAKE, mixed, { checked: false }), report)
    })
    await fc.assert(property, { numRuns: 400 })
    assert.ok(fired > 40, `only ${fired} of 400 had something to find`)
  })
})
