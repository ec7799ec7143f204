import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import fc from 'fast-check'
import type { ChangedFile } from '../../src/change/facts.ts'
import { parseMatches, runWhen, type WhenOutcome, type WhenRequest } from '../../src/checkpoint/when.ts'
import { runCommand } from '../../src/gate/job.ts'
import { noProc, oddDuration, running, until } from '../support/gate.ts'
import { changed } from '../support/question.ts'
import { type Scratch, scratch } from '../support/scratch.ts'

const FILES: readonly ChangedFile[] = [
  changed('src/b.ts', { kind: 'added', insertions: 4, deletions: 1 }),
  changed('src/a.ts', { binary: { known: true }, insertions: 0 }),
  changed('odd\n"name\udcff', { kind: 'deleted', insertions: 0, deletions: 2 }),
]
const SORTED = ['odd\n"name\udcff', 'src/a.ts', 'src/b.ts']

let runs = 0
interface Options extends Partial<WhenRequest> {
  readonly signal?: AbortSignal
  readonly cwd?: string
}

/** Runs a command through the real supervisor, and says what is left in the folder of the inputs. */
const run = async (
  t: TestContext,
  command: string,
  { signal, cwd, ...more }: Options = {},
): Promise<{ readonly s: Scratch; readonly outcome: WhenOutcome; readonly left: readonly string[] }> => {
  const s = scratch(t)
  const folder = s.path('when-input')
  runs += 1
  const marker = `when-${process.pid}-${runs}.1`
  const outcome = await runWhen({
    definition: { id: 'q', mode: 'stop' },
    command,
    policyCommit: 'c'.repeat(40),
    files: FILES,
    related: [
      { kind: 'similar_existing', forPath: 'src/b.ts', path: 'src/b2.ts' },
      { kind: 'similar_existing', forPath: 'src/a.ts', path: 'src/a2.ts' },
    ],
    history: undefined,
    folder,
    now: new Date(),
    run: ({ outputBytes, ...call }) =>
      runCommand({
        ...call,
        cwd: cwd ?? s.dir,
        env: { ...s.env, OUT: s.path('out') },
        marker,
        signal: signal ?? new AbortController().signal,
        now: () => new Date(),
        overflow: 'stop',
        daemons: 'stop',
        limits: { graceMs: 200, drainMs: 150, outputBytes },
      }),
    ...more,
  })
  return { s, outcome, left: existsSync(folder) ? readdirSync(folder) : [] }
}

const reasonOf = ({ outcome }: { readonly outcome: WhenOutcome }): string =>
  outcome.kind === 'indeterminate' ? outcome.reason : outcome.kind

describe('the input of a when command', () => {
  it('is one line of JSON with exactly the published members, sorted, in a private file', async t => {
    const { s, outcome, left } = await run(
      t,
      'cat "$DISCERN_CHECKPOINT_INPUT" > "$OUT"; stat -c %a "$DISCERN_CHECKPOINT_INPUT" "$(dirname "$DISCERN_CHECKPOINT_INPUT")" >> "$OUT"; echo "$DISCERN_CHECKPOINT_INPUT" >> "$OUT"',
      { history: { count: 2, fingerprint: 'f'.repeat(64) } },
    )
    assert.equal(outcome.kind, 'fires')
    const [json = '', fileMode, folderMode, path = ''] = s.read('out').split('\n')
    assert.deepEqual(JSON.parse(json), {
      version: 1,
      checkpoint: { id: 'q', mode: 'stop' },
      policy_commit: 'c'.repeat(40),
      changed_files: [
        { path: '"odd\\n\\"name\\377"', kind: 'deleted', insertions: 0, deletions: 2, binary: false },
        { path: 'src/a.ts', kind: 'modified', insertions: 0, deletions: 0, binary: true },
        { path: 'src/b.ts', kind: 'added', insertions: 4, deletions: 1, binary: false },
      ],
      history: { count: 2, fingerprint: 'f'.repeat(64) },
    })
    assert.deepEqual([fileMode, folderMode], ['600', '700'])
    assert.ok(path.startsWith(s.path('when-input/')))
    assert.equal(existsSync(path), false)
    assert.deepEqual(left, [])
  })

  it('has no history where none is known', async t => {
    const { s } = await run(t, 'cat "$DISCERN_CHECKPOINT_INPUT" > "$OUT"')
    assert.deepEqual(Object.keys(JSON.parse(s.read('out'))), [
      'version',
      'checkpoint',
      'policy_commit',
      'changed_files',
    ])
  })

  it('leaves nothing of runs that were killed more than a day ago', async t => {
    const s = scratch(t)
    const folder = s.path('inputs')
    for (const name of ['run-old', 'run-new', 'foreign']) mkdirSync(join(folder, name), { recursive: true })
    for (const name of ['run-old', 'foreign']) utimesSync(join(folder, name), 1000, 1000)
    await run(t, 'exit 10', { folder })
    assert.deepEqual(readdirSync(folder).sort(), ['foreign', 'run-new'])
  })
})

describe('a when command', () => {
  it('fires with exit 0 over the whole structural set', async t => {
    const { outcome, left } = await run(t, 'exit 0')
    assert.deepEqual(outcome, {
      kind: 'fires',
      matched: SORTED,
      related: [
        { kind: 'similar_existing', forPath: 'src/b.ts', path: 'src/b2.ts' },
        { kind: 'similar_existing', forPath: 'src/a.ts', path: 'src/a2.ts' },
      ],
    })
    assert.deepEqual(left, [])
  })

  it('narrows the matched set and its relations by what it names', async t => {
    const { outcome } = await run(t, "echo 'DISCERN_MATCH ./src/b.ts'; echo 'DISCERN_MATCH nowhere' >&2")
    assert.deepEqual(outcome, {
      kind: 'fires',
      matched: ['src/b.ts'],
      related: [{ kind: 'similar_existing', forPath: 'src/b.ts', path: 'src/b2.ts' }],
    })
  })

  it('cannot admit a path, and keeps the structural set when nothing that it names survives', async t => {
    const { outcome } = await run(t, "echo 'DISCERN_MATCH src/b2.ts'; echo 'DISCERN_MATCH /etc/passwd'")
    assert.deepEqual(outcome.kind === 'fires' && outcome.matched, SORTED)
  })

  it('passes with exit 10, whatever it prints', async t => {
    const { outcome, left } = await run(t, "echo 'DISCERN_MATCH src/a.ts'; exit 10")
    assert.deepEqual(outcome, { kind: 'passes' })
    assert.deepEqual(left, [])
  })

  for (const exit of [1, 2, 9, 11, 126, 127, 255]) {
    it(`decides nothing with exit ${exit}`, async t => {
      const ended = await run(t, `exit ${exit}`)
      assert.equal(reasonOf(ended), 'when_invalid_exit')
      assert.deepEqual(ended.left, [])
    })
  }

  it('decides nothing when a signal ends it', async t => {
    const { outcome, left } = await run(t, 'kill -KILL $$')
    assert.deepEqual(outcome, {
      kind: 'indeterminate',
      reason: 'when_invalid_exit',
      account: 'the command was ended by SIGKILL; 0 fires and 10 passes',
    })
    assert.deepEqual(left, [])
  })

  it('case 82: a hung command and all it started end with its time', { skip: noProc }, async t => {
    const odd = oddDuration(t)
    const since = performance.now()
    const ended = await run(
      t,
      `trap '' TERM; sleep ${odd} & setsid sleep ${odd} & nohup sleep ${odd} >/dev/null 2>&1 & echo 'DISCERN_MATCH src/a.ts'; sleep ${odd}; sleep ${odd}`,
      { limits: { timeoutMs: 500 } },
    )
    assert.ok(performance.now() - since < 9000)
    assert.equal(reasonOf(ended), 'when_timeout')
    assert.deepEqual(ended.left, [])
    assert.deepEqual(running(odd), [])
  })

  it('case 82: is not waited for by whoever it left behind with the pipe', { skip: noProc }, async t => {
    const odd = oddDuration(t)
    const since = performance.now()
    const ended = await run(t, `setsid sleep ${odd} & sleep ${odd} & echo 'DISCERN_MATCH src/a.ts'; exit 0`)
    assert.ok(performance.now() - since < 9000)
    assert.deepEqual(ended.outcome.kind === 'fires' && ended.outcome.matched, ['src/a.ts'])
    assert.deepEqual(ended.left, [])
    assert.deepEqual(running(odd), [])
  })

  it('case 82: is ended by a flood, long before it has printed a gigabyte', async t => {
    const since = performance.now()
    const ended = await run(t, 'head -c 1000000000 /dev/zero; exit 0')
    assert.ok(performance.now() - since < 9000)
    assert.equal(reasonOf(ended), 'when_output_limit')
    assert.deepEqual(ended.left, [])
  })

  it('may print exactly as much as is kept, and not one byte more', async t => {
    assert.equal(reasonOf(await run(t, 'head -c 262144 /dev/zero; exit 10')), 'passes')
    assert.equal(reasonOf(await run(t, 'head -c 262145 /dev/zero; exit 10')), 'when_output_limit')
  })

  it('case 83: is ended by an interrupt, with its input gone before anybody hears of it', { skip: noProc }, async t => {
    const odd = oddDuration(t)
    const aborter = new AbortController()
    const ended = run(t, `sleep ${odd}`, { signal: aborter.signal })
    await until(() => running(odd).length > 0, 'the command runs')
    aborter.abort()
    assert.equal(reasonOf(await ended), 'when_cancelled')
    assert.deepEqual((await ended).left, [])
    assert.deepEqual(running(odd), [])
  })

  it('that cannot be started decides nothing', async t => {
    const ended = await run(t, 'exit 0', { cwd: '/nowhere/at/all' })
    assert.equal(reasonOf(ended), 'when_spawn_failed')
    assert.deepEqual(ended.left, [])
  })

  it('does not run where its input cannot be written', async t => {
    const s = scratch(t)
    const { s: other, outcome } = await run(t, 'touch "$OUT"', { folder: join(s.write('file', ''), 'below') })
    assert.equal(outcome.kind === 'indeterminate' && outcome.reason, 'when_input_failed')
    assert.match(outcome.kind === 'indeterminate' ? outcome.account : '', /ENOTDIR/)
    assert.equal(existsSync(other.path('out')), false)
  })

  it('does not run for content of which nobody knows whether it is binary', async t => {
    const ended = await run(t, 'touch "$OUT"', { files: [changed('link', { binary: { unavailable: 'unreadable' } })] })
    assert.equal(reasonOf(ended), 'when_input_failed')
    assert.equal(existsSync(ended.s.path('out')), false)
  })

  it('may remove its input, and leave other things in its place', async t => {
    const ended = await run(
      t,
      'd=$(dirname "$DISCERN_CHECKPOINT_INPUT"); rm "$DISCERN_CHECKPOINT_INPUT"; mkdir -p "$d/x/y"',
    )
    assert.equal(reasonOf(ended), 'fires')
    assert.deepEqual(ended.left, [])
    const whole = await run(t, 'rm -rf "$(dirname "$DISCERN_CHECKPOINT_INPUT")"; exit 10')
    assert.equal(reasonOf(whole), 'passes')
  })

  it('cannot have the content of another folder removed in place of its input', async t => {
    const ended = await run(
      t,
      'd=$(dirname "$DISCERN_CHECKPOINT_INPUT"); mkdir "$OUT"; touch "$OUT/keep"; rm -r "$d"; ln -s "$OUT" "$d"; exit 10',
    )
    assert.equal(reasonOf(ended), 'passes')
    assert.deepEqual(ended.left, [])
    assert.equal(existsSync(ended.s.path('out/keep')), true)
  })

  for (const [how, command] of [
    ['moved its input away', 'mv "$DISCERN_CHECKPOINT_INPUT" "$OUT"; exit 10'],
    ['gave its input a second name', 'ln "$DISCERN_CHECKPOINT_INPUT" "$OUT"; exit 1'],
    ['moved the folder of its input', 'mv "$(dirname "$DISCERN_CHECKPOINT_INPUT")" "$OUT"; sleep 60'],
  ] as const) {
    it(`decides nothing, whatever else happened, when it ${how}`, async t => {
      const ended = await run(t, command, { limits: { timeoutMs: 1500 } })
      assert.equal(reasonOf(ended), 'when_input_cleanup_failed')
      assert.equal(statSync(ended.s.path('out')).nlink > 0, true)
    })
  }

  it('decides nothing when a process of it cannot be ended', async t => {
    const { outcome, left } = await run(t, 'unused', {
      run: async () => ({
        exitCode: 0,
        signal: null,
        timedOut: true,
        cancelled: false,
        spawnFailed: undefined,
        outputLimit: true,
        output: Buffer.alloc(0),
        survivors: [{ pid: 7, command: 'stuck' }],
      }),
    })
    assert.deepEqual(outcome, {
      kind: 'indeterminate',
      reason: 'when_input_cleanup_failed',
      account: 'process 7 (stuck) of the command lives on',
    })
    assert.deepEqual(left, [])
  })

  it('leaves no input when whoever runs it has a defect', async t => {
    const s = scratch(t)
    const folder = s.path('inputs')
    let seen = ''
    await assert.rejects(
      run(t, 'unused', {
        folder,
        run: async ({ extra }) => {
          seen = readFileSync(extra['DISCERN_CHECKPOINT_INPUT'] ?? '', 'utf8')
          throw new TypeError('a defect')
        },
      }),
      /a defect/,
    )
    assert.match(seen, /^{"version":1,.*}\n$/)
    assert.deepEqual(readdirSync(folder), [])
  })

  it('is judged by the first loss of several', async t => {
    const base = {
      exitCode: 10,
      signal: null,
      timedOut: false,
      cancelled: false,
      spawnFailed: undefined,
      outputLimit: false,
      output: Buffer.alloc(0),
      survivors: [],
    }
    const worse = [
      ['when_invalid_exit', { exitCode: 1 }],
      ['when_output_limit', { outputLimit: true }],
      ['when_cancelled', { cancelled: true }],
      ['when_timeout', { timedOut: true }],
      ['when_spawn_failed', { spawnFailed: 'ENOENT' }],
      ['when_input_cleanup_failed', { survivors: [{ pid: 1, command: 'x' }] }],
    ] as const
    let ended: Awaited<ReturnType<WhenRequest['run']>> = base
    for (const [reason, more] of worse) {
      ended = { ...ended, ...more }
      assert.equal(reasonOf(await run(t, 'unused', { run: async () => ended })), reason)
    }
  })
})

describe('DISCERN_MATCH', () => {
  const all = new Set(['a', 'src/b.ts', 'with space', '"raw"', 'x\ny', '\udcff', 'a..b', 'DISCERN_MATCH a', '\u2028p'])
  const rows: readonly [what: string, output: string | Buffer, kept: readonly string[]][] = [
    ['a path', 'DISCERN_MATCH a\n', ['a']],
    ['the last line without its end', 'x\nDISCERN_MATCH a', ['a']],
    ['a marker anywhere on a line', '[12:00] info: DISCERN_MATCH src/b.ts', ['src/b.ts']],
    ['no marker inside a word', 'NODISCERN_MATCH a\nDISCERN_MATCHES a\nDISCERN_MATCH: a\ndiscern_match a', []],
    ['a marker after something that only looks like one', 'DISCERN_MATCHX DISCERN_MATCH a', ['a']],
    ['a path with spaces, trimmed', 'DISCERN_MATCH \t with space  \r\n', ['with space']],
    ['leading ./', 'DISCERN_MATCH ./a\nDISCERN_MATCH .//./src/b.ts', ['a', 'src/b.ts']],
    ['nothing', 'DISCERN_MATCH\nDISCERN_MATCH \nDISCERN_MATCH ./', []],
    ['absolute and climbing paths', 'DISCERN_MATCH /a\nDISCERN_MATCH ../a\nDISCERN_MATCH src/../a', []],
    ['two dots in a name', 'DISCERN_MATCH a..b', ['a..b']],
    ['duplicates once', 'DISCERN_MATCH a\nDISCERN_MATCH ./a\nDISCERN_MATCH a', ['a']],
    ['paths that did not change', 'DISCERN_MATCH other\nDISCERN_MATCH A', []],
    [
      'a path as it is displayed',
      'DISCERN_MATCH "x\\ny"\nDISCERN_MATCH "\\377"\nDISCERN_MATCH "a"',
      ['x\ny', '\udcff', 'a'],
    ],
    ['a path as it is', Buffer.from([...Buffer.from('DISCERN_MATCH '), 0xff, 10]), ['\udcff']],
    ['a name in real quotes, both ways', 'DISCERN_MATCH "raw"\nDISCERN_MATCH "\\"raw\\""', ['"raw"']],
    ['a broken quotation', 'DISCERN_MATCH "a', []],
    ['the first marker of a line', 'DISCERN_MATCH DISCERN_MATCH a', ['DISCERN_MATCH a']],
    ['a separator that is no line end', Buffer.from('DISCERN_MATCH "\\342\\200\\250p"'), ['\u2028p']],
  ]
  for (const [what, output, kept] of rows) {
    it(`understands ${what}`, () => {
      assert.deepEqual(parseMatches(Buffer.from(output as string), all), kept)
    })
  }

  it('never yields a path that did not change', () => {
    const piece = fc.constantFrom(
      'DISCERN_MATCH',
      ' ',
      'a',
      '/',
      '..',
      './',
      '"',
      '\\',
      '377',
      '\n',
      '\r',
      'src/b.ts',
      '\t',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), pieces => {
        const kept = parseMatches(Buffer.from(pieces.join('')), all)
        assert.ok(kept.every(path => all.has(path)))
        assert.equal(new Set(kept).size, kept.length)
      }),
    )
  })
})
