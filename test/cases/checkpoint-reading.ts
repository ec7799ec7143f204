/** Field situations of repositories, each through `git discern checkpoints`: what it sees of a change, and what it says it cannot see. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { describe, it } from 'node:test'
import { noProc, oddDuration, running, until } from '../support/gate.ts'
import { bundle } from '../support/project.ts'
import { governed, look, seen } from '../support/reading.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

/** A remote that tells when it is asked; the control shows that it would. */
const tellingRemote = (s: Scratch, cwd: string): { readonly PATH: string } => {
  s.git(cwd, 'remote', 'set-url', 'origin', 'discern-test://never.invalid/x')
  s.write('remote/git-remote-discern-test', `#!/bin/sh\n: >'${s.path('asked')}'\nexit 1\n`, 0o755)
  return { PATH: `${s.path('remote')}:${s.env['PATH']}` }
}

describe('checkpoints in a repository that is out of the ordinary', { concurrency: true }, () => {
  it('case 57: in a shallow clone history is unknown and never shorter, and nothing is fetched', async t => {
    const s = scratch(t)
    governed(s)
    s.write('r/a', 'eval(x)\n')
    s.commit('r', 'a')
    s.git('.', 'clone', '-q', '--depth', '2', '-b', 'feat', '--no-single-branch', `file://${s.path('r')}`, 'deep')
    s.git('deep', 'branch', '-q', 'main', 'origin/main')
    const env = tellingRemote(s, 'deep')
    assert.deepEqual(await look(s, 'deep', { env }), {
      paths: ['a'],
      line: ['a'],
      binary: 'binary',
      story: 'the commits since the policy commit: shallow',
    })
    s.write('r/a', 'eval(y)\n')
    s.commit('r', 'b')
    s.git('.', 'clone', '-q', '--depth', '1', '-b', 'feat', '--no-single-branch', `file://${s.path('r')}`, 'flat')
    s.git('flat', 'branch', '-q', 'main', 'origin/main')
    tellingRemote(s, 'flat')
    const flat = await s.discern('flat', ['checkpoints', '--json'], { env })
    assert.deepEqual(
      flat.data.drops.map(({ scope, reason }: Loose) => [scope, reason]),
      [['policy', 'merge_base_unresolved']],
    )
    assert.match(String(flat.result.advisories?.[0]?.evidence), /git fetch --unshallow/)
    assert.doesNotMatch((await s.discern('flat', ['checkpoints'], { env })).out, /no checkpoint governs/)
    assert.equal(existsSync(s.path('asked')), false)
    s.exec('flat', 'git', ['fetch', '--unshallow'], { env })
    assert.equal(existsSync(s.path('asked')), true, 'a fetch would have been noticed')
  })

  it('case 58: in a partial clone without its remote, paths are read and missing content is said', async t => {
    const s = scratch(t)
    governed(s, { 'deep/a': 'a\n', 'deep/b': 'b\n' })
    s.write('r/deep/a', 'eval(x)\n')
    s.commit('r', 'a')
    s.git('r', 'config', 'uploadpack.allowFilter', 'true')
    const from = `file://${s.path('r')}`
    s.git('.', 'clone', '-q', '--filter=blob:none', '--sparse', '-b', 'feat', from, 'blobless')
    s.git('blobless', 'branch', '-q', 'main', 'origin/main')
    s.git('.', 'clone', '-q', '--filter=blob:none', '--no-checkout', '-b', 'feat', from, 'nothing-out')
    s.git('nothing-out', 'branch', '-q', 'main', 'origin/main')
    s.git('.', 'clone', '-q', '--filter=tree:0', '--sparse', '-b', 'feat', from, 'treeless')
    s.git('treeless', 'branch', '-q', 'main', 'origin/main')
    renameSync(s.path('r'), s.path('gone'))
    const env = { ...tellingRemote(s, 'blobless'), DISCERN_TRUNK: 'main' }
    for (const name of ['nothing-out', 'treeless']) tellingRemote(s, name)
    const started = performance.now()
    assert.deepEqual(await look(s, 'blobless', { env }), {
      paths: ['deep/a'],
      line: 'deep/a: object-missing',
      binary: 'deep/a: object-missing',
      story: ['deep/a'],
    })
    for (const name of ['nothing-out', 'treeless']) {
      const { data } = await s.discern(name, ['checkpoints', '--json'], { env })
      assert.deepEqual(
        data.drops.map(({ scope, reason }: Loose) => [scope, reason]),
        [['policy', 'governing_config_unreadable']],
        name,
      )
      assert.doesNotMatch((await s.discern(name, ['checkpoints'], { env })).out, /no checkpoint governs/)
    }
    assert.ok(performance.now() - started < 15_000)
    assert.equal(existsSync(s.path('asked')), false)
    s.exec('blobless', 'git', ['cat-file', '-p', 'HEAD:deep/a'], { env })
    assert.equal(existsSync(s.path('asked')), true, 'a lazy fetch would have been noticed')
  })

  it('case 59: what a sparse checkout, skip-worktree or assume-unchanged leaves out is no deletion', async t => {
    const s = scratch(t)
    governed(s, { 'in/a': 'a\n', 'out/b': 'b\n', skipped: 'x\n', both: 'x\n', assumed: 'x\n' })
    s.write('r/in/a', 'eval(x)\n')
    s.write('r/out/b', 'eval(x)\n')
    s.commit('r', 'work')
    const whole = (await s.discern('r', ['checkpoints', '--json'])).out
    assert.deepEqual((JSON.parse(whole).data.checkpoints as Loose)[1].preview.matched, ['in/a', 'out/b'])
    s.git('r', 'update-index', '--skip-worktree', 'skipped', 'both')
    s.git('r', 'update-index', '--assume-unchanged', 'both', 'assumed')
    rmSync(s.path('r/skipped'))
    rmSync(s.path('r/both'))
    assert.equal((await s.discern('r', ['checkpoints', '--json'])).out, whole)
    s.git('r', 'update-index', '--no-skip-worktree', '--no-assume-unchanged', 'skipped', 'both', 'assumed')
    s.git('r', 'checkout', '-q', '--', '.')
    s.git('r', 'sparse-checkout', 'set', '--cone', '--sparse-index', 'in')
    assert.equal(existsSync(s.path('r/out/b')), false)
    assert.equal((await s.discern('r', ['checkpoints', '--json'])).out, whole)
    s.write('r/new', '')
    assert.deepEqual((await look(s))['line'], ['in/a', 'out/b'], 'with something uncommitted as well')
  })

  it('case 60: a moved or dirty submodule is seen whatever anybody says to ignore, and is neither text nor binary', async t => {
    const s = scratch(t)
    s.init('lib')
    governed(s)
    s.git('r', 'switch', '-q', 'main')
    s.git('r', 'submodule', '--quiet', 'add', s.path('lib'), 'sm')
    s.git('r', 'config', '-f', '.gitmodules', 'submodule.sm.ignore', 'all')
    s.commit('r', 'a submodule')
    s.git('r', 'branch', '-q', '-f', 'feat')
    s.git('r', 'switch', '-q', 'feat')
    for (const key of ['diff.ignoreSubmodules', 'submodule.sm.ignore']) s.git('r', 'config', key, 'all')
    s.git('r', 'config', 'submodule.recurse', 'true')
    const none = { paths: 'empty_matched_set', line: 'adds_matching', binary: 'binary', story: 'min_commits' }
    assert.deepEqual((await look(s))['paths'], none.paths)
    s.write('r/sm/f', 'eval(dirty)\n')
    const moved = { paths: ['sm'], line: 'sm: unreadable', binary: 'sm: unreadable' }
    assert.deepEqual(await look(s), { ...moved, story: 'min_commits' })
    s.commit('r/sm', 'moved')
    assert.deepEqual(await look(s), { ...moved, story: 'min_commits' })
    s.git('r', '-c', 'diff.ignoreSubmodules=none', 'update-index', 'sm')
    s.git('r', 'commit', '-q', '--allow-empty', '-m', 'moved')
    assert.deepEqual(await look(s), { ...moved, story: ['sm'] })
  })

  it('case 69: untracked files count whatever the setting, ignored ones do not, and a nested repository is not read', async t => {
    const s = scratch(t)
    governed(s)
    s.git('r', 'config', 'status.showUntrackedFiles', 'no')
    s.git('r', 'config', 'core.excludesFile', '/dev/null')
    s.write('r/u/deep', 'eval(u)\n')
    s.write('r/ignored', 'eval(i)\n')
    s.write('r/.git/info/exclude', 'ignored\n')
    const found = { binary: 'binary', story: 'min_commits' }
    assert.deepEqual(await look(s), { paths: ['u/deep'], line: ['u/deep'], ...found })
    s.init('r/nested')
    assert.deepEqual(await look(s), {
      paths: ['nested/', 'u/deep'],
      line: 'nested/: unreadable',
      binary: 'nested/: unreadable',
      story: 'min_commits',
    })
    s.git('r', 'config', 'core.excludesFile', s.write('excludes', 'nested\nu\n'))
    assert.deepEqual((await look(s))['paths'], 'empty_matched_set')
  })

  it('case 76: in a conflict, of a submodule too, each path is listed once, as what the work tree holds', async t => {
    const s = scratch(t)
    governed(s)
    const [one, two] = ['1', '2'].map(digit => digit.repeat(40))
    const gitlink = (oid = ''): string => s.git('r', 'update-index', '--add', '--cacheinfo', `160000,${oid},sm`)
    s.write('r/f', 'ours\n')
    s.git('r', 'add', 'f')
    gitlink(one)
    s.git('r', 'commit', '-q', '-m', 'ours')
    s.git('r', 'switch', '-q', 'main')
    s.write('r/f', 'eval(theirs)\n')
    s.git('r', 'add', 'f')
    gitlink(two)
    s.git('r', 'commit', '-q', '-m', 'theirs')
    s.git('r', 'switch', '-q', 'feat')
    assert.notEqual(s.tryGit('r', 'merge', '-q', 'main').exit, 0)
    const run = await s.discern('r', ['checkpoints', '--json'])
    assert.deepEqual(seen(run.data), {
      paths: ['f', 'sm'],
      line: 'sm: unreadable',
      binary: 'sm: unreadable',
      story: ['f', 'sm'],
    })
    assert.equal(run.result.advisories?.[0]?.kind, 'checkpoint-base-behind')
    s.git('r', 'rm', '-q', '--cached', 'sm')
    assert.deepEqual(await look(s), { paths: ['f'], line: ['f'], binary: 'binary', story: ['f'] })
  })

  it('case 83: an interrupt in the middle ends it at once with everything it started, and leaves nothing', {
    skip: noProc,
  }, async t => {
    const s = scratch(t)
    governed(s)
    s.write('r/a', 'eval(x)\n')
    s.commit('r', 'a')
    s.write('r/a', 'eval(y)\n')
    const odd = oddDuration(t)
    const real = s.sh('.', 'command -v git').out.trim()
    const before = snapshot(s.path('r'))
    for (const [verb, hung, signal, exit, to] of [
      ['checkpoints', '*--numstat*', 'SIGINT', 130, 'group'],
      ['checkpoints', '*--numstat*', 'SIGINT', 130, 'program'],
      ['checkpoints', '*cat-file*', 'SIGTERM', 143, 'program'],
      ['checkpoints', 'status*', 'SIGINT', 130, 'program'],
      ['evaluate', '*hash-object*', 'SIGHUP', 129, 'program'],
    ] as const) {
      const what = `${verb} at ${hung} by ${signal} to the ${to}`
      const started = s.path(`started-${signal}-${hung.replace(/\W/g, '')}-${to}`)
      s.write(
        'hanging/git',
        `#!/bin/sh\ncase "$*" in ${hung}) : >'${started}'; exec sleep ${odd} ;; esac\nexec '${real}' "$@"\n`,
        0o755,
      )
      const child = spawn(bundle[0], [bundle[1], verb, '--json'], {
        cwd: s.path('r'),
        env: { ...s.env, PATH: `${s.path('hanging')}:${s.env['PATH']}` },
        stdio: ['ignore', 'pipe', 'ignore'],
        detached: true,
      })
      let out = ''
      child.stdout.on('data', chunk => {
        out += chunk
      })
      const ended = new Promise<number | null>(resolve => child.on('close', resolve))
      await until(() => existsSync(started), what)
      const since = performance.now()
      process.kill(to === 'group' ? -(child.pid ?? 0) : (child.pid ?? 0), signal)
      assert.equal(await ended, exit, what)
      assert.ok(performance.now() - since < 5_000, what)
      assert.equal(out, '', 'an answer that was cut short is none')
      assert.deepEqual(running(odd), [], what)
      assert.deepEqual(
        readdirSync(s.dir).filter(name => name.startsWith('discern-')),
        [],
        what,
      )
      assert.deepEqual(snapshot(s.path('r')), before, what)
    }
  })

  it('case 85: looking all the time never takes index.lock away, nor renews the index', async t => {
    const s = scratch(t)
    governed(s)
    let looking = true
    const looks = ['checkpoints', 'evaluate'].map(async verb => {
      while (looking) await s.discern('r', [verb, '--json'])
    })
    const failures: string[] = []
    for (let at = 0; at < 15; at += 1) {
      s.write('r/f', `${at}\n`)
      const run = await s.execAsync('r', 'sh', ['-c', 'git add f && git commit -qm x'])
      if (run.exit !== 0) failures.push(run.err)
    }
    looking = false
    await Promise.all(looks)
    assert.deepEqual(failures, [])
    utimesSync(s.path('r/f'), 1, 1)
    const before = statSync(s.path('r/.git/index')).mtimeMs
    await look(s)
    assert.equal(statSync(s.path('r/.git/index')).mtimeMs, before, 'an index with old times stays as it is')
  })
})
