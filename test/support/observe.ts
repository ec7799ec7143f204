/** A delivery that was promoted, and the site that it was promoted to: a server on this machine whose answers a test can spoil. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { appendRecord, type Ledger, listDeliveries, readLedger } from '../../src/delivery/ledger.ts'
import { type DeliveryRecord, recordId } from '../../src/delivery/record.ts'
import { STAGES, type State, stageOf } from '../../src/delivery/stage.ts'
import { nextAfter } from '../../src/delivery/standing.ts'
import { openRepository, type Repository } from '../../src/git/repository.ts'
import { contextFor } from './gate.ts'
import type { DiscernOptions, DiscernRun, Scratch } from './scratch.ts'

export const digest = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** A dollar sign in front of a brace, which the linter takes for a template that is not one. */
export const value = (name: string): string => `$\{${name}}`

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

export interface Site {
  readonly port: number
  readonly base: string
  /** Paths that were asked for, in order, since the last `right`. */
  readonly asked: string[]
  readonly routes: Map<string, Handler>
}

export const text =
  (body: string, status = 200): Handler =>
  (_, response) => {
    response.writeHead(status, { 'content-length': Buffer.byteLength(body) }).end(body)
  }

export const json = (body: unknown): Handler => text(JSON.stringify(body))

export const serve = async (t: TestContext, routes = new Map<string, Handler>()): Promise<Site> => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const handler = routes.get(path) ?? text('nothing here', 404)
    handler(request, response)
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, base: `http://127.0.0.1:${port}`, asked, routes }
}

/** The time at which tests observe. */
export const NOW = new Date('2026-01-02T00:00:00Z')

export const MANIFEST = '{"corpus":"c-7","files":["a","b"]}\n'

/** Makes every answer of the site what it should be. */
export const right = (site: Site, commit: string): void => {
  site.asked.length = 0
  site.routes.clear()
  site.routes.set('/live.json', json({ commit, generation: 'g9' }))
  site.routes.set('/manifest.json', text(MANIFEST))
  site.routes.set('/discovery.json', json({ name: 'r1@9', manifest: digest(MANIFEST) }))
  site.routes.set('/ready', json({ at: '2026-01-01T23:59:30Z', checks: { store: 'ok' } }))
}

/** The endpoints of a site; the last two lines of CP7 that nobody types. */
export const endpoints = (base: string): string => `
[delivery]
repository = "example.org/product"

[delivery.templates.CP7]
rollback = "promote the release before"
evidence = { rollback = "the release before is kept for a month" }

[delivery.endpoints.locator]
url = "${base}/live.json"
timeout = 5
conditions = [
  { pointer = "/commit", equals = "${value('source_commit')}" },
  { pointer = "/generation", matches = "^g${value('generation')}$" },
]

[delivery.endpoints.manifest]
url = "${base}/manifest.json"
timeout = 5
conditions = [
  { sha256 = "${digest(MANIFEST)}" },
  { pointer = "/corpus", equals = "${value('corpus_revision')}" },
]

[delivery.endpoints.discovery]
url = "${base}/discovery.json"
timeout = 5
max_bytes = 400
conditions = [
  { pointer = "/manifest", equals = "${value('manifest_sha256')}" },
  { name = "its name", pointer = "/name", matches = "^${value('delivery')}@\\\\d+$" },
]

[delivery.endpoints.readiness]
url = "${base}/ready"
timeout = 0.4
conditions = [{ status = 200 }, { pointer = "/at", fresh = 60 }, { pointer = "/checks", equals = { store = "ok" } }]
`

const fixture = (part: string, statement: boolean): DeliveryRecord['evidence'][number] =>
  statement
    ? { part, kind: 'statement', text: `${part} is settled` }
    : { part, kind: 'digest', sha256: 'ab'.repeat(32) }

interface Step {
  readonly checkpoint: DeliveryRecord['checkpoint']
  readonly state: State
}

/** Every generation of a delivery up to its promotion. */
const STEPS: readonly Step[] = [
  { checkpoint: null, state: 'DISCOVERED' },
  ...STAGES.filter(({ id }) => id !== 'CP7').map(({ id, to }) => ({ checkpoint: id, state: to })),
  { checkpoint: null, state: 'RELEASED' },
]

/** The record of one more step, as the rules want it. */
export const following = (
  ledger: Pick<Ledger, 'standing' | 'records'> | undefined,
  { checkpoint, state }: Step,
  more: Partial<DeliveryRecord> & Pick<DeliveryRecord, 'delivery' | 'sourceCommit'>,
): DeliveryRecord => {
  const newest = ledger?.records.at(-1)
  const record: DeliveryRecord = {
    schema: 1,
    repository: 'example.org/product',
    generation: (newest?.generation ?? 0) + 1,
    previous: newest ? recordId(newest) : null,
    checkpoint,
    state,
    gateIds: [],
    evidence:
      checkpoint === null
        ? []
        : stageOf(checkpoint).parts.map(({ name, statement }) => fixture(name, statement === true)),
    blockers: [],
    rollback: 'as before',
    next: { checkpoints: [], states: [] },
    ...(checkpoint === 'CP6' ? { acceptedBy: 'terminal' as const } : {}),
    observedAt: '2026-01-01T00:00:00.000Z',
    ...more,
  }
  const next = nextAfter(ledger?.standing, record)
  assert.ok(!('problem' in next), JSON.stringify(next))
  return { ...record, next }
}

const repositories = new Map<string, Repository>()

export const repositoryOf = async (t: TestContext, s: Scratch, name: string): Promise<Repository> => {
  const known = repositories.get(s.path(name))
  if (known) return known
  const repository = await openRepository(contextFor(s.path(name), s.env))
  repositories.set(s.path(name), repository)
  t.after(() => repository.objects.close())
  return repository
}

/** A delivery of the newest commit, brought along by `steps` generations: all of them end in RELEASED, which is generation 9. */
export const deliver = async (
  t: TestContext,
  s: Scratch,
  name: string,
  delivery: string,
  { steps = STEPS.length, corpus = 'c-7' as string | null } = {},
): Promise<Ledger> => {
  const repository = await repositoryOf(t, s, name)
  const sourceCommit = s.git(name, 'rev-parse', 'main')
  const context = contextFor(s.path(name), s.env)
  let ledger: Ledger | undefined
  for (const step of STEPS.slice(0, steps)) {
    const record = following(ledger, step, {
      delivery,
      sourceCommit,
      ...(corpus !== null ? { corpusRevision: corpus } : {}),
    })
    const written = await appendRecord(context, repository, ledger, record)
    assert.ok('commit' in written, JSON.stringify(written))
    ledger = await readLedger(repository, delivery, written.commit)
  }
  assert.ok(ledger)
  return ledger
}

export const ledgerOf = async (t: TestContext, s: Scratch, name: string, delivery: string): Promise<Ledger> => {
  const repository = await repositoryOf(t, s, name)
  return readLedger(repository, delivery, (await listDeliveries(repository)).get(delivery) ?? '')
}

/** A repository `r` whose trunk names the endpoints of a site, with `r1` promoted; artifacts are ignored. */
export const promoted = async (t: TestContext, s: Scratch, base: string): Promise<Ledger> => {
  s.git('.', 'init', '-q', 'r')
  s.write('r/discern.toml', `[repository]\ntrunk = "main"\n${endpoints(base)}`)
  s.write('r/.gitignore', '/artifacts/\n')
  s.commit('r', 'release')
  return deliver(t, s, 'r', 'r1')
}

/** Observes `r1` with everything that it needs to be typed; run 4711, attempt 2. */
export const observe = (
  s: Scratch,
  more: readonly string[] = ['--json'],
  options: DiscernOptions = {},
): Promise<DiscernRun> => {
  const attempt = more.includes('--attempt') ? [] : ['--attempt', '2']
  const words = ['delivery', 'observe', 'r1', '--run', '4711', ...attempt, '--evidence', 'release-ids=pages 12']
  return s.discern('r', [...words, ...more], { now: NOW, ...options })
}

/** Every verdict that is not True, in one line each. */
export const untrue = (run: DiscernRun): readonly string[] =>
  run.data.conditions.flatMap((one: Record<string, string>) =>
    one['value'] === 'True' ? [] : [`${one['endpoint']}: ${one['name']} ${one['value']}: ${one['reason']}`],
  )
