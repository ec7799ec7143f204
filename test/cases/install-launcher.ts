/** The launcher by itself: which Node it starts, and from where. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Finished, launcher, type Scratch, scratch } from '../support/scratch.ts'

/** A launcher beside a bundle that only says how it was started. */
const tell = (t: TestContext, name = 'lib'): Scratch => {
  const s = scratch(t)
  s.write(
    join(name, 'dist/git-discern.js'),
    'console.log(JSON.stringify([process.execPath, process.env.DISCERN_LAUNCHER, ...process.argv.slice(2)]))\n',
  )
  copyFileSync(launcher, s.path(name, 'git-discern'))
  return s
}

const told = (ran: Finished): readonly string[] => {
  assert.equal(ran.exit, 0, ran.err)
  return JSON.parse(ran.out)
}

test('the launcher is found through links, absolute and relative, from any directory', t => {
  const s = tell(t, 'odd $HOME & lib')
  mkdirSync(s.path('a'))
  mkdirSync(s.path('b'))
  symlinkSync(s.path('odd $HOME & lib/git-discern'), s.path('a/one'))
  symlinkSync('../a/one', s.path('b/git-discern'))
  const [node, self, ...args] = told(s.exec('home', '../b/git-discern', ['two words', '', '*']))
  assert.equal(node, process.execPath)
  assert.equal(self, s.path('odd $HOME & lib/git-discern'))
  assert.deepEqual(args, ['two words', '', '*'])
  assert.equal(told(s.exec('b', 'sh', ['git-discern']))[1], s.path('odd $HOME & lib/git-discern'))
})

test('case 9: with a bare PATH the recorded Node is started, through a link as well', t => {
  const s = tell(t)
  s.write('lib/node-path', `${process.execPath}\n`)
  symlinkSync(s.path('lib/git-discern'), s.path('git-discern'))
  for (const PATH of ['/nonexistent', '']) {
    assert.deepEqual(told(s.exec('.', s.path('git-discern'), ['x'], { env: { PATH } })), [
      process.execPath,
      s.path('lib/git-discern'),
      'x',
    ])
  }
})

test('the recorded Node comes before the one on the PATH, DISCERN_NODE before both, and one that is gone counts for nothing', t => {
  const s = tell(t)
  const fake = (name: string): string => s.write(name, `#!/bin/sh\necho '["${name}"]'\n`, 0o755)
  fake('path/node')
  const env = { PATH: `${s.path('path')}:/usr/bin:/bin` }
  assert.deepEqual(told(s.exec('.', 'lib/git-discern', [], { env })), ['path/node'])
  s.write('lib/node-path', `${fake('recorded node ')}\n`)
  assert.deepEqual(told(s.exec('.', 'lib/git-discern', [], { env })), ['recorded node '])
  s.exec('.', 'rm', [s.path('recorded node ')])
  assert.deepEqual(told(s.exec('.', 'lib/git-discern', [], { env })), ['path/node'])
  s.write('lib/node-path', `${fake('recorded')}\n`)
  assert.deepEqual(told(s.exec('.', 'lib/git-discern', [], { env: { ...env, DISCERN_NODE: fake('named') } })), [
    'named',
  ])
})

test('without any Node, or without a bundle, the launcher says what to do', t => {
  const s = tell(t)
  const none = s.exec('.', 'lib/git-discern', [], { env: { PATH: '/nonexistent' } })
  assert.equal(none.exit, 127)
  assert.match(none.err, /^git discern: cannot find node; expected Node\.js 20\.12 or newer/)
  const named = s.exec('.', 'lib/git-discern', [], { env: { DISCERN_NODE: '/gone/node' } })
  assert.equal(named.exit, 127)
  assert.match(named.err, /cannot find \/gone\/node/)
  s.exec('.', 'rm', [s.path('lib/dist/git-discern.js')])
  const unbuilt = s.exec('.', 'lib/git-discern', [])
  assert.equal(unbuilt.exit, 70)
  assert.match(unbuilt.err, /npm ci && npm run build/)
})
