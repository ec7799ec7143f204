import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import {
  diagnosticOf,
  failedStage,
  failureOf,
  type GateJob,
  isErrorLike,
  jobOutcome,
  outputLines,
  planSteps,
  reproduceCommand,
  stepOf,
} from '../../src/gate/outcome.ts'
import type { PlannedJob } from '../../src/policy/definition.ts'
import type { Step } from '../../src/result.ts'
import { planned } from '../support/gate.ts'

const job = (plan: PlannedJob, outcome: GateJob['outcome'], more: Partial<GateJob> = {}): GateJob => ({
  planned: plan,
  outcome,
  exitCode: outcome === 'passed' ? 0 : outcome === 'failed' ? 1 : null,
  startedAt: 1000,
  finishedAt: 2234,
  durationMs: 1234,
  outputPath: undefined,
  outputDigest: undefined,
  outputBytes: 0,
  omittedBytes: 0,
  outputLines: 0,
  errorLikeLines: 0,
  reason: outcome === 'passed' ? undefined : 'exit 1',
  drift: [],
  ...more,
})

const at = (stage: PlannedJob['stage'], outcome: GateJob['outcome'], drift: readonly string[] = []): GateJob =>
  job(planned(stage, stage, 'x'), outcome, { drift })

test('a step tells what ran, in which stage, how it ended and where its output is', () => {
  const lint = planned('lint', 'check', 'npm run lint')
  assert.deepEqual(stepOf(job(lint, 'failed', { outputPath: '/o/01-lint.log', outputLines: 12, errorLikeLines: 3 })), {
    kind: 'job',
    label: 'lint',
    disposition: 'run',
    group: 'check',
    outcome: 'failed',
    note: 'exit 1',
    duration_s: 1.234,
    output_path: '/o/01-lint.log',
    output_lines: 12,
    error_like_lines: 3,
  })
  assert.deepEqual(stepOf(job(planned('docs', 'scope', 'x'), 'skipped', { reason: 'not started' })), {
    kind: 'scope-gate',
    label: 'docs',
    disposition: 'skip',
    group: 'scope',
    outcome: 'skipped',
    note: 'not started',
  })
  assert.equal(stepOf(job(planned('api', 'build', 'x', { outputs: ['a'] }), 'cancelled')).outcome, 'cancelled')
})

test('the outcome of a job is read from its own step alone, and a missing step says nothing', () => {
  const lint = planned('lint', 'check', 'x')
  const step = (more: Partial<Step>): Step => ({
    kind: 'job',
    label: 'lint',
    group: 'check',
    disposition: 'run',
    ...more,
  })
  const rows: readonly (readonly [readonly Step[], string])[] = [
    [[], 'unavailable'],
    [[step({ outcome: 'ok' })], 'passed'],
    [[step({ outcome: 'failed' })], 'failed'],
    [[step({ outcome: 'skipped', disposition: 'skip' })], 'skipped'],
    [[step({ outcome: 'cancelled' })], 'cancelled'],
    [[step({})], 'unavailable'],
    [[step({ outcome: 'ok', label: 'lint2' })], 'unavailable'],
    [[step({ outcome: 'ok', group: 'test' })], 'unavailable'],
    [[step({ outcome: 'ok', kind: 'scope-gate' })], 'unavailable'],
    [[step({ outcome: 'ok' }), step({ outcome: 'failed' })], 'failed'],
    [[step({ outcome: 'ok' }), step({ outcome: 'cancelled' })], 'cancelled'],
    [[step({ outcome: 'ok' }), step({})], 'unavailable'],
    [[step({ outcome: 'ok' }), step({ outcome: 'skipped' })], 'skipped'],
  ]
  for (const [steps, outcome] of rows) assert.equal(jobOutcome(lint, steps), outcome)
})

test('the stage that failed is named as the result contract names it', () => {
  const rows: readonly (readonly [readonly GateJob[], readonly string[], string | null])[] = [
    [[at('fix', 'passed'), at('test', 'passed')], [], null],
    [[at('fix', 'failed'), at('build', 'skipped'), at('test', 'skipped')], [], 'fix'],
    [[at('build', 'failed'), at('test', 'skipped')], [], 'build'],
    [[at('build', 'failed', ['a']), at('test', 'skipped')], [], 'generated_drift'],
    [[at('build', 'failed', ['a']), at('build', 'failed')], [], 'build'],
    [[at('build', 'failed', ['a']), at('build', 'cancelled')], [], 'generated_drift'],
    [[at('check', 'failed'), at('test', 'cancelled')], [], 'check'],
    [[at('check', 'cancelled'), at('test', 'failed')], [], 'test'],
    [[at('check', 'failed'), at('test', 'failed')], [], 'check/test'],
    [[at('test', 'passed'), at('scope', 'failed')], [], 'scope_gates'],
    [[at('fix', 'passed'), at('test', 'skipped')], ['f'], 'tree_drift'],
    [[at('fix', 'passed'), at('check', 'skipped')], [], 'check'],
  ]
  for (const [jobs, drift, stage] of rows) assert.equal(failedStage(jobs, drift), stage)
})

test('a plan is shown with the commands it would run', () => {
  assert.deepEqual(
    planSteps([planned('unit', 'test', ['make', 'make test']), planned('discern-preflight', 'check', [])]),
    [
      { kind: 'job', label: 'unit', disposition: 'run', group: 'test', note: 'make && make test' },
      {
        kind: 'job',
        label: 'discern-preflight',
        disposition: 'run',
        group: 'check',
        note: 'nothing is configured to run',
      },
    ],
  )
})

test('how a command ended is said in a few words', () => {
  const ended = {
    exitCode: 0,
    signal: null,
    timedOut: false,
    cancelled: false,
    spawnFailed: undefined,
    outputLimit: false,
    durationMs: 1,
    output: Buffer.alloc(0),
    outputBytes: 0,
    survivors: [],
  }
  assert.equal(failureOf(ended, 5), undefined)
  assert.equal(failureOf({ ...ended, exitCode: 127 }, 5), 'exit 127')
  assert.equal(failureOf({ ...ended, exitCode: null, signal: 'SIGSEGV' }, 5), 'ended by SIGSEGV')
  assert.equal(failureOf({ ...ended, exitCode: 0, timedOut: true }, 5), 'timed out after 5 s')
  assert.equal(
    failureOf({ ...ended, exitCode: null, spawnFailed: 'ENOENT: sh' }, 5),
    'could not be started: ENOENT: sh',
  )
  assert.equal(failureOf({ ...ended, exitCode: 0, cancelled: true }, 5), 'stopped')
})

test('lines are shown without colour and as a terminal would leave them', () => {
  assert.deepEqual(outputLines(Buffer.from('\u001b[31mred\u001b[0m\r\n 10%\r 50%\r100%\n\nlast\n\n')), [
    'red',
    '100%',
    '',
    'last',
  ])
  assert.deepEqual(outputLines(Buffer.from('')), [])
  assert.deepEqual(outputLines(Buffer.from([0x61, 0xff, 0x62])), ['a\ufffdb'])
})

test('a line that complains is told from one that counts no errors', () => {
  for (const line of [
    'src/a.ts:3:1 error TS2304',
    'FAILED tests/x',
    'not ok 3 - x',
    '  ✖ broken',
    'panic: x',
    '2 failed, 0 errors',
  ])
    assert.ok(isErrorLike(line), line)
  for (const line of ['0 errors', 'Tests: 0 failed, 12 passed', 'no errors found', 'errors: 0', 'terrors', 'all good'])
    assert.ok(!isErrorLike(line), line)
})

test('a finding has the first complaint, the last lines, and the command for where the person stands', () => {
  const lint = planned('lint', 'check', 'npm run lint')
  const lines = ['> lint', 'a.ts: error one', ...Array.from({ length: 25 }, (_, at) => `line ${at}`), 'x'.repeat(600)]
  const found = diagnosticOf(job(lint, 'failed', { outputPath: '/o/01.log' }), lines, 'npm run lint', {
    topLevel: "/home/me/it's here",
    cwd: "/home/me/it's here/sub",
  })
  assert.deepEqual(found, {
    tool: 'lint',
    severity: 'error',
    message: 'a.ts: error one',
    reproduce_cmd: "cd '/home/me/it'\\''s here' && npm run lint",
    output: [...Array.from({ length: 19 }, (_, at) => `line ${at + 6}`), `${'x'.repeat(500)}…`].join('\n'),
    truncated: true,
    output_path: '/o/01.log',
  })
  const place = { topLevel: '/r', cwd: '/r' }
  assert.deepEqual(diagnosticOf(job(lint, 'failed'), ['all good'], 'make', place), {
    tool: 'lint',
    severity: 'error',
    message: 'exit 1',
    reproduce_cmd: 'make',
    output: 'all good',
  })
  const timedOut = job(lint, 'failed', { exitCode: null, reason: 'timed out after 5 s' })
  assert.equal(diagnosticOf(timedOut, ['an error'], 'make', place).message, 'timed out after 5 s')
  assert.equal(diagnosticOf(job(lint, 'failed', { omittedBytes: 1 }), ['a'], 'make', place).truncated, true)
})

test('the command to reproduce works in a real shell, whatever the folder is called', () => {
  const command = reproduceCommand('pwd', '/tmp', "/it's")
  assert.equal(execFileSync('sh', ['-c', command], { encoding: 'utf8' }), '/tmp\n')
})
