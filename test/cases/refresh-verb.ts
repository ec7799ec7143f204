/** `git discern refresh`: the convergence of setup, again, without touching `discern.toml`. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

const CONFIG = '[repository]\ntrunk = "main"\nproof_notes_mode = "fetch"\n\n[jobs]\ntest = "true"\n'
const MAPPING = (remote: string): string => `+refs/notes/discern*:refs/discern/remotes/${remote}/notes*`

const ready = async (s: Scratch): Promise<void> => {
  s.init('r')
  s.write('r/discern.toml', CONFIG)
  s.commit('r', 'set up')
  s.git('r', 'remote', 'add', 'origin', '../up')
  const run = await s.discern('r', ['setup'])
  assert.equal(run.exit, 0, run.err)
}

const changed = async (s: Scratch, ...args: string[]): Promise<unknown> => {
  const run = await s.discern('r', ['refresh', '--json', ...args])
  assert.equal(run.exit, 0, JSON.stringify(run.result))
  return run.result.data?.['proof_notes_fetch_changed']
}

test('refresh after setup changes no byte and says so', async t => {
  const s = scratch(t)
  await ready(s)
  const before = snapshot(s.dir)
  const run = await s.discern('r', ['refresh'])
  assert.equal(
    run.out,
    [
      '  hook post-merge             unchanged',
      '  hook post-rewrite           unchanged',
      '  hook reference-transaction  unchanged',
      '  fetch from origin           unchanged: brings Proof notes',
      '  Proof notes                 unchanged: refs/notes/discern',
      'nothing had to change',
      '',
    ].join('\n'),
  )
  assert.deepEqual(snapshot(s.dir), before)
})

test('case 35: refresh adds the mapping of a remote that came later, once, and lists the key', async t => {
  const s = scratch(t)
  await ready(s)
  s.init('b')
  s.git('b', 'notes', '--ref=discern', 'add', '-m', 'theirs')
  s.git('r', 'remote', 'add', 'up', '../b')
  s.git('r', 'fetch', '-q', 'up')
  const before = snapshot(s.dir)
  assert.deepEqual(await changed(s, '--dry-run'), ['remote.up.fetch'])
  assert.deepEqual(snapshot(s.dir), before)
  assert.deepEqual(await changed(s), ['remote.up.fetch'])
  assert.deepEqual(await changed(s), [])
  assert.deepEqual(s.git('r', 'config', '--get-all', 'remote.up.fetch').split('\n'), [
    '+refs/heads/*:refs/remotes/up/*',
    MAPPING('up'),
  ])
  s.git('r', '-c', 'core.hooksPath=/dev/null', 'fetch', '-q', 'up')
  const run = await s.discern('r', ['refresh', '--json'])
  assert.deepEqual(
    run.result.steps?.filter(({ label }) => label === 'Proof notes').map(({ note }) => note),
    ['1 note adopted'],
  )
  assert.equal(s.git('r', 'rev-parse', 'refs/notes/discern'), s.git('b', 'rev-parse', 'refs/notes/discern'))
})

test('refresh takes the mapping away when the mode became local, and leaves foreign lines', async t => {
  const s = scratch(t)
  await ready(s)
  s.git('r', 'config', '--add', 'remote.origin.fetch', '+refs/pull/*:refs/pull/*')
  s.write('r/discern.toml', CONFIG.replace('"fetch"', '"local"'))
  assert.deepEqual(await changed(s, '--dry-run'), ['remote.origin.fetch'])
  assert.deepEqual(await changed(s), ['remote.origin.fetch'])
  assert.deepEqual(s.git('r', 'config', '--get-all', 'remote.origin.fetch').split('\n'), [
    '+refs/heads/*:refs/remotes/origin/*',
    '+refs/pull/*:refs/pull/*',
  ])
  assert.equal(s.tryGit('r', 'config', '--get-all', 'discern.proofNotesFetchRemote').exit, 1)
  const before = s.read('r/.git/config')
  assert.deepEqual(await changed(s), [])
  assert.equal(s.read('r/.git/config'), before)
})

test('refresh lists a key whose duplicates it reduced to one', async t => {
  const s = scratch(t)
  await ready(s)
  s.git('r', 'config', '--add', 'remote.origin.fetch', MAPPING('origin'))
  assert.deepEqual(await changed(s), ['remote.origin.fetch'])
  assert.equal(s.git('r', 'config', '--get-all', 'remote.origin.fetch').split('\n').length, 2)
})

test('refresh does not touch discern.toml, and refuses where there is none at all', async t => {
  const s = scratch(t)
  s.init('r')
  const before = snapshot(s.dir)
  const run = await s.discern('r', ['refresh', '--json'])
  assert.equal(run.exit, 1)
  assert.equal(run.result.error, 'not_set_up')
  assert.deepEqual(run.result.hints, ['git discern setup'])
  assert.deepEqual(snapshot(s.dir), before)
})

test('refresh refuses an invalid discern.toml before it changes anything', async t => {
  const s = scratch(t)
  await ready(s)
  s.git('r', 'remote', 'add', 'up', '../b')
  s.write('r/discern.toml', '[repository\n')
  const before = snapshot(s.dir)
  const run = await s.discern('r', ['refresh', '--json'])
  assert.equal(run.result.error, 'invalid_config')
  assert.deepEqual(snapshot(s.dir), before)
})

test('case 2: refresh where hooks cannot be installed does the rest and exits with 3', async t => {
  const s = scratch(t)
  await ready(s)
  s.git('r', 'config', 'core.hooksPath', 'gone')
  s.git('r', 'remote', 'add', 'up', '../b')
  const run = await s.discern('r', ['refresh', '--json'])
  assert.equal(run.exit, 3)
  assert.equal(run.result.error, 'hooks_not_installed')
  assert.deepEqual(run.result.data?.['proof_notes_fetch_changed'], ['remote.up.fetch'])
  assert.ok(!existsSync(s.path('r/gone')))
})

test('case 7: ten turns of another manager and of refresh leave the bytes of one turn', async t => {
  const s = scratch(t)
  await ready(s)
  const other = '#!/bin/sh\nexit 0\n'
  const turn = async (): Promise<object> => {
    s.exec('r/.git/hooks', 'sh', ['-c', 'mv post-merge post-merge.old; rm -f post-merge.old'])
    s.write('r/.git/hooks/post-merge', other, 0o755)
    await s.discern('r', ['refresh'])
    return snapshot(s.path('r/.git/hooks'))
  }
  const once = await turn()
  for (let count = 0; count < 4; count += 1) assert.deepEqual(await turn(), once)
  assert.equal(s.read('r/.git/hooks/post-merge.pre-discern'), other)
})
