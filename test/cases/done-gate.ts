/** What `done` makes of the gate: stages, scopes, generators, drift, and what a person reads of a failure. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { change, project } from '../support/project.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'

const configured = (s: Scratch, config: string, files: Readonly<Record<string, string>> = {}): void => {
  s.git('.', 'init', '-q', 'r')
  s.write('r/f', '1\n')
  for (const [path, text] of Object.entries(files)) s.write(`r/${path}`, text)
  s.write('r/discern.toml', `[repository]\ntrunk = "main"\n${config}`)
  s.commit('r', 'one')
}

const done = (s: Scratch, ...args: string[]) => s.discern('r', ['done', '--json', ...args])
const outcomes = (run: { result: Loose }): Loose =>
  run.result.steps.map(({ label, outcome }: { label: string; outcome: string }) => [label, outcome])

describe('the gate in done', () => {
  it('runs fix, build, check and test in order, the gates of changed scopes last, and no other scope', async t => {
    const s = scratch(t)
    configured(
      s,
      `[jobs]
format = "echo fix >>../order"
build = "echo build >>../order"
lint = "echo lint >>../order"
[scopes.docs]
paths = ["docs/**"]
gate = "echo docs >>../order"
[scopes.api]
paths = ["api/**"]
gate = "echo api >>../order"
[scopes.quiet]
paths = ["docs/**"]
gate = "false"
neutral = true
`,
    )
    change(s, 'r', 'feat', { 'docs/a.md': 'x' })
    const run = await done(s)
    assert.equal(run.result.ok, true, run.out)
    assert.equal(s.read('order'), 'fix\nbuild\nlint\ndocs\n')
    assert.deepEqual(run.data.scopes_changed.sort(), ['docs', 'quiet'])
    const marker = JSON.parse(s.read('r/.git/discern/gate-proof'))
    assert.deepEqual(
      marker.proof.claim.completion.validation.requirements.map(
        ({ kind, id }: { kind: string; id: string }) => `${kind} ${id}`,
      ),
      ['job build', 'job format', 'job lint', 'scope discern-scope-docs'],
    )
  })

  it('has one synthetic requirement when nothing is configured', async t => {
    const s = scratch(t)
    configured(s, '')
    change(s, 'r', 'feat', { g: 'x' })
    assert.equal((await done(s)).result.ok, true)
    const { claim } = JSON.parse(s.read('r/.git/discern/gate-proof')).proof
    assert.deepEqual(
      claim.completion.validation.requirements.map(({ id }: { id: string }) => id),
      ['discern-preflight'],
    )
  })

  it('says generated_drift when a generator changes its committed output, and names it', async t => {
    const s = scratch(t)
    configured(s, '[generated.table]\npaths = ["gen/**"]\nrun = "mkdir -p gen && cat f >gen/out"\n', {
      'gen/out': '1\n',
    })
    change(s, 'r', 'feat', { f: '2\n' })
    const drift = await done(s)
    assert.equal(drift.data.failed_stage, 'generated_drift')
    assert.deepEqual(drift.data.drift_paths, ['gen/out'])
    s.commit('r', 'regenerated')
    assert.equal((await done(s)).result.ok, true)
  })

  it('says tree_drift when a job leaves tracked files changed, and names them', async t => {
    const s = scratch(t)
    configured(s, '[jobs]\nformat = "echo formatted >f"\nlint = "false"\n')
    change(s, 'r', 'feat', { g: 'x' })
    const drift = await done(s)
    assert.equal(drift.data.failed_stage, 'tree_drift')
    assert.deepEqual(drift.data.drift_paths, ['f'])
    assert.match(JSON.stringify(outcomes(drift)), /"lint","skipped"/)
  })

  it('cancels the siblings of the first failure, and runs all of them with fail_fast = false', async t => {
    const s = scratch(t)
    const jobs = '[jobs]\nlint = "exit 3"\ntest = "sleep 30"\n'
    configured(s, jobs)
    change(s, 'r', 'feat', { g: 'x' })
    const fast = await done(s)
    assert.deepEqual(outcomes(fast), [
      ['contains the trunk', 'ok'],
      ['lint', 'failed'],
      ['test', 'cancelled'],
    ])
    s.write(
      'r/discern.toml',
      `[repository]\ntrunk = "main"\n[gate]\nfail_fast = false\n${jobs.replace('sleep 30', 'true')}`,
    )
    s.commit('r', 'slow')
    const slow = await done(s)
    assert.deepEqual(outcomes(slow), [
      ['contains the trunk', 'ok'],
      ['lint', 'failed'],
      ['test', 'ok'],
    ])
  })

  it('shows a failed job’s last lines and the command that reproduces it', async t => {
    const s = scratch(t)
    configured(
      s,
      `[jobs.numbers]\nstage = "check"\nrun = "seq 1 100; echo 'error: \\u001b[31mbad\\u001b[0m' >&2; exit 4"\n`,
    )
    change(s, 'r', 'feat', { g: 'x' })
    const text = await s.discern('r', ['done'])
    assert.equal(text.exit, 1)
    assert.match(text.out, /numbers failed: error: /)
    assert.match(text.out, /^ {4}100$/m)
    assert.doesNotMatch(text.out, /^ {4}50$/m)
    assert.match(text.out, /again: seq 1 100; /)
    assert.doesNotMatch(text.out, /\u001b/)
    assert.match(text.err, /the gate failed in check: numbers/)
    const json = await done(s, '--rerun')
    assert.equal(json.result.diagnostics?.[0]?.tool, 'numbers')
    assert.match(s.read(String(json.result.diagnostics?.[0]?.output_path)), /^1\n2\n/)
  })

  it('ends a job at its time limit and says so', async t => {
    const s = scratch(t)
    configured(s, '[jobs.slow]\nstage = "test"\nrun = "sleep 30"\ntimeout = 1\n')
    change(s, 'r', 'feat', { g: 'x' })
    const run = await done(s)
    assert.match(JSON.stringify(run.result.diagnostics), /timed out after 1 s/)
  })

  it('refuses what cannot be proven, each with what to type next, and runs nothing', async t => {
    const s = scratch(t)
    project(s)
    s.write('r/check.sh', 'echo ran >>../ran\n')
    s.commit('r', 'count')
    const rows: readonly [arrange: string, error: string, next: RegExp][] = [
      ['git switch -q main', 'on_trunk', /git switch -c/],
      ['git switch -q --detach main', 'detached_head', /git switch -c/],
      ['git switch -q -c same main', 'nothing_to_prove', /git commit/],
      [
        'git switch -q -c behind main~1 && git commit -q --allow-empty -m x',
        'precondition_failed',
        /git discern update/,
      ],
      [
        'git switch -q -c dirty main && git commit -q --allow-empty -m x && echo 1 >untracked',
        'dirty_worktree',
        /git status/,
      ],
      [
        'rm untracked; git switch -q -c bare main && git rm -q discern.toml && git commit -q -m x',
        'not_set_up',
        /git discern setup/,
      ],
      [
        'git switch -q -c wrong main && printf "[jobs]\\nlint = 7\\n" >discern.toml && git commit -q -a -m x',
        'invalid_config',
        /line 2/,
      ],
    ]
    for (const [arrange, error, next] of rows) {
      const arranged = s.sh('r', arrange)
      assert.equal(arranged.exit, 0, arranged.err)
      const refused = await done(s)
      assert.equal(refused.result.error, error, refused.out)
      assert.equal(refused.exit, 1)
      assert.match(`${refused.result.message} ${refused.result.hints}`, next)
    }
    assert.equal(s.sh('.', 'cat ran').out, '')
    const outside = await s.discern('.', ['done', '--json'])
    assert.equal(outside.result.error, 'not_initialized')
    s.git('.', 'init', '-q', '--bare', 'bare.git')
    assert.equal((await s.discern('bare.git', ['done', '--json'])).result.error, 'not_initialized')
  })

  it('names a place that cannot be written before any job runs', async t => {
    const s = scratch(t)
    project(s)
    s.write('r/check.sh', 'echo ran >>../ran\n')
    change(s, 'r', 'feat', { g: 'x' })
    s.write('r/.git/discern/completion', 'a file where a folder is needed')
    const refused = await done(s)
    assert.equal(refused.result.error, 'write_access')
    assert.match(String(refused.result.message), /discern\/completion\/records/)
    assert.equal(s.sh('.', 'cat ran').out, '')
  })

  it('accepts the tables of the public program and names them once', async t => {
    const s = scratch(t)
    configured(s, '[jobs]\nlint = "true"\n[map]\ndir = "map/"\n[skills]\ndir = "skills/"\n')
    change(s, 'r', 'feat', { g: 'x' })
    const run = await done(s)
    assert.equal(run.result.ok, true)
    const named = run.result.advisories?.filter(({ kind }) => kind === 'config-foreign-table')
    assert.equal(named?.length, 1)
    assert.match(String(named?.[0]?.evidence), /map, skills/)
  })
})
