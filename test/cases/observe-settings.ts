/** `[delivery]`: what it means, what it refuses and where, and what a repository is called in records. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { deliverySettings, ROLES, repositoryIdentity } from '../../src/delivery/settings.ts'
import { STAGES } from '../../src/delivery/stage.ts'
import { Refusal } from '../../src/errors.ts'
import type { ConfigEntry } from '../../src/git/config.ts'
import { parseConfiguration } from '../../src/policy/read.ts'
import { type Loose, projectRoot } from '../support/scratch.ts'

/** A dollar sign in front of a brace, which the linter takes for a template that is not one. */
const value = (name: string): string => `$\{${name}}`

const settingsOf = async (text: string) => deliverySettings(await parseConfiguration(text, 'discern.toml'))

const refused = async (text: string): Promise<string> => {
  try {
    await settingsOf(text)
  } catch (error) {
    if (error instanceof Refusal && error.slug === 'invalid_config') {
      const { file, line, key, nearest } = (error as Refusal<'invalid_config'>).detail
      return `${file}:${line} ${key}${nearest === undefined ? '' : ` (${nearest})`}: ${error.message}`
    }
    throw error
  }
  return 'it was accepted'
}

/** An endpoint whose last line is the given one. */
const endpoint = (line: string): string =>
  `[delivery.endpoints.locator]\nurl = "https://example.com/"\ntimeout = 5\n${line}\n`

const condition = (line: string): string => endpoint(`conditions = [\n  { status = 200 },\n  ${line},\n]`)

describe('the settings of deliveries', () => {
  it('are nothing where nothing is said', async () => {
    for (const settings of [deliverySettings(undefined), await settingsOf(''), await settingsOf('[delivery]\n')]) {
      assert.deepEqual(settings, {
        repository: undefined,
        protectedEnvironments: [],
        gates: new Map(),
        templates: new Map(),
        endpoints: new Map(),
      })
    }
  })

  it('are read with every default filled in', async () => {
    const settings = await settingsOf(`
[delivery]
repository = "example.com/site"
protected_environments = ["production"]
[delivery.gates]
CP4 = ["security"]
CP3 = ["lint", "discern-scope-docs"]
[delivery.templates.CP7]
rollback = "promote the one before"
evidence = { release-ids = "pages" }
[delivery.endpoints.readiness]
url = "http://127.0.0.1:8080/ready"
timeout = 0.25
max_bytes = 10
max_redirects = 0
conditions = [{ name = "ready", pointer = "/status", matches = "^ok$" }, { pointer = "/at", fresh = 90 }]
[delivery.endpoints.locator]
url = "https://Example.com"
timeout = 20
conditions = [{ sha256 = "${'AB'.repeat(32)}" }, { status = 203 }, { pointer = "", equals = { a = [1, true] } }]
`)
    assert.equal(settings.repository, 'example.com/site')
    assert.deepEqual(settings.protectedEnvironments, ['production'])
    assert.deepEqual(
      [...settings.gates],
      [
        ['CP3', ['lint', 'discern-scope-docs']],
        ['CP4', ['security']],
      ],
    )
    assert.deepEqual(settings.templates.get('CP7'), {
      rollback: 'promote the one before',
      evidence: new Map([['release-ids', 'pages']]),
    })
    assert.deepEqual(
      // TOML tables have no prototype.
      JSON.parse(JSON.stringify([...settings.endpoints.values()])),
      [
        {
          role: 'locator',
          url: 'https://example.com/',
          timeoutMs: 20_000,
          maxBytes: 1_048_576,
          maxRedirects: 3,
          conditions: [
            { role: 'locator', name: 'sha256', test: { kind: 'sha256', sha256: 'ab'.repeat(32) } },
            { role: 'locator', name: 'status', test: { kind: 'status', status: 203 } },
            {
              role: 'locator',
              name: 'the whole equals',
              test: { kind: 'equals', pointer: '', value: { a: [1, true] } },
            },
          ],
        },
        {
          role: 'readiness',
          url: 'http://127.0.0.1:8080/ready',
          timeoutMs: 250,
          maxBytes: 10,
          maxRedirects: 0,
          conditions: [
            // Nothing was said of the status.
            { role: 'readiness', name: 'status', test: { kind: 'status', status: 200 } },
            {
              role: 'readiness',
              name: 'ready',
              test: { kind: 'matches', pointer: '/status', pattern: '^ok$' },
            },
            { role: 'readiness', name: '/at fresh', test: { kind: 'fresh', pointer: '/at', seconds: 90 } },
          ],
        },
      ],
    )
  })

  it('refuse what they do not understand, with its line and the nearest right word', async () => {
    const cases: readonly (readonly [text: string, expected: RegExp])[] = [
      ['[delivery]\n\nrepositry = "x"\n', /^discern\.toml:3 delivery\.repositry \(repository\): .*unknown key/],
      ['[delivery.gates]\nCP2 = ["lint"]\n', /^discern\.toml:2 delivery\.gates\.CP2 .*unknown key/],
      ['[delivery.gates]\nCP3 = "lint"\n', /^discern\.toml:2 delivery\.gates\.CP3: .*a list of gate ids, found "lint"/],
      [
        '[delivery.templates.CP7.evidence]\nreleaseids = "x"\n',
        /^discern\.toml:2 delivery\.templates\.CP7\.evidence\.releaseids \(release-ids\): .*remote-refs, release-ids/,
      ],
      ['[delivery.endpoints.manifset]\n', /^discern\.toml:1 delivery\.endpoints\.manifset \(manifest\)/],
      [
        '[delivery.endpoints.locator]\nurl = "https://x/"\nconditions = [{ status = 200 }]\n',
        /^discern\.toml:1 delivery\.endpoints\.locator\.timeout: .*missing; expected a number of seconds above 0/,
      ],
      [endpoint('time_out = 3'), /locator\.time_out \(timeout\): .*unknown key/],
      [endpoint('conditions = []'), /^discern\.toml:4 .*expected a list of 1 to 100 conditions, found a list/],
      [endpoint('conditions = [{ status = 200 }]\nmax_bytes = 0'), /^discern\.toml:5 .*a number of bytes from 1/],
      [condition('{ stauts = 200 }'), /^discern\.toml:6 .*conditions\.1\.stauts \(status\)/],
      [condition('{ status = 20 }'), /^discern\.toml:6 .*an HTTP status from 100 to 599, found 20/],
      [condition('{ name = "x" }'), /^discern\.toml:6 .*exactly one of status, sha256 and pointer, found 0/],
      [condition('{ status = 200, pointer = "/a", equals = 1 }'), /^discern\.toml:6 .*found 2/],
      [condition('{ equals = 1 }'), /^discern\.toml:6 .*pointer: .*missing; expected a JSON pointer/],
      [condition('{ pointer = "/a" }'), /^discern\.toml:6 .*exactly one of equals, matches and fresh, found 0/],
      [condition('{ pointer = "/a", equals = 1, fresh = 2 }'), /^discern\.toml:6 .*found 2/],
      [condition('{ pointer = "a", equals = 1 }'), /^discern\.toml:6 .*expected a JSON pointer/],
      [condition('{ pointer = "/a", matches = "(" }'), /^discern\.toml:6 .*not a regular expression/],
      [condition('{ pointer = "/a", equals = 2026-01-01 }'), /^discern\.toml:6 .*JSON has no dates/],
      [condition('{ pointer = "/a", equals = [inf] }'), /^discern\.toml:6 .*a finite number/],
      [
        condition(`{ pointer = "/a", matches = "${value('source_comit')}" }`),
        /^discern\.toml:6 .*\(source_commit\): .*there is no value "source_comit"/,
      ],
      [condition(`{ pointer = "/a", equals = { b = ["${value('nothing')}"] } }`), /no value "nothing"/],
      [condition('{ status = 404 }'), /^discern\.toml:6 .*another condition here is called "status"/],
      [condition('{ sha256 = "abc" }'), /^discern\.toml:6 .*64 hexadecimal digits/],
    ]
    for (const [text, expected] of cases) assert.match(await refused(text), expected, text)
  })

  it('take an endpoint only over https, or on this machine, and without credentials', async () => {
    const cases: readonly (readonly [url: string, expected: RegExp])[] = [
      ['https://example.com:8443/a?b=c', /accepted/],
      ['http://localhost:1/', /accepted/],
      ['http://127.9.9.9:1/', /accepted/],
      ['http://[::1]:1/', /accepted/],
      ['http://2130706433/', /accepted/],
      ['http://example.com/', /^discern\.toml:2 .*url: .*plain http is only for this machine/],
      ['http://127.0.0.1.example.com/', /plain http is only for this machine/],
      ['http://localhost.example.com/', /plain http is only for this machine/],
      ['http://[::2]/', /plain http is only for this machine/],
      ['https://user:secret@example.com/', /no user and no password/],
      ['https://example.com/#part', /no fragment/],
      [`https://example.com/${value('source_commit')}`, /no value in braces/],
      ['ftp://example.com/', /expected https, found ftp/],
      ['file:///etc/passwd', /expected https, found file/],
      ['example.com', /not a URL/],
    ]
    for (const [url, expected] of cases) {
      const found = await refused(
        `[delivery.endpoints.locator]\nurl = "${url}"\ntimeout = 5\nconditions = [{ status = 200 }]\n`,
      )
      assert.match(found, expected, url)
      assert.doesNotMatch(found, /secret/)
    }
  })

  it('have a template for every stage and each of its parts, and no other', () => {
    const schema: Loose = JSON.parse(readFileSync(join(projectRoot, 'schema/discern-config.schema.json'), 'utf8'))
    const { templates, endpoints } = schema.properties.delivery.properties
    const parts = Object.entries<Loose>(templates.properties).map(([id, { properties }]) => [
      id,
      Object.keys(properties.evidence.properties),
    ])
    assert.deepEqual(
      parts,
      STAGES.map(({ id, parts }) => [id, parts.map(({ name }) => name)]),
    )
    assert.deepEqual(Object.keys(endpoints.properties), ROLES)
  })
})

describe('the name of a repository in records', () => {
  const nameFor = (url: string | undefined, remote?: string): string => {
    const entries: ConfigEntry[] =
      url === undefined ? [] : [{ scope: 'local', origin: 'file:.git/config', key: 'remote.up.url', value: url }]
    return repositoryIdentity(
      { repository: undefined },
      entries,
      { commonDir: '/home/dev/site/.git' },
      remote ? { remote } : {},
    )
  }

  it('is the configured one, else the URL of the remote without credentials, else the folder', () => {
    const cases: readonly (readonly [url: string | undefined, expected: string])[] = [
      ['https://dev:secret@example.com/acme/site.git?token=secret', 'https://example.com/acme/site.git'],
      ['ssh://git@example.com:2222/acme/site', 'ssh://example.com:2222/acme/site'],
      ['git@example.com:acme/site.git', 'example.com:acme/site.git'],
      ['/home/dev/hubs/site.git', 'local:site'],
      ['../hub.git/', 'local:hub'],
      ['file:///home/dev/hub.git', 'local:hub'],
      ['C:\\hubs\\site', 'local:site'],
      [undefined, 'local:site'],
    ]
    for (const [url, expected] of cases) assert.equal(nameFor(url), expected, url)
    assert.equal(repositoryIdentity({ repository: 'site' }, [], { commonDir: '/x/.git' }, { remote: 'up' }), 'site')
    assert.equal(repositoryIdentity({ repository: undefined }, [], { commonDir: '/x/bare.git' }, {}), 'local:bare')
  })

  it('is that of the remote of the trunk where there are several', () => {
    const entries: ConfigEntry[] = ['a', 'origin', 'z'].map(name => ({
      scope: 'local',
      origin: 'file:.git/config',
      key: `remote.${name}.url`,
      value: `https://example.com/${name}`,
    }))
    const named = (remote?: string): string =>
      repositoryIdentity({ repository: undefined }, entries, { commonDir: '/x/r/.git' }, remote ? { remote } : {})
    assert.equal(named('z'), 'https://example.com/z')
    assert.equal(named(), 'https://example.com/origin')
  })
})
