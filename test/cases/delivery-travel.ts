/** How a delivery travels: the fetch line that brings it, whom ours follows, and how two sides become one again. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { readLedger } from '../../src/delivery/ledger.ts'
import {
  adopt,
  type Comparison,
  compare,
  keepDeliveriesWired,
  resolve,
  trackedDeliveries,
  unwireDeliveries,
  wireDeliveries,
} from '../../src/delivery/travel.ts'
import { Refusal } from '../../src/errors.ts'
import { readConfig } from '../../src/git/config.ts'
import { openWorktree } from '../../src/git/repository.ts'
import { mappingHazards, reconcileMapping } from '../../src/proof/remote.ts'
import {
  bytesOf,
  type Deed,
  draw,
  grow,
  idOf,
  type Line,
  lineTo,
  newest,
  OTHER_SOURCE,
  plant,
  plantLine,
  stages,
} from '../support/delivery-line.ts'
import { diagnose, quickProgram } from '../support/doctor.ts'
import { openScratch } from '../support/open.ts'
import { meddlingGit, project } from '../support/project.ts'
import { type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

const REF = 'refs/discern/delivery/x'
const MARKER = 'discern.deliveryFetchRemote'
const mappingOf = (remote: string): string => `+refs/discern/delivery/*:refs/discern/remotes/${remote}/delivery/*`
const trackingOf = (remote: string, name = 'x'): string => `refs/discern/remotes/${remote}/delivery/${name}`

const values = (s: Scratch, cwd: string, key: string): readonly string[] =>
  s.tryGit(cwd, 'config', '--local', '--get-all', key).out.split('\n').filter(Boolean)

const open = async (t: TestContext, s: Scratch, cwd: string) => {
  const { context, repository } = await openScratch(t, s, cwd)
  const entries = () => readConfig(repository)
  return {
    context,
    repository,
    wire: async () => wireDeliveries(repository, await entries()),
    unwire: async (dryRun = false) => unwireDeliveries(repository, await entries(), dryRun),
    keep: async (dryRun = false) => keepDeliveriesWired(repository, await entries(), dryRun),
    tracked: async () => trackedDeliveries(repository, await entries()),
    compare: async () => compare(repository, await entries(), 'x'),
    adopt: async () => adopt(context, repository, await entries(), 'x'),
    resolve: async (keep: string) => resolve(context, repository, await entries(), 'x', keep),
    ledger: () => readLedger(repository, 'x', s.git(cwd, 'rev-parse', REF)),
  }
}

const refusalOf = async (call: Promise<unknown>): Promise<Refusal> => {
  const error = await call.then(
    () => undefined,
    reason => reason,
  )
  assert.ok(error instanceof Refusal, String(error))
  return error
}

test('the fetch line of deliveries is added once, beside whatever stands there, and taken away to the byte', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'remote', 'add', 'origin', '../up')
  s.git('r', 'remote', 'add', 'team/one', '../up')
  s.git('r', 'config', '--add', 'remote.origin.fetch', '+refs/x/*:refs/x/*')
  const r = await open(t, s, 'r')
  const before = s.read('r/.git/config')
  assert.deepEqual((await r.unwire()).removed, [])
  assert.equal(await r.keep(), undefined, 'nothing is done where no delivery was ever at home')
  assert.equal(s.read('r/.git/config'), before)
  assert.deepEqual((await r.wire()).added, ['origin', 'team/one'])
  assert.deepEqual(values(s, 'r', 'remote.origin.fetch'), [
    '+refs/heads/*:refs/remotes/origin/*',
    '+refs/x/*:refs/x/*',
    mappingOf('origin'),
  ])
  assert.deepEqual(values(s, 'r', 'remote.team/one.fetch').at(-1), mappingOf('team/one'))
  assert.deepEqual(values(s, 'r', MARKER), ['origin', 'team/one'])
  const wired = s.read('r/.git/config')
  const again = await r.wire()
  assert.deepEqual([again.status, again.added, again.removed, again.errors], ['unchanged', [], [], []])
  assert.equal(s.read('r/.git/config'), wired)
  assert.deepEqual((await r.unwire(true)).removed, ['origin', 'team/one'])
  assert.equal(s.read('r/.git/config'), wired, 'a dry run')
  assert.deepEqual((await r.unwire()).removed, ['origin', 'team/one'])
  assert.equal(s.read('r/.git/config'), before)
})

test('no mirror, no remote without a fetch line and no remote whose folder is another’s gets the line', async t => {
  const s = scratch(t)
  s.init('r')
  const script = `
git remote add --mirror=fetch mirror ../up
git remote add --mirror=push away ../up
git config remote.bare.url ../up
git remote add a ../up
git remote add a/delivery ../up
git remote add b ../up
git remote add b/notes ../up
git remote add plain ../up
git config --add remote.plain.fetch '${mappingOf('plain')}'
`
  assert.equal(s.sh('r', script).exit, 0)
  const r = await open(t, s, 'r')
  const before = s.read('r/.git/config')
  assert.deepEqual((await r.wire()).added, ['b'])
  assert.deepEqual(values(s, 'r', MARKER), ['b'])
  for (const remote of ['mirror', 'away', 'bare', 'a', 'a/delivery', 'b/notes']) {
    assert.ok(!values(s, 'r', `remote.${remote}.fetch`).includes(mappingOf(remote)), remote)
  }
  await r.unwire()
  assert.equal(s.read('r/.git/config'), before, 'a line that somebody else put there stays')
  s.git('r', 'config', 'core.ignorecase', 'true')
  s.git('r', 'remote', 'add', 'Plain', '../up')
  s.git('r', 'config', '--fixed-value', '--unset-all', 'remote.plain.fetch', mappingOf('plain'))
  assert.deepEqual((await r.wire()).added, ['b'], 'case 74: two names, one folder')
})

test('a remote that can carry the line no more loses it with the next refresh, and a new one gets it', async t => {
  const s = scratch(t)
  project(s)
  s.git('r', 'remote', 'add', 'origin', '../up')
  s.git('r', 'remote', 'add', 'gone', '../up')
  s.git('r', 'remote', 'add', 'narrow', '../up')
  const r = await open(t, s, 'r')
  await r.wire()
  s.git('r', 'remote', 'remove', 'gone')
  s.git('r', 'config', '--fixed-value', '--unset-all', 'remote.narrow.fetch', '+refs/heads/*:refs/remotes/narrow/*')
  s.git('r', 'remote', 'add', 'new', '../up')
  const refresh = (...more: string[]) => s.discern('r', ['refresh', '--json', ...more], { program: quickProgram(s) })
  const said = (steps: readonly { label: string; note?: string }[] | undefined) =>
    steps?.filter(({ label }) => label.startsWith('deliveries')).map(({ label, note }) => `${label}: ${note}`)
  const expected = [
    'deliveries of gone: are not fetched any more: the mapping was removed',
    'deliveries of narrow: are not fetched any more: the mapping was removed',
    `deliveries of new: are fetched: added ${mappingOf('new')}`,
  ]
  const dry = await refresh('--dry-run')
  assert.deepEqual(said(dry.result.plan), expected)
  assert.deepEqual(values(s, 'r', MARKER), ['gone', 'narrow', 'origin'])
  const done = await refresh()
  assert.deepEqual(said(done.result.steps), expected)
  assert.deepEqual(values(s, 'r', MARKER), ['origin', 'new'])
  assert.deepEqual(values(s, 'r', 'remote.narrow.fetch'), [])
  assert.deepEqual(said((await refresh()).result.steps), [])
})

test('Proof notes and deliveries come with one fetch, and neither line is counted or feared as the other', async t => {
  const s = scratch(t)
  project(s, 'up')
  s.git('.', 'clone', '-q', 'up', 'r')
  const r = await open(t, s, 'r')
  const notes = async () =>
    reconcileMapping(r.repository, await readConfig(r.repository), 'fetch', { removeWhenLocal: true })
  const before = s.read('r/.git/config')
  const run = await s.discern('r', ['setup', '--json'], { program: quickProgram(s) })
  assert.equal(run.exit, 0, run.out)
  const alone = await notes()
  const withNotes = s.read('r/.git/config')
  await r.wire()
  assert.deepEqual(await notes(), alone)
  assert.deepEqual(mappingHazards(await readConfig(r.repository)), [])
  assert.deepEqual((await diagnose(s, 'r', { program: quickProgram(s) })).wrong, [])
  s.git('r', 'fetch', '-q')
  assert.deepEqual([...(await r.tracked())], [], 'a fetch from where no delivery is')
  s.git('up', 'notes', '--ref=discern', 'add', '-m', 'x')
  const commits = plantLine(s, 'up', lineTo('PLANNED'))
  plantLine(s, 'up', [{ ...newest(lineTo('DISCOVERED')), delivery: 'notes' }], 'refs/discern/delivery/notes')
  s.git('r', 'fetch', '-q')
  assert.equal(s.git('r', 'rev-parse', trackingOf('origin')), commits[1])
  assert.equal(
    s.git('r', 'rev-parse', 'refs/discern/remotes/origin/notes'),
    s.git('up', 'rev-parse', 'refs/notes/discern'),
  )
  assert.deepEqual([...(await r.tracked()).keys()], ['notes', 'x'])
  const diagnosis = await diagnose(s, 'r', { program: quickProgram(s) })
  assert.deepEqual(
    diagnosis.about('fetch').map(({ evidence }) => evidence),
    ['a fetch from origin writes its Proofs to refs/discern/remotes/origin/notes'],
  )
  assert.deepEqual(
    diagnosis.wrong.filter(text => !text.includes('refs/discern/remotes/origin/notes are not merged')),
    [],
  )

  await r.adopt()
  const dry = await s.discern('r', ['setup', '--uninstall', '--dry-run', '--json'], { program: quickProgram(s) })
  const told = dry.result.plan
    ?.filter(({ label }) => label.startsWith('deliveries'))
    .map(({ label, note }) => [label, note])
  assert.deepEqual(told, [
    ['deliveries of origin', 'the mapping was removed'],
    ['deliveries', 'kept: refs/discern/delivery/ and what was fetched'],
  ])
  assert.notEqual(s.read('r/.git/config'), withNotes)
  const removed = await s.discern('r', ['setup', '--uninstall', '--json'], { program: quickProgram(s) })
  assert.equal(removed.exit, 0, removed.out)
  assert.deepEqual(removed.data.proof_notes.removed, ['origin'])
  assert.equal(s.read('r/.git/config'), before)
  assert.equal(s.git('r', 'rev-parse', REF), commits[1], 'nothing that was recorded goes')
})

test('only the exact tracking refs of configured remotes are read', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'remote', 'add', 'origin', '../up')
  s.git('r', 'remote', 'add', 'team/one', '../up')
  const [commit] = plantLine(s, 'r', lineTo('DISCOVERED'), trackingOf('team/one'))
  for (const ref of [
    trackingOf('origin', 'deep/x'),
    trackingOf('origin', '-x'),
    trackingOf('stranger'),
    trackingOf('team'),
    'refs/discern/remotes/origin/x',
    'refs/remotes/origin/delivery/x',
  ]) {
    s.git('r', 'update-ref', ref, commit ?? '')
  }
  const r = await open(t, s, 'r')
  assert.deepEqual(
    [...(await r.tracked())],
    [['x', [{ remote: 'team/one', ref: trackingOf('team/one'), tip: commit }]]],
  )
})

/** Relations, without where they are from. */
const relations = (all: readonly Comparison[]): readonly string[] =>
  all.map(one => `${one.remote} ${one.relation} ${'generation' in one ? one.generation : '-'}`)

test('ours follows a remote that is strictly ahead, by compare-and-swap, and otherwise stays', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'remote', 'add', 'origin', '../up')
  const r = await open(t, s, 'r')
  const long = lineTo('VERIFYING')
  const ids = plantLine(s, 'r', long, trackingOf('origin'))
  const at = (generation: number): string => ids[generation - 1] ?? ''
  const aside = grow(long.slice(0, 2), ...stages('CP1'), { kind: 'move', to: 'BLOCKED' })
  const blocked = plant(s, 'r', REF, [{ bytes: bytesOf(newest(aside)), parents: [at(3)] }])[0] ?? ''
  const rows: readonly (readonly [
    ours: string | undefined,
    theirs: string,
    relation: string,
    adoption: object,
    after: string,
  ])[] = [
    [undefined, at(4), 'origin behind 4', { adopted: { remote: 'origin', generation: 4, commit: at(4) } }, at(4)],
    [at(1), at(4), 'origin behind 4', { adopted: { remote: 'origin', generation: 4, commit: at(4) } }, at(4)],
    [at(4), at(4), 'origin equal 4', { unchanged: true }, at(4)],
    [at(4), at(2), 'origin ahead 2', { unchanged: true }, at(4)],
    [blocked, at(4), 'origin diverged 4', { conflict: { remote: 'origin', generation: 3 } }, blocked],
    [at(4), blocked, 'origin diverged 4', { conflict: { remote: 'origin', generation: 3 } }, at(4)],
  ]
  for (const [ours, theirs, relation, adoption, after] of rows) {
    if (ours === undefined) s.git('r', 'update-ref', '-d', REF)
    else s.git('r', 'update-ref', REF, ours)
    s.git('r', 'update-ref', trackingOf('origin'), theirs)
    const before = snapshot(s.path('r/.git'))
    const compared = await r.compare()
    assert.deepEqual(relations(compared), [relation])
    assert.deepEqual(
      compared.map(({ ref, tip }) => [ref, tip]),
      [[trackingOf('origin'), theirs]],
    )
    assert.deepEqual(snapshot(s.path('r/.git')), before, 'looking writes nothing')
    assert.deepEqual(await r.adopt(), { ...adoption, invalid: [] })
    assert.equal(s.git('r', 'rev-parse', REF), after)
    if (after === ours) assert.deepEqual(snapshot(s.path('r/.git')), before)
    assert.equal(s.git('r', 'rev-parse', trackingOf('origin')), theirs)
  }
  s.git('r', 'update-ref', '-d', trackingOf('origin'))
  assert.deepEqual([await r.compare(), await r.adopt()], [[], { unchanged: true, invalid: [] }])
})

test('of several remotes the one that knows most is followed, and what it settled is no conflict any more', async t => {
  const s = scratch(t)
  s.init('r')
  for (const remote of ['a', 'b', 'c', 'd']) s.git('r', 'remote', 'add', remote, '../up')
  const r = await open(t, s, 'r')
  const line = lineTo('VERIFYING')
  const ids = plantLine(s, 'r', line)
  const tip = ids[3] ?? ''
  const record = (note: string): Deed => ({ kind: 'stage', id: 'CP3', note })
  const [ours, theirs] = ['ours', 'theirs'].map(note => draw(line, record(note)))
  assert.ok(ours && theirs)
  const put = (remote: string, bytes: string): string =>
    plant(s, 'r', trackingOf(remote), [{ bytes, parents: [tip] }])[0] ?? ''
  const aside = put('a', bytesOf(theirs))
  const mine = put('c', bytesOf(ours))
  s.git('r', 'update-ref', REF, mine)
  assert.deepEqual(await r.adopt(), { conflict: { remote: 'a', generation: 4 }, invalid: [] })
  const decided = (await r.resolve('local')).commit
  // Another clone decided; here nothing of it is known but what was fetched.
  s.git('r', 'update-ref', REF, mine)
  s.git('r', 'update-ref', trackingOf('b'), decided)
  const broken = put('d', '{}\n')
  assert.deepEqual(relations(await r.compare()), ['a diverged 5', 'b behind 6', 'c equal 5', 'd invalid -'])
  const adoption = await r.adopt()
  assert.ok('adopted' in adoption)
  assert.deepEqual(adoption.adopted, { remote: 'b', generation: 6, commit: decided })
  assert.deepEqual(
    adoption.invalid.map(({ remote }) => remote),
    ['d'],
  )
  assert.ok(adoption.invalid[0]?.problem.includes(broken))
  assert.deepEqual(relations(await r.compare()), ['a ahead 5', 'b equal 6', 'c ahead 5', 'd invalid -'])
  assert.deepEqual(
    [aside, mine].map(commit => s.tryGit('r', 'merge-base', '--is-ancestor', commit, REF).exit),
    [0, 0],
  )
})

test('a ref that moves while a remote is adopted is read again, and never overwritten', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'remote', 'add', 'origin', '../up')
  const { context } = await openScratch(t, s, 'r')
  const line = lineTo('VERIFYING')
  const ids = plantLine(s, 'r', line, trackingOf('origin'))
  const aside = draw(line.slice(0, 3), { kind: 'move', to: 'BLOCKED' })
  const own = plant(s, 'r', REF, [{ bytes: bytesOf(aside), parents: [ids[2] ?? ''] }])[0] ?? ''
  s.git('r', 'update-ref', REF, ids[2] ?? '')
  const env = { ...s.env, ...meddlingGit(s, '*update-ref*', `git -C '${s.path('r')}' update-ref ${REF} ${own}`) }
  const repository = await openWorktree({ ...context, env })
  const adoption = await adopt(context, repository, await readConfig(repository), 'x')
  assert.deepEqual(adoption, { conflict: { remote: 'origin', generation: 3 }, invalid: [] })
  assert.equal(s.git('r', 'rev-parse', REF), own)
})

/** A bare hub with the clones `a` and `b`, which fetch deliveries, and a line that all three have. */
const clones = async (t: TestContext, line: Line, ...init: string[]) => {
  const s = scratch(t)
  s.git('.', 'init', '-q', '--bare', ...init, 'hub.git')
  plantLine(s, 'hub.git', line)
  const sides = { a: await clone(t, s, 'a', ...init), b: await clone(t, s, 'b', ...init) }
  const push = (name: 'a' | 'b') => s.tryGit(name, 'push', '-q', 'origin', REF)
  const fetch = (name: 'a' | 'b') => s.git(name, 'fetch', '-q')
  /** One more generation, made by plain git. */
  const append = async (name: 'a' | 'b', ...deeds: readonly Deed[]) => {
    for (const deed of deeds) {
      const { records, tip } = await sides[name].ledger()
      plant(s, name, REF, [{ bytes: bytesOf(draw(records, deed, { rollback: `as ${name} says` })), parents: [tip] }])
    }
  }
  const tip = (name: 'a' | 'b' | 'hub.git'): string => s.git(name, 'rev-parse', REF)
  return { s, ...sides, push, fetch, append, tip }
}

const clone = async (t: TestContext, s: Scratch, name: string, ...init: string[]) => {
  s.git('.', 'init', '-q', ...init, name)
  s.git(name, 'remote', 'add', 'origin', '../hub.git')
  const opened = await open(t, s, name)
  await opened.wire()
  s.git(name, 'fetch', '-q')
  await opened.adopt()
  return opened
}

for (const [keep, format] of [
  ['local', 'sha1'],
  ['origin', 'sha1'],
  ['local', 'sha256'],
] as const) {
  test(`two clones that went on apart are one again when ${keep} is kept (${format}): a plain push works and no record is lost`, async t => {
    const source = 'a'.repeat(format === 'sha1' ? 40 : 64)
    const { s, a, b, push, fetch, append, tip } = await clones(
      t,
      lineTo('VERIFYING', source),
      `--object-format=${format}`,
    )
    await append('a', ...stages('CP3', 'CP4', 'CP5'))
    await append('b', { kind: 'move', to: 'BLOCKED' })
    assert.equal(push('a').exit, 0)
    const refused = push('b')
    assert.equal(refused.exit, 1)
    assert.match(refused.err, /fetch first|non-fast-forward/)
    const [theirs, ours] = [tip('a'), tip('b')]
    fetch('b')
    assert.deepEqual(await b.adopt(), { conflict: { remote: 'origin', generation: 4 }, invalid: [] })
    assert.notEqual(push('b').exit, 0, 'nothing travels before somebody decided')

    const before = await b.ledger()
    const { commit, decided, conflicts } = await b.resolve(keep)
    assert.deepEqual([decided, conflicts], [[{ remote: 'origin', generation: 4, commit }], []])
    const ledger = await b.ledger()
    assert.equal(ledger.tip, commit)
    const [kept, other] = keep === 'local' ? [ours, theirs] : [theirs, ours]
    assert.equal(s.git('b', 'log', '-1', '--format=%P', REF), `${kept} ${other}`)
    assert.equal(ledger.standing.generation, 8)
    assert.equal(ledger.standing.state, keep === 'local' ? 'BLOCKED' : 'CANDIDATE')
    const record = ledger.records.at(-1)
    assert.deepEqual(record?.resolves, {
      record: idOf((await readLedger(b.repository, 'x', other)).records.at(-1) ?? newest([])),
      generation: keep === 'local' ? 7 : 5,
    })
    for (const one of before.records)
      assert.ok([...ledger.history.values()].some(({ record }) => idOf(record) === idOf(one)))
    assert.equal(ledger.history.size, 4 + 3 + 1 + 1)

    assert.deepEqual(relations(await b.compare()), ['origin ahead 7'])
    assert.equal(push('b').exit, 0)
    fetch('a')
    assert.deepEqual(await a.adopt(), { adopted: { remote: 'origin', generation: 8, commit }, invalid: [] })
    assert.deepEqual(relations(await b.compare()), ['origin equal 8'])
    const onward: Deed = keep === 'local' ? { kind: 'move', to: 'IMPLEMENTING' } : { kind: 'stage', id: 'CP6' }
    await append('a', onward)
    assert.equal(push('a').exit, 0)
    fetch('b')
    assert.ok('adopted' in (await b.adopt()))
    assert.equal((await b.ledger()).standing.generation, 9)
    assert.deepEqual((await b.resolve('local')).decided, [], 'there is nothing left to decide')
    assert.equal(tip('b'), tip('hub.git'))
  })
}

test('one decision made twice is one commit, and two opposite ones are a conflict again that ends', async t => {
  const { a, b, push, fetch, append, tip, s } = await clones(t, lineTo('VERIFYING'))
  await append('a', ...stages('CP3'))
  await append('b', { kind: 'move', to: 'BLOCKED' })
  s.git('a', 'push', '-q', '../b', `${REF}:${trackingOf('origin')}`)
  s.git('b', 'push', '-q', '../a', `${REF}:${trackingOf('origin')}`)
  const [one, two] = [tip('a'), tip('b')]
  await a.resolve('local')
  await b.resolve('origin')
  assert.equal(tip('a'), tip('b'))
  for (const [name, old] of [
    ['a', one],
    ['b', two],
  ] as const) {
    s.git(name, 'update-ref', REF, old)
  }

  await a.resolve('local')
  await b.resolve('local')
  assert.notEqual(tip('a'), tip('b'))
  assert.equal(push('a').exit, 0)
  assert.equal(push('b').exit, 1)
  fetch('b')
  assert.deepEqual(await b.adopt(), { conflict: { remote: 'origin', generation: 5 }, invalid: [] })
  await b.resolve('origin')
  assert.equal(push('b').exit, 0)
  fetch('a')
  assert.ok('adopted' in (await a.adopt()))
  const ledger = await a.ledger()
  assert.deepEqual(
    ledger.records.map(({ generation, checkpoint, state }) => `${generation} ${checkpoint ?? state}`),
    ['1 DISCOVERED', '2 CP0', '3 CP1', '4 CP2', '5 CP3', '6 VERIFYING', '7 VERIFYING'],
  )
  assert.equal(ledger.history.size, 4 + 2 + 2 + 1)
})

test('deliveries of one name that were started apart are one after a decision', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', '--bare', 'hub.git')
  const a = await clone(t, s, 'a')
  plantLine(s, 'a', lineTo('IMPLEMENTING'))
  s.git('hub.git', 'fetch', '-q', '../a', `${REF}:${REF}`)
  const b = await clone(t, s, 'b')
  plantLine(s, 'b', lineTo('PLANNED', OTHER_SOURCE))
  assert.deepEqual(await b.adopt(), { conflict: { remote: 'origin', generation: 0 }, invalid: [] })
  await b.resolve('local')
  assert.equal(s.tryGit('b', 'push', '-q', 'origin', REF).exit, 0)
  s.git('a', 'fetch', '-q')
  assert.ok('adopted' in (await a.adopt()))
  const { standing } = await a.ledger()
  assert.deepEqual([standing.generation, standing.state, standing.sourceCommit], [4, 'PLANNED', OTHER_SOURCE])
})

test('what was promoted is not decided away: that side is kept and rolled back', async t => {
  const { s, a, b, push, fetch, append, tip } = await clones(t, lineTo('HUMAN_ACCEPTED'))
  await append('a', { kind: 'promote' })
  await append('b', { kind: 'source', source: OTHER_SOURCE, corpus: 'corpus-1' })
  assert.equal(push('a').exit, 0)
  fetch('b')
  const before = tip('b')
  const refusal = await refusalOf(b.resolve('local'))
  assert.equal(refusal.slug, 'delivery_illegal')
  assert.match(refusal.message, /the other side was promoted with generation 9/)
  assert.deepEqual(refusal.next, [
    'keep the side that was promoted, then git discern delivery move ROLLED_BACK --reason <why>',
  ])
  assert.equal(tip('b'), before)
  await b.resolve('origin')
  assert.equal((await b.ledger()).standing.state, 'RELEASED')

  // Both were promoted: either is true, and both stay.
  s.git('b', 'update-ref', REF, before)
  await append('b', ...stages('CP2', 'CP3', 'CP4', 'CP5', 'CP6'), { kind: 'promote' })
  await b.resolve('local')
  assert.equal(push('b').exit, 0)
  fetch('a')
  assert.ok('adopted' in (await a.adopt()))
  const ledger = await a.ledger()
  assert.equal(ledger.standing.sourceCommit, OTHER_SOURCE)
  assert.equal([...ledger.history.values()].filter(({ record }) => record.state === 'RELEASED').length, 3)
})

test('keeping ours decides against every remote that went on apart; keeping a remote’s leaves the others to be decided', async t => {
  const s = scratch(t)
  s.init('r')
  const line = lineTo('VERIFYING')
  const ids = plantLine(s, 'r', line)
  const tip = ids[3] ?? ''
  for (const remote of ['a', 'b', 'c']) {
    s.git('r', 'remote', 'add', remote, '../up')
    const record = draw(line, { kind: 'stage', id: 'CP3', note: remote })
    plant(s, 'r', trackingOf(remote), [{ bytes: bytesOf(record), parents: [tip] }])
  }
  const mine =
    plant(s, 'r', REF, [{ bytes: bytesOf(draw(line, { kind: 'move', to: 'BLOCKED' })), parents: [tip] }])[0] ?? ''
  const r = await open(t, s, 'r')
  const all = await r.resolve('local')
  assert.deepEqual(
    all.decided.map(({ remote, generation }) => [remote, generation]),
    [
      ['a', 4],
      ['b', 4],
      ['c', 4],
    ],
  )
  assert.deepEqual(relations(await r.compare()), ['a ahead 5', 'b ahead 5', 'c ahead 5'])
  assert.deepEqual([(await r.ledger()).standing.state, (await r.ledger()).standing.generation], ['BLOCKED', 8])

  s.git('r', 'update-ref', REF, mine)
  const one = await r.resolve('b')
  assert.deepEqual(
    [one.decided.map(({ remote }) => remote), one.conflicts.map(({ remote }) => remote)],
    [['b'], ['a', 'c']],
  )
  assert.deepEqual(await r.adopt(), { conflict: { remote: 'a', generation: 4 }, invalid: [] })

  const unknown = await refusalOf(r.resolve('upstream'))
  assert.equal(unknown.slug, 'invalid_value')
  assert.match(unknown.message, /local or a or b or c/)
  s.git('r', 'update-ref', '-d', REF)
  assert.equal((await refusalOf(r.resolve('a'))).slug, 'delivery_unknown')
})

test('a decision that somebody else’s generation overtakes changes nothing', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'remote', 'add', 'origin', '../up')
  const line = lineTo('VERIFYING')
  const tip = plantLine(s, 'r', line)[3] ?? ''
  plant(s, 'r', trackingOf('origin'), [{ bytes: bytesOf(draw(line, { kind: 'stage', id: 'CP3' })), parents: [tip] }])
  const blocked = draw(line, { kind: 'move', to: 'BLOCKED' })
  const ours = plant(s, 'r', REF, [{ bytes: bytesOf(blocked), parents: [tip] }])[0] ?? ''
  const later = draw([...line, blocked], { kind: 'move', to: 'IMPLEMENTING' })
  const overtaking = plant(s, 'r', REF, [{ bytes: bytesOf(later), parents: [ours] }])[0] ?? ''
  s.git('r', 'update-ref', REF, ours)
  const { context } = await openScratch(t, s, 'r')
  const env = { ...s.env, ...meddlingGit(s, '*update-ref*', `git -C '${s.path('r')}' update-ref ${REF} ${overtaking}`) }
  const repository = await openWorktree({ ...context, env })
  const refusal = await refusalOf(resolve(context, repository, await readConfig(repository), 'x', 'local'))
  assert.equal(refusal.slug, 'precondition_failed')
  assert.equal(s.git('r', 'rev-parse', REF), overtaking)
})
