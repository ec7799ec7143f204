/** The owner's grant for the next landing of a branch: taken once, lost never. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import {
  claimGrant,
  claimsOf,
  consumeClaim,
  type EffortGrant,
  grantEffort,
  readGrant,
  recoverClaims,
  restoreClaim,
  revokeGrant,
} from '../../src/landing/grant.ts'
import { contextFor } from '../support/gate.ts'
import { type Scratch, scratch } from '../support/scratch.ts'

const A = 'refs/heads/feat/a'
const B = 'refs/heads/b'

const place = (t: TestContext) => {
  const s = scratch(t)
  const directories = { gitDir: s.path('git'), commonDir: s.path('git') }
  mkdirSync(directories.gitDir)
  const context = contextFor(s.dir, s.env)
  const grant = async (branch: string): Promise<EffortGrant> => (await grantEffort(context, directories, branch)).grant
  const claims = (): readonly string[] => {
    const folder = join(directories.gitDir, 'discern/effort-grant-claims')
    return existsSync(folder) ? readdirSync(folder) : []
  }
  const recover = (landed: readonly string[] = []) =>
    recoverClaims(context, directories, async id => landed.includes(id))
  return { s, directories, context, grant, claims, recover }
}

/** The taker as one small script. */
const taker = async (s: Scratch): Promise<string> => {
  const script = s.path('taker.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL('../support/grant-taker.ts', import.meta.url))],
    outfile: script,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
  return script
}

describe('an effort grant', () => {
  it('is one record for each branch, stays when granted again, and is revoked alone', async t => {
    const { s, directories, context, grant } = place(t)
    assert.equal(await readGrant(directories, A), undefined)
    const first = await grantEffort(context, directories, A)
    assert.equal(first.fresh, true)
    assert.deepEqual(JSON.parse(s.read('git/discern/effort-grant')), { version: 1, grants: { [A]: first.grant } })
    assert.deepEqual(await grantEffort(context, directories, A), { grant: first.grant, fresh: false })
    const other = await grant(B)
    assert.notEqual(other.effort_id, first.grant.effort_id)
    assert.deepEqual(await revokeGrant(context, directories, A), first.grant)
    assert.equal(await revokeGrant(context, directories, A), undefined)
    assert.deepEqual(await readGrant(directories, B), other)
  })

  it('goes to one landing, which spends it or gives it back', async t => {
    const { directories, context, grant, claims } = place(t)
    const [landing, second] = [randomUUID(), randomUUID()]
    assert.equal(await claimGrant(context, directories, A, landing), undefined, 'nothing is granted yet')
    const given = await grant(A)
    assert.deepEqual(await claimGrant(context, directories, A, landing), given)
    assert.equal(await readGrant(directories, A), undefined)
    assert.equal(await claimGrant(context, directories, A, second), undefined)
    assert.deepEqual(claims(), [`${landing}.json`])
    assert.deepEqual(await restoreClaim(context, directories, landing), given)
    assert.deepEqual(await readGrant(directories, A), given)
    assert.equal(await restoreClaim(context, directories, landing), undefined)
    assert.deepEqual(await claimGrant(context, directories, A, second), given)
    await consumeClaim(context, directories, second)
    await consumeClaim(context, directories, second)
    assert.deepEqual([claims(), await readGrant(directories, A)], [[], undefined])
  })

  it('given back yields to a newer one, and stays revoked', async t => {
    const { directories, context, grant, claims } = place(t)
    const landing = randomUUID()
    const old = await grant(A)
    await claimGrant(context, directories, A, landing)
    const newer = await grant(A)
    assert.deepEqual(await restoreClaim(context, directories, landing), newer)
    assert.notEqual(newer.id, old.id)
    await claimGrant(context, directories, A, landing)
    assert.deepEqual(await revokeGrant(context, directories, A), newer, 'a claim that is left over is revoked too')
    assert.equal(await restoreClaim(context, directories, landing), undefined)
    assert.deepEqual([claims(), await readGrant(directories, A)], [[], undefined])
  })

  it('survives every point at which a landing can be killed, and is never spent twice', async t => {
    const { s, directories, context, grant, claims, recover } = place(t)
    const claimFile = (landing: string): string =>
      join(directories.gitDir, `discern/effort-grant-claims/${landing}.json`)
    // Killed after the claim was written and before the grant went: both stand, and no landing has begun.
    const given = await grant(A)
    const [dead, next, last] = [randomUUID(), randomUUID(), randomUUID()]
    const standing = s.read('git/discern/effort-grant')
    await claimGrant(context, directories, A, dead)
    s.write('git/discern/effort-grant', standing)
    assert.deepEqual(await claimGrant(context, directories, A, next), given)
    assert.deepEqual(claims(), [`${next}.json`], 'the unfinished claim counts for nothing')
    assert.deepEqual(await recover([next]), { restored: [], consumed: [next], kept: [] })
    assert.deepEqual(await recover(), { restored: [], consumed: [], kept: [] })
    assert.equal(await readGrant(directories, A), undefined, 'spent once')
    // Killed with the claim alone, before the journal.
    const again = await grant(A)
    await claimGrant(context, directories, A, dead)
    assert.deepEqual(await recover(), { restored: [again], consumed: [], kept: [] })
    assert.deepEqual([claims(), await readGrant(directories, A)], [[], again])
    // Killed while it was given back: both stand.
    await claimGrant(context, directories, A, last)
    const claim = readFileSync(claimFile(last))
    await restoreClaim(context, directories, last)
    writeFileSync(claimFile(last), claim)
    assert.deepEqual((await recover()).restored, [again])
    assert.deepEqual([claims(), await readGrant(directories, A)], [[], again])
    // A landing that happened has spent it, even if a copy of the grant came back.
    await claimGrant(context, directories, A, last)
    s.write('git/discern/effort-grant', JSON.stringify({ version: 1, grants: { [A]: again } }))
    assert.deepEqual((await recover([last])).consumed, [last])
    assert.equal(await readGrant(directories, A), undefined)
  })

  it('held by a journal that stands is left to its recovery, and so is a claim that cannot be read', async t => {
    const { s, directories, context, grant, claims, recover } = place(t)
    const [landing, newer, torn] = [randomUUID(), randomUUID(), randomUUID()]
    await grant(A)
    await claimGrant(context, directories, A, landing)
    const text = { id: landing, worktree_branch: A, trunk: 't', expected_trunk: 'e', target: 'x' }
    const journal = { version: 1, ...text, acceptance: {}, claim: {}, presentation: {} }
    s.write('git/discern/acceptance-transaction.json', JSON.stringify(journal))
    s.write(`git/discern/effort-grant-claims/${newer}.json`, '{"version":2}')
    s.write(`git/discern/effort-grant-claims/${torn}.json`, '{"ver')
    s.write('git/discern/effort-grant-claims/README', 'mine')
    const { restored, consumed, kept } = await recover()
    assert.deepEqual([restored, consumed, kept.length], [[], [], 2])
    assert.deepEqual(new Set(claims()), new Set([`${landing}.json`, `${newer}.json`, `${torn}.json`, 'README']))
    await assert.rejects(restoreClaim(context, directories, torn), { slug: 'store_unreadable' })
    rmSync(join(directories.gitDir, 'discern/acceptance-transaction.json'))
    assert.equal((await recover()).restored.length, 1)
  })

  it('of a newer or damaged store is refused and nothing is taken', async t => {
    const { s, directories, context, claims } = place(t)
    for (const [text, slug] of [
      ['{"version":2,"grants":{}}', 'store_newer'],
      ['nonsense', 'store_unreadable'],
    ] as const) {
      s.write('git/discern/effort-grant', text)
      await assert.rejects(readGrant(directories, A), { slug })
      await assert.rejects(claimGrant(context, directories, A, randomUUID()), { slug })
      await assert.rejects(grantEffort(context, directories, A), { slug })
      assert.deepEqual([s.read('git/discern/effort-grant'), claims()], [text, []])
    }
  })

  it('goes to exactly one of two processes that take it at the same moment', async t => {
    const { s, directories, grant, claims } = place(t)
    const count = 12
    for (let at = 0; at < count; at += 1) await grant(`refs/heads/b${at}`)
    const script = await taker(s)
    const both = [0, 1].map(() =>
      s.execAsync('.', process.execPath, [script, directories.gitDir, 'race', String(count)]),
    )
    await pause(400)
    writeFileSync(join(directories.gitDir, 'go'), '')
    const got = (await Promise.all(both)).map(({ exit, out, err }) => {
      assert.deepEqual([exit, err], [0, ''])
      return JSON.parse(out.split('\n')[1] ?? '') as readonly number[]
    })
    const expected = Array.from({ length: count }, (_, at) => at)
    assert.deepEqual(
      got.flat().sort((left, right) => left - right),
      expected,
    )
    assert.equal(claims().length, count)
  })

  it('is there once after a taker was killed at a random moment', async t => {
    const { s, directories, grant, recover } = place(t)
    const given = await grant('refs/heads/b0')
    const script = await taker(s)
    for (let round = 0; round < 5; round += 1) {
      const child = spawn(process.execPath, [script, directories.gitDir, 'churn'], { env: s.env })
      const ended = new Promise(resolve => child.on('close', resolve))
      await new Promise(resolve => child.stdout.once('data', resolve))
      await pause(10 + Math.random() * 60)
      child.kill('SIGKILL')
      await ended
      const { kept } = await recover()
      assert.deepEqual(kept, [])
      assert.deepEqual(await readGrant(directories, 'refs/heads/b0'), given, `round ${round}`)
      assert.deepEqual(await claimsOf(directories), [])
    }
  })
})
