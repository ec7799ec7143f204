/**
 * Real input: six published releases of a small npm package, which are development dependencies under aliases, landed one by
 * one as branches of a repository, published, and read back in a second clone.
 */
import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { projectRoot, scratch } from '../support/scratch.ts'

const RELEASES = ['release-1', 'release-2', 'release-3', 'release-4', 'release-5', 'release-6']

/** What the package promises of itself, asked of its real code: a gate that would fail for a broken release. */
const GATE = `const mri = require('./' + require('./package.json').main)
const parsed = mri(['--foo', '--bar=baz', '-mtv', '--', 'hello'])
if (parsed.foo !== true || parsed.bar !== 'baz' || parsed.m !== true || parsed._.join() !== 'hello') process.exit(1)
`

const CONFIG = `[repository]
trunk = "trunk"
proof_notes_mode = "fetch"

[jobs]
test = "node gate.cjs"

[jobs.manifest]
stage = "check"
run = "node -e \\"JSON.parse(require('fs').readFileSync('package.json'))\\""
`

describe('published releases of a real package', () => {
  it('land one by one and are read back with their Proofs in another clone', async t => {
    const s = scratch(t)
    s.git('.', 'init', '-q', '-b', 'trunk', 'seed')
    s.write('seed/discern.toml', CONFIG)
    s.write('seed/gate.cjs', GATE)
    s.commit('seed', 'adopt git discern')
    s.git('.', 'clone', '-q', '--bare', 'seed', 'hub.git')
    for (const name of ['a', 'b']) {
      s.git('.', 'clone', '-q', 'hub.git', name)
      assert.equal((await s.discern(name, ['setup', '--json'])).exit, 0)
    }
    const landed = new Map<string, string>()
    for (const release of RELEASES) {
      const source = join(projectRoot, 'node_modules', release)
      const { version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
      s.git('a', 'switch', '-q', '-c', `v${version}`, 'trunk')
      for (const name of readdirSync(s.path('a'))) {
        if (!['.git', 'discern.toml', 'gate.cjs'].includes(name)) rmSync(s.path('a', name), { recursive: true })
      }
      cpSync(source, s.path('a'), { recursive: true })
      const commit = s.commit('a', `release ${version}`)
      const done = await s.discern('a', ['done', '--json'])
      assert.equal(done.result.ok, true, done.out)
      assert.equal(done.data.producer_executions, 2)
      const accepted = await s.discern('a', ['accept', '--confirmed', '--json'])
      assert.equal(accepted.data.proof_note.write.status, 'recorded', accepted.out)
      landed.set(commit, version)
    }
    s.git('a', 'push', '-q', 'origin', 'trunk', 'refs/notes/discern')
    s.git('b', 'pull', '-q')
    const log = s.git('b', 'log', '--reverse', '--format=%H', 'origin/trunk').split('\n').slice(1)
    assert.deepEqual(log, [...landed.keys()])
    for (const [commit, version] of landed) {
      const body = JSON.parse(s.git('b', 'notes', '--ref=discern', 'show', commit))
      const { subject, proof } = JSON.parse(Buffer.from(body.payload, 'base64').toString('utf8'))
      assert.equal(subject.commit, commit)
      assert.equal(proof.branch, `v${version}`)
      const stat = s.git('b', 'diff', '--shortstat', '--no-renames', `${commit}^`, commit)
      assert.match(stat, new RegExp(`^ ${proof.files_total} files? changed`))
      assert.match(stat, new RegExp(proof.insertions === 0 ? 'deletion' : ` ${proof.insertions} insertion`))
    }
    const status = await s.discern('b', ['status', '--json'])
    assert.equal(status.data.landed_proof.commit, log.at(-1))
  })

  it('do not land when the real code fails its gate', async t => {
    const s = scratch(t)
    s.git('.', 'init', '-q', '-b', 'trunk', 'r')
    s.write('r/discern.toml', CONFIG)
    s.write('r/gate.cjs', GATE)
    s.commit('r', 'adopt git discern')
    s.git('r', 'switch', '-q', '-c', 'broken')
    cpSync(join(projectRoot, 'node_modules', 'release-6'), s.path('r'), { recursive: true })
    s.write('r/lib/index.js', s.read('r/lib/index.js').replace('module.exports', 'const unused'))
    s.commit('r', 'broken release')
    const done = await s.discern('r', ['done', '--json'])
    assert.equal(done.result.error, 'gate_failed')
    assert.equal(done.data.failed_stage, 'test')
    assert.equal((await s.discern('r', ['accept', '--confirmed', '--json'])).result.error, 'incomplete')
  })
})
