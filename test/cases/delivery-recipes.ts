/** The recipes of docs/ci.md, their commands run as they are written. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { delivery, product, REF, upTo } from '../support/product.ts'
import { projectRoot, type Scratch, scratch } from '../support/scratch.ts'

/** The scripts of one job of one recipe, in their order. */
const scripts = (system: string, job: string): readonly string[] => {
  const text = readFileSync(join(projectRoot, 'docs/ci.md'), 'utf8')
  const recipe = text.slice(text.indexOf(`## ${system}`)).split('```')[1] ?? ''
  const lines = recipe.split('\n')
  const start = lines.findIndex(line => line.trim() === `${job}:`)
  const indent = lines[start]?.search(/\S/) ?? 0
  const after = lines.slice(start + 1)
  const end = after.findIndex(line => line.trim() !== '' && line.search(/\S/) <= indent)
  const body = end === -1 ? after : after.slice(0, end)
  const found: string[] = []
  for (const [at, line] of body.entries()) {
    if (/^\s+run: \|$/.test(line)) {
      const deep = line.search(/\S/)
      const rest = body.slice(at + 1)
      const stop = rest.findIndex(one => one.search(/\S/) <= deep)
      found.push((stop === -1 ? rest : rest.slice(0, stop)).join('\n'))
    }
    const command = /^\s{4}- (git|mkdir) .*$/.exec(line)
    if (command) found.push(line.trim().slice(2))
  }
  return found
}

/** A bare hub with a product whose candidate is sealed, and a deployment that runs it. */
const sealedHub = async (t: TestContext, s: Scratch): Promise<string> => {
  let commit = ''
  const server = createServer((_request, response) => {
    response.writeHead(200)
    response.end(JSON.stringify({ commit }))
  })
  t.after(() => server.close())
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const endpoints = ['locator', 'manifest', 'discovery', 'readiness']
    .map(
      role =>
        `[delivery.endpoints.${role}]\nurl = "${origin}/${role}"\ntimeout = 5\nconditions = [{ pointer = "/commit", equals = "\${source_commit}" }]\n`,
    )
    .join('')
  const template = '[delivery.templates.CP7]\nrollback = "x"\nevidence = { release-ids = "1", rollback = "x" }\n'
  commit = await product(s, `${template}${endpoints}`)
  await upTo(s, 'CP5')
  s.git('.', 'clone', '-q', '--mirror', 'r', 'hub.git')
  return commit
}

/** A checkout as an automated build makes it, and a script of the recipe in it. */
const inBuild = async (s: Scratch, name: string, system: string, job: string, env: Record<string, string>) => {
  s.git('.', 'clone', '-q', 'hub.git', name)
  for (const script of scripts(system, job)) {
    const run = await s.execAsync(name, 'sh', ['-e', '-c', script], { env: { CI: 'true', DELIVERY: 'r1', ...env } })
    assert.equal(run.exit, 0, `${script}\n${run.out}${run.err}`)
  }
}

describe('the recipes', () => {
  for (const [system, accept, observe] of [
    ['GitHub Actions', { OWNER: 'ada' }, { RUN_ID: '4711', RUN_ATTEMPT: '1' }],
    ['GitLab CI', { GITLAB_USER_NAME: 'Ada' }, { CI_PIPELINE_ID: '4711' }],
  ] as const) {
    it(`of ${system} accept in a protected environment, observe, record and publish`, async t => {
      const s = scratch(t)
      const commit = await sealedHub(t, s)
      assert.ok(scripts(system, 'accept').length >= 2 && scripts(system, 'observe').length >= 3)
      await inBuild(s, 'accepting', system, 'accept', { ...accept, DISCERN_ENVIRONMENT: 'production' })
      s.git('r', 'fetch', '-q', s.path('hub.git'), `${REF}:${REF}`)
      const promoted = await delivery(s, 'r', 'promote', '--generation', '8', '--commit', commit)
      assert.equal(promoted.result.ok, true, promoted.out)
      s.git('r', 'push', '-q', s.path('hub.git'), REF)
      mkdirSync(s.path('tmp'))
      const places = { RUNNER_TEMP: s.path('tmp'), CI_BUILDS_DIR: s.path('tmp') }
      await inBuild(s, 'observing', system, 'observe', { ...observe, ...places })
      const record = JSON.parse(s.git('hub.git', 'cat-file', 'blob', `${REF}:record.json`))
      assert.deepEqual(
        [record.checkpoint, record.generation, record.run, record.sourceCommit],
        ['CP7', 10, { id: '4711', attempt: 1 }, commit],
      )
      const accepted = JSON.parse(s.git('hub.git', 'cat-file', 'blob', `${REF}~2:record.json`))
      assert.equal(accepted.acceptedBy, 'protected-environment')
    })
  }
})
