import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import {
  convergeNotes,
  LOCAL_NOTES_REF,
  listNotes,
  NOTES_REF,
  notesWriter,
  readNote,
  writeNote,
} from '../../src/git/notes.ts'
import type { Repository } from '../../src/git/repository.ts'
import { contextFor } from '../support/gate.ts'
import {
  filesOf,
  importHistories,
  note,
  notesOf,
  openFor,
  pathOf,
  sameClaim,
  subjectOf,
  testWriter,
} from '../support/notes.ts'
import { scratch } from '../support/scratch.ts'

const A = subjectOf('a')
const B = subjectOf('b')

const write = (repository: Repository, subject: string, body: string | Uint8Array, writer = testWriter()) =>
  writeNote(repository, { subject, body, sameClaim, writer })

const empty = async (t: TestContext, env: Record<string, string> = {}) => {
  const s = scratch(t)
  s.git('.', 'init', '-q', 'r')
  return { s, repository: await openFor(t, s, 'r', env) }
}

test('four processes that write at once keep all of their notes', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', 'r')
  // One small bundle starts in a fraction of the time that four compilations would take.
  const script = s.path('writer.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL('../support/notes-writer.ts', import.meta.url))],
    outfile: script,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
  const names = ['one', 'two', 'three', 'four']
  const ends = await Promise.all(
    names.map(name => s.execAsync('r', process.execPath, [script, s.path('r'), name, '50'])),
  )
  for (const { exit, out, err } of ends) assert.deepEqual([exit, out, err], [0, '', ''])
  const notes = notesOf(s, 'r', NOTES_REF)
  assert.equal(notes.size, 200)
  for (const name of names) for (let at = 0; at < 50; at += 1) assert.ok(notes.has(subjectOf(`${name} ${at}`)))
  assert.equal(s.git('r', 'rev-list', '--count', NOTES_REF), '200', 'one commit for each note')
  assert.equal(s.git('r', 'rev-parse', LOCAL_NOTES_REF), s.git('r', 'rev-parse', NOTES_REF))
  assert.equal(s.git('r', 'notes', '--ref=discern', 'list').split('\n').length, 200)
})

test('a note is the bytes that were given, by discern, in one commit on both refs', async t => {
  const { s, repository } = await empty(t)
  const body = Buffer.from([0x7b, 0x00, 0xff, 0x0d, 0x0a, 0x7d])
  const result = await write(repository, A, body)
  assert.equal(result.status, 'written')
  const read = await readNote(repository, s.git('r', 'rev-parse', NOTES_REF), A)
  assert.ok(read.status === 'one' && read.bytes.equals(body))
  assert.equal(
    s.git('r', 'log', '-1', '--format=%an <%ae> %cn <%ce>|%s', NOTES_REF),
    "discern <done@discern.sh> discern <done@discern.sh>|Note added by 'git discern accept'",
  )
  assert.equal(s.git('r', 'rev-parse', LOCAL_NOTES_REF), s.git('r', 'rev-parse', NOTES_REF))
  assert.equal((await readNote(repository, s.git('r', 'rev-parse', NOTES_REF), B)).status, 'none')
})

test('a standing note is never replaced, and nothing moves', async t => {
  const { s, repository } = await empty(t)
  await write(repository, A, note('first'))
  const before = s.git('r', 'for-each-ref')
  const result = await write(repository, A, note('second'))
  assert.ok(result.status === 'standing' && result.note.status === 'one')
  assert.equal(result.note.bytes.toString(), note('first'))
  assert.equal(s.git('r', 'for-each-ref'), before)
})

test('a writer that loses the race asks again and leaves the note of the winner alone', async t => {
  const { s, repository } = await empty(t)
  const bodies = ['one', 'two', 'three'].map(name => note(name))
  const results = await Promise.all(bodies.map(body => write(repository, A, body)))
  assert.deepEqual(results.map(({ status }) => status).sort(), ['standing', 'standing', 'written'])
  assert.equal(s.git('r', 'rev-list', '--count', NOTES_REF), '1')
})

test('a new note follows the fan-out that stands in its folder, whatever it is elsewhere', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', 'r')
  // One folder of notes, one folder of folders, and beside them a flat note and paths that are no notes.
  const odd = { 'a b\tc\n\u00ff': '1', 'zz/readme': '2', 'ab/readme': '3' }
  importHistories(s, 'r', [
    {
      ref: NOTES_REF,
      files: {
        [`11/${'1'.repeat(38)}`]: note('x'),
        [`22/22/${'2'.repeat(36)}`]: note('x'),
        ['3'.repeat(40)]: note('x'),
        'zz/readme': odd['zz/readme'],
        'ab/readme': odd['ab/readme'],
      },
    },
  ])
  const repository = await openFor(t, s, 'r')
  const subjects = [`11${'a'.repeat(38)}`, `22${'a'.repeat(38)}`, '4'.repeat(40), `ab${'a'.repeat(38)}`]
  for (const subject of subjects) await write(repository, subject, note(subject))
  const files = filesOf(s, 'r', NOTES_REF)
  const paths = [`11/${'a'.repeat(38)}`, `22/aa/${'a'.repeat(36)}`, '4'.repeat(40), `ab/${'a'.repeat(38)}`]
  for (const path of paths) assert.ok(files.has(path), path)
  assert.equal(files.get('zz/readme'), '2')
  assert.equal(files.get('ab/readme'), '3')
  const tip = s.git('r', 'rev-parse', NOTES_REF)
  const list = await listNotes(repository, tip)
  assert.deepEqual([list.notes.size, list.ambiguous.size, list.others], [7, 0, 2])
  for (const subject of subjects) assert.equal((await readNote(repository, tip, subject)).status, 'one')
  assert.equal(s.git('r', 'notes', '--ref=discern', 'list').split('\n').length, 7, 'git reads it too')
})

test('a folder that outgrows its limit is split, and git still reads every note', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', 'r')
  const files = Object.fromEntries(Array.from({ length: 256 }, (_, at) => [subjectOf(at), note(`${at}`)]))
  importHistories(s, 'r', [{ ref: NOTES_REF, files }])
  const repository = await openFor(t, s, 'r')
  await write(repository, A, note('a'))
  const paths = [...filesOf(s, 'r', NOTES_REF).keys()]
  assert.equal(paths.length, 257)
  assert.ok(paths.every(path => path[2] === '/' && path.lastIndexOf('/') === 2))
  assert.equal(s.git('r', 'notes', '--ref=discern', 'list').split('\n').length, 257)
  await write(repository, B, note('b'))
  assert.ok(filesOf(s, 'r', NOTES_REF).has(pathOf(B, 1)))
})

test('splitting a folder loses neither of two notes for one subject, nor what stands under a name that it needs', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', 'r')
  const flat = Array.from({ length: 255 }, (_, at) => subjectOf(at))
  const blocked = flat.find(subject => !subject.startsWith(A.slice(0, 2))) ?? ''
  importHistories(s, 'r', [
    {
      ref: NOTES_REF,
      files: {
        ...Object.fromEntries(flat.map(subject => [subject, note(subject)])),
        [A]: note('one'),
        [pathOf(A, 1)]: note('two'),
        [blocked.slice(0, 2)]: 'a file where a folder would go\n',
      },
    },
  ])
  const repository = await openFor(t, s, 'r')
  await write(repository, B, note('b'))
  const files = filesOf(s, 'r', NOTES_REF)
  assert.ok([...files.keys()].filter(path => path.includes('/')).length > 200, 'it was split')
  assert.deepEqual([files.get(A), files.get(pathOf(A, 1))], [note('one'), note('two')])
  assert.equal(files.get(blocked.slice(0, 2)), 'a file where a folder would go\n')
  assert.equal(files.get(blocked), note(blocked))
  assert.equal(files.size, 255 + 2 + 1 + 1)
})

test('recording a note takes few processes, and no more of them where there are many notes', async t => {
  const s = scratch(t)
  const counts: number[] = []
  for (const [name, size] of [
    ['few', 10],
    ['many', 3000],
  ] as const) {
    s.git('.', 'init', '-q', name)
    const files = new Map(
      Array.from({ length: size }, (_, at) => [pathOf(subjectOf(at), size > 256 ? 1 : 0), note('x')] as const),
    )
    importHistories(s, name, [{ ref: NOTES_REF, files }])
    s.git(name, 'update-ref', LOCAL_NOTES_REF, NOTES_REF)
    const trace = s.path(`${name}.trace`)
    const repository = await openFor(t, s, name, { GIT_TRACE2_EVENT: trace })
    assert.equal((await write(repository, A, note('a'))).status, 'written')
    repository.objects.close()
    const starts = s
      .read(trace)
      .split('\n')
      .filter(line => line.includes('"event":"start"'))
    assert.ok(!starts.some(line => line.includes('"ls-tree"')), 'the tree is not listed')
    counts.push(starts.length)
  }
  assert.ok((counts[0] ?? 99) <= 8, `${counts[0]} processes`)
  assert.equal(counts[1], counts[0])
})

test('case 45: without an identity of its own the repository still records, by discern', async t => {
  const { s, repository } = await empty(t)
  s.write('home/.gitconfig', '[user]\n\tuseConfigOnly = true\n')
  assert.equal((await write(repository, A, note('a'))).status, 'written')
})

test('case 45: with DISCERN_NO_ATTRIBUTION and no identity the cause is named, and a retry with one succeeds', async t => {
  const { s, repository } = await empty(t)
  s.write('home/.gitconfig', '[user]\n\tuseConfigOnly = true\n')
  importHistories(s, 'r', [
    { ref: NOTES_REF, files: { [B]: note('b') } },
    { ref: 'refs/discern/remotes/origin/notes', files: { [subjectOf('c')]: note('c') } },
  ])
  const before = s.git('r', 'for-each-ref')
  const context = contextFor(s.path('r'), { ...s.env, DISCERN_NO_ATTRIBUTION: '1' })
  const result = await write(repository, A, note('a'), notesWriter(context))
  assert.deepEqual([result.status, result.status === 'failed' && result.cause], ['failed', 'identity-missing'])
  const tracking = ['refs/discern/remotes/origin/notes']
  const merged = await convergeNotes(repository, { tracking, sameClaim, writer: notesWriter(context) })
  assert.deepEqual([merged.failure?.cause, merged.moved], ['identity-missing', false])
  assert.equal(s.git('r', 'for-each-ref'), before)
  s.git('r', 'config', 'user.name', 'Owner')
  s.git('r', 'config', 'user.email', 'owner@example.invalid')
  assert.equal((await write(repository, A, note('a'), notesWriter(context))).status, 'written')
  assert.equal(s.git('r', 'log', '-1', '--format=%an %cn', NOTES_REF), 'Owner Owner')
  const plain = notesWriter(contextFor(s.path('r'), { ...s.env, DISCERN_NO_ATTRIBUTION: '' }))
  assert.equal(plain.identity['GIT_AUTHOR_NAME'], 'discern', 'an empty value switches nothing off')
})

test('case 46: forced signing with a broken signer does not reach notes', async t => {
  const { s, repository } = await empty(t)
  s.git('r', 'config', 'commit.gpgsign', 'true')
  s.git('r', 'config', 'gpg.program', 'false')
  importHistories(s, 'r', [{ ref: 'refs/discern/remotes/origin/notes', files: { [B]: note('b') } }])
  assert.equal((await write(repository, A, note('a'))).status, 'written')
  const tracking = ['refs/discern/remotes/origin/notes']
  const merged = await convergeNotes(repository, { tracking, sameClaim, writer: testWriter() })
  assert.equal(merged.adopted, 1)
  assert.ok(!s.git('r', 'cat-file', 'commit', NOTES_REF).includes('gpgsig'))
})

test("a notes ref that git will not move is reported with git's word, and both refs stay as they were", async t => {
  const { s, repository } = await empty(t)
  await write(repository, A, note('a'))
  const before = s.git('r', 'for-each-ref')
  s.git('r', 'config', 'core.filesRefLockTimeout', '0')
  s.write('r/.git/refs/discern/local/notes.lock', '')
  const locked = await write(repository, B, note('b'))
  assert.ok(locked.status === 'failed' && locked.cause === 'refused' && locked.reason.includes('notes.lock'))
  assert.equal(s.git('r', 'for-each-ref'), before)
  assert.equal(s.read('r/.git/refs/discern/local/notes.lock'), '', "git's lock is not ours to remove")
})

test('a bare repository can hold notes', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', '--bare', 'b')
  const repository = await openFor(t, s, 'b')
  assert.equal((await write(repository, A, note('a'))).status, 'written')
  assert.equal(notesOf(s, 'b', NOTES_REF).get(A), note('a'))
})

test('a note whose bytes this clone does not have is unavailable, which is not the same as none', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', 'r')
  importHistories(s, 'r', [{ ref: NOTES_REF, files: { [A]: note('a') } }])
  const blob = s.git('r', 'rev-parse', `${NOTES_REF}:${A}`)
  s.git('.', 'init', '-q', 'partial')
  for (const object of s.git('r', 'rev-list', '--objects', '--filter=blob:none', NOTES_REF).split('\n')) {
    const [oid = ''] = object.split(' ')
    const type = s.git('r', 'cat-file', '-t', oid)
    s.sh('.', `git -C r cat-file ${type} ${oid} | git -C partial hash-object -t ${type} -w --stdin --literally`)
  }
  s.git('partial', 'update-ref', NOTES_REF, s.git('r', 'rev-parse', NOTES_REF))
  const repository = await openFor(t, s, 'partial')
  const read = await readNote(repository, s.git('r', 'rev-parse', NOTES_REF), A)
  assert.deepEqual(read, { status: 'unavailable', reason: `the note ${blob} is missing here` })
})
