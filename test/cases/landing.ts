import assert from 'node:assert/strict'
import { existsSync, rmSync } from 'node:fs'
import { describe, it } from 'node:test'
import { accept, bundle, change, land, meddlingGit, noteLines, project, provenWorktree } from '../support/project.ts'
import { type Scratch, scratch } from '../support/scratch.ts'

const stash = (s: Scratch) => s.tryGit('r', 'rev-parse', '-q', '--verify', 'refs/stash').exit

describe('the checkout of the trunk', () => {
  it('keeps a dirty unrelated file, bytes and all (case 51a)', async t => {
    const s = scratch(t)
    const commit = await provenWorktree(s)
    s.write('r/f', 'local\n')
    assert.equal((await accept(s)).result.ok, true)
    assert.equal(s.read('r/f'), 'local\n')
    assert.equal(s.git('r', 'status', '--porcelain'), ' M f')
    assert.equal(s.git('r', 'rev-parse', 'HEAD'), commit)
    assert.equal(stash(s), 1)
  })

  it('keeps a staged unrelated file staged (case 51b)', async t => {
    const s = scratch(t)
    await provenWorktree(s)
    s.write('r/f', 'staged\n')
    s.write('r/new', 'staged too\n')
    s.git('r', 'add', 'f', 'new')
    s.write('r/f', 'and edited\n')
    assert.equal((await accept(s)).result.ok, true)
    assert.equal(s.git('r', 'status', '--porcelain'), 'MM f\nA  new')
    assert.equal(s.git('r', 'show', ':f'), 'staged')
  })

  it('is not fooled by a file whose time alone changed', async t => {
    const s = scratch(t)
    await provenWorktree(s, { f: 'new\n' })
    s.sh('r', 'touch -d "2020-01-01" f')
    assert.equal((await accept(s)).result.ok, true)
    assert.equal(s.read('r/f'), 'new\n')
  })

  const blocked: readonly [name: string, arrange: (s: Scratch) => void, error: string, named: RegExp][] = [
    ['an untracked file that the landing adds (case 51c)', s => s.write('r/g', 'mine\n'), 'dirty_worktree', /: g$/],
    [
      'an ignored file that the landing adds',
      s => {
        s.write('r/.git/info/exclude', 'g\n')
        s.write('r/g', 'mine\n')
      },
      'dirty_worktree',
      /: g$/,
    ],
    ['a local edit of a file that the landing changes', s => s.write('r/f', 'mine\n'), 'dirty_worktree', /: f$/],
    [
      'a staged edit of a file that the landing changes',
      s => {
        s.write('r/f', 'mine\n')
        s.git('r', 'add', 'f')
      },
      'dirty_worktree',
      /: f$/,
    ],
    [
      'a merge in progress (case 51d)',
      s => {
        s.git('r', 'branch', 'other')
        s.git('.', 'clone', '-q', 'r', 'side')
        s.git('side', 'switch', '-q', 'other')
        s.write('side/zzz', '1')
        s.commit('side', 'side')
        s.git('side', 'push', '-q', 'origin', 'other')
        s.git('r', 'merge', '-q', '--no-commit', '--no-ff', 'other')
      },
      'operation_in_progress',
      /a merge is in progress in .*\/r$/,
    ],
    ['a bisection in progress (case 51d)', s => s.git('r', 'bisect', 'start'), 'operation_in_progress', /bisect/],
  ]
  for (const [name, arrange, error, named] of blocked) {
    it(`refuses before anything moves: ${name}`, async t => {
      const s = scratch(t)
      await provenWorktree(s, { f: 'new\n', g: '2\n' })
      arrange(s)
      const refs = s.git('r', 'for-each-ref')
      const status = s.git('r', 'status', '--porcelain', '--ignored')
      const refused = await accept(s)
      assert.equal(refused.exit, 1)
      assert.equal(refused.result.error, error, refused.out)
      assert.match(String(refused.result.message), named)
      assert.equal(s.git('r', 'for-each-ref'), refs)
      assert.equal(s.git('r', 'status', '--porcelain', '--ignored'), status)
      assert.equal(existsSync(s.path('r/.git/worktrees/wt/discern/acceptance-transaction.json')), false)
    })
  }

  it('may be nowhere: then only the ref moves', async t => {
    const s = scratch(t)
    project(s)
    const commit = change(s, 'r', 'feat', { g: '2\n' })
    await land(s, 'r')
    assert.equal(s.git('r', 'rev-parse', 'main'), commit)
    assert.equal(s.git('r', 'symbolic-ref', 'HEAD'), 'refs/heads/feat')
  })

  it('waits out somebody else’s index.lock, and rolls back when it stays (case 84)', async t => {
    const s = scratch(t)
    await provenWorktree(s)
    const before = s.git('r', 'rev-parse', 'main')
    s.write('r/.git/index.lock', '')
    const refused = await accept(s)
    assert.equal(refused.result.ok, false)
    assert.match(String(refused.result.message), /index\.lock/)
    assert.equal(s.git('r', 'rev-parse', 'main'), before)
    assert.equal(s.git('r', 'for-each-ref', 'refs/worktree'), '')
    assert.ok(existsSync(s.path('r/.git/index.lock')), 'git’s lock is never deleted')
    rmSync(s.path('r/.git/index.lock'))
    assert.equal((await accept(s)).result.ok, true)
  })
})

describe('the trunk', () => {
  it('that moved between done and accept is not overwritten, and nothing is spent (case 52)', async t => {
    const s = scratch(t)
    await provenWorktree(s)
    s.write('r/other', '1')
    const moved = s.commit('r', 'elsewhere')
    const refs = s.git('r', 'for-each-ref')
    const refused = await accept(s)
    assert.equal(refused.result.error, 'trunk_moved')
    assert.match(String(refused.result.message), new RegExp(`now at ${moved}`))
    assert.match(
      String(refused.result.hints),
      /^git discern update && git discern done && git discern accept --confirmed$/,
    )
    assert.equal(s.git('r', 'for-each-ref'), refs)
    s.git('wt', 'merge', '-q', '--no-edit', 'main')
    await land(s, 'wt')
    assert.equal(s.git('r', 'status', '--porcelain'), '')
  })

  it('that moves in the instant between our read and our write is not overwritten (case 52)', async t => {
    const s = scratch(t)
    await provenWorktree(s)
    s.git('r', 'switch', '-q', '--detach')
    const raced = s.git('r', 'commit-tree', 'main^{tree}', '-p', 'main', '-m', 'raced')
    const [node, script] = bundle
    const refused = s.exec('wt', node, [script, 'accept', '--confirmed', '--json'], {
      env: meddlingGit(s, '*"update-ref -z --stdin"*', `git -C '${s.path('r')}' update-ref refs/heads/main ${raced}`),
    })
    assert.equal(JSON.parse(refused.out).error, 'trunk_moved')
    assert.equal(s.git('r', 'rev-parse', 'main'), raced)
    assert.equal(s.git('wt', 'for-each-ref', 'refs/worktree'), '')
    assert.deepEqual(noteLines(s), [])
  })

  it('may have any name, be symbolic, and share its name with a tag (case 54)', async t => {
    const s = scratch(t)
    s.git('.', 'init', '-q', '-b', 'develop', 'r')
    s.write('r/discern.toml', '[repository]\ntrunk = "trunk"\n[jobs]\ntest = "true"\n')
    s.commit('r', 'one')
    s.git('r', 'symbolic-ref', 'refs/heads/trunk', 'refs/heads/develop')
    s.git('r', 'tag', 'develop', s.git('r', 'commit-tree', 'HEAD^{tree}', '-m', 'tagged'))
    const commit = change(s, 'r', 'feat', { g: '1' })
    await land(s, 'r')
    assert.equal(s.git('r', 'rev-parse', 'refs/heads/develop'), commit)
    assert.equal(s.git('r', 'symbolic-ref', 'refs/heads/trunk'), 'refs/heads/develop')
  })
})

describe('consent', () => {
  it('is asked for at a terminal that first saw what lands, and a no changes nothing', async t => {
    const s = scratch(t)
    const commit = await provenWorktree(s)
    const refs = s.git('r', 'for-each-ref')
    let asked = ''
    const no = await s.discern('wt', ['accept'], {
      confirm: async question => {
        asked = question
        return false
      },
    })
    assert.equal(no.exit, 1)
    assert.equal(asked, 'Land feat on main?')
    const shown = no.events.flatMap(event => (event.kind === 'note' ? [event.text] : []))
    assert.match(shown.join('\n'), new RegExp(`feat at ${commit.slice(0, 12)} lands on main`))
    assert.equal(s.git('r', 'for-each-ref'), refs)
    const yes = await s.discern('wt', ['accept'], { confirm: async () => true })
    assert.equal(yes.exit, 0, yes.err)
    assert.equal(s.git('r', 'rev-parse', 'main'), commit)
  })

  it('must be given with a flag where there is no terminal', async t => {
    const s = scratch(t)
    await provenWorktree(s)
    const refused = await s.discern('wt', ['accept', '--json'])
    assert.equal(refused.result.error, 'awaiting_consent')
    assert.match(String(refused.result.hints), /git discern accept --confirmed/)
  })
})

describe('the note of a landing', () => {
  it('is already present when everything is repeated', async t => {
    const s = scratch(t)
    await provenWorktree(s)
    await accept(s)
    const tip = s.git('r', 'rev-parse', 'refs/notes/discern')
    const repeated = await accept(s)
    assert.equal(repeated.result.error, 'nothing_to_prove')
    assert.equal(s.git('r', 'rev-parse', 'refs/notes/discern'), tip)
  })

  it('stays owed without an identity, and the retry records it without a second landing (case 45)', async t => {
    const s = scratch(t)
    const commit = await provenWorktree(s)
    s.write('home/.gitconfig', '[user]\n\tuseConfigOnly = true\n')
    const pending = await s.discern('wt', ['accept', '--confirmed', '--json'], { env: { DISCERN_NO_ATTRIBUTION: '1' } })
    assert.equal(pending.exit, 0, pending.out)
    const write = pending.data.proof_note.write
    assert.equal(write.status, 'record_failed')
    assert.match(write.reason, /identity-missing/)
    assert.equal(pending.result.advisories?.[0]?.kind, 'proof-recording-unavailable')
    assert.equal(s.git('r', 'rev-parse', 'main'), commit)
    assert.deepEqual(noteLines(s), [])
    const reflog = s.git('r', 'reflog', 'main')
    s.git('r', 'config', 'user.name', 'Owner')
    s.git('r', 'config', 'user.email', 'owner@example.invalid')
    const retried = await s.discern('wt', ['accept', '--json'], { env: { DISCERN_NO_ATTRIBUTION: '1' } })
    assert.equal(retried.result.ok, true, retried.out)
    assert.equal(retried.data.landing.recovery_performed, true)
    assert.match(noteLines(s).join(), new RegExp(`${commit}$`))
    assert.equal(s.git('r', 'log', '-1', '--format=%an', 'refs/notes/discern'), 'Owner')
    assert.equal(s.git('r', 'reflog', 'main'), reflog, 'the trunk did not move again')
  })

  it('is ours without user.name, and is never signed (cases 45, 46)', async t => {
    const s = scratch(t)
    await provenWorktree(s)
    s.write('home/.gitconfig', '[user]\n\tuseConfigOnly = true\n[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = false\n')
    assert.equal((await accept(s)).result.ok, true)
    const commit = s.git('r', 'cat-file', 'commit', 'refs/notes/discern')
    assert.match(commit, /^author discern <done@discern\.sh> /m)
    assert.match(commit, /^committer discern <done@discern\.sh> /m)
    assert.doesNotMatch(commit, /gpgsig/)
  })

  it('copied onto an amended commit by notes.rewriteRef is nobody’s Proof (case 17)', async t => {
    const s = scratch(t)
    project(s)
    const commit = change(s, 'r', 'feat', { g: '2\n' })
    await land(s, 'r')
    s.git('r', 'switch', '-q', 'main')
    s.git('r', 'config', 'notes.rewriteRef', 'refs/notes/*')
    s.write('r/f', 'evil\n')
    s.git('r', 'commit', '-q', '-a', '--amend', '--no-edit')
    assert.equal(noteLines(s).length, 2, 'git copied the note')
    const status = await s.discern('r', ['status', '--json'])
    assert.equal(status.data.landed_proof, undefined)
    assert.match(JSON.stringify(status.result), /another commit/)
    assert.match(JSON.stringify(status.result), new RegExp(commit))
    assert.equal(noteLines(s).length, 2, 'and nobody deleted it')
    s.git('r', 'config', 'notes.rewriteMode', 'concatenate')
    s.git('r', 'commit', '-q', '--amend', '-m', 'again')
    const again = await s.discern('r', ['status', '--json'])
    assert.equal(again.exit, 0)
    assert.equal(again.data.landed_proof, undefined)
  })

  it('does not follow a tree to a rewritten or squashed commit (cases 19, 44)', async t => {
    const s = scratch(t)
    project(s)
    change(s, 'r', 'feat', { g: '2\n' })
    await land(s, 'r')
    const rewritten = s.git('r', 'commit-tree', 'main^{tree}', '-p', 'main~1', '-m', 're')
    s.git('r', 'update-ref', 'refs/heads/main', rewritten)
    const status = await s.discern('r', ['status', '--json'])
    assert.equal(status.data.landed_proof, undefined)
    assert.match((await s.discern('r', ['status'])).out, /no Proof/)
    assert.equal(noteLines(s).length, 1)
  })
})
