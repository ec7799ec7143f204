/** The demo: it shows the whole job, believes no exit code, and leaves nothing behind. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sharedSource, snapshot } from '../support/installed.ts'
import { type Finished, type Scratch, scratch } from '../support/scratch.ts'

interface Place {
  readonly env: Record<string, string>
  /** What is left in the folders that the demo may use. */
  readonly left: () => readonly string[]
}

/** An empty HOME and an empty folder for temporary files. */
const place = (s: Scratch): Place => {
  for (const folder of ['empty-home', 'temporary']) mkdirSync(s.path(folder))
  return {
    env: { ...s.env, HOME: s.path('empty-home'), TMPDIR: s.path('temporary') },
    left: () => [...readdirSync(s.path('empty-home')), ...readdirSync(s.path('temporary'))],
  }
}

/** A git that claims to have done what the pattern names, and did nothing. */
const pretend = (s: Scratch, pattern: string): string => {
  const git = s.sh('.', 'command -v git').out.trim()
  s.write('shim/git', `#!/bin/sh\ncase "$*" in ${pattern}) exit 0 ;; esac\nexec '${git}' "$@"\n`, 0o755)
  return `${s.path('shim')}:${s.env['PATH']}`
}

const demo = (s: Scratch, env: Record<string, string>): Finished =>
  s.exec('.', 'sh', [join(sharedSource(), 'install.sh'), '--demo'], { env })

test('the demo shows every step of the job as a person types it, and leaves nothing behind', t => {
  const s = scratch(t)
  const { env, left } = place(s)
  const before = snapshot(sharedSource())
  const done = demo(s, env)
  assert.equal(done.exit, 0, `${done.out}${done.err}`)
  assert.equal(done.err, '')
  const lines = done.out.split('\n')
  const steps = [
    '$ git discern setup',
    '$ git discern done',
    '$ git discern accept --confirmed',
    '$ git notes --ref=discern list',
    '$ git push origin main refs/notes/discern',
    '$ git fetch',
    '$ git discern status',
  ]
  let at = -1
  for (const step of steps) {
    const found = lines.indexOf(step, at + 1)
    assert.ok(found > at, `${step}\n${done.out}`)
    at = found
  }
  assert.equal(lines[lines.indexOf('$ git discern status') - 1], '# checked: after the plain fetch B has the note')
  const listed = lines[lines.indexOf('$ git notes --ref=discern list') + 1] ?? ''
  assert.match(listed, /^[0-9a-f]{40} [0-9a-f]{40}$/)
  assert.ok(
    lines.slice(at).some(line => line.includes(listed.slice(41, 53))),
    'the status names the landed commit',
  )
  assert.deepEqual(left(), [])
  assert.deepEqual(snapshot(sharedSource()), before)
})

for (const [pattern, claim] of [
  ['"discern accept --confirmed"', 'the trunk is at the proven commit'],
  ['fetch', 'after the plain fetch B has the note'],
] as const) {
  test(`the demo fails when a step only claims to have happened: ${claim}`, t => {
    const s = scratch(t)
    const { env, left } = place(s)
    const failed = demo(s, { ...env, PATH: pretend(s, pattern) })
    assert.equal(failed.exit, 1, failed.out)
    assert.ok(failed.err.includes(`demo: FAILED: this is not so: ${claim}`), failed.err)
    assert.deepEqual(left(), [])
  })
}

test('the demo cleans up when it is interrupted', async t => {
  const s = scratch(t)
  const { env, left } = place(s)
  const child = spawn('sh', [join(sharedSource(), 'install.sh'), '--demo'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let out = ''
  const exit = await new Promise(resolve => {
    child.stdout.on('data', chunk => {
      if (out.includes('$ git clone')) return
      out += chunk
      if (out.includes('$ git clone')) child.kill('SIGTERM')
    })
    child.on('close', resolve)
  })
  assert.equal(exit, 143)
  assert.deepEqual(left(), [])
})

test('nothing is left behind when the reader goes away', t => {
  const s = scratch(t)
  const { env, left } = place(s)
  const script = join(sharedSource(), 'install.sh')
  const shown = s.sh('.', `sh '${script}' --demo | head -n 8`, env)
  assert.match(shown.out, /\$ git clone/)
  assert.deepEqual(left(), [])
  s.sh('.', `sh '${script}' --prefix '${s.path('prefix')}' | head -n 1`, env)
  assert.deepEqual(left(), [])
})
