import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { LOCAL_NOTES_REF, NOTES_REF } from '../../src/git/notes.ts'
import { filesOf, type History, importHistories, note, notesOf, subjectOf } from '../support/notes.ts'
import { scratch } from '../support/scratch.ts'

const ORIGIN = 'refs/discern/remotes/origin/notes'
const A = subjectOf('a')
const B = subjectOf('b')

const start = (t: TestContext, ours: History['files'], theirs?: History['files']) => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'remote', 'add', 'origin', '../up')
  importHistories(s, 'r', [{ ref: NOTES_REF, files: ours }, ...(theirs ? [{ ref: ORIGIN, files: theirs }] : [])])
  return s
}

test('notes list prints what git notes list prints, and finds a subject that stands twice', async t => {
  const s = start(t, { [A]: note('a'), [`${B.slice(0, 2)}/${B.slice(2)}`]: note('b'), readme: 'x' })
  const shown = await s.discern('r', ['notes', 'list'])
  assert.deepEqual(shown.out.trim().split('\n').sort(), s.git('r', 'notes', '--ref=discern', 'list').split('\n').sort())
  importHistories(s, 'r', [{ ref: NOTES_REF, from: NOTES_REF, files: { [B]: note('another') } }])
  const { result, exit } = await s.discern('r', ['notes', 'list', '--json'])
  assert.equal(exit, 0)
  assert.deepEqual(result.data, {
    action: 'list',
    ref: NOTES_REF,
    tip: s.git('r', 'rev-parse', NOTES_REF),
    notes: [{ commit: A, blob: s.git('r', 'rev-parse', `${NOTES_REF}:${A}`) }],
    ambiguous: [
      {
        commit: B,
        blobs: [`${NOTES_REF}:${B}`, `${NOTES_REF}:${B.slice(0, 2)}/${B.slice(2)}`]
          .map(name => s.git('r', 'rev-parse', name))
          .sort(),
      },
    ],
    other_paths: 1,
  })
})

test('notes list and notes merge without any notes are answers, not errors', async t => {
  const s = scratch(t)
  s.init('r')
  const list = await s.discern('r', ['notes', 'list', '--json'])
  assert.deepEqual([list.exit, list.data.tip, list.data.notes], [0, null, []])
  assert.match((await s.discern('r', ['notes', 'list'])).out, /holds no notes/)
  const merge = await s.discern('r', ['notes', 'merge', '--json'])
  assert.deepEqual([merge.exit, merge.data.tip, merge.data.moved], [0, null, false])
})

test('notes merge adopts fetched notes, says so, and gives the push command when a push would bring something', async t => {
  const s = start(t, { [A]: note('a') }, { [B]: note('b') })
  const { exit, data, result } = await s.discern('r', ['notes', 'merge', '--json'])
  assert.equal(exit, 0)
  assert.deepEqual([data.adopted, data.restored, data.merged_refs, data.conflicts], [1, 0, [ORIGIN], []])
  assert.deepEqual(result.hints, [`git push origin ${NOTES_REF}`])
  assert.equal(notesOf(s, 'r', NOTES_REF).size, 2)
  const again = await s.discern('r', ['notes', 'merge', '--json'])
  assert.deepEqual([again.data.moved, again.data.tip], [false, data.tip])
  s.git('r', 'update-ref', ORIGIN, NOTES_REF)
  assert.deepEqual((await s.discern('r', ['notes', 'merge', '--json'])).result.hints, [])
})

test('notes merge refuses with both blobs while a contradiction stands, and resolve ends it', async t => {
  const s = start(t, { [A]: note('ours') }, { [A]: note('theirs'), [B]: note('b') })
  const ids = [NOTES_REF, ORIGIN].map(ref => s.git('r', 'rev-parse', `${ref}:${A}`))
  const merge = await s.discern('r', ['notes', 'merge', '--json'])
  assert.deepEqual([merge.exit, merge.result.error, merge.data.adopted], [1, 'notes_conflict', 1])
  assert.deepEqual(merge.data.conflicts, [{ commit: A, local: [ids[0]], remote: [ids[1]], ref: ORIGIN }])
  const text = await s.discern('r', ['notes', 'merge'])
  for (const id of ids) assert.ok(text.out.includes(id ?? '?'))
  assert.match(text.err, /notes resolve/)

  const resolved = await s.discern('r', ['notes', 'resolve', A, '--keep', 'remote', '--json'])
  assert.equal(resolved.exit, 0)
  assert.deepEqual([resolved.data.commit, resolved.data.keep, resolved.data.remaining], [A, 'remote', []])
  assert.deepEqual(resolved.result.hints, [`git push origin ${NOTES_REF}`])
  assert.equal(notesOf(s, 'r', NOTES_REF).get(A), note('theirs'))
  assert.equal((await s.discern('r', ['notes', 'merge'])).exit, 0)
  assert.equal(resolved.data.tip, s.git('r', 'rev-parse', NOTES_REF))
  assert.equal(resolved.data.tip, s.git('r', 'rev-parse', LOCAL_NOTES_REF))
})

test('one decision covers every remote that contradicts; two remote claims cannot both be kept', async t => {
  const s = start(t, { [A]: note('ours') }, { [A]: note('theirs') })
  s.git('r', 'remote', 'add', 'up', '../up')
  importHistories(s, 'r', [{ ref: 'refs/discern/remotes/up/notes', files: { [A]: note('third') } }])
  const remote = await s.discern('r', ['notes', 'resolve', A, '--keep', 'remote', '--json'])
  assert.deepEqual([remote.exit, remote.result.error], [1, 'precondition_failed'])
  assert.equal(notesOf(s, 'r', NOTES_REF).get(A), note('ours'))
  const local = await s.discern('r', ['notes', 'resolve', A, '--keep', 'local', '--json'])
  assert.equal(local.exit, 0)
  assert.equal((await s.discern('r', ['notes', 'merge'])).exit, 0)
  assert.equal(notesOf(s, 'r', NOTES_REF).get(A), note('ours'))
})

test('notes resolve takes any name of a commit, and refuses where nothing contradicts', async t => {
  const s = scratch(t)
  s.init('r')
  const head = s.git('r', 'rev-parse', 'HEAD')
  importHistories(s, 'r', [{ ref: NOTES_REF, files: { [head]: note('a') } }])
  const settled = await s.discern('r', ['notes', 'resolve', 'HEAD', '--keep', 'local', '--json'])
  assert.deepEqual([settled.exit, settled.result.error], [1, 'precondition_failed'])
  assert.ok(settled.result.message?.includes(head))
  const unknown = await s.discern('r', ['notes', 'resolve', 'no-such', '--keep', 'local', '--json'])
  assert.deepEqual([unknown.exit, unknown.result.error], [2, 'invalid_arguments'])
})

test('what notes cannot make sense of is a usage error', async t => {
  const s = scratch(t)
  s.init('r')
  for (const args of [
    ['prune'],
    ['list', 'HEAD'],
    ['merge', '--keep', 'local'],
    ['resolve', '--keep', 'local'],
    ['resolve', 'HEAD'],
    ['resolve', 'HEAD', '--keep', 'both'],
  ]) {
    const { exit, result } = await s.discern('r', ['notes', ...args, '--json'])
    assert.deepEqual([exit, result.error], [2, 'invalid_arguments'], args.join(' '))
  }
})

test('case 45: notes merge names the missing identity and what to type', async t => {
  const s = start(t, { [A]: note('a') }, { [B]: note('b') })
  s.write('home/.gitconfig', '[user]\n\tuseConfigOnly = true\n')
  const { exit, result } = await s.discern('r', ['notes', 'merge', '--json'], { env: { DISCERN_NO_ATTRIBUTION: '1' } })
  assert.deepEqual([exit, result.error], [1, 'notes_failed'])
  assert.match(result.message ?? '', /identity-missing/)
  assert.match(result.hints?.[0] ?? '', /git config user\.name/)
  assert.equal(filesOf(s, 'r', NOTES_REF).size, 1)
})
