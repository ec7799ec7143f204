/**
 * Hooks defined in git's configuration (case 8). Git knows them from 2.54 on. `DISCERN_TEST_GIT` may name such a git: then these
 * cases run with it and see git run the hooks. With an older git a shim only answers the question for the version, so what
 * is written is tested and what git makes of it is not; the commands are then run by hand, the way git would run them.
 */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { hookProblems } from '../../src/git/hooks.ts'
import { type Scratch, scratch } from '../support/scratch.ts'
import {
  actions,
  counting,
  hook,
  inspect,
  install,
  knowsConfigHooks,
  olderGit,
  picture,
  starts,
  states,
  uninstall,
} from './hooks-driver.ts'

const ALL = ['post-merge', 'post-rewrite', 'reference-transaction']
const each = (value: string): Record<string, string> => Object.fromEntries(ALL.map(event => [event, value]))
const named = process.env['DISCERN_TEST_GIT']
const TRACKING = 'refs/discern/remotes/origin/notes'

/** A repository whose git knows configured hooks, or says so. */
const begin = (t: Parameters<typeof scratch>[0]): Scratch => {
  const s = scratch(t)
  if (named !== undefined) s.env['PATH'] = `${dirname(named)}:${s.env['PATH']}`
  else {
    const git = s.sh('.', 'command -v git').out.trim()
    s.write('bin/git', `#!/bin/sh\n[ "$1" = version ] && exec echo 'git version 2.54.0'\nexec '${git}' "$@"\n`, 0o755)
  }
  knowsConfigHooks.add(s)
  s.init('r')
  return s
}

/** What git 2.54 does for one event: the commands of every hook that names it, through the shell, and then the hook file. */
const fire = (s: Scratch, event: string, argument: string, input = ''): { exit: number; out: string; err: string } => {
  s.write('input', input)
  if (named !== undefined) return s.exec('r', 'git', ['hook', 'run', '--to-stdin=../input', event, '--', argument])
  const names = s.git('r', 'config', '--get-regexp', '^hook\\..*\\.event$').split('\n')
  const commands = names
    .filter(line => line.endsWith(` ${event}`))
    .map(line => s.git('r', 'config', line.replace(/\.event .*$/, '.command')))
  const run = commands.map(command => `sh -c '${command.replaceAll("'", "'\\''")} "$@"' hook ${argument} <../input`)
  return s.sh(
    'r',
    ['set -e', ...run, `[ ! -x .git/hooks/${event} ] || .git/hooks/${event} ${argument} <../input`].join('\n'),
  )
}

test('case 8: where git knows configured hooks, nothing is written into the hooks directory', async t => {
  const s = begin(t)
  hook(s, 'r/.git/hooks/post-merge', `echo mine >>'${s.path('ran')}'`)
  const before = picture(s.path('r/.git/hooks'))
  const outcome = await install(s, 'r', counting(s))
  assert.equal(outcome.mechanism, 'config')
  assert.deepEqual(actions(outcome), each('installed'))
  assert.deepEqual(picture(s.path('r/.git/hooks')), before)
  const seen = await inspect(s, 'r', {}, counting(s))
  assert.equal(seen.mechanism, 'config')
  assert.deepEqual(states(seen), each('installed'))
  assert.deepEqual(actions(await install(s, 'r', counting(s))), each('unchanged'))
  assert.equal(s.git('r', 'config', '--get-all', 'hook.discern-post-merge.event'), 'post-merge')

  s.write('r/.git/discern/notes-pending', '')
  const silent = { exit: 0, out: '', err: '' }
  assert.deepEqual(fire(s, 'post-merge', '1'), silent)
  assert.deepEqual(fire(s, 'post-rewrite', 'rebase', 'a b\n'), silent)
  for (const state of ['preparing', 'prepared', 'aborted']) {
    assert.deepEqual(fire(s, 'reference-transaction', state, `0 1 ${TRACKING}\n`), silent)
  }
  assert.deepEqual(fire(s, 'reference-transaction', 'committed', '0 1 refs/heads/x\n'), silent)
  assert.deepEqual(starts(s), ['hook post-merge 1', 'hook post-rewrite rebase'])
  assert.deepEqual(fire(s, 'reference-transaction', 'committed', `0 1 ${TRACKING}\n`), silent)
  assert.equal(starts(s).length, 3)
  assert.equal(s.read('ran'), 'mine\n')

  await uninstall(s, 'r')
  assert.deepEqual(picture(s.path('r/.git/hooks')), before)
  assert.equal(s.sh('r', 'git config --get-regexp "^hook[.]"; ls .git/discern/hooks').out, '')
})

test('case 8: git itself runs the configured hooks', {
  skip: named === undefined && 'needs DISCERN_TEST_GIT',
}, async t => {
  const s = begin(t)
  const odd = "odd '$(exit 3)' näme"
  s.sh('.', `mv r "${odd.replaceAll('$', '\\$')}"`)
  await install(s, odd, counting(s))
  s.git(odd, 'commit', '-q', '--amend', '-m', 'quiet')
  assert.deepEqual(starts(s), [])
  s.git(odd, 'config', 'some.key', 'value')
  s.git(odd, 'commit', '-q', '--amend', '-m', 'loud')
  s.git(odd, 'update-ref', TRACKING, 'HEAD')
  assert.deepEqual(starts(s), ['hook post-rewrite amend', 'hook reference-transaction committed'])
})

test('case 8: files that are installed stay the only mechanism, and configured hooks beside them are taken out', async t => {
  const s = begin(t)
  await install(s, 'r', { ...counting(s), hooksDir: s.path('r/.git/hooks') })
  assert.deepEqual(states(await inspect(s, 'r', {}, counting(s))), each('installed'))
  const again = await install(s, 'r', counting(s))
  assert.equal(again.mechanism, 'files')
  assert.deepEqual(actions(again), each('unchanged'))
  assert.equal(s.sh('r', 'git config --get-regexp "^hook[.]"').out, '')
  s.git('r', 'config', 'hook.discern-post-merge.command', 'an older command of ours')
  s.git('r', 'config', 'hook.discern-post-merge.event', 'post-merge')
  assert.deepEqual(actions(await install(s, 'r', counting(s))), {
    ...each('unchanged'),
    'post-merge': 'unchanged, removed',
  })
  assert.equal(s.sh('r', 'git config --get-regexp "^hook[.]"').out, '')
})

test('case 8: a hook that the user configured is counted as installed, and no second one is added', async t => {
  const s = begin(t)
  s.git('r', 'config', 'hook.discern.command', 'git discern hook post-merge')
  s.git('r', 'config', '--add', 'hook.discern.event', 'post-merge')
  const outcome = await install(s, 'r', counting(s))
  assert.deepEqual(actions(outcome), { ...each('installed'), 'post-merge': 'unchanged' })
  assert.equal(s.tryGit('r', 'config', 'hook.discern-post-merge.command').exit, 1)
  assert.deepEqual(states(await inspect(s, 'r', {}, counting(s))), each('installed'))
  await uninstall(s, 'r')
  assert.equal(s.git('r', 'config', 'hook.discern.command'), 'git discern hook post-merge')
  s.git('r', 'config', 'hook.discern.enabled', 'false')
  assert.deepEqual(actions(await install(s, 'r', counting(s))), each('installed'))
})

test('case 8: a repository that was moved, a file that is gone and a hook that is switched off never stop a ref update', async t => {
  const s = begin(t)
  await install(s, 'r', counting(s))
  rmSync(s.path('r/.git/discern/hooks'), { recursive: true })
  for (const state of ['prepared', 'committed']) {
    assert.deepEqual(fire(s, 'reference-transaction', state, `0 1 ${TRACKING}\n`), { exit: 0, out: '', err: '' })
  }
  const seen = await inspect(s, 'r', {}, counting(s))
  assert.deepEqual(states(seen), each('displaced'))
  assert.match(hookProblems(seen)[0]?.problem ?? '', /does not lead to this repository any more/)
  assert.deepEqual(actions(await install(s, 'r', counting(s))), each('updated'))
  s.sh('.', 'mv r moved')
  assert.deepEqual(states(await inspect(s, 'moved', {}, counting(s))), each('displaced'))
  await install(s, 'moved', counting(s))
  assert.deepEqual(states(await inspect(s, 'moved', {}, counting(s))), each('installed'))
  assert.equal(s.git('moved', 'config', '--get-all', 'hook.discern-post-merge.command').split('\n').length, 1)
  s.git('moved', 'config', 'hook.discern-post-merge.enabled', 'false')
  assert.equal(states(await inspect(s, 'moved', {}, counting(s)))['post-merge'], 'edited')
  assert.equal(actions(await install(s, 'moved', counting(s)))['post-merge'], 'left')
  assert.equal(s.git('moved', 'config', 'hook.discern-post-merge.enabled'), 'false')
})

test('case 8: an older git beside the newer one runs no configured hook, and an installation with it writes files', async t => {
  const s = begin(t)
  await install(s, 'r', counting(s))
  const env = { PATH: `${olderGit(s)}:${s.env['PATH']}` }
  const seen = await inspect(s, 'r', env, counting(s))
  assert.equal(seen.mechanism, 'none')
  assert.match(hookProblems(seen)[0]?.problem ?? '', /not installed/)
  const outcome = await install(s, 'r', counting(s), env)
  assert.equal(outcome.mechanism, 'files')
  assert.deepEqual(actions(outcome), each('installed, removed, removed'))
  assert.deepEqual(actions(await install(s, 'r', counting(s))), each('unchanged'), 'the newer git keeps the files')
})

test('case 3: with configured hooks a foreign hooks directory is no obstacle and stays as it is', async t => {
  const s = begin(t)
  hook(s, 'home/gh/post-merge', 'echo GLOBAL')
  s.git('.', 'config', '--global', 'core.hooksPath', s.path('home/gh'))
  const before = picture(s.path('home/gh'))
  const outcome = await install(s, 'r', counting(s))
  assert.deepEqual([outcome.mechanism, outcome.obstacle], ['config', undefined])
  assert.deepEqual(hookProblems(await inspect(s, 'r', {}, counting(s))), [])
  assert.deepEqual(picture(s.path('home/gh')), before)
})

test('a person who edits the file that the configuration names keeps it', async t => {
  const s = begin(t)
  await install(s, 'r', counting(s))
  const file = 'r/.git/discern/hooks/post-merge'
  s.write(file, `${s.read(file)}# mine\n`)
  const edited = s.read(file)
  assert.equal(states(await inspect(s, 'r', {}, counting(s)))['post-merge'], 'edited')
  assert.equal(actions(await install(s, 'r', { ...counting(s), version: '2.0.0' }))['post-merge'], 'left')
  assert.deepEqual(actions(await uninstall(s, 'r'))['post-merge'], 'removed, left')
  assert.equal(s.read(file), edited)
})
