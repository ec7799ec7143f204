/** Recording and reading Proof notes: every outcome of facts 11.2 and 11.3, and how status words each. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ProofPayload } from '../../src/proof/claim.ts'
import { encodeEnvelope } from '../../src/proof/envelope.ts'
import { recordProofNote } from '../../src/proof/note.ts'
import { openScratch } from '../support/open.ts'
import { landedPayload, payload } from '../support/payload.ts'
import { change, land, project } from '../support/project.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'

const bodyOf = (s: Scratch, commit: string): string => s.git('r', 'notes', '--ref=discern', 'show', commit)

/** Puts any text on a commit as its note, as another program could. */
const plant = (s: Scratch, commit: string, text: string): void => {
  s.exec('r', 'git', ['notes', '--ref=discern', 'add', '-f', '-F', '-', commit], { input: text })
}

const bend = (source: ProofPayload, edit: (copy: Loose) => void): Loose => {
  const copy = JSON.parse(JSON.stringify(source))
  edit(copy)
  return copy
}

const envelope = (claim: unknown, members: object = {}): string =>
  `${JSON.stringify({
    payloadType: 'https://discern.sh/schema/v1/discern-proof-note.schema.json#/$defs/DiscernProofNotePayload',
    payload: Buffer.from(JSON.stringify(claim)).toString('base64'),
    signatures: [],
    ...members,
  })}\n`

describe('recording a Proof note', () => {
  it('records once, and says already_present for the same claim in other words, leaving the bytes', async t => {
    const s = scratch(t)
    s.init('r')
    const commit = s.git('r', 'rev-parse', 'HEAD')
    const { context, repository } = await openScratch(t, s, 'r')
    const first = await recordProofNote(context, repository, [], payload(commit))
    assert.deepEqual(first, { status: 'recorded', ref: 'refs/notes/discern', commit, merged_refs: [] })
    assert.equal(`${bodyOf(s, commit)}\n`, encodeEnvelope(payload(commit)))
    const reworded = bend(payload(commit), copy => {
      copy.presentation.line = 'other words'
    })
    const tip = s.git('r', 'rev-parse', 'refs/notes/discern')
    assert.equal((await recordProofNote(context, repository, [], reworded)).status, 'already_present')
    assert.equal(s.git('r', 'rev-parse', 'refs/notes/discern'), tip)
    assert.equal(`${bodyOf(s, commit)}\n`, encodeEnvelope(payload(commit)))
  })

  const refused: readonly [name: string, standing: (commit: string) => string, reason: RegExp][] = [
    ['another claim', commit => envelope(payload(commit, 1)), /publication conflict.*another claim/],
    [
      'an unknown format',
      commit => envelope(payload(commit), { payloadType: 'https://example.invalid/v2' }),
      /unsupported/,
    ],
    ['a stale Proof', commit => envelope(bend(payload(commit), copy => delete copy.proof.completion)), /stale/],
    ['unreadable text', () => 'looks good to me\n', /malformed/],
    ['two envelopes (case 28)', commit => `${envelope(payload(commit))}\n${envelope(payload(commit))}`, /malformed/],
  ]
  for (const [name, standing, reason] of refused) {
    it(`is record_failed where ${name} stands, and leaves it alone`, async t => {
      const s = scratch(t)
      s.init('r')
      const commit = s.git('r', 'rev-parse', 'HEAD')
      plant(s, commit, standing(commit))
      const before = bodyOf(s, commit)
      const { context, repository } = await openScratch(t, s, 'r')
      const write = await recordProofNote(context, repository, [], payload(commit))
      assert.equal(write.status, 'record_failed')
      assert.match(write.reason ?? '', reason)
      assert.equal(bodyOf(s, commit), before)
    })
  }

  it('is missing_proof without a Proof, and record_failed for a report, another commit or unsettled authority', async t => {
    const s = scratch(t)
    s.init('r')
    const commit = s.git('r', 'rev-parse', 'HEAD')
    const { context, repository } = await openScratch(t, s, 'r')
    assert.equal((await recordProofNote(context, repository, [], undefined)).status, 'missing_proof')
    const rows: readonly [Loose, RegExp][] = [
      [
        bend(payload(commit), copy => {
          copy.proof.mode = 'report'
        }),
        /report/,
      ],
      [
        bend(payload(commit), copy => {
          copy.proof.head = 'eeeeeeeeeeee'
        }),
        /not for/,
      ],
      [
        bend(landedPayload(commit), copy => {
          copy.acceptance.authority.authority.state = { kind: 'granted' }
        }),
        /malformed/,
      ],
      [
        bend(payload(commit), copy => {
          copy.proof.completion.candidate.head = 'e'.repeat(40)
        }),
        /malformed/,
      ],
    ]
    for (const [broken, reason] of rows) {
      const write = await recordProofNote(context, repository, [], broken)
      assert.equal(write.status, 'record_failed')
      assert.match(write.reason ?? '', reason)
    }
    assert.equal(s.tryGit('r', 'rev-parse', '-q', '--verify', 'refs/notes/discern').exit, 1)
  })
})

describe('status of the trunk tip', () => {
  const rows: readonly [
    name: string,
    plant: (commit: string) => string,
    check: (data: Loose, text: string, all: string) => void,
  ][] = [
    [
      'a stale Proof is landed_proof_stale',
      commit => envelope(bend(landedPayload(commit), copy => delete copy.acceptance.authority)),
      (data, text) => {
        assert.match(data.landed_proof_stale.reason, /authority/)
        assert.match(text, /stale: no settled landing authority/)
      },
    ],
    [
      'an unknown format is landed_proof_unsupported, never missing',
      commit => envelope(payload(commit), { payloadType: 'https://example.invalid/v2' }),
      (data, text) => {
        assert.equal(data.landed_proof_unsupported.format, 'https://example.invalid/v2')
        assert.match(text, /format that is not supported here: https:\/\/example\.invalid\/v2/)
      },
    ],
    [
      'a Proof of another commit is named as such',
      () => envelope(payload('f'.repeat(40))),
      (_data, _text, all) => assert.match(all, /bound to another commit, f{40}/),
    ],
    ['broken text is malformed', () => 'x', (_data, _text, all) => assert.match(all, /malformed: not one JSON object/)],
    [
      'control characters of a note never reach the terminal',
      commit =>
        envelope(
          bend(landedPayload(commit), copy => {
            copy.proof.branch = 'x\u001b[31mred\u202e'
            copy.presentation.markdown = 'a\u001b]0;title\u0007b\n'
          }),
        ),
      (data, text) => {
        assert.equal(data.landed_proof.proof.branch, 'x\u001b[31mred\u202e', 'JSON has its own escapes')
        assert.match(text, /x\\x1b\[31mred\\u202e/)
        assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u202e]/)
      },
    ],
  ]
  for (const [name, text, check] of rows) {
    it(name, async t => {
      const s = scratch(t)
      project(s)
      const commit = s.git('r', 'rev-parse', 'HEAD')
      plant(s, commit, text(commit))
      const json = await s.discern('r', ['status', '--json'])
      const plain = await s.discern('r', ['status', '--verbose'])
      assert.equal(json.exit, 0)
      if (!name.startsWith('control')) assert.equal(json.data.landed_proof, undefined)
      check(json.data, plain.out, json.out)
    })
  }

  it('reports two different Proofs of one commit with both blobs until someone decides, and adopts the rest', async t => {
    const s = scratch(t)
    project(s)
    s.git('.', 'clone', '-q', '--bare', 'r', 'hub.git')
    for (const name of ['a', 'b']) {
      s.git('.', 'clone', '-q', 'hub.git', name)
      s.launch(name, ['setup'])
      change(s, name, 'feat', { g: '2\n' })
    }
    const commit = await land(s, 'a')
    assert.equal(s.git('b', 'rev-parse', 'HEAD'), commit, 'the same change is the same commit')
    await land(s, 'b')
    s.git('a', 'push', '-q', 'origin', 'main', 'refs/notes/discern')
    s.git('b', 'fetch', '-q')
    const blobs = ['a', 'b'].map(name => s.git(name, 'notes', '--ref=discern', 'list', commit))
    assert.notEqual(blobs[0], blobs[1])
    const status = await s.discern('b', ['status', '--json'])
    assert.deepEqual(status.data.conflicts, [
      { subject: commit, local: [blobs[1]], remote: [blobs[0]], ref: 'refs/discern/remotes/origin/notes' },
    ])
    assert.notEqual(s.tryGit('b', 'push', 'origin', 'refs/notes/discern').exit, 0, 'git refuses the push')
    const resolved = await s.discern('b', ['notes', 'resolve', commit, '--keep', 'remote', '--json'])
    assert.equal(resolved.result.ok, true, resolved.out)
    assert.equal(s.git('b', 'notes', '--ref=discern', 'list', commit), blobs[0])
    s.git('b', 'push', '-q', 'origin', 'refs/notes/discern')
    assert.deepEqual((await s.discern('b', ['status', '--json'])).data.conflicts, [])
  })
})
