/** `git discern patterns` as people and programs meet it: what it prints, what it never does, and what it cannot tell. */
import assert from 'node:assert/strict'
import { mkdirSync, rmSync } from 'node:fs'
import { describe, it } from 'node:test'
import type { LogbookEvent } from '../../src/logbook/event.ts'
import { writeLogbook } from '../bench/logbook.ts'
import { remembered } from '../bench/patterns.ts'
import { event, evidence, job, keyed, minute, red, step, times } from '../support/events.ts'
import { CONFIG, change, project } from '../support/project.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

const LOGBOOK = 'r/.git/discern/logbook'

const write = (s: Scratch, events: readonly LogbookEvent[], more = '', path = `${LOGBOOK}/2026-03.jsonl`): void => {
  s.write(path, events.map(one => `${JSON.stringify(one)}\n`).join('') + more)
}

/** One job that failed and passed on one state, and three red runs of one session. */
const flaky = (id = 'unit', branch = 'feat'): readonly LogbookEvent[] =>
  (['passed', 'failed', 'failed', 'failed'] as const).map((outcome, at) =>
    event({
      at: minute(at),
      branch,
      outcome: outcome === 'passed' ? 'ok' : 'failed',
      failed_stage: 'test',
      validation: evidence({ jobs: [job({ id, outcome })] }),
    }),
  )

describe('git discern patterns', () => {
  it('tells a person what to look into, then what is quiet, then what cannot be told yet', async t => {
    const s = scratch(t)
    project(s)
    write(s, flaky())
    const before = snapshot(s.path('r'))
    const run = await s.discern('r', ['patterns'])
    assert.equal(run.exit, 0, 'what it finds decides nothing')
    assert.equal(
      run.out,
      `2 to look into, from 4 events, 2026-03-01 to 2026-03-01

same-tree-flake: job unit
failed 3 and passed 1 of 4 times on one and the same state at commit cccccccccccc
  differs    outcome: failed, passed
  rests on   observed, git discern 1.2.0
  not known  not recorded: ignored files, external services, clocks, random seeds, runtime environment, concurrent external processes
  next       look in unit for what is not in the commit: time, order, chance, network, leftover files; until then its red says nothing about a change

done-thrash: branch feat
done was red 3 times in a row in one session, always in test
  differs    branch: feat; failed stage: test
  rests on   observed, git discern 1.2.0
  not known  what was changed between two runs is not recorded
  next       run git discern test until it is green, and done only then
too little to tell: execution-context-divergence (no job answered in two contexts on one state), recurring-red-job (0 of 5 failures of one job), loops-to-green (1 of 2 branches that got green), duration-creep (0 of 8 green runs of the whole gate), dominant-stage (0 of 8 green runs with durations), standard-trajectory (0 of 8 readings of one standard), landing-cycle-time (0 of 3 landings with a run before them), checkpoint-dead (1 of 8 efforts whose gate ran), checkpoint-noisy (1 of 8 efforts whose gate ran), checkpoint-varied (0 of 3 landings with one question)
`,
    )
    assert.deepEqual(snapshot(s.path('r')), before, 'nothing is written')
  })

  it('says the same as Markdown, and as one JSON result of a detector that was named', async t => {
    const s = scratch(t)
    project(s)
    write(s, [...flaky(), event({ at: minute(9), branch: 'b' }), event({ at: minute(9), branch: 'c' })])
    const markdown = await s.discern('r', ['patterns', '--markdown', 'done-thrash', 'loops-to-green'])
    assert.equal(
      markdown.out,
      `1 to look into, from 6 events, 2026-03-01 to 2026-03-01

## done-thrash: branch feat

done was red 3 times in a row in one session, always in test

- **differs**: branch: feat; failed stage: test
- **rests on**: observed, git discern 1.2.0
- **not known**: what was changed between two runs is not recorded
- **next**: run git discern test until it is green, and done only then

quiet: loops-to-green
`,
    )
    const { data, result } = await s.discern('r', ['patterns', '--json', 'done-thrash'])
    assert.deepEqual(result.hints, [])
    assert.deepEqual(data, {
      recording: 'on',
      population: {
        events: 6,
        counted: 6,
        left_out: {},
        from: '2026-03-01T09:00:00.000Z',
        to: '2026-03-01T09:09:00.000Z',
        writers: ['1.2.0'],
        verbs: [{ verb: 'done', ok: 3, failed: 3, partial: 0, refused: 0 }],
        evidence: { comparable: 4, not_comparable: { 'no-evidence': 2 }, incomplete: [] },
        torn: 0,
        foreign: 0,
      },
      unreadable: [],
      detectors: [
        {
          detector: 'done-thrash',
          family: 'behavior',
          question: 'does somebody run done red again and again?',
          threshold: 3,
          counts: 'runs of done in one session',
          status: 'fired',
          findings_total: 1,
          findings: [
            {
              about: 'branch feat',
              seen: 'done was red 3 times in a row in one session, always in test',
              next_action: 'run git discern test until it is green, and done only then',
              basis: {
                count: 3,
                denominator: 6,
                unit: 'runs of done in this session that were green or red',
                versions: ['1.2.0'],
                matched: [],
                differing: [
                  { condition: 'branch', values: ['feat'] },
                  { condition: 'failed stage', values: ['test'] },
                ],
                excluded: {},
                limitations: ['what was changed between two runs is not recorded'],
                evidence: 'observed',
              },
            },
          ],
        },
      ],
      investigations: [
        {
          detector: 'done-thrash',
          about: 'branch feat',
          next_action: 'run git discern test until it is green, and done only then',
        },
      ],
    })
  })

  it('shows with --stats what the Logbook holds, and runs no detector', async t => {
    const s = scratch(t)
    project(s)
    const doubled = event({ at: minute(20) })
    const state = {
      complete: false,
      digest: undefined,
      components: undefined,
      incomplete: [{ category: 'untracked', reason: 'path-limit' }],
    } as const
    write(
      s,
      [
        ...flaky(),
        doubled,
        doubled,
        event({ at: minute(30), verb: 'accept', outcome: 'partial', writer: '1.3.0' }),
        event({ at: minute(31), outcome: 'refused', error: 'on_trunk' }),
        event({ dry_run: true }),
        event({ driver: { json: true, tty: false, ci: true, agent_signals: [] } }),
        event({ at: minute(3000), verb: 'test', validation: evidence({ state }) }),
      ],
      '{"schema":1,"at":\nnot json\n{"schema":2}\n{"schema":1,"kind":"other"}\n\n',
    )
    const run = await s.discern('r', ['patterns', '--stats'])
    assert.equal(
      run.out,
      `  events         11, of them 8 counted, 2026-03-01 to 2026-03-03
  left out       dry runs 1, CI 1, second copies 1
  lines skipped  torn 2, foreign 2
  written by     git discern 1.2.0, 1.3.0
  evidence       comparable 4, no evidence 2, state incomplete 1
  incomplete     untracked/path-limit 1

verbs
  accept  partial 1
  done    ok 2, failed 3, refused 1
  test    ok 1
`,
    )
    const { data } = await s.discern('r', ['patterns', '--stats', '--json'])
    assert.deepEqual([data.detectors, data.investigations, data.population.torn], [[], [], 2])
    const loss = await s.discern('r', ['patterns', 'done-thrash'])
    assert.match(
      loss.out,
      /^left out: dry runs 1, CI 1, second copies 1; lines skipped: torn 2, foreign 2$/m,
      'what is lost is said beside the findings too',
    )
  })

  it('refuses a detector that is none as wrong usage, with the nearest one', async t => {
    const s = scratch(t)
    project(s)
    for (const [word, meant] of [
      ['same-tree-flakes', 'same-tree-flake'],
      ['flake', 'same-tree-flake'],
      ['Done-Trash', 'done-thrash'],
    ] as const) {
      const run = await s.discern('r', ['patterns', word, '--json'])
      assert.deepEqual([run.exit, run.result.error], [2, 'invalid_arguments'])
      assert.equal(
        run.result.message,
        `patterns: there is no detector ${JSON.stringify(word)}; did you mean "${meant}"?`,
      )
      assert.deepEqual(run.result.hints, [`git discern patterns ${meant}`])
    }
    const far = await s.discern('r', ['patterns', 'weather'])
    assert.match(far.err, /there is no detector "weather"; there is same-tree-flake, .*checkpoint-varied\n/)
  })

  it('says where nothing is recorded and what to do, and reads on', async t => {
    const s = scratch(t)
    project(s)
    const empty = await s.discern('r', ['patterns'])
    assert.equal(empty.out, 'the Logbook is empty here\nnext: git discern done   # every run of it is one event\n')
    assert.deepEqual([empty.exit, s.sh('r', 'ls .git/discern 2>&1').exit === 0], [0, false], 'no folder is made')
    s.write('r/discern.toml', `[project]\nrecord_logbook = false\n${CONFIG}`)
    const off = await s.discern('r', ['patterns'])
    assert.equal(
      off.out,
      'nothing is recorded: record_logbook is off in discern.toml\nthe Logbook is empty here\nnext: set [project].record_logbook = true in discern.toml to record again\n',
    )
    write(s, flaky())
    const still = await s.discern('r', ['patterns', 'done-thrash'])
    assert.match(still.out, /^nothing is recorded: .*\n1 to look into, from 4 events/)
    s.write('r/discern.toml', 'jobs = 3\n')
    const broken = await s.discern('r', ['patterns', 'done-thrash', 'checkpoint-dead'])
    assert.equal(broken.exit, 0)
    assert.match(broken.out, /^whether anything is recorded here is unknown: .*\n1 to look into/)
    rmSync(s.path('r/discern.toml'))
    assert.match(
      (await s.discern('r', ['patterns'])).out,
      /^nothing is recorded: this repository has no discern.toml\n/,
    )
    assert.deepEqual((await s.discern('r', ['patterns', '--json'])).result.hints, ['git discern setup'])
  })

  it('knows which checkpoints govern, reads every month and worktree, and says what it could not read', async t => {
    const s = scratch(t)
    project(s)
    s.write('r/discern.toml', `${CONFIG}[checkpoints.rollback]\npaths = ["m/**"]\nquestion = "?"\n`)
    s.commit('r', 'ask')
    s.git('r', 'worktree', 'add', '-q', '../wt', '-b', 'feat')
    write(
      s,
      times(4, at => event({ branch: `a${at}` })),
    )
    write(
      s,
      times(4, at => event({ branch: `b${at}` })),
      '',
      `${LOGBOOK}/2026-04.jsonl`,
    )
    mkdirSync(s.path(LOGBOOK, '2026-05.jsonl'))
    const run = await s.discern('wt', ['patterns', 'checkpoint-dead', '--json'])
    assert.deepEqual(
      run.data.detectors[0].findings.map(({ seen }: { seen: string }) => seen),
      ['fired in none of 8 efforts whose gate ran'],
    )
    s.sh('r', `rm -r .git/discern/logbook && ln -s /dev/null .git/discern/logbook`)
    const blocked = await s.discern('wt', ['patterns'])
    assert.equal(blocked.exit, 0)
    assert.match(blocked.out, /^the Logbook is empty here\nlogbook cannot be read: .*\n/)
  })

  it('reads a file of lines that is named, relative to where one stands, and refuses one that it cannot read', async t => {
    const s = scratch(t)
    project(s)
    write(s, flaky(), '', 'r/sub/archive.jsonl')
    const run = await s.discern('r/sub', ['patterns', '--logbook-file', 'archive.jsonl', 'done-thrash', '--json'])
    assert.deepEqual([run.data.population.counted, run.data.detectors[0].status], [4, 'fired'])
    const missing = await s.discern('r', ['patterns', '--logbook-file', 'archive.jsonl', '--json'])
    assert.deepEqual([missing.exit, missing.result.error], [1, 'invalid_value'])
    assert.match(
      missing.result.message ?? '',
      /^--logbook-file: expected a file with the lines of a Logbook, found .*ENOENT/,
    )
  })

  it('looks in a bare repository, and refuses outside of any', async t => {
    const s = scratch(t)
    s.git('.', 'init', '-q', '--bare', 'b.git')
    write(s, flaky(), '', 'b.git/discern/logbook/2026-03.jsonl')
    const run = await s.discern('b.git', ['patterns', 'done-thrash', '--json'])
    assert.deepEqual([run.exit, run.data.recording, run.data.detectors[0].status], [0, 'unknown', 'fired'])
    mkdirSync(s.path('none'))
    assert.equal((await s.discern('none', ['patterns', '--json'])).result.error, 'not_initialized')
  })

  it('escapes what a branch, a job or a file of lines may have chosen', async t => {
    const s = scratch(t)
    project(s)
    const id = 'u\u001b[31mnit\u202e`*_|<b>\n# x'
    const branch = 'feat/\u001b]0;x\u0007[a](b)'
    write(s, [
      ...flaky(id, branch),
      ...['a', 'b', 'c', 'd', 'e'].map(other =>
        red({ branch: `${branch}${other}`, steps: [step(id, { outcome: 'failed' })] }),
      ),
    ])
    const text = await s.discern('r', ['patterns'])
    assert.match(text.out, /^same-tree-flake: job u\\x1b\[31mnit\\u202e`\*_\|<b>\\x0a# x$/m)
    assert.match(text.out, /^recurring-red-job: job u\\x1b\[31mnit/m)
    assert.match(text.out, /^done-thrash: /m)
    assert.match(text.out, /branch: feat\/\\x1b\]0;x\\x07\[a\]\(b\)/)
    assert.doesNotMatch(text.out, /[\u001b\u202e\u0007]/)
    const markdown = await s.discern('r', ['patterns', '--markdown'])
    assert.match(
      markdown.out,
      /^## same-tree-flake: job u\\\\x1b\\\[31mnit\\\\u202e\\`\\\*\\_\\\|\\<b\\>\\\\x0a\\# x$/m,
    )
    assert.doesNotMatch(markdown.out, /[\u001b\u202e\u0007]|^# x|<b>|\]\(b\)/m)
  })

  it('case 92: sees in what done and test really recorded that a job answered otherwise on one state, and not after a change', async t => {
    const s = scratch(t)
    project(s)
    s.write('r/check.sh', 'test ! -e ../red\n')
    s.commit('r', 'a job that looks elsewhere')
    change(s, 'r', 'feat', { g: '1\n' })
    const run = async (verb: string, outcome: 'red' | 'green'): Promise<void> => {
      s.sh('.', outcome === 'red' ? ': >red' : 'rm -f red')
      const { result, out } = await s.discern('r', [verb, '--json', ...(verb === 'done' ? ['--rerun'] : [])])
      assert.equal(result.ok, outcome === 'green', out)
    }
    const look = async () => {
      const { data } = await s.discern('r', ['patterns', '--json', 'same-tree-flake', 'execution-context-divergence'])
      return data.detectors.map(({ detector, status, findings }: Loose) => [
        detector,
        status,
        ...findings.map(({ about, basis }: Loose) => `${about} ${basis.count}/${basis.denominator}`),
      ])
    }
    await run('done', 'red')
    s.write('r/g', '2\n')
    s.commit('r', 'a change')
    await run('done', 'green')
    assert.deepEqual(
      (await look()).map(([, status]: Loose) => status),
      ['insufficient-evidence', 'insufficient-evidence'],
      'red, a change, green is work',
    )
    await run('test', 'red')
    assert.deepEqual(await look(), [
      ['same-tree-flake', 'insufficient-evidence'],
      ['execution-context-divergence', 'fired', 'job test 1/2'],
    ])
    await run('done', 'red')
    assert.deepEqual(await look(), [
      ['same-tree-flake', 'fired', 'job test 1/2'],
      ['execution-context-divergence', 'quiet'],
    ])
    s.write('r/discern.toml', `${CONFIG}[scopes.docs]\npaths = ["docs/**"]\n`)
    s.commit('r', 'another configuration')
    await run('done', 'red')
    assert.deepEqual((await look())[0], ['same-tree-flake', 'fired', 'job test 1/2'])
  })

  it('keeps its memory as a Logbook grows, and looks through twenty thousand events in a moment', async t => {
    const s = scratch(t)
    project(s)
    const small = { events: 5_000, ...remembered(s, 'r', () => writeLogbook(s, 'r', 5_000)) }
    const large = { events: 20_000, ...remembered(s, 'r', () => writeLogbook(s, 'r', 20_000)) }
    for (const { events, data, ms } of [small, large]) {
      assert.equal(data.population.events, events)
      assert.ok(data.detectors.some(({ status }: { status: string }) => status === 'fired'))
      assert.ok(ms < 10_000, `${ms} ms`)
    }
    assert.ok(large.megabytes < 170, `${large.megabytes} MB`)
    assert.ok(large.megabytes - small.megabytes < 60, `${small.megabytes} MB became ${large.megabytes}`)
  })
})

describe('the digests of findings', () => {
  it('are short ones, so that no line of evidence can be looked up from a report', async t => {
    const s = scratch(t)
    project(s)
    write(s, flaky())
    const { out } = await s.discern('r', ['patterns', '--json', '--all'])
    assert.equal(out.includes(keyed('aa')), false)
    assert.ok(out.includes('"aa00000000000000"'))
  })
})
