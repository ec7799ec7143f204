/** `git discern setup` as a person meets it: what it says, what it writes, what it leaves alone. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { test } from 'node:test'
import { scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

interface SetupData {
  readonly config: { readonly status: string }
  readonly proof_notes: { readonly status: string }
}
const data = (result: { readonly data?: unknown }): SetupData => result.data as SetupData

const HOOKS = ['post-merge', 'post-rewrite', 'reference-transaction']
const PACKAGE = '{"scripts":{"lint":"eslint .","test":"node --test"}}\n'

test('setup says what it did, what it left alone, and what to do next', async t => {
  const s = scratch(t)
  const dir = s.init('r')
  s.write('r/package.json', PACKAGE)
  s.commit('r', 'two')
  s.git('r', 'remote', 'add', 'origin', '../up')
  const first = await s.discern('r', ['setup'])
  assert.equal(
    first.out,
    [
      '  discern.toml                created: trunk main (the only branch), 2 jobs',
      `  hook post-merge             installed in ${dir}/.git/hooks`,
      `  hook post-rewrite           installed in ${dir}/.git/hooks`,
      `  hook reference-transaction  installed in ${dir}/.git/hooks`,
      '  fetch from origin           brings Proof notes: added +refs/notes/discern*:refs/discern/remotes/origin/notes*',
      '  Proof notes                 unchanged: recorded here in refs/notes/discern; you publish them with git push',
      '',
      'the jobs it names, and where they were found',
      '  lint  npm run lint   (package.json scripts.lint)',
      '  test  npm run test   (package.json scripts.test)',
      'next: git add discern.toml && git commit -m "Set up git discern"   # look it over first',
      'next: git switch -c <branch>   # then change something, commit it, and run: git discern done',
      '',
    ].join('\n'),
  )
  assert.equal(first.err, '')
  assert.equal(first.exit, 0)
})

test('setup a second time finds everything unchanged and changes no byte', async t => {
  const s = scratch(t)
  s.init('r')
  s.write('r/package.json', PACKAGE)
  s.git('r', 'remote', 'add', 'origin', '../up')
  await s.discern('r', ['setup'])
  const before = snapshot(s.dir)
  const again = await s.discern('r', ['setup', '--json'])
  assert.deepEqual(snapshot(s.dir), before)
  assert.deepEqual(
    again.result.steps?.map(({ label, disposition, outcome }) => [label, disposition, outcome]),
    [
      ['discern.toml', 'skip', 'ok'],
      ['hook post-merge', 'skip', 'ok'],
      ['hook post-rewrite', 'skip', 'ok'],
      ['hook reference-transaction', 'skip', 'ok'],
      ['fetch from origin', 'skip', 'ok'],
      ['Proof notes', 'skip', 'ok'],
    ],
  )
  for (const step of again.result.steps ?? []) assert.match(step.note ?? '', /^unchanged/)
  const text = await s.discern('r', ['setup'])
  assert.match(text.out, /^nothing had to change$/m)
})

test('setup carries how notes are written and fetched, in the same shape as accept', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'remote', 'add', 'origin', '../up')
  const { result } = await s.discern('r', ['setup', '--json'])
  assert.deepEqual(result.data?.['proof_note'], {
    write: { status: 'local', ref: 'refs/notes/discern' },
    fetch: { mode: 'fetch', status: 'wired', remotes: ['origin'], added: ['origin'], removed: [], errors: [] },
  })
  assert.equal(data(result).config.status, 'created')
})

test('setup --dry-run says the same and writes nothing at all', async t => {
  const s = scratch(t)
  s.init('r')
  s.write('r/package.json', PACKAGE)
  s.git('r', 'remote', 'add', 'origin', '../up')
  s.write('r/.git/hooks/post-merge', '#!/bin/sh\nexit 7\n', 0o755)
  const before = snapshot(s.dir)
  const dry = await s.discern('r', ['setup', '--dry-run', '--json'])
  assert.deepEqual(snapshot(s.dir), before)
  assert.equal(dry.result.dry_run, true)
  const real = await s.discern('r', ['setup', '--json'])
  assert.notDeepEqual(snapshot(s.dir), before)
  assert.deepEqual(
    dry.result.plan,
    real.result.steps?.map(({ outcome: _, ...step }) => step),
  )
})

test('setup --uninstall restores hooks and configuration byte for byte, and keeps discern.toml, notes and records', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'remote', 'add', 'origin', '../up')
  s.write('r/.git/hooks/post-merge', '#!/bin/sh\necho mine "$@"\nexit 7\n', 0o755)
  s.write('r/tracked-hook', '#!/bin/sh\n', 0o755)
  symlinkSync('../../tracked-hook', s.path('r/.git/hooks/post-rewrite'))
  s.git('r', 'notes', '--ref=discern', 'add', '-m', 'kept')
  const before = snapshot(s.path('r'))
  await s.discern('r', ['setup'])
  s.write('r/.git/discern/completion/records/x.json', '{}')
  await s.discern('r', ['setup'])
  const dry = await s.discern('r', ['setup', '--uninstall', '--dry-run', '--json'])
  assert.equal(dry.result.plan?.filter(({ disposition }) => disposition === 'run').length, 4)
  const done = await s.discern('r', ['setup', '--uninstall'])
  assert.equal(done.exit, 0, done.err)
  const { 'discern.toml': toml, ...after } = snapshot(
    s.path('r'),
    /^\.git\/(discern|refs\/discern|logs\/refs\/discern)(\/|$)/,
  )
  assert.deepEqual(after, before)
  assert.ok(toml)
  assert.ok(existsSync(s.path('r/.git/discern/completion/records/x.json')))
  const hooks = `${s.path('r')}/.git/hooks`
  assert.equal(
    done.out,
    [
      `  hook post-merge             put back what stood there: ${hooks}/post-merge`,
      `  hook post-rewrite           put back what stood there: ${hooks}/post-rewrite`,
      `  hook reference-transaction  removed ${hooks}/reference-transaction`,
      '  fetch from origin           the mapping was removed',
      '  discern.toml                kept: it belongs to the project',
      '  Proof notes                 kept: refs/notes/discern and what was fetched',
      `  records                     kept: ${s.path('r')}/.git/discern`,
      '',
    ].join('\n'),
  )
  const again = await s.discern('r', ['setup', '--uninstall'])
  assert.match(again.out, /^nothing had to change$/m)
})

test('setup --uninstall needs neither a readable discern.toml nor a trunk', async t => {
  const s = scratch(t)
  s.init('r')
  await s.discern('r', ['setup'])
  s.write('r/discern.toml', 'this is = = no TOML\n')
  const done = await s.discern('r', ['setup', '--uninstall'])
  assert.equal(done.exit, 0, done.err)
  for (const hook of HOOKS) assert.ok(!existsSync(s.path(`r/.git/hooks/${hook}`)), hook)
  assert.equal(s.read('r/discern.toml'), 'this is = = no TOML\n')
})

test('setup --uninstall takes no other option', async t => {
  const s = scratch(t)
  s.init('r')
  const run = await s.discern('r', ['setup', '--uninstall', '--trunk', 'main'])
  assert.equal(run.exit, 2)
  assert.match(run.err, /--uninstall and --trunk exclude each other/)
})

test('setup refuses an invalid discern.toml before it writes anything', async t => {
  const s = scratch(t)
  s.init('r')
  s.write('r/discern.toml', '[repository]\ntrunc = "main"\n')
  const before = snapshot(s.dir)
  const run = await s.discern('r', ['setup', '--json'])
  assert.equal(run.exit, 1)
  assert.equal(run.result.error, 'invalid_config')
  assert.match(run.result.message ?? '', /^discern\.toml:2: repository\.trunc: .*did you mean "trunk"\?$/)
  assert.deepEqual(run.result.data, { config: { status: 'invalid', path: s.path('r/discern.toml') } })
  assert.deepEqual(snapshot(s.dir), before)
})

test('case 1: setup from a linked worktree or a folder below it installs where git looks', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'worktree', 'add', '-q', '../wt', '-b', 'wt')
  mkdirSync(s.path('wt/deep/er'), { recursive: true })
  const run = await s.discern('wt/deep/er', ['setup', '--trunk', 'main', '--json'])
  assert.equal(run.exit, 0, run.err)
  const hooks = s.git('wt', 'rev-parse', '--path-format=absolute', '--git-path', 'hooks')
  assert.equal(hooks, s.path('r/.git/hooks'))
  for (const hook of HOOKS) assert.ok(statSync(`${hooks}/${hook}`).mode & 0o100, hook)
  assert.ok(existsSync(s.path('wt/discern.toml')))
  assert.ok(!existsSync(s.path('r/discern.toml')))
  const doctor = await s.discern('wt', ['doctor', '--json'])
  const found = doctor.result.data?.['checks'] as { name: string; verdict: string; evidence: string }[]
  assert.deepEqual(
    found.filter(({ name }) => name === 'hooks').map(({ verdict, evidence }) => [verdict, evidence]),
    HOOKS.map(hook => ['ok', `${hook}: ours, ${hooks}/${hook}`]),
  )
})

test('case 2: setup where core.hooksPath leads nowhere does the rest and exits with 3', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'config', 'core.hooksPath', '.husky/_')
  const run = await s.discern('r', ['setup', '--json'])
  assert.equal(run.exit, 3)
  assert.equal(run.result.error, 'hooks_not_installed')
  assert.match(
    run.result.message ?? '',
    /hooks are off in this worktree: core\.hooksPath \(\.husky\/_, set in .*\/r\/\.git\/config\)/,
  )
  assert.match(run.result.hints?.join('\n') ?? '', /git config --local --unset-all core\.hooksPath/)
  assert.ok(existsSync(s.path('r/discern.toml')))
  assert.ok(!existsSync(s.path('r/.husky')))
})

test('case 3: a hooks directory outside the repository is left alone to the byte, and everything else is set up', async t => {
  const s = scratch(t)
  s.write('home/gh/post-merge', '#!/bin/sh\necho GLOBAL\n', 0o755)
  s.git('.', 'config', '--global', 'core.hooksPath', s.path('home/gh'))
  s.init('r')
  s.git('r', 'remote', 'add', 'origin', '../up')
  const before = snapshot(s.path('home'))
  const dry = await s.discern('r', ['setup', '--dry-run', '--json'])
  assert.equal(dry.exit, 3)
  assert.equal(dry.result.dry_run, true)
  assert.ok(!existsSync(s.path('r/discern.toml')))
  const run = await s.discern('r', ['setup', '--json'])
  assert.equal(run.exit, 3)
  assert.deepEqual(snapshot(s.path('home')), before)
  assert.equal(run.result.error, 'hooks_not_installed')
  assert.equal(run.result.hints?.length, 2)
  assert.match(run.result.hints?.[0] ?? '', new RegExp(`^git discern setup --hooks-dir ${s.path('home/gh')} `))
  assert.match(run.result.hints?.[1] ?? '', /git 2\.54/)
  assert.ok(existsSync(s.path('r/discern.toml')))
  assert.equal(s.git('r', 'config', '--get-all', 'remote.origin.fetch').split('\n').length, 2)
  const opted = await s.discern('r', ['setup', '--hooks-dir', '../home/gh', '--json'])
  assert.equal(opted.exit, 0, JSON.stringify(opted.result))
  for (const hook of HOOKS) assert.ok(existsSync(s.path(`home/gh/${hook}`)), hook)
  await s.discern('r', ['setup', '--uninstall'])
  assert.deepEqual(snapshot(s.path('home')), before)
})

test('--hooks-dir into a directory that git does not look into is said, with the command that makes it', async t => {
  const s = scratch(t)
  s.init('r')
  const run = await s.discern('r', ['setup', '--hooks-dir', '../elsewhere', '--json'])
  assert.equal(run.exit, 3)
  assert.deepEqual(run.result.hints, [`git config core.hooksPath ${s.path('elsewhere')}`])
  s.git('r', 'config', 'core.hooksPath', s.path('elsewhere'))
  assert.equal((await s.discern('r', ['setup'])).exit, 0)
})

test('case 4: core.hooksPath that spells out the default directory counts as the default', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'config', 'core.hooksPath', s.path('r/.git/hooks'))
  assert.equal((await s.discern('r', ['setup'])).exit, 0)
  const before = snapshot(s.dir)
  const again = await s.discern('r', ['setup'])
  assert.equal(again.exit, 0)
  assert.match(again.out, /^ {2}hook post-merge +unchanged$/m)
  assert.deepEqual(snapshot(s.dir), before)
})

test('case 6: a hook that the user edits after setup is never taken away', async t => {
  const s = scratch(t)
  s.init('r')
  await s.discern('r', ['setup'])
  const edited = `${s.read('r/.git/hooks/post-merge')}echo more\n`
  s.write('r/.git/hooks/post-merge', edited)
  const again = await s.discern('r', ['setup', '--json'])
  assert.equal(again.exit, 0)
  assert.equal(again.result.advisories?.[0]?.kind, 'hooks-unavailable')
  assert.match(again.result.advisories?.[0]?.evidence ?? '', /post-merge is left alone/)
  await s.discern('r', ['setup', '--uninstall'])
  assert.equal(s.read('r/.git/hooks/post-merge'), edited)
})

test('case 26: a hook without the exec bit, a symbolic link and a directory are kept as they are', async t => {
  const s = scratch(t)
  s.init('r')
  s.write('r/.git/hooks/post-merge', 'echo hi\n', 0o644)
  s.write('r/tracked-hook', '#!/bin/sh\necho tracked\n', 0o755)
  symlinkSync('../../tracked-hook', s.path('r/.git/hooks/post-rewrite'))
  mkdirSync(s.path('r/.git/hooks/reference-transaction'))
  const run = await s.discern('r', ['setup', '--json'])
  assert.equal(run.exit, 0)
  const [advisory] = run.result.advisories ?? []
  assert.equal(advisory?.kind, 'hooks-unavailable')
  assert.match(advisory?.evidence ?? '', /git can run no reference-transaction hook: .* is a directory/)
  assert.equal(s.read('r/tracked-hook'), '#!/bin/sh\necho tracked\n')
  assert.equal(statSync(s.path('r/.git/hooks/post-merge.pre-discern')).mode & 0o777, 0o644)
  assert.ok(statSync(s.path('r/.git/hooks/reference-transaction')).isDirectory())
})

test('case 34: without a remote nothing is written below remote., and adding one still works', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', 'r')
  const run = await s.discern('r', ['setup', '--json'])
  assert.equal(run.exit, 0, JSON.stringify(run.result))
  assert.equal(s.tryGit('r', 'config', '--get-regexp', '^(remote|discern)\\.').out, '')
  assert.equal(s.tryGit('r', 'remote', 'add', 'origin', '../b.git').exit, 0)
  assert.equal(data(run.result).proof_notes.status, 'no_remote')
})

test('case 88: installed hooks are plain for every shell, whatever git converts and wherever the program lies', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'config', 'core.autocrlf', 'true')
  await s.discern('r', ['setup'])
  for (const hook of HOOKS) {
    const bytes = readFileSync(s.path(`r/.git/hooks/${hook}`))
    assert.equal(bytes.toString('latin1', 0, 10), '#!/bin/sh\n', hook)
    assert.ok(
      bytes.every(byte => byte === 10 || (byte >= 32 && byte < 127)),
      hook,
    )
  }
})

test('where the hooks cannot be written, everything else is set up and setup exits with 3', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'remote', 'add', 'origin', '../up')
  s.exec('r', 'rm', ['-r', '.git/hooks'])
  s.write('r/.git/hooks', 'no directory\n')
  const run = await s.discern('r', ['setup', '--json'])
  assert.equal(run.exit, 3)
  assert.equal(run.result.error, 'hooks_not_installed')
  assert.match(run.result.message ?? '', /cannot write .*\/r\/\.git\/hooks/)
  assert.equal(s.read('r/.git/hooks'), 'no directory\n')
  assert.equal(data(run.result).config.status, 'created')
  assert.equal(data(run.result).proof_notes.status, 'wired')
})
