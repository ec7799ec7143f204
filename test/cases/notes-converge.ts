import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import {
  convergeNotes,
  LOCAL_NOTES_REF,
  NOTES_REF,
  OVERWRITTEN_NOTES_REF,
  readNote,
  resolveConflict,
  writeNote,
} from '../../src/git/notes.ts'
import type { Repository } from '../../src/git/repository.ts'
import {
  filesOf,
  type History,
  importHistories,
  note,
  notesOf,
  openFor,
  pathOf,
  sameClaim,
  subjectOf,
  testWriter,
} from '../support/notes.ts'
import { type Scratch, scratch } from '../support/scratch.ts'

const ORIGIN = 'refs/discern/remotes/origin/notes'
const A = subjectOf('a')
const B = subjectOf('b')
const C = subjectOf('c')

const converge = (repository: Repository, ...tracking: string[]) =>
  convergeNotes(repository, { tracking: tracking.length > 0 ? tracking : [ORIGIN], sameClaim, writer: testWriter() })

const write = (repository: Repository, subject: string, body: string) =>
  writeNote(repository, { subject, body, sameClaim, writer: testWriter() })

const resolve = (repository: Repository, subject: string, keep: 'local' | 'remote', ref = ORIGIN) =>
  resolveConflict(repository, { subject, keep, ref, sameClaim, writer: testWriter() })

/** A repository whose two notes refs hold the first history, with the others beside it. */
const start = async (t: TestContext, ours: History['files'], ...others: readonly History[]) => {
  const s = scratch(t)
  s.git('.', 'init', '-q', 'r')
  importHistories(s, 'r', [{ ref: NOTES_REF, files: ours }, ...others])
  s.git('r', 'update-ref', LOCAL_NOTES_REF, NOTES_REF)
  return { s, repository: await openFor(t, s, 'r') }
}

const tip = (s: Scratch, ref: string): string => s.tryGit('r', 'rev-parse', '-q', '--verify', ref).out.trim()
const held = (s: Scratch, ref = NOTES_REF): Record<string, string> => Object.fromEntries(notesOf(s, 'r', tip(s, ref)))

test('with nothing fetched and nothing lost, nothing is written', async t => {
  const { s, repository } = await start(t, { [A]: note('a') })
  const before = s.git('r', 'for-each-ref')
  const result = await converge(repository)
  assert.deepEqual(
    { ...result, tip: undefined },
    {
      tip: undefined,
      moved: false,
      adopted: 0,
      restored: 0,
      merged: [],
      replaced: [],
      conflicts: [],
      ahead: [],
      unreadable: [],
    },
  )
  assert.equal(s.git('r', 'for-each-ref'), before)
})

test('with nothing pending a convergence costs reading the refs, and one question for each ref that stands elsewhere', async t => {
  const refs = ['a', 'b', 'c'].map(remote => `refs/discern/remotes/${remote}/notes`)
  const { s } = await start(t, { [A]: note('a') }, { ref: NOTES_REF, from: NOTES_REF, files: { [B]: note('b') } })
  s.git('r', 'update-ref', refs[0] ?? '', NOTES_REF)
  s.git('r', 'update-ref', refs[1] ?? '', `${NOTES_REF}~1`)
  s.git('r', 'update-ref', LOCAL_NOTES_REF, NOTES_REF)
  const trace = s.path('trace')
  const repository = await openFor(t, s, 'r', { GIT_TRACE2_EVENT: trace })
  assert.equal((await converge(repository, ...refs)).moved, false)
  const asked = [...s.read(trace).matchAll(/"event":"start".*"argv":\["git","([^"]+)"/g)].map(match => match[1])
  assert.deepEqual(asked, ['rev-parse', 'for-each-ref', 'merge-base'])
})

test('the first fetched notes of a clone become its own, and later ones are taken in without a merge commit', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', 'r')
  const repository = await openFor(t, s, 'r')
  assert.equal((await converge(repository)).tip, undefined, 'no notes at all is no error')
  const [first = ''] = importHistories(s, 'r', [{ ref: ORIGIN, files: { [A]: note('a'), [B]: note('b') } }])
  const adopted = await converge(repository)
  assert.equal(adopted.tip, first)
  assert.equal(adopted.adopted, 2)
  assert.deepEqual(adopted.merged, [ORIGIN])
  assert.equal(tip(s, NOTES_REF), first)
  assert.equal(tip(s, LOCAL_NOTES_REF), first)
  const [second = ''] = importHistories(s, 'r', [{ ref: ORIGIN, from: ORIGIN, files: { [C]: note('c') } }])
  assert.equal((await converge(repository)).tip, second)
})

test('several tracking refs are merged in the order of their names, and once', async t => {
  const refs = ['b', 'a', 'x/y'].map(remote => `refs/discern/remotes/${remote}/notes`)
  const { s, repository } = await start(
    t,
    { [A]: note('a') },
    ...refs.map((ref, at) => ({ ref, files: { [subjectOf(at)]: note(`${at}`) } })),
  )
  const result = await converge(repository, ...refs)
  assert.deepEqual(result.merged, [...refs].sort())
  assert.equal(result.adopted, 3)
  assert.equal(Object.keys(held(s)).length, 4)
  const again = await converge(repository, ...refs)
  assert.equal(again.moved, false)
  assert.equal(again.tip, result.tip)
})

test('two clones that merge the same two tips make the same commit', async t => {
  const { s, repository } = await start(t, { [A]: note('a') }, { ref: ORIGIN, files: { [B]: note('b') } })
  const [ours, theirs] = [tip(s, NOTES_REF), tip(s, ORIGIN)]
  const here = await converge(repository)
  for (const ref of [NOTES_REF, LOCAL_NOTES_REF]) s.git('r', 'update-ref', ref, theirs)
  s.git('r', 'update-ref', ORIGIN, ours)
  const there = await converge(repository)
  assert.equal(there.tip, here.tip)
  assert.equal(
    s.git('r', 'log', '-1', '--format=%an <%ae>, %cn <%ce>', NOTES_REF),
    'discern <done@discern.sh>, discern <done@discern.sh>',
  )
})

test('of two presentations of one claim every clone keeps the same one', async t => {
  const bodies = [note('a', 'terse'), note('a', 'at length')] as const
  const { s, repository } = await start(t, { [A]: bodies[0] }, { ref: ORIGIN, files: { [A]: bodies[1] } })
  const smaller = bodies
    .map(body => ({ body, oid: s.exec('r', 'git', ['hash-object', '--stdin'], { input: body }).out }))
    .sort((left, right) => (left.oid < right.oid ? -1 : 1))[0]?.body
  const [ours, theirs] = [tip(s, NOTES_REF), tip(s, ORIGIN)]
  assert.deepEqual((await converge(repository)).conflicts, [])
  assert.equal(held(s)[A], smaller)
  for (const ref of [NOTES_REF, LOCAL_NOTES_REF]) s.git('r', 'update-ref', ref, theirs)
  s.git('r', 'update-ref', ORIGIN, ours)
  await converge(repository)
  assert.equal(held(s)[A], smaller)
})

test('different claims about one commit: ours stays, everything else is adopted, and a push stays refused', async t => {
  const { s, repository } = await start(
    t,
    { [A]: note('ours') },
    { ref: ORIGIN, files: { [A]: note('theirs'), [B]: note('b') } },
  )
  const blob = (body: string): string => s.exec('r', 'git', ['hash-object', '--stdin'], { input: body }).out.trim()
  const result = await converge(repository)
  assert.deepEqual(result.conflicts, [
    { subject: A, local: [blob(note('ours'))], remote: [blob(note('theirs'))], ref: ORIGIN },
  ])
  assert.deepEqual(held(s), { [A]: note('ours'), [B]: note('b') })
  assert.equal(s.tryGit('r', 'merge-base', '--is-ancestor', ORIGIN, NOTES_REF).exit, 1)
  const again = await converge(repository)
  assert.equal(again.moved, false, 'the same conflict makes no second commit')
  assert.equal(again.conflicts.length, 1)
})

test('a decision is a merge commit, travels to the other clone, and is never asked for again', async t => {
  for (const keep of ['local', 'remote'] as const) {
    const { s, repository } = await start(t, { [A]: note('ours') }, { ref: ORIGIN, files: { [A]: note('theirs') } })
    const theirs = tip(s, ORIGIN)
    const decided = await resolve(repository, A, keep)
    assert.equal(decided.status, 'resolved')
    assert.equal(decided.status === 'resolved' && decided.recorded, 'merge')
    const winner = keep === 'local' ? note('ours') : note('theirs')
    assert.deepEqual(held(s), { [A]: winner })
    assert.equal(s.tryGit('r', 'merge-base', '--is-ancestor', ORIGIN, NOTES_REF).exit, 0, 'a push is possible')
    assert.equal(tip(s, LOCAL_NOTES_REF), tip(s, NOTES_REF))
    assert.deepEqual((await converge(repository)).conflicts, [])
    // The other clone, which made the other claim, fetches the decision.
    s.git('r', 'update-ref', ORIGIN, NOTES_REF)
    for (const ref of [NOTES_REF, LOCAL_NOTES_REF]) s.git('r', 'update-ref', ref, theirs)
    const followed = await converge(repository)
    assert.deepEqual(followed.conflicts, [])
    assert.equal(followed.replaced.length, keep === 'local' ? 1 : 0, 'and is told when its own note gave way')
    assert.deepEqual(held(s), { [A]: winner })
  }
})

test('the last of several decisions records the merge, and earlier ones are remembered until then', async t => {
  const { s, repository } = await start(
    t,
    { [A]: note('a1'), [B]: note('b1'), [C]: note('c') },
    { ref: ORIGIN, files: { [A]: note('a2'), [B]: note('b2') } },
  )
  const first = await resolve(repository, A, 'local')
  assert.deepEqual(first.status === 'resolved' && [first.recorded, first.remaining.map(({ subject }) => subject)], [
    'commit',
    [B],
  ])
  // A setting that bends git's own trailer parser must not make us forget.
  s.git('r', 'config', 'trailer.separators', '=')
  assert.deepEqual(
    (await converge(repository)).conflicts.map(({ subject }) => subject),
    [B],
  )
  const second = await resolve(repository, B, 'remote')
  assert.deepEqual(second.status === 'resolved' && [second.recorded, second.remaining], ['merge', []])
  assert.deepEqual(held(s), { [A]: note('a1'), [B]: note('b2'), [C]: note('c') })
  assert.deepEqual((await converge(repository)).conflicts, [])
})

test('a remote that has not heard of a decision yet does not bring the question back', async t => {
  const up = 'refs/discern/remotes/up/notes'
  const { s, repository } = await start(
    t,
    { [A]: note('ours') },
    { ref: ORIGIN, files: { [A]: note('theirs') } },
    { ref: up, from: NOTES_REF, files: { [B]: note('b') } },
  )
  await resolve(repository, A, 'remote')
  const result = await converge(repository, ORIGIN, up)
  assert.deepEqual([result.conflicts, result.replaced], [[], []])
  assert.deepEqual(held(s), { [A]: note('theirs'), [B]: note('b') })
})

test('deciding where nothing contradicts changes nothing', async t => {
  const { s, repository } = await start(t, { [A]: note('a') }, { ref: ORIGIN, files: { [B]: note('b') } })
  const before = tip(s, NOTES_REF)
  assert.deepEqual(await resolve(repository, A, 'remote'), { status: 'no-conflict' })
  assert.deepEqual(await resolve(repository, A, 'remote', 'refs/discern/remotes/gone/notes'), { status: 'no-conflict' })
  assert.equal(tip(s, NOTES_REF), before)
})

test('two decisions of two clones that contradict each other are a conflict again, not a coin toss', async t => {
  const { s, repository } = await start(t, { [A]: note('ours') }, { ref: ORIGIN, files: { [A]: note('theirs') } })
  const [ours, theirs] = [tip(s, NOTES_REF), tip(s, ORIGIN)]
  await resolve(repository, A, 'local')
  const here = tip(s, NOTES_REF)
  for (const ref of [NOTES_REF, LOCAL_NOTES_REF]) s.git('r', 'update-ref', ref, theirs)
  s.git('r', 'update-ref', ORIGIN, ours)
  await resolve(repository, A, 'local')
  s.git('r', 'update-ref', ORIGIN, here)
  const result = await converge(repository)
  assert.deepEqual(
    result.conflicts.map(({ subject }) => subject),
    [A],
  )
  assert.deepEqual(held(s), { [A]: note('theirs') })
})

test('case 27: a merge that the user began with git is neither in the way nor touched, and none is left by us', async t => {
  const { s, repository } = await start(
    t,
    { [A]: note('ours') },
    { ref: ORIGIN, files: { [A]: note('theirs'), [B]: note('b') } },
  )
  const git = (...args: string[]) => s.tryGit('r', ...args)
  assert.notEqual(git('notes', '--ref=discern', 'merge', ORIGIN).exit, 0)
  const leftovers = readdirSync(s.path('r/.git')).filter(name => name.startsWith('NOTES_MERGE'))
  assert.ok(leftovers.length >= 2, 'the recipe leaves something behind')
  const result = await converge(repository)
  assert.equal(result.adopted, 1)
  assert.equal(result.conflicts.length, 1)
  assert.deepEqual(
    readdirSync(s.path('r/.git')).filter(name => name.startsWith('NOTES_MERGE')),
    leftovers,
  )
  assert.equal(git('notes', '--ref=discern', 'merge', '--abort').exit, 0)

  const fresh = await start(t, { [A]: note('ours') }, { ref: ORIGIN, files: { [A]: note('theirs') } })
  await converge(fresh.repository)
  await resolve(fresh.repository, A, 'remote')
  assert.deepEqual(
    readdirSync(fresh.s.path('r/.git')).filter(name => name.startsWith('NOTES_MERGE')),
    [],
  )
})

test("case 28: the user's notes merge strategies have no effect, and two claims are never glued together", async t => {
  for (const strategy of ['union', 'cat_sort_uniq', 'ours', 'theirs']) {
    const { s, repository } = await start(t, { [A]: '{"a":1}\n' }, { ref: ORIGIN, files: { [A]: '{"b":2}\n' } })
    s.git('r', 'config', 'notes.mergeStrategy', strategy)
    s.git('r', 'config', 'notes.discern.mergeStrategy', strategy)
    assert.equal((await converge(repository)).conflicts.length, 1)
    assert.deepEqual(held(s), { [A]: '{"a":1}\n' })
  }
})

test('case 29: a remote tree that holds one subject twice is reported for it, and everything else still merges', async t => {
  const { s, repository } = await start(
    t,
    { [A]: note('base') },
    {
      ref: ORIGIN,
      from: NOTES_REF,
      files: { [A]: note('c'), [pathOf(A, 1)]: note('b'), [pathOf(B, 1)]: note('other') },
    },
    { ref: NOTES_REF, from: NOTES_REF, files: { [A]: note('b') } },
  )
  s.git('r', 'update-ref', LOCAL_NOTES_REF, NOTES_REF)
  const result = await converge(repository)
  assert.deepEqual(
    result.conflicts.map(({ subject, local, remote }) => [subject, local.length, remote.length]),
    [[A, 1, 2]],
  )
  assert.deepEqual(held(s), { [A]: note('b'), [B]: note('other') })
  assert.equal((await converge(repository)).moved, false)
  assert.equal((await resolve(repository, A, 'remote')).status, 'ambiguous', 'there is no one note to keep')
  assert.equal((await resolve(repository, A, 'local')).status, 'resolved')
  assert.deepEqual(held(s), { [A]: note('b'), [B]: note('other') })
  assert.deepEqual((await converge(repository)).conflicts, [])
})

test('case 29: a second, unseen copy of a standing note cannot slip in, whichever depth it hides at', async t => {
  for (const [standing, hidden] of [
    [0, 1],
    [1, 0],
    [1, 2],
    [2, 1],
    [2, 0],
  ] as const) {
    const { s, repository } = await start(
      t,
      { [pathOf(A, standing)]: note('a') },
      { ref: ORIGIN, from: NOTES_REF, files: { [pathOf(A, hidden)]: note('forged'), [pathOf(B, hidden)]: note('b') } },
      { ref: NOTES_REF, from: NOTES_REF, files: { [pathOf(C, standing)]: note('c') } },
    )
    s.git('r', 'update-ref', LOCAL_NOTES_REF, NOTES_REF)
    const result = await converge(repository)
    assert.deepEqual(held(s), { [A]: note('a'), [B]: note('b'), [C]: note('c') }, `${standing} against ${hidden}`)
    assert.deepEqual(
      result.conflicts.map(({ subject }) => subject),
      [A],
    )
  }
})

test('case 29: our own tree that holds a subject twice keeps both, and readers call it ambiguous', async t => {
  const { s, repository } = await start(
    t,
    { [A]: note('one'), [pathOf(A, 1)]: note('two') },
    { ref: ORIGIN, files: { [A]: note('three'), [B]: note('b') } },
  )
  const result = await converge(repository)
  assert.deepEqual(
    result.conflicts.map(({ subject, local }) => [subject, local.length]),
    [[A, 2]],
  )
  const files = filesOf(s, 'r', tip(s, NOTES_REF))
  assert.deepEqual([files.get(A), files.get(pathOf(A, 1))], [note('one'), note('two')])
  const read = await readNote(repository, tip(s, NOTES_REF), A)
  assert.equal(read.status, 'ambiguous')
  assert.equal((await resolve(repository, A, 'local')).status, 'ambiguous')
  assert.equal((await resolve(repository, A, 'remote')).status, 'resolved')
  assert.deepEqual(held(s), { [A]: note('three'), [B]: note('b') })
})

test('case 31: notes that a forced refspec overwrote are back after the next command, which says how many', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', '--bare', 'up')
  s.git('.', 'init', '-q', 'r')
  s.git('r', 'remote', 'add', 'origin', s.path('up'))
  s.git('r', 'config', '--add', 'remote.origin.fetch', '+refs/notes/*:refs/notes/*')
  const repository = await openFor(t, s, 'r')
  await write(repository, A, note('published'))
  s.git('r', 'push', '-q', 'origin', NOTES_REF)
  await write(repository, B, note('mine'))
  await write(repository, C, note('mine too'))
  s.git('r', 'fetch', '-q', 'origin')
  assert.deepEqual(Object.keys(held(s)), [A], 'the recipe loses notes')
  const result = await converge(repository)
  assert.equal(result.restored, 2)
  assert.equal(Object.keys(held(s)).length, 3)
  assert.equal((await converge(repository)).restored, 0)
  assert.equal(s.tryGit('r', 'push', '-q', 'origin', NOTES_REF).exit, 0, 'and a push brings them up')
})

test('case 31: what a forced fetch brought and what it overwrote are merged, and a contradiction stays within reach', async t => {
  const { s, repository } = await start(
    t,
    { [A]: note('mine') },
    { ref: 'refs/x/theirs', files: { [A]: note('theirs'), [B]: note('b') } },
  )
  const theirs = tip(s, 'refs/x/theirs')
  s.git('r', 'update-ref', NOTES_REF, theirs)
  const result = await converge(repository)
  assert.deepEqual([result.restored, result.conflicts.length, result.conflicts[0]?.ref], [1, 1, OVERWRITTEN_NOTES_REF])
  assert.deepEqual(held(s), { [A]: note('mine'), [B]: note('b') })
  assert.equal(tip(s, OVERWRITTEN_NOTES_REF), theirs)
  assert.equal((await converge(repository)).conflicts.length, 1, 'it is reported until someone decides')
  assert.equal((await resolve(repository, A, 'remote', OVERWRITTEN_NOTES_REF)).status, 'resolved')
  assert.deepEqual(held(s), { [A]: note('theirs'), [B]: note('b') })
  assert.equal(tip(s, OVERWRITTEN_NOTES_REF), '')
})

test('case 31: a deleted notes ref comes back', async t => {
  const { s, repository } = await start(t, { [A]: note('a'), [B]: note('b') })
  const before = tip(s, NOTES_REF)
  s.git('r', 'update-ref', '-d', NOTES_REF)
  const result = await converge(repository)
  assert.deepEqual([result.restored, result.tip], [2, before])
  assert.equal(tip(s, NOTES_REF), before)
})

test('case 42: notes that a prune threw away come back, also those on commits that are not here', async t => {
  const s = scratch(t)
  s.init('r')
  const head = s.git('r', 'rev-parse', 'HEAD')
  const repository = await openFor(t, s, 'r')
  for (const subject of [head, A, B, C]) await write(repository, subject, note(subject))
  s.git('r', 'notes', '--ref=discern', 'prune')
  assert.deepEqual(Object.keys(held(s)), [head], 'the recipe loses notes')
  const result = await converge(repository)
  assert.equal(result.restored, 3)
  assert.deepEqual(Object.keys(held(s)).sort(), [A, B, C, head].sort())
})

test('case 42: a prune in a clone that never ran a command of ours is undone from what was fetched', async t => {
  const s = scratch(t)
  s.init('r')
  importHistories(s, 'r', [{ ref: ORIGIN, files: { [A]: note('a'), [B]: note('b') } }])
  s.git('r', 'update-ref', NOTES_REF, ORIGIN)
  s.git('r', 'notes', '--ref=discern', 'prune')
  const repository = await openFor(t, s, 'r')
  assert.equal((await converge(repository)).adopted, 2)
  assert.deepEqual(held(s), { [A]: note('a'), [B]: note('b') })
})

test('a deletion that the remote published does not take our note away', async t => {
  const { s, repository } = await start(
    t,
    { [A]: note('a'), [B]: note('b') },
    { ref: ORIGIN, from: NOTES_REF, files: { [A]: undefined, [C]: note('c') } },
  )
  const result = await converge(repository)
  assert.deepEqual(held(s), { [A]: note('a'), [B]: note('b'), [C]: note('c') })
  assert.equal(s.git('r', 'rev-parse', `${result.tip}^`), tip(s, ORIGIN), 'the new commit stands on theirs')
  assert.equal((await converge(repository)).moved, false)
})

test('case 40: the three documented commands work, and the loser of a publish race needs no second merge', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', '--bare', 'up')
  const clones = await Promise.all(
    ['one', 'two'].map(async name => {
      s.git('.', 'clone', '-q', 'up', name)
      s.git(name, 'config', '--add', 'remote.origin.fetch', '+refs/notes/discern*:refs/discern/remotes/origin/notes*')
      const repository = await openFor(t, s, name)
      await write(repository, subjectOf(name), note(name))
      return { name, repository }
    }),
  )
  s.git('one', 'push', '-q', 'origin', NOTES_REF)
  assert.notEqual(s.tryGit('two', 'push', '-q', 'origin', NOTES_REF).exit, 0)
  for (const command of [
    'git fetch origin',
    `git notes --ref=discern merge ${ORIGIN}`,
    `git push origin ${NOTES_REF}`,
  ]) {
    assert.equal(s.sh('two', command).exit, 0, command)
  }
  const [one, two] = clones
  assert.ok(one && two)
  const after = await converge(two.repository)
  assert.equal(after.tip, s.git('two', 'rev-parse', NOTES_REF), 'what git merged is taken as it is')
  s.git('one', 'fetch', '-q', 'origin')
  assert.equal((await converge(one.repository)).tip, after.tip)
  assert.equal(notesOf(s, 'one', NOTES_REF).size, 2)
  assert.equal((await converge(one.repository)).moved, false)
  assert.equal(s.git('one', 'rev-list', '--count', '--merges', NOTES_REF), '1')
})

test('case 25: convergences at the same time bring in every fetched note, and none of them says anything of locks', async t => {
  const refs = ['a', 'b', 'c', 'd'].map(remote => `refs/discern/remotes/${remote}/notes`)
  const { s, repository } = await start(
    t,
    { [A]: note('a') },
    ...refs.map((ref, at) => ({ ref, files: { [subjectOf(at)]: note(`${at}`) } })),
  )
  const repositories = await Promise.all(refs.map(() => openFor(t, s, 'r')))
  const results = await Promise.all(repositories.map((each, at) => converge(each, ...refs.slice(at))))
  for (const { failure } of results) assert.equal(failure, undefined)
  assert.equal(Object.keys(held(s)).length, 5)
  assert.equal((await converge(repository, ...refs)).moved, false)
})

test('a tracking ref that holds no commit is named and left alone', async t => {
  const { s, repository } = await start(t, { [A]: note('a') })
  s.git('r', 'update-ref', ORIGIN, `${NOTES_REF}^{tree}`)
  const result = await converge(repository)
  assert.deepEqual(result.unreadable, [ORIGIN])
  assert.equal(result.moved, false)
  s.git('r', 'update-ref', '-d', NOTES_REF)
  s.git('r', 'update-ref', '-d', LOCAL_NOTES_REF)
  assert.deepEqual((await converge(repository)).unreadable, [ORIGIN])
  assert.equal(tip(s, NOTES_REF), '')
})

test('siblings of the exact refs are never read', async t => {
  const { s, repository } = await start(
    t,
    { [A]: note('a') },
    { ref: `${ORIGIN}-x/notes`, files: { [B]: note('b') } },
    { ref: `${ORIGIN}-y`, files: { [C]: note('c') } },
    { ref: 'refs/notes/discern-x', files: { [C]: note('c') } },
  )
  assert.equal((await converge(repository)).moved, false)
  assert.deepEqual(held(s), { [A]: note('a') })
})

test('case 63: packed refs and a linked worktree make no difference', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'worktree', 'add', '-q', '../wt', '-b', 'wt')
  const linked = await openFor(t, s, 'wt')
  await write(linked, A, note('a'))
  s.git('r', 'pack-refs', '--all')
  assert.equal(existsSync(s.path('r/.git/refs/notes/discern')), false)
  const main = await openFor(t, s, 'r')
  await write(main, B, note('b'))
  importHistories(s, 'r', [{ ref: ORIGIN, files: { [C]: note('c') } }])
  s.git('r', 'pack-refs', '--all')
  await converge(linked)
  assert.deepEqual(Object.keys(held(s)).sort(), [A, B, C].sort())
})

test('case 61: in a SHA-256 repository ids are 64 digits and nothing shorter is a note', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', '--object-format=sha256', 'r')
  const [long, other] = [subjectOf('a', 'sha256'), subjectOf('b', 'sha256')]
  importHistories(s, 'r', [{ ref: ORIGIN, files: { [pathOf(other, 1)]: note('b'), [A]: note('40 digits') } }])
  const repository = await openFor(t, s, 'r')
  await write(repository, long, note('a'))
  const result = await converge(repository)
  assert.equal(result.adopted, 1)
  assert.match(result.tip ?? '', /^[0-9a-f]{64}$/)
  const files = filesOf(s, 'r', NOTES_REF)
  assert.deepEqual([files.get(long), files.get(A)], [note('a'), note('40 digits')])
  assert.equal((await readNote(repository, result.tip ?? '', other)).status, 'one')
  assert.equal((await readNote(repository, result.tip ?? '', A)).status, 'none')
})
