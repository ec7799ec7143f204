import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { formatDuration, type Look, type Progress, progressFor } from '../../src/cli/progress.ts'
import type { ProgressEvent } from '../../src/context.ts'
import { until } from '../support/gate.ts'
import { projectRoot, scratch } from '../support/scratch.ts'
import { openScreen } from '../support/screen.ts'

interface Shown extends Progress {
  readonly text: () => string
}

const show = (more: Partial<Look> = {}): Shown => {
  let text = ''
  const look = {
    terminal: false,
    colour: false,
    quiet: false,
    columns: () => 80,
    rows: () => 24,
    now: () => 0,
    ...more,
  }
  const progress = progressFor(look, piece => {
    text += piece
  })
  return { ...progress, text: () => text }
}

const start = (label: string, stage = 'check'): ProgressEvent => ({ kind: 'start', label, stage, command: 'x' })
const end = (
  label: string,
  durationMs: number,
  more: Partial<Extract<ProgressEvent, { kind: 'end' }>> = {},
): ProgressEvent => ({
  kind: 'end',
  label,
  stage: 'check',
  outcome: 'passed',
  durationMs,
  ...more,
})
const output = (label: string, text: string | Buffer): ProgressEvent => ({
  kind: 'output',
  label,
  bytes: Buffer.from(text),
})

test('without a terminal each job that ran gets one line when it ends, and notes are told', () => {
  const shown = show()
  shown.event({ kind: 'plan', labels: ['lint', 'scope docs'] })
  shown.event(start('lint'))
  assert.equal(shown.text(), '')
  shown.event(end('lint', 1234))
  shown.event({ kind: 'note', text: 'waiting for the tests of /w' })
  shown.event(start('scope docs', 'scope'))
  shown.event(end('scope docs', 65_000, { stage: 'scope', outcome: 'failed' }))
  shown.event(end('unit', 0, { outcome: 'skipped' }))
  shown.end()
  shown.end()
  assert.equal(
    shown.text(),
    'check  lint        passed  1.2s\nwaiting for the tests of /w\nscope  scope docs  failed  1m05s\n',
  )
})

test('colour comes only with permission, and then as a whole line', () => {
  const shown = show({ colour: true })
  shown.event(start('lint'))
  shown.event(end('lint', 100, { outcome: 'failed' }))
  assert.equal(shown.text(), '\u001b[31mcheck  lint  failed  0.1s\u001b[0m\n')
})

test('quiet shows nothing', async () => {
  const shown = show({ quiet: true, terminal: true })
  shown.event({ kind: 'plan', labels: ['lint'] })
  shown.event(start('lint'))
  shown.event(output('lint', 'x\n'))
  shown.event({ kind: 'note', text: 'x' })
  await pause(150)
  shown.event(end('lint', 100))
  shown.end()
  assert.equal(shown.text(), '')
})

test('streamed output comes line by line with its job, and nothing in it can reach the terminal', () => {
  const shown = show()
  shown.event(start('a'))
  shown.event(start('b'))
  shown.event(output('a', 'one\ntw'))
  shown.event(output('b', 'other\r\n'))
  shown.event(output('a', Buffer.from([0x6f, 0x20, 0xe2, 0x82])))
  shown.event(output('a', Buffer.from([0xac, 0x0a])))
  shown.event(output('b', '\u001b[31mred\u001b[0m\u0007\u202e 10%\r100%\nrest'))
  assert.equal(shown.text(), 'a | one\nb | other\na | two €\nb | 100%\n')
  shown.event(output('a', '\u001b[1;31mred\u001b[0m\n'))
  assert.ok(shown.text().endsWith('a | red\n'))
  shown.event(output('a', 'bell\u0007 over\u202eride\n'))
  assert.ok(shown.text().endsWith('a | bell\\x07 over\\u202eride\n'))
  shown.event(end('b', 100))
  assert.ok(shown.text().endsWith('b | rest\ncheck  b  passed  0.1s\n'))
  shown.event(output('a', 'x'.repeat(10_000)))
  assert.ok(shown.text().endsWith(`a | ${'x'.repeat(10_000)}\n`), 'an endless line is not held back for ever')
})

test('a job that runs long says so where nobody sees a clock', async t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 0
  const shown = show({ now: () => now })
  shown.event(start('lint'))
  for (; now < 130_000; now += 1000) t.mock.timers.tick(1000)
  assert.equal(
    shown.text(),
    'check  lint  running  30.0s\ncheck  lint  running  1m00s\ncheck  lint  running  2m00s\n'.replaceAll(
      '  lint',
      '  lint',
    ),
  )
  shown.end()
  t.mock.timers.tick(1_000_000)
  assert.equal(shown.text().split('\n').length, 4)
})

test('durations are read at a glance', () => {
  assert.deepEqual([0, 49, 1250, 59_940, 59_950, 60_000, 3_599_000, 3_600_000, 7_384_000].map(formatDuration), [
    '0.0s',
    '0.0s',
    '1.3s',
    '59.9s',
    '1m00s',
    '1m00s',
    '59m59s',
    '1h00m',
    '2h03m',
  ])
})

test('on a terminal a block shows what runs, how long and what is left, and goes away', async () => {
  const screen = openScreen()
  let now = 0
  const look = { terminal: true, colour: false, quiet: false, columns: () => 30, rows: () => 10, now: () => now }
  const progress = progressFor(look, screen.write)
  const long = 'unit tests of everything'
  progress.event({ kind: 'plan', labels: ['lint', long, 'e2e', 'docs'] })
  progress.event(start('lint'))
  progress.event(start(long, 'test'))
  const seen = async (): Promise<readonly string[]> => {
    await pause(250)
    return screen.lines()
  }
  // The first drawing also loads what draws.
  await until(() => screen.lines().length > 0, 'the first drawing')
  now = 2500
  assert.deepEqual(await seen(), ['check    2.5s  lint', 'test     2.5s  unit tests of …', 'left   e2e, docs'])
  progress.event(output(long, 'a line of the tool that is wider than the terminal\n'))
  progress.event(end('lint', 2600))
  now = 62_500
  const stays = [
    'unit tests of everything | a line of the tool that is wider than the terminal',
    `check  ${'lint'.padEnd(24)}  passed  2.6s`,
  ]
  assert.deepEqual(await seen(), [...stays, 'test    1m03s  unit tests of …', 'left   e2e, docs'])
  progress.event(end(long, 2700, { stage: 'test', outcome: 'cancelled' }))
  progress.end()
  stays.push(`test   ${long}  cancelled  2.7s`)
  assert.deepEqual(screen.lines(), stays)
  await pause(250)
  assert.deepEqual(screen.lines(), stays, 'nothing is drawn after the end')
})

test('more running jobs than the terminal has rows are counted', async () => {
  const screen = openScreen()
  const look = { terminal: true, colour: false, quiet: false, columns: () => 80, rows: () => 5, now: () => 0 }
  const progress = progressFor(look, screen.write)
  for (const label of ['a', 'b', 'c', 'd', 'e']) progress.event(start(label))
  await until(() => screen.lines().length > 0, 'the first drawing')
  assert.deepEqual(screen.lines(), ['check    0.0s  a', 'check    0.0s  b', 'and 3 more'])
  progress.end()
  assert.deepEqual(screen.lines(), [])
})

const noScript = spawnSync('script', ['--version']).error ? 'there is no script(1) to open a terminal with' : false

/** Runs a program on a terminal of 40 columns and returns what it sent there. */
const onTerminal = async (t: TestContext, last: string): Promise<{ readonly sent: string; readonly took: number }> => {
  const s = scratch(t)
  const program = s.write(
    'program.mts',
    `import { progressFor } from ${JSON.stringify(`${projectRoot}src/cli/progress.ts`)}
const progress = progressFor(
  { terminal: process.stderr.isTTY === true, colour: false, quiet: false,
    columns: () => process.stderr.columns, rows: () => process.stderr.rows, now: () => performance.now() },
  text => {
    drawn += 1
    process.stderr.write(text)
  },
)
let drawn = 0
progress.event({ kind: 'plan', labels: ['lint', '${'long '.repeat(20)}'] })
progress.event({ kind: 'start', label: 'lint', stage: 'check', command: 'x' })
while (drawn < 3) await new Promise(r => setTimeout(r, 20))
${last}
`,
  )
  const from = performance.now()
  const command = `stty cols 40 rows 10; cd '${projectRoot}'; '${process.execPath}' --import tsx '${program}'`
  const done = await s.execAsync('.', 'timeout', ['30', 'script', '-qec', command, '/dev/null'], {
    env: { TERM: 'xterm' },
  })
  return { sent: done.out, took: performance.now() - from }
}

const lastCursor = (sent: string): string | undefined => [...sent.matchAll(/\u001b\[\?25[lh]/g)].at(-1)?.[0]

const endings = [
  [
    'after the end',
    `progress.event({ kind: 'end', label: 'lint', stage: 'check', outcome: 'passed', durationMs: 600 }); progress.end()`,
    /^check {2}lint +passed {2}0\.6s$/,
  ],
  ['when the process exits in the middle', 'process.exit(130)', undefined],
  ['when a defect ends the process', `throw new Error('defect')`, undefined],
  ['when nothing else keeps the process alive', '', undefined],
] as const

test('on a real terminal nothing is wider than it, and the cursor is back', {
  skip: noScript,
  concurrency: true,
}, async t => {
  await Promise.all(
    endings.map(([name, last, stays]) =>
      t.test(name, async t => {
        const { sent, took } = await onTerminal(t, last)
        assert.ok(sent.includes('\u001b[?25l'), 'the cursor was hidden while the block was drawn')
        assert.equal(lastCursor(sent), '\u001b[?25h')
        assert.match(sent, /check +\d+\.\ds {2}lint/)
        assert.ok(sent.includes(`left   ${'long '.repeat(20).slice(0, 32)}…`), 'cut to 40 columns')
        if (stays) {
          const screen = openScreen()
          screen.write(sent)
          assert.match(screen.lines().join('\n'), stays)
        }
        assert.ok(took < 25_000, 'nothing kept the process alive')
      }),
    ),
  )
})
