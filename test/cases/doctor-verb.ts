/** `git discern doctor`: what it tests, what it says of each thing that can be wrong, and that it changes nothing. */
import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync } from 'node:fs'
import { test } from 'node:test'
import { type Diagnosis, quickProgram, diagnose as withProgram } from '../support/doctor.ts'
import { type DiscernOptions, type DiscernRun, launcher, type Scratch, scratch } from '../support/scratch.ts'

const CONFIG = '[repository]\ntrunk = "main"\nproof_notes_mode = "fetch"\n\n[jobs]\ntest = "true"\n'

const diagnose = (s: Scratch, cwd: string, options: DiscernOptions = {}): Promise<Diagnosis> =>
  withProgram(s, cwd, { program: quickProgram(s), ...options })
const discern = (s: Scratch, cwd: string, ...args: string[]): Promise<DiscernRun> =>
  s.discern(cwd, args, { program: quickProgram(s) })

/** A repository that is set up, with its configuration on the trunk. */
const ready = async (s: Scratch): Promise<void> => {
  s.init('r')
  s.write('r/discern.toml', CONFIG)
  s.commit('r', 'set up')
  const run = await discern(s, 'r', 'setup')
  assert.equal(run.exit, 0, run.err)
}

/** The hooks as another installation writes them. */
const writeHooks = async (s: Scratch, program: NonNullable<DiscernOptions['program']>): Promise<void> => {
  await discern(s, 'r', 'setup', '--uninstall')
  const run = await s.discern('r', ['setup'], { program: { ...quickProgram(s), ...program } })
  assert.equal(run.exit, 0, run.err)
}

/** A PATH with git and nothing else on it. */
const bare = (s: Scratch): { readonly PATH: string } => {
  mkdirSync(s.path('only-git'))
  symlinkSync(s.exec('.', 'sh', ['-c', 'command -v git']).out.trim(), s.path('only-git/git'))
  return { PATH: s.path('only-git') }
}

test('doctor says in one line that everything works, and with -v what was tested', async t => {
  const s = scratch(t)
  await ready(s)
  const short = await discern(s, 'r', 'doctor')
  assert.equal(short.out, 'tested: 14 ok, 0 with a warning, 0 failed\n')
  assert.equal(short.exit, 0, short.err)
  const long = await discern(s, 'r', 'doctor', '-v')
  const version = s
    .git('r', 'version')
    .replace(/^git version ([\d.]+).*$/, '$1')
    .replace(/\.$/, '')
  const git = `${s.path('r')}/.git`
  assert.equal(
    long.out,
    [
      `  git           ok: git ${version}; hooks are files here`,
      `  hooks         ok: post-merge: ours, ${git}/hooks/post-merge`,
      `  hooks         ok: post-rewrite: ours, ${git}/hooks/post-rewrite`,
      `  hooks         ok: reference-transaction: ours, ${git}/hooks/reference-transaction`,
      `  node          ok: ${process.version} at ${process.execPath}`,
      `  launcher      ok: git-discern 1.2.3 at ${s.path('quick/git-discern')}`,
      '  missed hooks  ok: no hook was missed',
      '  config        ok: discern.toml loads: 1 job, 0 scope gates',
      '  trunk         ok: main: discern.toml says so',
      `  stores        ok: everything in ${git} can be read and written`,
      '  repository    ok: sha1 objects, refs in files',
      '  fetch         ok: there is no remote',
      '  notes         ok: no Proof was recorded here yet',
      '  identity      ok: notes are by discern <done@discern.sh>',
      'tested: 14 ok, 0 with a warning, 0 failed',
      '',
    ].join('\n'),
  )
})

test('doctor in a repository that was never set up names the one command that does it', async t => {
  const s = scratch(t)
  s.init('r')
  const { run, wrong } = await diagnose(s, 'r')
  assert.deepEqual(wrong, [
    'failed: hooks: not installed (post-merge, post-rewrite, reference-transaction)',
    'failed: this repository has no discern.toml',
  ])
  assert.equal(run.result.error, 'doctor_failed')
  assert.deepEqual(run.result.hints, ['git discern setup'])
  const text = await discern(s, 'r', 'doctor')
  assert.equal(
    text.err,
    'git discern: 2 things are wrong: hooks: not installed (post-merge, post-rewrite, reference-transaction); this repository has no discern.toml\n  next: git discern setup\n',
  )
})

test('case 2: a linked worktree without the directory of a relative core.hooksPath has no hooks, and doctor says so', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'config', 'core.hooksPath', '.husky/_')
  mkdirSync(s.path('r/.husky/_'), { recursive: true })
  s.write('r/.git/info/exclude', '.husky\n')
  s.write('r/discern.toml', CONFIG)
  s.commit('r', 'set up')
  const set = await discern(s, 'r', 'setup')
  assert.equal(set.exit, 0, set.err)
  assert.deepEqual((await diagnose(s, 'r')).wrong, [])
  s.git('r', 'worktree', 'add', '-q', '../wt', '-b', 'wt')
  const { run, wrong } = await diagnose(s, 'wt')
  assert.equal(run.exit, 1)
  assert.deepEqual(wrong, [
    `failed: hooks are off in this worktree: core.hooksPath (.husky/_, set in ${s.path('r')}/.git/config) leads to ${s.path('wt')}/.husky/_, which is no directory`,
  ])
  assert.match(run.result.hints?.[0] ?? '', /git config --local --unset-all core\.hooksPath/)
  assert.equal(s.git('r', 'config', 'core.hooksPath'), '.husky/_')
})

test('case 3: doctor says that hooks of ours do not run from a directory outside the repository', async t => {
  const s = scratch(t)
  await ready(s)
  s.write('home/gh/post-merge', '#!/bin/sh\necho GLOBAL\n', 0o755)
  s.git('.', 'config', '--global', 'core.hooksPath', s.path('home/gh'))
  const { wrong } = await diagnose(s, 'r')
  assert.equal(wrong.length, 1)
  assert.match(
    wrong[0] ?? '',
    /^failed: core\.hooksPath \(.*\/home\/gh, set in .*\/home\/\.gitconfig\) names .*\/home\/gh/,
  )
})

test('case 7: doctor sees a hook that another manager displaced, and refresh brings it back', async t => {
  const s = scratch(t)
  await ready(s)
  s.exec('r/.git/hooks', 'mv', ['post-merge', 'post-merge.old'])
  s.write('r/.git/hooks/post-merge', '#!/bin/sh\n', 0o755)
  const { wrong, run } = await diagnose(s, 'r')
  assert.deepEqual(wrong, ['failed: hooks: displaced by another manager (post-merge)'])
  assert.deepEqual(run.result.hints, ['git discern refresh'])
  const refreshed = await discern(s, 'r', 'refresh')
  assert.match(refreshed.out, /^ {2}hook post-merge +installed in .*; the hook that stood there runs first$/m)
  assert.deepEqual((await diagnose(s, 'r')).wrong, [])
  assert.equal(s.read('r/.git/hooks/post-merge.pre-discern'), '#!/bin/sh\n')
})

test('case 9: a recorded Node that is gone is a warning while another is on the PATH, and fails without one', async t => {
  const s = scratch(t)
  await ready(s)
  await writeHooks(s, { node: '/gone/node' })
  const warned = await diagnose(s, 'r')
  assert.equal(warned.run.exit, 0)
  const [node] = warned.about('node')
  assert.equal(node?.verdict, 'warning')
  assert.match(
    node?.evidence ?? '',
    /^the Node that the hooks name does not start: \/gone\/node: .*the one on the PATH/,
  )
  assert.equal(node?.next_action, 'git discern refresh')
  const alone = await diagnose(s, 'r', { env: bare(s) })
  assert.equal(alone.about('node')[0]?.verdict, 'failed')
  assert.equal((await discern(s, 'r', 'refresh')).exit, 0)
  assert.deepEqual((await diagnose(s, 'r')).wrong, [])
})

test('case 9: a recorded Node that is too old fails', async t => {
  const s = scratch(t)
  await ready(s)
  await writeHooks(s, { node: s.write('old/node', '#!/bin/sh\necho v18.20.4\n', 0o755) })
  const [node] = (await diagnose(s, 'r')).about('node')
  assert.equal(node?.verdict, 'failed')
  assert.equal(node?.evidence, `the hooks start ${s.path('old/node')}, which is v18.20.4; 20.12 or newer is needed`)
})

test('case 9: doctor starts Node and git discern with the PATH of a program that has a window', async t => {
  const s = scratch(t)
  await ready(s)
  const wrapper = s.write(
    'my/node',
    `#!/bin/sh\nprintf '%s\\n' "$PATH" >>'${s.path('seen')}'\nexec '${process.execPath}' "$@"\n`,
    0o755,
  )
  await writeHooks(s, { node: wrapper, launcher })
  s.write('seen', '')
  const run = await s.discern('r', ['doctor', '--json'])
  assert.equal(run.exit, 0)
  const seen = s.read('seen').trim().split('\n')
  assert.equal(seen.length, 2)
  for (const path of seen) assert.equal(path, '/usr/bin:/bin')
})

test('case 89: doctor names hooks made by another version, and a git discern that is gone', async t => {
  const s = scratch(t)
  await ready(s)
  await writeHooks(s, { version: '0.0.1', launcher: '/gone/git-discern' })
  const warned = await diagnose(s, 'r')
  assert.equal(warned.run.exit, 0)
  assert.equal(warned.about('hooks').length, 1)
  assert.equal(warned.about('hooks')[0]?.verdict, 'warning')
  assert.match(warned.about('hooks')[0]?.evidence ?? '', /0\.0\.1/)
  assert.match(
    warned.about('launcher')[0]?.evidence ?? '',
    /^the git discern that the hooks name does not answer: \/gone\/git-discern: .*the one on the PATH/,
  )
  const alone = await diagnose(s, 'r', { env: bare(s) })
  assert.equal(alone.about('launcher')[0]?.verdict, 'failed')
  assert.equal((await discern(s, 'r', 'refresh')).exit, 0)
  assert.deepEqual((await diagnose(s, 'r')).wrong, [])
})

test('case 9: doctor counts the hooks that could not run, and refresh forgets them', async t => {
  const s = scratch(t)
  await ready(s)
  s.write('r/.git/discern/missed-hooks', 'post-merge 0\npost-merge 0\npost-rewrite amend\n')
  const { wrong } = await diagnose(s, 'r')
  assert.deepEqual(wrong, ['warning: hooks found no Node or no git discern: post-merge 2 times, post-rewrite once'])
  const dry = await discern(s, 'r', 'refresh', '--dry-run')
  assert.match(dry.out, /^ {2}missed hooks +3 runs made up for and forgotten$/m)
  assert.equal((await diagnose(s, 'r')).wrong.length, 1)
  await discern(s, 'r', 'refresh')
  assert.deepEqual((await diagnose(s, 'r')).wrong, [])
})

test('doctor shows where a discern.toml is wrong, here or on the trunk', async t => {
  const s = scratch(t)
  await ready(s)
  s.write('r/discern.toml', '[gate]\nfail_fats = true\n')
  const here = await diagnose(s, 'r')
  assert.match(
    here.about('config')[0]?.evidence ?? '',
    /^discern\.toml:2: gate\.fail_fats: .*did you mean "fail_fast"\?$/,
  )
  assert.equal(here.about('config')[0]?.verdict, 'failed')
  s.commit('r', 'break it')
  s.git('r', 'switch', '-q', '-c', 'topic')
  s.write('r/discern.toml', CONFIG)
  const there = await diagnose(s, 'r')
  assert.deepEqual(
    there.about('config').map(({ verdict }) => verdict),
    ['ok', 'warning'],
  )
  assert.match(there.about('config')[1]?.evidence ?? '', /^nothing governs: [0-9a-f]{12}:discern\.toml:2: /)
})

test('doctor warns of a discern.toml without a command, since done would prove nothing', async t => {
  const s = scratch(t)
  s.init('r')
  await discern(s, 'r', 'setup')
  const { wrong } = await diagnose(s, 'r')
  assert.deepEqual(wrong, ['warning: discern.toml loads, and names no command: done would prove nothing'])
})

test('case 54: doctor fails where the trunk cannot be told, and where it does not exist', async t => {
  const s = scratch(t)
  await ready(s)
  s.git('r', 'branch', 'stable')
  s.git('r', 'branch', '-m', 'main', 'work')
  assert.deepEqual(
    (await diagnose(s, 'r')).about('trunk').map(({ verdict, evidence }) => [verdict, evidence]),
    [['failed', 'the trunk is main (discern.toml says so), and there is no such branch']],
  )
  s.write('r/discern.toml', '[jobs]\ntest = "true"\n')
  const [trunk] = (await diagnose(s, 'r')).about('trunk')
  assert.equal(trunk?.verdict, 'failed')
  assert.match(trunk?.next_action ?? '', /^git discern setup --trunk <branch> {3}# one of: stable, work$/)
})

test('doctor reports files of ours that a newer version wrote, or that make no sense', async t => {
  const s = scratch(t)
  await ready(s)
  s.write('r/.git/discern/gate-proof', '{"version":2}\n')
  s.write('r/.git/discern/efforts', 'no JSON\n')
  const { wrong } = await diagnose(s, 'r')
  assert.equal(wrong.length, 2)
  assert.match(wrong[0] ?? '', /^failed: .*\/gate-proof was written by a newer git discern \(format 2\)$/)
  assert.match(wrong[1] ?? '', /^warning: .*\/efforts makes no sense: /)
})

test('case 57: doctor warns of a shallow clone, and works in it', async t => {
  const s = scratch(t)
  await ready(s)
  s.git('.', 'clone', '-q', '--depth', '1', `file://${s.path('r')}`, 'shallow')
  assert.equal((await discern(s, 'shallow', 'setup')).exit, 0)
  const { wrong, run } = await diagnose(s, 'shallow')
  assert.equal(run.exit, 0)
  assert.deepEqual(wrong, ['warning: a shallow clone: part of the history is not here, so some facts cannot be had'])
})

test('case 45: doctor fails when notes are to be by an identity that git does not know', async t => {
  const s = scratch(t)
  await ready(s)
  const env = { DISCERN_NO_ATTRIBUTION: '1' }
  assert.equal(
    (await diagnose(s, 'r', { env })).about('identity')[0]?.evidence,
    'notes are by Dev <dev@example.invalid>',
  )
  s.write('home/.gitconfig', '[user]\n\tuseConfigOnly = true\n')
  const { wrong } = await diagnose(s, 'r', { env })
  assert.deepEqual(wrong, [
    'failed: no Proof note can be written: DISCERN_NO_ATTRIBUTION is set, and git knows no name and address',
  ])
  assert.deepEqual((await diagnose(s, 'r')).wrong, [])
})

test('case 88: doctor starts a git discern whose path no shell takes as it is', async t => {
  const s = scratch(t)
  await ready(s)
  const odd = s.write("it's $HOME & \u00fc/git-discern", `#!/bin/sh\nexec '${launcher}' "$@"\n`, 0o755)
  await writeHooks(s, { launcher: odd })
  const { about, wrong } = await diagnose(s, 'r', { program: { launcher: odd } })
  assert.deepEqual(wrong, [])
  assert.match(about('launcher')[0]?.evidence ?? '', /^git-discern \d/)
  assert.ok(about('launcher')[0]?.evidence.endsWith(` at ${odd}`))
})

test('doctor tests the git discern on the PATH where a project calls it from hooks of its own', async t => {
  const s = scratch(t)
  s.init('r')
  s.write('r/discern.toml', CONFIG)
  for (const event of ['post-merge', 'post-rewrite']) {
    s.write(`r/hooks/${event}`, `#!/bin/sh\ngit discern hook ${event} "$@"\n`, 0o755)
  }
  s.commit('r', 'own hooks')
  s.git('r', 'config', 'core.hooksPath', 'hooks')
  assert.equal((await discern(s, 'r', 'setup')).exit, 0)
  assert.equal(s.git('r', 'status', '--porcelain'), '')
  const { about, wrong } = await diagnose(s, 'r')
  assert.deepEqual(wrong, [])
  assert.match(about('launcher')[0]?.evidence ?? '', /^git-discern \d\S* on the PATH$/)
  const alone = await diagnose(s, 'r', { env: bare(s) })
  assert.equal(alone.about('launcher')[0]?.verdict, 'failed')
})
