/** One request and one condition by themselves: whom nothing is asked of, certificates, and expressions that never end. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { evaluateCondition, type Values } from '../../src/delivery/condition.ts'
import { type Fetched, fetchEndpoint } from '../../src/delivery/endpoint.ts'
import type { Test } from '../../src/delivery/settings.ts'
import { userDataDirectory } from '../../src/store/user-data.ts'
import { until } from '../support/gate.ts'
import { digest, promoted, right, serve, text, value } from '../support/observe.ts'
import { bundle } from '../support/project.ts'
import { scratch } from '../support/scratch.ts'

const get = (url: string, more: { readonly timeoutMs?: number } = {}): Promise<Fetched> =>
  fetchEndpoint({
    url,
    timeoutMs: 5_000,
    maxBytes: 1_000,
    maxRedirects: 1,
    signal: new AbortController().signal,
    userAgent: 'git-discern/test',
    ...more,
  })

const listen = async (t: TestContext, server: ReturnType<typeof createServer>): Promise<number> => {
  const open = new Set<Socket>()
  server.on('connection', socket => {
    open.add(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  t.after(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

test('nobody is connected to without https, but for this machine, and never with credentials', async t => {
  for (const [url, reason] of [
    ['http://192.0.2.1/', 'expected https: plain http is only for this machine'],
    ['http://discern.invalid/', 'expected https: plain http is only for this machine'],
    ['https://user:secret@discern.invalid/', 'a URL here holds no user and no password'],
    ['ftp://127.0.0.1/', 'expected https, found ftp'],
  ] as const) {
    const started = performance.now()
    assert.deepEqual(await get(url), { unavailable: reason })
    assert.ok(performance.now() - started < 500, 'a connection to there would have taken its time')
  }
  const site = await serve(t)
  site.routes.set('/', text('here'))
  const expected = { known: { status: 200, body: Buffer.from('here'), sha256: digest('here') } }
  assert.deepEqual(await get(`http://127.0.0.1:${site.port}/`), expected)
  assert.deepEqual(await get(`http://localhost:${site.port}/`), expected)
})

test('what is asked carries no cookie and no credential, and takes no detour', async t => {
  const site = await serve(t)
  const seen: unknown[] = []
  site.routes.set('/', (request, response) => {
    seen.push([request.method, request.headers])
    response.writeHead(302, { location: '/again', 'set-cookie': 'a=b', 'content-length': 0 }).end()
  })
  site.routes.set('/again', (request, response) => {
    seen.push([request.method, request.headers])
    text('')(request, response)
  })
  const proxy = await serve(t)
  const names = ['http_proxy', 'HTTP_PROXY', 'all_proxy', 'NODE_USE_ENV_PROXY'] as const
  const before = names.map(name => process.env[name])
  for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : proxy.base
  try {
    assert.equal('known' in (await get(site.base)), true)
  } finally {
    for (const [at, name] of names.entries()) {
      if (before[at] === undefined) delete process.env[name]
      else process.env[name] = before[at]
    }
  }
  const headers = {
    accept: '*/*',
    'accept-encoding': 'identity',
    'cache-control': 'no-cache',
    'user-agent': 'git-discern/test',
    host: `127.0.0.1:${site.port}`,
    connection: 'close',
  }
  assert.deepEqual(seen, [
    ['GET', headers],
    ['GET', headers],
  ])
  assert.deepEqual(proxy.asked, [])
})

test('the ends of a connection have one name in every version of Node', async t => {
  const silent = createServer(() => {})
  const port = await listen(t, silent)
  assert.deepEqual(await get(`http://127.0.0.1:${port}/`, { timeoutMs: 100 }), {
    unavailable: 'no whole answer within 0.1 s',
  })
  assert.deepEqual(await get(`https://127.0.0.1:${port}/`, { timeoutMs: 100 }), {
    unavailable: 'no whole answer within 0.1 s',
  })
  const noisy = createServer(socket => socket.end('hello, this is not TLS\n'))
  const plain = await get(`https://127.0.0.1:${await listen(t, noisy)}/`)
  assert.match('unavailable' in plain ? plain.unavailable : '', /^there is no TLS with it \((ERR_SSL_\w+|EPROTO)\)$/)
  const gone = createServer()
  const closed = await listen(t, gone)
  await new Promise(resolve => gone.close(resolve))
  assert.deepEqual(await get(`http://127.0.0.1:${closed}/`), { unavailable: 'nobody listens there (ECONNREFUSED)' })
})

test('a certificate that nobody vouches for is refused, whatever the environment says', async t => {
  const s = scratch(t)
  const made = s.sh(
    '.',
    "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=site -addext 'subjectAltName=IP:127.0.0.1' 2>&1",
  )
  if (made.exit !== 0) return t.skip('there is no openssl that makes certificates')
  let requests = 0
  const server = createSecureServer({ key: s.read('key.pem'), cert: s.read('cert.pem') }, (_, response) => {
    requests += 1
    response.writeHead(200, { 'content-length': 2 }).end('ok')
  })
  server.on('tlsClientError', () => {})
  const port = await listen(t, server)
  const url = `https://127.0.0.1:${port}/`
  const refused = { unavailable: 'the certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)' }
  assert.deepEqual(await get(url), refused)
  const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  try {
    assert.deepEqual(await get(url), refused)
  } finally {
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before
  }
  assert.equal(requests, 0)

  // The same site, once somebody vouches for it: it was the certificate, and nothing else, that was refused.
  await promoted(t, s, `https://127.0.0.1:${port}`)
  const observing = (env: Record<string, string>) =>
    s.execAsync('r', process.execPath, [bundle[1], ...WORDS, '--json'], { env })
  const trusted = JSON.parse((await observing({ NODE_EXTRA_CA_CERTS: s.path('cert.pem') })).out)
  const untrusted = JSON.parse((await observing({})).out)
  const status = (run: { data: { conditions: { name: string; value: string; reason: string }[] } }) =>
    run.data.conditions.filter(({ name }) => name === 'status').map(({ value, reason }) => `${value}: ${reason}`)
  assert.deepEqual(status(trusted), Array(4).fill('True: expected 200, found 200'))
  assert.deepEqual(status(untrusted), Array(4).fill(`Unknown: ${refused.unavailable}`))
  // One of another name.
  const other = await get(`https://localhost:${port}/`)
  assert.match('unavailable' in other ? other.unavailable : '', /^the certificate is not trusted/)
})

const WORDS = ['delivery', 'observe', 'r1', '--run', '4711', '--attempt', '2', '--evidence', 'release-ids=pages 12']

test('a real interruption ends the process at once, with 130, and a second observation finds nothing in its way', async t => {
  const s = scratch(t)
  const site = await serve(t)
  const { standing } = await promoted(t, s, site.base)
  right(site, standing.sourceCommit)
  site.routes.set('/live.json', (_, response) => void response.writeHead(200, { 'content-length': 9 }).write('{'))
  const child = spawn(bundle[0], [bundle[1], ...WORDS], { cwd: s.path('r'), env: s.env, stdio: 'ignore' })
  const ended = new Promise<number | null>(resolve => child.on('exit', code => resolve(code)))
  await until(() => site.asked.length === 4, 'the requests')
  const started = performance.now()
  child.kill('SIGINT')
  assert.equal(await ended, 130)
  assert.ok(performance.now() - started < 2_500, 'nothing of it went on')
  assert.deepEqual(readdirSync(s.path('r')).sort(), ['.git', '.gitignore', 'discern.toml'])
  assert.equal(s.git('r', 'status', '--porcelain', '--ignored'), '')
})

const judge = (test: Test, body: string | Buffer, values: Values = {}): string => {
  const bytes = Buffer.from(body)
  const { value: truth, reason } = evaluateCondition(
    { role: 'locator', name: 'x', test },
    { known: { status: 200, body: bytes, sha256: digest(bytes) } },
    values,
    new Date('2026-01-02T00:00:00Z'),
  )
  return `${truth}: ${reason}`
}

const matching = (pattern: string, found: unknown, values: Values = {}): string =>
  judge({ kind: 'matches', pointer: '/a', pattern }, JSON.stringify({ a: found }), values)

test('an expression that would never end, or a text that is too long, is Unknown in bounded time', () => {
  const started = performance.now()
  assert.equal(matching('^(a+)+$', `${'a'.repeat(4_000)}!`).split(':', 1)[0], 'Unknown')
  assert.match(matching('^(a|a)*$', `${'a'.repeat(200)}!`), /^Unknown: the expression took longer than 250 ms$/)
  assert.ok(performance.now() - started < 3_000)
  assert.match(matching('a', 'a'.repeat(4_096)), /^True/)
  assert.equal(matching('a', 'a'.repeat(4_097)), 'Unknown: the text is longer than 4096 bytes')
  assert.equal(matching('a', 'é'.repeat(2_049)), 'Unknown: the text is longer than 4096 bytes')
})

test('values stand for themselves in an expression', () => {
  const values = { delivery: '1.2-(x)', corpus_revision: 'a\nb' }
  assert.match(matching(`^${value('delivery')}$`, '1.2-(x)', values), /^True/)
  assert.match(matching(`^${value('delivery')}$`, '1x2-x', values), /^False/)
  assert.match(matching(`^[${value('delivery')}]$`, '+', values), /^False/)
  assert.match(matching(`^[${value('delivery')}]$`, '-', values), /^True/)
  assert.match(matching(`^${value('corpus_revision')}$`, 'a\nb', values), /^True/)
  assert.equal(matching(value('generation'), 'x', values), 'Unknown: there is no generation to compare with')
  assert.equal(
    matching('constructor.*', 'x', values),
    'False: expected "constructor.*" in "x"',
    'nothing of the program is in there',
  )
})

test('a value is found by its pointer alone, and compared as JSON', () => {
  const at = (pointer: string, expected: unknown, body: string): string =>
    judge({ kind: 'equals', pointer, value: expected }, body, { delivery: 'r1' }).split(':', 1)[0] ?? ''
  assert.equal(at('', { a: 1 }, '{"a":1.0}'), 'True')
  assert.equal(at('', { a: 1 }, '{"a":1,"b":2}'), 'False')
  assert.equal(at('/a~1b/~0/1', null, '{"a/b":{"~":[0,null]}}'), 'True')
  assert.equal(at('/a/01', 1, '{"a":[0,1]}'), 'Unknown')
  assert.equal(at('/a/length', 2, '{"a":[0,1]}'), 'Unknown')
  assert.equal(at('/constructor/name', 'Object', '{}'), 'Unknown')
  assert.equal(at('/__proto__/x', 1, '{"__proto__":{"x":1}}'), 'True')
  assert.equal(at('/a', [], '{"a":{}}'), 'False')
  assert.equal(at('/a', ['r1', { b: [value('delivery')] }], '{"a":["r1",{"b":["r1"]}]}'), 'True')
  assert.equal(at('/a', '1', '{"a":1}'), 'False')
  // Deeper than any stack, and never gone down into.
  const deep = `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
  assert.equal(at('/a', [], deep), 'False')
  assert.equal(at('/a', 1, '\uFEFF{"a":1}'), 'True')
  assert.equal(
    judge({ kind: 'equals', pointer: '/a', value: 1 }, Buffer.from([0x7b, 0xff, 0x7d])).slice(0, 7),
    'Unknown',
  )
})

test('a time is fresh up to its last second, and a minute of difference between two clocks is none', () => {
  const at = (time: string): string => judge({ kind: 'fresh', pointer: '/a', seconds: 10 }, JSON.stringify({ a: time }))
  assert.match(at('2026-01-01T23:59:50Z'), /^True/)
  assert.match(at('2026-01-01T23:59:49.999Z'), /^False/)
  assert.match(at('2026-01-02T00:01:00Z'), /^True/)
  assert.match(at('2026-01-02T00:01:00.001Z'), /^False/)
  assert.match(at('2026-01-02T01:00:00+01:00'), /^True/)
  for (const odd of ['2026-01-02', '2026-01-02T00:00:00', '2026-02-30T00:00:00Z0', '2026-13-01T00:00:00Z', 'now', '']) {
    assert.match(at(odd), /^Unknown/, odd)
  }
})

test('data of the user has its place on every platform, and none where the environment names none', () => {
  const place = (platform: string, env: Record<string, string>): string | undefined =>
    userDataDirectory({ platform, env })
  assert.equal(place('linux-x64', { HOME: '/home/dev' }), '/home/dev/.local/share/git-discern')
  assert.equal(place('linux-x64', { HOME: '/home/dev', XDG_DATA_HOME: '/data' }), '/data/git-discern')
  assert.equal(
    place('linux-x64', { HOME: '/home/dev', XDG_DATA_HOME: 'data' }),
    '/home/dev/.local/share/git-discern',
    'a relative one is none',
  )
  assert.equal(
    place('darwin-arm64', { HOME: '/Users/dev', XDG_DATA_HOME: '/data' }),
    '/Users/dev/Library/Application Support/git-discern',
  )
  assert.equal(place('win32-x64', { HOME: '/home/dev', LOCALAPPDATA: '/c/local' }), '/c/local/git-discern')
  assert.equal(place('win32-x64', { HOME: '/home/dev' }), undefined)
  assert.equal(place('linux-x64', {}), undefined)
})
