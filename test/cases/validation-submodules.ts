/** Repositories inside a checkout: their commits count, and what their commits do not tell makes a state incomplete (case 60). */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, it } from 'node:test'
import { type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'
import { captured, differing, incompleteOf, must } from '../support/validation.ts'

/** `base` with the submodule `sm`, which has the submodule `inner`; both are initialised. */
const template = (s: Scratch): void => {
  for (const name of ['inner', 'sm', 'base']) {
    s.init(name)
    if (name === 'inner') must(s, 'inner', 'git switch -qc next; echo 2 >f; git commit -qam next; git switch -q main')
    if (name === 'sm')
      must(
        s,
        'sm',
        'git submodule --quiet add ../inner inner; git commit -qam inner; git switch -qc next; echo 2 >f; git commit -qam next; git switch -q main',
      )
    if (name === 'base')
      must(
        s,
        'base',
        'git submodule --quiet add ../sm sm; git submodule --quiet update --init --recursive; git commit -qam sm',
      )
  }
}

/** A checkout of its own for a scenario; absolute paths of the submodules' git directories are relative already. */
const copy = (s: Scratch, number: number, script: string): string => {
  must(s, '.', `mkdir c${number}; cp -a base c${number}/r`)
  must(s, `c${number}/r`, script)
  return `c${number}/r`
}

const CONFLICT = `git switch -qc ours; git -C sm switch -q next; git commit -qam ours
  git switch -q main; git -C sm switch -q main; git -C sm commit -q --allow-empty -m other; git commit -qam theirs
  ! git merge -q ours >/dev/null 2>&1`

describe('submodules of a captured state', { concurrency: 2 }, () => {
  it('are told by depth, path and commit, and only by those', async t => {
    const s = scratch(t)
    template(s)
    const plain = await captured(s, 'base')
    assert.deepEqual(incompleteOf(plain), [])
    assert.deepEqual(plain.counts, { index_entries: 3, tracked_paths: 0, untracked_paths: 0, submodules: 2 })
    const rows: readonly (readonly [what: string, script: string, differs: readonly string[]])[] = [
      ['nothing', '', []],
      ['ignored files inside', `echo '*.ign' >>.git/modules/sm/info/exclude; echo 1 >sm/x.ign`, []],
      ['file times inside', `touch -d '2001-01-01' sm/f sm/inner/f`, []],
      ['a branch inside', 'git -C sm switch -qc other', []],
      [
        'settings that hide submodules',
        'git config diff.ignoreSubmodules all; git config submodule.sm.ignore all; git config submodule.recurse true; git config status.submoduleSummary true',
        [],
      ],
      ['another commit that is staged', 'git -C sm switch -q next; git add sm', ['index', 'submodules']],
      [
        'another commit that is committed',
        'git -C sm switch -q next; git commit -qam next',
        ['head', 'index', 'submodules'],
      ],
      ['a second one', 'git submodule --quiet add ../../inner more', ['index', 'submodules']],
    ]
    for (const [number, [what, script, differs]] of rows.entries()) {
      const state = await captured(s, copy(s, number, script))
      assert.deepEqual(incompleteOf(state), [], what)
      assert.deepEqual(differing(plain, state), differs, what)
    }
  })

  it('make a state incomplete by what their commits do not tell', async t => {
    const s = scratch(t)
    template(s)
    const rows: readonly (readonly [what: string, script: string, incomplete: readonly string[]])[] = [
      ['not initialised', 'git submodule --quiet deinit -f sm', ['submodules/unavailable']],
      ['not there', 'rm -r sm', ['submodules/unavailable']],
      ['a file in its place', 'rm -r sm; echo 1 >sm', ['submodules/unavailable']],
      ['a link to it in its place', 'mv sm elsewhere; ln -s elsewhere sm', ['submodules/unavailable']],
      ['with a broken pointer to its repository', 'echo gitdir: nowhere >sm/.git', ['submodules/unavailable']],
      ['with a repository that is broken', 'rm sm/.git; mkdir sm/.git', ['submodules/unavailable']],
      ['at another commit', 'git -C sm switch -q next', ['submodules/invalid']],
      ['with a changed file', 'echo 2 >sm/f', ['submodules/dirty']],
      ['with a staged change', 'echo 2 >sm/f; git -C sm add f', ['submodules/dirty']],
      [
        'with a change that is staged and taken back',
        'echo 2 >sm/f; git -C sm add f; echo 1 >sm/f',
        ['submodules/dirty'],
      ],
      ['with an untracked file', 'echo 2 >sm/n', ['submodules/dirty']],
      [
        'with a change, told to be ignored',
        'echo 2 >sm/f; git config -f .gitmodules submodule.sm.ignore all; git commit -qam ignore; git config diff.ignoreSubmodules all',
        ['submodules/dirty'],
      ],
      [
        'with a file that git is told to take as unchanged',
        'git -C sm update-index --assume-unchanged f; echo 2 >sm/f',
        ['submodules/invalid'],
      ],
      ['with a file that git is told to skip', 'git -C sm update-index --skip-worktree f', ['submodules/invalid']],
      [
        'with an untracked file that its settings do not show',
        'git -C sm config status.showUntrackedFiles no; echo 2 >sm/n',
        ['submodules/dirty'],
      ],
      [
        'with one inside that is not initialised',
        'git -C sm submodule --quiet deinit -f inner',
        ['submodules/unavailable'],
      ],
      ['with one inside that is changed', 'echo 2 >sm/inner/f', ['submodules/dirty']],
      ['with one inside at another commit', 'git -C sm/inner switch -q next', ['submodules/invalid']],
      [
        'with one inside staged at another commit',
        'git -C sm/inner switch -q next; git -C sm add inner',
        ['submodules/dirty'],
      ],
      ['in conflict', CONFLICT, ['submodules/invalid']],
      ['skipped and not there', 'git update-index --skip-worktree sm; rm -r sm', ['submodules/unavailable']],
    ]
    for (const [number, [what, script, incomplete]] of rows.entries()) {
      const state = await captured(s, copy(s, number, script))
      assert.deepEqual(incompleteOf(state), incomplete, what)
      assert.equal(state.digest, undefined, what)
      assert.equal(state.components?.submodules, undefined, what)
      for (const name of ['head', 'index', 'tracked', 'untracked'] as const) {
        assert.ok(state.components?.[name], `${what}: ${name} could be had`)
      }
    }
  })

  it('are looked at without a change to anything, in any of their repositories', async t => {
    const s = scratch(t)
    template(s)
    must(s, 'base', `touch -d '2001-01-01' f sm/f sm/inner/f; echo 2 >f`)
    const before = snapshot(s.path('base'))
    await captured(s, 'base')
    assert.deepEqual(snapshot(s.path('base')), before)
  })

  it('are found from a linked worktree too', async t => {
    const s = scratch(t)
    template(s)
    must(
      s,
      'base',
      'git worktree add -q ../wt main --detach; cd ../wt; git submodule --quiet update --init --recursive',
    )
    assert.equal((await captured(s, 'wt')).digest, (await captured(s, 'base')).digest)
  })

  it('are not told from those that only lie there, unless these have something that no commit has', async t => {
    const s = scratch(t)
    s.init('r')
    must(s, 'r', 'git init -q in; git -C in commit -q --allow-empty -m a')
    const clean = await captured(s, 'r')
    assert.deepEqual(incompleteOf(clean), [])
    assert.deepEqual([clean.counts.submodules, clean.counts.untracked_paths], [0, 1])
    must(s, 'r', 'echo 1 >in/n')
    assert.deepEqual(incompleteOf(await captured(s, 'r')), ['untracked/dirty'])
    must(s, 'r', 'rm -r in; git init -q in; echo 1 >in/n')
    assert.deepEqual(incompleteOf(await captured(s, 'r')), ['untracked/unavailable'])
    must(
      s,
      'r',
      `rm -r in; for n in "$(printf 'b\\377')" "$(printf 'b\\357\\277\\275')"; do git init -q "$n"; git -C "$n" commit -q --allow-empty -m a; done`,
    )
    assert.deepEqual(
      incompleteOf(await captured(s, 'r')),
      ['untracked/unavailable'],
      'no process starts in such a folder, and the one that is named like it is another',
    )
    assert.ok(existsSync(s.path('r/f')))
  })
})
