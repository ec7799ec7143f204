import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { ProofPayload } from '../../src/proof/claim.ts'
import {
  claimIdentity,
  decodeBase64,
  encodeEnvelope,
  PAYLOAD_TYPE,
  pae,
  readEnvelope,
  sameClaim,
} from '../../src/proof/envelope.ts'
import { COMMIT, landedPayload, payload } from '../support/payload.ts'

const envelopeOf = (claim: unknown, members: object = {}): Buffer =>
  Buffer.from(
    `${JSON.stringify({
      payloadType: PAYLOAD_TYPE,
      payload: Buffer.from(JSON.stringify(claim)).toString('base64'),
      signatures: [],
      ...members,
    })}\n`,
  )

const read = (claim: unknown, members: object = {}) => readEnvelope(envelopeOf(claim, members), COMMIT)

/** JSON that a test bends on purpose. */
// biome-ignore lint/suspicious/noExplicitAny: the point is to leave the type
type Copy = Record<string, any>

/** A copy with one member replaced or, for `undefined`, removed. */
const change = (source: ProofPayload, edit: (copy: Copy) => void): unknown => {
  const copy = JSON.parse(JSON.stringify(source))
  edit(copy)
  return copy
}

describe('the DSSE envelope', () => {
  it('authenticates the example of DSSE protocol v1.0.2 byte for byte', () => {
    assert.equal(
      pae('http://example.com/HelloWorld', Buffer.from('hello world')).toString('latin1'),
      'DSSEv1 29 http://example.com/HelloWorld 11 hello world',
    )
  })

  it('counts bytes, not characters, in a payload type that is not ASCII', () => {
    assert.equal(pae('é', Buffer.from([0, 255])).toString('hex'), `${Buffer.from('DSSEv1 2 é 2 ').toString('hex')}00ff`)
  })

  it('is one JSON line with members in the order payloadType, payload, signatures', () => {
    const body = encodeEnvelope(payload())
    assert.match(
      body,
      /^\{"payloadType":"https:\/\/discern\.sh\/schema\/v1\/discern-proof-note\.schema\.json#\/\$defs\/DiscernProofNotePayload","payload":"[A-Za-z0-9+/]+=*","signatures":\[\]\}\n$/,
    )
    const decoded = Buffer.from(JSON.parse(body).payload, 'base64').toString('utf8')
    assert.match(decoded, /^\{"subject":\{.*\},"proof":\{.*\},"presentation":\{.*\}\}$/)
    assert.match(
      Buffer.from(JSON.parse(encodeEnvelope(landedPayload())).payload, 'base64').toString('utf8'),
      /"presentation":\{.*\},"acceptance":\{/,
    )
  })

  it('refuses to write a payload that breaks its contract', () => {
    const broken = change(payload(), copy => delete copy['proof'].completion) as ProofPayload
    assert.throws(() => encodeEnvelope(broken), /discern-proof-payload.*completion/)
  })

  it('reads back what it wrote', () => {
    const result = readEnvelope(Buffer.from(encodeEnvelope(landedPayload())), COMMIT)
    assert.equal(result.kind, 'proof')
    assert.deepEqual(result.kind === 'proof' && result.payload, landedPayload())
  })
})

describe('Base64 of a payload', () => {
  it('reads both alphabets, padded or not', () => {
    for (const text of ['+/8=', '+/8', '-_8=', '-_8']) assert.equal(decodeBase64(text)?.toString('hex'), 'fbff')
  })

  it('rejects mixed alphabets, wrong padding, stray characters and stray bits', () => {
    for (const text of ['+_8=', '+/8==', '+/8 ', '+/9=', 'A', '=', 'AA=A', 'Zm9v=']) {
      assert.equal(decodeBase64(text), undefined, text)
    }
  })

  it('accepts every encoding of every byte string and nothing else of the same bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), bytes => {
        const buffer = Buffer.from(bytes)
        const standard = buffer.toString('base64')
        const url = buffer.toString('base64url')
        for (const text of [standard, standard.replace(/=+$/, ''), url]) {
          assert.deepEqual(decodeBase64(text), buffer)
        }
        assert.equal(decodeBase64(`${url}*`), undefined)
      }),
    )
  })
})

describe('reading a note', () => {
  const rows: readonly [name: string, found: ReturnType<typeof read>, kind: string, detail?: RegExp][] = [
    ['a complete Proof is a proof', read(payload()), 'proof'],
    ['a landed Proof with settled authority is a proof', read(landedPayload()), 'proof'],
    [
      'additive fields are accepted everywhere',
      read(
        change(landedPayload(), copy => {
          copy['later'] = 1
          copy['proof'].later = 1
          copy['acceptance'].authority.later = 1
        }),
        { later: true },
      ),
      'proof',
    ],
    [
      'an unknown payload type is unsupported, never missing',
      read(payload(), { payloadType: 'https://example.invalid/v9' }),
      'unsupported',
      /v9/,
    ],
    [
      'a note without signatures is malformed',
      readEnvelope(Buffer.from(JSON.stringify({ payloadType: PAYLOAD_TYPE, payload: 'e30=' })), COMMIT),
      'malformed',
      /signatures/,
    ],
    ['a signed envelope is readable', read(payload(), { signatures: [{ sig: 'AA==', keyid: 'k' }] }), 'proof'],
    [
      'a retired bare claim is malformed',
      readEnvelope(Buffer.from(JSON.stringify({ branch: 'x', head: 'y' })), COMMIT),
      'malformed',
      /payloadType/,
    ],
    [
      'two envelopes in one blob are malformed (cases 17, 28)',
      readEnvelope(Buffer.concat([envelopeOf(payload()), Buffer.from('\n'), envelopeOf(payload())]), COMMIT),
      'malformed',
      /JSON/,
    ],
    [
      'bytes that are not UTF-8 are malformed',
      readEnvelope(Buffer.from([0x7b, 0xff, 0x7d]), COMMIT),
      'malformed',
      /UTF-8/,
    ],
    ['a payload that is not Base64 is malformed', read({}, { payload: '+_8=' }), 'malformed', /Base64/],
    [
      'a Proof of another commit is foreign (case 17)',
      read(
        change(payload(), copy => {
          copy['subject'].commit = 'e'.repeat(40)
        }),
      ),
      'foreign',
      /e{40}/,
    ],
    [
      'a head that does not abbreviate the commit is foreign',
      read(
        change(payload(), copy => {
          copy['proof'].head = 'eeeeeeeeeeee'
        }),
      ),
      'foreign',
    ],
    [
      'a subject of the other object format is unsupported (case 61)',
      read(
        change(payload(), copy => {
          copy['subject'].commit = 'a'.repeat(64)
        }),
      ),
      'unsupported',
      /object format/,
    ],
    [
      'a Proof without completion is stale',
      read(change(payload(), copy => delete copy['proof'].completion)),
      'stale',
      /evidence/,
    ],
    [
      'an acceptance without authority is stale',
      read(change(landedPayload(), copy => delete copy['acceptance'].authority)),
      'stale',
      /authority/,
    ],
    [
      'an acceptance without variances is malformed',
      read(change(landedPayload(), copy => delete copy['acceptance'].variances)),
      'malformed',
      /variances/,
    ],
    [
      'authority that was not consumed is malformed',
      read(
        change(landedPayload(), copy => {
          copy['acceptance'].authority.authority.state = { kind: 'granted' }
        }),
      ),
      'malformed',
      /settled/,
    ],
    [
      'authority that another landing consumed is malformed',
      read(
        change(landedPayload(), copy => {
          copy['acceptance'].authority.authority.state.landing_id = '00000000-0000-4000-8000-00000000000f'
        }),
      ),
      'malformed',
      /settled/,
    ],
    [
      'an empty head is malformed',
      read(
        change(payload(), copy => {
          copy['proof'].head = ''
        }),
      ),
      'malformed',
      /head/,
    ],
    [
      'an unknown mode is malformed: the vocabulary is closed',
      read(
        change(payload(), copy => {
          copy['proof'].mode = 'casual'
        }),
      ),
      'malformed',
      /mode/,
    ],
    [
      'an unknown drop reason is kept: the vocabulary is open',
      read(
        change(payload(), copy => {
          copy['proof'].checkpoint_drops = [
            { scope: 'policy', checkpoint: null, mode: null, reason: 'invented_later', account: 'x' },
          ]
        }),
      ),
      'proof',
    ],
    [
      'a proposal without bound_commit is malformed',
      read(
        change(payload(), copy => {
          copy['proof'].standard_proposals = [{ standard: 'size' }]
        }),
      ),
      'malformed',
    ],
    [
      'a report is readable but never with an acceptance',
      read(
        change(landedPayload(), copy => {
          copy['proof'].mode = 'report'
          copy['proof'].completion.validation.mode = 'report'
        }),
      ),
      'malformed',
      /report/,
    ],
  ]
  for (const [name, found, kind, detail] of rows) {
    it(name, () => {
      assert.equal(found.kind, kind, JSON.stringify(found))
      if (detail) assert.match(JSON.stringify(found), detail)
    })
  }

  const invariants: readonly [string, (completion: Copy) => void][] = [
    [
      'policy of candidate and validation differ',
      c => {
        c['validation'].policy = 'f'.repeat(64)
      },
    ],
    [
      'a component stands twice',
      c => {
        c['components'].push(c['components'][0])
      },
    ],
    [
      'an executor is not listed',
      c => {
        c['executors'][0].operation_id = '00000000-0000-4000-8000-0000000000ff'
      },
    ],
    [
      'an attempt is unfinished',
      c => {
        c['attempts'][0].state = {
          kind: 'claimed',
          claim: { token: c['proof_id'], executor: c['proof_id'], acquired_at: 1, expires_at: 2 },
        }
      },
    ],
    [
      'a component has another sequence',
      c => {
        c['components'][0].evidence.sequence = 9
      },
    ],
    [
      'a requirement has no receipt',
      c => {
        c['validation'].receipts.pop()
      },
    ],
    [
      'a receipt points to failed evidence',
      c => {
        c['components'][0].evidence.outcome = { kind: 'failed', reason: 'exit 1' }
      },
    ],
    [
      'a job has a reading',
      c => {
        c['validation'].receipts[0].reading = 1
      },
    ],
    [
      'a standard has no reading',
      c => {
        c['validation'].requirements[0].kind = 'standard'
      },
    ],
    [
      'the candidate is another commit',
      c => {
        c['candidate'].head = 'e'.repeat(40)
        c['validation'].head = 'e'.repeat(40)
      },
    ],
  ]
  for (const [name, edit] of invariants) {
    it(`is no complete Proof when ${name} (facts 8.5)`, () => {
      assert.equal(read(change(payload(), copy => edit(copy['proof'].completion))).kind, 'malformed')
    })
  }

  it('never throws, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), bytes => {
        assert.equal(readEnvelope(bytes, COMMIT).kind, 'malformed')
      }),
    )
    fc.assert(
      fc.property(fc.json(), text => {
        assert.ok(['malformed', 'foreign'].includes(read(JSON.parse(text)).kind))
      }),
    )
  })
})

describe('write identity', () => {
  it('is subject and canonical claim: order of members, presentation and acceptance do not count', () => {
    const reordered = change(payload(), copy => {
      copy['proof'] = Object.fromEntries(Object.entries(copy['proof']).reverse())
      copy['presentation'] = { line: 'other', markdown: 'other' }
    })
    assert.equal(sameClaim(envelopeOf(payload()), envelopeOf(reordered)), true)
    assert.equal(sameClaim(envelopeOf(payload()), envelopeOf(landedPayload())), true)
  })

  it('differs with any claim field and with the subject', () => {
    for (const edit of [
      (copy: Copy) => {
        copy['proof'].insertions += 1
      },
      (copy: Copy) => {
        copy['subject'].commit = 'e'.repeat(40)
      },
      (copy: Copy) => {
        copy['proof'].later = 1
      },
    ]) {
      assert.equal(sameClaim(envelopeOf(payload()), envelopeOf(change(payload(), edit))), false)
    }
  })

  it('does not exist for unreadable bytes, not even equal ones', () => {
    assert.equal(claimIdentity(Buffer.from('x')), undefined)
    assert.equal(sameClaim(Buffer.from('x'), Buffer.from('x')), false)
  })

  it('is the RFC 8785 text of subject and proof', () => {
    const identity = claimIdentity(
      envelopeOf({ subject: { commit: 'c' }, proof: { b: 1.5, a: 'é' }, presentation: {} }),
    )
    assert.equal(identity, '["c",{"a":"é","b":1.5}]')
    assert.equal(
      createHash('sha256')
        .update(identity ?? '')
        .digest('hex').length,
      64,
    )
  })
})
