/** Changes in repositories and with names that are out of the ordinary. */
import assert from 'node:assert/strict'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { collectChange } from '../../src/change/effort.ts'
import { collectLines } from '../../src/change/lines.ts'
import { untrackedBytes, untrackedCounts } from '../../src/change/untracked.ts'
import { changeOf, rows } from '../support/change.ts'
import { openScratch } from '../support/open.ts'
import { scratch } from '../support/scratch.ts'

describe('the effort in odd repositories', () => {
  it('case 58: a blobless clone whose remote is gone still names its paths, and says which facts are missing', async t => {
    const s = scratch(t)
    s.init('up')
    s.write('up/a', 'a\n')
    s.write('up/b', 'b\n')
    const base = s.commit('up', 'base')
    s.write('up/a', 'a\n2\n')
    const head = s.commit('up', 'work')
    s.git('up', 'config', 'uploadpack.allowFilter', 'true')
    s.git('.', 'clone', '-q', '--filter=blob:none', `file://${s.path('up')}`, 'p')
    renameSync(s.path('up'), s.path('up-gone'))
    s.write('p/b', 'b\n2\n')
    s.write('p/new', 'n\n')
    const { repository } = await openScratch(t, s, 'p')
    const change = await changeOf(repository, base)
    assert.deepEqual(rows(change), ['a modified +0 -0 object-missing', 'b modified +1 -0 text', 'new added +1 -0 text'])
    const lines = await collectLines(repository, change, ['a', 'b'])
    assert.deepEqual(lines.get('a'), { unavailable: 'object-missing' })
    assert.deepEqual(lines.get('b'), { known: { added: [Buffer.from('2')], removed: [] } })
    s.git('.', 'clone', '-q', '--filter=tree:0', '--no-checkout', `file://${s.path('up-gone')}`, 'q')
    renameSync(s.path('up-gone'), s.path('up-gone-too'))
    const second = await openScratch(t, s, 'q')
    const effort = await collectChange(second.repository, base, { kind: 'commit', commit: head })
    assert.equal(effort.status, 'unreadable')
  })

  it('case 59: what a sparse checkout or skip-worktree leaves out is no deletion', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/in/a', 'x\n')
    s.write('r/out/b', 'x\n')
    s.write('r/skipped', 'x\n')
    const base = s.commit('r', 'base')
    s.git('r', 'update-index', '--skip-worktree', 'skipped')
    rmSync(s.path('r/skipped'))
    s.git('r', 'sparse-checkout', 'set', '--cone', '--sparse-index', 'in')
    s.write('r/in/a', 'y\n')
    const { repository } = await openScratch(t, s, 'r')
    const found = rows(await changeOf(repository, base))
    assert.deepEqual(found, ['in/a modified +1 -1 text'])
  })

  it('case 60: a moved or dirty submodule shows whatever anybody says to ignore', async t => {
    const s = scratch(t)
    s.init('lib')
    s.init('r')
    s.git('r', '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', s.path('lib'), 'sm')
    s.git('r', 'config', '-f', '.gitmodules', 'submodule.sm.ignore', 'all')
    s.git('r', 'config', 'diff.ignoreSubmodules', 'all')
    s.git('r', 'config', 'submodule.sm.ignore', 'all')
    s.git('r', 'config', 'submodule.recurse', 'true')
    s.git('r', 'add', '-A')
    s.git('r', 'commit', '-q', '-m', 'base')
    const base = s.git('r', 'rev-parse', 'HEAD')
    const { repository } = await openScratch(t, s, 'r')
    assert.deepEqual(rows(await changeOf(repository, base)), [])
    s.write('r/sm/f', 'dirty\n')
    assert.deepEqual(rows(await changeOf(repository, base)), ['sm modified +1 -1 unreadable'])
    s.commit('r/sm', 'moved')
    const change = await changeOf(repository, base)
    assert.deepEqual(rows(change), ['sm modified +1 -1 unreadable'])
    assert.deepEqual(await collectLines(repository, change, ['sm']), new Map([['sm', { unavailable: 'unreadable' }]]))
    s.git('r', '-c', 'diff.ignoreSubmodules=none', 'update-index', 'sm')
    s.git('r', 'commit', '-q', '--allow-empty', '-m', 'moved')
    const commit = s.git('r', 'rev-parse', 'HEAD')
    assert.deepEqual(rows(await changeOf(repository, base, { kind: 'commit', commit })), [
      'sm modified +1 -1 unreadable',
    ])
  })

  it('case 67: names of any bytes are told apart, tracked, modified and untracked', async t => {
    const s = scratch(t)
    s.init('r')
    const names = [
      'new\nline',
      'ta\tb',
      'q"uote',
      'a\\b',
      'x ',
      ' lead',
      'p b/q',
      'a -> b',
      '-n',
      ':(top)x',
      'cr\r',
      '*',
    ]
    const raw = [Buffer.from('bad\xff', 'latin1'), Buffer.from('bad\xfe', 'latin1')]
    const all = [...names.map(name => Buffer.from(name)), ...raw]
    const put = (name: Buffer, text: string): void =>
      writeFileSync(Buffer.concat([Buffer.from(`${s.path('r')}/`), name]), text)
    s.write('r/p b/keep', '')
    const base = s.commit('r', 'base')
    for (const name of all) put(name, 'x\n')
    const { repository } = await openScratch(t, s, 'r')
    const strings = [...names, 'bad\udcff', 'bad\udcfe'].sort()
    const expected = (kind: string, counts: string) => strings.map(name => `${name} ${kind} ${counts} text`)
    assert.deepEqual(rows(await changeOf(repository, base)), expected('added', '+1 -0'))
    const added = s.commit('r', 'names')
    assert.deepEqual(rows(await changeOf(repository, base)), expected('added', '+1 -0'))
    for (const name of all) put(name, 'y\nz\n')
    const change = await changeOf(repository, added)
    assert.deepEqual(rows(change), expected('modified', '+2 -1'))
    const lines = await collectLines(repository, change, strings)
    assert.equal(lines.size, all.length)
    for (const [path, fact] of lines) {
      const known = { added: [Buffer.from('y'), Buffer.from('z')], removed: [Buffer.from('x')] }
      assert.deepEqual(fact, { known }, JSON.stringify(path))
    }
  })

  it('case 69: untracked files are seen whatever the setting, ignored ones are not, a nested repository is not read', async t => {
    const s = scratch(t)
    s.init('r')
    const base = s.git('r', 'rev-parse', 'HEAD')
    s.git('r', 'config', 'status.showUntrackedFiles', 'no')
    s.write('r/u/deep', 'u\n')
    s.write('r/ignored', 'u\n')
    s.write('r/.git/info/exclude', 'ignored\n')
    s.init('r/nested')
    const { repository } = await openScratch(t, s, 'r')
    assert.deepEqual(rows(await changeOf(repository, base)), [
      'nested/ added +0 -0 unreadable',
      'u/deep added +1 -0 text',
    ])
  })

  it('case 72: a FIFO in the place of a tracked file or beside it does not block', async t => {
    const s = scratch(t)
    s.init('r')
    const base = s.git('r', 'rev-parse', 'HEAD')
    rmSync(s.path('r/f'))
    assert.equal(s.exec('r', 'mkfifo', ['f', 'pipe']).exit, 0)
    const { repository } = await openScratch(t, s, 'r')
    const change = await changeOf(repository, base)
    assert.deepEqual(rows(change), ['f modified +0 -0 unreadable'])
    assert.deepEqual(await collectLines(repository, change, ['f']), new Map([['f', { unavailable: 'unreadable' }]]))
    assert.equal(await untrackedCounts(s.path('r'), 'pipe'), undefined)
    assert.equal(await untrackedBytes(s.path('r'), 'pipe', 10), undefined)
  })

  it('case 74: a rename that changes only the case is a deletion and an addition', async t => {
    const s = scratch(t)
    s.init('r')
    const base = s.git('r', 'rev-parse', 'HEAD')
    s.git('r', 'mv', 'f', 'F')
    s.git('r', 'config', 'core.ignoreCase', 'true')
    const { repository } = await openScratch(t, s, 'r')
    assert.deepEqual(rows(await changeOf(repository, base)), ['F added +1 -0 text', 'f deleted +0 -1 text'])
  })

  it('case 61: works with SHA-256 objects', async t => {
    const s = scratch(t)
    s.init('r', '--object-format=sha256')
    const base = s.git('r', 'rev-parse', 'HEAD')
    s.write('r/f', '1\n2\n')
    const { repository } = await openScratch(t, s, 'r')
    const change = await changeOf(repository, base)
    assert.deepEqual(rows(change), ['f modified +1 -0 text'])
    const lines = await collectLines(repository, change, ['f'])
    assert.deepEqual(lines.get('f'), { known: { added: [Buffer.from('2')], removed: [] } })
  })

  it('case 76: an unmerged path is listed once, as what the work tree holds', async t => {
    const s = scratch(t)
    s.init('r')
    const base = s.git('r', 'rev-parse', 'HEAD')
    s.git('r', 'checkout', '-q', '-b', 'other')
    s.write('r/f', 'other\n')
    s.commit('r', 'other')
    s.git('r', 'checkout', '-q', 'main')
    s.write('r/f', 'main\n')
    s.commit('r', 'main')
    assert.equal(s.tryGit('r', 'merge', 'other').exit, 1)
    const { repository } = await openScratch(t, s, 'r')
    assert.deepEqual(rows(await changeOf(repository, base)), ['f modified +5 -1 text'])
  })

  it('case 80: 20,001 changed paths are counted one by one', async t => {
    const s = scratch(t)
    s.init('r')
    const base = s.git('r', 'rev-parse', 'HEAD')
    const entries = Array.from({ length: 20_001 }, (_, at) => `M 100644 inline d${at % 50}/f${at}\ndata 2\nx\n`)
    const stream = `commit refs/heads/wide\ncommitter D <d@e> 0 +0000\ndata 1\nw\nfrom ${base}\n${entries.join('\n')}\n`
    assert.equal(s.exec('r', 'git', ['fast-import', '--quiet'], { input: stream }).exit, 0)
    const commit = s.git('r', 'rev-parse', 'wide')
    const { repository } = await openScratch(t, s, 'r')
    const { files } = await changeOf(repository, base, { kind: 'commit', commit })
    assert.equal(files.length, 20_001)
    assert.equal(files.filter(({ kind, insertions }) => kind === 'added' && insertions === 1).length, 20_001)
  })
})
