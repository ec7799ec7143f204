import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeBase64, PAYLOAD_TYPE } from '../../src/proof/envelope.ts'
import { violations } from '../../src/store/schema.ts'
import { change, hubAndClones, land, project } from '../support/project.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'

/** The parsed payload of the note on a commit, read with git alone. */
const payloadOf = (s: Scratch, cwd: string, commit: string): Loose => {
  const body = s.git(cwd, 'notes', '--ref=discern', 'show', commit)
  const envelope = JSON.parse(body)
  assert.deepEqual(violations('discern-proof-note', envelope), [])
  assert.equal(envelope.payloadType, PAYLOAD_TYPE)
  assert.deepEqual(envelope.signatures, [])
  const payload = JSON.parse(String(decodeBase64(envelope.payload)))
  assert.deepEqual(violations('discern-proof-payload', payload), [])
  return payload
}

describe('the main job', () => {
  it('proves a change in one clone and shows its Proof in the next after a plain fetch', t => {
    const s = scratch(t)
    hubAndClones(s)
    const commit = change(s, 'a', 'feat', { g: '2\n' })
    assert.match(s.launch('a', ['done']).out, /gate passed: feat at [0-9a-f]{12} \(1 file, \+1 -0 against main\)/)
    const accepted = s.launch('a', ['accept', '--confirmed'])
    assert.equal(accepted.exit, 0, accepted.err)
    assert.match(accepted.out, /landed feat on main/)
    assert.match(accepted.out, /next: git push origin main refs\/notes\/discern/)
    assert.equal(s.git('a', 'rev-parse', 'main'), commit)
    s.git('a', 'push', '-q', 'origin', 'main', 'refs/notes/discern')
    const fetch = s.tryGit('b', 'fetch')
    assert.equal(fetch.exit, 0, fetch.err)
    assert.match(s.git('b', 'notes', '--ref=discern', 'list'), new RegExp(` ${commit}$`), 'the hook merged the notes')
    const status = s.launch('b', ['status', '--json'])
    const { data } = JSON.parse(status.out)
    assert.equal(data.landed_proof.commit, commit)
    assert.equal(data.landed_proof.ref, 'refs/notes/discern')
    assert.equal(data.landed_proof.proof.branch, 'feat')
    assert.match(s.launch('b', ['status']).out, new RegExp(commit.slice(0, 12)))
    assert.match(s.launch('b', ['status', '--verbose']).out, /# Proof for `feat`/)
  })

  it('records claim, presentation and settled authority exactly as facts 8 to 11 state them', async t => {
    const s = scratch(t)
    project(s)
    const trunk = s.git('r', 'rev-parse', 'main')
    const commit = change(s, 'r', 'feat', { g: '1\n2\n', 'sub/h': 'x\n' })
    await land(s, 'r')
    const payload = payloadOf(s, 'r', commit)
    const { proof, acceptance } = payload
    const { completion } = proof
    assert.equal(payload['subject'].commit, commit)
    assert.deepEqual(
      [proof.branch, proof.trunk, proof.head, proof.files_total, proof.insertions, proof.deletions],
      ['feat', 'main', commit.slice(0, 12), 2, 3, 0],
    )
    assert.equal(completion.candidate.predecessor, trunk)
    assert.equal(completion.candidate.tree, s.git('r', 'rev-parse', `${commit}^{tree}`))
    assert.equal(completion.candidate.source.branch, 'refs/heads/feat')
    assert.deepEqual(
      completion.validation.requirements.map((requirement: { id: string; kind: string }) => [
        requirement.id,
        requirement.kind,
      ]),
      [['test', 'job']],
    )
    assert.equal(completion.components[0].evidence.applicability.producer, 'jobs.test')
    assert.deepEqual(completion.components[0].evidence.applicability.closure, { kind: 'candidate', head: commit })
    assert.equal(acceptance.consent.source, 'conversation')
    assert.deepEqual([acceptance.variances, acceptance.standard_proposals], [[], []])
    const { landing_id, authority } = acceptance.authority
    assert.equal(authority.state.landing_id, landing_id)
    assert.deepEqual(authority.source.scopes, [])
    assert.match(payload['presentation'].line, /^> \*\*Proof:\*\* gate passed for `feat` at `[0-9a-f]{12}` · 2 files/)
    const log = s.git('r', 'log', '-1', '--format=%an <%ae>|%cn <%ce>', 'refs/notes/discern')
    assert.equal(log, 'discern <done@discern.sh>|discern <done@discern.sh>')
  })

  it('works in a SHA-256 repository, and fetched notes merge there (case 61)', async t => {
    const s = scratch(t)
    hubAndClones(s, '--object-format=sha256')
    const commit = change(s, 'a', 'feat', { g: '2\n' })
    await land(s, 'a')
    assert.equal(commit.length, 64)
    assert.equal(payloadOf(s, 'a', commit)['subject'].commit, commit)
    s.git('a', 'push', '-q', 'origin', 'main', 'refs/notes/discern')
    s.git('b', 'fetch', '-q')
    const status = await s.discern('b', ['status', '--json'])
    assert.equal(status.data.landed_proof.commit, commit)
  })

  it('lands from a linked worktree and brings the trunk checkout along (case 50)', async t => {
    const s = scratch(t)
    project(s)
    s.git('r', 'worktree', 'add', '-q', '../wt', '-b', 'feat')
    s.write('wt/g', '2\n')
    const commit = s.commit('wt', 'two')
    await land(s, 'wt')
    assert.equal(s.git('r', 'rev-parse', 'HEAD'), commit)
    assert.equal(s.git('r', 'status', '--porcelain'), '')
    assert.equal(s.read('r/g'), '2\n')
  })

  it('reuses a current Proof without running anything, and runs again on request', async t => {
    const s = scratch(t)
    project(s)
    change(s, 'r', 'feat', { g: '2\n' })
    const first = await s.discern('r', ['done', '--json'])
    const second = await s.discern('r', ['done', '--json'])
    assert.equal(second.data.gate_ran, false)
    assert.deepEqual(second.data.proof, first.data.proof)
    const third = await s.discern('r', ['done', '--rerun', '--json'])
    assert.equal(third.data.gate_ran, true)
    assert.notDeepEqual(third.data.completion, first.data.completion)
  })

  it('refuses to run an unchanged red tree again, and clears the Proof when the gate turns red', async t => {
    const s = scratch(t)
    project(s)
    change(s, 'r', 'feat', { broken: '' })
    const red = await s.discern('r', ['done', '--json'])
    assert.equal(red.exit, 1)
    assert.equal(red.result.error, 'gate_failed')
    assert.equal(red.data.failed_stage, 'test')
    assert.equal((await s.discern('r', ['done', '--json'])).result.error, 'unchanged_tree_rerun')
    assert.equal((await s.discern('r', ['accept', '--confirmed', '--json'])).result.error, 'incomplete')
    s.git('r', 'rm', '-q', 'broken')
    s.git('r', 'commit', '-q', '-m', 'mend', '--allow-empty')
    s.write('r/ok', '')
    s.commit('r', 'ok')
    assert.equal((await s.discern('r', ['done', '--json'])).result.ok, true)
  })

  it('shows the plan on --dry-run and changes nothing, not even a file time', async t => {
    const s = scratch(t)
    project(s)
    change(s, 'r', 'feat', { g: '2\n' })
    const snapshot = () => s.sh('r', 'find . -printf "%p %T@ %s %m\\n" | sort').out
    const before = snapshot()
    const plan = await s.discern('r', ['done', '--dry-run', '--json'])
    assert.deepEqual(
      plan.result.plan?.map(({ label }) => label),
      ['contains the trunk', 'test'],
    )
    assert.equal(snapshot(), before)
    await s.discern('r', ['done'])
    const proven = snapshot()
    const landing = await s.discern('r', ['accept', '--dry-run', '--json'])
    assert.equal(landing.result.dry_run, true)
    assert.equal(snapshot(), proven)
  })
})
