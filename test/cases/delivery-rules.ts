/** The rules of a delivery, row by row: what leads where, what a stage has to show, and what is said when it does not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeliveryRecord } from '../../src/delivery/record.ts'
import { STATES } from '../../src/delivery/stage.ts'
import { advance } from '../../src/delivery/standing.ts'
import {
  ARROWS,
  CHECKPOINTS,
  type Deed,
  decide,
  draw,
  evidenceOf,
  grow,
  legalWords,
  lineTo,
  OTHER_SOURCE,
  SOURCE,
  sha256,
  stages,
  TABLE,
} from '../support/delivery-line.ts'
import { fold, refusal } from '../support/delivery-standing.ts'

test('exactly the arrows of the document lead from a state to another, each by its own deed', () => {
  const drawn = [
    'DISCOVERED -> PLANNED',
    'PLANNED -> IMPLEMENTING',
    'IMPLEMENTING -> VERIFYING',
    'VERIFYING -> CANDIDATE',
    'IMPLEMENTING -> BLOCKED',
    'VERIFYING -> BLOCKED',
    'BLOCKED -> IMPLEMENTING',
    'CANDIDATE -> HUMAN_ACCEPTED',
    'HUMAN_ACCEPTED -> RELEASED',
    'CANDIDATE -> REJECTED',
    'REJECTED -> IMPLEMENTING',
    'RELEASED -> ROLLED_BACK',
    'ROLLED_BACK -> VERIFYING',
  ]
  const found = new Set<string>()
  for (const from of STATES) {
    // With every stage of the way, so that only the state decides.
    const line = from === 'VERIFYING' ? grow(lineTo(from), ...stages('CP3', 'CP4')) : lineTo(from)
    const standing = fold(line)
    for (const to of STATES) {
      const deeds: Deed[] = [
        { kind: 'move', to },
        ...CHECKPOINTS.filter(id => TABLE[id].to === to).map(id => ({ kind: 'stage', id }) as const),
        ...(to === 'RELEASED' ? [{ kind: 'promote' } as const] : []),
      ]
      for (const deed of deeds) {
        const problem = refusal(standing, draw(line, deed))
        if (problem === undefined && from !== to) found.add(`${from} -> ${to}`)
        if (deed.kind !== 'move') continue
        const promotion = from === 'HUMAN_ACCEPTED' && to === 'RELEASED'
        assert.equal(
          problem === undefined,
          promotion || ARROWS.some(([one, other]) => one === from && other === to),
          `${from} -> ${to}: ${problem}`,
        )
        for (const word of problem === undefined ? [] : legalWords(line)) assert.ok(problem?.includes(word), problem)
      }
    }
  }
  assert.deepEqual([...found].sort(), drawn.sort())
})

test('a stage is recorded only from its own state, and the refusal names what is legal instead', () => {
  for (const state of STATES) {
    const line = lineTo(state)
    const standing = fold(line)
    for (const id of CHECKPOINTS.filter(one => TABLE[one].from !== state)) {
      const problem = refusal(standing, draw(line, { kind: 'stage', id }))
      assert.match(problem ?? '', new RegExp(`^${id} is recorded from ${TABLE[id].from}, and this is ${state}: `))
      for (const word of legalWords(line)) assert.ok(problem?.includes(word), problem)
    }
  }
})

test('a stage needs a valid record of every stage before it', () => {
  const line = lineTo('VERIFYING')
  for (const [id, missing] of [
    ['CP4', 'CP3'],
    ['CP5', 'CP3'],
  ] as const) {
    assert.match(
      refusal(fold(line), draw(line, { kind: 'stage', id })) ?? '',
      new RegExp(`^${id} needs a valid ${missing} .*record CP3.*go to BLOCKED`),
    )
  }
  const again = grow(line, ...stages('CP3', 'CP4', 'CP3'))
  assert.match(refusal(fold(again), draw(again, { kind: 'stage', id: 'CP5' })) ?? '', /^CP5 needs a valid CP4 /)
})

for (const id of CHECKPOINTS) {
  const { from, to, hard, soft } = TABLE[id]
  const line = grow(lineTo(from), ...(id === 'CP4' ? stages('CP3') : id === 'CP5' ? stages('CP3', 'CP4') : []))
  const attempt = (over: Partial<DeliveryRecord>): string | undefined =>
    refusal(fold(line), draw(line, { kind: 'stage', id }, over))

  test(`${id} is complete with all of its parts, names each that is missing, and takes no other`, () => {
    const all = evidenceOf(id)
    assert.equal(attempt({}), undefined)
    for (const part of [...hard, ...soft]) {
      const problem = attempt({ evidence: all.filter(one => one.part !== part) })
      assert.match(problem ?? '', new RegExp(`^${id} lacks ${part} \\(`))
    }
    const bare = attempt({ evidence: [] })
    for (const part of [...hard, ...soft]) assert.ok(bare?.includes(`${part} (`), bare)
    const stray = attempt({ evidence: [...all, { part: 'luck', kind: 'digest', sha256: sha256('') }] })
    assert.match(stray ?? '', new RegExp(`^${id} has no part luck; its parts are `))
    for (const part of [...hard, ...soft]) assert.ok(stray?.includes(part), stray)
  })

  test(`${id} takes a sentence only for ${soft.join(', ') || 'nothing'}`, () => {
    const all = evidenceOf(id)
    for (const part of hard) {
      const sentence = { part, kind: 'statement', text: 'it was fine' } as const
      const expected = `${part} of ${id} is a statement, and needs a hash or an object id`
      assert.equal(attempt({ evidence: all.map(one => (one.part === part ? sentence : one)) }), expected)
      assert.equal(attempt({ evidence: [...all, sentence] }), expected, 'nor beside a hash')
      const object = { part, kind: 'git', oid: SOURCE } as const
      assert.equal(attempt({ evidence: all.map(one => (one.part === part ? object : one)) }), undefined)
    }
  })

  test(`${id} leads to ${to} and nowhere else, and is not recorded while something blocks`, () => {
    for (const state of STATES.filter(one => one !== to)) {
      assert.equal(attempt({ state }), `${id} leads to ${to}, not ${state}`)
    }
    assert.equal(attempt({ blockers: ['the sky'] }), `${id} is not complete while something blocks: the sky`)
  })
}

test('CP6 needs the word of an accountable owner, and is for the source and corpus that were sealed', () => {
  const line = lineTo('CANDIDATE')
  const standing = fold(line)
  const { acceptedBy: _, ...silent } = draw(line, { kind: 'stage', id: 'CP6' })
  assert.equal(refusal(standing, silent), 'CP6 needs the word of an accountable owner')
  for (const acceptedBy of ['conversation', 'terminal', 'protected-environment'] as const) {
    assert.equal(refusal(standing, { ...silent, acceptedBy }), undefined)
  }
  for (const other of [{ sourceCommit: OTHER_SOURCE }, { corpusRevision: 'corpus-2' }]) {
    const problem = refusal(standing, draw(line, { kind: 'stage', id: 'CP6' }, other))
    assert.match(problem ?? '', /^CP6 is for .*, and the delivery is for aaaaaaaaaaaa with corpus corpus-1$/)
  }
})

test('a move needs a reason, BLOCKED says what blocks, and what is released keeps its source', () => {
  const line = lineTo('VERIFYING')
  const { reason: _, ...silent } = draw(line, { kind: 'move', to: 'BLOCKED' })
  assert.equal(refusal(fold(line), silent), 'the move to BLOCKED needs a reason')
  const empty = draw(line, { kind: 'move', to: 'BLOCKED' }, { blockers: [] })
  assert.equal(refusal(fold(line), empty), 'BLOCKED needs to say what blocks')
  for (const state of ['RELEASED', 'ROLLED_BACK'] as const) {
    const released = lineTo(state)
    const other = draw(released, { kind: 'source', source: OTHER_SOURCE }, { state: 'IMPLEMENTING' })
    assert.match(refusal(fold(released), other) ?? '', /another source is another delivery$/)
  }
})

test('a delivery starts as DISCOVERED with generation 1, and generations have no gap and no twin', () => {
  const first = draw([], { kind: 'start', source: SOURCE })
  assert.equal(refusal(undefined, first), undefined)
  assert.match(refusal(undefined, { ...first, generation: 2 }) ?? '', /^the first generation is 1/)
  assert.match(refusal(undefined, { ...first, previous: `sha256:${sha256('')}` }) ?? '', /follows nothing/)
  for (const state of STATES.slice(1)) {
    assert.equal(refusal(undefined, { ...first, state }), 'a delivery starts as DISCOVERED')
  }
  const line = lineTo('PLANNED')
  for (const generation of [1, 2, 4]) {
    const record = draw(line, { kind: 'stage', id: 'CP1' }, { generation })
    assert.equal(refusal(fold(line), record), `generation ${generation} does not follow generation 2`)
  }
})

test('a changed source or corpus takes away CP2 and what follows, whatever the state, and never CP0 and CP1', () => {
  const changes: readonly Deed[] = [
    { kind: 'source', source: OTHER_SOURCE, corpus: 'corpus-1' },
    { kind: 'source', source: SOURCE, corpus: 'corpus-2' },
    { kind: 'source', source: SOURCE },
  ]
  for (const state of STATES.filter(one => one !== 'RELEASED' && one !== 'ROLLED_BACK')) {
    const line = lineTo(state)
    const had = [...fold(line).valid.keys()]
    for (const change of changes) {
      const standing = fold(grow(line, change))
      assert.deepEqual(
        [...standing.valid.keys()],
        had.filter(id => id === 'CP0' || id === 'CP1'),
      )
      assert.deepEqual(
        standing.invalidated.map(({ checkpoint, by }) => [checkpoint, by.generation]),
        had.filter(id => id !== 'CP0' && id !== 'CP1').map(id => [id, line.length + 1]),
      )
      const reached = had.includes('CP1') ? 'IMPLEMENTING' : had.includes('CP0') ? 'PLANNED' : 'DISCOVERED'
      assert.equal(standing.state, reached)
      for (const claimed of STATES.filter(one => one !== reached)) {
        const problem = refusal(fold(line), draw(line, change, { state: claimed }))
        assert.equal(problem, `a changed source leaves the delivery ${reached}, not ${claimed}`)
      }
    }
  }
})

test('a decision between two sides is above both, has a reason, and moves nothing on the side it keeps', () => {
  const kept = lineTo('BLOCKED')
  const other = lineTo('HUMAN_ACCEPTED')
  const before = fold(kept)
  const decided = advance(before, decide(kept, other))
  assert.ok(!('problem' in decided))
  assert.deepEqual(decided, { ...before, generation: 9 })
  const attempt = (over: Partial<DeliveryRecord>): string => refusal(before, decide(kept, other, over)) ?? ''
  for (const generation of [5, 8, 10]) {
    assert.equal(attempt({ generation }), 'a decision between generations 4 and 8 is generation 9')
  }
  const moves: readonly Partial<DeliveryRecord>[] = [
    { state: 'IMPLEMENTING' },
    { sourceCommit: OTHER_SOURCE },
    { corpusRevision: 'corpus-2' },
    { checkpoint: 'CP2' },
    { blockers: [] },
  ]
  for (const over of moves) {
    assert.equal(attempt(over), 'a decision between two sides leaves the one that it keeps as it is')
  }
  const { reason: _, ...silent } = decide(kept, other)
  assert.equal(refusal(before, silent), 'a decision between two sides needs a reason')
  const first = draw([], { kind: 'start', source: SOURCE }, { resolves: { record: 'sha256:', generation: 1 } })
  assert.equal(refusal(undefined, first), 'the first generation decides nothing')
})

test('a record whose own next moves are not those of the rules is refused', () => {
  const line = lineTo('IMPLEMENTING')
  const record = draw(line, { kind: 'stage', id: 'CP2' })
  for (const next of [
    { checkpoints: [], states: record.next.states },
    { checkpoints: record.next.checkpoints, states: [...record.next.states, 'RELEASED'] },
  ] as const) {
    assert.deepEqual(advance(fold(line), { ...record, next }), {
      problem: 'its next moves are not those that the rules allow',
    })
  }
})
