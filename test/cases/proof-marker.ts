/** The gate-proof marker: every inspection outcome of facts 7.2, through real files, and what the verbs make of each. */
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { describe, it } from 'node:test'
import { inspectMarker, type MarkerSituation } from '../../src/proof/marker.ts'
import { newestVerdict, readProofRecord, recordVerdict, reserveSequence } from '../../src/proof/records.ts'
import { change, land, project } from '../support/project.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'

const places = (s: Scratch) => ({ gitDir: s.path('r/.git'), commonDir: s.path('r/.git') })
const EMPTY_EVIDENCE = '33e93966b3e7f28a6d166da2376c63223e7b8333b6dd14d6b92695bb347cd04d'

/** A proven branch, and the marker as it stands. */
const marked = async (s: Scratch): Promise<{ head: string; marker: Record<string, unknown>; now: MarkerSituation }> => {
  project(s)
  const head = change(s, 'r', 'feat', { g: '2\n' })
  assert.equal((await s.discern('r', ['done', '--json'])).result.ok, true)
  return {
    head,
    marker: JSON.parse(s.read('r/.git/discern/gate-proof')),
    now: { head, dirty: [], evidence: EMPTY_EVIDENCE },
  }
}

describe('the gate-proof marker', () => {
  it('is at the path git names, binds head, mode, completion, Proof and declaration evidence, and nothing else', async t => {
    const s = scratch(t)
    const { head, marker } = await marked(s)
    assert.equal(s.git('r', 'rev-parse', '--git-path', 'discern/gate-proof'), '.git/discern/gate-proof')
    assert.deepEqual(Object.keys(marker), ['version', 'head', 'mode', 'completion', 'proof', 'evidence'])
    assert.equal(marker['version'], 1)
    assert.equal(marker['head'], head)
    assert.equal(marker['mode'], 'strict')
    // SHA-256 of the tag line of facts 4.3 with no question after it.
    assert.equal(marker['evidence'], EMPTY_EVIDENCE)
  })

  const write = (s: Scratch, marker: object | string): void => {
    s.write('r/.git/discern/gate-proof', typeof marker === 'string' ? marker : JSON.stringify(marker))
  }

  const rows: readonly [
    name: string,
    bend: (s: Scratch, marker: Loose, now: MarkerSituation) => unknown,
    status: string,
    accept: string,
  ][] = [
    ['nothing bent', () => undefined, 'honored', ''],
    ['no file', s => rmSync(s.path('r/.git/discern/gate-proof')), 'missing', 'incomplete'],
    ['a text marker without a version', s => write(s, 'gate passed at abc\n'), 'missing', 'incomplete'],
    ['no version field', (s, { version: _, ...marker }) => write(s, marker), 'missing', 'incomplete'],
    ['a newer version', (s, marker) => write(s, { ...marker, version: 2 }), 'newer', 'store_newer'],
    [
      'a directory in its place',
      s => {
        rmSync(s.path('r/.git/discern/gate-proof'))
        mkdirSync(s.path('r/.git/discern/gate-proof'))
      },
      'read_failed',
      'incomplete',
    ],
    [
      'a symbolic link in its place',
      s => {
        rmSync(s.path('r/.git/discern/gate-proof'))
        symlinkSync('/etc/passwd', s.path('r/.git/discern/gate-proof'))
      },
      'read_failed',
      'incomplete',
    ],
    ['a broken structure', (s, marker) => write(s, { ...marker, proof: 7 }), 'read_failed', 'incomplete'],
    ['another head', (s, marker) => write(s, { ...marker, head: 'a'.repeat(40) }), 'stale', 'incomplete'],
    ['a dirty tree', (_s, _marker, now) => ({ ...now, dirty: ['u'] }), 'dirty', ''],
    [
      'a Proof of another commit',
      (s, marker) => {
        marker['proof'].claim.head = 'eeeeeeeeeeee'
        write(s, marker)
      },
      'read_failed',
      'incomplete',
    ],
    ['report mode', (s, marker) => write(s, { ...marker, mode: 'report' }), 'report_only', 'report_only_proof'],
    [
      'changed declaration evidence',
      (s, marker) => write(s, { ...marker, evidence: 'e'.repeat(64) }),
      'stale',
      'incomplete',
    ],
    ['evidence that cannot be computed', (_s, _marker, now) => ({ ...now, evidence: undefined }), 'honored', ''],
    ['no completion', (s, { completion: _, ...marker }) => write(s, marker), 'honored', 'incomplete'],
    ['no Proof', (s, { proof: _, ...marker }) => write(s, marker), 'honored', 'incomplete'],
    ['no evidence', (s, { evidence: _, ...marker }) => write(s, marker), 'honored', 'incomplete'],
  ]
  for (const [name, bend, status, refusal] of rows) {
    it(`is ${status} with ${name}${refusal ? `, and accept says ${refusal}` : ''}`, async t => {
      const s = scratch(t)
      const { marker, now } = await marked(s)
      const situation = (bend(s, marker, now) as MarkerSituation | undefined) ?? now
      assert.equal((await inspectMarker(places(s), situation)).status, status)
      if (refusal === '') return
      const before = s.sh('r', 'cat .git/discern/gate-proof').out
      const trunk = s.git('r', 'rev-parse', 'main')
      const refused = await s.discern('r', ['accept', '--confirmed', '--json'])
      assert.equal(refused.result.error, refusal, refused.out)
      assert.equal(s.git('r', 'rev-parse', 'main'), trunk)
      if (status === 'newer') {
        assert.equal((await s.discern('r', ['done', '--rerun', '--json'])).result.error, 'store_newer')
        assert.equal(s.sh('r', 'cat .git/discern/gate-proof').out, before, 'a newer marker is kept')
      }
    })
  }

  it('is left alone by a green run whose tree turned dirty, and the run says why it proved nothing', async t => {
    const s = scratch(t)
    project(s)
    change(s, 'r', 'feat', { g: '2\n' })
    await s.discern('r', ['done', '--json'])
    const before = s.read('r/.git/discern/gate-proof')
    s.write('r/check.sh', 'echo left >left-behind\n')
    s.git('r', 'commit', '-q', '-a', '-m', 'litter')
    const withheld = await s.discern('r', ['done', '--json'])
    assert.equal(withheld.exit, 1)
    assert.equal(withheld.result.error, 'proof_withheld')
    assert.equal(withheld.data.completion.kind, 'pending')
    assert.match(String(withheld.result.message), /not clean any more: left-behind/)
    assert.equal(s.read('r/.git/discern/gate-proof'), before)
  })

  it('is withheld when HEAD or the trunk moved while the gate ran', async t => {
    for (const [move, reason] of [
      ['git commit -q --allow-empty -m moved', /HEAD moved from/],
      [
        'git update-ref refs/heads/main $(git commit-tree main^{tree} -p main -m moved)',
        /main moved while the gate ran/,
      ],
    ] as const) {
      const s = scratch(t)
      project(s)
      s.write('r/check.sh', `${move}\n`)
      change(s, 'r', 'feat', { g: '2\n' })
      const withheld = await s.discern('r', ['done', '--json'])
      assert.equal(withheld.result.error, 'proof_withheld', withheld.out)
      assert.match(String(withheld.result.message), reason)
    }
  })
})

describe('completion records', () => {
  it('keep the Proof readable by its id when the worktree is gone', async t => {
    const s = scratch(t)
    project(s)
    s.git('r', 'worktree', 'add', '-q', '../wt', '-b', 'feat')
    s.write('wt/g', '2')
    const commit = s.commit('wt', 'two')
    await land(s, 'wt')
    const note = JSON.parse(s.git('r', 'notes', '--ref=discern', 'show', commit))
    const { proof } = JSON.parse(Buffer.from(note.payload, 'base64').toString('utf8'))
    s.git('r', 'worktree', 'remove', '--force', '../wt')
    const stored = await readProofRecord(places(s), proof.completion.proof_id)
    assert.deepEqual(stored?.claim, proof)
  })

  it('reserve each number once, also for callers that race', async t => {
    const s = scratch(t)
    const numbers = await Promise.all(Array.from({ length: 150 }, () => reserveSequence(places(s))))
    assert.deepEqual(
      [...numbers].sort((a, b) => a - b),
      Array.from({ length: 150 }, (_, at) => at + 1),
    )
    assert.equal(await reserveSequence(places(s)), 151)
  })

  it('let the newest strict verdict on a commit supersede the older, whatever a report says later', async t => {
    const s = scratch(t)
    const id = (last: number) => `00000000-0000-4000-8000-00000000000${last}`
    const head = 'a'.repeat(40)
    assert.equal(await newestVerdict(places(s), head), undefined)
    await recordVerdict(places(s), head, {
      sequence: 9,
      mode: 'strict',
      passed: true,
      attemptId: id(1),
      proofId: id(2),
    })
    await recordVerdict(places(s), head, {
      sequence: 10,
      mode: 'strict',
      passed: false,
      attemptId: id(3),
      proofId: undefined,
    })
    await recordVerdict(places(s), head, {
      sequence: 11,
      mode: 'report',
      passed: true,
      attemptId: id(4),
      proofId: id(5),
    })
    assert.deepEqual(await newestVerdict(places(s), head), {
      sequence: 10,
      mode: 'strict',
      passed: false,
      attemptId: id(3),
      proofId: undefined,
    })
  })

  it('refuse to land a green Proof that a later red run superseded', async t => {
    const s = scratch(t)
    project(s)
    s.write('r/check.sh', 'test ! -e .git/red\n')
    change(s, 'r', 'feat', { g: '2\n' })
    await s.discern('r', ['done', '--json'])
    const marker = s.read('r/.git/discern/gate-proof')
    s.write('r/.git/red', '')
    assert.equal((await s.discern('r', ['done', '--rerun', '--json'])).result.error, 'gate_failed')
    s.write('r/.git/discern/gate-proof', marker)
    const refused = await s.discern('r', ['accept', '--confirmed', '--json'])
    assert.equal(refused.result.error, 'incomplete')
    assert.match(String(refused.result.message), /superseded/)
  })
})
