/** `done --ci`: the same questions and jobs as a report that enforces and records nothing (facts 7.5). */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CONFIG, change, project } from '../support/project.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'

const POLICY = `
[checkpoints.rollback-path]
paths = ["migrations/**"]
question = "Is the rollback path stated?"
`

const asked = (s: Scratch): void => {
  project(s)
  s.write('r/discern.toml', `${CONFIG}${POLICY}`)
  s.commit('r', 'policy')
  change(s, 'r', 'feat', { 'migrations/1.sql': 'create;\n' })
}

const ci = (s: Scratch, cwd: string, ...args: string[]) => s.discern(cwd, ['done', '--ci', '--json', ...args])
const state = (s: Scratch): string =>
  s.sh(
    'r',
    'find .git/discern -type f ! -path "*/output/*" ! -path "*/test-slots*" ! -path "*/logbook/*" ! -name validation-hmac-key -exec cksum {} + 2>/dev/null | sort',
  ).out

describe('done --ci', () => {
  it('lists fired stops as unreviewed, runs the jobs, and writes nothing that a strict run would read', async t => {
    const s = scratch(t)
    asked(s)
    const before = state(s)
    const run = await ci(s, 'r')
    assert.equal(run.exit, 0, run.out)
    assert.equal(run.data.mode, 'report')
    assert.deepEqual(run.data.unreviewed, ['rollback-path'])
    assert.match(run.data.report.line, /checkpoints reported, not enforced: 1 unreviewed · report only, cannot land/)
    assert.match(
      run.data.report.markdown,
      /## Checkpoints, reported, not enforced[\s\S]*### `rollback-path`: unreviewed/,
    )
    assert.equal(state(s), before)
    assert.equal((await s.discern('r', ['accept', '--confirmed', '--json'])).result.error, 'incomplete')
  })

  it('leaves a strict Proof and a conclusion alone, and reports the conclusion', async t => {
    const s = scratch(t)
    asked(s)
    await s.discern('r', ['done'])
    await s.discern('r', ['done', '--met', 'rollback-path'])
    const before = state(s)
    const run = await ci(s, 'r')
    assert.deepEqual(run.data.unreviewed, [])
    assert.match(run.data.report.markdown, /declared met/)
    assert.equal(state(s), before)
    assert.equal((await s.discern('r', ['done', '--json'])).data.gate_ran, false)
  })

  it('lets the jobs alone set the exit code', async t => {
    const s = scratch(t)
    asked(s)
    s.write('r/broken', '')
    s.commit('r', 'break')
    const run = await ci(s, 'r')
    assert.equal(run.exit, 1)
    assert.equal(run.result.error, 'gate_failed')
    assert.equal((await ci(s, 'r')).result.error, 'gate_failed', 'a report never counts as a rerun')
  })

  it('works on a detached merge commit with a named policy', async t => {
    const s = scratch(t)
    asked(s)
    s.git('r', 'switch', '-q', 'main')
    s.git('r', 'switch', '-q', '--detach')
    s.git('r', 'merge', '-q', '--no-ff', '--no-edit', 'feat')
    const run = await ci(s, 'r', '--standalone', '--policy-base', 'main')
    assert.equal(run.exit, 0, run.out)
    assert.equal(run.data.policy, s.git('r', 'rev-parse', 'main'))
    assert.deepEqual(run.data.unreviewed, ['rollback-path'])
    const unknown = await ci(s, 'r', '--policy-base', 'nowhere')
    assert.equal(unknown.result.error, 'invalid_value')
  })

  it('case 57: in a depth-1 clone it says that history is missing, drops the checkpoints, and never fetches', async t => {
    const s = scratch(t)
    asked(s)
    s.git('r', 'switch', '-q', 'main')
    s.write('r/f', '2')
    s.commit('r', 'trunk moves')
    s.git('.', 'clone', '-q', '--depth', '1', '--no-single-branch', `file://${s.path('r')}`, 'shallow')
    s.git('shallow', 'checkout', '-q', '--detach', 'origin/feat')
    const run = await ci(s, 'shallow', '--policy-base', 'origin/main')
    assert.equal(run.exit, 0, run.out)
    assert.deepEqual(
      run.data.checkpoint_drops.map(({ reason, scope }: Loose) => [reason, scope]),
      [['merge_base_unresolved', 'policy']],
    )
    assert.match(run.data.checkpoint_drops[0].account, /git fetch --unshallow/)
  })

  it('runs conditions, takes no declarations, and previews with --dry-run', async t => {
    const s = scratch(t)
    project(s)
    s.write('r/discern.toml', `${CONFIG}${POLICY}when = "echo ran >>../when; exit 10"\n`)
    s.commit('r', 'policy')
    change(s, 'r', 'feat', { 'migrations/1.sql': 'x' })
    const preview = await ci(s, 'r', '--dry-run')
    assert.equal(preview.result.dry_run, true)
    assert.equal(s.sh('.', 'cat when').out, '')
    const run = await ci(s, 'r')
    assert.deepEqual(run.data.unreviewed, [])
    assert.equal(s.read('when'), 'ran\n')
    assert.equal((await ci(s, 'r', '--met', 'rollback-path')).exit, 2)
    assert.equal((await s.discern('r', ['done', '--policy-base', 'main'])).exit, 2)
  })
})
