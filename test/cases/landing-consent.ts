/** Who may let a change land: a word in the conversation, a grant of the branch, scopes of the trunk; and what each never covers. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import { grantEffort, readGrant } from '../../src/landing/grant.ts'
import { openScratch } from '../support/open.ts'
import { meddlingGit } from '../support/project.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'

const CONFIG = `[repository]
trunk = "main"
[jobs]
test = "true"
[scopes.docs]
paths = ["docs/**"]
[scopes.api]
paths = ["api/**"]
[acceptance]
pre_authorized = ["docs", "nowhere"]
[checkpoints.rollback-path]
paths = ["migrations/**"]
question = "How is this rolled back?"
`

const start = (s: Scratch): void => {
  s.git('.', 'init', '-q', 'r')
  s.write('r/f', '1\n')
  s.write('r/discern.toml', CONFIG)
  s.commit('r', 'one')
}

/** A worktree with one commit of these files, proven. Extra arguments go to `done`. */
const proven = async (s: Scratch, name: string, files: Readonly<Record<string, string>>, ...args: string[]) => {
  s.git('r', 'worktree', 'add', '-q', '-b', name, `../${name}`, 'main')
  for (const [path, text] of Object.entries(files)) s.write(`${name}/${path}`, text)
  s.commit(name, name)
  if (args.length > 0) await s.discern(name, ['done', '--json'])
  const run = await s.discern(name, ['done', '--json', ...args])
  assert.equal(run.result.ok, true, run.out)
}

const accept = (s: Scratch, cwd: string, ...args: string[]) => s.discern(cwd, ['accept', '--json', ...args])
const trunk = (s: Scratch): string => s.git('r', 'rev-parse', 'main')
const noteOf = (s: Scratch, commit: string): Loose => {
  const { payload } = JSON.parse(s.git('r', 'notes', '--ref=discern', 'show', commit))
  return JSON.parse(Buffer.from(payload, 'base64').toString('utf8'))
}

const grant = async (t: TestContext, s: Scratch, cwd: string): Promise<string> => {
  const { context, repository } = await openScratch(t, s, cwd)
  const { grant: given } = await grantEffort(context, repository, `refs/heads/${cwd}`)
  return given.id
}

const granted = async (t: TestContext, s: Scratch, cwd: string): Promise<boolean> =>
  (await readGrant((await openScratch(t, s, cwd)).repository, `refs/heads/${cwd}`)) !== undefined

describe('consent', () => {
  it('comes from the trunk where every path is in a granted scope, and the note names the scopes', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'docs', { 'docs/a.md': 'x' })
    await proven(s, 'mixed', { 'docs/b.md': 'x', 'api/b': 'y' })
    const before = trunk(s)
    const refused = await accept(s, 'mixed')
    assert.equal(refused.result.error, 'awaiting_consent')
    assert.match(String(refused.result.message), /1 changed path is outside the granted scopes \(docs\)/)
    assert.equal(trunk(s), before)
    const landed = await accept(s, 'docs')
    assert.equal(landed.result.ok, true, landed.out)
    assert.deepEqual(landed.data.consent, { source: 'standing-grant', scopes: ['docs'] })
    const { acceptance, presentation } = noteOf(s, trunk(s))
    assert.deepEqual(acceptance.consent, { source: 'standing-grant', scopes: ['docs'] })
    assert.deepEqual(acceptance.authority.authority.source.scopes, ['docs'])
    assert.equal(acceptance.authority.authority.state.kind, 'consumed')
    assert.match(presentation.line, /landed with standing grant \(docs\) consent$/)
  })

  it('is not widened by the branch’s own configuration', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'sly', {
      'discern.toml': CONFIG.replace('"docs", "nowhere"', '"docs", "api", "all"').concat(
        '[scopes.all]\npaths = ["**"]\n',
      ),
    })
    assert.equal((await accept(s, 'sly')).result.error, 'awaiting_consent')
  })

  it('comes from a grant of the branch, which one landing spends and a refused one does not', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'api', { 'api/a': 'x' })
    const id = await grant(t, s, 'api')
    s.write('r/docs/later', '1')
    const old = trunk(s)
    s.commit('r', 'the trunk moves')
    const moved = await accept(s, 'api')
    assert.equal(moved.result.error, 'trunk_moved')
    assert.equal(await granted(t, s, 'api'), true, 'nothing is spent by a refusal')
    s.git('r', 'reset', '-q', '--hard', old)
    const landed = await accept(s, 'api')
    assert.equal(landed.result.ok, true, landed.out)
    assert.equal(landed.data.consent.source, 'effort-grant')
    assert.equal(noteOf(s, trunk(s)).acceptance.authority.authority.source.record_id, id)
    assert.equal(await granted(t, s, 'api'), false)
    s.write('api/api/a', 'y')
    s.commit('api', 'a later head')
    await s.discern('api', ['done', '--json'])
    assert.equal((await accept(s, 'api')).result.error, 'awaiting_consent', 'a later head is not covered')
  })

  it('never lets a grant stand in for a variance, and spends none when the owner speaks', async t => {
    const s = scratch(t)
    start(s)
    const why = 'the table is new; `drop` is enough'
    await proven(s, 'mig', { 'migrations/1': 'x' }, '--unmet', 'rollback-path', '--why', why)
    await grant(t, s, 'mig')
    const before = trunk(s)
    for (const [args, error] of [
      [[], 'awaiting_variance'],
      [['--confirmed'], 'awaiting_variance'],
      [['--variance', 'rollback-path'], 'awaiting_variance'],
      [['--confirmed', '--variance', 'other'], 'invalid_value'],
      [['--confirmed', '--variance', 'rollback-path', '--variance', 'other'], 'invalid_value'],
    ] as const) {
      const run = await accept(s, 'mig', ...args)
      assert.equal(run.result.error, error, args.join(' '))
      assert.equal(trunk(s), before)
    }
    const landed = await accept(s, 'mig', '--confirmed', '--variance', 'rollback-path')
    assert.equal(landed.result.ok, true, landed.out)
    const { acceptance, presentation, proof } = noteOf(s, trunk(s))
    assert.equal(acceptance.consent.source, 'conversation')
    assert.deepEqual(acceptance.standard_proposals, [])
    assert.equal(acceptance.variances.length, 1)
    const [variance] = acceptance.variances
    assert.deepEqual([variance.checkpoint, variance.why], ['rollback-path', why])
    const stored = JSON.parse(s.read('r/.git/worktrees/mig/discern/checkpoint-open-questions')).openQuestions
    assert.equal(variance.definition_hash, stored['rollback-path'].definitionHash)
    assert.equal(variance.subject, stored['rollback-path'].subject)
    assert.equal(proof.completion.candidate.head, trunk(s))
    assert.match(presentation.line, /1 declared unmet, owner variance authorized/)
    assert.equal(await granted(t, s, 'mig'), true)
  })

  it('never lets a grant cover a stop whose condition could not be decided', async t => {
    const s = scratch(t)
    start(s)
    s.write('r/discern.toml', `${CONFIG}[checkpoints.guide]\npaths = ["docs/**"]\nwhen = "exit 7"\nquestion = "?"\n`)
    s.commit('r', 'a condition that cannot be decided')
    await proven(s, 'docs', { 'docs/a.md': 'x' }, '--met', 'guide')
    await grant(t, s, 'docs')
    const before = trunk(s)
    const refused = await accept(s, 'docs')
    assert.equal(refused.result.error, 'awaiting_consent')
    assert.match(String(refused.result.message), /no grant covers a checkpoint whose condition could not be decided/)
    assert.equal(trunk(s), before)
    assert.equal((await accept(s, 'docs', '--confirmed')).data.consent.source, 'conversation')
    assert.equal(await granted(t, s, 'docs'), true)
  })

  it('gives a grant back at once when another landing wins the race', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'api', { 'api/a': 'x' })
    await grant(t, s, 'api')
    s.git('r', 'commit', '-q', '--allow-empty', '-m', 'theirs')
    const theirs = trunk(s)
    s.git('r', 'reset', '-q', '--hard', 'HEAD~1')
    const env = meddlingGit(s, '*update-ref*--stdin*', `git update-ref refs/heads/main ${theirs}`)
    const lost = await s.discern('api', ['accept', '--json'], { env })
    assert.equal(lost.result.error, 'trunk_moved', lost.out)
    assert.equal(trunk(s), theirs)
    assert.equal(await granted(t, s, 'api'), true)
    assert.throws(() => s.read('r/.git/worktrees/api/discern/acceptance-transaction.json'))
  })

  it('compares what the owner allowed again just before the trunk moves', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'mig', { 'migrations/1': 'x' }, '--unmet', 'rollback-path', '--why', 'first reason')
    const before = trunk(s)
    const store = s.path('r/.git/worktrees/mig/discern/checkpoint-open-questions')
    // The last time the change is read is the comparison.
    const env = meddlingGit(s, '*diff-tree*--raw*--no-relative*', `sed -i 's/first reason/other reason/' '${store}'`, 2)
    const run = await s.discern('mig', ['accept', '--confirmed', '--variance', 'rollback-path', '--json'], { env })
    assert.equal(run.result.error, 'incomplete', run.out)
    assert.match(String(run.result.message), /the declarations changed while the landing was prepared/)
    assert.equal(trunk(s), before)
    assert.equal(s.git('r', 'for-each-ref', 'refs/notes'), '')
  })

  it('refuses a variance where nothing is declared unmet', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'mig', { 'migrations/1': 'x' }, '--met', 'rollback-path')
    const run = await accept(s, 'mig', '--confirmed', '--variance', 'rollback-path')
    assert.equal(run.result.error, 'invalid_value')
    assert.match(String(run.result.message), /nothing is declared unmet/)
  })
})

describe('landing from elsewhere', () => {
  it('lands what a branch asked to land from any checkout, whatever its own checkout holds by now', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'api', { 'api/a': 'x' })
    const head = s.git('api', 'rev-parse', 'HEAD')
    s.write('api/api/a', 'later')
    s.commit('api', 'later')
    s.write('api/loose', 'uncommitted')
    const missing = await accept(s, 'r', '--target', 'nobody', '--confirmed')
    assert.equal(missing.result.error, 'invalid_value')
    assert.match(String(missing.result.message), /a branch that asks to land \(api\), found nobody/)
    const refused = await accept(s, 'r', '--target', 'api')
    assert.deepEqual(refused.result.hints, ['ask the owner; after a yes: git discern accept --target api --confirmed'])
    const landed = await accept(s, 'r', '--target', 'api', '--confirmed')
    assert.equal(landed.result.ok, true, landed.out)
    assert.equal(trunk(s), head)
    assert.equal(s.read('r/api/a'), 'x')
    assert.equal(s.read('api/loose'), 'uncommitted')
    assert.equal(noteOf(s, head).subject.commit, head)
    assert.equal(s.git('r', 'for-each-ref', 'refs/worktree'), '')
    assert.equal((await accept(s, 'r', '--target', 'api', '--confirmed')).result.error, 'invalid_value')
  })

  it('refuses what was rewritten, answered again or superseded since', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'mig', { 'migrations/1': 'x' }, '--met', 'rollback-path')
    const store = s.read('r/.git/worktrees/mig/discern/checkpoint-open-questions')
    s.write(
      'r/.git/worktrees/mig/discern/checkpoint-open-questions',
      store.replace('"conclusion":"met"', '"conclusion":"unmet","why":"no"'),
    )
    const changed = await accept(s, 'r', '--target', 'mig', '--confirmed')
    assert.match(String(changed.result.message), /declarations on mig changed/)
    s.write('r/.git/worktrees/mig/discern/checkpoint-open-questions', store)
    s.git('mig', 'commit', '-q', '--amend', '-m', 'rewritten')
    const rewritten = await accept(s, 'r', '--target', 'mig', '--confirmed')
    assert.match(String(rewritten.result.message), /mig does not contain [0-9a-f]{12} any more/)
  })

  it('lands all that is authorized, and says why each other branch waits', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'api', { 'api/a': 'x' })
    await proven(s, 'docs', { 'docs/a.md': 'x' })
    await proven(s, 'more', { 'docs/b.md': 'x' })
    const dry = await accept(s, 'r', '--all-ready', '--dry-run')
    assert.deepEqual(
      dry.data.landed.map(({ branch }: Loose) => branch),
      ['docs', 'more'],
    )
    const run = await accept(s, 'r', '--all-ready')
    assert.equal(run.result.ok, true, run.out)
    assert.deepEqual(
      run.data.landed.map(({ branch }: Loose) => branch),
      ['docs'],
    )
    assert.deepEqual(
      run.data.waiting.map(({ branch, error }: Loose) => [branch, error]),
      [
        ['api', 'awaiting_consent'],
        ['more', 'trunk_moved'],
      ],
    )
    assert.equal(trunk(s), s.git('docs', 'rev-parse', 'HEAD'))
    const text = await s.discern('r', ['accept', '--all-ready'])
    assert.match(text.out, /^api waits: main moved/m)
    assert.equal((await accept(s, 'r', '--all-ready', '--confirmed')).exit, 2)
  })

  it('takes the newest of two worktrees that submitted one branch', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'api', { 'api/a': 'x' })
    s.git('r', 'worktree', 'add', '-q', '-f', '../twin', 'api')
    s.write('twin/api/a', 'y')
    const newer = s.commit('twin', 'newer')
    assert.equal((await s.discern('twin', ['done', '--json'], { now: new Date('2027-01-01') })).result.ok, true)
    assert.equal((await accept(s, 'r', '--target', 'api', '--confirmed')).result.ok, true)
    assert.equal(trunk(s), newer)
  })

  it('names the branch so that the command can be typed, whatever it is called', async t => {
    const s = scratch(t)
    start(s)
    s.git('r', 'switch', '-q', '-c', 'it’s;ok')
    s.write('r/api/a', 'x')
    s.commit('r', 'one more')
    assert.equal((await s.discern('r', ['done', '--json'])).result.ok, true)
    s.git('r', 'switch', '-q', 'main')
    const refused = await accept(s, 'r', '--target', 'it’s;ok')
    assert.deepEqual(refused.result.hints, [
      "ask the owner; after a yes: git discern accept --target 'it’s;ok' --confirmed",
    ])
  })
})

describe('retiring what landed', () => {
  it('removes worktree and branch, also from inside and by the queue, and nothing else', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'api', { 'api/a': 'x' })
    const head = s.git('api', 'rev-parse', 'HEAD')
    const landed = await accept(s, 'api', '--confirmed', '--retire')
    assert.equal(landed.result.ok, true, landed.out)
    assert.deepEqual(
      [landed.data.landing.worktree_removed, landed.data.landing.branch_deleted],
      [true, true],
      JSON.stringify(landed.result.advisories),
    )
    assert.equal(existsSync(s.path('api')), false)
    assert.equal(existsSync(s.path('r/.git/worktrees/api')), false)
    assert.equal(s.git('r', 'branch', '--list', 'api'), '')
    assert.equal(trunk(s), head)
    await proven(s, 'docs', { 'docs/a.md': 'x' })
    const queued = await accept(s, 'r', '--all-ready', '--retire')
    assert.deepEqual(queued.data.landed.length, 1, queued.out)
    assert.equal(existsSync(s.path('docs')), false)
    assert.equal((await s.discern('r', ['queue', '--json'])).data.rows.length, 0)
  })

  it('keeps both and says why where something else is in them', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'api', { 'api/a': 'x' })
    s.write('api/later', '1')
    s.commit('api', 'later')
    const landed = await accept(s, 'r', '--target', 'api', '--confirmed', '--retire')
    assert.equal(landed.result.ok, true, landed.out)
    assert.equal(landed.data.landing.worktree_removed, false)
    const [advisory] = landed.result.advisories ?? []
    assert.match(advisory?.evidence ?? '', /branch and worktree stay \(later-commits\)/)
    assert.equal(s.read('api/later'), '1')
  })
})

describe('what cannot be cleared away after a landing', () => {
  it('is an advisory: trunk and note stand', async t => {
    const s = scratch(t)
    start(s)
    await proven(s, 'api', { 'api/a': 'x' })
    s.write('r/.git/worktrees/api/discern/submission', 'torn')
    const landed = await accept(s, 'api', '--confirmed')
    assert.equal(landed.result.ok, true, landed.out)
    assert.equal(noteOf(s, trunk(s)).subject.commit, s.git('api', 'rev-parse', 'HEAD'))
    const [advisory] = (landed.result.advisories ?? []).filter(({ kind }) => kind === 'acceptance-cleanup-incomplete')
    assert.match(advisory?.evidence ?? '', /the landing stands, .*submission/)
    assert.equal(s.read('r/.git/worktrees/api/discern/submission'), 'torn')
    assert.equal(s.git('api', 'for-each-ref', 'refs/worktree'), '')
  })
})
