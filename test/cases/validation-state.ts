/** Which differences of a checkout a captured state tells apart, and which it must not see. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { StateEvidence } from '../../src/logbook/event.ts'
import { openKey } from '../../src/store/hmac-key.ts'
import { openScratch } from '../support/open.ts'
import { type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'
import { captured, differing, incompleteOf, must } from '../support/validation.ts'

/** A repository that holds one of each kind of entry. */
const template = (s: Scratch, ...init: string[]): void => {
  s.git('.', 'init', '-q', ...init, 'base')
  must(
    s,
    'base',
    `echo 1 >f; printf 'a\\0b' >bin; ln -s f link; echo x >exe; chmod 755 exe; mkdir dir other
     echo a >dir/a; echo b >dir/b; echo c >other/c; echo '*.ign' >.gitignore; echo 1 >x.ign
     git add -A; git commit -qm one
     git switch -qc side; echo side >f; git commit -qam side; git switch -q main`,
  )
}

type Row = readonly [what: string, one: string, other: string, differs: readonly string[]]

const CONFLICT = 'echo main >f; git commit -qam main; ! git merge -q side >/dev/null'

const PAIRS: readonly Row[] = [
  ['another commit with the same files', '', 'git commit -q --allow-empty -m two', ['head']],
  ['a staged change and the same one unstaged', 'echo 2 >f; git add f', 'echo 2 >f', ['index', 'tracked']],
  ['a change in the index alone', '', 'echo 2 >f; git add f; echo 1 >f', ['index', 'tracked']],
  [
    'two changes in the index under the same file',
    'echo 2 >f; git add f; echo 9 >f',
    'echo 3 >f; git add f; echo 9 >f',
    ['index'],
  ],
  ['two changes of a file', 'echo 2 >f', 'echo 3 >f', ['tracked']],
  ['one byte of a binary file', `printf 'a\\0c' >bin`, `printf 'a\\0d' >bin`, ['tracked']],
  ['a deleted file', '', 'rm f', ['tracked']],
  ['a deleted file and an empty one', 'rm f', ': >f', ['tracked']],
  [
    'a deleted file and one that is no longer tracked',
    'rm f',
    'git rm -q --cached f',
    ['index', 'tracked', 'untracked'],
  ],
  ['a deleted file and an empty folder', 'rm f', 'rm f; mkdir f', ['tracked']],
  ['an executable bit', '', 'chmod +x f', ['tracked']],
  ['an executable bit in the index alone', '', 'git update-index --chmod=+x f', ['index', 'tracked']],
  ['an executable bit of a changed file', 'echo 2 >f', 'echo 2 >f; chmod +x f', ['tracked']],
  ['an executable bit taken away', '', 'chmod -x exe', ['tracked']],
  ['the target of a link', 'ln -sf exe link', 'ln -sf bin link', ['tracked']],
  ['a link and a file with its target as text', 'ln -sf exe link', 'rm link; printf exe >link', ['tracked']],
  ['a link and a file with what it leads to', 'rm f; ln -s exe f', 'cat exe >f', ['tracked']],
  ['an untracked file', '', 'echo n >n', ['untracked']],
  ['an untracked empty file', '', ': >n', ['untracked']],
  ['the content of an untracked file', 'echo n >n', 'echo m >n', ['untracked']],
  ['the name of an untracked file', 'echo n >n', 'echo n >m', ['untracked']],
  ['where a name ends and the content starts', 'printf bc >a', 'printf c >ab', ['untracked']],
  ['two files and one with the same bytes', 'printf a >a; printf b >b', 'printf apathbkindb >a', ['untracked']],
  ['an executable bit of an untracked file', 'echo n >n', 'echo n >n; chmod +x n', ['untracked']],
  ['an untracked link and a file with its target as text', 'ln -s f n', 'printf f >n', ['untracked']],
  ['the target of an untracked link that leads nowhere', 'ln -s a n', 'ln -s b n', ['untracked']],
  ['an untracked file and the same one staged', 'echo n >n', 'echo n >n; git add n', ['index', 'untracked']],
  [
    'an untracked file and one that is meant to be added',
    'echo n >n',
    'echo n >n; git add -N n',
    ['index', 'tracked', 'untracked'],
  ],
  ['names that are no text', `echo n >"$(printf 'b\\376')"`, `echo n >"$(printf 'b\\377')"`, ['untracked']],
  ['a name with a newline and two names', `echo n >"$(printf 'a\\nb')"`, 'echo n >a; echo n >b', ['untracked']],
  [
    'tracked names that are no text',
    `echo n >"$(printf 'b\\376')"; git add -A; echo mm >"$(printf 'b\\376')"`,
    `echo n >"$(printf 'b\\377')"; git add -A; echo mm >"$(printf 'b\\377')"`,
    ['index', 'tracked'],
  ],
  [
    'a file that git is told to take as unchanged',
    'git update-index --assume-unchanged f',
    'git update-index --assume-unchanged f; echo 2 >f',
    ['tracked'],
  ],
  [
    'the mark that a file is to be taken as unchanged',
    '',
    'git update-index --assume-unchanged f',
    ['index', 'tracked'],
  ],
  [
    'a file that git is told to skip',
    'git update-index --skip-worktree f',
    'git update-index --skip-worktree f; echo 2 >f',
    ['tracked'],
  ],
  [
    'a skipped file that is not there',
    'git update-index --skip-worktree f',
    'git update-index --skip-worktree f; rm f',
    ['tracked'],
  ],
  [
    'a file with both marks',
    'git update-index --assume-unchanged f; git update-index --skip-worktree f',
    'git update-index --assume-unchanged f; git update-index --skip-worktree f; chmod +x f',
    ['tracked'],
  ],
  ['which of the two marks', 'git update-index --assume-unchanged f', 'git update-index --skip-worktree f', ['index']],
  ['a sparse checkout', '', 'git status >/dev/null; git sparse-checkout set --cone dir', ['index', 'tracked']],
  [
    'two sparse checkouts',
    'git status >/dev/null; git sparse-checkout set --cone dir',
    'git status >/dev/null; git sparse-checkout set --cone other',
    ['index', 'tracked'],
  ],
  ['a conflict and its file put right but not staged', CONFLICT, `${CONFLICT}; echo both >f`, ['tracked']],
  [
    'a conflict and its solution',
    `${CONFLICT}; echo both >f`,
    `${CONFLICT}; echo both >f; git add f`,
    ['index', 'tracked'],
  ],
  [
    'what is behind a folder that became a link',
    'mv dir real; ln -s real dir',
    'mv dir real; ln -s real dir; echo 2 >real/a',
    ['untracked'],
  ],
  [
    'a file of a folder that became a link and the folder',
    'mv dir real; ln -s real dir',
    'cp -r dir real',
    ['tracked', 'untracked'],
  ],
  [
    'a clean repository inside at another commit',
    'git init -q in; git -C in commit -q --allow-empty -m a',
    'git init -q in; git -C in commit -q --allow-empty -m b',
    ['untracked'],
  ],
  [
    'a clean repository inside in place of a file',
    'rm f; git init -q f; git -C f commit -q --allow-empty -m a',
    'rm f; git init -q f; git -C f commit -q --allow-empty -m b',
    ['tracked'],
  ],
]

const SAME: readonly (readonly [what: string, one: string, other: string])[] = [
  ['nothing at all', '', ''],
  ['file times', '', `touch -d '2001-01-01' f dir/a; chmod 644 f`],
  ['file times of changed files', 'echo 2 >f; echo n >n', `echo 2 >f; echo n >n; touch -d '2001-01-01' f n`],
  [
    'a renewed index',
    `touch -d '2001-01-01' f`,
    `touch -d '2001-01-01' f; git update-index --refresh >/dev/null; git status >/dev/null`,
  ],
  ['version 4 of the index', '', 'git update-index --index-version 4; git update-index --force-write-index'],
  ['a split index', 'echo 2 >f; git add f', 'git update-index --split-index; echo 2 >f; git add f'],
  [
    'a sparse index',
    'git status >/dev/null; git sparse-checkout set --cone dir',
    'git status >/dev/null; git sparse-checkout set --cone --sparse-index dir',
  ],
  ['the cache of untracked files', 'echo n >n', 'git update-index --untracked-cache; git status >/dev/null; echo n >n'],
  [
    'a monitor that says nothing changed',
    'echo 2 >f',
    `printf '#!/bin/sh\\nprintf 1\\\\\\\\0\\n' >.git/mon; chmod +x .git/mon; git config core.fsmonitor .git/mon; touch -d '2001-01-01' f; git update-index --fsmonitor; git status >/dev/null; git status >/dev/null; echo 2 >f; test -z "$(git status --porcelain)"`,
  ],
  [
    'settings of status, diff and colour',
    'echo 2 >f; echo n >n',
    'echo 2 >f; echo n >n; git config status.showUntrackedFiles no; git config status.renames copies; git config diff.external false; git config color.ui always; git config status.short true; git config status.branch false; git config status.showStash true; git config diff.ignoreSubmodules all; git config core.quotePath false; git config submodule.recurse true; git config diff.autoRefreshIndex false',
  ],
  ['packed objects', 'echo 2 >f', 'echo 2 >f; git gc -q'],
  [
    'the name of the branch, other refs, stashes and notes',
    '',
    'git switch -qc else; git tag t; git notes add -m n; echo 2 >f; git stash -q',
  ],
  ['a detached head', '', 'git switch -q --detach'],
  ['ignored files', '', 'echo 2 >x.ign; echo 3 >y.ign'],
  ['an empty folder', '', 'mkdir e'],
  [
    'bits that git does not record',
    'echo 2 >f; echo n >n; chmod 644 f n',
    'echo 2 >f; echo n >n; chmod 610 f; chmod 606 n',
  ],
  ['what is outside, behind a link', 'ln -s ../out n; echo 1 >../out', 'ln -s ../out n; echo 2 >../out'],
  ['the way to the same index', 'echo 2 >f; git add f; git reset -q; echo 1 >f', ''],
  ['a replaced object', '', 'git replace HEAD side'],
]

describe('a captured state', { concurrency: 2 }, () => {
  for (const format of ['sha1', 'sha256']) {
    it(`differs exactly in what differs (${format})`, async t => {
      const s = scratch(t)
      template(s, `--object-format=${format}`)
      const rows = PAIRS.filter((_, number) => format === 'sha1' || number % 4 === 0)
      const states = await statesAfter(
        s,
        rows.flatMap(([, one, other]) => [one, other]),
      )
      for (const [what, one, other, differs] of rows) {
        const [left, right] = [states(one), states(other)]
        assert.deepEqual([incompleteOf(left), incompleteOf(right)], [[], []], what)
        assert.deepEqual(differing(left, right), differs, what)
        assert.notEqual(left.digest, right.digest, what)
      }
    })
  }

  it('is the same whatever git or the file system remembers otherwise', async t => {
    const s = scratch(t)
    template(s)
    const states = await statesAfter(
      s,
      SAME.flatMap(([, one, other]) => [one, other]),
    )
    for (const [what, one, other] of SAME) {
      const [left, right] = [states(one), states(other)]
      assert.deepEqual([incompleteOf(left), incompleteOf(right)], [[], []], what)
      assert.deepEqual(differing(left, right), [], what)
      assert.equal(left.digest, right.digest, what)
    }
  })

  it('is the same in every worktree, and under another key has nothing in common', async t => {
    const s = scratch(t)
    template(s)
    const key = async (cwd: string) => openKey((await openScratch(t, s, cwd)).repository)
    must(s, 'base', 'git worktree add -q --detach ../wt main; cp x.ign ../wt')
    must(s, 'base', 'echo 2 >f; echo n >n')
    must(s, 'wt', 'echo 2 >f; echo n >n')
    must(s, '.', 'git clone -q base clone; echo 2 >clone/f; echo n >clone/n')
    const here = await captured(s, 'base', { key: key('base') })
    assert.deepEqual(incompleteOf(here), [])
    assert.equal((await captured(s, 'wt', { key: key('wt') })).digest, here.digest)
    const elsewhere = await captured(s, 'clone', { key: key('clone') })
    assert.deepEqual(differing(here, elsewhere), ['head', 'index', 'tracked', 'untracked', 'submodules'])
    assert.notEqual(elsewhere.digest, here.digest)
  })

  it('takes no lock and writes nothing, however stale the index is', async t => {
    const s = scratch(t)
    template(s)
    must(s, 'base', `touch -d '2001-01-01' f dir/a; echo 2 >exe; : >.git/index.lock`)
    const before = snapshot(s.path('base'))
    assert.deepEqual(incompleteOf(await captured(s, 'base')), [])
    assert.deepEqual(snapshot(s.path('base')), before)
  })

  it('is incomplete by whatever cannot be had, and has the rest', async t => {
    const s = scratch(t)
    template(s)
    const real = s.sh('.', 'command -v git').out.trim()
    const rows: readonly (readonly [
      what: string,
      script: string,
      incomplete: readonly string[],
      had: readonly string[],
      wrapper?: string,
    ])[] = [
      [
        'no commit',
        'git switch -q --orphan none',
        ['head/unavailable'],
        ['index', 'tracked', 'untracked', 'submodules'],
      ],
      [
        'a FIFO in place of a file',
        'rm f; mkfifo f',
        ['tracked/invalid'],
        ['head', 'index', 'untracked', 'submodules'],
      ],
      [
        'a FIFO behind a mark',
        'git update-index --assume-unchanged f; rm f; mkfifo f',
        ['tracked/invalid'],
        ['head', 'index', 'untracked', 'submodules'],
      ],
      [
        'an index that is no index',
        'echo x >.git/index',
        ['head/unavailable', 'index/unavailable', 'tracked/unavailable', 'untracked/unavailable'],
        [],
      ],
      [
        'an unknown tag',
        '',
        ['index/invalid'],
        ['head', 'untracked'],
        `*ls-files*--stage*) '${real}' "$@" | tr '\\0' '\\n' | sed 's/^H/X/' | tr '\\n' '\\0'; exit ;;`,
      ],
      [
        'an unknown kind of difference',
        '',
        ['head/invalid', 'tracked/invalid'],
        ['index', 'untracked', 'submodules'],
        `*status*) printf '3 what\\0'; exit ;;`,
      ],
      [
        'no git',
        '',
        ['head/unavailable', 'index/unavailable', 'tracked/unavailable', 'untracked/unavailable'],
        [],
        `*status*|*ls-files*) exit 127 ;;`,
      ],
      [
        'a git that dies',
        '',
        ['untracked/unavailable'],
        ['head', 'index', 'tracked', 'submodules'],
        `*--others*) kill -9 $$ ;;`,
      ],
      [
        'an untracked file that vanishes',
        '',
        ['untracked/unreadable'],
        ['head', 'index', 'tracked', 'submodules'],
        `*--others*) printf 'gone\\0'; exit ;;`,
      ],
    ]
    for (const [number, [what, script, incomplete, had, wrapper]] of rows.entries()) {
      must(s, '.', `cp -a base i${number}`)
      must(s, `i${number}`, script)
      s.write(`bin${number}/git`, `#!/bin/sh\ncase "$*" in\n${wrapper ?? ''}\nesac\nexec '${real}' "$@"\n`, 0o755)
      const state = await captured(s, `i${number}`, { env: { PATH: `${s.path(`bin${number}`)}:${s.env['PATH']}` } })
      assert.deepEqual(incompleteOf(state), incomplete, what)
      assert.deepEqual(Object.keys(state.components ?? {}), had, what)
      assert.equal(state.digest, undefined, what)
      assert.deepEqual(state.exclusions, [
        'ignored-files',
        'external-services',
        'clocks',
        'random-seeds',
        'runtime-environment',
        'concurrent-external-processes',
      ])
    }
  })
})

/** The state after each script, each in a copy of its own. */
const statesAfter = async (s: Scratch, scripts: readonly string[]): Promise<(script: string) => StateEvidence> => {
  const names = new Map([...new Set(scripts)].map((script, number) => [script, `p${number}/r`]))
  const all = [...names].map(([script, name]) => `mkdir -p ${name}; cp -a base/. ${name}; (cd ${name}; ${script})`)
  must(s, '.', all.join('\n'))
  const states = new Map<string, StateEvidence>()
  const rest = [...names]
  const worker = async (): Promise<void> => {
    for (let next = rest.pop(); next; next = rest.pop()) states.set(next[0], await captured(s, next[1]))
  }
  await Promise.all([worker(), worker()])
  return script => states.get(script) ?? assert.fail(script)
}
