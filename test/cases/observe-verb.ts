/** `git discern delivery observe`: CP7 exists only when every condition is True, and each that is not is named with its reason. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { Interrupted } from '../../src/errors.ts'
import { until } from '../support/gate.ts'
import {
  deliver,
  digest,
  endpoints,
  json,
  ledgerOf,
  MANIFEST,
  NOW,
  observe,
  promoted,
  right,
  type Site,
  serve,
  text,
  untrue,
} from '../support/observe.ts'
import { type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

interface Observing {
  readonly s: Scratch
  readonly site: Site
  readonly commit: string
}

const observing = async (t: TestContext): Promise<Observing> => {
  const s = scratch(t)
  const site = await serve(t)
  const { standing } = await promoted(t, s, site.base)
  right(site, standing.sourceCommit)
  return { s, site, commit: standing.sourceCommit }
}

const FILE = 'artifacts/release-checkpoint-4711-2.json'

/** Nothing but what git does not look at: no record, no ref, no index, no source. */
const unchanged = async (s: Scratch, work: () => Promise<void>): Promise<void> => {
  const before = snapshot(s.path('r'))
  await work()
  assert.deepEqual(snapshot(s.path('r')), before)
}

test('when every condition is True there is a CP7 record, and nothing else changed', async t => {
  const { s, site, commit } = await observing(t)
  s.write('r/untracked', 'mine\n')
  const before = snapshot(s.path('r'))
  const run = await observe(s)
  assert.equal(run.exit, 0, run.out)
  const after = snapshot(s.path('r'), /^artifacts$/)
  assert.deepEqual(after, before)
  assert.deepEqual(readdirSync(s.path('r/artifacts')), ['release-checkpoint-4711-2.json'])
  assert.equal(statSync(s.path('r', FILE)).mode & 0o777, 0o600)
  const bytes = s.read(`r/${FILE}`)
  const record = JSON.parse(bytes)
  assert.deepEqual(record, {
    schema: 1,
    delivery: 'r1',
    repository: 'example.org/product',
    generation: 10,
    previous: record.previous,
    checkpoint: 'CP7',
    state: 'RELEASED',
    sourceCommit: commit,
    corpusRevision: 'c-7',
    gateIds: [
      'locator: status',
      'locator: /commit equals',
      'locator: /generation matches',
      'manifest: status',
      'manifest: sha256',
      'manifest: /corpus equals',
      'discovery: status',
      'discovery: /manifest equals',
      'discovery: its name',
      'readiness: status',
      'readiness: /at fresh',
      'readiness: /checks equals',
    ],
    evidence: [
      { part: 'remote-refs', kind: 'git', oid: commit, name: 'source commit of generation 9' },
      { part: 'release-ids', kind: 'statement', text: 'pages 12' },
      { part: 'rollback', kind: 'statement', text: 'the release before is kept for a month' },
      ...[
        ['locator', '/live.json', JSON.stringify({ commit, generation: 'g9' })],
        ['manifest', '/manifest.json', MANIFEST],
        ['discovery', '/discovery.json', JSON.stringify({ name: 'r1@9', manifest: digest(MANIFEST) })],
        ['readiness', '/ready', JSON.stringify({ at: '2026-01-01T23:59:30Z', checks: { store: 'ok' } })],
      ].map(([name, path, body]) => ({
        part: 'readback',
        kind: 'digest',
        sha256: digest(body ?? ''),
        name,
        url: `${site.base}${path}`,
      })),
    ],
    blockers: [],
    rollback: 'promote the release before',
    next: { checkpoints: ['CP7'], states: ['ROLLED_BACK'] },
    run: { id: '4711', attempt: 2 },
    observedAt: record.observedAt,
  })
  assert.match(record.observedAt, /^2026-01-02T00:00:00\.\d{3}Z$/)
  const { records } = await ledgerOf(t, s, 'r', 'r1')
  assert.equal(records.length, 9, 'observing records nothing in the ledger')
  const [hint] = run.result.hints ?? []
  assert.equal(hint, `git discern delivery record CP7 r1 --file ${s.path('r', FILE)}`)
  assert.deepEqual([...site.asked].sort(), ['/discovery.json', '/live.json', '/manifest.json', '/ready'])

  const again = await observe(s)
  assert.equal(again.result.error, 'precondition_failed', 'a record is never replaced')
  assert.equal(site.asked.length, 4, 'nobody was asked for it')
  assert.equal(s.read(`r/${FILE}`), bytes)

  // What was observed is what the ledger takes, once.
  const taken = await s.discern('r', ['delivery', 'record', 'CP7', '--file', FILE, '--json'])
  assert.equal(taken.exit, 0, taken.out)
  const second = await s.discern('r', ['delivery', 'record', 'CP7', '--file', FILE, '--json'])
  assert.equal(second.exit, 1)
  assert.equal((await ledgerOf(t, s, 'r', 'r1')).records.at(-1)?.checkpoint, 'CP7')
})

test('whatever is not so is named, and leaves no record', async t => {
  const { s, site, commit } = await observing(t)
  const live = (more: object): string => JSON.stringify({ commit, generation: 'g9', ...more })
  const bodies = (line: string): ReadonlyArray<string> => [
    `readiness: status ${line}`,
    `readiness: /at fresh ${line}`,
    `readiness: /checks equals ${line}`,
  ]
  const cases: readonly (readonly [what: string, spoil: () => void, expected: readonly string[]])[] = [
    [
      'an endpoint that never answers',
      () => site.routes.set('/ready', () => {}),
      bodies('Unknown: no whole answer within 0.4 s'),
    ],
    [
      'an endpoint that stops in the midst of its body',
      () =>
        site.routes.set('/ready', (_, response) => {
          response.writeHead(200, { 'content-length': 50 }).write('{"at"')
        }),
      bodies('Unknown: no whole answer within 0.4 s'),
    ],
    [
      'a connection that breaks half-way',
      () =>
        site.routes.set('/ready', (_, response) => {
          response.writeHead(200, { 'content-length': 50 })
          response.write('{"at"', () => response.socket?.destroy())
        }),
      bodies('Unknown: only 5 bytes of the body came: the connection was cut (ECONNRESET)'),
    ],
    [
      'a body in pieces that breaks half-way',
      () =>
        site.routes.set('/ready', (_, response) => {
          response.writeHead(200)
          response.write('{"at":', () => response.socket?.destroy())
        }),
      bodies('Unknown: only 6 bytes of the body came: the connection was cut (ECONNRESET)'),
    ],
    [
      'a body that is shorter than it was said to be',
      () =>
        site.routes.set('/ready', (_, response) => {
          response.socket?.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n{"at"')
        }),
      bodies('Unknown: only 5 bytes of the body came: the connection was cut (ECONNRESET)'),
    ],
    [
      'a body of unknown length',
      () =>
        site.routes.set('/ready', (_, response) => {
          response.socket?.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}')
        }),
      bodies('Unknown: a body of unknown length, so that nobody can tell whether it is whole'),
    ],
    [
      'no answer at all',
      () => site.routes.set('/ready', (_, response) => void response.socket?.destroy()),
      bodies('Unknown: the connection was cut (ECONNRESET)'),
    ],
    [
      'what is not HTTP',
      () => site.routes.set('/ready', (_, response) => void response.socket?.end('hello\r\n\r\n')),
      bodies('Unknown: the answer is no HTTP (HPE_INVALID_CONSTANT)'),
    ],
    [
      'another protocol than HTTP',
      () =>
        site.routes.set('/ready', (_, response) => {
          response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n')
        }),
      bodies('Unknown: the connection ended without an answer'),
    ],
    [
      'a compressed body',
      () =>
        site.routes.set('/ready', (_, response) => {
          response.writeHead(200, { 'content-length': 2, 'content-encoding': 'gzip' }).end('{}')
        }),
      bodies('Unknown: a body that is encoded as "gzip"'),
    ],
    [
      'a body that is said to be too large',
      () => site.routes.set('/discovery.json', text(' '.repeat(401))),
      ['status', '/manifest equals', 'its name'].map(
        name => `discovery: ${name} Unknown: a body of more than 400 bytes`,
      ),
    ],
    [
      'a body without an end',
      () =>
        site.routes.set('/discovery.json', (_, response) => {
          response.writeHead(200)
          const more = (): void => {
            if (!response.destroyed) response.write('x'.repeat(100), () => setImmediate(more))
          }
          more()
        }),
      ['status', '/manifest equals', 'its name'].map(
        name => `discovery: ${name} Unknown: a body of more than 400 bytes`,
      ),
    ],
    [
      'a failure that the next answer would hide',
      () => {
        let count = 0
        site.routes.set('/live.json', (request, response) => {
          count += 1
          text(live({}), count === 1 ? 500 : 200)(request, response)
        })
      },
      ['locator: status False: expected 200, found 500'],
    ],
    [
      'what is no JSON',
      () => site.routes.set('/live.json', text('<html>')),
      ['/commit equals', '/generation matches'].map(
        name => `locator: ${name} Unknown: the body is no JSON text in UTF-8`,
      ),
    ],
    [
      'nothing',
      () => site.routes.set('/live.json', text('')),
      ['/commit equals', '/generation matches'].map(name => `locator: ${name} Unknown: the body is empty`),
    ],
    [
      'another commit, and an older generation',
      () => site.routes.set('/live.json', json({ commit: 'f'.repeat(40), generation: 'g90' })),
      [
        `locator: /commit equals False: expected "${commit}", found "${'f'.repeat(40)}"`,
        'locator: /generation matches False: expected "^g9$" in "g90"',
      ],
    ],
    [
      'members that are missing or of another kind',
      () => site.routes.set('/live.json', json({ generation: 9, commits: [commit] })),
      [
        'locator: /commit equals Unknown: there is nothing at "/commit"',
        'locator: /generation matches False: expected a text, found 9',
      ],
    ],
    [
      'another manifest',
      () => site.routes.set('/manifest.json', text('{"corpus":"c-7"}')),
      [
        `manifest: sha256 False: expected ${digest(MANIFEST)}, found ${digest('{"corpus":"c-7"}')}`,
        `discovery: /manifest equals False: expected "${digest('{"corpus":"c-7"}')}", found "${digest(MANIFEST)}"`,
      ],
    ],
    [
      'no manifest, which others are compared with',
      () => site.routes.set('/manifest.json', (_, response) => void response.socket?.destroy()),
      [
        ...['status', 'sha256', '/corpus equals'].map(
          name => `manifest: ${name} Unknown: the connection was cut (ECONNRESET)`,
        ),
        'discovery: /manifest equals Unknown: there is no manifest_sha256 to compare with',
      ],
    ],
    [
      'a stale time',
      () => site.routes.set('/ready', json({ at: '2026-01-01T23:58:59Z', checks: { store: 'ok' } })),
      ['readiness: /at fresh False: expected at most 60 s ago, found 61 s ago'],
    ],
    [
      'a time to come',
      () => site.routes.set('/ready', json({ at: '2026-01-02T00:01:01Z', checks: { store: 'ok' } })),
      ['readiness: /at fresh False: "2026-01-02T00:01:01Z" is in the future'],
    ],
    [
      'what is no time, and more checks than expected',
      () => site.routes.set('/ready', json({ at: 'yesterday', checks: { store: 'ok', queue: 'down' } })),
      [
        'readiness: /at fresh Unknown: expected a time such as 2026-01-31T12:00:00Z, found "yesterday"',
        'readiness: /checks equals False: expected {"store":"ok"}, found a table',
      ],
    ],
  ]
  for (const [what, spoil, expected] of cases) {
    await t.test(what, () =>
      unchanged(s, async () => {
        right(site, commit)
        spoil()
        const started = performance.now()
        const run = await observe(s)
        assert.ok(performance.now() - started < 4_000, 'it was bounded')
        assert.equal(run.exit, 1, run.out)
        assert.equal(run.result.error, 'observation_incomplete')
        assert.deepEqual(untrue(run), expected)
        assert.equal(site.asked.length, 4, 'everybody is asked exactly once')
        // The reason is in the message too, as far as few of them fit there.
        const first = /^(\w+: .+?) (True|False|Unknown): (.+)$/.exec(expected[0] ?? '')
        assert.ok(run.result.message?.includes(`${first?.[1]} is ${first?.[2]} (${first?.[3]})`), run.result.message)
      }),
    )
  }
})

test('redirects are followed to the same host alone, and not for ever', async t => {
  const { s, site, commit } = await observing(t)
  const to =
    (location: string, status = 302) =>
    (_: unknown, response: import('node:http').ServerResponse): void => {
      response.writeHead(status, { location, 'content-length': 0 }).end()
    }
  const refused: readonly (readonly [location: string, reason: string])[] = [
    [
      `http://localhost:${site.port}/elsewhere`,
      `a redirect to another host, "http://localhost:${site.port}/elsewhere"`,
    ],
    ['//127.0.0.2/elsewhere', 'a redirect to another host, "http://127.0.0.2/elsewhere"'],
    ['https://example.com/', 'a redirect to another host, "https://example.com/"'],
    ['http://example.com/', 'a redirect to "http://example.com/": expected https: plain http is only for this machine'],
    [
      `http://u:p@127.0.0.1:${site.port}/elsewhere`,
      `a redirect to "http://…@127.0.0.1:${site.port}": a URL here holds no user and no password`,
    ],
    ['file:///etc/passwd', 'a redirect to "file:///etc/passwd": expected https, found file'],
    ['http://[', 'a redirect to "http://[", which is no URL'],
  ]
  for (const [location, reason] of refused) {
    await t.test(location, () =>
      unchanged(s, async () => {
        right(site, commit)
        site.routes.set('/live.json', to(location))
        const run = await observe(s)
        assert.deepEqual(
          untrue(run),
          ['status', '/commit equals', '/generation matches'].map(name => `locator: ${name} Unknown: ${reason}`),
        )
        assert.ok(!site.asked.includes('/elsewhere'), 'nobody went there')
      }),
    )
  }
  await t.test('in a circle', () =>
    unchanged(s, async () => {
      right(site, commit)
      site.routes.set('/live.json', to('/live.json', 307))
      assert.match(untrue(await observe(s))[0] ?? '', /^locator: status Unknown: more than 3 redirects$/)
      assert.equal(site.asked.filter(path => path === '/live.json').length, 4)
    }),
  )
  await t.test('three of them to what is right', async () => {
    right(site, commit)
    const answer = site.routes.get('/live.json')
    assert.ok(answer)
    site.routes.set('/live.json', to('a', 301))
    site.routes.set('/a', to(`${site.base}/b?c=d`, 303))
    site.routes.set('/b?c=d', to('/e#part', 308))
    site.routes.set('/e', answer)
    const run = await observe(s)
    assert.equal(run.exit, 0, run.out)
    const record = JSON.parse(s.read(`r/${FILE}`))
    const [readback] = record.evidence.filter((one: { part: string }) => one.part === 'readback')
    assert.equal(readback.url, `${site.base}/live.json`, 'it was asked for where the trunk says')
  })
})

test('whatever an answer holds is harmless in every output', async t => {
  const { s, site, commit } = await observing(t)
  const nasty = '\u001b[31m\u202eevil\nreadiness: status True\u0007\u2028'
  site.routes.set('/live.json', json({ commit: nasty, generation: nasty }))
  site.routes.set('/ready', (_, response) => {
    response.writeHead(302, { location: 'https://evil.example/%1b[31m\u00a0\u009b', 'content-length': 0 }).end()
  })
  site.routes.set('/manifest.json', text(`{"corpus":"${'x'.repeat(10_000)}"}`))
  for (const format of [[], ['--markdown'], ['--json']]) {
    const run = await observe(s, format, { env: { FORCE_COLOR: undefined } })
    assert.equal(run.exit, 1)
    assert.doesNotMatch(run.out + run.err, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e\u2028]/)
    assert.doesNotMatch(run.out + run.err, /^\W*readiness: status True/m)
    assert.ok(run.out.length + run.err.length < 8_000, 'a large value is not shown whole')
    assert.match(run.out + run.err, /u202e/)
  }
  assert.equal(commit.length, 40)
})

test('what could not be recorded is asked of nobody', async t => {
  const { s, site, commit } = await observing(t)
  await deliver(t, s, 'r', 'early', { steps: 8 })
  const OK = ['--run', '1', '--attempt', '1']
  const cases: readonly (readonly [args: readonly string[], error: string, message: RegExp])[] = [
    [['r1'], 'invalid_arguments', /needs --run and --attempt/],
    [['r1', '--run', 'a/b', '--attempt', '1'], 'invalid_arguments', /--run needs letters/],
    [['r1', '--run', '1', '--attempt', '0'], 'invalid_arguments', /--attempt needs a number from 1/],
    [['nothing', ...OK], 'delivery_unknown', /there is no delivery nothing/],
    [[...OK], 'delivery_unknown', /not clear/],
    [['r1', ...OK], 'delivery_illegal', /CP7 lacks release-ids \(identifiers of the release or deployment\)/],
    [
      ['early', ...OK, '--evidence', 'release-ids=1'],
      'delivery_illegal',
      /CP7 is recorded from RELEASED, and this is HUMAN_ACCEPTED/,
    ],
    [['r1', ...OK, '--evidence', `readback=sha256:${'0'.repeat(64)}`], 'invalid_arguments', /not typed/],
    [['r1', ...OK, '--evidence', 'lint=x'], 'invalid_value', /one of remote-refs, release-ids, readback, rollback/],
    [
      ['r1', ...OK, '--evidence', 'release-ids=1', '--output', '.'],
      'precondition_failed',
      /would not be ignored by git/,
    ],
    [
      ['r1', ...OK, '--evidence', 'release-ids=1', '--output', '.git/discern'],
      'precondition_failed',
      /would not be ignored by git/,
    ],
  ]
  await unchanged(s, async () => {
    for (const [args, error, message] of cases) {
      const run = await s.discern('r', ['delivery', 'observe', ...args, '--json'], { now: NOW })
      assert.deepEqual([run.exit, run.result.error], [error === 'invalid_arguments' ? 2 : 1, error], run.out)
      assert.match(run.result.message ?? '', message)
    }
  })
  assert.deepEqual(site.asked, [])
  assert.equal(commit.length, 40)
})

test('the trunk alone says who is asked', async t => {
  const { s, site, commit } = await observing(t)
  s.git('r', 'switch', '-q', '-c', 'feat')
  s.write('r/discern.toml', s.read('r/discern.toml').replaceAll(site.base, 'http://127.0.0.1:1'))
  s.commit('r', 'ask somebody else')
  const run = await observe(s)
  assert.equal(run.exit, 0, run.out)
  assert.equal(site.asked.length, 4)

  s.git('r', 'switch', '-q', 'main')
  s.write(
    'r/discern.toml',
    `[repository]\ntrunk = "main"\n${endpoints(site.base).replace(/\[delivery\.endpoints\.readiness\][\s\S]*$/, '')}`,
  )
  s.commit('r', 'ask three')
  site.asked.length = 0
  const three = await observe(s, ['--json', '--attempt', '3'])
  assert.equal(three.result.error, 'invalid_value')
  assert.match(three.result.message ?? '', /\[delivery\.endpoints\] of main: .*found no readiness/)
  assert.deepEqual(site.asked, [])
  assert.equal(commit.length, 40)
})

test('the record goes where it was said, and never through a link of the checkout', async t => {
  const { s, site, commit } = await observing(t)
  const out = await observe(s, ['--json', '--output', '../out/deep'])
  assert.equal(out.exit, 0, out.out)
  assert.equal(out.data.file, s.path('out/deep/release-checkpoint-4711-2.json'))
  assert.ok(existsSync(out.data.file))

  mkdirSync(s.path('trap'))
  symlinkSync(s.path('trap'), s.path('r/artifacts'))
  s.write('r/.gitignore', '/artifacts\n')
  const link = await observe(s)
  assert.equal(link.result.error, 'precondition_failed')
  assert.match(link.result.message ?? '', /leads outside/)
  assert.deepEqual(readdirSync(s.path('trap')), [])

  right(site, commit)
  const full = await observe(s, ['--json', '--output', '/dev/null/x'])
  assert.deepEqual([full.exit, full.result.error], [1, 'write_access'], full.out)
})

test('an interruption ends every request, exits 130 and leaves nothing', async t => {
  const { s, site, commit } = await observing(t)
  right(site, commit)
  site.routes.set('/live.json', () => {})
  const data = { XDG_DATA_HOME: s.path('data') }
  await unchanged(s, async () => {
    const aborter = new AbortController()
    const started = performance.now()
    const running = observe(s, [], { signal: aborter.signal, env: data })
    await until(() => site.asked.length === 4, 'the requests')
    aborter.abort(new Interrupted('SIGINT'))
    const run = await running.catch(error => error)
    assert.ok(performance.now() - started < 4_000)
    assert.equal(run.exit, 130)
    assert.match(run.err, /interrupted by SIGINT/)
  })
  assert.ok(!existsSync(s.path('data')))
})

test('the last observation of each delivery is kept with the data of the user, and decides nothing', async t => {
  const { s, site, commit } = await observing(t)
  const env = { XDG_DATA_HOME: s.path('data') }
  site.routes.set('/live.json', text('', 503))
  const failed = await observe(s, ['--json'], { env })
  assert.equal(failed.exit, 1)
  const { log } = failed.data
  assert.match(log, new RegExp(`^${s.path('data')}/git-discern/deliveries/[0-9a-f]{16}/r1\\.json$`))
  assert.equal(statSync(log).mode & 0o777, 0o600)
  const kept = JSON.parse(readFileSync(log, 'utf8'))
  assert.deepEqual(
    [kept.schema, kept.delivery, kept.run, kept.conditions[0]],
    [
      1,
      'r1',
      { id: '4711', attempt: 2 },
      { endpoint: 'locator', name: 'status', value: 'False', reason: 'expected 200, found 503' },
    ],
  )
  right(site, commit)
  const blocked = await observe(s, ['--json'], { env: { XDG_DATA_HOME: '/dev/null/none' } })
  assert.equal(blocked.exit, 0, blocked.out)
  assert.equal(blocked.data.log, undefined)
})
