/** What a worktree or a commit changes against the policy commit, and that nothing but its bytes decides it. */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { changeOf, rows } from '../support/change.ts'
import { openScratch } from '../support/open.ts'
import { type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

/** A base with some files, and one change of every sort on top of it; returns the base. */
const everySort = (s: Scratch): string => {
  s.init('r')
  for (const name of ['committed', 'staged', 'unstaged', 'gone', 'gone-staged']) s.write(`r/${name}`, '1\n2\n3\n')
  const base = s.commit('r', 'base')
  s.write('r/committed', '1\n2\n3\n4\n')
  s.commit('r', 'work')
  s.write('r/staged', '1\n3\n')
  s.write('r/new-staged', 'a\nb')
  s.git('r', 'add', 'staged', 'new-staged')
  s.git('r', 'rm', '-q', 'gone-staged')
  s.write('r/unstaged', '1\n2\nthree\n')
  rmSync(s.path('r/gone'))
  s.write('r/untracked', 'x\ny')
  return base
}

const EVERY_SORT = [
  'committed modified +1 -0 text',
  'gone deleted +0 -3 text',
  'gone-staged deleted +0 -3 text',
  'new-staged added +2 -0 text',
  'staged modified +0 -1 text',
  'unstaged modified +1 -1 text',
  'untracked added +2 -0 text',
]

describe('the effort', () => {
  it('takes committed, staged, unstaged and untracked changes together', async t => {
    const s = scratch(t)
    const base = everySort(s)
    const { repository } = await openScratch(t, s, 'r')
    const change = await changeOf(repository, base)
    assert.deepEqual(rows(change), EVERY_SORT)
    assert.equal(change.base, base)
  })

  it('of a commit leaves out everything that is not in it', async t => {
    const s = scratch(t)
    const base = everySort(s)
    const commit = s.git('r', 'rev-parse', 'HEAD')
    const { repository } = await openScratch(t, s, 'r')
    assert.deepEqual(rows(await changeOf(repository, base, { kind: 'commit', commit })), [
      'committed modified +1 -0 text',
    ])
    assert.deepEqual(rows(await changeOf(repository, base, { kind: 'commit', commit: base })), [])
  })

  it('is read without writing to the repository, and leaves no temporary folder', async t => {
    const s = scratch(t)
    const base = everySort(s)
    s.write('r/link-to-be', 'x')
    const { repository } = await openScratch(t, s, 'r')
    const before = snapshot(s.path('r'))
    const index = readFileSync(s.path('r/.git/index'))
    await changeOf(repository, base)
    assert.deepEqual(snapshot(s.path('r')), before)
    assert.deepEqual(readFileSync(s.path('r/.git/index')), index)
    assert.deepEqual(
      readdirSync(s.dir).filter(name => name.startsWith('discern-objects-')),
      [],
    )
  })

  it('is unreadable as a whole when the policy commit is not there', async t => {
    const s = scratch(t)
    s.init('r')
    const { repository } = await openScratch(t, s, 'r')
    const { collectChange } = await import('../../src/change/effort.ts')
    const effort = await collectChange(repository, 'a'.repeat(40), { kind: 'worktree' })
    assert.equal(effort.status, 'unreadable')
  })

  it('counts a file that left the index but not the folder once: as changed, or, unchanged, as deleted', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/same', 'x\n')
    s.write('r/other', 'x\n')
    const base = s.commit('r', 'base')
    s.git('r', 'rm', '-q', '--cached', 'same', 'other')
    s.write('r/other', 'x\ny\n')
    const { repository } = await openScratch(t, s, 'r')
    assert.deepEqual(rows(await changeOf(repository, base)), ['other modified +1 -0 text', 'same deleted +0 -1 text'])
  })

  it('case 64: is the same under every diff setting', async t => {
    const s = scratch(t)
    const base = everySort(s)
    s.write('r/order', 'untracked\n')
    s.git('r', 'add', 'order')
    const expected = [...EVERY_SORT.slice(0, 4), 'order added +1 -0 text', ...EVERY_SORT.slice(4)]
    const settings: readonly (readonly [string, string])[] = [
      ['diff.noprefix', 'true'],
      ['diff.mnemonicPrefix', 'true'],
      ['diff.srcPrefix', 'x/'],
      ['color.ui', 'always'],
      ['color.diff', 'always'],
      ['diff.external', 'false'],
      ['diff.renames', 'copies'],
      ['diff.renames', 'false'],
      ['diff.algorithm', 'histogram'],
      ['diff.context', '0'],
      ['diff.interHunkContext', '99'],
      ['diff.orderFile', s.path('r/order')],
      ['diff.relative', 'true'],
      ['diff.submodule', 'log'],
      ['diff.wsErrorHighlight', 'all'],
      ['diff.suppressBlankEmpty', 'true'],
      ['core.quotePath', 'false'],
      ['core.pager', 'false'],
      ['core.whitespace', 'cr-at-eol,trailing-space'],
      ['diff.ignoreSubmodules', 'all'],
      ['core.bigFileThreshold', '1'],
      ['status.showUntrackedFiles', 'no'],
    ]
    const { collectLines } = await import('../../src/change/lines.ts')
    let lines: unknown
    for (const [key, value] of [['discern.none', 'x'] as const, ...settings]) {
      s.git('r', 'config', key, value)
      const { repository } = await openScratch(t, s, 'r')
      const change = await changeOf(repository, base)
      assert.deepEqual(rows(change), expected, `${key}=${value}`)
      const found = [
        ...(await collectLines(
          repository,
          change,
          expected.map(row => row.split(' ')[0] ?? ''),
        )),
      ]
      lines ??= found
      assert.deepEqual(found, lines, `${key}=${value}`)
      s.git('r', 'config', '--unset', key)
    }
    s.env.GIT_EXTERNAL_DIFF = 'false'
    s.env.GIT_DIFF_OPTS = '-u9'
    s.env.GIT_PAGER_IN_USE = '1'
    const { repository } = await openScratch(t, s, 'r')
    assert.deepEqual(rows(await changeOf(repository, base)), expected)
  })

  it('case 65: cannot be hidden by attributes in the work tree, the index, info/attributes or a textconv', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/s.ts', 'a\n')
    s.write('r/t.ts', 'a\n')
    const base = s.commit('r', 'base')
    s.write('r/.gitattributes', 's.ts -diff\nt.ts binary\n*.bin diff\nu.ts diff=none\n')
    s.git('r', 'config', 'diff.none.textconv', 'true')
    s.git('r', 'config', 'diff.none.binary', 'true')
    for (const name of ['s.ts', 't.ts', 'u.ts']) s.write(`r/${name}`, 'a\nb\n')
    s.write('r/x.bin', 'a\0b\n')
    s.git('r', 'add', '.gitattributes', 's.ts', 'u.ts', 'x.bin')
    s.write('r/.git/info/attributes', '*.ts -diff\n')
    const { repository } = await openScratch(t, s, 'r')
    const expected = [
      '.gitattributes added +4 -0 text',
      's.ts modified +1 -0 text',
      't.ts modified +1 -0 text',
      'u.ts added +2 -0 text',
      'x.bin added +0 -0 binary',
    ]
    assert.deepEqual(rows(await changeOf(repository, base)), expected)
    const commit = s.commit('r', 'all')
    assert.deepEqual(rows(await changeOf(repository, base, { kind: 'commit', commit })), expected)
  })

  it('is binary by a NUL among the first 8,000 bytes of either side and no later', async t => {
    const s = scratch(t)
    s.init('r')
    const nulAt = (at: number): Buffer => Buffer.concat([Buffer.alloc(at, 97), Buffer.from([0, 10])])
    s.write('r/was', nulAt(7999))
    const base = s.commit('r', 'base')
    s.write('r/was', 'text now\n')
    for (const where of ['tracked', 'untracked']) {
      s.write(`r/${where}-last`, nulAt(7999))
      s.write(`r/${where}-past`, nulAt(8000))
      s.write(`r/${where}-empty`, '')
    }
    s.git('r', 'add', 'tracked-last', 'tracked-past', 'tracked-empty')
    const { repository } = await openScratch(t, s, 'r')
    assert.deepEqual(rows(await changeOf(repository, base)), [
      'tracked-empty added +0 -0 text',
      'tracked-last added +0 -0 binary',
      'tracked-past added +1 -0 text',
      'untracked-empty added +0 -0 text',
      'untracked-last added +0 -0 binary',
      'untracked-past added +1 -0 text',
      'was modified +0 -0 binary',
    ])
  })

  it('agrees with a slow oracle about kinds and counts over random edits', async t => {
    const s = scratch(t)
    s.init('r')
    const names = ['a', 'b', 'd/c', 'd/e', 'z z']
    const content = fc.option(fc.array(fc.constantFrom('x', 'y', 'z', ''), { maxLength: 5 }), { nil: undefined })
    const state = fc.tuple(...names.map(() => content))
    const put = (texts: readonly (readonly string[] | undefined)[]): void =>
      names.forEach((name, at) => {
        const text = texts[at]
        rmSync(s.path('r', name), { force: true })
        if (text) s.write(`r/${name}`, text.map(line => `${line}\n`).join(''))
      })
    await fc.assert(
      fc.asyncProperty(state, state, state, state, async (first, second, third, fourth) => {
        put(first)
        const base = s.commit('r', 'base')
        put(second)
        s.commit('r', 'work')
        put(third)
        s.git('r', 'add', '-A')
        put(fourth)
        const { repository } = await openScratch(t, s, 'r')
        const found = rows(await changeOf(repository, base))
        const expected = names.flatMap((name, at) => {
          const [old, now] = [first[at], fourth[at]]
          // A file taken out of the index and put back as it was is a deletion to be committed.
          if (old && now && !third[at] && String(old) === String(now) && old.length === now.length) {
            return [`${name} deleted +0 -${old.length} text`]
          }
          if (old && now && JSON.stringify(old) === JSON.stringify(now)) return []
          if (!old && !now) return []
          const common = old && now ? longestCommon(old, now) : 0
          const kind = !old ? 'added' : !now ? 'deleted' : 'modified'
          return [`${name} ${kind} +${(now?.length ?? 0) - common} -${(old?.length ?? 0) - common} text`]
        })
        assert.deepEqual(found, expected)
      }),
      { numRuns: 12, seed: 7 },
    )
  })

  it('case 70: line endings and stat data that git would not commit are no change', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/.gitattributes', 'f text=auto\n')
    s.write('r/f', 'a\nb\n')
    s.write('r/touched', 'x\n')
    const base = s.commit('r', 'base')
    s.write('r/f', 'a\r\nb\r\n')
    utimesSync(s.path('r/touched'), 1, 1)
    const { repository } = await openScratch(t, s, 'r')
    assert.deepEqual(rows(await changeOf(repository, base)), [])
    s.write('r/f', 'a\r\nb\r\nc\r\n')
    s.git('r', 'config', 'core.safecrlf', 'true')
    assert.deepEqual(rows(await changeOf(repository, base)), ['f modified +1 -0 text'])
  })

  it('case 70: a file that is committed with CRLF changes by the lines that changed', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/f', 'a\r\nb\r\n')
    const base = s.commit('r', 'base')
    s.git('r', 'config', 'core.autocrlf', 'true')
    utimesSync(s.path('r/f'), 1, 1)
    const { repository } = await openScratch(t, s, 'r')
    assert.deepEqual(rows(await changeOf(repository, base)), [])
    s.write('r/f', 'a\r\nb\r\nc\r\n')
    assert.deepEqual(rows(await changeOf(repository, base)), ['f modified +1 -0 text'])
  })

  it('case 70: a clean filter that fails takes the facts of its own file and of no other', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/.gitattributes', '*.lfs filter=gone\n')
    s.write('r/a.lfs', 'x\n')
    s.write('r/b', 'x\n')
    const base = s.commit('r', 'base')
    s.git('r', 'config', 'filter.gone.clean', 'exit 1')
    s.git('r', 'config', 'filter.gone.required', 'true')
    s.write('r/a.lfs', 'longer\n')
    s.write('r/b', 'y\n')
    const { repository } = await openScratch(t, s, 'r')
    assert.deepEqual(rows(await changeOf(repository, base)), [
      'a.lfs modified +0 -0 unreadable',
      'b modified +1 -1 text',
    ])
  })

  it('case 72: modes, types and links are modifications, and no link is followed', async t => {
    const s = scratch(t)
    s.init('r')
    for (const name of ['mode', 'type', 'folder']) s.write(`r/${name}`, 'x\n')
    symlinkSync('here', s.path('r/link'))
    const base = s.commit('r', 'base')
    chmodSync(s.path('r/mode'), 0o755)
    rmSync(s.path('r/type'))
    symlinkSync('/etc/passwd', s.path('r/type'))
    rmSync(s.path('r/link'))
    symlinkSync('there', s.path('r/link'))
    rmSync(s.path('r/folder'))
    mkdirSync(join(s.path('r/folder')))
    s.write('r/folder/in', 'x\n')
    symlinkSync('loop', s.path('r/loop'))
    const { repository } = await openScratch(t, s, 'r')
    assert.deepEqual(rows(await changeOf(repository, base)), [
      'folder deleted +0 -1 text',
      'folder/in added +1 -0 text',
      'link modified +1 -1 text',
      'loop added +0 -0 unreadable',
      'mode modified +0 -0 text',
      'type modified +1 -1 text',
    ])
  })
})

/** Length of a longest common subsequence, by the textbook. */
const longestCommon = (left: readonly string[], right: readonly string[]): number => {
  const [head, ...rest] = left
  if (head === undefined || right.length === 0) return 0
  const at = right.indexOf(head)
  const skipped = longestCommon(rest, right)
  return at === -1 ? skipped : Math.max(skipped, 1 + longestCommon(rest, right.slice(at + 1)))
}
