import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, statSync, symlinkSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { openCapture } from '../../src/gate/capture.ts'
import { until } from '../support/gate.ts'
import { scratch } from '../support/scratch.ts'

const bytes = (text: string): Buffer => Buffer.from(text)

test('output at the cap is kept whole, one byte more leaves out the middle and says how much', () => {
  const exact = openCapture(8)
  for (const character of 'abcdefgh') exact.write(bytes(character))
  assert.deepEqual([exact.bytes().toString(), exact.omitted(), exact.total()], ['abcdefgh', 0, 8])
  const over = openCapture(8)
  over.write(bytes('abcdefghi'))
  assert.equal(over.bytes().toString(), 'abcd\n[1 bytes left out here]\nfghi')
  assert.deepEqual([over.omitted(), over.total()], [1, 9])
})

test('whatever the pieces, head and tail are those of the whole output, and the file holds the same', async t => {
  const s = scratch(t)
  let files = 0
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 40 }),
      fc.array(fc.uint8Array({ maxLength: 30 }), { maxLength: 12 }),
      async (limit, pieces) => {
        files += 1
        const path = s.path('out', `${files}.log`)
        const capture = openCapture(limit, path)
        for (const piece of pieces) capture.write(Buffer.from(piece))
        const whole = Buffer.concat(pieces)
        const half = Math.ceil(limit / 2)
        const expected =
          whole.length <= limit
            ? whole
            : Buffer.concat([
                whole.subarray(0, half),
                bytes(`\n[${whole.length - limit} bytes left out here]\n`),
                whole.subarray(whole.length - (limit - half)),
              ])
        assert.deepEqual(capture.bytes(), expected)
        const file = await capture.finish()
        assert.deepEqual(readFileSync(path), expected)
        assert.deepEqual(file, {
          path,
          digest: createHash('sha256').update(expected).digest('hex'),
          bytes: expected.length,
        })
      },
    ),
    { numRuns: 150 },
  )
})

test('the file grows as output comes, is readable by its owner alone, and replaces what an earlier run left', async t => {
  const s = scratch(t)
  const path = s.write('folder/01-lint.log', 'what an earlier and longer run left\n', 0o600)
  const capture = openCapture(1000, path)
  capture.write(bytes('first\n'))
  await until(() => s.read(path) === 'first\n', 'the first line is in the file')
  assert.equal(s.read(path), 'first\n')
  capture.write(bytes('second\n'))
  await capture.finish()
  assert.equal(s.read(path), 'first\nsecond\n')
  const fresh = s.path('new/deep/02.log')
  const silent = await openCapture(10, fresh).finish()
  assert.deepEqual([silent.path, statSync(fresh).mode & 0o777, statSync(fresh).size], [fresh, 0o600, 0])
})

test('a file that cannot be written, or is somebody else’s, is reported and costs no output', async t => {
  const s = scratch(t)
  s.write('file', 'not a folder')
  const victim = s.write('victim', 'keep me')
  symlinkSync(victim, s.path('link'))
  for (const [path, reason] of [
    ['/dev/full', /ENOSPC/],
    [s.path('file/01.log'), /ENOTDIR|EEXIST/],
    [s.path('link'), /ELOOP/],
  ] as const) {
    const capture = openCapture(100, path)
    capture.write(bytes('still '))
    await new Promise(r => setTimeout(r, 10))
    capture.write(bytes('here'))
    const file = await capture.finish()
    assert.match(file.problem ?? '', reason)
    assert.equal(file.path, undefined)
    assert.equal(capture.bytes().toString(), 'still here')
  }
  assert.equal(s.read('victim'), 'keep me')
})
