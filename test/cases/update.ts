/** `git discern update`: what plain git would do, and what is said of it. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync } from 'node:fs'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Interrupted } from '../../src/errors.ts'
import { change, project } from '../support/project.ts'
import { type Scratch, scratch } from '../support/scratch.ts'
import { LOGBOOK, snapshot } from '../support/snapshot.ts'

/** A branch in the linked worktree `wt` and a trunk in `r` that both moved on, in the given files. */
const apart = (s: Scratch, mine: Readonly<Record<string, string>>, theirs: Readonly<Record<string, string>>): void => {
  project(s)
  s.git('r', 'worktree', 'add', '-q', '../wt', '-b', 'feat/x')
  for (const [path, text] of Object.entries(mine)) s.write(`wt/${path}`, text)
  s.commit('wt', 'mine')
  for (const [path, text] of Object.entries(theirs)) s.write(`r/${path}`, text)
  s.commit('r', 'theirs')
}

const hook = (s: Scratch, name: string, body: string): void => {
  mkdirSync(s.path('r/.git/hooks'), { recursive: true })
  s.write(`r/.git/hooks/${name}`, `#!/bin/sh\n${body}`, 0o755)
}

const tip = (s: Scratch, cwd: string, name = 'HEAD'): string => s.git(cwd, 'rev-parse', name)
const parents = (s: Scratch): readonly string[] => s.git('wt', 'log', '-1', '--format=%P').split(' ')

describe('git discern update', () => {
  it('merges as typed by hand: message, identity, hooks and environment; and says that the Proof is old', async t => {
    const s = scratch(t)
    apart(s, { g: '2\n' }, { h: '3\n' })
    hook(s, 'pre-merge-commit', `echo "$MINE $GIT_LITERAL_PATHSPECS" >'${s.path('hook')}'\n`)
    s.git('r', 'tag', 'main', 'main~1')
    const [mine, theirs] = [tip(s, 'wt'), tip(s, 'r', 'refs/heads/main')]
    const before = snapshot(s.dir)
    const dry = await s.discern('wt', ['update', '-n', '--json'])
    assert.equal(dry.result.plan?.[0]?.label, 'git merge --no-edit heads/main')
    assert.equal(dry.data.kind, 'merge')
    assert.deepEqual(snapshot(s.dir), before)
    s.git('r', 'tag', '-d', 'main')
    s.write('wt/untracked', 'stays\n')
    mkdirSync(s.path('wt/deep'))
    const env = { MINE: 'seen', GIT_AUTHOR_NAME: 'Somebody' }
    const run = await s.discern('wt/deep', ['update', '--json'], { env })
    assert.equal(run.exit, 0, run.out)
    assert.deepEqual(parents(s), [mine, theirs])
    assert.equal(s.git('wt', 'log', '-1', '--format=%an|%s'), "Somebody|Merge branch 'main' into feat/x")
    assert.equal(s.read('hook'), 'seen \n')
    assert.equal(s.read('wt/untracked'), 'stays\n')
    const { kind, before: old, after, source } = run.data
    assert.deepEqual([kind, old, after, source], ['merge', mine, tip(s, 'wt'), 'main'])
    assert.equal(run.data.proof, undefined, 'there was none')
    assert.deepEqual(run.result.hints, ['git discern done'])
    const again = await s.discern('wt', ['update'])
    assert.equal(again.out, `already up to date: feat/x contains main (${theirs.slice(0, 12)})\n`)
    s.sh('wt', 'rm untracked')
    assert.equal((await s.discern('wt', ['done', '--json'])).result.ok, true)
    s.write('r/i', '4\n')
    s.commit('r', 'theirs again')
    const second = await s.discern('wt', ['update'])
    assert.match(second.out, /^brought main \([0-9a-f]{12}\) into feat\/x: merge\n/)
    assert.match(second.out, new RegExp(`the Proof is for the old commit, ${String(after).slice(0, 12)}\n`))
    assert.match(second.out, /next: git discern done\n$/)
  })

  it('moves a branch without commits of its own forward, and has nothing to prove then', async t => {
    const s = scratch(t)
    apart(s, {}, { h: '3\n' })
    s.git('wt', 'reset', '-q', '--hard', 'main~1')
    assert.equal((await s.discern('wt', ['update', '-n', '--json'])).data.kind, 'fast-forward')
    const run = await s.discern('wt', ['update', '--json'])
    assert.deepEqual([run.exit, run.data.kind, tip(s, 'wt')], [0, 'fast-forward', tip(s, 'r')])
    assert.deepEqual(run.result.hints, [])
  })

  it('leaves a conflict exactly as plain git leaves it, names the paths and both ways on', async t => {
    const s = scratch(t)
    apart(s, { f: 'mine\n', 'ä\n': '1\n' }, { f: 'theirs\n', 'ä\n': '2\n', h: 'x\n' })
    const [mine, theirs] = [tip(s, 'wt'), tip(s, 'r')]
    const run = await s.discern('wt', ['update', '--json'])
    assert.equal(run.exit, 1)
    assert.equal(run.result.error, 'update_stopped')
    assert.match(run.result.message ?? '', /^the merge of feat\/x with main stopped at conflicts: f, "ä\\n"$/)
    assert.deepEqual(run.result.hints, [
      'resolve and git add them, then: git merge --continue && git discern done',
      'or take it back: git merge --abort',
    ])
    const left = () => [
      s.git('wt', 'status', '--porcelain=v2', '--branch'),
      s.git('wt', 'ls-files', '--stage'),
      s.read('wt/f'),
      s.read('r/.git/worktrees/wt/MERGE_HEAD'),
      s.read('r/.git/worktrees/wt/MERGE_MSG'),
    ]
    const ours = left()
    assert.equal((await s.discern('wt', ['update', '--json'])).result.error, 'operation_in_progress')
    assert.deepEqual(left(), ours)
    s.git('wt', 'merge', '--abort')
    assert.equal(s.git('wt', 'status', '--porcelain'), '')
    assert.equal(tip(s, 'wt'), mine)
    assert.equal(s.tryGit('wt', 'merge', '--no-edit', 'main').exit, 1)
    assert.deepEqual(left(), ours)
    s.write('wt/f', 'both\n')
    s.git('wt', 'add', '-A')
    s.git('wt', '-c', 'core.editor=true', 'merge', '--continue')
    assert.deepEqual(parents(s), [mine, theirs])
  })

  it('rebases when asked, and leaves a conflict in a rebase as git leaves it', async t => {
    const s = scratch(t)
    apart(s, { g: '2\n' }, { h: '3\n' })
    s.write('wt/f', 'mine\n')
    s.commit('wt', 'mine too')
    const run = await s.discern('wt', ['update', '--rebase', '--json'])
    assert.deepEqual([run.exit, run.data.kind], [0, 'rebase'], run.out)
    assert.equal(s.git('wt', 'log', '--format=%s', 'main..HEAD'), 'mine too\nmine')
    assert.equal(s.git('wt', 'merge-base', 'main', 'HEAD'), tip(s, 'r'))
    s.write('r/f', 'theirs\n')
    s.commit('r', 'theirs again')
    const before = tip(s, 'wt')
    const stopped = await s.discern('wt', ['update', '--rebase', '--json'])
    assert.deepEqual([stopped.exit, stopped.result.error], [1, 'update_stopped'])
    assert.match(stopped.result.message ?? '', /^the rebase of feat\/x with main stopped at a conflict: f$/)
    assert.equal(stopped.result.hints?.[1], 'or take it back: git rebase --abort')
    assert.match(s.git('wt', 'status'), /rebase in progress/)
    s.git('wt', 'rebase', '--abort')
    assert.equal(tip(s, 'wt'), before)
    assert.equal(s.git('wt', 'symbolic-ref', 'HEAD'), 'refs/heads/feat/x')
  })

  it('says what stopped git where there is no conflict: a hook, a signature, an untracked file, the configuration', async t => {
    const s = scratch(t)
    apart(s, { g: '2\n' }, { h: '3\n' })
    const mine = tip(s, 'wt')
    const attempt = () => s.discern('wt', ['update', '--json'])
    hook(s, 'pre-merge-commit', 'echo "error: not today" >&2\nexit 1\n')
    const hooked = await attempt()
    assert.deepEqual([hooked.exit, hooked.result.error], [1, 'update_stopped'], hooked.out)
    assert.match(hooked.result.message ?? '', /stopped before its commit: error: not today/)
    assert.deepEqual(hooked.result.hints?.[1], 'or take it back: git merge --abort')
    assert.ok(existsSync(s.path('r/.git/worktrees/wt/MERGE_HEAD')))
    s.git('wt', 'merge', '--abort')
    s.sh('r', 'rm .git/hooks/pre-merge-commit')
    s.git('r', 'config', 'commit.gpgSign', 'true')
    s.git('r', 'config', 'gpg.program', s.write('gpg', '#!/bin/sh\necho "no key" >&2\nexit 2\n', 0o755))
    const unsigned = await attempt()
    assert.equal(unsigned.exit, 1)
    assert.match(unsigned.result.message ?? '', /gpg failed to sign the data|failed to write commit object/)
    s.tryGit('wt', 'merge', '--abort')
    assert.equal(tip(s, 'wt'), mine)
    s.git('r', 'config', '--unset', 'commit.gpgSign')
    s.write('wt/h', 'untracked\n')
    const blocked = await attempt()
    assert.deepEqual([blocked.exit, blocked.result.error], [1, 'git_failed'])
    assert.match(blocked.result.message ?? '', /untracked working tree files would be overwritten by merge: h /)
    assert.equal(s.read('wt/h'), 'untracked\n')
    s.sh('wt', 'rm h')
    s.git('r', 'config', 'merge.ff', 'only')
    assert.equal((await attempt()).result.error, 'git_failed')
    s.git('r', 'config', '--unset', 'merge.ff')
    s.git('r', 'config', 'branch.feat/x.mergeOptions', '--squash')
    const squashed = await attempt()
    assert.equal(squashed.result.error, 'incomplete')
    assert.match(squashed.result.message ?? '', /without a commit that contains main, as your configuration/)
    assert.equal(tip(s, 'wt'), mine)
  })

  it('signs where signing is forced', async t => {
    const s = scratch(t)
    apart(s, { g: '2\n' }, { h: '3\n' })
    s.git('r', 'config', 'commit.gpgSign', 'true')
    const sign = `#!/bin/sh
cat >/dev/null
echo "[GNUPG:] SIG_CREATED D 1 8 00 1 $KEY" >&2
printf -- '-----BEGIN PGP SIGNATURE-----\\n\\n%s\\n-----END PGP SIGNATURE-----\\n' "$KEY"
`
    s.git('r', 'config', 'gpg.program', s.write('gpg', sign, 0o755))
    const run = await s.discern('wt', ['update', '--json'], { env: { KEY: 'mykey' } })
    assert.equal(run.exit, 0, run.out)
    assert.match(s.git('wt', 'cat-file', 'commit', 'HEAD'), /^gpgsig -----BEGIN PGP SIGNATURE-----\n \n mykey$/m)
  })

  it('refuses uncommitted changes, an operation in progress, a detached HEAD, the trunk and what is no commit', async t => {
    const s = scratch(t)
    apart(s, { g: '2\n' }, { h: '3\n' })
    const refused = async (error: string, cwd = 'wt', ...args: readonly string[]) => {
      mkdirSync(s.path('r/.git/discern'), { recursive: true, mode: 0o700 })
      const before = snapshot(s.dir, LOGBOOK)
      const run = await s.discern(cwd, ['update', ...args, '--json'])
      assert.deepEqual([run.exit, run.result.error], [1, error], run.out)
      assert.deepEqual(snapshot(s.dir, LOGBOOK), before)
      return run
    }
    s.write('wt/g', 'edited\n')
    assert.match((await refused('dirty_worktree')).result.message ?? '', /: g$/)
    s.git('wt', 'checkout', '-q', '--', 'g')
    for (const from of ['nothing', 'HEAD:g']) await refused('invalid_value', 'wt', '--from', from)
    await refused('invalid_value', 'wt', '--from=--abort')
    s.git('wt', 'bisect', 'start')
    await refused('operation_in_progress')
    s.git('wt', 'bisect', 'reset')
    await refused('on_trunk', 'r')
    s.git('wt', 'switch', '-q', '--detach')
    await refused('detached_head')
  })

  it('brings in what it is told to, and says when the fetched trunk is ahead of the local one', async t => {
    const s = scratch(t)
    project(s)
    s.git('.', 'clone', '-q', 'r', 'c')
    change(s, 'c', "fix-ü'$(x)", { g: '2\n' })
    s.write('r/h', '3\n')
    const theirs = s.commit('r', 'theirs')
    s.git('c', 'fetch', '-q')
    const run = await s.discern('c', ['update', '--json'])
    assert.deepEqual([run.exit, run.data.kind], [0, 'up-to-date'])
    const [advisory, other] = run.result.advisories ?? []
    assert.equal(advisory?.kind, 'trunk-behind-remote')
    assert.match(advisory?.evidence ?? '', /^origin\/main has commits that the local main does not have/)
    assert.equal(other, undefined)
    const from = await s.discern('c', ['update', '--from', 'origin/main', '--json'])
    assert.deepEqual([from.data.kind, from.data.source_commit, from.result.advisories], ['merge', theirs, []])
    s.git('c', 'reset', '-q', '--hard', 'HEAD~1')
    const command = advisory?.next_action ?? ''
    assert.match(command, /^git fetch \. origin\/main:main && git discern update$/)
    assert.equal(s.sh('c', command).exit, 0)
    assert.equal(tip(s, 'c', 'main'), theirs)
    assert.equal(s.git('c', 'merge-base', 'HEAD', 'main'), theirs)
    // With the trunk checked out elsewhere, git would not fetch into it.
    s.write('r/i', '4\n')
    s.commit('r', 'theirs again')
    s.git('c', 'worktree', 'add', '-q', '../trunk here', 'main')
    s.git('c', 'fetch', '-q')
    const held = (await s.discern('c', ['update', '-n', '--json'])).result.advisories?.[0]?.next_action ?? ''
    assert.equal(held, `git -C '${s.path('trunk here')}' merge --ff-only origin/main && git discern update`)
    assert.equal(s.sh('c', held).exit, 0)
    assert.equal(s.read('trunk here/i'), '4\n')
  })

  it('interrupted, hands the signal to git and leaves what git leaves', async t => {
    const s = scratch(t)
    apart(s, { g: '2\n' }, { h: '3\n' })
    const mine = tip(s, 'wt')
    hook(s, 'pre-merge-commit', `: >'${s.path('started')}'\nsleep 3\n`)
    const aborter = new AbortController()
    const running = s.discern('wt', ['update'], { signal: aborter.signal })
    for (let waited = 0; !existsSync(s.path('started')) && waited < 5000; waited += 10) await pause(10)
    aborter.abort(new Interrupted('SIGINT'))
    const run = await running
    assert.equal(run.exit, 130)
    assert.match(run.err, /interrupted by SIGINT/)
    const notes = run.events.flatMap(event => (event.kind === 'note' ? [event.text] : []))
    assert.equal(notes.at(-1), 'git was interrupted and left uncommitted changes; to take them back: git reset --merge')
    assert.equal(tip(s, 'wt'), mine)
    assert.equal(existsSync(s.path('r/.git/worktrees/wt/index.lock')), false)
    s.git('wt', 'reset', '--merge')
    assert.equal(s.git('wt', 'status', '--porcelain'), '')
  })
})
