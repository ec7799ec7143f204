import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { OpenQuestion, Questions } from '../../src/checkpoint/question.ts'
import { declare } from '../../src/checkpoint/question.ts'
import { evidenceOf, readQuestions, updateQuestions } from '../../src/checkpoint/question-store.ts'
import { holderOf } from '../../src/store/lock.ts'
import { contextFor } from '../support/gate.ts'
import { digest, openEntry } from '../support/question.ts'
import { scratch } from '../support/scratch.ts'

const A = 'refs/heads/a'
const B = 'refs/heads/b'

const place = (t: TestContext) => {
  const s = scratch(t)
  const directories = { gitDir: s.path('git'), commonDir: s.path('common') }
  const file = join(directories.gitDir, 'discern/checkpoint-open-questions')
  const context = contextFor(s.dir, s.env)
  mkdirSync(dirname(file), { recursive: true })
  const put = (branch: string, ...entries: readonly OpenQuestion[]) =>
    updateQuestions(context, directories, branch, 'done', questions => ({
      questions: new Map([...questions, ...entries.map(entry => [entry.checkpoint, entry] as const)]),
      value: undefined,
    }))
  const read = async (branch: string): Promise<Questions> => {
    const found = await readQuestions(directories, branch)
    assert.ok('questions' in found, JSON.stringify(found))
    return found.questions
  }
  return { s, directories, file, context, put, read }
}

const declared = declare(
  openEntry('q', 'a', 'b', {
    matchedPaths: ['a\nb', 'plain', '\udcff.bin', '"quoted"'],
    relatedPaths: [{ kind: 'similar_existing', forPath: 'plain', path: 'pla\tin' }],
    reopenedAt: '2026-01-01T00:05:00.000Z',
  }),
  { conclusion: 'unmet', why: 'später — "ja"' },
  '2026-01-01T00:06:00.000Z',
)

describe('the question store', () => {
  it('is one JSON line of the published shape with mode 0600, and reads back as it was', async t => {
    const { file, put, read } = place(t)
    const written = await put(A, declared, openEntry('p', 'a', 'b'))
    assert.equal(written.status, 'written')
    const text = readFileSync(file, 'utf8')
    assert.equal(text.indexOf('\n'), text.length - 1)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const parsed = JSON.parse(text)
    assert.deepEqual(Object.keys(parsed).slice(0, 2), ['version', 'openQuestions'])
    assert.equal(parsed.version, 1)
    assert.deepEqual(parsed.openQuestions.q, {
      checkpoint: 'q',
      definitionHash: digest('a'),
      subject: digest('b'),
      matchedPaths: ['"a\\nb"', 'plain', '"\\377.bin"', '"\\"quoted\\""'],
      relatedPaths: [{ kind: 'similar_existing', forPath: 'plain', path: '"pla\\tin"' }],
      openedAt: '2026-01-01T00:00:00.000Z',
      reopenedAt: '2026-01-01T00:05:00.000Z',
      declaration: {
        conclusion: 'unmet',
        why: 'später — "ja"',
        definitionHash: digest('a'),
        subject: digest('b'),
        declaredAt: '2026-01-01T00:06:00.000Z',
      },
    })
    assert.deepEqual(
      [...(await read(A))],
      [
        ['q', declared],
        ['p', openEntry('p', 'a', 'b')],
      ],
    )
  })

  it('reads a file that knows no branches as the branch that is checked out, and missing relations as none', async t => {
    const { file, read, put } = place(t)
    const { relatedPaths: _, ...entry } = openEntry('q', 'a', 'b')
    writeFileSync(file, JSON.stringify({ version: 1, openQuestions: { q: entry } }))
    assert.deepEqual([...(await read(A))], [['q', openEntry('q', 'a', 'b')]])
    await put(A, openEntry('p', 'a', 'b'))
    assert.deepEqual([...(await read(A)).keys()], ['q', 'p'])
    assert.deepEqual([...(await read(B)).keys()], [])
  })

  it('keeps the questions of two branches in one worktree apart', async t => {
    const { file, put, read, directories } = place(t)
    await put(A, openEntry('q', 'a', 'b'))
    assert.equal((await readQuestions(directories, B)).status, 'missing')
    await put(B, declared)
    assert.deepEqual([...(await read(A))], [['q', openEntry('q', 'a', 'b')]])
    assert.deepEqual([...(await read(B))], [['q', declared]])
    assert.deepEqual(Object.keys(JSON.parse(readFileSync(file, 'utf8')).openQuestions), ['q'])
    await put(A, openEntry('only-a', 'a', 'b'))
    assert.deepEqual([...(await read(A)).keys()], ['q', 'only-a'])
    assert.deepEqual([...(await read(B))], [['q', declared]])
    const identity = evidenceOf(await readQuestions(directories, B))
    await put(A, openEntry('more', 'a', 'b'))
    assert.deepEqual(evidenceOf(await readQuestions(directories, B)), identity)
  })

  it('takes a branch and a checkpoint of any name', async t => {
    const { put, read } = place(t)
    await put('__proto__', openEntry('__proto__', 'a', 'b'))
    await put('constructor', openEntry('toString', 'a', 'b'))
    assert.deepEqual([...(await read('__proto__'))], [['__proto__', openEntry('__proto__', 'a', 'b')]])
    assert.deepEqual([...(await read('constructor')).keys()], ['toString'])
    assert.deepEqual([...(await read('hasOwnProperty')).keys()], [])
  })

  it('is not written when nothing changes', async t => {
    const { file, context, directories } = place(t)
    const result = await updateQuestions(context, directories, A, 'done', questions => ({ questions, value: 7 }))
    assert.deepEqual(result, { status: 'unchanged', questions: new Map(), value: 7, rebuilt: false })
    assert.equal(existsSync(file), false)
  })

  it('loses nothing when several writers come at once', async t => {
    const { put, read } = place(t)
    const ids = Array.from({ length: 12 }, (_, n) => `q${n}`)
    const results = await Promise.all(ids.map(id => put(A, openEntry(id, 'a', 'b'))))
    assert.deepEqual([...new Set(results.map(({ status }) => status))], ['written'])
    assert.deepEqual([...(await read(A)).keys()].sort(), ids.sort())
  })

  it('gives up, unchanged, on a writer that does not end', async t => {
    const { s, put, context, directories, file } = place(t)
    s.write(
      join(directories.gitDir, 'discern/lock/questions'),
      `${JSON.stringify(await holderOf({ ...context, pid: process.ppid }, 'done'))}\n`,
    )
    const result = await put(A, declared)
    assert.equal(result.status, 'failed')
    assert.match('reason' in result ? result.reason : '', /already running/)
    assert.equal(existsSync(file), false)
  })
})

describe('a damaged question store', () => {
  const good = openEntry('q', 'a', 'b')
  const unmet = {
    conclusion: 'unmet',
    why: 'x',
    definitionHash: digest('a'),
    subject: digest('b'),
    declaredAt: good.openedAt,
  }
  const broken: readonly [what: string, file: unknown][] = [
    ['text', 'not JSON'],
    ['a list', []],
    ['no version', { openQuestions: {} }],
    ['an old version', { version: 0, openQuestions: {} }],
    ['no questions', { version: 1 }],
    ['questions as a list', { version: 1, openQuestions: [] }],
    ['a branch that is no text', { version: 1, openQuestions: {}, branch: 1 }],
    ['branches as a list', { version: 1, openQuestions: {}, branches: [] }],
    ...(
      [
        ['an entry under another id', { ...good, checkpoint: 'p' }],
        ['a short hash', { ...good, definitionHash: 'abc' }],
        ['no subject', { ...good, subject: undefined }],
        ['paths that are no list', { ...good, matchedPaths: 'a' }],
        ['a path that is no text', { ...good, matchedPaths: [1] }],
        ['a broken quotation', { ...good, matchedPaths: ['"a'] }],
        ['an unknown relation', { ...good, relatedPaths: [{ kind: 'x', forPath: 'a', path: 'b' }] }],
        ['no instant', { ...good, openedAt: 'yesterday' }],
        ['an impossible instant', { ...good, reopenedAt: '2026-13-01T00:00:00Z' }],
        ['a declaration that is text', { ...good, declaration: 'met' }],
        ['an unknown conclusion', { ...good, declaration: { ...unmet, conclusion: 'passed' } }],
        ['an unmet without a why', { ...good, declaration: { ...unmet, why: undefined } }],
        ['a met with a why', { ...good, declaration: { ...unmet, conclusion: 'met' } }],
      ] as const
    ).map(([what, entry]): [string, unknown] => [
      what,
      { version: 1, openQuestions: { fine: openEntry('fine', 'a', 'b'), q: entry } },
    ]),
  ]
  for (const [what, file] of broken) {
    it(`is rejected whole, has no identity, and is rebuilt by the next write: ${what}`, async t => {
      const { directories, file: path, put, read } = place(t)
      writeFileSync(path, typeof file === 'string' ? file : JSON.stringify(file))
      const found = await readQuestions(directories, A)
      assert.equal(found.status, 'invalid')
      assert.ok('unavailable' in evidenceOf(found))
      const written = await put(A, declared)
      assert.deepEqual(written.status === 'written' && written.rebuilt, true)
      assert.deepEqual([...(await read(A))], [['q', declared]])
      const again = await put(A, openEntry('p', 'a', 'b'))
      assert.deepEqual(again.status === 'written' && again.rebuilt, false)
    })
  }

  it('does not cost another branch its questions', async t => {
    const { directories, file, put, read } = place(t)
    writeFileSync(
      file,
      JSON.stringify({ version: 1, branch: B, openQuestions: { q: 'broken' }, branches: { [A]: { q: good } } }),
    )
    assert.equal((await readQuestions(directories, B)).status, 'invalid')
    assert.deepEqual([...(await read(A))], [['q', good]])
    await put(A, openEntry('p', 'a', 'b'))
    assert.equal((await readQuestions(directories, B)).status, 'invalid')
    const rebuilt = await put(B, declared)
    assert.deepEqual(rebuilt.status === 'written' && rebuilt.rebuilt, true)
    assert.deepEqual([...(await read(A)).keys()], ['q', 'p'])
  })

  it('is never replaced when a newer version wrote it', async t => {
    const { directories, file, put } = place(t)
    const newer = '{"version":2,"questions":[]}\n'
    writeFileSync(file, newer)
    const found = await readQuestions(directories, A)
    assert.equal(found.status, 'newer')
    assert.ok('unavailable' in evidenceOf(found))
    assert.equal((await put(A, declared)).status, 'failed')
    assert.equal(readFileSync(file, 'utf8'), newer)
  })

  it('is unavailable, and left alone, when it is no regular file or too large', async t => {
    const { s, directories, file, put } = place(t)
    const look = async (): Promise<void> => {
      assert.equal((await readQuestions(directories, A)).status, 'unavailable')
      assert.equal((await put(A, declared)).status, 'failed')
      rmSync(file, { recursive: true })
    }
    mkdirSync(file)
    await look()
    symlinkSync(s.write('elsewhere', '{"version":1,"openQuestions":{}}'), file)
    await look()
    s.exec('.', 'truncate', ['-s', '100M', file])
    await look()
    assert.equal(s.read('elsewhere'), '{"version":1,"openQuestions":{}}')
  })

  it('reports a place that cannot be written, and changes nothing', async t => {
    const { s, context } = place(t)
    const file = s.write('file', '')
    const directories = { gitDir: file, commonDir: file }
    assert.equal((await readQuestions(directories, A)).status, 'unavailable')
    const result = await updateQuestions(context, directories, A, 'done', () => ({
      questions: new Map([['q', declared]]),
      value: 0,
    }))
    assert.equal(result.status, 'failed')
    assert.match('reason' in result ? result.reason : '', /ENOTDIR/)
  })

  it('lets a defect in a transition through, and releases the store', async t => {
    const { context, directories, put } = place(t)
    await assert.rejects(
      updateQuestions(context, directories, A, 'done', () => {
        throw new TypeError('a defect')
      }),
      /a defect/,
    )
    assert.equal((await put(A, declared)).status, 'written')
  })
})
