/** What the working verbs leave in the Logbook, and that nothing about it reaches their answers (facts 12.1 to 12.3). */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { commands } from '../../src/commands/command.ts'
import { runCommand } from '../../src/commands/recorded.ts'
import { Interrupted } from '../../src/errors.ts'
import { recordingOf } from '../../src/logbook/recording.ts'
import { bookEvents, bookText, verbEvents } from '../support/book.ts'
import { openScratch } from '../support/open.ts'
import { bundle, CONFIG, change, killingGit, project } from '../support/project.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'
import { commitValue, STANDARDS, standardProject } from '../support/standards.ts'

const POLICY = '\n[checkpoints.why]\npaths = ["g"]\nquestion = "Why?"\n'

/** A branch whose change raises a question. */
const asked = (s: Scratch, config = `${CONFIG}${POLICY}`): string => {
  project(s)
  s.write('r/discern.toml', config)
  s.commit('r', 'policy')
  return change(s, 'r', 'feat', { g: '1\n' })
}

const kinds = (s: Scratch): readonly string[] => bookEvents(s).map(({ kind, verb }) => `${kind} ${verb ?? ''}`.trim())

describe('a working verb', () => {
  it('leaves a line before its work and one after it, which say what it was', async t => {
    const s = scratch(t)
    const head = asked(s)
    const env = { CLAUDECODE: '1', TMUX_PANE: '%7', CI: undefined }
    await s.discern('r', ['done', '--json'], { env })
    await s.discern('r', ['done', '--unmet', 'why', '--why', 'later'], { env })
    await s.discern('r', ['accept', '--confirmed', '--variance', 'why', '--json'], { env })
    assert.deepEqual(kinds(s), ['begin done', 'verb done', 'begin done', 'verb done', 'begin accept', 'verb accept'])
    const [begin, refused, , proven, , landed] = bookEvents(s)
    assert.equal(begin?.invocation, refused?.invocation)
    assert.notEqual(begin?.invocation, proven?.invocation)
    for (const event of [begin, refused]) {
      const { branch, head: at, surface, writer } = event ?? {}
      assert.deepEqual([branch, at, surface, writer], ['feat', head, 'cli', '0.0.0-test'])
      assert.match(event?.driver.session, /^[0-9a-f]{16}$/)
      const { session: _session, ...driver } = event?.driver ?? {}
      assert.deepEqual(driver, { json: true, tty: false, ci: false, agent_signals: ['CLAUDECODE'] })
    }
    assert.deepEqual(
      [refused?.outcome, refused?.error, refused?.gate_ran, refused?.clean],
      ['refused', 'awaiting_declaration', false, true],
    )
    assert.deepEqual(refused?.change, { files: 1, insertions: 1, deletions: 0 })
    assert.deepEqual(
      refused?.checkpoints.fired.map(({ id }: Loose) => id),
      ['why'],
    )
    assert.deepEqual([proven?.outcome, proven?.gate_ran, proven?.flags], ['ok', true, ['unmet', 'why']])
    const [declared] = proven?.checkpoints.declared ?? []
    assert.deepEqual([declared.id, declared.conclusion, declared.revised], ['why', 'unmet', false])
    assert.deepEqual(
      proven?.steps.map(({ label, outcome, group }: Loose) => [label, outcome, group]),
      [
        ['contains the trunk', 'ok', undefined],
        ['test', 'ok', 'test'],
      ],
    )
    const { commit, trunk, consent, variances, proposals } = landed?.landing[0] ?? {}
    assert.deepEqual([commit, trunk, consent, variances, proposals], [head, 'main', 'conversation', ['why'], 0])
  })

  it('says what failed, which stage, and how many findings each tool had', async t => {
    const s = scratch(t)
    project(s)
    change(s, 'r', 'feat', { broken: '' })
    await s.discern('r', ['done'])
    await s.discern('r', ['test'])
    s.write('r/uncommitted', '')
    await s.discern('r', ['done', '--rerun'])
    assert.deepEqual(
      verbEvents(s).map(({ verb, outcome, error, failed_stage, diagnostics, clean }) => [
        verb,
        outcome,
        error,
        failed_stage,
        diagnostics,
        clean,
      ]),
      [
        ['done', 'failed', 'gate_failed', 'test', [{ tool: 'test', count: 1 }], true],
        ['test', 'failed', 'gate_failed', 'test', [{ tool: 'test', count: 1 }], null],
        ['done', 'refused', 'dirty_worktree', undefined, undefined, false],
      ],
    )
  })

  it('in a report is told apart as one of an automated build', async t => {
    const s = scratch(t)
    project(s)
    change(s, 'r', 'feat', { g: '1\n' })
    await s.discern('r', ['done', '--ci', '--standalone'])
    await s.discern('r', ['test'], { env: { CI: 'true' } })
    await s.discern('r', ['test'], { env: { CI: 'false' } })
    assert.deepEqual(
      verbEvents(s).map(({ verb, driver, validation }) => [verb, driver.ci, validation.state.complete]),
      [
        ['done', true, true],
        ['test', true, true],
        ['test', false, true],
      ],
    )
    const { data } = await s.discern('r', ['patterns', '--json'])
    assert.deepEqual([data.population.counted, data.population.left_out.ci], [1, 2])
  })

  it('tells of standards, of tightened limits and of an update', async t => {
    const s = scratch(t)
    standardProject(s)
    commitValue(s, 85)
    await s.discern('r', ['done'])
    await s.discern('r', ['standards', '--pin'])
    s.git('r', 'worktree', 'add', '-q', '../wt', 'main')
    s.write('wt/other', '1\n')
    s.commit('wt', 'trunk goes on')
    await s.discern('r', ['update', '--rebase'])
    assert.deepEqual(verbEvents(s, 'done')[0]?.standards, [
      { name: 'cov', direction: 'up', limit: 80, reading: 85, verdict: 'improved' },
    ])
    const [pin] = bookEvents(s).filter(({ kind }) => kind === 'pin')
    assert.deepEqual([pin?.standard, pin?.from, pin?.to, pin?.measured], ['cov', 80, 85, 85])
    assert.deepEqual(verbEvents(s, 'update')[0]?.update, { mode: 'rebase', moved: true, conflict: false })
    assert.deepEqual(
      bookEvents(s).filter(({ kind }) => kind === 'config-change'),
      [],
      'a limit alone is no change of the configuration',
    )
    assert.match(STANDARDS, /limit = 80/)
  })

  it('whose configuration changed since its branch was last seen says which tables did', async t => {
    const s = scratch(t)
    asked(s)
    await s.discern('r', ['test'])
    s.write('r/discern.toml', `${CONFIG.replace('[jobs]', '[jobs]\nlint = "true"')}[gate]\nfail_fast = true\n`)
    await s.discern('r', ['test'])
    await s.discern('r', ['test'])
    const changes = bookEvents(s).filter(({ kind }) => kind === 'config-change')
    assert.deepEqual(
      changes.map(({ branch, sections }) => [branch, sections]),
      [['feat', ['checkpoints', 'gate', 'jobs']]],
    )
    const epochs = verbEvents(s).map(({ epoch }) => epoch)
    assert.notEqual(epochs[0], epochs[1])
    assert.equal(epochs[1], epochs[2])
    assert.equal(changes[0]?.epoch, epochs[1])
  })

  it('that is interrupted says so, and one that is killed leaves its first line alone', async t => {
    const s = scratch(t)
    project(s)
    s.write('r/check.sh', `: >'${s.path('started')}'\nsleep 5\n`)
    s.commit('r', 'slow')
    change(s, 'r', 'feat', { g: '1\n' })
    const aborter = new AbortController()
    const running = s.discern('r', ['test'], { signal: aborter.signal })
    for (let waited = 0; !existsSync(s.path('started')) && waited < 5000; waited += 10) await pause(10)
    aborter.abort(new Interrupted('SIGINT'))
    assert.equal((await running).exit, 130)
    assert.deepEqual(
      verbEvents(s).map(({ outcome, error }) => [outcome, error]),
      [['failed', 'interrupted']],
    )
    s.write('r/check.sh', 'true\n')
    s.commit('r', 'quick')
    const env = killingGit(s, 3, 'before', s.path('calls'))
    const killed = await s.execAsync('r', bundle[0], [bundle[1], 'done'], { env })
    assert.equal(killed.exit, 137, killed.err)
    assert.deepEqual(kinds(s), ['begin test', 'verb test', 'begin done'])
  })

  it('leaves nothing where recording is switched off, by either spelling, and where nothing is set up', async t => {
    const s = scratch(t)
    for (const [name, config] of [
      ['a', `${CONFIG}[project]\nrecord_logbook = false\n`],
      ['b', `${CONFIG}[project]\nlogbook = false\n`],
      ['c', undefined],
    ] as const) {
      project(s, name)
      if (config === undefined) rmSync(s.path(name, 'discern.toml'))
      else s.write(`${name}/discern.toml`, config)
      s.commit(name, 'policy')
      change(s, name, 'feat', { g: '1\n' })
      for (const args of [['done'], ['test'], ['prepare'], ['accept', '--confirmed']]) await s.discern(name, args)
      assert.equal(bookText(s, name), '')
      assert.equal(s.sh(name, 'ls .git/discern 2>/dev/null').out.includes('logbook'), false)
      assert.equal(s.sh(name, 'ls .git/discern 2>/dev/null').out.includes('key'), false)
    }
  })

  it('has one Logbook for all worktrees of a repository', async t => {
    const s = scratch(t)
    project(s)
    s.git('r', 'worktree', 'add', '-q', '-b', 'feat', '../wt')
    await s.discern('r', ['test'])
    await s.discern('wt', ['test'])
    assert.deepEqual(
      verbEvents(s, 'test').map(({ branch }) => branch),
      ['main', 'feat'],
    )
    const [one, other] = verbEvents(s, 'test').map(({ validation }) => validation)
    assert.equal(one.state.digest, other.state.digest, 'the same state in two worktrees has one digest')
  })
})

describe('a verb that reads, and a dry run', () => {
  it('leave no line', async t => {
    const s = scratch(t)
    asked(s)
    await s.discern('r', ['test'])
    // What the other stores keep was looked at before.
    await s.discern('r', ['status'])
    const before = snapshot(s.path('r'))
    for (const args of [
      ['status'],
      ['checkpoints'],
      ['evaluate'],
      ['queue'],
      ['doctor'],
      ['grant', '--show'],
      ['patterns'],
      ['logbook', 'show'],
      ['logbook', 'stats'],
      ['logbook', 'path'],
      ['done', '--dry-run'],
      ['accept', '--dry-run'],
      ['update', '--dry-run'],
      ['grant', '--dry-run'],
      ['standards', '--dry-run'],
    ]) {
      await s.discern('r', args)
      assert.deepEqual(snapshot(s.path('r')), before, args.join(' '))
    }
  })
})

describe('what rides to the recorder', () => {
  it('is in the answer inside the process, survives a spread, and is in no JSON', async t => {
    const s = scratch(t)
    project(s)
    const { context } = await openScratch(t, s, 'r')
    const command = commands.find(({ name }) => name === 'test')
    assert.ok(command)
    const call = { flags: {}, operands: [], stdin: async () => Buffer.alloc(0) }
    const result = await runCommand(context, command, call, 'cli', true)
    assert.equal(recordingOf(result).validation?.state.complete, true)
    assert.equal(recordingOf({ ...result }).validation?.state.complete, true)
    assert.equal(recordingOf(JSON.parse(JSON.stringify(result))).validation, undefined)
    assert.doesNotMatch(JSON.stringify(result), /validation|digest|subject/)
  })
})

describe('a Logbook that cannot be written', () => {
  const sabotage: readonly (readonly [name: string, deed: (discern: string) => void])[] = [
    ['a file where its folder should be', discern => writeFileSync(`${discern}/logbook`, 'mine\n')],
    ['a link where its folder should be', discern => symlinkSync('/nowhere', `${discern}/logbook`)],
    [
      'a folder where the month should be',
      discern => mkdirSync(`${discern}/logbook/2026-01.jsonl`, { recursive: true }),
    ],
    [
      'a month that is a full device',
      discern => {
        mkdirSync(`${discern}/logbook`)
        symlinkSync('/dev/full', `${discern}/logbook/2026-01.jsonl`)
      },
    ],
    ['a key of the wrong size', discern => writeFileSync(`${discern}/validation-hmac-key`, 'short', { mode: 0o600 })],
    [
      'a key that others can read',
      discern => {
        writeFileSync(`${discern}/validation-hmac-key`, Buffer.alloc(32), { mode: 0o600 })
        chmodSync(`${discern}/validation-hmac-key`, 0o644)
      },
    ],
    ['a folder where the key should be', discern => mkdirSync(`${discern}/validation-hmac-key`)],
  ]

  it('changes no verdict, no exit code and no answer, green or red', async t => {
    const s = scratch(t)
    const outcome = async (name: string, deed?: (discern: string) => void): Promise<readonly unknown[]> => {
      project(s, name)
      change(s, name, 'feat', { g: '1\n' })
      mkdirSync(s.path(name, '.git/discern'))
      deed?.(s.path(name, '.git/discern'))
      const before = deed ? snapshot(s.path(name, '.git/discern')) : {}
      const green = await s.discern(name, ['done', '--json'])
      s.write(`${name}/broken`, '')
      s.commit(name, 'broken')
      const red = await s.discern(name, ['done', '--json'])
      const test = await s.discern(name, ['test', '--json'])
      const after = snapshot(s.path(name, '.git/discern'))
      for (const [path, value] of Object.entries(before)) assert.equal(after[path], value, `${path} is left alone`)
      const shown = ({ exit, result }: typeof green): readonly unknown[] => [
        exit,
        result.error,
        result.advisories,
        result.steps?.map(({ label, outcome }) => [label, outcome]),
      ]
      return [shown(green), shown(red), shown(test)]
    }
    const expected = await outcome('plain')
    assert.deepEqual(
      expected.map(one => (one as readonly unknown[])[0]),
      [0, 1, 1],
    )
    for (const [at, [name, deed]] of sabotage.entries()) {
      assert.deepEqual(await outcome(`r${at}`, deed), expected, name)
    }
  })
})
