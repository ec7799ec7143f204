/** Field situations that concern finishing and landing as a whole; each keeps its number. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openScratch } from '../support/open.ts'
import { accept, bundle, change, hubAndClones, land, noteLines, project, provenWorktree } from '../support/project.ts'
import { launcher, scratch } from '../support/scratch.ts'

describe('field situations of finishing and landing', () => {
  it('case 41: no verb and no hook starts a network request, also with a remote that never answers', async t => {
    const s = scratch(t)
    project(s)
    s.git('r', 'remote', 'add', 'origin', 'discern-test://never.invalid/x')
    s.write('remote/git-remote-discern-test', `#!/bin/sh\n: >'${s.path('asked')}'\nsleep 60\n`, 0o755)
    const env = { PATH: `${s.path('remote')}:${s.env['PATH']}` }
    assert.equal(s.launch('r', ['setup'], env).exit, 0)
    change(s, 'r', 'feat', { g: '2\n' })
    for (const args of [
      ['status'],
      ['done'],
      ['accept', '--confirmed'],
      ['status', '--verbose'],
      ['refresh'],
      ['notes', 'merge'],
    ]) {
      const run = s.launch('r', args, env)
      assert.equal(run.exit, 0, `${args.join(' ')}: ${run.err}`)
    }
    s.exec('r', 'git', ['commit', '-q', '--amend', '--no-edit'], { env })
    assert.equal(existsSync(s.path('asked')), false)
    // The same remote is asked when a person fetches: the check above can fail.
    const child = spawn('git', ['fetch', 'origin'], { cwd: s.path('r'), env: { ...s.env, ...env }, stdio: 'ignore' })
    for (let waited = 0; !existsSync(s.path('asked')) && waited < 5000; waited += 50) await pause(50)
    child.kill('SIGKILL')
    s.sh('.', 'pkill -f git-remote-discern-test')
    assert.equal(existsSync(s.path('asked')), true)
  })

  it('case 49: a server that refuses notes commits leaves the Proof unpublished, and status says so', async t => {
    const s = scratch(t)
    hubAndClones(s)
    s.write(
      'hub.git/hooks/update',
      '#!/bin/sh\ncase $1 in refs/notes/*) git log --format=%s "$3" | grep -q TICKET-1 || { echo "no ticket in the subject"; exit 1; } ;; esac\n',
      0o755,
    )
    change(s, 'a', 'feat', { g: '2\n' })
    await land(s, 'a')
    const push = s.tryGit('a', 'push', 'origin', 'main', 'refs/notes/discern')
    assert.notEqual(push.exit, 0)
    assert.match(push.err, /no ticket in the subject/)
    const status = await s.discern('a', ['status', '--json'])
    assert.deepEqual(
      status.data.proof_notes.publication.map(
        ({ remote, state, command }: { remote: string; state: string; command: string }) => [remote, state, command],
      ),
      [['origin', 'unknown', 'git push origin refs/notes/discern']],
    )
    assert.equal(s.git('a', 'rev-list', '--count', 'refs/notes/discern'), '1', 'one commit for one landing')
  })

  it('case 57: a shallow clone that cannot tell whether the branch contains the trunk says how to find out', async t => {
    const s = scratch(t)
    project(s)
    for (const text of ['2', '3']) {
      s.write('r/f', text)
      s.commit('r', text)
    }
    s.git('r', 'branch', 'old', 'main~2')
    s.git('.', 'clone', '-q', '--depth', '1', '--no-single-branch', `file://${s.path('r')}`, 'shallow')
    s.git('shallow', 'switch', '-q', '-c', 'feat', 'origin/old')
    s.write('shallow/g', '2')
    s.commit('shallow', 'two')
    const done = await s.discern('shallow', ['done', '--json'])
    assert.equal(done.result.error, 'precondition_failed')
    assert.match(`${done.result.message}${done.result.hints}`, /history is missing here.*git fetch --unshallow/)
  })

  it('case 58: a blobless clone whose remote is gone is read without asking for a single object', async t => {
    const s = scratch(t)
    project(s)
    s.git('r', 'config', 'uploadpack.allowFilter', 'true')
    s.git('.', 'clone', '-q', '--filter=blob:none', '--no-checkout', `file://${s.path('r')}`, 'partial')
    rmSync(s.path('r'), { recursive: true })
    const status = await s.discern('partial', ['status', '--json'])
    assert.equal(status.exit, 0, status.out)
    assert.equal(status.data.trunk.name, 'main')
    assert.equal(status.data.set_up, false)
  })

  it('case 58: an object that a partial clone lacks reads as missing, and those asked with it are read all the same', async t => {
    const s = scratch(t)
    project(s)
    s.git('r', 'config', 'uploadpack.allowFilter', 'true')
    s.git('.', 'clone', '-q', '--filter=tree:0', '--no-checkout', `file://${s.path('r')}`, 'partial')
    const [commit, tree] = [s.git('r', 'rev-parse', 'HEAD'), s.git('r', 'rev-parse', 'HEAD^{tree}')]
    rmSync(s.path('r'), { recursive: true })
    const { repository } = await openScratch(t, s, 'partial')
    const asked = [commit, tree, commit, tree, 'HEAD:f', commit]
    const read = await Promise.all(asked.map(name => repository.objects.read(name)))
    assert.deepEqual(
      read.map(object => object?.oid),
      [commit, undefined, commit, undefined, undefined, commit],
    )
    assert.equal((await repository.objects.read(commit))?.type, 'commit')
  })

  it('case 60: a dirty or moved submodule is seen, whatever .gitmodules says to ignore', async t => {
    const s = scratch(t)
    project(s)
    s.init('lib')
    change(s, 'r', 'feat', {})
    s.git('r', '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', '../lib', 'sm')
    s.git('r', 'config', '-f', '.gitmodules', 'submodule.sm.ignore', 'all')
    s.git('r', 'config', 'diff.ignoreSubmodules', 'all')
    s.commit('r', 'add the submodule')
    s.write('r/sm/f', 'dirty\n')
    const dirty = await s.discern('r', ['done', '--json'])
    assert.equal(dirty.result.error, 'dirty_worktree')
    assert.match(String(dirty.result.message), /: sm$/)
    s.commit('r/sm', 'moved')
    assert.equal((await s.discern('r', ['done', '--json'])).result.error, 'dirty_worktree')
  })

  it('case 63: packed refs and a linked worktree change nothing', async t => {
    const s = scratch(t)
    const commit = await provenWorktree(s)
    s.git('r', 'pack-refs', '--all')
    assert.equal((await accept(s)).result.ok, true)
    s.git('r', 'pack-refs', '--all')
    for (const cwd of ['r', 'wt']) {
      assert.equal((await s.discern(cwd, ['status', '--json'])).data.landed_proof.commit, commit)
    }
    s.git('wt', 'switch', '-q', '-c', 'next')
    s.write('wt/h', '3')
    s.commit('wt', 'three')
    await land(s, 'wt')
    assert.equal(noteLines(s).length, 2)
  })

  it('case 67: odd file names pass through done and accept, and are named so that they can be read back', async t => {
    const s = scratch(t)
    const names = ['new\nline', 'q"uote', 'a\\b', 'x ', 'p b/q', '-dash', ':(glob)*', 'tab\t']
    await provenWorktree(s, Object.fromEntries(names.map(name => [name, `${name}\n`])))
    s.sh('wt', 'printf x >"$(printf \'bad\\377byte\')"; printf y >"$(printf \'bad\\376byte\')"')
    const dirty = await s.discern('wt', ['done', '--json'])
    assert.match(String(dirty.result.message), /"bad\\376byte", "bad\\377byte"/)
    s.commit('wt', 'two more')
    s.write('r/new\nline', 'in the way\n')
    assert.equal((await s.discern('wt', ['done', '--json'])).result.ok, true)
    const blocked = await accept(s)
    assert.equal(blocked.result.error, 'dirty_worktree')
    assert.match(String(blocked.result.message), /: "new\\nline"$/)
    rmSync(s.path('r/new\nline'))
    assert.equal((await accept(s)).result.ok, true)
    assert.equal(s.git('r', 'status', '--porcelain'), '')
    assert.equal(s.sh('r', 'ls | wc -l').out.trim(), s.sh('wt', 'ls | wc -l').out.trim())
  })

  it('case 69: status.showUntrackedFiles=no hides nothing from the clean-tree rule', async t => {
    const s = scratch(t)
    project(s)
    change(s, 'r', 'feat', { g: '2' })
    s.git('r', 'config', 'status.showUntrackedFiles', 'no')
    s.write('r/u', 'u')
    const done = await s.discern('r', ['done', '--json'])
    assert.equal(done.result.error, 'dirty_worktree')
    assert.match(String(done.result.message), /: u$/)
  })

  it('case 69: with a large index nothing uncommitted is missed either', async t => {
    const s = scratch(t)
    project(s)
    change(s, 'r', 'feat', { g: '2' })
    const blob = s.git('r', 'rev-parse', 'HEAD:g')
    const many = Array.from({ length: 6000 }, (_, at) => `100644 ${blob}\tmany/${'n'.repeat(180)}${at}\n`).join('')
    s.exec('r', 'git', ['update-index', '--index-info'], { input: many })
    s.git('r', 'commit', '-q', '-m', 'many')
    s.exec('r', 'git', ['update-index', '-z', '--skip-worktree', '--stdin'], {
      input: s.git('r', 'ls-files', '-z', 'many'),
    })
    assert.ok(statSync(s.path('r/.git/index')).size > 1024 * 1024)
    const clean = (await s.discern('r', ['status', '--json'])).result.data
    assert.deepEqual(clean?.dirty, [])
    s.git('r', 'config', 'status.showUntrackedFiles', 'no')
    s.write('r/ignored', '')
    s.write('r/.gitignore', 'ignored\n')
    s.write('r/g', '3')
    s.git('.', 'init', '-q', 'r/nested')
    s.write('r/nested/inner', '')
    const { data } = (await s.discern('r', ['status', '--json'])).result
    assert.deepEqual(data?.dirty, ['g', '.gitignore', 'nested/'])
    assert.equal(data?.head, s.git('r', 'rev-parse', 'HEAD'))
  })

  it('case 76: with a conflicted index every finishing verb names the operation, and status still answers', async t => {
    const s = scratch(t)
    project(s)
    change(s, 'r', 'feat', { f: 'ours\n' })
    s.git('r', 'switch', '-q', 'main')
    s.write('r/f', 'theirs\n')
    s.commit('r', 'theirs')
    s.git('r', 'switch', '-q', 'feat')
    assert.notEqual(s.tryGit('r', 'merge', '-q', 'main').exit, 0)
    for (const args of [['done'], ['accept', '--confirmed']]) {
      const refused = await s.discern('r', [...args, '--json'])
      assert.equal(refused.result.error, 'operation_in_progress')
      assert.match(String(refused.result.message), /^a merge is in progress/)
    }
    const status = await s.discern('r', ['status', '--json'])
    assert.equal(status.data.operation, 'merge')
    assert.deepEqual(status.data.dirty, ['f'])
  })

  it('case 78: the user’s language decides nothing, and reaches the project’s own commands', async t => {
    const s = scratch(t)
    project(s)
    const env = { LANGUAGE: 'de', LC_ALL: 'de_DE.UTF-8', LANG: 'de_DE.UTF-8' }
    s.write('r/check.sh', 'test "$LC_ALL" = de_DE.UTF-8 && test "$LANGUAGE" = de\n')
    change(s, 'r', 'feat', { g: '2' })
    const run = await s.discern('r', ['done', '--json'], { env })
    assert.equal(run.result.ok, true, run.out)
    const outside = await s.discern('.', ['status', '--json'], { env })
    assert.equal(outside.result.error, 'not_initialized')
    s.git('r', 'branch', '-f', 'main', 'feat~1')
    assert.equal((await s.discern('r', ['status', '--json'], { env })).data.marker.current, true)
  })

  it('case 83: an interrupt ends the gate and its children, stamps nothing, and the next run works', async t => {
    const s = scratch(t)
    project(s)
    s.write('r/check.sh', 'echo started >started.log; sleep 37.531\n')
    s.write('r/.gitignore', 'started.log\n')
    change(s, 'r', 'feat', { g: '2' })
    for (const [signal, exit] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const) {
      rmSync(s.path('r/started.log'), { force: true })
      const child = spawn(bundle[0], [bundle[1], 'done', '--json'], { cwd: s.path('r'), env: s.env, stdio: 'ignore' })
      const ended = new Promise<number | null>(resolve => child.on('close', resolve))
      for (let waited = 0; !existsSync(s.path('r/started.log')) && waited < 20_000; waited += 25) await pause(25)
      child.kill(signal)
      assert.equal(await ended, exit)
      assert.equal(s.sh('.', 'pgrep -f "^sleep 37.531"').out, '', 'no child is left')
      assert.equal(existsSync(s.path('r/.git/discern/gate-proof')), false)
    }
    s.write('r/check.sh', 'true\n')
    s.commit('r', 'quick')
    assert.equal((await s.discern('r', ['done', '--json'])).result.ok, true)
    assert.deepEqual(
      readdirSync(s.path('r/.git/discern')).filter(name => name.startsWith('.discern-tmp-')),
      [],
    )
  })

  it('case 85: reading all the time never takes git’s index.lock away from the user', async t => {
    const s = scratch(t)
    project(s)
    let reading = true
    const reader = (async () => {
      while (reading) await s.discern('r', ['status', '--json'])
    })()
    const failures: string[] = []
    for (let at = 0; at < 25; at += 1) {
      s.write('r/f', `${at}\n`)
      const run = await s.execAsync('r', 'sh', ['-c', 'git add f && git commit -qm x'])
      if (run.exit !== 0) failures.push(run.err)
    }
    reading = false
    await reader
    assert.deepEqual(failures, [])
  })

  it('case 20: GIT_DIR of somebody else’s hook never redirects the commands of the gate', async t => {
    const s = scratch(t)
    project(s)
    s.init('other')
    s.write('r/check.sh', 'cd ../other && test "$(git rev-parse --show-toplevel)" = "$(pwd -P)"\n')
    change(s, 'r', 'feat', { g: '2' })
    const env = {
      GIT_DIR: s.path('r/.git'),
      GIT_WORK_TREE: s.path('r'),
      GIT_INDEX_FILE: s.path('nowhere'),
      GIT_PREFIX: 'sub/',
    }
    const run = s.exec('r', launcher, ['done', '--json'], { env })
    assert.equal(JSON.parse(run.out).ok, true, run.out)
  })
})
