/** What waits to land: rows from every worktree, each with what it waits for, and a command that really settles it. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { recordSubmission } from '../../src/landing/submission.ts'
import { openScratch } from '../support/open.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

const CONFIG = `[repository]
trunk = "main"
[jobs]
test = "test ! -e ../broken"
[scopes.docs]
paths = ["docs/**"]
[acceptance]
pre_authorized = ["docs"]
[checkpoints.rollback]
paths = ["migrations/**"]
question = "How is this rolled back?"
`

const start = (s: Scratch): void => {
  s.git('.', 'init', '-q', 'r')
  s.write('r/f', '1\n')
  s.write('r/discern.toml', CONFIG)
  s.commit('r', 'one')
}

let minutes = 0
/** Every `done` a minute later than the one before, so that the order of submissions is that of the test. */
const later = (): Date => new Date(Date.parse('2026-01-02T00:00:00Z') + 60_000 * minutes++)

/** A linked worktree with one proven commit of these files on the branch of the same name, or on another one. */
const proven = async (
  s: Scratch,
  name: string,
  files: Readonly<Record<string, string>> = { [name]: '1\n' },
  branch = name,
  ...args: readonly string[]
): Promise<string> => {
  s.git('r', 'worktree', 'add', '-q', '-b', branch, `../${name}`, 'main')
  for (const [path, text] of Object.entries(files)) s.write(`${name}/${path}`, text)
  const commit = s.commit(name, name)
  if (args.length > 0) await s.discern(name, ['done', '--json'])
  const run = await s.discern(name, ['done', '--json', ...args], { now: later() })
  assert.equal(run.result.ok, true, run.out)
  return commit
}

/** The rows by branch; looking must change nothing. */
const queue = async (s: Scratch, cwd = 'r', ...args: readonly string[]): Promise<Readonly<Record<string, Loose>>> => {
  const before = snapshot(s.dir)
  const run = await s.discern(cwd, ['queue', '--json', ...args])
  assert.equal(run.exit, 0, run.out)
  assert.deepEqual(snapshot(s.dir), before, 'queue changed something')
  return Object.fromEntries(run.data.rows.map((row: Loose) => [row.branch, row]))
}

const stands = ({ state, relation }: Loose): string => `${state} ${relation}`
const commands = ({ pending }: Loose): readonly string[] => pending.map(({ command }: Loose) => command)
const waits = ({ pending }: Loose): string => pending.map(({ waits_for }: Loose) => waits_for).join('; ')

describe('git discern queue', () => {
  it('has a row for each submission with every field, and says whose permission is missing', async t => {
    const s = scratch(t)
    start(s)
    assert.deepEqual(await queue(s), {})
    assert.match((await s.discern('r', ['queue'])).out, /^nothing waits to land on main \([0-9a-f]{12}\)\n$/)
    const trunk = s.git('r', 'rev-parse', 'main')
    const head = await proven(s, 'one', { one: '1\n' }, `feat/ä'$(x)`)
    await proven(s, 'docs', { 'docs/a': '1\n' })
    const rows = await queue(s)
    assert.deepEqual(Object.keys(rows), [`feat/ä'$(x)`, 'docs'], 'oldest first')
    const { effort, candidate_id, proof_line, ...row } = rows[`feat/ä'$(x)`]
    assert.match(`${effort} ${candidate_id}`, /^[0-9a-f-]{36} [0-9a-f-]{36}$/)
    assert.match(proof_line, /^> \*\*Proof:/)
    assert.deepEqual(row, {
      branch: `feat/ä'$(x)`,
      source_head: head,
      expected_trunk: trunk,
      target: head,
      state: 'ready',
      relation: 'ahead',
      pending: [
        {
          waits_for: "the owner's yes",
          command: `git discern accept --target 'feat/ä'\\''$(x)' --confirmed`,
        },
      ],
      consent: { source: 'conversation' },
      authority_settlement: 'pending',
      note: 'pending',
      retirement: 'retained',
      retirement_reason: null,
      convergence: 'pending',
      worktree: s.path('one'),
    })
    assert.deepEqual(
      [stands(rows['docs']), rows['docs'].consent, rows['docs'].pending],
      ['ready ahead', { source: 'standing-grant', scopes: ['docs'] }, []],
    )
    const own = await queue(s, 'one')
    assert.equal(stands(own[`feat/ä'$(x)`]), 'ready selected')
    assert.deepEqual(commands(own[`feat/ä'$(x)`]), ['git discern accept --confirmed'])
    await s.discern('one', ['grant', '--confirmed', '--json'])
    const granted = (await queue(s))[`feat/ä'$(x)`]
    assert.deepEqual(
      [stands(granted), granted.consent, granted.pending],
      ['ready ahead', { source: 'effort-grant' }, []],
    )
    const text = await s.discern('r', ['queue'])
    assert.match(text.out, /^feat\/ä'\$\(x\): ready, fast-forward, at [0-9a-f]{12}; allowed by an effort grant$/m)
    assert.match(text.out, /^docs: ready, .*; allowed by a standing grant \(docs\)$/m)
    assert.match(text.out, /next: git discern accept --all-ready\n$/)
  })

  it('says that the trunk moved on, with commands that bring the branch up to it', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'one')
    const two = await proven(s, 'two')
    assert.equal((await s.discern('one', ['accept', '--confirmed', '--json'])).result.ok, true)
    const rows = await queue(s)
    assert.deepEqual(Object.keys(rows), ['two'], 'what landed waits no more')
    assert.equal(stands(rows['two']), 'pending other')
    assert.match(waits(rows['two']), /^main at [0-9a-f]{12}, which moved on since the Proof$/)
    const [command] = commands(rows['two'])
    assert.equal(command, `git -C ${s.path('two')} discern update && git -C ${s.path('two')} discern done`)
    const settled = s.sh('r', command ?? '')
    assert.equal(settled.exit, 0, settled.err)
    const after = (await queue(s))['two']
    assert.equal(stands(after), 'ready ahead')
    assert.notEqual(after.source_head, two)
    const [accept] = commands(after)
    assert.equal(s.sh('r', accept ?? '').exit, 0)
    assert.deepEqual(await queue(s), {})
    assert.equal(s.git('r', 'rev-parse', 'main'), after.target)
  })

  it('knows what is stale: a later red run, a changed declaration, a rewritten or missing branch, a moved-back trunk', async t => {
    const s = scratch(t)
    start(s)
    for (const name of ['red', 'amended', 'gone', 'later', 'switched', 'merged']) await proven(s, name)
    await proven(s, 'asked', { 'migrations/1': '1\n' }, 'asked', '--met', 'rollback')
    assert.deepEqual(new Set(Object.values(await queue(s)).map(stands)), new Set(['ready ahead']))
    s.write('broken', '')
    assert.equal((await s.discern('red', ['done', '--rerun', '--json'])).result.error, 'gate_failed')
    await s.discern('asked', ['done', '--unmet', 'rollback', '--why', 'not yet', '--json'])
    s.sh('.', 'rm broken')
    s.git('amended', 'commit', '-q', '--amend', '-m', 'other')
    s.git('gone', 'switch', '-q', '--detach')
    s.git('r', 'branch', '-q', '-D', 'gone')
    s.git('later', 'commit', '-q', '--allow-empty', '-m', 'later')
    s.git('switched', 'switch', '-q', '-c', 'elsewhere')
    const rows = await queue(s)
    assert.match(waits(rows['red']), /a later run of the gate superseded/)
    assert.deepEqual(commands(rows['red']), [`git -C ${s.path('red')} discern done`])
    assert.match(waits(rows['asked']), /a declaration changed since|a later run of the gate superseded/)
    assert.match(waits(rows['amended']), /a Proof of the branch as it is/)
    assert.match(waits(rows['gone']), /the branch gone, which is gone/)
    assert.equal(stands(rows['later']), 'ready ahead', 'what was proven can land without what came later')
    assert.deepEqual(commands((await queue(s, 'later'))['later']), ['git discern accept --target later --confirmed'])
    assert.equal(stands(rows['switched']), 'ready ahead')
    s.git('r', 'merge', '-q', '--ff-only', 'merged')
    const moved = await queue(s)
    assert.equal(stands(moved['merged']), 'landed behind')
    assert.deepEqual(moved['merged'].pending, [])
    assert.equal(moved['merged'].note, 'pending')
    const at = s.path('switched')
    assert.deepEqual(commands(moved['switched']), [
      `git -C ${at} switch switched && git -C ${at} discern update && git -C ${at} discern done`,
    ])
    assert.match(waits(moved['amended']), /a Proof of the branch as it is/)
    s.git('r', 'reset', '-q', '--hard', 'main~1')
    s.git('r', 'commit', '-q', '--allow-empty', '-m', 'another trunk')
    assert.equal(stands((await queue(s))['later']), 'pending other')
  })

  it('names the questions, variances and unreadable stores that a branch waits for', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'unmet', { 'migrations/1': '1\n' }, 'unmet', '--unmet', 'rollback', '--why', 'new table')
    await s.discern('unmet', ['grant', '--confirmed', '--json'])
    const unmet = (await queue(s))['unmet']
    assert.deepEqual([stands(unmet), unmet.consent], ['pending ahead', { source: 'conversation' }])
    assert.deepEqual(unmet.pending, [
      {
        waits_for: "the owner's variance for rollback, declared unmet",
        command: 'git discern accept --target unmet --confirmed --variance rollback',
      },
    ])
    await proven(s, 'met', { 'migrations/2': '1\n' }, 'met', '--met', 'rollback')
    assert.equal(stands((await queue(s))['met']), 'ready ahead')
    const store = 'r/.git/worktrees/met/discern/checkpoint-open-questions'
    s.write(store, '{"version":9}')
    assert.match(waits((await queue(s))['met']), /its declarations, which cannot be read: it has format 9/)
    s.write('r/.git/worktrees/met/discern/submission', 'torn')
    const run = await s.discern('r', ['queue', '--json'])
    assert.deepEqual(
      run.data.unavailable.map(({ worktree, branch }: Loose) => [worktree, branch]),
      [[s.path('met'), null]],
    )
    assert.match((await s.discern('r', ['queue'])).out, /\/met: its submissions cannot be read: /)
    assert.equal(s.sh('r', unmet.pending[0].command).exit, 0)
  })

  it('keeps a landing whose note is owed until it is recorded', async t => {
    const s = scratch(t)
    start(s)
    const commit = await proven(s, 'one')
    s.write('r/.git/refs/notes/discern.lock', '')
    const landed = await s.discern('one', ['accept', '--confirmed', '--json'])
    assert.equal(landed.data.proof_note.write.status, 'record_failed', landed.out)
    s.sh('r', 'rm .git/refs/notes/discern.lock')
    const { one } = await queue(s)
    assert.deepEqual(
      [stands(one), one.target, one.note, one.authority_settlement, one.consent, one.convergence],
      ['landed behind', commit, 'recovery', 'consumed', { source: 'conversation' }, 'passed'],
    )
    assert.deepEqual(commands(one), ['git discern accept'])
    assert.equal(s.sh('one', commands(one)[0] ?? '').exit, 0)
    assert.deepEqual(await queue(s), {})
  })

  it('looks at a bounded number of submissions and says so of the others', async t => {
    const s = scratch(t)
    start(s)
    const head = await proven(s, 'one')
    const { context, repository } = await openScratch(t, s, 'one')
    for (let at = 0; at < 52; at += 1) {
      await recordSubmission(context, repository, {
        effort_id: randomUUID(),
        branch: `refs/heads/fake/${at}`,
        head,
        tree: head,
        proof: { candidate_id: randomUUID(), proof_id: randomUUID() },
        evidence: 'e',
        predecessor: s.git('r', 'rev-parse', 'main'),
        trunk: 'refs/heads/main',
      })
    }
    const rows = await queue(s)
    const unseen = Object.values(rows).filter(row => commands(row)[0] === 'git discern queue --all')
    assert.deepEqual([Object.keys(rows).length, unseen.length], [53, 3])
    const all = Object.values(await queue(s, 'r', '--all'))
    assert.equal(all.filter(row => /which is gone/.test(waits(row))).length, 52)
  })

  it('counts only the newest submission of a branch that two worktrees proved', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'old', { a: '1\n' }, 'feat')
    s.git('old', 'switch', '-q', '--detach')
    s.git('r', 'worktree', 'add', '-q', '../new', 'feat')
    s.write('new/b', '2\n')
    const head = s.commit('new', 'more')
    assert.equal((await s.discern('new', ['done', '--json'], { now: later() })).result.ok, true)
    const run = await s.discern('r', ['queue', '--json'])
    assert.deepEqual(
      run.data.rows.map((row: Loose) => [stands(row), row.target === head]),
      [
        ['pending ahead', false],
        ['ready ahead', true],
      ],
    )
    assert.match(waits(run.data.rows[0]), /another worktree submitted this branch later/)
  })
})
