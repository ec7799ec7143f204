/** What an installed hook does when git runs it: nothing it could do without, and never anything to git itself. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Scratch, scratch } from '../support/scratch.ts'
import { counting, hook, install, starts } from './hooks-driver.ts'

const TRACKING = 'refs/discern/remotes/origin/notes'

/** A merge that really merges, so that post-merge runs. */
const merge = (s: Scratch, cwd = 'r'): { readonly exit: number; readonly out: string; readonly err: string } => {
  const side = 'git checkout -q -B side && git commit -q --allow-empty -m side && git checkout -q -'
  return s.sh(cwd, `${side} && git merge -q side`)
}

/** A PATH with git and the usual tools, without Node and without git discern, as a program with a window has it (case 9). */
const tinyPath = (s: Scratch): string => {
  const bin = s.path('tiny')
  if (existsSync(bin)) return bin
  mkdirSync(bin)
  for (const tool of ['git', 'sh', 'cat', 'sed', 'readlink', 'env']) {
    symlinkSync(s.sh('.', `command -v ${tool}`).out.trim(), `${bin}/${tool}`)
  }
  return bin
}

/** Starts a hook as git does, which does not mind when nobody reads what it sends. */
const feed = (s: Scratch, call: string, input: string, env: Record<string, string | undefined> = {}) => {
  s.write('input', input)
  return s.sh('r', `/bin/cat ../input | ${call}`, env)
}

test('idle hooks start no Node, after an amend, a merge and a fetch of other refs', async t => {
  const s = scratch(t)
  s.init('r')
  s.write('r/discern.toml', '[project]\nname = "x"\n')
  s.commit('r', 'config')
  await install(s, 'r', counting(s))
  s.git('r', 'commit', '-q', '--amend', '-m', 'x')
  assert.deepEqual(merge(s), { exit: 0, out: '', err: '' })
  s.init('up')
  s.git('r', 'fetch', '-q', '../up', 'main:refs/remotes/up/main', 'main:refs/discern/remotes/up/notes-sibling')
  s.git('r', 'update-ref', 'refs/notes/discern', 'HEAD')
  s.git('r', 'update-ref', 'refs/discern/local/notes', 'HEAD')
  assert.deepEqual(starts(s), [])
})

test('a changed configuration, waiting notes, or checkpoints of the project or the trunk each start Node once', async t => {
  const s = scratch(t)
  s.init('r')
  await install(s, 'r', counting(s))
  const loud = (): readonly string[] => {
    rmSync(s.path('starts'), { force: true })
    assert.deepEqual(merge(s), { exit: 0, out: '', err: '' })
    return starts(s)
  }
  assert.deepEqual(loud(), [])
  s.write('r/.git/discern/notes-pending', '')
  assert.deepEqual(loud(), ['hook post-merge 0'])
  rmSync(s.path('r/.git/discern/notes-pending'))
  s.write('r/.git/discern/governed', '')
  assert.deepEqual(loud(), ['hook post-merge 0'])
  rmSync(s.path('r/.git/discern/governed'))
  assert.deepEqual(loud(), [])
  s.write('r/discern.toml', '[project]\nname = "x"')
  assert.deepEqual(loud(), [])
  // In the same tick of the clock nothing would be newer.
  await new Promise(resolve => setTimeout(resolve, 20))
  s.write('r/discern.toml', '[project]\nname = "x"\n  [checkpoints.migrations]')
  assert.deepEqual(loud(), ['hook post-merge 0'], 'found anew, in a last line without a newline')
  rmSync(s.path('r/discern.toml'))
  assert.deepEqual(loud(), [])
  s.git('r', 'remote', 'add', 'origin', '../up')
  assert.deepEqual(loud(), ['hook post-merge 0'])
  s.git('r', 'config', 'extensions.worktreeConfig', 'true')
  await install(s, 'r', counting(s))
  assert.deepEqual(loud(), [])
  s.git('r', 'config', '--worktree', 'remote.other.url', '../up')
  assert.deepEqual(loud(), ['hook post-merge 0'])
})

test('case 11: however many refs move, a tracking ref among them starts Node once, and a vanished one never', async t => {
  const s = scratch(t)
  s.init('r')
  await install(s, 'r', counting(s))
  const head = s.git('r', 'rev-parse', 'HEAD')
  const transaction = (lines: readonly string[]): readonly string[] => {
    rmSync(s.path('starts'), { force: true })
    const done = s.exec('r', 'git', ['update-ref', '--stdin'], { input: `${lines.join('\n')}\n` })
    assert.deepEqual(done, { exit: 0, out: '', err: '' })
    return starts(s)
  }
  const many = Array.from({ length: 300 }, (_, at) => `create refs/heads/b${at} ${head}`)
  assert.deepEqual(transaction(many), [])
  const once = ['hook reference-transaction committed']
  assert.deepEqual(transaction([`create ${TRACKING} ${head}`]), once)
  assert.deepEqual(transaction([`delete ${TRACKING}`]), [])
  assert.deepEqual(
    transaction([
      ...many.map(line => line.replace('/b', '/c')),
      `create refs/discern/remotes/a/b.c/notes ${head}`,
      `create ${TRACKING} ${head}`,
      ...many.map(line => line.replace('/b', '/d')),
    ]),
    once,
    'also past the lines that are read one by one',
  )
  assert.deepEqual(
    transaction([
      `create refs/heads/refs/discern/remotes/origin/notes ${head}`,
      `create refs/discern/remotes/origin/notes-x ${head}`,
      `create refs/discern/remotes/x/notes/y ${head}`,
      ...many.map(line => line.replace('/b', '/e')),
    ]),
    [],
    'only exact names count',
  )
})

test('case 11: fetching 200 unrelated refs starts no Node at all', async t => {
  const s = scratch(t)
  s.init('up')
  const head = s.git('up', 'rev-parse', 'HEAD')
  s.exec('up', 'git', ['update-ref', '--stdin'], {
    input: Array.from({ length: 200 }, (_, at) => `create refs/heads/b${at} ${head}\n`).join(''),
  })
  s.git('.', 'init', '-q', 'cl')
  s.git('cl', 'remote', 'add', 'origin', '../up')
  await install(s, 'cl', counting(s))
  assert.deepEqual(s.tryGit('cl', 'fetch', '-q', 'origin'), { exit: 0, out: '', err: '' })
  assert.equal(s.git('cl', 'for-each-ref', '--format=x', 'refs/remotes/origin/b*').split('\n').length, 200)
  assert.deepEqual(starts(s), [])
})

test('case 9: the recorded Node serves a bare PATH, the PATH serves when it is gone, and without either git goes on', async t => {
  const s = scratch(t)
  s.init('r')
  const { node, launcher } = counting(s)
  await install(s, 'r', { node, launcher })
  const bare = { PATH: tinyPath(s) }
  const amend = (env: Record<string, string>): readonly string[] => {
    rmSync(s.path('starts'), { force: true })
    s.write('r/.git/discern/notes-pending', '')
    const done = s.exec('r', 'git', ['commit', '-q', '--amend', '--allow-empty', '-m', 'x'], { env })
    assert.deepEqual([done.exit, done.out], [0, ''])
    return [...starts(s), ...done.err.split('\n').filter(Boolean)]
  }
  assert.deepEqual(amend(bare), ['hook post-rewrite amend'])
  renameSync(node, s.path('tiny/node'))
  assert.deepEqual(amend(bare), ['hook post-rewrite amend'], 'Node on the PATH')
  renameSync(launcher, s.path('tiny/git-discern'))
  assert.deepEqual(amend(bare), ['hook post-rewrite amend'], 'both on the PATH')
  renameSync(s.path('tiny/node'), node)
  assert.deepEqual(amend(bare), ['hook post-rewrite amend'], 'a recorded Node with a launcher from the PATH')
  rmSync(s.path('tiny/git-discern'))
  const silent = /^git discern: the post-rewrite hook could not run \(exit 127\)/
  const [line = '', ...more] = amend(bare)
  assert.match(line, silent)
  assert.deepEqual(more, [])
  assert.equal(s.read('r/.git/discern/missed-hooks'), 'post-rewrite amend\n')
})

test('case 9: missed hooks are remembered up to a bound, and a missed fetch is made up for by the next hook', async t => {
  const s = scratch(t)
  s.init('r')
  await install(s, 'r', { node: s.path('gone/node'), launcher: s.path('gone/git-discern') })
  const bare = { PATH: tinyPath(s) }
  s.write('r/.git/discern/missed-hooks', 'reference-transaction committed\n'.repeat(98))
  for (let at = 0; at < 4; at += 1) {
    assert.equal(feed(s, '.git/hooks/reference-transaction committed', `0 1 ${TRACKING}\n`, bare).exit, 0)
  }
  assert.equal(s.read('r/.git/discern/missed-hooks'), 'reference-transaction committed\n'.repeat(100))
  await install(s, 'r', counting(s))
  assert.equal(merge(s).exit, 0)
  assert.deepEqual(starts(s), ['hook post-merge 0'])
})

/** Everything that can be wrong with what the hooks start; each returns the values to install with. */
const BROKEN: Readonly<Record<string, (s: Scratch) => { readonly node: string; readonly launcher: string }>> = {
  'a launcher that is gone': s => ({ node: process.execPath, launcher: s.path('gone') }),
  'a Node that is gone': s => ({ ...counting(s), node: s.path('gone') }),
  'a Node without an interpreter': s => ({
    ...counting(s),
    node: s.write('no-interpreter', '#!/no/such/interpreter\n', 0o755),
  }),
  'a Node that is no program': s => ({ ...counting(s), node: s.write('no-program', '\u0000\u0001', 0o755) }),
  'a Node that is a directory': s => ({ ...counting(s), node: s.path('home') }),
  'a Node that is killed': s => counting(s, 'kill -9 $$'),
  'a Node that fails, with a long story': s => counting(s, 'seq 1 10000 >&2; exit 1'),
  'a launcher with a syntax error': s => ({ ...counting(s), launcher: s.write('broken', '#!/bin/sh\nif\n', 0o755) }),
}

test('case 10: whatever is broken, every ref update, commit, checkout, branch and fetch goes through', async t => {
  const s = scratch(t)
  s.init('up')
  s.git('up', 'update-ref', 'refs/notes/discern', 'HEAD')
  const env = { PATH: tinyPath(s) }
  for (const [what, make] of Object.entries(BROKEN)) {
    s.sh('.', 'rm -rf r')
    s.init('r')
    await install(s, 'r', make(s))
    s.git('r', 'remote', 'add', 'origin', '../up')
    s.git('r', 'config', '--add', 'remote.origin.fetch', '+refs/notes/discern*:refs/discern/remotes/origin/notes*')
    const run = (...args: string[]): string => {
      const done = s.exec('r', 'git', args, { env })
      assert.deepEqual([done.exit, done.out], [0, ''], `${what}: git ${args.join(' ')}: ${done.err}`)
      assert.ok(done.err.split('\n').length <= 2, `${what}: at most one line: ${done.err}`)
      return done.err
    }
    run('commit', '-q', '--allow-empty', '-m', 'x')
    assert.match(run('fetch', '-q'), /^git discern: the reference-transaction hook could not run \(exit \d+\)/, what)
    run('checkout', '-q', '-b', 'z')
    run('stash', 'list')
    run('commit', '-q', '--allow-empty', '--amend', '-m', 'z')
    const states = "preparing prepared aborted committed unheard-of ''"
    const loop = `for state in ${states}; do echo '0 1 ${TRACKING}' | .git/hooks/reference-transaction "$state" 2>/dev/null || exit; done`
    assert.deepEqual(s.sh('r', loop, env), { exit: 0, out: '', err: '' }, what)
    assert.equal(s.git('r', 'rev-parse', '--verify', '-q', TRACKING).length, 40)
  }
})

test('case 10: a full disk, a closed error stream, a missing admin area and a torn file still end in 0', async t => {
  const s = scratch(t)
  s.init('r')
  await install(s, 'r', { node: s.path('gone'), launcher: s.path('gone') })
  const stub = s.path('r/.git/hooks/reference-transaction')
  const run = (script: string): void => {
    const done = s.sh('r', `printf '0 1 ${TRACKING}\\n' | { ${script}; }`, { PATH: tinyPath(s) })
    assert.deepEqual([done.exit, done.out], [0, ''], `${script}: ${done.err}`)
  }
  const call = '.git/hooks/reference-transaction committed'
  for (const name of ['missed-hooks', 'notes-pending']) {
    rmSync(s.path('r/.git/discern', name), { force: true })
    symlinkSync('/dev/full', s.path('r/.git/discern', name))
  }
  run(`${call} 2>/dev/full`)
  run(`${call} 2>&-`)
  run(`${call} 2>&1 | :`)
  run(`${call} <&-`)
  run(`GIT_DIR=/no/such/place ${call} 2>/dev/null`)
  run(`env -u PATH ${call} 2>/dev/null`)
  run(`PATH=/nowhere ${call} 2>/dev/null`)
  rmSync(s.path('r/.git/discern'), { recursive: true })
  run(`${call} 2>/dev/null`)
  s.write('r/.git/discern', 'a file where a directory should be')
  run(`${call} 2>/dev/null`)
  const whole = readFileSync(stub, 'utf8')
  const guarded = whole.indexOf('trap ') + 40
  for (let length = guarded; length < whole.length; length += 211) {
    writeFileSync(stub, whole.slice(0, length))
    for (const state of ['prepared', 'committed']) {
      const done = feed(s, `.git/hooks/reference-transaction ${state} 2>/dev/null`, `0 1 ${TRACKING}\n`)
      assert.deepEqual(done, { exit: 0, out: '', err: '' }, `${state}, torn after ${length} bytes`)
    }
  }
})

test("case 10: a chained hook's answer is git's to hear, in every state", async t => {
  const s = scratch(t)
  s.init('r')
  hook(
    s,
    'r/.git/hooks/reference-transaction',
    `echo "$1" >>'${s.path('seen')}'\n[ ! -e '${s.path('veto')}' ] || exit 3`,
  )
  await install(s, 'r', { node: s.path('gone'), launcher: s.path('gone') })
  s.git('r', 'branch', 'allowed')
  s.write('veto', '')
  assert.equal(s.tryGit('r', 'branch', 'forbidden').exit, 128)
  assert.equal(s.exec('r', '.git/hooks/reference-transaction', ['committed']).exit, 3)
  rmSync(s.path('veto'))
  s.git('r', 'branch', 'allowed-again')
  assert.deepEqual(s.git('r', 'branch', '--format=%(refname:short)').split('\n'), ['allowed', 'allowed-again', 'main'])
  // Newer gits ask once more before they prepare.
  const states = s
    .read('seen')
    .split('\n')
    .filter(state => state !== 'preparing')
  assert.equal(
    states.join(' ').replace('prepared aborted', 'aborted'),
    'prepared committed aborted committed prepared committed ',
  )
})

test('case 14: a chained hook gets its standard input to the byte, of any size, and may ignore it', async t => {
  const s = scratch(t)
  s.init('r')
  const lines = `${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/a-branch-with-a-name\n`
  const inputs = [
    '',
    '\n',
    lines,
    lines.trimEnd(),
    `${lines}  leading and trailing \t blanks \\n %s \\ \n\n\n`,
    `${lines.repeat(63)}no newline`,
    `${lines.repeat(64)}`,
    `${lines.repeat(64)}no newline`,
    `${lines.repeat(Math.ceil(5_000_000 / lines.length))}no newline`,
  ]
  for (const [event, argument] of [
    ['post-rewrite', 'amend'],
    ['reference-transaction', 'prepared'],
    ['reference-transaction', 'committed'],
  ] as const) {
    hook(s, `r/.git/hooks/${event}`, `cat >'${s.path('got')}'`)
    await install(s, 'r', counting(s))
    for (const input of inputs) {
      const done = s.exec('r', `.git/hooks/${event}`, [argument], { input })
      assert.deepEqual(done, { exit: 0, out: '', err: '' })
      assert.ok(s.read('got') === input, `${event} ${argument}: ${input.length} bytes, got ${s.read('got').length}`)
    }
    hook(s, `r/.git/hooks/${event}.pre-discern`, 'exit 5')
    for (const input of inputs) {
      const done = feed(s, `.git/hooks/${event} ${argument}`, input)
      assert.deepEqual(done, { exit: 5, out: '', err: '' }, `${event} ignores ${input.length} bytes`)
    }
    rmSync(s.path(`r/.git/hooks/${event}.pre-discern`))
  }
  assert.deepEqual(starts(s), [])
})

test('case 14: an amend reaches the chained hook with the rewritten commit, also without cat on the PATH', async t => {
  const s = scratch(t)
  s.init('r')
  hook(s, 'r/.git/hooks/post-rewrite', 'while read -r old new; do echo "$old $new"; done >got')
  hook(s, 'r/.git/hooks/reference-transaction', `while read -r line; do echo "$line"; done >>'${s.path('refs')}'`)
  await install(s, 'r', counting(s))
  const old = s.git('r', 'rev-parse', 'HEAD')
  s.git('r', 'commit', '-q', '--amend', '-m', 'z')
  assert.equal(s.read('r/got'), `${old} ${s.git('r', 'rev-parse', 'HEAD')}\n`)
  rmSync(s.path('refs'))
  const input = 'a b refs/heads/x\n'.repeat(200)
  s.exec('r', '/bin/sh', ['.git/hooks/reference-transaction', 'committed'], { input, env: { PATH: '/nowhere' } })
  assert.equal(s.read('refs'), input)
})

test('case 15: standard output of git is the same to the byte with and without the hooks, and success is silent', async t => {
  const s = scratch(t)
  const script = [
    'git stash create 2>/dev/null',
    'printf "start\\ncreate refs/heads/z HEAD\\ncommit\\n" | git update-ref --stdin 2>/dev/null',
    'git commit --porcelain --dry-run',
    'git commit -q --amend -m again --allow-empty',
    'git checkout -q -b side && git commit -q --allow-empty -m s && git checkout -q main && git merge side',
    `git update-ref ${TRACKING} HEAD`,
    'git fetch -q . main:refs/heads/fetched',
  ].join('\n')
  const run = async (name: string, prepare: () => Promise<unknown>): Promise<object> => {
    s.init(name)
    s.write(`${name}/f`, '2\n')
    await prepare()
    s.write(`${name}/.git/discern/notes-pending`, '')
    return s.sh(name, script)
  }
  const plain = await run('plain', async () => {})
  assert.deepEqual(await run('ours', () => install(s, 'ours', counting(s, 'echo noise; echo noise >&2'))), plain)
  assert.deepEqual(starts(s), ['hook post-rewrite amend', 'hook post-merge 0', 'hook reference-transaction committed'])
})

test('case 15: trouble that git discern reports is one line on standard error, without colour', async t => {
  const s = scratch(t)
  s.init('r')
  const said =
    'echo "(node:1) Warning: noise" >&2; echo "git discern: notes could not be merged" >&2; echo "git discern: more" >&2'
  await install(s, 'r', counting(s, `${said}; echo "$NO_COLOR:$NODE_OPTIONS" >'${s.path('env')}'`))
  s.write('r/.git/discern/notes-pending', '')
  const done = s.exec('r', '.git/hooks/post-merge', ['0'], { env: { NODE_OPTIONS: '--require /no/such/file' } })
  assert.deepEqual(done, { exit: 0, out: '', err: 'git discern: notes could not be merged\n' })
  assert.equal(s.read('env'), '1:\n')
})

test('case 20: in a linked worktree, a bare repository and a pushed-to repository the hooks see the right place', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'worktree', 'add', '-q', '../wt', '-b', 'wt')
  await install(s, 'r', counting(s))
  await install(s, 'wt', counting(s))
  s.write('r/.git/worktrees/wt/config.worktree', '[a]\n\tb = c\n')
  s.git('r', 'commit', '-q', '--amend', '-m', 'main')
  assert.deepEqual(starts(s), [], "another worktree's configuration is not this one's")
  s.git('wt', 'commit', '-q', '--amend', '-m', 'wt')
  assert.deepEqual(starts(s), ['hook post-rewrite amend'])

  // Case 23: while a push comes in, the directory is .git and GIT_DIR is a dot.
  s.git('.', 'clone', '-q', 'r', 'c')
  rmSync(s.path('starts'))
  assert.equal(s.tryGit('c', 'push', '-q', 'origin', 'main:refs/heads/other').exit, 0)
  assert.deepEqual(starts(s), [])
  assert.equal(s.tryGit('c', 'push', '-q', 'origin', `main:${TRACKING}`).exit, 0)
  assert.deepEqual(starts(s), ['hook reference-transaction committed'])

  s.git('.', 'clone', '-q', '--bare', 'r', 'b.git')
  await install(s, 'b.git', { node: s.path('gone'), launcher: s.path('gone') }, { PATH: s.env['PATH'] })
  assert.equal(s.exec('b.git', 'git', ['update-ref', TRACKING, 'HEAD'], { env: { PATH: tinyPath(s) } }).exit, 0)
  assert.equal(s.read('b.git/discern/missed-hooks'), 'reference-transaction committed\n')
})

test('a repository that was moved or copied keeps its hooks, and they act on it alone', async t => {
  const s = scratch(t)
  s.init('r')
  await install(s, 'r', counting(s))
  s.sh('.', 'cp -a r copy && mv r moved && mkdir r')
  s.write('copy/.git/discern/notes-pending', '')
  assert.equal(merge(s, 'moved').err, '')
  assert.deepEqual(starts(s), [])
  assert.equal(merge(s, 'copy').err, '')
  assert.deepEqual(starts(s), ['hook post-merge 0'])
})

test('a chained hook may cause the same event again, and is run for it again', async t => {
  const s = scratch(t)
  s.init('r')
  for (const branch of ['one', 'two']) {
    s.git('r', 'checkout', '-q', '-b', branch)
    s.git('r', 'commit', '-q', '--allow-empty', '-m', branch)
  }
  s.git('r', 'checkout', '-q', 'main')
  hook(s, 'r/.git/hooks/post-merge', `echo run >>'${s.path('runs')}'\n[ -e once ] || { touch once; git merge -q two; }`)
  await install(s, 'r', counting(s))
  s.git('r', 'merge', '-q', 'one')
  assert.equal(s.read('runs'), 'run\nrun\n')
  assert.equal(s.git('r', 'rev-parse', 'HEAD'), s.git('r', 'rev-parse', 'two'))
})
