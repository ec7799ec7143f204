import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { describe, type TestContext, test } from 'node:test'
import type { ProgressEvent } from '../../src/context.ts'
import { Interrupted } from '../../src/errors.ts'
import { jobOutcome } from '../../src/gate/outcome.ts'
import { type GateInput, type GateRun, runGate } from '../../src/gate/run.ts'
import { openWorktree } from '../../src/git/repository.ts'
import { worktreeState } from '../../src/git/worktrees.ts'
import type { PlannedJob } from '../../src/policy/definition.ts'
import { violations } from '../../src/store/schema.ts'
import { contextFor, noProc, oddDuration, planned, running, until } from '../support/gate.ts'
import { type Scratch, scratch } from '../support/scratch.ts'

interface Ran extends GateRun {
  readonly s: Scratch
  readonly events: readonly ProgressEvent[]
  readonly outcomes: Readonly<Record<string, string>>
  /** What jobs wrote with `>>"$LOG"`. */
  readonly log: readonly string[]
}

interface Options extends Partial<Omit<GateInput, 'settings'>> {
  readonly settings?: Partial<GateInput['settings']>
  readonly signal?: AbortSignal
  readonly s?: Scratch
  readonly cwd?: string
  readonly onEvent?: (event: ProgressEvent) => void
}

const gate = async (t: TestContext, plan: readonly PlannedJob[], options: Options = {}): Promise<Ran> => {
  const { s = scratch(t), signal, settings, cwd, onEvent, ...rest } = options
  const top = s.path('r')
  if (!options.s) {
    s.init('r')
    s.write('r/gen/api.txt', 'api 1\n')
    s.commit('r', 'two')
  }
  const events: ProgressEvent[] = []
  const progress = (event: ProgressEvent): void => {
    events.push(event)
    onEvent?.(event)
  }
  const log = s.path('log')
  const context = contextFor(cwd ?? top, { ...s.env, LOG: log }, { ...(signal ? { signal } : {}), progress })
  const worktree = await openWorktree({ ...context, cwd: top })
  const run = await runGate({
    context,
    verb: 'done',
    worktree,
    plan,
    outputFolder: s.path('output'),
    env: context.env,
    inspect: async () => (await worktreeState(worktree)).tracked,
    digestOutputs: async () =>
      createHash('sha256')
        .update(readFileSync(`${top}/gen/api.txt`))
        .digest('hex'),
    limits: { graceMs: 200, drainMs: 100 },
    ...rest,
    settings: { failFast: true, concurrentTestRuns: 1, streamOutput: false, ...settings },
  })
  const result = {
    ok: true,
    verb: 'gate',
    steps: run.steps,
    diagnostics: run.diagnostics,
    advisories: run.advisories,
    waited_ms: run.waitedMs,
  }
  assert.deepEqual(violations('discern-results', result), [])
  assert.deepEqual(
    run.jobs.map(job => job.planned.id),
    plan.map(job => job.id),
    'one record for each planned job, in order',
  )
  for (const job of run.jobs) assert.equal(jobOutcome(job.planned, run.steps), job.outcome)
  assert.equal(run.passed, run.failedStage === null)
  return {
    ...run,
    s,
    events,
    outcomes: Object.fromEntries(run.jobs.map(job => [job.planned.id, job.outcome])),
    log: readLog(s),
  }
}

const readLog = (s: Scratch): readonly string[] => {
  try {
    return s.read('log').trim().split('\n')
  } catch {
    return []
  }
}

const say = (word: string): string => `echo ${word} >>"$LOG"`
/** Passes only when `count` of its like run at the same time. */
const meet = (word: string, count = 2): string =>
  `${say(`meet-${word}`)}; for i in $(seq 500); do [ "$(grep -c meet "$LOG")" = ${count} ] && exit 0; sleep 0.02; done; exit 1`

/** Says when it starts and ends, and takes long enough to overlap with others. */
const span = (word: string, seconds = 0.15): string => `${say(`+${word}`)}; sleep ${seconds}; ${say(`-${word}`)}`

// Most of the time is spent asleep in jobs, so the cases may share it.
describe('a gate run', { concurrency: 4 }, () => {
  test('stages run in order, check and test side by side after the boundary, scope gates last', async t => {
    const boundary: string[][] = []
    const s = scratch(t)
    s.init('r')
    const ran = await gate(
      t,
      [
        planned('docs', 'scope', say('docs')),
        planned('unit', 'test', meet('unit')),
        planned('lint', 'check', meet('lint')),
        planned('compile', 'build', say('compile')),
        planned('format', 'fix', say('format')),
      ],
      { s, boundary: async () => void boundary.push([...readLog(s)]) },
    )
    assert.deepEqual(boundary, [['format', 'compile']])
    assert.deepEqual(ran.log.slice(0, 2), ['format', 'compile'])
    assert.deepEqual(new Set(ran.log.slice(2, 4)), new Set(['meet-unit', 'meet-lint']))
    assert.deepEqual(ran.log.slice(4), ['docs'])
    assert.deepEqual([ran.passed, ran.failedStage, ran.driftPaths, ran.diagnostics], [true, null, [], []])
    const unit = ran.jobs[1]
    assert.ok(unit && unit.durationMs > 0 && unit.finishedAt - unit.startedAt === unit.durationMs)
  })

  test('fix jobs run one at a time', async t => {
    const ran = await gate(t, [
      planned('a', 'fix', span('a')),
      planned('b', 'fix', span('b')),
      planned('c', 'fix', span('c')),
    ])
    assert.deepEqual(ran.log, ['+a', '-a', '+b', '-b', '+c', '-c'])
  })

  test('no more jobs run side by side than the width allows', async t => {
    const plan = ['a', 'b', 'c', 'd', 'e'].map(id => planned(id, 'check', span(id, 0.1)))
    const ran = await gate(t, plan, { parallel: 2 })
    let now = 0
    let most = 0
    for (const word of ran.log) {
      now += word.startsWith('+') ? 1 : -1
      most = Math.max(most, now)
    }
    assert.ok(most <= 2, `${most} at a time`)
    assert.equal(ran.log.length, 10)
  })

  test('a job starts after the jobs it needs, and not at all when one of them did not pass', async t => {
    const ran = await gate(t, [
      planned('link', 'build', say('link'), { needs: ['compile', 'elsewhere'] }),
      planned('compile', 'build', span('compile')),
    ])
    assert.deepEqual(ran.log, ['+compile', '-compile', 'link'])
    const broken = await gate(
      t,
      [
        planned('link', 'build', say('link'), { needs: ['compile'] }),
        planned('sign', 'build', say('sign'), { needs: ['link'] }),
        planned('compile', 'build', 'exit 1'),
        planned('other', 'build', say('other')),
      ],
      { settings: { failFast: false } },
    )
    assert.deepEqual(broken.outcomes, { link: 'skipped', sign: 'skipped', compile: 'failed', other: 'passed' })
    assert.equal(broken.jobs[1]?.reason, 'needs link, which did not pass')
    assert.deepEqual([broken.failedStage, broken.log], ['build', ['other']])
  })

  test('jobs that need each other are skipped, and the gate does not pass', async t => {
    const ran = await gate(t, [
      planned('a', 'check', say('a'), { needs: ['b'] }),
      planned('b', 'check', say('b'), { needs: ['a'] }),
      planned('c', 'check', say('c')),
    ])
    assert.deepEqual(ran.outcomes, { a: 'skipped', b: 'skipped', c: 'passed' })
    assert.deepEqual([ran.passed, ran.failedStage], [false, 'check'])
    const backwards = await gate(t, [
      planned('a', 'build', say('a'), { needs: ['b'] }),
      planned('b', 'check', say('b')),
    ])
    assert.deepEqual([backwards.outcomes, backwards.failedStage], [{ a: 'skipped', b: 'skipped' }, 'build'])
  })

  test('the commands of one job run one after another and stop at the first failure', async t => {
    const ran = await gate(t, [planned('unit', 'test', [say('one'), `${say('two')}; exit 4`, say('three')])])
    assert.deepEqual(ran.log, ['one', 'two'])
    assert.deepEqual([ran.jobs[0]?.exitCode, ran.jobs[0]?.reason, ran.failedStage], [4, 'exit 4', 'test'])
  })

  test('a failed job is told with its complaint, its last lines, its file and the command', async t => {
    const command = 'echo start; echo "a.ts:1: error: no"; exit 2'
    const s = scratch(t)
    s.init('r')
    const ran = await gate(t, [planned('lint', 'check', ['true', command])], { s, cwd: s.path('r/.git') })
    const path = s.path('output/01-lint.log')
    assert.deepEqual(ran.diagnostics, [
      {
        tool: 'lint',
        severity: 'error',
        message: 'a.ts:1: error: no',
        reproduce_cmd: `cd ${s.path('r')} && ${command}`,
        output: 'start\na.ts:1: error: no',
        output_path: path,
      },
    ])
    const kept = s.read(path)
    assert.equal(kept, 'start\na.ts:1: error: no\n')
    const [job] = ran.jobs
    assert.deepEqual(
      [job?.outputPath, job?.outputDigest, job?.outputBytes, job?.outputLines, job?.errorLikeLines],
      [path, createHash('sha256').update(kept).digest('hex'), kept.length, 2, 1],
    )
  })

  test('fail_fast ends the siblings of the first failure and starts no other', { skip: noProc }, async t => {
    const odd = oddDuration(t)
    const plan = [
      planned('lint', 'check', 'sleep 0.2; exit 1'),
      planned('slow', 'check', `setsid sleep ${odd} & sleep ${odd}`),
      planned('unit', 'test', say('unit')),
      planned('docs', 'scope', say('docs')),
    ]
    const from = performance.now()
    const ran = await gate(t, plan, { parallel: 2 })
    assert.ok(performance.now() - from < 8000)
    assert.deepEqual(ran.outcomes, { lint: 'failed', slow: 'cancelled', unit: 'skipped', docs: 'skipped' })
    assert.deepEqual([ran.failedStage, ran.log, running(odd)], ['check', [], []])
    assert.deepEqual(
      ran.jobs.map(job => job.reason),
      ['exit 1', 'stopped', 'stopped because lint did not pass', 'not started: the gate failed in check/test'],
    )
    assert.deepEqual(
      ran.diagnostics.map(finding => finding.tool),
      ['lint'],
    )
  })

  test('without fail_fast the siblings end by themselves, and both stages that failed are named', async t => {
    const ran = await gate(
      t,
      [
        planned('lint', 'check', 'exit 1'),
        planned('types', 'check', span('types')),
        planned('unit', 'test', 'sleep 0.1; exit 1'),
        planned('docs', 'scope', say('docs')),
      ],
      { settings: { failFast: false } },
    )
    assert.deepEqual(ran.outcomes, { lint: 'failed', types: 'passed', unit: 'failed', docs: 'skipped' })
    assert.deepEqual([ran.failedStage, ran.log], ['check/test', ['+types', '-types']])
  })

  test('a failed scope gate fails the gate in scope_gates', async t => {
    const ran = await gate(t, [planned('unit', 'test', 'true'), planned('docs', 'scope', 'exit 1')])
    assert.deepEqual([ran.failedStage, ran.outcomes], ['scope_gates', { unit: 'passed', docs: 'failed' }])
  })

  test('a job past its limit fails and says so; its commands share the limit', async t => {
    const ran = await gate(t, [planned('unit', 'test', ['sleep 0.6', 'sleep 0.6', 'sleep 0.6'], { timeoutS: 1 })])
    const [job] = ran.jobs
    assert.deepEqual([job?.outcome, job?.reason, ran.failedStage], ['failed', 'timed out after 1 s', 'test'])
    assert.ok(job && job.durationMs >= 1000)
    assert.equal(ran.diagnostics[0]?.message, 'timed out after 1 s')
    assert.equal(ran.diagnostics[0]?.reproduce_cmd, 'sleep 0.6')
    assert.equal((await gate(t, [planned('unit', 'test', 'sleep 0.1', { timeoutS: 0 })])).passed, true)
  })

  test('a job without commands passes at once, without output and without asking git', async t => {
    const ran = await gate(t, [planned('discern-preflight', 'check', [])], {
      inspect: async () => assert.fail('nothing ran that could have changed a file'),
    })
    assert.deepEqual([ran.passed, ran.outcomes], [true, { 'discern-preflight': 'passed' }])
    assert.equal(ran.jobs[0]?.outputPath, undefined)
  })

  test('a tracked file that a fix job changed stops the gate before anything is built', async t => {
    const ran = await gate(t, [
      planned('format', 'fix', 'echo formatted >f'),
      planned('compile', 'build', say('compile')),
      planned('unit', 'test', say('unit')),
    ])
    assert.deepEqual([ran.passed, ran.failedStage, ran.driftPaths, ran.log], [false, 'tree_drift', ['f'], []])
    assert.deepEqual(ran.outcomes, { format: 'passed', compile: 'skipped', unit: 'skipped' })
    assert.equal(ran.diagnostics[0]?.message, 'tracked files changed in stage fix: f')
    assert.equal(ran.diagnostics[0]?.reproduce_cmd, 'git status')
    assert.equal(ran.steps.at(-1)?.kind, 'checkout-clean-check')
  })

  test('every stage is looked after: a test that edits a tracked file is found, an untracked file is not drift', async t => {
    const ran = await gate(t, [
      planned('unit', 'test', 'echo x >new; echo x >>f'),
      planned('docs', 'scope', say('docs')),
    ])
    assert.deepEqual([ran.failedStage, ran.driftPaths, ran.outcomes['docs']], ['tree_drift', ['f'], 'skipped'])
    const last = await gate(t, [planned('docs', 'scope', 'rm f')])
    assert.deepEqual([last.failedStage, last.driftPaths], ['tree_drift', ['f']])
    const untracked = await gate(t, [planned('unit', 'test', 'echo x >new')])
    assert.equal(untracked.passed, true)
  })

  test('on a tree that was dirty before, and where jobs may edit files, drift is not looked for', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/f', 'edited by a person\n')
    assert.equal((await gate(t, [planned('unit', 'test', 'echo x >>f')], { s })).passed, true)
    const ran = await gate(t, [planned('format', 'fix', 'echo x >f'), planned('lint', 'check', say('lint'))], {
      allowEdits: true,
    })
    assert.deepEqual([ran.passed, ran.log], [true, ['lint']])
  })

  test('a generator whose committed outputs are stale fails as generated_drift, naming group and paths', async t => {
    const api = (run: string): PlannedJob => planned('api', 'build', run, { outputs: ['gen/**'] })
    const fresh = await gate(t, [api('echo "api 1" >gen/api.txt'), planned('unit', 'test', say('unit'))])
    assert.deepEqual([fresh.passed, fresh.log], [true, ['unit']])
    const stale = await gate(t, [api('echo "api 2" >gen/api.txt; echo y >f'), planned('unit', 'test', say('unit'))])
    assert.deepEqual([stale.failedStage, stale.driftPaths, stale.log], ['generated_drift', ['gen/api.txt'], []])
    assert.deepEqual(stale.diagnostics[0]?.message, 'changed its committed outputs: gen/api.txt')
    assert.equal(stale.diagnostics[0]?.tool, 'api')
    assert.equal((await gate(t, [api('echo "api 2" >gen/api.txt')], { allowEdits: true })).passed, true)
  })

  test('output is streamed as it comes only when the settings say so', async t => {
    const plan = [planned('unit', 'test', 'echo out; echo err >&2')]
    const streamed = (ran: Ran): string =>
      ran.events.map(event => (event.kind === 'output' ? `${event.label}:${event.bytes}` : '')).join('')
    const quiet = await gate(t, plan)
    assert.equal(streamed(quiet), '')
    assert.deepEqual(
      quiet.events.map(event => event.kind),
      ['plan', 'start', 'end'],
    )
    const loud = await gate(t, plan, { settings: { streamOutput: true } })
    assert.equal(streamed(loud).replaceAll('unit:', ''), 'out\nerr\n')
  })

  test('output that cannot be kept changes no verdict and is told', async t => {
    const s = scratch(t)
    s.init('r')
    const ran = await gate(t, [planned('unit', 'test', 'echo fine')], { s, outputFolder: s.write('file', 'no folder') })
    assert.equal(ran.passed, true)
    assert.deepEqual(
      ran.advisories.map(advisory => advisory.kind),
      ['gate-output-incomplete'],
    )
    assert.match(ran.advisories[0]?.evidence ?? '', /the output of unit could not be kept/)
  })

  test('a daemon that a job leaves behind on purpose is named', { skip: noProc }, async t => {
    const odd = oddDuration(t)
    const ran = await gate(t, [
      planned(
        'unit',
        'test',
        `setsid sh -c 'exec >/dev/null 2>&1; echo up >>"$LOG"; exec sleep ${odd}' & until [ -e "$LOG" ]; do sleep 0.01; done`,
      ),
    ])
    assert.equal(ran.passed, true)
    const [pid] = running(odd)
    assert.deepEqual(
      ran.advisories.map(advisory => [advisory.kind, advisory.next_action]),
      [['gate-process-alive', `if it is not meant to go on: kill ${pid}`]],
    )
  })

  test('case 83: an interrupt ends every job politely first, and is thrown when nothing is alive', {
    skip: noProc,
  }, async t => {
    const odd = oddDuration(t)
    const s = scratch(t)
    s.init('r')
    const aborter = new AbortController()
    const running3 = gate(
      t,
      [
        planned('a', 'check', `trap '${say('polite')}; exit 0' TERM; ${say('up')}; while :; do sleep 0.02; done`),
        planned('b', 'check', `${say('up')}; setsid sleep ${odd} & sleep ${odd}`),
        planned('unit', 'test', say('unit')),
      ],
      { s, signal: aborter.signal, parallel: 2, limits: { graceMs: 8000, drainMs: 100 } },
    )
    const ended = assert.rejects(
      running3,
      (error: unknown) => error instanceof Interrupted && error.signal === 'SIGTERM',
    )
    await until(() => readLog(s).length === 2, 'both jobs are up')
    aborter.abort(new Interrupted('SIGTERM'))
    await ended
    assert.deepEqual(running(odd), [])
    assert.deepEqual(readLog(s), ['up', 'up', 'polite'])
  })

  test('a gate that is interrupted before it starts runs nothing', async t => {
    const s = scratch(t)
    s.init('r')
    const signal = AbortSignal.abort(new Interrupted('SIGINT'))
    await assert.rejects(gate(t, [planned('unit', 'test', say('unit'))], { s, signal }), Interrupted)
    assert.deepEqual(readLog(s), [])
  })

  test('a defect in what the gate was given is thrown after every job is dead', { skip: noProc }, async t => {
    const odd = oddDuration(t)
    const plan = [planned('slow', 'build', `sleep ${odd}`), planned('api', 'build', 'true', { outputs: ['gen/**'] })]
    let asked = 0
    const digestOutputs = async (): Promise<string> => {
      asked += 1
      if (asked === 2) throw new Error('cannot read')
      return 'x'
    }
    await assert.rejects(gate(t, plan, { digestOutputs }), /cannot read/)
    assert.deepEqual(running(odd), [])
  })

  const slots = (s: Scratch): readonly string[] => {
    try {
      return readdirSync(s.path('r/.git/discern/test-slots'))
    } catch {
      return []
    }
  }

  const unitPlan = (word: string): readonly PlannedJob[] => [planned('unit', 'test', span(word, 0.05))]

  test('tests of two worktrees run one after the other, the second says whom it waits for', async t => {
    const s = scratch(t)
    s.init('r')
    const both = 'grep -q lint "$LOG" && grep -q told "$LOG"'
    const long = `${say('+one')}; for i in $(seq 500); do ${both} && break; sleep 0.02; done; ${say('-one')}`
    const first = gate(t, [planned('unit', 'test', long)], { s })
    await until(() => readLog(s).includes('+one'), 'the first tests run')
    const second = await gate(t, [...unitPlan('two'), planned('lint', 'check', say('lint'))], {
      s,
      onEvent: event => event.kind === 'note' && appendFileSync(s.path('log'), 'told\n'),
    })
    await first
    const order = readLog(s)
    assert.deepEqual(order.slice(1, 3).sort(), ['lint', 'told'], 'checks do not wait')
    assert.deepEqual([order[0], ...order.slice(3)], ['+one', '-one', '+two', '-two'])
    assert.ok(second.waitedMs > 0)
    assert.equal((await first).waitedMs, 0)
    assert.deepEqual(
      second.events.filter(event => event.kind === 'note'),
      [{ kind: 'note', text: `waiting for the tests of ${s.path('r')}` }],
    )
    assert.deepEqual(slots(s), [])
  })

  test('with two slots, or without a limit, tests of two worktrees run side by side', async t => {
    for (const concurrentTestRuns of [2, 0]) {
      const s = scratch(t)
      s.init('r')
      const settings = { concurrentTestRuns }
      const run = (word: string): Promise<Ran> => gate(t, [planned('unit', 'test', meet(word))], { s, settings })
      const both = await Promise.all([run('one'), run('two')])
      assert.deepEqual(
        both.map(ran => [ran.passed, ran.waitedMs]),
        [
          [true, 0],
          [true, 0],
        ],
      )
      assert.deepEqual(slots(s), [])
    }
  })

  const holder = (more: Readonly<Record<string, unknown>>): string =>
    `${JSON.stringify({ pid: process.pid, host: contextFor('/', {}).host, started: '', verb: 'done', worktree: '/w', run: 'other', ...more })}\n`

  test('case 84: a slot of a process that is gone is not waited for', async t => {
    for (const dead of [{ pid: 2 ** 22 + 1 }, { started: 'another boot:1' }]) {
      const s = scratch(t)
      s.init('r')
      s.write('r/.git/discern/test-slots/0', holder(dead))
      const ran = await gate(t, unitPlan('one'), { s })
      assert.deepEqual([ran.passed, ran.waitedMs, slots(s)], [true, 0, []])
    }
  })

  test('tests inside a job do not wait for the run they are a part of', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/.git/discern/test-slots/0', holder({ run: 'outer' }))
    const ran = await gate(t, unitPlan('one'), { s, env: { ...s.env, LOG: s.path('log'), DISCERN_JOB: 'outer.3' } })
    assert.deepEqual([ran.passed, ran.waitedMs, slots(s)], [true, 0, ['0']])
  })

  test('waiting for tests ends with an interrupt and with a failed check', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/.git/discern/test-slots/0', holder({}))
    const failed = await gate(t, [...unitPlan('one'), planned('lint', 'check', 'sleep 0.1; exit 1')], { s })
    assert.deepEqual(failed.outcomes, { unit: 'skipped', lint: 'failed' })
    const aborter = new AbortController()
    setTimeout(() => aborter.abort(new Interrupted('SIGINT')), 150)
    await assert.rejects(gate(t, unitPlan('one'), { s, signal: aborter.signal }), Interrupted)
    assert.deepEqual([readLog(s), slots(s)], [[], ['0']])
  })

  test('tests run without a slot where the folder cannot be written', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/.git/discern/test-slots', 'a file')
    assert.equal((await gate(t, unitPlan('one'), { s })).passed, true)
  })
})
