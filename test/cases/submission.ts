/** What branches ask to land: kept by branch in each worktree, found from anywhere in the repository. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import {
  allSubmissions,
  clearSubmission,
  readSubmission,
  recordSubmission,
  type Submission,
  type SubmissionRow,
  worktreePlaces,
} from '../../src/landing/submission.ts'
import { contextFor } from '../support/gate.ts'
import { openScratch } from '../support/open.ts'
import { scratch } from '../support/scratch.ts'

const uuid = (digit: string): string => '00000000-0000-4000-8000-000000000000'.replaceAll('0', digit)

const submission = (branch: string, more: Partial<Submission> = {}): Omit<Submission, 'id' | 'submitted_at'> => ({
  effort_id: uuid('1'),
  branch,
  head: 'a'.repeat(40),
  tree: 'b'.repeat(40),
  proof: { candidate_id: uuid('2'), proof_id: uuid('3') },
  evidence: 'c'.repeat(64),
  predecessor: 'd'.repeat(40),
  trunk: 'refs/heads/main',
  ...more,
})

const A = 'refs/heads/feat/ä b"\\'
const B = 'refs/heads/__proto__'

const inWords = (row: SubmissionRow): string =>
  'submission' in row ? row.submission.branch : `${row.branch ?? 'all'}: ${row.unavailable}`

describe('submissions', () => {
  it('keep the same head with the same Proof, replace any other, and are cleared by id alone', async t => {
    const s = scratch(t)
    const directories = { gitDir: s.path('git'), commonDir: s.path('common') }
    const file = join(directories.gitDir, 'discern/submission')
    let now = 1_767_225_600_000
    const context = { ...contextFor(s.dir, s.env), now: () => new Date(now++) }
    assert.equal(await readSubmission(directories, A), undefined)
    const first = await recordSubmission(context, directories, submission(A))
    assert.equal(first.submitted_at, 1_767_225_600_000)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), { version: 1, submissions: { [A]: first } })
    const other = await recordSubmission(context, directories, submission(B))
    assert.deepEqual(await recordSubmission(context, directories, submission(A)), first, 'the same keeps its record')
    assert.deepEqual(await readSubmission(directories, A), first)
    const differences: Partial<Submission>[] = [
      { head: 'e'.repeat(40) },
      { proof: { candidate_id: uuid('2'), proof_id: uuid('4') } },
      { evidence: 'f'.repeat(64) },
      { predecessor: '1'.repeat(40) },
      { trunk: 'refs/heads/trunk' },
    ]
    let before = first
    for (const difference of differences) {
      const next = await recordSubmission(context, directories, submission(A, difference))
      assert.notEqual(next.id, before.id, JSON.stringify(difference))
      assert.ok(next.submitted_at > before.submitted_at)
      before = next
    }
    await clearSubmission(context, directories, A, first.id)
    assert.deepEqual(await readSubmission(directories, A), before, 'an older id clears nothing')
    await clearSubmission(context, directories, A, before.id)
    assert.equal(await readSubmission(directories, A), undefined)
    assert.deepEqual(await readSubmission(directories, B), other, 'the other branch is untouched')
    await clearSubmission(context, directories, B, other.id)
    assert.throws(() => statSync(file), /ENOENT/)
  })

  it('of two branches written at the same moment both stay', async t => {
    const s = scratch(t)
    const directories = { gitDir: s.path('git'), commonDir: s.path('common') }
    const names = Array.from({ length: 12 }, (_, at) => `refs/heads/b${at}`)
    const context = contextFor(s.dir, s.env)
    await Promise.all(names.map(name => recordSubmission(context, directories, submission(name))))
    for (const name of names) assert.equal((await readSubmission(directories, name))?.branch, name)
  })

  it('refuse a newer or damaged file and leave it as it is; a damaged record harms no other branch', async t => {
    const s = scratch(t)
    const directories = { gitDir: s.path('git'), commonDir: s.path('common') }
    const file = join(directories.gitDir, 'discern/submission')
    const context = contextFor(s.dir, s.env)
    mkdirSync(dirname(file), { recursive: true })
    for (const [text, slug] of [
      ['{"version":2,"submissions":{}}', 'store_newer'],
      ['{"version":1', 'store_unreadable'],
      ['{"version":1,"submissions":[]}', 'store_unreadable'],
    ] as const) {
      writeFileSync(file, text)
      await assert.rejects(readSubmission(directories, A), { slug }, text)
      await assert.rejects(recordSubmission(context, directories, submission(A)), { slug }, text)
      await assert.rejects(clearSubmission(context, directories, A, uuid('1')), { slug }, text)
      assert.equal(readFileSync(file, 'utf8'), text)
    }
    const good = { ...submission(B), id: uuid('5'), submitted_at: 1 }
    writeFileSync(file, JSON.stringify({ version: 1, submissions: { [A]: { ...good, head: 'x' }, [B]: good } }))
    await assert.rejects(readSubmission(directories, A), { slug: 'store_unreadable' })
    assert.deepEqual(await readSubmission(directories, B), good)
    const replaced = await recordSubmission(context, directories, submission(A))
    assert.deepEqual(await readSubmission(directories, A), replaced)
    assert.deepEqual(await readSubmission(directories, B), good)
  })

  it('of every worktree are found from any of them, without those that git would prune', async t => {
    const s = scratch(t)
    s.init('r')
    for (const name of ['one', 'two', 'gone', 'away']) {
      s.git('r', 'worktree', 'add', '-q', `../${name}`, '-b', `feat/${name}`)
    }
    s.git('r', 'worktree', 'lock', '../away')
    const { context, repository } = await openScratch(t, s, 'r')
    for (const [order, name] of ['two', 'one', 'gone', 'away'].entries()) {
      const directories = { gitDir: s.path(`r/.git/worktrees/${name}`), commonDir: s.path('r/.git') }
      const clock = { ...context, now: () => new Date(1000 - order) }
      await recordSubmission(clock, directories, submission(`refs/heads/feat/${name}`))
    }
    await recordSubmission({ ...context, now: () => new Date(1) }, repository, submission('refs/heads/own'))
    rmSync(s.path('gone'), { recursive: true })
    rmSync(s.path('away'), { recursive: true })
    const expected = ['refs/heads/own', 'refs/heads/feat/away', 'refs/heads/feat/one', 'refs/heads/feat/two']
    assert.deepEqual((await allSubmissions(repository)).map(inWords), expected)
    const { repository: linked } = await openScratch(t, s, 'two')
    assert.deepEqual((await allSubmissions(linked)).map(inWords), expected)
    const places = await worktreePlaces(linked)
    const listed = s.git('r', 'worktree', 'list', '--porcelain').match(/^worktree .*/gm) ?? []
    assert.deepEqual(
      places.map(({ topLevel }) => `worktree ${topLevel}`).sort(),
      listed.filter(line => !line.endsWith('/gone')).sort(),
    )
    assert.deepEqual(
      places.filter(({ locked }) => locked).map(({ topLevel }) => topLevel),
      [s.path('away')],
    )
    for (const place of places) {
      if (place.locked) continue
      assert.equal(s.git(place.topLevel ?? '', 'rev-parse', '--absolute-git-dir'), place.gitDir)
    }
  })

  it('that cannot be read are rows of their own, after the others', async t => {
    const s = scratch(t)
    s.init('r')
    for (const name of ['one', 'two']) s.git('r', 'worktree', 'add', '-q', `../${name}`, '-b', name)
    const { context, repository } = await openScratch(t, s, 'r')
    s.write('r/.git/worktrees/one/discern/submission', '{"version":7}')
    const good = { ...submission(B), id: uuid('5'), submitted_at: 1 }
    const records = { 'refs/heads/two': { ...good, branch: 'refs/heads/three' }, [B]: good }
    s.write('r/.git/worktrees/two/discern/submission', JSON.stringify({ version: 1, submissions: records }))
    await recordSubmission(context, repository, submission(A))
    assert.deepEqual((await allSubmissions(repository)).map(inWords), [
      B,
      A,
      'all: it was written by a newer git discern (format 7)',
      'refs/heads/two: the record is malformed',
    ])
  })

  it('are found where a linked worktree is named by a relative path, and where a bare repository has worktrees', async t => {
    const s = scratch(t)
    s.init('r')
    s.git('.', 'clone', '-q', '--bare', 'r', 'hub.git')
    s.git('hub.git', 'worktree', 'add', '-q', '../wt', '-b', 'feat')
    const { context, repository } = await openScratch(t, s, 'wt')
    await recordSubmission(context, repository, submission('refs/heads/feat'))
    s.write('hub.git/worktrees/wt/gitdir', '../../../wt/.git\n')
    const rows = await allSubmissions(repository)
    assert.deepEqual(
      rows.map(({ place }) => place.topLevel),
      [s.path('wt')],
    )
    const [main] = await worktreePlaces(repository)
    assert.equal(main?.topLevel, undefined)
  })
})
