/** The installed program behind the hooks: fetched notes arrive, the verbs tell the truth, and the user's git never notices. */
import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { test } from 'node:test'
import { projectRoot, type Scratch, scratch } from '../support/scratch.ts'
import { filesOnly, hook, picture } from './hooks-driver.ts'

const NOTES = 'refs/notes/discern'
const SILENT = { exit: 0, out: '', err: '' }

/** A project with a remote, both set up; the remote gets one note for each commit named. */
const withRemote = async (s: Scratch): Promise<void> => {
  s.init('up')
  note(s, 'up', 'one')
  s.git('.', 'clone', '-q', 'up', 'r')
  await setUp(s, 'r')
}

const setUp = async (s: Scratch, name: string): Promise<void> => {
  s.write(`${name}/discern.toml`, '[project]\nname = "x"\n\n[repository]\ntrunk = "main"\nproof_notes_mode = "fetch"\n')
  s.write(`${name}/.git/info/exclude`, 'discern.toml\n')
  const done = await s.discern(name, ['setup', '--json'])
  assert.equal(done.exit, 0, done.out)
}

/** A new commit upstream with a note on it; returns the commit. */
const note = (s: Scratch, name: string, text: string): string => {
  s.git(name, 'commit', '-q', '--allow-empty', '-m', text)
  const commit = s.git(name, 'rev-parse', 'HEAD')
  s.git(name, 'notes', '--ref', 'discern', 'add', '-m', text, commit)
  return commit
}

const has = (s: Scratch, cwd: string, commit: string): boolean =>
  s.tryGit(cwd, 'notes', '--ref', 'discern', 'show', commit).exit === 0

test('case 16: after every command that can bring notes they are merged, by a hook or at the next status', async t => {
  const s = filesOnly(scratch(t))
  await withRemote(s)
  const local = (): void => void s.git('r', 'commit', '-q', '--allow-empty', '-m', 'local')
  const rows: readonly (readonly [string, () => void, readonly string[]])[] = [
    ['fetch', () => {}, ['fetch', '-q']],
    ['pull that merges', local, ['pull', '-q', '--no-rebase', '--no-edit']],
    ['pull --ff-only', () => s.git('r', 'reset', '-q', '--hard', '@{u}'), ['pull', '-q', '--ff-only']],
    ['pull --rebase with nothing local', () => s.git('r', 'reset', '-q', '--hard', '@{u}'), ['pull', '-q', '--rebase']],
    ['pull --rebase with a local commit', local, ['pull', '-q', '--rebase']],
    ['remote update', () => {}, ['remote', 'update']],
  ]
  for (const [what, before, command] of rows) {
    before()
    const commit = note(s, 'up', what)
    const done = s.tryGit('r', ...command)
    assert.deepEqual([done.exit, done.err.includes('discern:')], [0, false], `${what}: ${done.err}`)
    assert.ok(has(s, 'r', commit), what)
    assert.equal(s.git('r', 'rev-parse', NOTES), s.git('r', 'rev-parse', 'refs/discern/local/notes'), what)
  }
  const commit = note(s, 'up', 'without hooks')
  s.git('r', '-c', 'core.hooksPath=/dev/null', 'fetch', '-q')
  assert.ok(!has(s, 'r', commit))
  await s.discern('r', ['status'])
  assert.ok(has(s, 'r', commit), 'with all hooks off the same state is reached at status')
})

test('case 16: notes that a hook could not adopt are adopted by the next merge, and a new remote gets the mapping', async t => {
  const s = filesOnly(scratch(t))
  await withRemote(s)
  const commit = note(s, 'up', 'two')
  s.write('r/.git/refs/notes/discern.lock', '')
  const done = s.tryGit('r', 'fetch', '-q')
  assert.equal(done.exit, 0)
  assert.match(done.err, /^git discern: fetched notes wait to be adopted: .*\n$/)
  assert.ok(!has(s, 'r', commit))
  rmSync(s.path('r/.git/refs/notes/discern.lock'))
  assert.deepEqual(s.tryGit('r', 'merge', '-q', '--no-edit', '@{u}'), SILENT)
  assert.ok(has(s, 'r', commit))
  s.init('second')
  s.git('r', 'remote', 'add', 'second', '../second')
  note(s, 'up', 'three')
  assert.deepEqual(s.tryGit('r', 'pull', '-q', '--no-edit'), SILENT)
  assert.match(s.git('r', 'config', '--get-all', 'remote.second.fetch'), /refs\/discern\/remotes\/second\/notes\*$/m)
})

test('case 8: the same event twice makes one merge, no second notes commit and no second line', async t => {
  const s = filesOnly(scratch(t))
  await withRemote(s)
  s.git('r', 'fetch', '-q')
  const tip = s.git('r', 'rev-parse', NOTES)
  for (const event of ['reference-transaction', 'post-merge', 'post-rewrite']) {
    assert.deepEqual(s.launch('r', ['hook', event, 'x']), SILENT)
    assert.equal(s.git('r', 'rev-parse', NOTES), tip)
  }
})

test('case 20: a hook in a linked worktree acts on it, and an inherited GIT_DIR never reaches another repository', async t => {
  const s = filesOnly(scratch(t))
  await withRemote(s)
  s.git('r', 'worktree', 'add', '-q', '../wt', '-b', 'wt')
  s.init('other')
  const commit = note(s, 'up', 'two')
  const other = s.sh('other', 'find .git -type f | sort | xargs cksum').out
  const env = {
    GIT_INDEX_FILE: '/no/such/index',
    GIT_PREFIX: 'nowhere/',
    GIT_OBJECT_DIRECTORY: s.path('other/.git/objects'),
  }
  s.git('r', '-c', 'core.hooksPath=/dev/null', 'fetch', '-q')
  // As git starts a hook in a linked worktree: at its top, with its own git directory.
  const asHook = { ...env, GIT_DIR: s.path('r/.git/worktrees/wt') }
  assert.deepEqual(s.exec('wt', 'git-discern', ['hook', 'post-rewrite', 'amend'], { env: asHook }), SILENT)
  assert.ok(has(s, 'wt', commit))
  s.git('wt', '-c', 'core.editor=true', 'commit', '-q', '--amend', '--allow-empty', '-m', 'x')
  const chosen = s.exec('other', 'git-discern', ['status', '--json'], { env: { GIT_DIR: s.path('r/.git') } })
  assert.match(chosen.out, new RegExp(s.git('r', 'rev-parse', 'HEAD')), 'a repository chosen on purpose is honoured')
  assert.equal(s.sh('other', 'find .git -type f | sort | xargs cksum').out, other)
})

test('case 21: status inside a pre-commit hook with a temporary index reads the real one and writes neither', async t => {
  const s = filesOnly(scratch(t))
  await withRemote(s)
  hook(
    s,
    'r/.git/hooks/pre-commit',
    `echo "$GIT_INDEX_FILE" >'${s.path('index')}'\nexec git discern status --json >'${s.path('s.json')}'`,
  )
  s.write('r/f', '2\n')
  assert.deepEqual(s.tryGit('r', 'commit', '-q', '-m', 'p', '--', 'f'), SILENT)
  assert.match(s.read('index'), /next-index-\d+\.lock\n$/)
  assert.equal(JSON.parse(s.read('s.json')).ok, true)
  assert.equal(s.git('r', 'status', '--porcelain'), '')
})

test('case 23: a push into a repository with a work tree merges a pushed tracking ref, and nothing else starts', async t => {
  const s = filesOnly(scratch(t))
  await withRemote(s)
  s.git('.', 'clone', '-q', 'r', 'c')
  const commit = note(s, 'c', 'pushed')
  assert.deepEqual(s.tryGit('c', 'push', '-q', 'origin', 'main:refs/heads/other'), SILENT)
  assert.deepEqual(s.tryGit('c', 'push', '-q', 'origin', `${NOTES}:refs/discern/remotes/origin/notes`), SILENT)
  assert.ok(has(s, 'r', commit))
})

test('case 9: with a bare PATH the hook serves; without any Node git goes on, and status says what was missed', async t => {
  const s = filesOnly(scratch(t))
  await withRemote(s)
  const env = { PATH: '/usr/bin:/bin', DISCERN_NODE: undefined }
  const first = note(s, 'up', 'two')
  assert.deepEqual(s.exec('r', 'git', ['fetch', '-q'], { env }), SILENT)
  assert.ok(has(s, 'r', first), 'the recorded Node and launcher need no PATH')
  const second = note(s, 'up', 'three')
  const stub = s.path('r/.git/hooks/reference-transaction')
  s.write(stub, s.read(stub).replace(/^(node|launcher)=.*$/gm, "$1='/no/such/thing'"), 0o755)
  const bare = s.path('bare')
  mkdirSync(bare)
  s.sh('.', `for tool in git sh cat; do ln -s "$(command -v $tool)" '${bare}/'; done`)
  const done = s.exec('r', 'git', ['fetch', '-q'], { env: { PATH: bare } })
  assert.deepEqual([done.exit, done.out], [0, ''])
  assert.match(done.err, /^git discern: the reference-transaction hook could not run \(exit 127\);[^\n]*\n$/)
  const status = await s.discern('r', ['status', '--json'])
  const told = (status.result.advisories ?? []).map(({ evidence }) => evidence).join('\n')
  assert.match(told, /hooks could not start git discern 1 time/)
  assert.ok(has(s, 'r', second), 'and what they would have done is done')
})

test('case 10 and 89: the program is moved away; commit, fetch, checkout, branch and merge go on, and doctor says so', async t => {
  const s = filesOnly(scratch(t))
  s.init('up')
  s.git('.', 'clone', '-q', 'up', 'r')
  s.sh(
    '.',
    `mkdir a && cp '${projectRoot}git-discern' a/ && ln -s '${projectRoot}dist' a/dist && ln -s '${projectRoot}hooks' a/hooks`,
  )
  s.write('r/discern.toml', '[project]\nname = "x"\n\n[repository]\nproof_notes_mode = "fetch"\n')
  s.commit('r', 'config')
  const own = { PATH: `${s.path('a')}:${s.env['PATH']}` }
  assert.equal(s.exec('r', 'git-discern', ['setup'], { env: own }).exit, 0)
  renameSync(s.path('a'), s.path('moved-away'))
  rmSync(s.path('bin/git-discern'))
  note(s, 'up', 'two')
  for (const command of [
    ['commit', '-q', '--allow-empty', '-m', 'x'],
    ['fetch', '-q'],
    ['checkout', '-q', '-b', 'z'],
    ['branch', 'y'],
    ['commit', '-q', '--amend', '--allow-empty', '-m', 'z'],
    ['merge', '-q', '--no-edit', 'origin/main'],
  ]) {
    const done = s.tryGit('r', ...command)
    assert.deepEqual([done.exit, done.out], [0, ''], `git ${command.join(' ')}: ${done.err}`)
    assert.ok(done.err.split('\n').length <= 2, done.err)
  }
  const doctor = await s.discern('r', ['doctor', '--json'])
  assert.equal(doctor.exit, 1)
  assert.match(doctor.out, /made by the git discern at|made by git discern/)
  assert.match(doctor.result.message ?? '', /the git discern that the hooks name does not answer/)
})

test('cases 2 and 3: doctor fails where hooks are off, setup ends with 3 where they may not be written', async t => {
  const s = filesOnly(scratch(t))
  s.init('r')
  s.write('r/discern.toml', '[project]\nname = "x"\n')
  s.commit('r', 'config')
  s.git('r', 'config', 'core.hooksPath', '.husky/_')
  mkdirSync(s.path('r/.husky/_'), { recursive: true })
  s.write('r/.git/info/exclude', '.husky\n')
  assert.equal((await s.discern('r', ['setup'])).exit, 0)
  s.git('r', 'worktree', 'add', '-q', '../wt', '-b', 'wt')
  const doctor = await s.discern('wt', ['doctor', '--json'])
  assert.equal(doctor.exit, 1)
  assert.match(doctor.result.message ?? '', /hooks are off in this worktree: core\.hooksPath/)
  assert.ok(doctor.result.message?.includes(s.path('r/.git/config')))
  const status = await s.discern('wt', ['status', '--json'])
  assert.equal(status.exit, 0)
  assert.match(JSON.stringify(status.result.advisories), /hooks are off in this worktree/)

  s.git('r', 'config', '--unset', 'core.hooksPath')
  hook(s, 'home/gh/post-merge', 'echo GLOBAL')
  s.git('.', 'config', '--global', 'core.hooksPath', s.path('home/gh'))
  const before = picture(s.path('home/gh'))
  const setup = await s.discern('r', ['setup', '--json'])
  assert.deepEqual([setup.exit, setup.result.error], [3, 'hooks_not_installed'])
  assert.equal((setup.result.hints ?? []).length, 2)
  assert.deepEqual(picture(s.path('home/gh')), before)
  const wished = await s.discern('r', ['setup', '--json', '--hooks-dir', '../home/gh'])
  assert.equal(wished.exit, 0, wished.out)
  assert.equal((await s.discern('r', ['setup', '--uninstall'])).exit, 0)
  assert.deepEqual(picture(s.path('home/gh')), before)
})

test('case 25: several fetches at once bring every note, without a word about locks', async t => {
  const s = filesOnly(scratch(t))
  await withRemote(s)
  const commits = ['a', 'b', 'c', 'd'].map(name => {
    s.git('.', 'clone', '-q', 'up', `up-${name}`)
    s.git('r', 'remote', 'add', name, `../up-${name}`)
    return note(s, `up-${name}`, `note ${name}`)
  })
  assert.equal((await s.discern('r', ['refresh'])).exit, 0)
  assert.deepEqual(s.tryGit('r', '-c', 'fetch.parallel=4', 'fetch', '--all', '-q'), SILENT)
  for (const commit of commits) assert.ok(has(s, 'r', commit))
})

test('case 1: set up from a subdirectory of a linked worktree, doctor finds in every worktree what git would run', async t => {
  const s = filesOnly(scratch(t))
  s.init('r')
  s.write('r/discern.toml', '[project]\nname = "x"\n')
  s.commit('r', 'config')
  s.git('r', 'worktree', 'add', '-q', '../wt', '-b', 'wt')
  s.write('wt/sub/x', 'x')
  assert.equal((await s.discern('wt/sub', ['setup'])).exit, 0)
  for (const place of ['r', 'wt', 'wt/sub']) {
    const { result } = await s.discern(place, ['doctor', '--json'])
    const checks = (result.data?.['checks'] ?? []) as readonly { name: string; verdict: string; evidence: string }[]
    const hooks = checks.filter(({ name }) => name === 'hooks')
    assert.equal(hooks.length, 3)
    for (const { verdict, evidence } of hooks) {
      assert.equal(verdict, 'ok', evidence)
      assert.ok(evidence.includes(s.path('r/.git/hooks/')), evidence)
    }
  }
})

test('case 85: hooks and reads of ours never make a command of the user fail', async t => {
  const s = filesOnly(scratch(t))
  await withRemote(s)
  let running = true
  const reads = (async (): Promise<number> => {
    let count = 0
    for (; running; count += 1) {
      const done = await s.execAsync('r', 'git-discern', ['status', '--json'])
      assert.equal(done.exit, 0, done.err)
    }
    return count
  })()
  const script = 'for i in $(seq 25); do touch f; echo x$i >f; git add f && git commit -qm x || exit 9; done'
  const done = await s.execAsync('r', 'sh', ['-c', script]).finally(() => {
    running = false
  })
  assert.deepEqual(done, SILENT)
  assert.ok((await reads) > 1)
})
