/** The commits of a delivery: their bytes, what is wrong with a line that cannot be trusted, and who wins a race. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appendRecord, isDeliveryName, listDeliveries, readLedger } from '../../src/delivery/ledger.ts'
import { parseRecord, recordBytes, recordId } from '../../src/delivery/record.ts'
import { adopt, compare, resolve } from '../../src/delivery/travel.ts'
import { Refusal } from '../../src/errors.ts'
import { readConfig } from '../../src/git/config.ts'
import {
  bytesOf,
  decide,
  draw,
  grow,
  idOf,
  type Line,
  lineTo,
  newest,
  OTHER_SOURCE,
  type Planted,
  plant,
  plantLine,
  SOURCE,
  sha256,
  stages,
} from '../support/delivery-line.ts'
import { openScratch } from '../support/open.ts'
import { type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

const REF = 'refs/discern/delivery/x'
const THEIRS = 'refs/discern/remotes/origin/delivery/x'

const refsOf = (s: Scratch, cwd: string): string => s.git(cwd, 'for-each-ref', '--format=%(refname) %(objectname)')

/** The refusal that a call must end with. */
const refused = async (call: Promise<unknown>): Promise<Refusal> => {
  try {
    await call
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error))
    return error
  }
  throw new assert.AssertionError({ message: 'it was not refused' })
}

const GOLDEN =
  '{"blockers":[],"checkpoint":null,"delivery":"2026.4","evidence":[],"gateIds":[],"generation":1,' +
  '"next":{"checkpoints":["CP0"],"states":[]},"observedAt":"2026-01-02T00:00:00.000Z","previous":null,' +
  '"repository":"https://example.invalid/r","rollback":"nothing is out yet","schema":1,' +
  `"sourceCommit":"${'a'.repeat(40)}","state":"DISCOVERED"}\n`

test('a record is these bytes, has this address, and is committed as these objects', async t => {
  const record = parseRecord(Buffer.from(GOLDEN), 'here')
  assert.equal(recordBytes(record), GOLDEN)
  // sha256sum and git hash-object over the same bytes.
  assert.equal(recordId(record), 'sha256:638e5eeaabbcb32ca2504bb0db7f2920422d3e8c98fca516c86c617eabdf05c9')
  const s = scratch(t)
  s.init('r')
  const { context, repository } = await openScratch(t, s, 'r')
  const appended = await appendRecord(context, repository, undefined, record)
  assert.ok('commit' in appended)
  const ref = 'refs/discern/delivery/2026.4'
  assert.equal(s.git('r', 'rev-parse', ref), appended.commit)
  assert.equal(s.git('r', 'ls-tree', '-r', ref), '100644 blob 8d449192aca91a528705dba4c27defecb1cf6576\trecord.json')
  assert.equal(
    s.git('r', 'log', '--format=%an <%ae> %cn <%ce> %ct %P|%s', ref),
    'discern <done@discern.sh> discern <done@discern.sh> 1767312000 |Delivery 2026.4, generation 1: DISCOVERED',
  )
  assert.equal(s.git('r', 'cat-file', 'blob', `${ref}:record.json`), GOLDEN.trimEnd())
})

for (const format of ['sha1', 'sha256']) {
  test(`a line that git wrote is read, and one more generation appended, in a ${format} repository`, async t => {
    const s = scratch(t)
    s.init('r', `--object-format=${format}`)
    const { context, repository } = await openScratch(t, s, 'r')
    const source = s.git('r', 'rev-parse', 'HEAD')
    const line = lineTo('VERIFYING', source)
    const commits = plantLine(s, 'r', line)
    const tip = commits.at(-1) ?? ''
    const ledger = await readLedger(repository, 'x', tip)
    assert.deepEqual([ledger.records, ledger.commits, ledger.tip], [line, commits, tip])
    assert.deepEqual([...ledger.standing.valid.keys()], ['CP0', 'CP1', 'CP2'])
    const record = draw(line, { kind: 'stage', id: 'CP3' })
    const appended = await appendRecord(context, repository, ledger, record)
    assert.ok('commit' in appended)
    assert.equal(s.git('r', 'rev-parse', `${REF}^`), tip)
    assert.equal(s.git('r', 'show', `${REF}:record.json`), bytesOf(record).trimEnd())
    assert.deepEqual((await readLedger(repository, 'x', appended.commit)).records, [...line, record])
  })
}

test('a delivery is found by a name that is safe in a ref and a file, and no other', async t => {
  const s = scratch(t)
  s.init('r')
  const { repository } = await openScratch(t, s, 'r')
  const head = s.git('r', 'rev-parse', 'HEAD')
  const good = ['2026.4', 'A_b-c', `a${'b'.repeat(99)}`]
  for (const name of good) s.git('r', 'update-ref', `refs/discern/delivery/${name}`, head)
  s.git('r', 'update-ref', 'refs/discern/delivery/deep/name', head)
  s.git('r', 'update-ref', 'refs/discern/delivery/-x', head)
  assert.deepEqual([...(await listDeliveries(repository)).keys()], good)
  for (const name of ['', '.', '..', '-x', 'a/b', 'a..b', 'x.lock', 'x.', 'a b', 'a\n', `a${'b'.repeat(100)}`, 'ä']) {
    assert.equal(isDeliveryName(name), false, JSON.stringify(name))
  }
})

const line = lineTo('VERIFYING')
const good: readonly Planted[] = line.map((record, at) => ({
  bytes: bytesOf(record),
  parents: at === 0 ? [] : [at - 1],
}))
const next = draw(line, { kind: 'stage', id: 'CP3' })
const third = draw(line.slice(0, 2), { kind: 'stage', id: 'CP1' })
const bare: Line = line.slice(0, 1)

/** Each fault as commits whose last is the tip; `at` is the commit that is named. */
const faults: readonly {
  readonly what: string
  readonly commits: readonly Planted[]
  readonly at?: number
  readonly problem: RegExp
}[] = [
  {
    what: 'a link to a record that is not the one before',
    commits: [...good, { bytes: bytesOf({ ...next, previous: idOf(third) }), parents: [3] }],
    problem: /it does not follow the record before it/,
  },
  {
    what: 'a record in the middle that was exchanged',
    commits: good.with(2, { bytes: bytesOf({ ...third, rollback: 'another' }), parents: [1] }),
    at: 3,
    problem: /it does not follow the record before it/,
  },
  {
    what: 'a skipped generation',
    commits: [...good, { bytes: bytesOf({ ...next, generation: 6 }), parents: [3] }],
    problem: /generation 6 does not follow generation 4/,
  },
  {
    what: 'a generation twice',
    commits: [...good, { bytes: bytesOf({ ...next, generation: 4 }), parents: [3] }],
    problem: /generation 4 does not follow generation 4/,
  },
  {
    what: 'a first record that follows something',
    commits: [{ bytes: bytesOf({ ...newest(bare), previous: idOf(next) }), parents: [] }],
    problem: /it does not follow the record before it/,
  },
  {
    what: 'a line that begins in its middle',
    commits: [{ bytes: bytesOf({ ...newest(bare), generation: 3 }), parents: [] }],
    problem: /the first generation is 1 and follows nothing/,
  },
  {
    what: 'a record of another delivery',
    commits: [...good, { bytes: bytesOf({ ...next, delivery: 'y' }), parents: [3] }],
    problem: /it is of y/,
  },
  {
    what: 'a record of another repository',
    commits: [...good, { bytes: bytesOf({ ...next, repository: 'https://example.invalid/fork' }), parents: [3] }],
    problem: /it is of https:\/\/example\.invalid\/fork, not of https:\/\/example\.invalid\/r/,
  },
  {
    what: 'a stage that its state does not allow',
    commits: [...good, { bytes: bytesOf(draw(line, { kind: 'stage', id: 'CP6' })), parents: [3] }],
    problem: /CP6 is recorded from CANDIDATE, and this is VERIFYING/,
  },
  {
    what: 'a file beside the record',
    commits: [...good, { bytes: bytesOf(next), files: { 'run.log': 'x' }, parents: [3] }],
    problem: /it does not hold exactly the file record\.json/,
  },
  {
    what: 'a record under another name',
    commits: [...good, { bytes: bytesOf(next), name: 'record.txt', parents: [3] }],
    problem: /it does not hold exactly the file record\.json/,
  },
  {
    what: 'a record that is a link',
    commits: [...good, { bytes: '/etc/passwd', mode: '120000', parents: [3] }],
    problem: /it does not hold exactly the file record\.json/,
  },
  {
    what: 'text that is no JSON',
    commits: [...good, { bytes: '<<<<<<< ours\n', parents: [3] }],
    problem: /it is no JSON text in UTF-8/,
  },
  {
    what: 'JSON with spaces',
    commits: [...good, { bytes: `${JSON.stringify(next, null, 2)}\n`, parents: [3] }],
    problem: /it is not the canonical text of its record/,
  },
  {
    what: 'JSON without its newline',
    commits: [...good, { bytes: bytesOf(next).trimEnd(), parents: [3] }],
    problem: /it is not the canonical text of its record/,
  },
  {
    what: 'a member twice',
    commits: [...good, { bytes: bytesOf(next).replace('"schema":1', '"schema":1,"schema":1'), parents: [3] }],
    problem: /it is not the canonical text of its record/,
  },
  {
    what: 'a member that no record has',
    commits: [...good, { bytes: bytesOf({ ...next, urgent: true } as typeof next), parents: [3] }],
    problem: /must NOT have additional properties/,
  },
  {
    what: 'two parents where nothing was decided',
    commits: [...good, { bytes: bytesOf(next), parents: [3, 2] }],
    problem: /it has more than one parent/,
  },
]

test('a line that cannot be trusted is refused with its commit, as ours and as a remote’s, and nothing is changed', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'remote', 'add', 'origin', '../up')
  const { context, repository } = await openScratch(t, s, 'r')
  const entries = await readConfig(repository)
  for (const { what, commits, at, problem } of faults) {
    const ids = plant(s, 'r', THEIRS, commits)
    const tip = ids.at(-1) ?? ''
    const ours = commits.length > 4 ? ids[3] : undefined
    if (ours === undefined) s.git('r', 'update-ref', '-d', REF)
    else s.git('r', 'update-ref', REF, ours)
    const before = refsOf(s, 'r')
    const refusal = await refused(readLedger(repository, 'x', tip))
    assert.equal(refusal.slug, 'delivery_invalid', what)
    assert.ok(
      refusal.message.includes(`commit ${ids[at ?? ids.length - 1]} of delivery x`),
      `${what}: ${refusal.message}`,
    )
    assert.match(refusal.message, problem, what)
    const [comparison] = await compare(repository, entries, 'x')
    assert.equal(comparison?.relation, 'invalid', what)
    assert.deepEqual(await adopt(context, repository, entries, 'x'), {
      unchanged: true,
      invalid: [{ remote: 'origin', problem: refusal.message }],
    })
    if (ours !== undefined) {
      for (const keep of ['local', 'origin']) {
        assert.equal((await refused(resolve(context, repository, entries, 'x', keep))).slug, 'delivery_invalid', what)
      }
    }
    assert.equal(refsOf(s, 'r'), before, what)
  }
})

test('a record of a newer version is refused as such, and left for a newer program', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'remote', 'add', 'origin', '../up')
  const { context, repository } = await openScratch(t, s, 'r')
  const newer = bytesOf({ ...next, schema: 2, wonder: [] } as unknown as typeof next)
  const ids = plant(s, 'r', THEIRS, [...good, { bytes: newer, parents: [3] }])
  s.git('r', 'update-ref', REF, ids[3] ?? '')
  const before = refsOf(s, 'r')
  const refusal = await refused(readLedger(repository, 'x', ids[4] ?? ''))
  assert.equal(refusal.slug, 'store_newer')
  assert.ok(refusal.message.includes(ids[4] ?? '?'), refusal.message)
  const adoption = await adopt(context, repository, await readConfig(repository), 'x')
  assert.deepEqual(adoption, { unchanged: true, invalid: [{ remote: 'origin', problem: refusal.message }] })
  assert.equal(refsOf(s, 'r'), before)
})

test('a line whose older commits were not fetched is refused with the first that is missing', async t => {
  const s = scratch(t)
  s.init('up')
  const commits = plantLine(s, 'up', line)
  s.init('r')
  s.git('r', 'remote', 'add', 'origin', '../up')
  s.git('r', 'fetch', '-q', '--depth=2', `file://${s.path('up')}`, `${REF}:${THEIRS}`)
  const { context, repository } = await openScratch(t, s, 'r')
  const before = snapshot(s.path('r'))
  const refusal = await refused(readLedger(repository, 'x', commits[3] ?? ''))
  assert.equal(
    refusal.message,
    `commit ${commits[1]} of delivery x is no delivery record that can be trusted: the commit is not here`,
  )
  const adoption = await adopt(context, repository, await readConfig(repository), 'x')
  assert.deepEqual(adoption, { unchanged: true, invalid: [{ remote: 'origin', problem: refusal.message }] })
  assert.deepEqual(snapshot(s.path('r')), before)
  s.git('r', 'fetch', '-q', '--unshallow', `file://${s.path('up')}`)
  assert.deepEqual((await readLedger(repository, 'x', commits[3] ?? '')).commits, commits)
})

test('a ref that holds no commit of a record is refused with what it holds', async t => {
  const s = scratch(t)
  s.init('r')
  const { repository } = await openScratch(t, s, 'r')
  for (const [name, problem] of [
    ['HEAD', /it does not hold exactly the file record\.json/],
    ['HEAD:f', /the commit is not here/],
    ['HEAD^{tree}', /the commit is not here/],
  ] as const) {
    const oid = s.git('r', 'rev-parse', name)
    const refusal = await refused(readLedger(repository, 'x', oid))
    assert.equal(refusal.slug, 'delivery_invalid')
    assert.ok(refusal.message.includes(oid))
    assert.match(refusal.message, problem)
  }
})

test('a decision is read with both of its sides, and refused when a side is not what it says', async t => {
  const s = scratch(t)
  s.init('r')
  const { repository } = await openScratch(t, s, 'r')
  const other = grow(line, { kind: 'move', to: 'BLOCKED' }, { kind: 'move', to: 'IMPLEMENTING' })
  const kept = grow(line, ...stages('CP3'))
  const decision = decide(kept, other)
  // 0 to 3 in common, 4 the side that is kept, 5 and 6 the other.
  const sides: readonly Planted[] = [
    ...good,
    { bytes: bytesOf(newest(kept)), parents: [3] },
    ...other.slice(4).map((record, at) => ({ bytes: bytesOf(record), parents: [at === 0 ? 3 : 5] })),
  ]
  const read = async (commit: Planted, more: readonly Planted[] = []) => {
    const ids = plant(s, 'r', REF, [...sides, commit, ...more])
    return { ids, reading: readLedger(repository, 'x', ids.at(-1) ?? '') }
  }
  const onward = draw([...kept, decision], { kind: 'stage', id: 'CP4' })
  const { ids, reading } = await read({ bytes: bytesOf(decision), parents: [4, 6] }, [
    { bytes: bytesOf(onward), parents: [7] },
  ])
  const ledger = await reading
  assert.deepEqual(
    ledger.records.map(({ generation }) => generation),
    [1, 2, 3, 4, 5, 7, 8],
  )
  assert.deepEqual(
    ledger.commits,
    [0, 1, 2, 3, 4, 7, 8].map(at => ids[at]),
  )
  assert.deepEqual([...ledger.history.keys()].sort(), [...ids].sort())
  assert.deepEqual([...ledger.standing.valid.keys()], ['CP0', 'CP1', 'CP2', 'CP3', 'CP4'])

  const promoted = lineTo('HUMAN_ACCEPTED')
  const released = draw(promoted, { kind: 'promote' })
  const wrong: readonly (readonly [Planted, RegExp])[] = [
    [{ bytes: bytesOf(decision), parents: [4] }, /it decides between two sides, and has only one/],
    [{ bytes: bytesOf(decision), parents: [4, 6, 5] }, /it has more than two parents/],
    [{ bytes: bytesOf(decision), parents: [6, 4] }, /it does not follow the record before it/],
    [{ bytes: bytesOf(decision), parents: [4, 5] }, /the other side is not the one that it names/],
    [
      { bytes: bytesOf(decide(kept, line, { generation: 6 })), parents: [4, 3] },
      /one of its sides is part of the other/,
    ],
    [
      { bytes: bytesOf({ ...decision, resolves: { record: idOf(newest(other)), generation: 5 } }), parents: [4, 6] },
      /the other side is not the one that it names/,
    ],
    [
      { bytes: bytesOf({ ...decision, generation: 6 }), parents: [4, 6] },
      /a decision between generations 5 and 6 is generation 7/,
    ],
    [
      { bytes: bytesOf({ ...decision, sourceCommit: OTHER_SOURCE }), parents: [4, 6] },
      /a decision between two sides leaves the one that it keeps as it is/,
    ],
  ]
  for (const [commit, problem] of wrong) {
    const { ids: planted, reading: refusing } = await read(commit)
    const refusal = await refused(refusing)
    assert.equal(refusal.slug, 'delivery_invalid')
    assert.ok(refusal.message.includes(`commit ${planted.at(-1)} `), refusal.message)
    assert.match(refusal.message, problem)
  }

  // A side that breaks a rule cannot be hidden behind a decision against it.
  const forged = { ...newest(other), generation: 9 }
  const hidden = [...other.slice(0, -1), forged]
  const planted = plant(s, 'r', REF, [
    ...sides.with(6, { bytes: bytesOf(forged), parents: [5] }),
    { bytes: bytesOf(decide(kept, hidden)), parents: [4, 6] },
  ])
  assert.match(
    (await refused(readLedger(repository, 'x', planted[7] ?? ''))).message,
    new RegExp(`commit ${planted[6]} .* generation 9 does not follow generation 5`),
  )

  // Nor can a promotion.
  const stopped = grow(promoted, { kind: 'source', source: OTHER_SOURCE, corpus: 'corpus-1' })
  const wide: readonly Planted[] = [
    ...promoted.map((record, at) => ({ bytes: bytesOf(record), parents: at === 0 ? [] : [at - 1] })),
    { bytes: bytesOf(newest(stopped)), parents: [7] },
    { bytes: bytesOf(released), parents: [7] },
  ]
  const dropping = plant(s, 'r', REF, [
    ...wide,
    { bytes: bytesOf(decide(stopped, [...promoted, released])), parents: [8, 9] },
  ])
  assert.match(
    (await refused(readLedger(repository, 'x', dropping[10] ?? ''))).message,
    /the other side was promoted with generation 9, and what was released is rolled back, not decided away/,
  )
  const keeping = plant(s, 'r', REF, [
    ...wide,
    { bytes: bytesOf(decide([...promoted, released], stopped)), parents: [9, 8] },
  ])
  assert.equal((await readLedger(repository, 'x', keeping[10] ?? '')).standing.state, 'RELEASED')
})

test('of two who append to one generation exactly one wins, fifty times, and the other changes nothing', async t => {
  const s = scratch(t)
  s.init('r')
  const one = await openScratch(t, s, 'r')
  const two = await openScratch(t, s, 'r')
  let grown: Line = line
  let tip = plantLine(s, 'r', grown).at(-1) ?? ''
  let wins = 0
  for (let round = 0; round < 50; round += 1) {
    const records = ['one', 'two'].map(note => draw(grown, { kind: 'stage', id: 'CP3', note: `${note}${round}` }))
    const outcomes = await Promise.all(
      [one, two].map(({ context, repository }, at) =>
        appendRecord(context, repository, { tip }, records[at] ?? newest(grown)),
      ),
    )
    const winner = outcomes.findIndex(outcome => 'commit' in outcome)
    const [won, lost] = [outcomes[winner], outcomes[1 - winner]]
    assert.ok(won && 'commit' in won)
    assert.ok(lost && 'lost' in lost && lost.lost.length > 0)
    assert.equal(s.git('r', 'rev-parse', REF, `${REF}^`), `${won.commit}\n${tip}`)
    grown = [...grown, records[winner] ?? newest(grown)]
    tip = won.commit
    wins += winner
  }
  const ledger = await readLedger(one.repository, 'x', tip)
  assert.deepEqual(ledger.records, grown)
  assert.equal(ledger.standing.generation, 54)
  assert.equal(ledger.history.size, 54)
  t.diagnostic(`the second won ${wins} of 50`)
  // Whoever looked at an older generation loses however late they come.
  const late = await appendRecord(two.context, two.repository, { tip: ledger.commits[10] ?? '' }, next)
  assert.ok('lost' in late)
  assert.equal(s.git('r', 'rev-parse', REF), tip)
  assert.ok(
    'lost' in (await appendRecord(two.context, two.repository, undefined, draw([], { kind: 'start', source: SOURCE }))),
  )
  assert.equal(s.git('r', 'rev-parse', REF), tip)
})

test('two who start one delivery at the same time do not both', async t => {
  const s = scratch(t)
  s.init('r')
  const sides = [await openScratch(t, s, 'r'), await openScratch(t, s, 'r')]
  const outcomes = await Promise.all(
    sides.map(({ context, repository }, at) =>
      appendRecord(context, repository, undefined, draw([], { kind: 'start', source: sha256(`${at}`).slice(0, 40) })),
    ),
  )
  assert.equal(outcomes.filter(outcome => 'commit' in outcome).length, 1)
  assert.equal(s.git('r', 'rev-list', '--count', REF), '1')
})
