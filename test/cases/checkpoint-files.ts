/** Field situations of files, names and settings, each through `git discern checkpoints`: a change reads the same for everybody. */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { describe, it } from 'node:test'
import { governed, look, POLICY, seen } from '../support/reading.ts'
import { type Loose, scratch } from '../support/scratch.ts'

describe('checkpoints on files that are out of the ordinary', { concurrency: true }, () => {
  it('case 64: answers byte for byte the same under every diff setting, clean or not', async t => {
    const s = scratch(t)
    governed(s, { old: 'a\nb  \n\nc\n', gone: 'x\n', 'bin.dat': 'a\0b' })
    s.write('r/old', 'a\nb  \n\neval(x)\r\nc\n')
    s.git('r', 'mv', 'gone', 'moved')
    s.write('r/bin.dat', 'a\0c')
    s.write('r/ä', 'x\n')
    s.commit('r', 'work')
    const settings: readonly (readonly [string, string])[] = [
      ['diff.noprefix', 'true'],
      ['diff.mnemonicPrefix', 'true'],
      ['diff.srcPrefix', 'x/'],
      ['diff.dstPrefix', 'y/'],
      ['color.ui', 'always'],
      ['color.diff', 'always'],
      ['diff.external', 'false'],
      ['diff.renames', 'copies'],
      ['diff.renames', 'false'],
      ['diff.algorithm', 'histogram'],
      ['diff.context', '0'],
      ['diff.interHunkContext', '99'],
      ['diff.orderFile', s.write('order', 'ä\nmoved\n')],
      ['diff.relative', 'true'],
      ['diff.submodule', 'log'],
      ['diff.wsErrorHighlight', 'all'],
      ['diff.suppressBlankEmpty', 'true'],
      ['diff.colorMoved', 'zebra'],
      ['core.quotePath', 'false'],
      ['core.pager', 'false'],
      ['core.whitespace', 'cr-at-eol,trailing-space'],
      ['core.bigFileThreshold', '1'],
      ['diff.ignoreSubmodules', 'all'],
      ['status.showUntrackedFiles', 'no'],
      ['status.relativePaths', 'true'],
      ['status.renames', 'copies'],
    ]
    // Some at a time; each by itself is in the tests of the effort.
    const together = (some: typeof settings): Readonly<Record<string, string>> => ({
      GIT_CONFIG_COUNT: String(some.length),
      ...Object.fromEntries(some.map(([key], at) => [`GIT_CONFIG_KEY_${at}`, key])),
      ...Object.fromEntries(some.map(([, value], at) => [`GIT_CONFIG_VALUE_${at}`, value])),
    })
    const environments = [
      ...[0, 4, 8, 12, 16, 20, 24].map(at => together(settings.slice(at, at + 4))),
      { GIT_EXTERNAL_DIFF: 'false', GIT_DIFF_OPTS: '-u9', GIT_PAGER_IN_USE: '1' },
    ]
    const answer = async (env = {}): Promise<string> => (await s.discern('r', ['checkpoints', '--json'], { env })).out
    const expected = (...more: readonly string[]): unknown => {
      const paths = ['bin.dat', 'gone', 'moved', 'old', ...more, 'ä']
      return { paths, line: ['old', ...more], binary: ['bin.dat'], story: paths }
    }
    const clean = await answer()
    assert.deepEqual(seen(JSON.parse(clean).data), expected())
    s.write('r/u', 'eval(u)\n')
    const plain = await answer()
    assert.deepEqual(seen(JSON.parse(plain).data), expected('u'))
    for (const env of environments) assert.equal(await answer(env), plain, JSON.stringify(env))
    for (const [key, value] of settings) s.git('r', 'config', key, value)
    assert.equal(await answer(), plain, 'all of them at once, in the repository itself')
    rmSync(s.path('r/u'))
    assert.equal(await answer(), clean)
    assert.equal(await answer(environments.at(-1)), clean)
  })

  it('case 65: no attribute or textconv of the branch hides content, and the change of the attributes is seen', async t => {
    const s = scratch(t)
    governed(s, { 't.ts': 'a\n' })
    s.git('r', 'config', 'diff.none.textconv', 'true')
    s.git('r', 'config', 'diff.none.binary', 'true')
    s.write('r/.gitattributes', '*.ts -diff\nt.ts binary\nu.ts diff=none\n*.dat diff text\n')
    for (const name of ['s.ts', 't.ts', 'u.ts']) s.write(`r/${name}`, 'eval(x)\n')
    s.write('r/x.dat', 'eval(\0)\n')
    s.write('r/.git/info/attributes', '*.ts -diff\n')
    const expected = {
      paths: ['.gitattributes', 's.ts', 't.ts', 'u.ts', 'x.dat'],
      line: ['s.ts', 't.ts', 'u.ts'],
      binary: ['x.dat'],
    }
    assert.deepEqual(await look(s), { ...expected, story: 'min_commits' })
    s.git('r', 'add', '-A')
    assert.deepEqual(await look(s), { ...expected, story: 'min_commits' })
    s.commit('r', 'x')
    assert.deepEqual(await look(s), { ...expected, story: expected.paths })
  })

  it('case 67: names of any bytes are told apart and shown so that they can be read back', async t => {
    const s = scratch(t)
    governed(s)
    const names = ['new\nline', 'ta\tb', 'q"uote', 'a\\b', 'x ', 'p b/q', 'a -> b', '-n', ':(top)x', '*', 'ü']
    const put = (name: Buffer): void =>
      writeFileSync(Buffer.concat([Buffer.from(`${s.path('r')}/`), name]), 'eval(x)\n')
    mkdirSync(s.path('r/p b'))
    for (const name of names) put(Buffer.from(name))
    for (const last of [0xfe, 0xff]) put(Buffer.from([0x62, 0x61, 0x64, last]))
    const shown = [
      '*',
      '-n',
      ':(top)x',
      'a -> b',
      '"a\\\\b"',
      '"bad\\376"',
      '"bad\\377"',
      '"new\\nline"',
      'p b/q',
      '"q\\"uote"',
      '"ta\\tb"',
      'x ',
      'ü',
    ]
    const all = (found: Readonly<Record<string, unknown>>): unknown =>
      Object.fromEntries(['paths', 'line'].map(id => [id, [...(found[id] as string[])].sort()]))
    const expected = { paths: [...shown].sort(), line: [...shown].sort() }
    assert.deepEqual(all(await look(s)), expected)
    s.sh('r', 'git add -A "bad$(printf "\\377")" "new\nline"')
    assert.deepEqual(all(await look(s)), expected)
    s.commit('r', 'names')
    assert.deepEqual(all(await look(s)), expected)
  })

  it('case 70: line endings of the work tree change nothing and reopen nothing; a failing filter costs its own file', async t => {
    const s = scratch(t)
    governed(s, { '.gitattributes': '* text=auto\n*.lfs filter=gone\n', crlf: 'a\n', 'a.lfs': 'x\n' })
    s.write('r/code', 'eval(x)\nb\n')
    s.commit('r', 'code')
    await s.discern('r', ['done', '--json'])
    await s.discern('r', ['done', '--met', 'line', '--json'])
    const obligation = async (): Promise<unknown> =>
      (await s.discern('r', ['checkpoints', '--json'])).data.checkpoints.map((row: Loose) => row.obligation)[1]
    assert.equal(await obligation(), 'declared_met')
    for (const autocrlf of ['false', 'true', 'input']) {
      s.git('r', 'config', 'core.autocrlf', autocrlf)
      s.write('r/code', 'eval(x)\r\nb\r\n')
      s.write('r/crlf', 'a\r\n')
      utimesSync(s.path('r/crlf'), 1, 1)
      assert.deepEqual((await look(s))['paths'], ['code'], autocrlf)
      assert.equal(await obligation(), 'declared_met', autocrlf)
    }
    s.write('r/code', 'eval(x)\r\nb\r\nc\r\n')
    assert.equal(await obligation(), 'reopened', 'a line more is a line more')
    s.git('r', 'config', 'filter.gone.clean', 'exit 1')
    s.git('r', 'config', 'filter.gone.required', 'true')
    s.write('r/a.lfs', 'eval(longer)\n')
    assert.deepEqual(await look(s), {
      paths: ['a.lfs', 'code'],
      line: 'a.lfs: unreadable',
      binary: 'a.lfs: unreadable',
      story: ['a.lfs', 'code'],
    })
  })

  it('case 72: modes, types and links are changes, no link is followed, and nothing special is opened', async t => {
    const s = scratch(t)
    governed(s, { mode: 'x\n', bit: 'x\n', type: 'x\n', folder: 'x\n' })
    s.git('r', 'switch', '-q', 'main')
    symlinkSync('here', s.path('r/link'))
    s.commit('r', 'a link')
    s.git('r', 'branch', '-q', '-f', 'feat')
    s.git('r', 'switch', '-q', 'feat')
    s.write('outside', 'eval(x)\n')
    chmodSync(s.path('r/mode'), 0o755)
    rmSync(s.path('r/type'))
    symlinkSync(s.path('outside'), s.path('r/type'))
    rmSync(s.path('r/link'))
    symlinkSync('eval(', s.path('r/link'))
    rmSync(s.path('r/folder'))
    s.write('r/folder/in', 'x\n')
    const paths = ['folder', 'folder/in', 'link', 'mode', 'type']
    const expected = { paths, line: ['link'], binary: 'binary', story: 'min_commits' }
    assert.deepEqual(await look(s), expected)
    s.git('r', 'config', 'core.fileMode', 'false')
    s.git('r', 'update-index', '--chmod=+x', 'bit', 'mode')
    assert.deepEqual(await look(s), { ...expected, paths: ['bit', ...paths] })
    symlinkSync('loop', s.path('r/loop'))
    assert.deepEqual((await look(s))['paths'], ['bit', 'folder', 'folder/in', 'link', 'loop', 'mode', 'type'])
    rmSync(s.path('r/loop'))
    rmSync(s.path('r/mode'))
    s.sh('r', 'mkfifo mode pipe')
    const server = createServer().listen(s.path('r/folder/socket'))
    t.after(() => server.close())
    await new Promise(resolve => server.on('listening', resolve))
    rmSync(s.path('r/bit'))
    renameSync(s.path('r/folder/socket'), s.path('r/bit'))
    assert.deepEqual(await look(s), {
      paths: ['bit', ...paths],
      line: 'bit: unreadable',
      binary: 'bit: unreadable',
      story: 'min_commits',
    })
  })

  it('case 74: case decides, in names and in patterns, whatever core.ignoreCase says', async t => {
    const s = scratch(t)
    governed(s, { 'src/a': 'a\n', name: 'x\n' }, `${POLICY}[checkpoints.upper]\npaths = ["SRC/**"]\nquestion = "?"\n`)
    s.git('r', 'config', 'core.ignoreCase', 'true')
    s.git('r', 'mv', 'name', 'NAME')
    s.write('r/src/a', 'b\n')
    s.commit('r', 'case')
    const blob = s.git('r', 'rev-parse', 'HEAD:f')
    const both = { paths: ['NAME', 'name', 'src/a'], upper: 'empty_matched_set' }
    const now = async (): Promise<unknown> => {
      const { paths, upper } = await look(s)
      return { paths, upper }
    }
    assert.deepEqual(await now(), both)
    s.git('r', 'update-index', '--add', '--cacheinfo', `100644,${blob},F`, '--cacheinfo', `100644,${blob},SRC/a`)
    s.git('r', 'commit', '-q', '-m', 'two that differ in case')
    assert.deepEqual((await s.discern('r', ['evaluate', 'HEAD', '--json'])).data.checkpoints[4].preview.matched, [
      'SRC/a',
    ])
    assert.deepEqual(seen((await s.discern('r', ['evaluate', 'HEAD', '--json'])).data)['paths'], [
      'F',
      'NAME',
      'SRC/a',
      'name',
      'src/a',
    ])
  })
})
