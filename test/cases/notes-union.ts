import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareNotes, completeSides, diffNotes } from '../../src/git/notes-compare.ts'
import { editNotes } from '../../src/git/notes-edit.ts'
import { openNotes } from '../../src/git/notes-tree.ts'
import { uniteNotes } from '../../src/git/notes-union.ts'
import { oidDigits, type Repository } from '../../src/git/repository.ts'
import { openTreeStore } from '../../src/git/trees.ts'
import { importHistories, note, notesOf, openFor, pathOf, subjectOf } from '../support/notes.ts'
import { type Scratch, scratch } from '../support/scratch.ts'

type Files = ReadonlyMap<string, string>

const numbered = (name: string, count: number, depth: number, algorithm: 'sha1' | 'sha256' = 'sha1'): Files =>
  new Map(
    Array.from({ length: count }, (_, at) => {
      const subject = subjectOf(`${name} ${at}`, algorithm)
      return [pathOf(subject, depth), note(subject)] as const
    }),
  )

/** Two histories over a common one, and what both ways make of them. */
const unite = async (s: Scratch, repository: Repository, base: Files, ours: Files, theirs: Files) => {
  importHistories(s, 'r', [
    { ref: 'refs/x/base', files: base },
    { ref: 'refs/x/ours', from: 'refs/x/base', files: ours },
    { ref: 'refs/x/theirs', from: 'refs/x/base', files: theirs },
  ])
  const [left = '', right = ''] = s.git('r', 'rev-parse', 'refs/x/ours^{tree}', 'refs/x/theirs^{tree}').split('\n')
  const diff = await diffNotes(repository, left, right)
  const quick = await uniteNotes(repository, diff, left, right)
  const compared = compareNotes(diff, oidDigits(repository))
  const folder = await openNotes(
    repository,
    left,
    compared.open.map(({ subject }) => subject),
  )
  const changes = completeSides(folder, compared.open).map(({ subject, theirs }) => [subject, theirs[0]] as const)
  const trees = openTreeStore(repository)
  const careful = editNotes(trees, oidDigits(repository), folder, new Map(changes))
  await trees.flush()
  return { quick, careful }
}

for (const [depth, sizes] of [
  [0, [60, 20, 30]],
  [1, [900, 300, 200]],
  [2, [4000, 700, 600]],
] as const) {
  test(`the quick and the careful way unite two trees with ${depth} slashes to the same tree, which holds every note`, async t => {
    const s = scratch(t)
    s.git('.', 'init', '-q', 'r')
    const repository = await openFor(t, s, 'r')
    const [base, ours, theirs] = (['base', 'ours', 'theirs'] as const).map((name, at) =>
      numbered(name, sizes[at] ?? 0, depth),
    )
    assert.ok(base && ours && theirs)
    const { quick, careful } = await unite(s, repository, base, ours, theirs)
    assert.deepEqual(quick, { tree: careful, adopted: sizes[2], kept: sizes[1] })
    const notes = notesOf(s, 'r', quick?.tree ?? '')
    assert.equal(notes.size, sizes[0] + sizes[1] + sizes[2])
    for (const [subject, body] of notes) assert.equal(body, note(subject))
    assert.equal(s.git('r', 'fsck', '--strict', '--no-dangling'), '', 'git finds nothing to complain about')
  })
}

test('the quick way works with 64 digits', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', '--object-format=sha256', 'r')
  const repository = await openFor(t, s, 'r')
  const [base, ours, theirs] = ['base', 'ours', 'theirs'].map(name => numbered(name, 300, 1, 'sha256'))
  assert.ok(base && ours && theirs)
  const { quick, careful } = await unite(s, repository, base, ours, theirs)
  assert.ok(quick && quick.tree === careful)
  assert.equal(notesOf(s, 'r', quick.tree).size, 900)
})

test('whatever is out of the ordinary is left to the careful way', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', 'r')
  const repository = await openFor(t, s, 'r')
  const base = numbered('base', 50, 1)
  const [ours, theirs] = [numbered('ours', 5, 1), numbered('theirs', 5, 1)]
  const usual = await unite(s, repository, base, ours, theirs)
  assert.ok(usual.quick, 'this is the ordinary case')
  const contested = subjectOf('ours 0')
  const oddities: Readonly<Record<string, Files>> = {
    'another note for one subject': new Map([...theirs, [pathOf(contested, 1), note('other')]]),
    'the same subject at another depth': new Map([...theirs, [contested, note('other')]]),
    'new notes at two depths': new Map([...theirs, [subjectOf('flat'), note('flat')]]),
    'a path that is no note': new Map([...theirs, ['readme', 'x']]),
    'a note below a deeper folder': new Map([...theirs, [pathOf(subjectOf('deep'), 2), note('deep')]]),
  }
  for (const [what, files] of Object.entries(oddities)) {
    assert.equal((await unite(s, repository, base, ours, files)).quick, undefined, what)
  }
  const flat = new Map([...base, [subjectOf('flat'), note('flat')]])
  assert.equal((await unite(s, repository, flat, ours, theirs)).quick, undefined, 'a note beside the folders')
  const mixed = new Map([...base, [pathOf(subjectOf('theirs 0'), 2), note('hidden')]])
  assert.equal((await unite(s, repository, mixed, ours, theirs)).quick, undefined, 'a folder below the new notes')
  const full = await unite(s, repository, numbered('base', 200, 0), numbered('ours', 30, 0), numbered('theirs', 40, 0))
  assert.equal(full.quick, undefined, 'a folder that has to be split')
})
