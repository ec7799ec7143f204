/** What a landing may clear away: the worktree and branch that hold nothing else, and never anything more. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import { grantEffort } from '../../src/landing/grant.ts'
import { type Retirement, retire } from '../../src/landing/retire.ts'
import { openScratch } from '../support/open.ts'
import { type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

const BRANCH = 'feat/ä-b'

/** The trunk `main` in `r` has landed the commit of the branch in the linked worktree `wt wt`. */
const landed = (s: Scratch): string => {
  s.init('r')
  s.git('r', 'worktree', 'add', '-q', '../wt wt', '-b', BRANCH)
  s.write('wt wt/g', '2\n')
  const commit = s.commit('wt wt', 'two')
  s.git('r', 'merge', '-q', '--ff-only', BRANCH)
  return commit
}

const attempt = async (t: TestContext, s: Scratch, commit: string, from = 'r'): Promise<Retirement> => {
  const { repository } = await openScratch(t, s, from)
  return retire(repository, {
    branch: `refs/heads/${BRANCH}`,
    landed: commit,
    worktreeTopLevel: s.path('wt wt'),
  })
}

const branches = (s: Scratch): string => s.git('r', 'for-each-ref', '--format=%(refname:short)', 'refs/heads')

describe('retirement', () => {
  for (const from of ['r', 'wt wt']) {
    it(`removes the worktree and the branch that hold nothing but what landed, asked from ${from}`, async t => {
      const s = scratch(t)
      const commit = landed(s)
      s.git('r', 'branch', 'bystander')
      s.git('r', 'worktree', 'add', '-q', '../other', '-b', 'other')
      s.write('r/.git/info/exclude', '*.log\nbuild/\n')
      for (let at = 0; at < 8; at += 1) s.write(`wt wt/${at}.log`, 'x')
      s.write('wt wt/build/deep/x', 'x')
      const result = await attempt(t, s, commit, from)
      assert.deepEqual(result, {
        status: 'retired',
        ignored: { paths: ['0.log', '1.log', '2.log', '3.log', '4.log', '5.log'], count: 9 },
      })
      assert.equal(existsSync(s.path('wt wt')), false)
      assert.deepEqual(branches(s).split('\n'), ['bystander', 'main', 'other'])
      assert.equal(s.git('r', 'worktree', 'list', '--porcelain').match(/^worktree /gm)?.length, 2)
      assert.equal(s.git('r', 'fsck', '--no-dangling'), '')
    })
  }

  const hold = (s: Scratch, path: string, value: object) =>
    s.write(`r/.git/worktrees/wt-wt/discern/${path}`, JSON.stringify({ version: 1, ...value }))

  const kept: readonly [name: string, arrange: (s: Scratch) => unknown, reason: string, detail: RegExp][] = [
    ['a later commit', s => s.git('wt wt', 'commit', '-q', '--allow-empty', '-m', 'x'), 'later-commits', /landed$/],
    ['an edit', s => s.write('wt wt/f', 'x'), 'uncommitted-changes', /1 uncommitted path/],
    [
      'a staged file',
      s => {
        s.write('wt wt/new', 'x')
        s.git('wt wt', 'add', 'new')
      },
      'uncommitted-changes',
      /1 uncommitted/,
    ],
    [
      'an untracked file, also where the user shows none',
      s => {
        s.git('r', 'config', 'status.showUntrackedFiles', 'no')
        s.write('wt wt/new', 'x')
      },
      'uncommitted-changes',
      /1 uncommitted/,
    ],
    ['a bisection', s => s.git('wt wt', 'bisect', 'start'), 'uncommitted-changes', /a bisect is in progress/],
    ['a lock', s => s.git('r', 'worktree', 'lock', '../wt wt'), 'locked', /git worktree unlock/],
    [
      'another branch checked out',
      s => s.git('wt wt', 'switch', '-q', '-c', 'b'),
      'other-branches',
      /has b checked out/,
    ],
    ['a detached HEAD', s => s.git('wt wt', 'switch', '-q', '--detach'), 'other-branches', /a detached HEAD/],
    [
      'the branch checked out a second time',
      s => s.git('r', 'worktree', 'add', '-q', '--force', '../twice', BRANCH),
      'other-branches',
      /also checked out in .*\/twice$/,
    ],
    [
      'a submission of another branch',
      s => {
        s.git('r', 'branch', 'b')
        hold(s, 'submission', { submissions: { 'refs/heads/b': 'whatever', [`refs/heads/${BRANCH}`]: {} } })
      },
      'other-branches',
      /it also has records of b$/,
    ],
    [
      'an open question of another branch',
      s => {
        s.git('r', 'branch', 'b')
        const branches = { 'refs/heads/b': { q: {} }, 'refs/heads/gone': { q: {} } }
        hold(s, 'checkpoint-open-questions', { branch: `refs/heads/${BRANCH}`, openQuestions: { q: {} }, branches })
      },
      'other-branches',
      /it also has records of b$/,
    ],
    ['a store that cannot be read', s => hold(s, 'effort-grant', { version: 2 }), 'other-branches', /cannot be read/],
    [
      'an unfinished landing of another branch',
      s => hold(s, 'acceptance-transaction.json', { worktree_branch: 'refs/heads/b' }),
      'other-branches',
      /not finished/,
    ],
    [
      'a ref of its own',
      s => s.git('wt wt', 'update-ref', 'refs/worktree/mine', 'HEAD'),
      'other-branches',
      /refs of its own: refs\/worktree\/mine/,
    ],
    [
      'a worktree inside',
      s => {
        s.write('r/.git/info/exclude', 'nested\n')
        s.git('r', 'worktree', 'add', '-q', '../wt wt/nested', '-b', 'nested')
      },
      'other-branches',
      /nested is inside it$/,
    ],
  ]
  for (const [name, arrange, reason, detail] of kept) {
    it(`keeps everything as it is because of ${name}`, async t => {
      const s = scratch(t)
      const commit = landed(s)
      arrange(s)
      const before = snapshot(s.dir)
      const result = await attempt(t, s, commit)
      assert.equal(result.status, 'retained', JSON.stringify(result))
      if (result.status === 'retained') {
        assert.deepEqual([result.reason, result.worktreeRemoved], [reason, false])
        assert.match(result.detail, detail)
      }
      assert.deepEqual(snapshot(s.dir), before)
    })
  }

  it('is not stopped by a grant, questions or a landing of the branch itself, nor by records of a branch that is gone', async t => {
    const s = scratch(t)
    const commit = landed(s)
    const { context, repository } = await openScratch(t, s, 'wt wt')
    await grantEffort(context, repository, `refs/heads/${BRANCH}`)
    await grantEffort(context, repository, 'refs/heads/gone')
    hold(s, 'checkpoint-open-questions', { branch: `refs/heads/${BRANCH}`, openQuestions: { q: {} } })
    hold(s, 'acceptance-transaction.json', { worktree_branch: `refs/heads/${BRANCH}` })
    const marker = `refs/worktree/discern/acceptance-transactions/${randomUUID()}`
    s.git('wt wt', 'update-ref', marker, commit)
    assert.equal((await attempt(t, s, commit)).status, 'retired')
  })

  it('keeps the main worktree, what is no worktree of this repository, and what git will not remove', async t => {
    const s = scratch(t)
    s.init('r')
    s.git('r', 'switch', '-q', '-c', BRANCH)
    const commit = s.git('r', 'rev-parse', 'HEAD')
    const { repository } = await openScratch(t, s, 'r')
    const request = { branch: `refs/heads/${BRANCH}`, landed: commit, worktreeTopLevel: s.path('r') }
    const main = await retire(repository, request)
    assert.equal(main.status === 'retained' && main.reason, 'main-worktree')
    s.init('stranger')
    const stranger = await retire(repository, { ...request, worktreeTopLevel: s.path('stranger') })
    assert.equal(stranger.status === 'retained' && stranger.reason, 'other-branches')
    s.git('r', 'switch', '-q', 'main')
    s.git('r', 'worktree', 'add', '-q', '../wt wt', BRANCH)
    s.init('part')
    s.git('wt wt', 'submodule', '--quiet', 'add', s.path('part'), 'part')
    const withPart = s.commit('wt wt', 'part')
    const refused = await attempt(t, s, withPart)
    assert.equal(refused.status === 'retained' && refused.reason, 'refused')
    assert.match(refused.status === 'retained' ? refused.detail : '', /submodules/)
    assert.equal(existsSync(s.path('wt wt/part/f')), true)
    const gone = await retire(repository, { ...request, worktreeTopLevel: s.path('nowhere') })
    assert.equal(gone.status === 'retained' && gone.reason, 'refused')
  })
})
