/** A process that writes events into a Logbook: `<git directory> <name> <events> <bytes of each> <file to wait for>`. Says each one it wrote. */
import { existsSync, writeSync } from 'node:fs'
import { appendEvent } from '../../src/logbook/book.ts'
import type { VerbEvent } from '../../src/logbook/event.ts'

const [gitDir = '', name = '', count = '0', bytes = '0', signal = ''] = process.argv.slice(2)

writeSync(1, 'ready\n')
const nap = new Int32Array(new SharedArrayBuffer(4))
while (!existsSync(signal)) Atomics.wait(nap, 0, 0, 1)

for (let at = 0; at < Number(count); at += 1) {
  const event: VerbEvent = {
    schema: 1,
    at: '2026-03-10T10:00:00.000Z',
    kind: 'verb',
    invocation: `${name}-${at}`,
    verb: 'done',
    surface: 'cli',
    branch: 'feat',
    head: null,
    clean: true,
    outcome: 'ok',
    duration_ms: 1,
    flags: ['x'.repeat(Number(bytes))],
    epoch: null,
  }
  const appended = await appendEvent({ gitDir, commonDir: gitDir }, event, new Date('2026-03-10T10:00:00Z'))
  writeSync(1, 'written' in appended ? `${event.invocation}\n` : `failed: ${appended.failed}\n`)
}
