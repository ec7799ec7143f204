/** History, the policy commit's folders, and the subject of a question, against examples computed by hand here. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { describe, it } from 'node:test'
import { collectBaseFiles, openBaseTree } from '../../src/change/base.ts'
import { collectFacts } from '../../src/change/gather.ts'
import { collectHistory } from '../../src/change/history.ts'
import { type SubjectInput, subjectFingerprint } from '../../src/change/subject.ts'
import { HISTORY_LIMIT_BYTES } from '../../src/limits.ts'
import { changeOf } from '../support/change.ts'
import { openScratch } from '../support/open.ts'
import { scratch } from '../support/scratch.ts'

const sha256 = (...parts: (string | Buffer)[]): string =>
  createHash('sha256')
    .update(Buffer.concat(parts.map(part => Buffer.from(part))))
    .digest('hex')
const blob = (content: string): string =>
  createHash('sha1')
    .update(`blob ${Buffer.byteLength(content)}\0${content}`)
    .digest('hex')

describe('the history', () => {
  it('counts every commit since the base, merges included and uncommitted work not, in one order', async t => {
    const s = scratch(t)
    s.init('r')
    const base = s.git('r', 'rev-parse', 'HEAD')
    const { repository } = await openScratch(t, s, 'r')
    const none = { known: { count: 0, fingerprint: sha256('checkpoint-history/v1\n') } }
    assert.deepEqual(await collectHistory(repository, base), none)
    const one = s.commit('r', 'two')
    s.git('r', 'checkout', '-q', '-b', 'side', base)
    const side = s.commit('r', 'side')
    s.git('r', 'checkout', '-q', 'main')
    s.git('r', 'merge', '-q', '--no-ff', '-m', 'merge', 'side')
    const merge = s.git('r', 'rev-parse', 'HEAD')
    s.write('r/f', 'dirty\n')
    const order = s.git('r', 'log', '--reverse', '--topo-order', '--format=%H', `${base}..main`).split('\n')
    assert.deepEqual([...order].sort(), [one, side, merge].sort())
    assert.deepEqual(await collectHistory(repository, base), {
      known: { count: 3, fingerprint: sha256(`checkpoint-history/v1\n${order.join('\n')}`) },
    })
    assert.deepEqual(await collectHistory(repository, base, one), {
      known: { count: 1, fingerprint: sha256(`checkpoint-history/v1\n${one}`) },
    })
    s.git('r', 'commit', '-q', '--amend', '-m', 'another message')
    const amended = await collectHistory(repository, base)
    assert.ok('known' in amended && amended.known.count === 3)
    assert.notDeepEqual(amended, await collectHistory(repository, base, merge))
    assert.deepEqual(await collectHistory(repository, 'b'.repeat(40)), { unavailable: 'git_failed' })
  })

  it('case 57: is unavailable in a shallow clone, never a smaller number', async t => {
    const s = scratch(t)
    s.init('up')
    for (const message of ['two', 'three', 'four']) s.commit('up', message)
    s.git('.', 'clone', '-q', '--depth', '2', `file://${s.path('up')}`, 'r')
    const { repository } = await openScratch(t, s, 'r')
    assert.deepEqual(await collectHistory(repository, s.git('r', 'rev-parse', 'HEAD~1')), { unavailable: 'shallow' })
  })

  it('case 80: ends at its limit, 4 MiB of ids with their newlines', async t => {
    const s = scratch(t)
    s.init('r', '--object-format=sha256')
    const base = s.git('r', 'rev-parse', 'HEAD')
    for (const message of ['two', 'three', 'four']) s.commit('r', message)
    const { repository } = await openScratch(t, s, 'r')
    const full = await collectHistory(repository, base, 'HEAD', 3 * 65)
    assert.equal('known' in full && full.known.count, 3)
    assert.deepEqual(await collectHistory(repository, base, 'HEAD', 3 * 65 - 1), { unavailable: 'output_limit' })
    assert.equal(HISTORY_LIMIT_BYTES, 4_194_304)
  })
})

describe('the folders of the policy commit', () => {
  it('are listed one by one, and tell an empty answer from a folder that is not there', async t => {
    const s = scratch(t)
    s.init('r')
    for (const path of ['a/one', 'a/two', 'a/deep/three', 'only/folders/here']) s.write(`r/${path}`, 'x\n')
    symlinkSync('one', s.path('r/a/link'))
    const base = s.commit('r', 'base')
    s.write('r/later/x', 'x\n')
    s.commit('r', 'later')
    const { repository } = await openScratch(t, s, 'r')
    assert.deepEqual(await collectBaseFiles(repository, base, ['', 'a', 'only', 'later', 'a/one', 'a/deep']), {
      known: new Map([
        ['', ['f']],
        ['a', ['link', 'one', 'two']],
        ['only', []],
        ['a/deep', ['three']],
      ]),
    })
    const asked: string[] = []
    const admits = (path: string): boolean => asked.push(path) > 0 && path.endsWith('three')
    const tree = openBaseTree(repository, base)
    assert.deepEqual(await tree.holds('a', admits), { known: true })
    assert.deepEqual(asked, ['a/deep/three'])
    assert.deepEqual(await tree.holds('only', () => false), { known: false })
    assert.deepEqual(await tree.holds('later', () => true), { known: false })
  })

  it('case 58: are unavailable where a tree is missing, and the other facts are not', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/a/one', 'x\n')
    const base = s.commit('r', 'base')
    const tree = s.git('r', 'rev-parse', `${base}:a`)
    s.write('r/f', 'y\n')
    const { repository } = await openScratch(t, s, 'r')
    const change = await changeOf(repository, base)
    rmSync(s.path('r/.git/objects', tree.slice(0, 2), tree.slice(2)))
    const facts = await collectFacts(repository, change, {
      content: ['f'],
      history: true,
      baseFolders: ['a'],
      baseHolds: [{ key: 'k', folder: 'a', admits: () => true }],
    })
    assert.deepEqual(facts.baseFiles, { unavailable: 'object-missing' })
    assert.deepEqual(facts.baseHolds, new Map([['k', { unavailable: 'object-missing' }]]))
    assert.deepEqual(facts.lines.get('f'), { known: { added: [Buffer.from('y')], removed: [Buffer.from('1')] } })
    assert.equal('known' in facts.history && facts.history.known.count, 0)
  })
})

describe('the subject', () => {
  const definitionHash = 'd'.repeat(64)

  it('is the hash of the definition, the paths and both states of each, as written down', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/gone', 'gone\n')
    s.write('r/mode', 'mode\n')
    s.write('r/sibling', 'sibling\n')
    const base = s.commit('r', 'base')
    rmSync(s.path('r/gone'))
    chmodSync(s.path('r/mode'), 0o755)
    s.write('r/new\nline', 'new\n')
    writeFileSync(Buffer.concat([Buffer.from(`${s.path('r')}/bad`), Buffer.from([0xff])]), 'bad\n')
    symlinkSync('/etc/passwd', s.path('r/link'))
    const { repository } = await openScratch(t, s, 'r')
    const input: SubjectInput = {
      worktree: repository,
      base,
      definitionHash,
      historyFingerprint: undefined,
      matched: ['new\nline', 'mode', 'link', 'gone', 'bad\udcff', 'mode'],
      related: [{ kind: 'similar_existing', forPath: 'new\nline', path: 'sibling' }],
      current: 'worktree',
    }
    const bad = Buffer.from([0x62, 0x61, 0x64, 0xff])
    const expected = (history: string) =>
      sha256(
        `checkpoint-subject/v3\n${definitionHash}\nhistory\n${history}\nchanged\n`,
        bad,
        '\ngone\nlink\nmode\nnew\nline\nrelated\nsimilar_existing\0new\nline\0sibling\nstates\n',
        bad,
        `\0-\x00100644 ${blob('bad\n')}`,
        `\ngone\x00100644 ${blob('gone\n')}\0-`,
        `\nlink\0-\x00120000 ${blob('/etc/passwd')}`,
        `\nmode\x00100644 ${blob('mode\n')}\x00100755 ${blob('mode\n')}`,
        `\nnew\nline\0-\x00100644 ${blob('new\n')}`,
        `\nsibling\x00100644 ${blob('sibling\n')}\x00100644 ${blob('sibling\n')}`,
      )
    assert.deepEqual(await subjectFingerprint(input), { known: expected('-') })
    const history = 'e'.repeat(64)
    assert.deepEqual(await subjectFingerprint({ ...input, historyFingerprint: history }), { known: expected(history) })
    const commit = s.commit('r', 'all')
    assert.deepEqual(await subjectFingerprint({ ...input, current: { commit } }), { known: expected('-') })
    s.write('r/unrelated', 'x\n')
    assert.deepEqual(await subjectFingerprint(input), { known: expected('-') })
    s.write('r/sibling', 'changed\n')
    assert.notDeepEqual(await subjectFingerprint(input), { known: expected('-') })
    assert.deepEqual(await subjectFingerprint({ ...input, matched: [], related: [] }), {
      known: sha256(`checkpoint-subject/v3\n${definitionHash}\nhistory\n-\nchanged\nrelated\nstates`),
    })
  })

  it('case 70: does not move when only the line endings of the work tree do', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/.gitattributes', '* text=auto\n')
    const base = s.commit('r', 'base')
    const { repository } = await openScratch(t, s, 'r')
    const subject = () =>
      subjectFingerprint({
        worktree: repository,
        base,
        definitionHash,
        historyFingerprint: undefined,
        matched: ['n'],
        related: [],
        current: 'worktree',
      })
    s.write('r/n', 'a\nb\n')
    const before = await subject()
    assert.ok('known' in before)
    s.write('r/n', 'a\r\nb\r\n')
    assert.deepEqual(await subject(), before)
    s.write('r/n', 'a\r\nc\r\n')
    assert.notDeepEqual(await subject(), before)
  })

  it('case 72: is unavailable, and opens nothing, where a path has no identity in git', async t => {
    const s = scratch(t)
    s.init('r')
    const base = s.git('r', 'rev-parse', 'HEAD')
    const { repository } = await openScratch(t, s, 'r')
    s.exec('r', 'mkfifo', ['pipe'])
    mkdirSync(s.path('r/folder'))
    s.init('r/nested')
    s.write('r/real/file', 'x\n')
    symlinkSync('real', s.path('r/via'))
    symlinkSync('loop', s.path('r/loop'))
    s.write('r/filtered', 'x\n')
    s.write('r/.gitattributes', 'filtered filter=gone\n')
    s.git('r', 'config', 'filter.gone.clean', 'exit 1')
    s.git('r', 'config', 'filter.gone.required', 'true')
    const server = createServer().listen(s.path('r/socket'))
    await new Promise(resolve => server.once('listening', resolve))
    t.after(() => server.close())
    const subject = (path: string) =>
      subjectFingerprint({
        worktree: repository,
        base,
        definitionHash,
        historyFingerprint: undefined,
        matched: [path],
        related: [],
        current: 'worktree',
      })
    for (const path of ['pipe', 'folder', 'nested/', 'nested', 'socket']) {
      assert.deepEqual(await subject(path), { unavailable: 'unreadable' }, path)
    }
    assert.deepEqual(await subject('filtered'), { unavailable: 'git_failed' })
    const state = (path: string, current: string) => ({
      known: sha256(
        `checkpoint-subject/v3\n${definitionHash}\nhistory\n-\nchanged\n${path}\nrelated\nstates\n${path}\0-\0${current}`,
      ),
    })
    assert.deepEqual(await subject('via/file'), state('via/file', '-'))
    assert.deepEqual(await subject('loop'), state('loop', `120000 ${blob('loop')}`))
  })

  it('hashes more files than one batch holds, each with its own state', async t => {
    const s = scratch(t)
    s.init('r')
    const base = s.git('r', 'rev-parse', 'HEAD')
    const { repository } = await openScratch(t, s, 'r')
    const matched = Array.from({ length: 501 }, (_, at) => `d/${String(at).padStart(3, '0')}`)
    for (const path of matched) s.write(`r/${path}`, `${path}\n`)
    const states = matched.map(path => `${path}\0-\x00100644 ${blob(`${path}\n`)}`)
    const input = { worktree: repository, base, definitionHash, historyFingerprint: undefined, related: [] }
    assert.deepEqual(await subjectFingerprint({ ...input, matched, current: 'worktree' }), {
      known: sha256(
        [
          'checkpoint-subject/v3',
          definitionHash,
          'history',
          '-',
          'changed',
          ...matched,
          'related',
          'states',
          ...states,
        ].join('\n'),
      ),
    })
  })
})
