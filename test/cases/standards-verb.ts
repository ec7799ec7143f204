/** `git discern standards`: measuring, what is remembered, the comparison with the trunk, and `--pin`. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tightened } from '../../src/commands/standards-pin.ts'
import { type Loose, scratch } from '../support/scratch.ts'
import { commitValue, runs, STANDARDS, standardProject } from '../support/standards.ts'

const refused = (run: { result: Loose }, slug: string, pattern: RegExp): void => {
  assert.equal(run.result.error, slug, JSON.stringify(run.result))
  assert.match(run.result.message, pattern)
  assert.ok(run.result.hints.length > 0)
}

describe('standards', () => {
  it('measures, remembers what the same inputs gave, and says how each value stands', async t => {
    const s = scratch(t)
    standardProject(s)
    const head = commitValue(s, 85)
    const dry = await s.discern('r', ['standards', '--dry-run', '--json'])
    assert.deepEqual([dry.result.ok, runs(s), dry.data.standards[0].verdict], [true, 0, 'unmeasured'])
    assert.deepEqual(
      dry.result.plan?.map(({ kind, label, disposition }) => [kind, label, disposition]),
      [['standard', 'standard cov', 'run']],
    )
    const first = await s.discern('r', ['standards', '--json'])
    assert.equal(first.exit, 0, first.out)
    assert.deepEqual(first.data.standards, [
      {
        name: 'cov',
        direction: 'up',
        limit: 80,
        margin: 0,
        metric: 'cov',
        verdict: 'improved',
        value: 85,
        reading: 85,
        ratchet: { status: 'verified', sentence: 'its limit is that of the trunk, 80' },
      },
    ])
    assert.deepEqual([first.data.ratchet, first.data.lost, first.data.proposals, runs(s)], ['verified', [], [], 1])
    const again = await s.discern('r', ['standards', 'cov', '--json'])
    assert.deepEqual([again.data.standards[0].measured_at, again.data.standards[0].reading, runs(s)], [head, 85, 1])
    // A commit that touches none of the inputs leaves the measurement standing.
    s.write('r/other', 'x')
    s.commit('r', 'other')
    await s.discern('r', ['standards', '--json'])
    assert.equal(runs(s), 1)
    await s.discern('r', ['standards', '--force', '--json'])
    assert.equal(runs(s), 2)
    // Uncommitted work is measured every time and never remembered.
    s.write('r/value', '90\n')
    const dirty = await s.discern('r', ['standards', '--json'])
    assert.deepEqual([dirty.data.standards[0].reading, runs(s)], [90, 3])
    s.git('r', 'restore', 'value')
    const clean = await s.discern('r', ['standards', '--json'])
    assert.deepEqual([clean.data.standards[0].reading, runs(s)], [85, 3])
    s.write('r/.git/discern/standard-measurements', '{"version":1,"measurements":{"cov":{"reading":"x"}}}')
    const rebuilt = await s.discern('r', ['standards', '--json'])
    assert.deepEqual([rebuilt.data.standards[0].reading, runs(s)], [85, 4])
    s.write('r/.git/discern/standard-measurements', '{"version":99}')
    await s.discern('r', ['standards', '--json'])
    assert.deepEqual([runs(s), s.read('r/.git/discern/standard-measurements')], [5, '{"version":99}'])
    const text = await s.discern('r', ['standards'])
    assert.equal(text.out, '  cov  85, at least 80: improved\n')
    const markdown = await s.discern('r', ['standards', '--markdown'])
    assert.match(markdown.out, /^- \*\*cov\*\*: 85, at least 80: improved\n$/)
  })

  it('fails for a value that misses its limit, for one that cannot be had, and for a limit that was loosened', async t => {
    const s = scratch(t)
    standardProject(s)
    commitValue(s, 79)
    const breached = await s.discern('r', ['standards', '--json'])
    refused(breached, 'gate_failed', /failed in standards: cov/)
    assert.deepEqual([breached.exit, breached.data.standards[0].verdict], [1, 'breached'])
    assert.deepEqual(
      breached.result.steps?.map(({ label, outcome, note }) => [label, outcome, note]),
      [['standard cov', 'failed', '79, at least 80: breached']],
    )
    commitValue(s, 'many')
    const broken = await s.discern('r', ['standards', '--json'])
    assert.deepEqual([broken.data.standards[0].verdict, broken.data.standards[0].reading], ['unavailable', undefined])
    assert.match(broken.data.standards[0].reason, /line 1: expected a number, found "many"/)
    s.write('r/value', '79\n')
    s.write('r/discern.toml', STANDARDS.replace('limit = 80', 'limit = 79'))
    s.commit('r', 'loosen')
    const loosened = await s.discern('r', ['standards', '--json'])
    refused(loosened, 'gate_failed', /cov/)
    assert.deepEqual([loosened.data.standards[0].verdict, loosened.data.ratchet], ['held', 'failed'])
    const text = await s.discern('r', ['standards'])
    assert.match(text.out, /cov {2}79, at least 79: held .*; its limit was loosened from 80 to 79/)
    s.write('r/discern.toml', '[repository]\ntrunk = "main"\n')
    s.commit('r', 'delete')
    const deleted = await s.discern('r', ['standards', '--json'])
    refused(deleted, 'gate_failed', /cov/)
    assert.deepEqual(deleted.data.lost[0].status, 'failed')
  })

  it('reads the output or the artifact of another job, in each form, and needs that job to pass', async t => {
    const s = scratch(t)
    standardProject(
      s,
      `[repository]
trunk = "main"
[jobs]
build = "echo built"
[jobs.test]
stage = "test"
needs = ["build"]
run = "sh test.sh"
[standards.printed]
direction = "up"
limit = 1
producer = "test"
extract = { pattern = "^passed (\\\\d+)$" }
[standards.file]
direction = "up"
limit = 50
producer = "test"
extract = { json = "/total/0" }
artifact = "out.json"
per = { lines = ["*.sh"] }
scale = 10
[standards.command]
direction = "down"
limit = 3
producer = "test"
extract = "sed -n 's/^slow /DISCERN_METRIC command /p'"
[standards.failing]
direction = "down"
limit = 3
producer = "test"
extract = "echo no way >&2; exit 3"
`,
    )
    s.write('r/.gitignore', 'out.json\n')
    s.write('r/test.sh', 'echo passed 5\necho slow 2\necho \'{"total":[15]}\' > out.json\necho run >> "$COUNT"\n')
    s.commit('r', 'two')
    const found = await s.discern('r', ['standards', '--json'])
    const rows = Object.fromEntries(found.data.standards.map((row: Loose) => [row.name, row]))
    assert.deepEqual([rows.printed.reading, rows.command.reading, rows.command.verdict], [5, 2, 'improved'])
    // 4 lines of test.sh and 2 of measure.sh.
    assert.deepEqual([rows.file.value, rows.file.denominator, rows.file.reading], [15, 6, 25])
    assert.deepEqual([rows.file.verdict, rows.failing.verdict], ['breached', 'unavailable'])
    assert.match(rows.failing.reason, /extract did not pass: exit 3 \(no way\)/)
    assert.equal(runs(s), 1, 'one run of the producer serves all of them')
    assert.deepEqual(
      found.result.steps?.map(({ label, outcome }) => [label, outcome]),
      [
        ['build', 'ok'],
        ['test', 'ok'],
        ['standard printed', 'ok'],
        ['standard file', 'failed'],
        ['standard command', 'ok'],
        ['standard failing', 'failed'],
      ],
    )
    s.write('r/test.sh', 'echo passed 5\nexit 1\n')
    s.commit('r', 'three')
    const red = await s.discern('r', ['standards', 'printed', '--json'])
    assert.match(red.data.standards[0].reason, /test did not pass: exit 1/)
  })

  it('refuses an unknown name with the nearest one, and flags that do not belong together', async t => {
    const s = scratch(t)
    standardProject(s)
    const unknown = await s.discern('r', ['standards', 'cow', '--json'])
    refused(unknown, 'unknown_standard', /there is no standard "cow"; did you mean "cov"\?/)
    assert.deepEqual(unknown.result.hints, ['git discern standards cov'])
    refused(await s.discern('r', ['standards', 'nothing', '--json']), 'unknown_standard', /there is cov$/)
    for (const args of [
      ['--reason', 'x'],
      ['propose', 'cov', '--pin'],
      ['propose', 'cov'],
      ['propose', 'a', 'b', '--reason', 'x'],
    ]) {
      const run = await s.discern('r', ['standards', ...args, '--json'])
      assert.deepEqual([run.result.error, run.exit], ['invalid_arguments', 2], args.join(' '))
    }
    s.write('r/discern.toml', '[repository]\ntrunk = "main"\n')
    assert.match(
      (await s.discern('r', ['standards', 'cov', '--json'])).result.message ?? '',
      /discern.toml has no \[standards\]/,
    )
  })

  it('says loudly when the trunk cannot be read, and fails nothing for it', async t => {
    const s = scratch(t)
    standardProject(s)
    s.git('r', 'switch', '-q', 'main')
    s.write('r/discern.toml', 'this is no TOML')
    s.commit('r', 'broken')
    s.git('r', 'switch', '-q', 'feat')
    const found = await s.discern('r', ['standards', '--json'])
    assert.deepEqual([found.exit, found.data.ratchet], [0, 'unverified'], found.out)
    assert.deepEqual(
      found.result.advisories?.map(({ kind }) => kind),
      ['standards-limits-unverified'],
    )
    assert.match(found.data.unverified, /discern\.toml:1/)
  })
})

describe('standards --pin', () => {
  it('tightens to what was reached, less the margin, in a commit of its own that touches one number', async t => {
    const s = scratch(t)
    const config = STANDARDS.replace('limit = 80 # percent', 'limit = 8_0 # percent\r\nmargin = 0.5')
    standardProject(s, config)
    const head = commitValue(s, 85.3)
    s.write('r/.git/hooks/pre-commit', '#!/bin/sh\nexit 1\n', 0o755)
    s.git('r', 'config', 'commit.gpgSign', 'true')
    s.git('r', 'config', 'gpg.program', 'false')
    const dry = await s.discern('r', ['standards', '--pin', '--dry-run', '--json'])
    assert.deepEqual([dry.result.ok, runs(s), s.git('r', 'rev-parse', 'HEAD')], [true, 0, head])
    const pinned = await s.discern('r', ['standards', '--pin', '--json'])
    assert.equal(pinned.exit, 0, pinned.out)
    assert.deepEqual(pinned.data.tightened, [{ standard: 'cov', from: 80, to: 84.8, reading: 85.3 }])
    assert.deepEqual(
      [pinned.data.standards[0].limit, pinned.data.standards[0].verdict, pinned.data.standards[0].ratchet.sentence],
      [84.8, 'improved', 'its limit was tightened from 80 to 84.8'],
    )
    assert.equal(s.read('r/discern.toml'), config.replace('8_0', '84.8'))
    assert.equal(s.git('r', 'rev-parse', 'HEAD'), pinned.data.commit)
    assert.equal(s.git('r', 'rev-parse', 'HEAD^'), head)
    assert.equal(s.git('r', 'status', '--porcelain'), '')
    assert.equal(
      s.git('r', 'log', '-1', '--format=%an <%ae>%n%B'),
      'Dev <dev@example.invalid>\nTighten the limit of standard cov from 80 to 84.8\n',
    )
    assert.equal(s.git('r', 'diff', '--name-only', 'HEAD^', 'HEAD'), 'discern.toml')
    assert.equal(runs(s), 1)
    const again = await s.discern('r', ['standards', '--pin', '--json'])
    assert.deepEqual([again.exit, again.data.tightened, again.data.commit], [0, [], undefined])
    const text = await s.discern('r', ['standards', '--pin'])
    assert.match(text.out, /^ {2}cov {2}85\.3, at least 84\.8 \(margin 0\.5\): improved \(measured at [0-9a-f]{12}\)\n/)
    assert.match(text.out, /\nno limit could be tightened\n$/)
  })

  it('changes nothing when a value misses its limit, the tree is not clean, or the branch is not one of its own', async t => {
    const s = scratch(t)
    standardProject(s)
    const head = commitValue(s, 79)
    const args = ['standards', '--pin', '--json']
    refused(await s.discern('r', args), 'pin_failed', /cov: 79, at least 80: breached/)
    s.write('r/value', '99\n')
    refused(await s.discern('r', args), 'dirty_worktree', /value/)
    s.git('r', 'restore', 'value')
    s.git('r', 'switch', '-q', '--detach')
    refused(await s.discern('r', args), 'detached_head', /needs a branch/)
    s.git('r', 'switch', '-q', 'main')
    refused(await s.discern('r', args), 'on_trunk', /main is the trunk/)
    s.write('r/new', 'x')
    s.commit('r', 'trunk moves')
    s.git('r', 'switch', '-q', 'feat')
    refused(await s.discern('r', args), 'precondition_failed', /does not contain main/)
    s.git('r', 'merge', '-q', '--no-edit', 'main')
    commitValue(s, 99)
    s.write('r/.git/index.lock', '')
    refused(await s.discern('r', args), 'pin_failed', /index\.lock/)
    s.sh('r', 'rm .git/index.lock')
    s.git('r', 'config', '--global', 'user.useConfigOnly', 'true')
    s.git('r', 'config', '--global', '--unset', 'user.email')
    const anonymous = await s.discern('r', args)
    refused(anonymous, 'pin_failed', /git could not commit/)
    assert.match(anonymous.result.hints?.[0] ?? '', /git config user\.name/)
    assert.equal(s.git('r', 'log', '--oneline', '--format=%s', '-1'), 'value 99')
    assert.equal(s.git('r', 'status', '--porcelain'), '')
    assert.notEqual(head, s.git('r', 'rev-parse', 'HEAD'))
  })

  it('rounds away what a subtraction leaves behind, and never loosens', () => {
    const table: readonly (readonly ['up' | 'down', number, number, number, number | undefined])[] = [
      ['up', 0.1, 0.1, 0.3, 0.2],
      ['up', 80, 0, 80, undefined],
      ['up', 80, 1, 80.5, undefined],
      ['up', 80, 1, 82, 81],
      ['up', 0, 0, 1 / 3, 1 / 3],
      ['down', 10, 0, 9, 9],
      ['down', 10, 0.7, 0.1, 0.8],
      ['down', 10, 2, 9, undefined],
      ['up', -10, 0.1, -0.3, -0.4],
    ]
    for (const [direction, limit, margin, reading, expected] of table) {
      assert.equal(
        tightened({ direction, limit, margin }, reading),
        expected,
        `${direction} ${limit} ${margin} ${reading}`,
      )
    }
  })
})
