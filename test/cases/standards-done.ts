/** Standards in the gate and in a landing: measured by `done`, shown by the Proof, loosened only with the owner's exact approval. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { violations } from '../../src/store/schema.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'
import { commitValue, runs, STANDARDS, standardProject } from '../support/standards.ts'

const done = (s: Scratch, ...args: string[]) => s.discern('r', ['done', '--json', ...args])
const accept = (s: Scratch, ...args: string[]) => s.discern('r', ['accept', '--json', ...args])
const marker = (s: Scratch): Loose => JSON.parse(s.read('r/.git/discern/gate-proof')).proof
const receipt = ({ claim }: Loose, id: string): Loose =>
  claim.completion.validation.receipts.find(({ requirement }: Loose) => requirement === id)

describe('a standard in done', () => {
  it('is measured beside the tests, has a reading in its receipt, and stands on line and page', async t => {
    const s = scratch(t)
    standardProject(s)
    commitValue(s, 85)
    const run = await done(s)
    assert.equal(run.result.ok, true, run.out)
    assert.deepEqual(
      run.result.steps?.map(({ kind, label, outcome, note }) => [kind, label, outcome, note]),
      [
        ['merge-check', 'contains the trunk', 'ok', undefined],
        ['job', 'test', 'ok', undefined],
        ['standard', 'standard cov', 'ok', '85, at least 80: improved'],
      ],
    )
    const proof = marker(s)
    assert.deepEqual([receipt(proof, 'discern-standard-cov').reading, receipt(proof, 'test').reading], [85, null])
    assert.match(proof.line, / · standards: held, 1 improved · /)
    assert.match(
      proof.markdown,
      /## Standards\n\nThe limits were compared with those of the trunk\.\n\n- `cov`: 85, at least 80: improved\n/,
    )
    const landed = await accept(s, '--confirmed')
    assert.equal(landed.result.ok, true, landed.out)
  })

  it('fails the gate when its value misses the limit or cannot be had, and the next one is measured', async t => {
    const s = scratch(t)
    standardProject(s)
    for (const [value, message] of [
      [79, /79, at least 80: breached/],
      ['many', /expected a number, found "many"/],
    ] as const) {
      commitValue(s, value)
      const run = await done(s)
      assert.deepEqual([run.result.error, run.data.failed_stage], ['gate_failed', 'standards'], run.out)
      const [finding] = run.result.diagnostics ?? []
      assert.match(finding?.message ?? '', message)
      assert.equal(finding?.reproduce_cmd, 'git discern standards cov --force')
      assert.throws(() => marker(s))
    }
    commitValue(s, 80)
    assert.equal((await done(s)).result.ok, true)
  })

  it('is not measured again while its inputs are the same, and then still has its reading', async t => {
    const s = scratch(t)
    standardProject(s)
    commitValue(s, 85)
    await done(s)
    assert.equal(runs(s), 1)
    s.write('r/other', '1')
    s.commit('r', 'unrelated')
    const again = await done(s)
    assert.equal(again.result.ok, true, again.out)
    assert.equal(runs(s), 1)
    assert.equal(receipt(marker(s), 'discern-standard-cov').reading, 85)
    assert.match(
      String(again.result.steps?.at(-1)?.note),
      /^85, at least 80: improved, same inputs as at [0-9a-f]{12}$/,
    )
    await done(s, '--rerun')
    assert.equal(runs(s), 2)
  })

  it('divides by the size of files as they are at this commit, also when it is not measured again', async t => {
    const s = scratch(t)
    standardProject(s, STANDARDS.replace('limit = 80 # percent', 'limit = 1\nper = { files = ["src/**"] }'))
    s.write('r/src/a', '')
    s.write('r/src/b', '')
    commitValue(s, 80)
    await done(s)
    assert.equal(receipt(marker(s), 'discern-standard-cov').reading, 40)
    s.write('r/src/c', '')
    s.write('r/src/d', '')
    s.commit('r', 'more files')
    const again = await done(s)
    assert.equal(again.result.ok, true, again.out)
    assert.equal(runs(s), 1)
    assert.equal(receipt(marker(s), 'discern-standard-cov').reading, 20)
  })

  it('reads the output of the job that prints the metric', async t => {
    const s = scratch(t)
    standardProject(
      s,
      STANDARDS.replace('run = "sh measure.sh"', 'producer = "test"').replace('sh test.sh', 'sh measure.sh'),
    )
    commitValue(s, 81)
    const run = await done(s)
    assert.equal(run.result.ok, true, run.out)
    assert.equal(receipt(marker(s), 'discern-standard-cov').reading, 81)
    const dry = await done(s, '--dry-run')
    assert.equal(dry.result.plan?.at(-1)?.note, 'read from test')
  })

  it('may not be weakened or deleted by the branch, whatever it measures', async t => {
    const s = scratch(t)
    standardProject(s)
    for (const [config, message] of [
      [STANDARDS.replace('limit = 80', 'limit = 70'), /its limit was loosened from 80 to 70/],
      [
        STANDARDS.replace('direction = "up"', 'direction = "down"').replace('limit = 80', 'limit = 99'),
        /its direction was changed/,
      ],
      [STANDARDS.slice(0, STANDARDS.indexOf('[standards.cov]')), /it was deleted/],
    ] as const) {
      s.write('r/discern.toml', config)
      commitValue(s, 90)
      const run = await done(s)
      assert.deepEqual(
        [run.result.error, run.data.failed_stage, run.data.gate_ran],
        ['precondition_failed', 'standards', false],
      )
      assert.match(String(run.result.message), message)
    }
    assert.equal(runs(s), 0)
  })
})

const REASON = 'the old parser had most of the tests'

describe('a proposed limit', () => {
  const proposed = async (s: Scratch): Promise<string> => {
    standardProject(s)
    commitValue(s, 75)
    const run = await s.discern('r', ['standards', 'propose', 'cov', '--reason', REASON, '--json'])
    assert.equal(run.result.ok, true, run.out)
    assert.equal((await done(s)).result.ok, true)
    return run.data.proposal.token
  }

  it('travels in the Proof, lands only with its own token, and is in the note of another clone', async t => {
    const s = scratch(t)
    const token = await proposed(s)
    const proof = marker(s)
    assert.match(proof.line, /proposal: `cov` 80 → 75, awaiting exact owner approval/)
    assert.ok(proof.markdown.indexOf('## Proposed limits') < proof.markdown.indexOf('## Standards'))
    const before = s.git('r', 'rev-parse', 'main')
    await s.discern('r', ['grant', '--confirmed', '--json'])
    for (const args of [
      [],
      ['--confirmed'],
      ['--confirmed', '--approve-standard', '0'.repeat(64)],
      ['--confirmed', '--approve-standard', token, '--approve-standard', '0'.repeat(64)],
    ]) {
      const refused = await accept(s, ...args)
      assert.equal(refused.result.error, 'awaiting_standard_approval', args.join(' '))
      assert.match(String(refused.result.hints), new RegExp(token))
    }
    assert.equal((await accept(s, '--approve-standard', token)).result.error, 'awaiting_consent', 'a grant covers none')
    assert.equal(s.git('r', 'rev-parse', 'main'), before)
    const landed = await accept(s, '--confirmed', '--approve-standard', token)
    assert.equal(landed.result.ok, true, landed.out)
    s.git('.', 'clone', '-q', '-b', 'main', 'r', 'clone')
    s.git('clone', 'fetch', '-q', 'origin', 'refs/notes/discern:refs/notes/discern')
    const note = JSON.parse(s.git('clone', 'notes', '--ref=discern', 'show', 'HEAD'))
    const payload = JSON.parse(Buffer.from(note.payload, 'base64').toString('utf8'))
    const [proposal] = payload.acceptance.standard_proposals
    assert.deepEqual(payload.proof.standard_proposals, payload.acceptance.standard_proposals)
    assert.deepEqual(
      [
        proposal.standard,
        proposal.trunk_limit,
        proposal.proposed_limit,
        proposal.measurement,
        proposal.delta,
        proposal.reason,
      ],
      ['cov', 80, 75, 75, -5, REASON],
    )
    assert.equal(proposal.commit, s.git('r', 'rev-parse', 'feat'))
    assert.equal(proposal.measured_commit, s.git('r', 'rev-parse', 'feat~1'))
    assert.deepEqual(proposal.evidence_paths, ['value'])
    assert.match(payload.presentation.line, /80 → 75, approved by the owner/)
    const read = await s.discern('clone', ['status', '--verbose', '--json'])
    assert.equal(read.data.landed_proof.commit, s.git('r', 'rev-parse', 'main'))
  })

  it('lands together with a variance, both are in the note of another clone, and the branch goes on afterwards', async t => {
    const s = scratch(t)
    const POLICY = '[checkpoints.why]\npaths = ["value"]\nquestion = "?"\n'
    standardProject(s, `${STANDARDS}${POLICY}`)
    commitValue(s, 75)
    const { token } = (await s.discern('r', ['standards', 'propose', 'cov', '--reason', REASON, '--json'])).data
      .proposal
    await done(s)
    assert.equal((await done(s, '--unmet', 'why', '--why', 'no time')).result.ok, true)
    const landed = await accept(s, '--confirmed', '--variance', 'why', '--approve-standard', token)
    assert.equal(landed.result.ok, true, landed.out)
    s.git('.', 'clone', '-q', '-b', 'main', 'r', 'clone')
    s.git('clone', 'fetch', '-q', 'origin', 'refs/notes/discern:refs/notes/discern')
    const envelope = JSON.parse(s.git('clone', 'notes', '--ref=discern', 'show', 'HEAD'))
    assert.deepEqual(violations('discern-proof-note', envelope), [])
    const payload = JSON.parse(Buffer.from(envelope.payload, 'base64').toString('utf8'))
    assert.deepEqual(violations('discern-proof-payload', payload), [])
    const { acceptance } = payload
    assert.deepEqual(
      acceptance.variances.map(({ checkpoint, why }: Loose) => [checkpoint, why]),
      [['why', 'no time']],
    )
    assert.deepEqual(
      acceptance.standard_proposals.map(({ standard, proposed_limit, reason }: Loose) => [
        standard,
        proposed_limit,
        reason,
      ]),
      [['cov', 75, REASON]],
    )
    const read = await s.discern('clone', ['status', '--verbose', '--json'])
    assert.equal(read.data.landed_proof.commit, s.git('r', 'rev-parse', 'main'), read.out)
    s.write('r/other', '1')
    s.commit('r', 'goes on')
    // The trunk advanced on what the question is about, so it is asked again; the limit is the trunk's own by now.
    const next = await done(s, '--met', 'why')
    assert.equal(next.result.ok, true, next.out)
    assert.equal(marker(s).claim.standard_proposals, undefined)
    assert.equal((await accept(s, '--confirmed')).result.ok, true)
  })

  it('must be true of what is finished: another value needs another proposal', async t => {
    const s = scratch(t)
    const token = await proposed(s)
    s.write('r/other', '1')
    s.commit('r', 'unrelated')
    assert.equal((await done(s)).result.ok, true)
    assert.equal(marker(s).claim.standard_proposals[0].bound_commit, s.git('r', 'rev-parse', 'HEAD'))
    commitValue(s, 76)
    const run = await done(s)
    assert.deepEqual([run.result.error, run.data.failed_stage], ['precondition_failed', 'standards'], run.out)
    assert.match(String(run.result.message), /76 was measured, and 75 is proposed/)
    assert.match(String(run.result.hints), /git discern standards propose cov/)
    assert.equal((await accept(s, '--confirmed', '--approve-standard', token)).result.ok, false)
  })

  it('is ended by done when it was killed between the branch and its files', async t => {
    const s = scratch(t)
    standardProject(s)
    commitValue(s, 75)
    await s.discern('r', ['standards', 'propose', 'cov', '--reason', REASON, '--json'])
    const head = s.git('r', 'rev-parse', 'HEAD')
    const {
      openQuestions: _none,
      branches,
      ...rest
    } = JSON.parse(s.read('r/.git/discern/standard-limit-proposals.json'))
    const proposals = branches['refs/heads/feat'].proposals
    assert.deepEqual(Object.keys(rest), ['version'])
    s.sh('r', 'rm .git/discern/standard-limit-proposals.json')
    s.git('r', 'restore', '--source=HEAD~1', '--staged', '--worktree', 'discern.toml')
    const journal = {
      version: 1,
      branch: 'refs/heads/feat',
      expected: s.git('r', 'rev-parse', 'HEAD~1'),
      target: head,
      proposals,
    }
    s.write('r/.git/discern/standard-limit-proposal-transaction.json', JSON.stringify(journal))
    const run = await done(s)
    assert.equal(run.result.ok, true, run.out)
    assert.equal(s.git('r', 'status', '--porcelain'), '')
    assert.equal(marker(s).claim.standard_proposals.length, 1)
  })
})
