/** What doctor believes a fetch would do is what git does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tryFetch } from '../../src/commands/fetch-trial.ts'
import { scratch } from '../support/scratch.ts'

const HEADS = '+refs/heads/*:refs/remotes/origin/*'
const NOTES = '+refs/notes/discern*:refs/discern/remotes/origin/notes*'

/** Lines of one remote: every shape that people, other tools or we write. */
const CONFIGURATIONS: readonly (readonly [name: string, lines: readonly string[]])[] = [
  ['the ordinary line alone', [HEADS]],
  ['our mapping', [HEADS, NOTES]],
  ['our mapping twice', [HEADS, NOTES, NOTES]],
  ['an exact mapping', [HEADS, '+refs/notes/discern:refs/discern/remotes/origin/notes']],
  ['an exact mapping by a short name', [HEADS, 'notes/discern:refs/discern/remotes/origin/notes']],
  ['a forced mirror of all notes', [HEADS, '+refs/notes/*:refs/notes/*']],
  ['a mirror of everything', ['+refs/*:refs/*']],
  ['a line that keeps notes out', [HEADS, NOTES, '^refs/notes/*']],
  ['a line that keeps one ref out', [HEADS, NOTES, '^refs/notes/discern']],
  ['an exact line whose ref is kept out', [HEADS, 'refs/heads/main:refs/heads/copy', '^refs/heads/main']],
  ['two sources for one destination', ['refs/heads/main:refs/heads/one', 'refs/heads/side:refs/heads/one']],
  ['patterns that meet in one destination', [HEADS, NOTES, '+refs/heads/*:refs/discern/remotes/origin/*']],
  ['a pattern on one side alone', [HEADS, 'refs/notes/*:refs/notes/one']],
  ['a destination that is no ref name', [HEADS, 'refs/heads/main:refs/heads/a..b']],
  ['two patterns in one side', [HEADS, 'refs/*/x*:refs/y/*']],
  ['nothing is stored', ['refs/heads/main']],
  ['short names on both sides', ['main:landed']],
  ['an empty source', [':refs/heads/fetched']],
]

test('case 32: a trial fetch does what git does', async t => {
  const s = scratch(t)
  s.init('silent')
  s.git('silent', 'branch', 'side')
  s.exec('.', 'cp', ['-R', 'silent', 'published'])
  s.git('published', 'notes', '--ref=discern', 'add', '-m', 'a')
  s.git('published', 'notes', '--ref=discern-sibling', 'add', '-m', 'b')
  s.git('.', 'init', '-q', '-b', 'unborn', 'empty')
  for (const upstream of ['silent', 'published']) {
    const offered = ['HEAD', ...s.git(upstream, 'for-each-ref', '--format=%(refname)').split('\n')]
    for (const [number, [name, lines]] of CONFIGURATIONS.entries()) {
      await t.test(`${name}, ${upstream}`, async () => {
        const here = `${upstream}-${number}`
        s.exec('.', 'cp', ['-R', 'empty', here])
        const remote = ['[remote "origin"]', `url = ../${upstream}`, ...lines.map(line => `fetch = "${line}"`), '']
        s.write(`${here}/.git/config`, `${s.read(`${here}/.git/config`)}${remote.join('\n')}`)
        const trial = await tryFetch({ cwd: s.path(here), env: s.env }, lines, offered)
        const real = s.tryGit(here, 'fetch', '-q', '--no-tags', 'origin')
        assert.equal(trial.fatal.length > 0, real.exit !== 0, `${real.err} ${JSON.stringify(trial)}`)
        if (real.exit !== 0) return
        const refs = s.git(here, 'for-each-ref', '--format=%(refname)')
        const written = new Set(trial.writes.map(({ destination }) => destination))
        assert.deepEqual([...written].sort(), refs === '' ? [] : refs.split('\n'))
      })
    }
  }
})
