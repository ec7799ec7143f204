/** `git discern logbook`: what a person and a program read of it, from anywhere in the repository, and what it asks before it acts. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { LogbookEvent } from '../../src/logbook/event.ts'
import { beginLine, lines, type Places, placesIn, verbEvent } from '../support/logbook.ts'
import { bundle, CONFIG } from '../support/project.ts'
import { projectRoot, type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

const HOSTILE = 'fe\u001b[31mat\n# ä\u202e`*'

const config = (sections: readonly string[]): LogbookEvent => ({
  schema: 1,
  at: '2025-11-03T00:00:00.000Z',
  kind: 'config-change',
  branch: 'feat',
  sections,
  epoch: '0123456789abcdef',
})

/** One event of each kind, in two months, with a torn and a foreign line. */
const writeBook = ({ folder }: Places): void => {
  mkdirSync(folder, { recursive: true })
  const write = (month: string, ...events: readonly (LogbookEvent | string)[]): void =>
    writeFileSync(
      join(folder, `${month}.jsonl`),
      events.map(event => `${typeof event === 'string' ? event : JSON.stringify(event)}\n`).join(''),
    )
  write(
    '2025-11',
    beginLine('i1', '2025-11-01T08:00:00.000Z'),
    verbEvent('i1', '2025-11-01T08:01:00.000Z', { duration_ms: 65_000 }),
    config(['gate', 'jobs']),
    '{"torn',
  )
  write(
    '2025-12',
    verbEvent('i2', '2025-12-01T00:00:00.000Z', {
      branch: HOSTILE,
      outcome: 'failed',
      error: 'gate_failed',
      failed_stage: 'test',
      duration_ms: 1234,
    }),
    '{"schema":2}',
    verbEvent('i3', '2025-12-02T00:00:00.000Z', {
      verb: 'accept',
      branch: null,
      outcome: 'refused',
      error: 'awaiting_consent',
    }),
    {
      schema: 1,
      at: '2025-12-03T00:00:00.000Z',
      kind: 'pin',
      branch: 'feat',
      standard: 'coverage',
      from: 80,
      to: 82.5,
      measured: 83,
    },
    {
      schema: 1,
      at: '2025-12-04T00:00:00.000Z',
      kind: 'prune',
      removed: [
        { file: '2023-11.jsonl', events: 7 },
        { file: '2023-12.jsonl', events: 1 },
      ],
    },
  )
}

const repositoryWithBook = (s: Scratch): Places => {
  s.init('r')
  s.write('r/discern.toml', CONFIG)
  const places = placesIn(s.path('r/.git'))
  writeBook(places)
  return places
}

const SHOWN = `  2025-11-01T08:00:00.000Z  done begins on feat
  2025-11-01T08:01:00.000Z  done ok on feat, 1m05s
  2025-11-03T00:00:00.000Z  configuration changed on feat: gate, jobs
  2025-12-01T00:00:00.000Z  done failed on fe\\x1b[31mat\\x0a# ä\\u202e\`*: gate_failed in test, 1.2s
  2025-12-02T00:00:00.000Z  accept refused on no branch: awaiting_consent, 0.0s
  2025-12-03T00:00:00.000Z  limit of coverage tightened on feat: 80 -> 82.5
  2025-12-04T00:00:00.000Z  dropped 2023-11.jsonl, 2023-12.jsonl: 8 events
skipped: 1 torn, 1 foreign
`

describe('git discern logbook show', () => {
  it('prints one line for each of the newest events, the newest last, with hostile names made harmless', async t => {
    const s = scratch(t)
    repositoryWithBook(s)
    const all = await s.discern('r', ['logbook', 'show'])
    assert.deepEqual([all.exit, all.err, all.out], [0, '', SHOWN])
    assert.equal((await s.discern('r', ['logbook', 'show', '--all'])).out, SHOWN)
    const two = await s.discern('r', ['logbook', 'show', '-n', '2'])
    assert.equal(
      two.out,
      `${SHOWN.split('\n').slice(5, 7).join('\n')}\nolder events are there: git discern logbook show --all\n`,
    )
    const one = await s.discern('r', ['logbook', 'show', '--verb', 'accept'])
    assert.equal(one.out, `${SHOWN.split('\n')[4]}\nskipped: 1 torn, 1 foreign\n`)
    const none = await s.discern('r', ['logbook', 'show', '--verb', 'd\u001b[2J'])
    assert.equal(none.out, 'the Logbook holds no events of d\\x1b[2J\nskipped: 1 torn, 1 foreign\n')
    assert.equal((await s.discern('r', ['logbook', 'show', '-q'])).out, '')
  })

  it('gives a program the events as they stand in the file', async t => {
    const s = scratch(t)
    const { folder } = repositoryWithBook(s)
    const { data } = await s.discern('r', ['logbook', 'show', '--count', '3', '--json'])
    const raw = lines(join(folder, '2025-12.jsonl')).filter(line => line !== '{"schema":2}')
    assert.deepEqual(data, {
      action: 'show',
      events: raw.slice(1).map(line => JSON.parse(line)),
      all: false,
      torn: 0,
      // Met while looking whether there is an older event.
      foreign: 1,
      unreadable: [],
    })
    const done = await s.discern('r', ['logbook', 'show', '--verb', 'done', '--json'])
    assert.deepEqual(
      done.data.events.map((event: { kind: string; invocation: string }) => `${event.kind} ${event.invocation}`),
      ['begin i1', 'verb i1', 'verb i2'],
    )
    assert.deepEqual([done.data.verb, done.data.all, done.data.torn, done.data.foreign], ['done', true, 1, 1])
  })

  it('is a list in Markdown that no name can break out of', async t => {
    const s = scratch(t)
    repositoryWithBook(s)
    const { out } = await s.discern('r', ['logbook', 'show', '--verb', 'done', '-n', '2', '--markdown'])
    const items = out.split('\n').filter(line => line.startsWith('- '))
    assert.equal(items.length, 2)
    assert.equal(items[0], '- **2025-11-01T08:01:00.000Z**: done ok on feat, 1m05s')
    assert.match(
      items[1] ?? '',
      /^- \*\*2025-12-01T00:00:00\.000Z\*\*: done failed on fe\\\\x1b\\\[31mat\\\\x0a\\# ä\\\\u202e\\`\\\*: /,
    )
  })

  it('says what the nearest right word is, and which option belongs where', async t => {
    const s = scratch(t)
    s.init('r')
    const cases: readonly (readonly [readonly string[], RegExp, string])[] = [
      [
        ['shwo'],
        /^logbook: expected one of show, stats, path, seal, reset, found shwo; did you mean "show"\?$/,
        'show',
      ],
      [['\u001b[2J'], /found .*\[2J$/, 'show'],
      [['constructor'], /found constructor$/, 'show'],
      [['seal', '--all'], /--all belongs to show$/, 'seal'],
      [['path', '--dry-run'], /--dry-run belongs to seal and reset$/, 'path'],
      [['show', '-n', '0'], /--count needs a number from 1 to 10000, found 0$/, 'show --count 50'],
      [['show', '-n', '2.5'], /found 2\.5$/, 'show --count 50'],
      [['show', '-n', '10001'], /found 10001$/, 'show --count 50'],
      [['show', '-n', 'x'], /found x$/, 'show --count 50'],
      [['show', '--all', '-n', '2'], /--all and --count exclude each other$/, 'show'],
    ]
    for (const [args, message, next] of cases) {
      const run = await s.discern('r', ['logbook', ...args, '--json'])
      assert.deepEqual(
        [run.exit, run.result.error, run.result.hints],
        [2, 'invalid_arguments', [`git discern logbook ${next}`]],
      )
      assert.match(run.result.message ?? '', message)
      const text = await s.discern('r', ['logbook', ...args])
      assert.doesNotMatch(text.err, /\u001b/)
    }
    for (const args of [[], ['show', 'stats']]) {
      assert.equal((await s.discern('r', ['logbook', ...args, '--json'])).exit, 2, args.join(' '))
    }
  })
})

describe('git discern logbook stats', () => {
  it('counts months, kinds, verbs and outcomes, and says what it skipped and whether anything is recorded', async t => {
    const s = scratch(t)
    const { folder, archives, recovery } = repositoryWithBook(s)
    writeFileSync(join(folder, 'x\u001b[1m'), '')
    writeFileSync(join(folder, 'epoch.json'), '{}')
    s.write(join(archives, 'logbook-20250101T000000Z.jsonl'), 'x'.repeat(3 << 19))
    s.write(join(archives, 'of-somebody-else.jsonl'), 'x')
    mkdirSync(join(recovery, '20250102T000000Z-1'), { recursive: true })
    const { out } = await s.discern('r', ['logbook', 'stats'])
    assert.equal(
      out,
      `the Logbook holds 7 events in 2 months, 1.3 KiB
  folder     ${folder}
  recording  on
  oldest     2025-11-01T08:00:00.000Z
  newest     2025-12-04T00:00:00.000Z
  skipped    1 torn, 1 foreign
  ignored    x\\x1b[1m
  pending    ${join(recovery, '20250102T000000Z-1')}: an interrupted seal; git discern logbook seal finishes it

months
  2025-11.jsonl  3 events, 555 bytes, 1 torn
  2025-12.jsonl  4 events, 775 bytes, 1 foreign

kinds
  begin          1
  config-change  1
  pin            1
  prune          1
  verb           3

verbs
  done    2: 1 ok, 1 failed
  accept  1: 1 refused

archives
  1.5 MiB  ${join(archives, 'logbook-20250101T000000Z.jsonl')}
`,
    )
    const program = await s.discern('r', ['logbook', 'stats', '--json'])
    assert.deepEqual(program.data, {
      action: 'stats',
      path: folder,
      recording: { known: true },
      bytes: 1330,
      events: 7,
      torn: 1,
      foreign: 1,
      kinds: { begin: 1, 'config-change': 1, pin: 1, prune: 1, verb: 3 },
      verbs: [
        { verb: 'done', count: 2, ok: 1, failed: 1 },
        { verb: 'accept', count: 1, refused: 1 },
      ],
      oldest: '2025-11-01T08:00:00.000Z',
      newest: '2025-12-04T00:00:00.000Z',
      files: [
        { name: '2025-11.jsonl', bytes: 555, events: 3, torn: 1, foreign: 0 },
        { name: '2025-12.jsonl', bytes: 775, events: 4, torn: 0, foreign: 1 },
      ],
      unreadable: [],
      others: ['x\u001b[1m'],
      archives: [{ path: join(archives, 'logbook-20250101T000000Z.jsonl'), bytes: 3 << 19 }],
      pending: [join(recovery, '20250102T000000Z-1')],
    })
    const markdown = await s.discern('r', ['logbook', 'stats', '--markdown'])
    assert.match(markdown.out, /^the Logbook holds 7 events in 2 months/)
    assert.match(markdown.out, /\n## verbs\n\n- \*\*done\*\*: 2: 1 ok, 1 failed\n- \*\*accept\*\*: 1: 1 refused\n/)
    for (const [text, expected] of [
      [`${CONFIG}[project]\nrecord_logbook = false\n`, { known: false }],
      [`${CONFIG}[project]\nlogbook = false\n`, { known: false }],
      [undefined, { unavailable: 'there is no discern.toml here' }],
    ] as const) {
      if (text === undefined) s.git('r', 'clean', '-fq')
      else s.write('r/discern.toml', text)
      assert.deepEqual((await s.discern('r', ['logbook', 'stats', '--json'])).data.recording, expected)
    }
    s.write('r/discern.toml', '= broken')
    const broken = await s.discern('r', ['logbook', 'stats', '--json'])
    assert.match(broken.data.recording.unavailable, /^discern\.toml:1: /)
    assert.match((await s.discern('r', ['logbook', 'stats'])).out, /\n {2}recording {2}unknown: discern\.toml:1: /)
  })

  it('is short about a Logbook that is not there, or cannot be read', async t => {
    const s = scratch(t)
    s.init('r')
    const empty = await s.discern('r', ['logbook', 'stats'])
    assert.match(
      empty.out,
      /^the Logbook is empty\n {2}folder {5}\/.*\/r\/\.git\/discern\/logbook\n {2}recording {2}unknown/,
    )
    assert.equal((await s.discern('r', ['logbook', 'show'])).out, 'the Logbook holds no events\n')
    s.write('r/.git/discern/logbook', 'a file\n')
    for (const action of ['stats', 'show']) {
      const run = await s.discern('r', ['logbook', action])
      assert.equal(run.exit, 0)
      assert.match(run.out, /\nlogbook cannot be read: .* is not a directory\n$/)
    }
    for (const action of ['seal', 'reset']) {
      const run = await s.discern('r', ['logbook', action, '--json'], { confirm: async () => true })
      assert.deepEqual([run.exit, run.result.error], [1, 'store_unreadable'])
    }
    assert.equal(s.read('r/.git/discern/logbook'), 'a file\n')
  })
})

describe('git discern logbook path', () => {
  it('prints the folder alone, the same one from every worktree, a bare repository and its git directory', async t => {
    const s = scratch(t)
    const { folder } = repositoryWithBook(s)
    s.git('r', 'worktree', 'add', '-q', '../w t', '-b', 'other')
    s.write('r/sub/f', '')
    for (const cwd of ['r', 'r/sub', 'w t', 'r/.git']) {
      const run = await s.discern(cwd, ['logbook', 'path'])
      assert.deepEqual([run.exit, run.out, run.err], [0, `${folder}\n`, ''], cwd)
      const shown = await s.discern(cwd, ['logbook', 'show'])
      assert.equal(shown.out, SHOWN, cwd)
    }
    assert.equal(s.sh('w t', 'cd "$(git discern logbook path)" && pwd').out, `${folder}\n`)
    assert.deepEqual((await s.discern('r', ['logbook', 'path', '--json'])).data, {
      action: 'path',
      path: folder,
      exists: true,
    })
    s.git('.', 'init', '-q', '--bare', 'b.git')
    const bare = placesIn(s.path('b.git'))
    assert.deepEqual((await s.discern('b.git', ['logbook', 'path', '--json'])).data, {
      action: 'path',
      path: bare.folder,
      exists: false,
    })
    writeBook(bare)
    assert.equal((await s.discern('b.git', ['logbook', 'show'])).out, SHOWN)
    const stats = await s.discern('b.git', ['logbook', 'stats', '--json'])
    assert.deepEqual(stats.data.recording, { unavailable: 'there is no work tree here' })
    assert.equal((await s.discern('b.git', ['logbook', 'seal'], { confirm: async () => true })).exit, 0)
    const outside = await s.discern('home', ['logbook', 'path', '--json'])
    assert.deepEqual([outside.exit, outside.result.error], [1, 'not_initialized'])
  })

  it('writes as little as show and stats do: nothing', async t => {
    const s = scratch(t)
    const { folder } = repositoryWithBook(s)
    symlinkSync('/etc/hostname', join(folder, '2025-10.jsonl'))
    const before = snapshot(s.path('r'))
    for (const action of ['show', 'stats', 'path']) {
      assert.equal((await s.discern('r', ['logbook', action])).exit, 0)
      assert.equal((await s.discern('r', ['logbook', action, '--json'])).exit, 0)
    }
    for (const action of ['seal', 'reset']) {
      const dry = await s.discern('r', ['logbook', action, '--dry-run', '--json'])
      assert.equal(dry.result.plan?.[0]?.disposition, 'run')
      assert.equal((await s.discern('r', ['logbook', action, '--json'])).result.error, 'terminal_yes_required')
    }
    assert.deepEqual(snapshot(s.path('r')), before)
  })
})

describe('git discern logbook seal and reset', () => {
  const ask = (s: Scratch, action: string, answer: boolean, questions: string[] = []) =>
    s.discern('r', ['logbook', action], {
      confirm: async question => {
        questions.push(question)
        return answer
      },
    })
  const told = ({ events }: Awaited<ReturnType<typeof ask>>): readonly string[] =>
    events.flatMap(event => (event.kind === 'note' ? [event.text] : []))
  const SEALING = 'sealing moves 2 months (2025-11 to 2025-12) of the Logbook into an archive'
  const RESETTING = 'resetting deletes 2 months (2025-11 to 2025-12) of the Logbook for good'
  const next = (action: string): readonly string[] => [
    `at an interactive terminal, outside CI: git discern logbook ${action}`,
    `to see what would happen: git discern logbook ${action} --dry-run`,
  ]
  const refusal = (deed: string, found: string, action: string): string =>
    [
      `git discern: ${deed}: expected a yes at an interactive terminal, found ${found}; everything is kept`,
      ...next(action).map(hint => `  next: ${hint}`),
      '',
    ].join('\n')

  it('say what will happen, take a no for a no, and act on a yes', async t => {
    const s = scratch(t)
    const { folder, archives } = repositoryWithBook(s)
    const questions: string[] = []
    const no = await ask(s, 'seal', false, questions)
    assert.deepEqual(told(no), [SEALING, `patterns and show no longer see these events in ${archives}`])
    assert.deepEqual([no.exit, no.out, no.err], [1, '', refusal(SEALING, 'none', 'seal')])
    assert.equal(existsSync(archives), false)
    const yes = await ask(s, 'seal', true, questions)
    assert.equal(yes.exit, 0, yes.err)
    assert.match(readdirSync(archives).join(), /^logbook-20260102T000000Z\.jsonl$/)
    assert.equal(existsSync(folder), false)
    writeBook({ folder } as Places)
    const kept = await ask(s, 'reset', false, questions)
    assert.deepEqual(told(kept), [
      RESETTING,
      'what was sealed stays',
      'to keep the events and begin anew: git discern logbook seal',
    ])
    assert.deepEqual([kept.exit, kept.out, kept.err], [1, '', refusal(RESETTING, 'none', 'reset')])
    assert.equal(readdirSync(folder).length, 2)
    const gone = await ask(s, 'reset', true, questions)
    assert.equal(
      gone.out,
      'deleted 2025-11.jsonl, 2025-12.jsonl\nwhat was sealed stays: git discern logbook stats\n',
      gone.err,
    )
    assert.deepEqual([readdirSync(folder), readdirSync(archives).length], [[], 1])
    assert.deepEqual(questions, [
      'Seal the Logbook?',
      'Seal the Logbook?',
      'Delete the Logbook?',
      'Delete the Logbook?',
    ])
  })

  it('ask nobody in a pipe, in CI, for a program or on the word of an option, even where a yes could be had', async t => {
    const s = scratch(t)
    const { folder } = repositoryWithBook(s)
    const before = snapshot(s.path('r'))
    let asked = 0
    const confirm = async (): Promise<boolean> => {
      asked += 1
      return true
    }
    // A verb that has begun is no reason to wait for what is refused anyway.
    const begun = `${beginLine('x', '2026-01-01T23:59:00.000Z')}\n`
    for (const [action, deed] of [
      ['seal', SEALING],
      ['reset', RESETTING],
    ] as const) {
      for (const CI of ['true', '1', 'yes']) {
        const ci = await s.discern('r', ['logbook', action], { env: { CI }, confirm })
        assert.deepEqual([ci.exit, ci.out, ci.err], [1, '', refusal(deed, 'the variable CI', action)], CI)
      }
      const pipe = await s.discern('r', ['logbook', action])
      assert.deepEqual([pipe.exit, pipe.out, pipe.err], [1, '', refusal(deed, 'a pipe or file', action)])
      const both = await s.discern('r', ['logbook', action], { env: { CI: 'true' } })
      assert.equal(both.err, refusal(deed, 'the variable CI and a pipe or file', action))
      const json = await s.discern('r', ['logbook', action, '--json'], { confirm })
      assert.deepEqual([json.exit, json.result.error], [1, 'terminal_yes_required'])
      assert.match(
        json.result.message ?? '',
        /: expected a yes at an interactive terminal, found --json; everything is kept$/,
      )
      assert.deepEqual(json.result.hints, next(action))
      const markdown = await s.discern('r', ['logbook', action, '--markdown'], { confirm })
      assert.equal(markdown.exit, 1)
      assert.match(markdown.out, /found \\?-\\?-markdown; everything is kept/)
      const option = await s.discern('r', ['logbook', action, '--confirmed', '--json'], { confirm })
      assert.deepEqual([option.exit, option.result.error], [2, 'invalid_arguments'])
      assert.match(option.result.message ?? '', /unknown option --confirmed$/)
      writeFileSync(join(folder, '2026-01.jsonl'), begun)
      const busy = await s.discern('r', ['logbook', action, '--json'], { confirm })
      assert.equal(busy.result.error, 'terminal_yes_required')
      rmSync(join(folder, '2026-01.jsonl'))
    }
    assert.equal(asked, 0)
    assert.deepEqual(snapshot(s.path('r')), before)
    for (const CI of ['', '0', 'false', 'FALSE']) {
      const run = await s.discern('r', ['logbook', 'seal'], {
        env: { CI },
        confirm: async () => {
          asked += 1
          return false
        },
      })
      assert.equal(run.err, refusal(SEALING, 'none', 'seal'), CI)
    }
    assert.equal(asked, 4)
  })

  it('of the real program take a typed yes for a yes, and keep everything on Enter, the end of input or anything else', async t => {
    const s = scratch(t)
    const { folder, archives } = repositoryWithBook(s)
    const [node, script] = bundle
    const terminal = ['-r', join(projectRoot, 'test/support/terminal.cjs')]
    const before = snapshot(s.path('r'))
    const type = (input: string, at: readonly string[], args: readonly string[], env = {}) =>
      s.exec('r', node, [...at, script, 'logbook', ...args], { input, env: { TERM: 'dumb', ...env } })
    for (const action of ['seal', 'reset']) {
      for (const input of ['\n', '', 'n\n', 'yess\n', 'Seal\n']) {
        const kept = type(input, terminal, [action])
        assert.deepEqual([kept.exit, kept.out], [1, ''], JSON.stringify(input))
        assert.match(kept.err, / the Logbook\? \[y\/N\] /)
        assert.match(kept.err, /found none; everything is kept\n/)
      }
      // Asking for silence is not asking to be asked blindly.
      assert.match(type('\n', terminal, [action, '-q']).err, / of the Logbook[\s\S]* the Logbook\? \[y\/N\] /)
      for (const [found, at, args, env] of [
        ['a pipe or file', [], [action], {}],
        ['the variable CI', terminal, [action], { CI: 'true' }],
        ['--json', terminal, [action, '--json'], {}],
        ['--json', [], [action, '--json'], {}],
      ] as const) {
        const refused = type('y\n', at, args, env)
        assert.equal(refused.exit, 1, found)
        assert.doesNotMatch(refused.err, /\[y\/N\]/)
        assert.ok(`${refused.out}${refused.err}`.includes(`found ${found}; everything is kept`), refused.err)
      }
    }
    assert.deepEqual(snapshot(s.path('r')), before)
    const sealed = type('y\n', terminal, ['seal'])
    assert.equal(sealed.exit, 0, sealed.err)
    assert.match(sealed.out, /^sealed 1\.\d KiB into /)
    assert.deepEqual([existsSync(folder), readdirSync(archives).length], [false, 1])
    writeBook({ folder } as Places)
    const gone = type('YES\n', terminal, ['reset'], { CI: 'false' })
    assert.equal(gone.exit, 0, gone.err)
    assert.deepEqual([readdirSync(folder), readdirSync(archives).length], [[], 1])
  })

  it('refuse when a verb begins while the question waits for its answer', async t => {
    const s = scratch(t)
    const { folder } = repositoryWithBook(s)
    for (const action of ['seal', 'reset']) {
      const begun = `${beginLine(action, '2026-01-01T23:59:00.000Z')}\n`
      const run = await s.discern('r', ['logbook', action], {
        confirm: async () => {
          writeFileSync(join(folder, '2026-01.jsonl'), begun)
          return true
        },
      })
      assert.equal(run.exit, 1, action)
      assert.match(run.err, /^git discern: git discern done began at 2026-01-01T23:59:00\.000Z and has not ended; /)
      assert.equal(s.read(join(folder, '2026-01.jsonl')), begun)
      assert.equal(readdirSync(folder).length, 3)
      rmSync(join(folder, '2026-01.jsonl'))
    }
  })

  it('speak plainly of what was done, planned, or not there', async t => {
    const s = scratch(t)
    const { folder, archives, recovery } = repositoryWithBook(s)
    const text = async (...args: readonly string[]): Promise<string> => {
      const run = await s.discern('r', ['logbook', ...args])
      return run.out + run.err
    }
    const agreed = async (action: string): Promise<string> => {
      const run = await ask(s, action, true)
      return run.out + run.err
    }
    assert.equal(await text('seal', '--dry-run'), `would do this: ${SEALING}\n`)
    assert.equal(await text('reset', '--dry-run'), `would do this: ${RESETTING}\n`)
    assert.match(
      await agreed('seal'),
      new RegExp(`^sealed 1\\.\\d KiB into ${archives}/logbook-20260102T000000Z\\.jsonl\n$`),
    )
    assert.equal(await text('seal'), 'the Logbook is empty; nothing was sealed\n')
    assert.equal(await text('seal', '--dry-run'), 'there is nothing to do\n')
    assert.equal(await text('reset', '--dry-run'), 'there is nothing to do\n')
    assert.equal(
      await text('reset'),
      'the Logbook is empty; nothing was deleted\nwhat was sealed stays: git discern logbook stats\n',
    )
    assert.equal(
      await text('reset', '--markdown'),
      'the Logbook is empty; nothing was deleted\n\nwhat was sealed stays: git discern logbook stats\n',
    )
    s.write(join(folder, '2025-12.jsonl'), `${JSON.stringify(verbEvent('one'))}\n`)
    assert.equal(await agreed('reset'), 'deleted 2025-12.jsonl\nwhat was sealed stays: git discern logbook stats\n')
    mkdirSync(join(recovery, '20250102T000000Z'), { recursive: true })
    writeFileSync(join(recovery, '20250102T000000Z', '2025-01.jsonl'), `${JSON.stringify(verbEvent('old'))}\n`)
    assert.equal(
      await text('seal'),
      refusal('sealing archives what an interrupted seal left', 'a pipe or file', 'seal'),
    )
    assert.match(await agreed('seal'), /^sealed 193 bytes into .*logbook-20250102T000000Z\.jsonl\n$/)
    assert.equal(existsSync(recovery), false)
  })
})
