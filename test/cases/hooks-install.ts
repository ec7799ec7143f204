/** Where hooks are installed, what happens to a hook that stands there, and how everything comes back. */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { test } from 'node:test'
import { hookProblems } from '../../src/git/hooks.ts'
import { scratch } from '../support/scratch.ts'
import { actions, counting, hook, inspect, install, picture, starts, states, uninstall } from './hooks-driver.ts'

const ALL = ['post-merge', 'post-rewrite', 'reference-transaction']
const each = (value: string): Record<string, string> => Object.fromEntries(ALL.map(event => [event, value]))

test('case 1: an installation from a linked worktree or a subdirectory lands where git looks, once for all worktrees', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'worktree', 'add', '-q', '../wt', '-b', 'wt')
  s.write('wt/sub/x', 'x')
  assert.deepEqual(actions(await install(s, 'wt/sub', counting(s))), each('installed'))
  assert.deepEqual(states(await inspect(s, 'r', {}, counting(s))), each('installed'))
  assert.deepEqual(actions(await install(s, 'r', counting(s))), each('unchanged'))
  // The stamp of the linked worktree was set by the installation; a changed configuration makes the next hook start Node.
  s.git('wt', 'commit', '-q', '--amend', '-m', 'quiet')
  assert.deepEqual(starts(s), [])
  s.git('wt', 'config', 'some.key', 'value')
  s.git('wt', 'commit', '-q', '--amend', '-m', 'loud')
  assert.deepEqual(starts(s), ['hook post-rewrite amend'])
})

test('case 2: a relative hooks path that is missing in a linked worktree is reported there, with the file that sets it', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'config', 'core.hooksPath', '.husky/_')
  mkdirSync(s.path('r/.husky/_'), { recursive: true })
  s.write('r/.git/info/exclude', '.husky\n')
  assert.deepEqual(actions(await install(s, 'r')), each('installed'))
  assert.deepEqual(Object.keys(picture(s.path('r/.husky/_'))), ALL)
  s.git('r', 'worktree', 'add', '-q', '../wt', '-b', 'wt')
  const seen = await inspect(s, 'wt')
  assert.equal(seen.directory.kind, 'missing')
  const [problem, ...more] = hookProblems(seen)
  assert.deepEqual(more, [])
  assert.match(problem?.problem ?? '', /^hooks are off in this worktree: core\.hooksPath \(\.husky\/_, set in /)
  assert.ok(problem?.problem.includes(s.path('r/.git/config')), problem?.problem)
  assert.match(problem?.next ?? '', /git config --local --unset-all core\.hooksPath/)
  const outcome = await install(s, 'wt')
  assert.deepEqual(outcome.actions, [])
  assert.match(outcome.obstacle?.reason ?? '', /leads to .*\/wt\/\.husky\/_, which is no directory/)
  assert.equal(s.git('wt', 'config', 'core.hooksPath'), '.husky/_')
})

test('case 3: a hooks directory outside the repository keeps every byte; naming it on purpose installs there', async t => {
  const s = scratch(t)
  hook(s, 'home/gh/post-merge', 'echo GLOBAL')
  s.git('.', 'config', '--global', 'core.hooksPath', s.path('home/gh'))
  s.init('r')
  s.init('other')
  const before = picture(s.path('home/gh'))
  const outcome = await install(s, 'r')
  assert.equal(outcome.mechanism, 'none')
  assert.match(outcome.obstacle?.reason ?? '', /home\/gh, which lies outside this repository/)
  const choices = outcome.obstacle?.choices.join('\n') ?? ''
  assert.match(choices, /--hooks-dir /)
  assert.match(choices, /2\.54/)
  assert.deepEqual(picture(s.path('home/gh')), before)
  assert.deepEqual(actions(await uninstall(s, 'r')), {})
  assert.deepEqual(picture(s.path('home/gh')), before)

  const wished = await install(s, 'r', { hooksDir: s.path('home/gh'), ...counting(s) })
  assert.deepEqual(actions(wished), { ...each('installed'), 'post-merge': 'chained' })
  assert.equal(wished.obstacle, undefined)
  assert.deepEqual(actions(await install(s, 'r', counting(s))), each('unchanged'), 'the wish is remembered')
  // In a repository that was never set up the shared hook is the old one and nothing more.
  s.git('other', 'branch', 'side')
  s.write('other/g', 'g')
  s.commit('other', 'two')
  s.git('other', 'checkout', '-q', 'side')
  const merged = s.tryGit('other', 'merge', '-q', 'main')
  assert.deepEqual([merged.exit, merged.out, merged.err], [0, '', 'GLOBAL\n'])
  assert.deepEqual(starts(s), [])
  const refused = await install(s, 'other', counting(s))
  assert.deepEqual(
    actions(refused),
    each('unchanged'),
    'hooks that already run are reported, and the directory is not adopted',
  )
  assert.deepEqual(actions(await uninstall(s, 'other')), {})
  await uninstall(s, 'r')
  assert.deepEqual(picture(s.path('home/gh')), before)
})

test('case 4: a hooks path that spells out the default directory counts as the default', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'config', 'core.hooksPath', s.path('r/.git/hooks'))
  assert.equal((await inspect(s, 'r')).directory.kind, 'default')
  assert.deepEqual(actions(await install(s, 'r')), each('installed'))
  assert.deepEqual(actions(await install(s, 'r')), each('unchanged'))
  rmSync(s.path('r/.git/hooks'), { recursive: true })
  assert.deepEqual(actions(await install(s, 'r')), each('installed'))
})

test('case 4: a dead hooks path is named with the one command that clears it, whichever file set it', async t => {
  const s = scratch(t)
  s.init('r')
  const dead = async (): Promise<string> => (await install(s, 'r')).obstacle?.choices.join('\n') ?? 'none'
  s.git('r', 'config', 'core.hooksPath', '/nowhere/at/all')
  assert.match(await dead(), /git config --local --unset-all core\.hooksPath/)
  s.git('r', 'config', '--unset-all', 'core.hooksPath')
  s.git('.', 'config', '--file', s.path('home/more config'), 'core.hooksPath', '/dev/null')
  s.git('.', 'config', '--global', 'include.path', s.path('home/more config'))
  const command = /git config --file .* --unset-all core\.hooksPath/.exec(await dead())?.[0] ?? ''
  assert.equal(s.sh('r', command).exit, 0, command)
  assert.deepEqual(actions(await install(s, 'r')), each('installed'))
  const seen = await inspect(s, 'r', {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'core.hooksPath',
    GIT_CONFIG_VALUE_0: '',
  })
  assert.equal(seen.directory.kind, 'missing', 'an empty path switches hooks off')
  assert.match(hookProblems(seen)[0]?.problem ?? '', /the command line or environment/)
})

test('a hooks directory that belongs to the project gets no file; its own hooks may call us', async t => {
  const s = scratch(t)
  s.init('r')
  hook(s, 'r/.githooks/pre-commit', ':')
  s.commit('r', 'hooks')
  s.git('r', 'config', 'core.hooksPath', '.githooks')
  const outcome = await install(s, 'r')
  assert.deepEqual(outcome.actions, [])
  const choices = outcome.obstacle?.choices.join('\n') ?? ''
  assert.match(choices, /post-merge: git discern hook post-merge "\$@"/)
  assert.match(choices, /post-rewrite: git discern hook post-rewrite "\$@"/)
  assert.doesNotMatch(choices, /reference-transaction/, 'a line there would start a program for every ref')
  assert.equal(s.git('r', 'status', '--porcelain'), '')
  hook(s, 'r/.githooks/post-merge', 'git discern hook post-merge "$@"')
  hook(s, 'r/.githooks/post-rewrite', 'git discern hook post-rewrite "$@"')
  assert.equal((await install(s, 'r')).obstacle, undefined)
  assert.deepEqual(hookProblems(await inspect(s, 'r')), [])
  assert.deepEqual(Object.keys(picture(s.path('r/.githooks'))), ['post-merge', 'post-rewrite', 'pre-commit'])
})

test('case 6: the standing hook runs first with its arguments, environment and status, and comes back to the byte', async t => {
  const s = scratch(t)
  s.init('r')
  hook(s, 'r/.git/hooks/post-merge', `echo mine "$@"\nenv | sort >'${s.path('got')}'\nexit 7`, 0o750)
  const merge = (): string => {
    s.git('r', 'checkout', '-q', '-B', 'side', 'main~0')
    s.git('r', 'commit', '-q', '--allow-empty', '-m', 'x')
    s.git('r', 'checkout', '-q', 'main')
    const done = s.tryGit('r', 'merge', '-q', 'side')
    assert.deepEqual([done.exit, done.out, done.err], [0, '', 'mine 0\n'])
    return s.read('got').replace(/^(_|PPID|SHLVL|OLDPWD|GITHEAD_.*)=.*\n/gm, '')
  }
  const environment = merge()
  const before = picture(s.path('r/.git/hooks'))
  assert.deepEqual(actions(await install(s, 'r')), { ...each('installed'), 'post-merge': 'chained' })
  const after = picture(s.path('r/.git/hooks'))
  assert.equal(after['post-merge.pre-discern'], before['post-merge'])
  assert.deepEqual(actions(await install(s, 'r')), each('unchanged'))
  assert.deepEqual(picture(s.path('r/.git/hooks')), after)
  assert.equal(merge(), environment)
  assert.equal(s.exec('r', '.git/hooks/post-merge', ['1']).exit, 7)
  assert.deepEqual(actions(await uninstall(s, 'r')), { ...each('removed'), 'post-merge': 'restored' })
  assert.deepEqual(picture(s.path('r/.git/hooks')), before)
})

test('case 6: an uninstall leaves no file behind and is silent where nothing was installed', async t => {
  const s = scratch(t)
  s.init('r')
  const before = s.sh('r', 'find .git -type f | sort').out
  await install(s, 'r')
  s.git('r', 'config', 'some.key', 'value')
  await uninstall(s, 'r')
  assert.equal(s.sh('r', 'find .git -type f | sort').out, before)
  assert.deepEqual(actions(await uninstall(s, 'r')), {})
})

test('case 6: a hook that was edited after it was installed is never written, removed or replaced', async t => {
  const s = scratch(t)
  s.init('r')
  hook(s, 'r/.git/hooks/post-merge', 'echo mine')
  await install(s, 'r')
  const path = s.path('r/.git/hooks/post-merge')
  s.write(path, `${s.read(path)}echo added\n`)
  const edited = picture(s.path('r/.git/hooks'))
  assert.equal(states(await inspect(s, 'r'))['post-merge'], 'edited')
  assert.equal(actions(await install(s, 'r', { version: '2.0.0-test' }))['post-merge'], 'left')
  assert.equal(picture(s.path('r/.git/hooks'))['post-merge'], edited['post-merge'])
  assert.equal(actions(await uninstall(s, 'r'))['post-merge'], 'left')
  assert.equal(picture(s.path('r/.git/hooks'))['post-merge'], edited['post-merge'])
  assert.equal(picture(s.path('r/.git/hooks'))['post-merge.pre-discern'], edited['post-merge.pre-discern'])
})

test('case 6: a hook that was switched off with chmod is reported and stays off', async t => {
  const s = scratch(t)
  s.init('r')
  await install(s, 'r')
  chmodSync(s.path('r/.git/hooks/post-merge'), 0o644)
  const seen = await inspect(s, 'r')
  assert.equal(states(seen)['post-merge'], 'edited')
  assert.match(hookProblems(seen)[0]?.problem ?? '', /post-merge is not executable/)
  await install(s, 'r')
  assert.match(picture(s.path('r/.git/hooks'))['post-merge'] ?? '', /^644 /)
})

test('case 6: a dry run says what an installation and an uninstall would do, and writes nothing', async t => {
  const s = scratch(t)
  s.init('r')
  hook(s, 'r/.git/hooks/post-merge', 'echo mine')
  const before = s.sh('r', 'find .git | sort').out
  const planned = actions(await install(s, 'r', { dryRun: true }))
  assert.deepEqual(planned, { ...each('installed'), 'post-merge': 'chained' })
  assert.equal(s.sh('r', 'find .git -not -name hook-stamp -not -name discern | sort').out, before)
  assert.deepEqual(actions(await install(s, 'r')), planned)
})

test('case 26: an inactive hook stays inactive, a symbolic link stays a link, a directory is left', async t => {
  const s = scratch(t)
  s.init('r')
  hook(s, 'r/.git/hooks/post-merge', 'echo hi', 0o644)
  hook(s, 'r/tracked-hook', 'echo tracked')
  symlinkSync('../../tracked-hook', s.path('r/.git/hooks/post-rewrite'))
  mkdirSync(s.path('r/.git/hooks/reference-transaction'))
  s.write('r/.git/hooks/reference-transaction/keep', 'me')
  const before = picture(s.path('r/.git/hooks'))
  const outcome = await install(s, 'r')
  assert.deepEqual(actions(outcome), {
    'post-merge': 'chained',
    'post-rewrite': 'chained',
    'reference-transaction': 'left',
  })
  assert.match(outcome.actions.find(({ action }) => action === 'left')?.detail ?? '', /a directory/)
  const after = picture(s.path('r/.git/hooks'))
  assert.equal(after['post-merge.pre-discern'], before['post-merge'])
  assert.equal(after['post-rewrite.pre-discern'], '-> ../../tracked-hook')
  assert.equal(s.read('r/tracked-hook'), '#!/bin/sh\necho tracked\n')
  // Git itself fails every ref update while a directory stands in this hook's place, so the hook is started by hand.
  assert.equal(s.exec('r', '.git/hooks/post-rewrite', ['amend']).out, 'tracked\n')
  assert.equal(s.exec('r', '.git/hooks/post-merge', ['0']).out, '')
  assert.match(
    hookProblems(await inspect(s, 'r'))[0]?.problem ?? '',
    /git can run no reference-transaction hook: .* is a directory/,
  )
  await uninstall(s, 'r')
  assert.deepEqual(picture(s.path('r/.git/hooks')), before)
  assert.equal(s.read('r/.git/hooks/reference-transaction/keep'), 'me')
})

test('case 26: a link to nowhere is kept as it is', async t => {
  const s = scratch(t)
  s.init('r')
  symlinkSync('gone/away', s.path('r/.git/hooks/post-merge'))
  await install(s, 'r')
  assert.equal(readlinkSync(s.path('r/.git/hooks/post-merge.pre-discern')), 'gone/away')
  assert.equal(s.exec('r', '.git/hooks/post-merge', ['0']).exit, 0)
  await uninstall(s, 'r')
  assert.equal(readlinkSync(s.path('r/.git/hooks/post-merge')), 'gone/away')
})

test('a link to a hook of ours elsewhere is not chained to itself', async t => {
  const s = scratch(t)
  s.init('r')
  s.init('one')
  await install(s, 'one')
  symlinkSync(s.path('one/.git/hooks/post-merge'), s.path('r/.git/hooks/post-merge'))
  assert.equal(actions(await install(s, 'r'))['post-merge'], 'left')
  assert.equal(readlinkSync(s.path('r/.git/hooks/post-merge')), s.path('one/.git/hooks/post-merge'))
})

test('case 88: hooks are ASCII with LF, whatever the installation path holds, and still find their way', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'config', 'core.autocrlf', 'true')
  const odd = `odd '$(exit 3)' & "näme"\\back\`slash`
  const node = s.write(`${odd}/node`, `#!/bin/sh\necho "$2 $3 $4" >>'${s.path('starts')}'\n`, 0o755)
  const launcher = s.write(`${odd}/git-discern`, `#!/bin/sh\nexec "$DISCERN_NODE" bundle "$@"\n`, 0o755)
  await install(s, 'r', { node, launcher })
  for (const event of ALL) {
    const bytes = readFileSync(s.path(`r/.git/hooks/${event}`))
    assert.ok(
      bytes.every(byte => byte === 10 || (byte >= 32 && byte < 127)),
      event,
    )
    assert.equal(bytes.subarray(0, 10).toString(), '#!/bin/sh\n')
  }
  s.git('r', 'config', 'some.key', 'value')
  assert.equal(s.exec('r', '.git/hooks/post-merge', ['0']).err, '')
  assert.deepEqual(starts(s), ['post-merge 0'])
  assert.deepEqual(actions(await install(s, 'r', { node, launcher })), each('unchanged'))
})

test('case 89: hooks of another version, place or Node are told apart and renewed, never stacked', async t => {
  const s = scratch(t)
  s.init('r')
  hook(s, 'r/.git/hooks/post-merge', 'echo mine')
  const { node } = counting(s)
  const a = s.write('a/git-discern', '#!/bin/sh\n', 0o755)
  const b = s.write('b/git-discern', '#!/bin/sh\n', 0o755)
  await install(s, 'r', { node, launcher: a, version: '1.0.0' })
  const why = async (request: object): Promise<string | undefined> =>
    hookProblems(await inspect(s, 'r', {}, request))[0]?.problem
  assert.equal(await why({ node, launcher: a, version: '1.0.0' }), undefined)
  assert.match((await why({ node, launcher: a, version: '2.0.0' })) ?? '', /made by git discern 1\.0\.0/)
  assert.match(
    (await why({ node, launcher: b, version: '1.0.0' })) ?? '',
    /made by the git discern at .*\/a\/git-discern/,
  )
  assert.equal(await why({ launcher: a, version: '1.0.0' }), undefined, 'another Node that still starts may stay')
  assert.deepEqual(actions(await install(s, 'r', { node, launcher: b, version: '2.0.0' })), each('updated'))
  rmSync(node)
  assert.match((await why({ launcher: b, version: '2.0.0' })) ?? '', /its Node is gone: .*\/counting\/node/)
  assert.deepEqual(actions(await install(s, 'r', { launcher: b, version: '2.0.0' })), each('updated'))
  assert.equal(await why({ launcher: b, version: '2.0.0' }), undefined)
  await uninstall(s, 'r')
  assert.deepEqual(Object.keys(picture(s.path('r/.git/hooks'))), ['post-merge'])
})

test('case 89: an installation whose record was lost is recognized by its own bytes', async t => {
  const s = scratch(t)
  s.init('r')
  hook(s, 'r/.git/hooks/post-merge', 'echo mine')
  await install(s, 'r')
  rmSync(s.path('r/.git/discern'), { recursive: true })
  assert.deepEqual(states(await inspect(s, 'r')), each('installed'))
  assert.deepEqual(actions(await uninstall(s, 'r')), { ...each('removed'), 'post-merge': 'restored' })
  assert.equal(s.read('r/.git/hooks/post-merge'), '#!/bin/sh\necho mine\n')
})

test('a place that cannot be written to is refused by name', async t => {
  const s = scratch(t)
  s.init('r')
  s.write('r/.git/not-a-directory', '')
  await assert.rejects(install(s, 'r', { hooksDir: s.path('r/.git/not-a-directory') }), { slug: 'write_access' })
})
