import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { buryHolder } from '../../src/store/lock.ts'
import { type SlotRequest, takeSlot } from '../../src/store/slot.ts'
import { contextFor } from '../support/gate.ts'
import { type Scratch, scratch } from '../support/scratch.ts'

const request = (s: Scratch, run: string, more: Partial<SlotRequest> = {}): SlotRequest => ({
  directories: { gitDir: s.path('git'), commonDir: s.path('git') },
  count: 1,
  worktree: `/${run}`,
  run,
  enclosing: [],
  verb: 'test',
  signal: AbortSignal.timeout(10_000),
  onWait: () => {},
  pollMs: 20,
  silenceMs: 200,
  ...more,
})

const slotFile = (s: Scratch, more: object): string =>
  s.write(
    'git/discern/test-slots/0',
    `${JSON.stringify({ pid: 1, host: 'elsewhere', started: '', verb: 'done', worktree: '/w', run: 'old', ...more })}\n`,
  )

const take = (s: Scratch, run: string, more: Partial<SlotRequest> = {}) =>
  takeSlot(contextFor(s.dir, s.env), request(s, run, more))

test('case 84: a holder on another host counts only as long as it shows that it is alive', async t => {
  const s = scratch(t)
  slotFile(s, {})
  const told: string[] = []
  const slot = await take(s, 'new', { onWait: worktree => told.push(worktree) })
  assert.ok(slot && slot.waitedMs >= 150, `${slot?.waitedMs} ms`)
  assert.deepEqual(told, ['/w'])
  assert.equal(JSON.parse(s.read('git/discern/test-slots/0')).run, 'new')
  await slot.release()
  assert.throws(() => s.read('git/discern/test-slots/0'), /ENOENT/)
})

test('a slot file that names nobody is not waited for longer than a silent holder', async t => {
  const s = scratch(t)
  s.write('git/discern/test-slots/0', 'torn')
  const slot = await take(s, 'new')
  assert.ok(slot)
  await slot.release()
})

test('whoever lost its slot while it slept does not take the next holder’s away', async t => {
  const s = scratch(t)
  const first = await take(s, 'first')
  slotFile(s, { host: hostname(), pid: process.pid, run: 'second' })
  await first?.release()
  assert.equal(JSON.parse(s.read('git/discern/test-slots/0')).run, 'second')
})

test('many who want one slot each hold it alone', async t => {
  const s = scratch(t)
  slotFile(s, { host: hostname(), pid: 2 ** 22 + 1 })
  let inside = 0
  let most = 0
  await Promise.all(
    Array.from({ length: 8 }, async (_, at) => {
      const slot = await take(s, `run${at}`, { silenceMs: 60_000, signal: AbortSignal.timeout(20_000) })
      assert.ok(slot)
      inside += 1
      most = Math.max(most, inside)
      await new Promise(r => setTimeout(r, 5))
      inside -= 1
      await slot.release()
    }),
  )
  assert.equal(most, 1)
})

test('of two who find the same dead holder, the later one leaves the file of the earlier in place', async t => {
  const s = scratch(t)
  const context = contextFor(s.dir, s.env)
  const dead = { pid: 2 ** 22 + 1, host: hostname(), started: '', verb: 'done' }
  const newer = `${JSON.stringify({ ...dead, pid: process.pid })}\n`
  const path = s.write('lock', newer)
  await buryHolder(path, dead, context)
  assert.equal(s.read('lock'), newer)
  s.write('lock', `${JSON.stringify(dead)}\n`)
  await buryHolder(path, dead, context)
  assert.deepEqual(readdirSync(s.dir).sort(), ['bin', 'home'])
})
