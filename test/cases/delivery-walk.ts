/** This project's own commit, from its scope to production and back, through the real launcher (facts 15). */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { appendFileSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'
import { type Finished, type Loose, projectRoot, type Scratch, scratch } from '../support/scratch.ts'

/** What a deployment serves, by path; `commit` is what it says it runs. */
const deployment = (commit: string): Readonly<Record<string, string>> => {
  const manifest = JSON.stringify({ commit, files: ['git-discern'] })
  return {
    '/locator': JSON.stringify({ commit, manifest: createHash('sha256').update(manifest).digest('hex') }),
    '/manifest': manifest,
    '/discovery': JSON.stringify({ name: 'git-discern', commit }),
    '/ready': JSON.stringify({ ready: true }),
  }
}

const settings = (origin: string): string => `
[delivery]
repository = "example.org/git-discern"

[delivery.templates.CP7]
rollback = "deploy the version before"
evidence = { release-ids = "release 1", rollback = "the version before is still there" }

[delivery.endpoints.locator]
url = "${origin}/locator"
timeout = 5
conditions = [{ pointer = "/commit", equals = "\${source_commit}" }, { pointer = "/manifest", equals = "\${manifest_sha256}" }]

[delivery.endpoints.manifest]
url = "${origin}/manifest"
timeout = 5
conditions = [{ status = 200 }, { pointer = "/commit", matches = "^\${source_commit}$" }]

[delivery.endpoints.discovery]
url = "${origin}/discovery"
timeout = 5
conditions = [{ pointer = "/name", equals = "git-discern" }]

[delivery.endpoints.readiness]
url = "${origin}/ready"
timeout = 5
conditions = [{ status = 200 }, { pointer = "/ready", equals = true }]
`

/** One verb of the delivery through the launcher; its answer when it succeeded. */
const types = async (
  s: Scratch,
  cwd: string,
  ...args: readonly string[]
): Promise<Finished & { readonly result: Loose }> => {
  const run = await s.execAsync(cwd, 'git', ['discern', 'delivery', ...args, '--json'])
  return { ...run, result: JSON.parse(run.out) }
}

it('walks its own commit from CP0 to CP7, has another clone verify the record, and takes the release back', async t => {
  const s = scratch(t)
  const served = { now: {} as Readonly<Record<string, string>> }
  const server = createServer((request, response) => {
    const body = served.now[request.url ?? '']
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(body ?? '{}')
  })
  t.after(() => server.close())
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  s.git('.', 'clone', '-q', `file://${projectRoot}`, 'own')
  const source = s.git('own', 'rev-parse', 'HEAD')
  s.git('own', 'checkout', '-q', '-B', 'main')
  appendFileSync(s.path('own/discern.toml'), settings(origin))
  s.git('own', 'add', 'discern.toml')
  s.git('own', 'commit', '-q', '--no-verify', '-m', 'what is observed')
  s.git('own', 'switch', '-q', '--detach', source)
  s.git('.', 'clone', '-q', 'own', 'other')

  const step = async (state: string, ...args: readonly string[]): Promise<Loose> => {
    const run = await types(s, 'own', ...args)
    assert.equal(run.exit, 0, `${args.join(' ')}: ${run.out}${run.err}`)
    assert.equal(run.result.data.state, state, args.join(' '))
    return run.result.data
  }
  const record = (state: string, stage: string, ...evidence: readonly string[]): Promise<Loose> =>
    step(state, 'record', stage, ...evidence.flatMap(one => ['--evidence', one]), '--rollback', `undo ${stage}`)

  await step('DISCOVERED', 'start', 'own-1', '--commit', source)
  await record(
    'PLANNED',
    'CP0',
    'owner=the maintainers',
    'authority=maintainers',
    'scope=this commit',
    'rollback-boundary=the tag before',
  )
  await record(
    'IMPLEMENTING',
    'CP1',
    'decisions=git:HEAD:docs/decisions.md',
    'contracts=git:HEAD:schema',
    'threat-boundary=a hostile branch',
    'compatibility-plan=additive',
  )
  await record('VERIFYING', 'CP2', 'changed-paths=git:HEAD^{tree}', 'package-tests=git:HEAD:test')
  await record(
    'VERIFYING',
    'CP3',
    'lint=git:HEAD:.biome.json',
    'types=git:HEAD:tsconfig.json',
    'tests=git:HEAD:test',
    'builds=file:package-lock.json',
    'previews=git:HEAD:package.json',
  )
  await record(
    'VERIFYING',
    'CP4',
    'cross-product=git:HEAD:test',
    'security=git:HEAD:test',
    'hosts=git:HEAD:install.sh',
    'provenance=git:HEAD',
    'signing=nothing is signed',
    'performance=git:HEAD:test/bench',
  )
  const archive = s.sh(
    'own',
    `git archive --format=tar ${source} >'${s.path('git-discern.tar')}' && sha256sum <'${s.path('git-discern.tar')}'`,
  )
  const sealed = archive.out.slice(0, 64)
  const candidate = await step(
    'CANDIDATE',
    'record',
    'CP5',
    ...['source-provenance=git archive', `candidate-url=https://example.org/git-discern.tar#sha256:${sealed}`].flatMap(
      one => ['--evidence', one],
    ),
    '--artifact',
    s.path('git-discern.tar'),
    '--rollback',
    'throw the archive away',
  )
  const [artifact] = candidate.stages[5].evidence.filter(({ part }: Loose) => part === 'artifacts')
  assert.equal(artifact.sha256, sealed)
  const unasked = await types(
    s,
    'own',
    'record',
    'CP6',
    '--evidence',
    'owner=Ada',
    '--evidence',
    'decision=ship',
    '--rollback',
    'x',
  )
  assert.deepEqual([unasked.exit, unasked.result.error], [1, 'awaiting_confirmation'])
  const accepted = await step(
    'HUMAN_ACCEPTED',
    'record',
    'CP6',
    '--evidence',
    'owner=Ada',
    '--evidence',
    'decision=ship',
    '--rollback',
    'do not promote',
    '--confirmed',
  )
  await step('RELEASED', 'promote', '--generation', String(accepted.generation), '--commit', source)

  // Production still runs something else: no CP7.
  const observe = (): ReturnType<typeof types> =>
    types(s, 'own', 'observe', '--run', '4711', '--attempt', '1', '--output', s.path('artifacts'))
  s.sh('.', 'mkdir artifacts')
  served.now = deployment('0'.repeat(40))
  const early = await observe()
  assert.deepEqual([early.exit, early.result.error], [1, 'observation_incomplete'], early.out)
  assert.equal(s.sh('.', 'ls artifacts').out, '')
  served.now = deployment(source)
  const seen = await observe()
  assert.equal(seen.exit, 0, seen.out)
  const file = s.path('artifacts/release-checkpoint-4711-1.json')
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).checkpoint, 'CP7')

  // Another machine has the commit and the artifact, and nothing else.
  const verify = (...more: readonly string[]) => types(s, 'other', 'verify', file, '--commit', source, ...more)
  assert.equal((await verify('--run', '4711', '--attempt', '1')).exit, 0)
  const mismatch = await verify(
    '--run',
    '4711',
    '--attempt',
    '2',
    '--corpus',
    'rev-9',
    '--repository',
    'example.org/other',
  )
  assert.deepEqual([mismatch.exit, mismatch.result.error], [1, 'record_mismatch'])
  assert.match(mismatch.result.message, /attempt.*corpus|corpus.*attempt/s)

  const complete = await step('RELEASED', 'record', 'CP7', '--file', file)
  assert.equal(
    complete.stages.every(({ status }: Loose) => status === 'valid'),
    true,
  )
  s.git('other', 'fetch', '-q', 'origin', '+refs/discern/delivery/*:refs/discern/remotes/origin/delivery/*')
  const there = await types(s, 'other', 'status')
  assert.deepEqual(there.result.data.deliveries, [])
  await step('ROLLED_BACK', 'move', 'ROLLED_BACK', '--reason', 'it burns')
  const back = await step('VERIFYING', 'move', 'VERIFYING', '--reason', 'look again')
  assert.equal(back.stages.map(({ status }: Loose) => status[0]).join(''), 'vvviiiii')
  assert.equal(s.git('own', 'status', '--porcelain'), '')
  assert.equal(s.git('own', 'rev-parse', 'HEAD'), source)
})
