/** Random lives of a delivery in two real clones and a hub, with plain fetches and pushes, against a model of who knows what. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { appendRecord, type Ledger, readLedger } from '../../src/delivery/ledger.ts'
import type { DeliveryRecord } from '../../src/delivery/record.ts'
import { adopt, resolve, wireDeliveries } from '../../src/delivery/travel.ts'
import { Refusal } from '../../src/errors.ts'
import { readConfig } from '../../src/git/config.ts'
import { bytesOf, decide, draw, idOf, isLegal, type Line, lineTo, newest, plantLine } from '../support/delivery-line.ts'
import { at, deeds, hold, legalDeeds } from '../support/delivery-lives.ts'
import { openScratch } from '../support/open.ts'
import { type Scratch, scratch } from '../support/scratch.ts'

const REF = 'refs/discern/delivery/x'
const TRACKING = 'refs/discern/remotes/origin/delivery/x'

/** A side of the model: the line that counts there, and every record that its tip rests on. */
interface Known {
  readonly line: Line
  readonly all: ReadonlyMap<string, DeliveryRecord>
}

const tipOf = ({ line }: Known): string => idOf(newest(line))
const knows = (one: Known, other: Known): boolean => one.all.has(tipOf(other))
const more = ({ line, all }: Known, record: DeliveryRecord, others: Known['all'] = new Map()): Known => ({
  line: [...line, record],
  all: new Map([...all, ...others, [idOf(record), record]]),
})

const releasesOnlyIn = (one: Known, other: Known): number =>
  [...one.all].filter(
    ([id, record]) =>
      !other.all.has(id) && record.state === 'RELEASED' && record.checkpoint === null && record.resolves === undefined,
  ).length

const lastCommon = (one: Known, other: Known): number =>
  [...one.all].reduce((last, [id, { generation }]) => (other.all.has(id) ? Math.max(last, generation) : last), 0)

const clone = async (t: TestContext, s: Scratch, name: string) => {
  s.git('.', 'init', '-q', name)
  s.git(name, 'remote', 'add', 'origin', '../hub.git')
  const { context, repository } = await openScratch(t, s, name)
  await wireDeliveries(repository, await readConfig(repository))
  const entries = await readConfig(repository)
  return {
    name,
    append: (ledger: Ledger, record: DeliveryRecord) => appendRecord(context, repository, ledger, record),
    adopt: () => adopt(context, repository, entries, 'x'),
    resolve: (keep: string) => resolve(context, repository, entries, 'x', keep),
    read: () => readLedger(repository, 'x', s.git(name, 'rev-parse', REF)),
  }
}

const step = fc.record({
  who: fc.nat(1),
  what: fc.oneof(
    ...(
      [
        ['legal', 8],
        ['any', 1],
        ['late', 1],
        ['push', 5],
        ['fetch', 4],
        ['resolve', 4],
      ] as const
    ).map(([what, weight]) => ({ weight, arbitrary: fc.constant(what) })),
  ),
  pick: fc.nat(1000),
})

test('no life of a delivery in two real clones loses a record, uses a generation twice or promotes a stale one', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', '--bare', 'hub.git')
  const clones = [await clone(t, s, 'a'), await clone(t, s, 'b')] as const
  const seen = { appended: 0, promoted: 0, conflicts: 0, decided: 0, adopted: 0, pushed: 0, refusedPushes: 0, late: 0 }
  let serial = 0

  const life = async (steps: readonly { who: number; what: string; pick: number }[]): Promise<void> => {
    for (const place of ['hub.git', 'a', 'b']) {
      s.git(place, 'for-each-ref', '--format=delete %(refname)', 'refs/discern')
        .split('\n')
        .filter(Boolean)
        .forEach(line => {
          s.git(place, 'update-ref', '-d', line.slice('delete '.length))
        })
    }
    const first = lineTo('CANDIDATE')
    plantLine(s, 'hub.git', first)
    let hub: Known = { line: first, all: new Map(first.map(record => [idOf(record), record])) }
    const here: [Known, Known] = [hub, hub]
    const seenOfHub: [Known, Known] = [hub, hub]
    const old: [Ledger[], Ledger[]] = [[], []]
    for (const { name } of clones) s.git(name, 'fetch', '-q', 'origin', `${REF}:${REF}`)

    // Both go on before either knows.
    const apart = [
      { who: 0, what: 'legal', pick: 20 },
      { who: 1, what: 'legal', pick: 1 + (steps[0]?.pick ?? 0) * 3 },
      { who: 0, what: 'push', pick: 0 },
      { who: 1, what: 'push', pick: 0 },
    ]
    for (const { who, what, pick } of [...apart, ...steps]) {
      const mine = who === 0 ? 0 : 1
      const { name, append, adopt, resolve, read } = clones[mine]
      if (what === 'legal' && pick % 3 === 0) {
        s.git(name, 'fetch', '-q')
        seenOfHub[mine] = hub
      }
      const [ours, theirs] = [here[mine], seenOfHub[mine]]
      const apart = !knows(ours, theirs) && !knows(theirs, ours)
      const conflict = { remote: 'origin', generation: lastCommon(ours, theirs) }
      // Who meets a conflict mostly decides it.
      switch (apart && what === 'legal' && pick % 2 > 0 ? 'resolve' : what) {
        case 'legal':
        case 'any': {
          const adoption = await adopt()
          if (apart) {
            seen.conflicts += 1
            assert.deepEqual(adoption, { conflict, invalid: [] })
            break
          }
          const behind = !knows(ours, theirs)
          assert.equal('adopted' in adoption, behind)
          const base = behind ? theirs : ours
          seen.adopted += Number(behind)
          here[mine] = base
          const deed = at(what === 'legal' ? legalDeeds(base.line) : deeds(base.line), pick)
          if (!isLegal(base.line, deed)) break
          const ledger = await read()
          old[mine].push(ledger)
          serial += 1
          const record = draw(base.line, deed, { rollback: `by ${name}, ${serial}` })
          assert.ok('commit' in (await append(ledger, record)))
          here[mine] = more(base, record)
          seen.appended += 1
          seen.promoted += Number(deed.kind === 'promote')
          break
        }
        case 'late': {
          const ledger = old[mine].find(({ standing }) => standing.generation < newest(ours.line).generation)
          if (!ledger) break
          seen.late += 1
          const promotion = draw(ledger.records, { kind: 'promote' })
          assert.ok('lost' in (await append(ledger, promotion)))
          break
        }
        case 'push': {
          const fits = knows(ours, hub)
          assert.equal(s.tryGit(name, 'push', '-q', 'origin', REF).exit === 0, fits)
          seen[fits ? 'pushed' : 'refusedPushes'] += 1
          if (fits) hub = ours
          // Git notes what it pushed, and says to fetch otherwise.
          else s.git(name, 'fetch', '-q')
          seenOfHub[mine] = hub
          break
        }
        case 'fetch':
          s.git(name, 'fetch', '-q')
          seenOfHub[mine] = hub
          break
        case 'resolve': {
          const keep = pick % 2 === 0 ? 'local' : 'origin'
          const [kept, other] = keep === 'local' ? [ours, theirs] : [theirs, ours]
          if (apart && releasesOnlyIn(other, kept) > 0 && releasesOnlyIn(kept, other) === 0) {
            await assert.rejects(
              resolve(keep),
              (error: unknown) => error instanceof Refusal && error.slug === 'delivery_illegal',
            )
            break
          }
          const { decided, commit } = await resolve(keep)
          assert.deepEqual(decided, apart ? [{ ...conflict, commit }] : [])
          if (!apart) break
          seen.decided += 1
          const record = newest((await read()).records)
          const { observedAt, rollback, reason } = record
          assert.equal(
            bytesOf(record),
            bytesOf(
              decide(kept.line, other.line, { observedAt, rollback, ...(reason === undefined ? {} : { reason }) }),
            ),
          )
          here[mine] = more(kept, record, other.all)
        }
      }
      const ledger = await read()
      assert.deepEqual(ledger.records, here[mine].line)
      assert.deepEqual(
        [...ledger.history.values()].map(({ record }) => idOf(record)).sort(),
        [...here[mine].all.keys()].sort(),
      )
      hold(ledger.records)
    }

    // However it went, both end as one, with plain git and at most one decision, and with every record of both.
    const everything = new Set([...here[0].all.keys(), ...here[1].all.keys()])
    for (const name of ['a', 'b', 'a'] as const) {
      const side = clones[name === 'a' ? 0 : 1]
      s.git(name, 'fetch', '-q')
      const adoption = await side.adopt()
      seen.adopted += Number('adopted' in adoption)
      if ('conflict' in adoption) {
        await side.resolve('origin').catch(() => side.resolve('local'))
      }
      s.git(name, 'push', '-q', 'origin', REF)
    }
    const [a, b] = [await clones[0].read(), await clones[1].read()]
    assert.deepEqual([a.tip, b.tip], [s.git('hub.git', 'rev-parse', REF), a.tip])
    const kept = new Set([...a.history.values()].map(({ record }) => idOf(record)))
    assert.deepEqual(
      [...everything].filter(id => !kept.has(id)),
      [],
    )
    hold(a.records)
  }

  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 16, size: 'max' }), life), {
    numRuns: 6,
    seed: 3,
    endOnFailure: true,
  })
  t.diagnostic(JSON.stringify(seen))
  for (const [what, count] of Object.entries(seen)) assert.ok(count > 0, `no ${what}`)
})

test('a promotion waits until somebody decided between two sides', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', '--bare', 'hub.git')
  const [a, b] = [await clone(t, s, 'a'), await clone(t, s, 'b')]
  const line = lineTo('HUMAN_ACCEPTED')
  plantLine(s, 'hub.git', line)
  for (const { name } of [a, b]) s.git(name, 'fetch', '-q', 'origin', `${REF}:${REF}`)
  const stop = draw(line, { kind: 'source', source: 'c'.repeat(40) })
  assert.ok('commit' in (await b.append(await b.read(), stop)))
  s.git('b', 'push', '-q', 'origin', REF)
  // Not known in `a` yet: the promotion is made there, and cannot be published.
  assert.deepEqual(await a.adopt(), { unchanged: true, invalid: [] })
  assert.ok('commit' in (await a.append(await a.read(), draw(line, { kind: 'promote' }))))
  assert.equal(s.tryGit('a', 'push', '-q', 'origin', REF).exit, 1)
  s.git('a', 'fetch', '-q')
  assert.deepEqual(await a.adopt(), { conflict: { remote: 'origin', generation: 8 }, invalid: [] })
  assert.equal(
    s.git('a', 'for-each-ref', '--format=%(refname)', 'refs/discern').split('\n').join(),
    `${REF},${TRACKING}`,
  )
})
