import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { classifyGenerated, classifyScopes, type GatePlan, planGate } from '../../src/policy/jobs.ts'
import { parseConfiguration } from '../../src/policy/read.ts'

const plan = async (text: string, changedPaths: readonly string[] = []): Promise<GatePlan> =>
  planGate(await parseConfiguration(text, 'discern.toml'), { changedPaths })

const ids = ({ jobs }: GatePlan): readonly string[] => jobs.map(({ id }) => id)
const hash = (text: string): string => createHash('sha256').update(text).digest('hex')
const ref = (name: string): string => `$\{${name}}`

test('a plan holds every job, generator and changed scope gate, in the order they run', async () => {
  const text = `
[scopes.docs]
paths = ["docs/**", "*.md"]
gate = "docs"
[scopes.web]
paths = ["web/**"]
gate = "web"
[scopes.quiet]
paths = ["docs/**"]
neutral = true
gate = "quiet"
[scopes.plain]
paths = ["*.md"]
[generated.api]
paths = ["api/**", "schema/"]
run = "api"
[generated.named]
paths = ["x"]
[jobs]
test = "t"
lint = "l"
build = "b"
format = "f"
typecheck = ":"
`
  const planned = await plan(text, ['docs/a.txt', 'README.md', 'src/x'])
  assert.deepEqual(
    planned.jobs.map(({ id, kind, label, stage, producer }) => [id, kind, label, stage, producer]),
    [
      ['format', 'job', 'format', 'fix', 'jobs.format'],
      ['build', 'job', 'build', 'build', 'jobs.build'],
      ['discern-generated-api', 'generated', 'generated api', 'build', 'generated.api'],
      ['lint', 'job', 'lint', 'check', 'jobs.lint'],
      ['test', 'job', 'test', 'test', 'jobs.test'],
      ['discern-scope-docs', 'scope', 'scope docs', 'scope', 'scopes.docs.gate'],
    ],
  )
  assert.deepEqual(
    planned.jobs.map(({ outputs }) => outputs),
    [[], [], ['api/**', 'schema/'], [], [], []],
  )
  assert.deepEqual(planned.scopesChanged, ['docs', 'quiet', 'plain'])
  assert.deepEqual(planned.skipped, [
    { label: 'scope web', reason: 'no changed path is in this scope' },
    { label: 'scope quiet', reason: 'the scope is neutral' },
  ])
  assert.deepEqual(
    planned.requirements.map(({ id, kind }) => `${kind} ${id}`),
    ['job build', 'job discern-generated-api', 'job format', 'job lint', 'job test', 'scope discern-scope-docs'],
  )
})

test('within a stage a job runs after those it needs, and otherwise in the order of the file', async () => {
  const planned = await plan(`
[jobs.e]
stage = "check"
run = "x"
needs = ["c", "build"]
[jobs.d]
stage = "check"
run = "x"
[jobs.c]
stage = "check"
run = "x"
needs = ["d"]
[jobs.test]
run = "x"
needs = ["d"]
[jobs.build]
run = "x"
needs = ["discern-generated-api"]
[jobs.before]
stage = "build"
run = "x"
[generated.api]
paths = []
run = "x"
`)
  assert.deepEqual(ids(planned), ['discern-generated-api', 'build', 'before', 'd', 'c', 'e', 'test'])
})

test('property: whatever the needs, no job comes before one it needs, and none is lost', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom('fix', 'build', 'check', 'test'), fc.array(fc.nat(11), { maxLength: 3 })), {
        minLength: 1,
        maxLength: 12,
      }),
      fc.func(fc.nat()),
      async (shapes, shuffle) => {
        const order = ['fix', 'build', 'check', 'test']
        const jobs = shapes.map(([stage, wishes], index) => ({
          name: `j${index}`,
          stage,
          // Needs point back, and not to a later stage, so the file is valid by construction.
          needs: [...new Set(wishes)]
            .filter(at => at < index && order.indexOf(shapes[at]?.[0] ?? '') <= order.indexOf(stage))
            .map(at => `j${at}`),
        }))
        const text = jobs
          .toSorted((a, b) => shuffle(a.name) - shuffle(b.name))
          .map(
            ({ name, stage, needs }) => `[jobs.${name}]\nstage="${stage}"\nrun="x"\nneeds=${JSON.stringify(needs)}\n`,
          )
          .join('')
        const planned = ids(await plan(text))
        assert.deepEqual(planned.toSorted(), jobs.map(({ name }) => name).toSorted())
        for (const { name, needs } of jobs) {
          for (const needed of needs) assert.ok(planned.indexOf(needed) < planned.indexOf(name), `${needed} < ${name}`)
        }
      },
    ),
    { numRuns: 200 },
  )
})

test('where nothing is configured one job without a command stands for the gate', async () => {
  const text = '[scopes.a]\npaths=["a/"]\ngate="x"\n[generated.b]\npaths=["b/"]\n[jobs]\ntest=":"\n'
  const planned = await plan(text, ['c'])
  assert.deepEqual(
    planned.jobs.map(({ id, kind, recipe }) => [id, kind, recipe.run]),
    [['discern-preflight', 'job', []]],
  )
  assert.deepEqual(
    planned.requirements.map(({ id, kind }) => [id, kind]),
    [['discern-preflight', 'job']],
  )
  assert.deepEqual(ids(await plan(text, ['a/x'])), ['discern-scope-a'])
  assert.deepEqual(ids(await plan('[standards.s]\ndirection="up"\nlimit=1\nrun="x"\n')), ['discern-standard-s'])
})

test('a definition is the hash of the canonical JSON of what the job means, with references and limits resolved', async () => {
  const planned = await plan(
    `
[map]
dir = "docs/map/"
[gate]
timeout = 30
[jobs.lint]
run = ["a ${ref('map.dir')}", ":"]
inputs = ["${ref('map.dir')}**", "${ref('skills.dir')}**"]
needs = ["build"]
artifacts = ["out"]
environment = ["B", "A"]
toolchain = ["tool"]
provides = ["anything"]
[jobs.build]
run = "b"
timeout = 0
[scopes.all]
paths = ["/**"]
gate = "g"
`,
    ['x'],
  )
  const definition = (id: string): string | undefined => planned.jobs.find(job => job.id === id)?.definition
  assert.deepEqual(Object.fromEntries(planned.jobs.map(job => [job.id, job.definition])), {
    build: hash(
      '{"artifacts":[],"environment":[],"inputs":null,"needs":[],"run":["b"],"selector":"jobs.build","timeout":0,"toolchain":[]}',
    ),
    lint: hash(
      '{"artifacts":["out"],"environment":["B","A"],"inputs":["docs/map/**",""],"needs":["build"],"run":["a docs/map/"],"selector":"jobs.lint","timeout":30,"toolchain":["tool"]}',
    ),
    'discern-scope-all': hash(
      '{"artifacts":[],"environment":[],"inputs":null,"needs":[],"run":["g"],"selector":"scopes.all.gate","timeout":30,"toolchain":[]}',
    ),
  })
  assert.deepEqual(
    planned.requirements.map(requirement => [requirement.id, requirement.definition]),
    ['build', 'lint', 'discern-scope-all'].map(id => [id, definition(id)]),
  )
  assert.equal(
    planned.requirementSet,
    hash(
      `[["job","build","${definition('build')}"],["job","lint","${definition('lint')}"],["scope","discern-scope-all","${definition('discern-scope-all')}"]]`,
    ),
  )
})

test('a standard is a requirement of its own, apart from a job of the same name, over its whole table', async () => {
  const standard = '[standards.test]\ndirection="up"\nlimit=80\nproducer="test"\nmargin=1\n'
  const planned = await plan(`[jobs]\ntest="t"\n${standard}`)
  assert.deepEqual(
    planned.requirements.map(({ id, kind }) => [id, kind]),
    [
      ['test', 'job'],
      ['discern-standard-test', 'standard'],
    ],
  )
  assert.equal(
    planned.requirements[1]?.definition,
    hash('{"direction":"up","limit":80,"margin":1,"producer":"test","selector":"standards.test","timeout":600}'),
  )
})

test('the set of requirements changes with a job, its meaning or a changed scope, and with nothing else', async () => {
  const base = '[scopes.a]\npaths=["a/"]\ngate="g"\n[jobs]\nlint="l"\ntest="t"\n'
  const set = async (text: string, paths: readonly string[] = []) => (await plan(text, paths)).requirementSet
  const same = await set(base)
  assert.equal(await set('[project]\nname="x"\n[jobs]\ntest="t"\nlint="l"\n'), same)
  assert.equal(await set(base, ['b/x']), same)
  for (const other of [
    await set(base, ['a/x']),
    await set(`${base}build="b"\n`),
    await set(base.replace('"l"', '"l "')),
    await set(`[gate]\ntimeout=1\n${base}`),
  ]) {
    assert.notEqual(other, same)
  }
})

test('a path is in every scope that has it, and generated by the first group that has it', async () => {
  const configuration = await parseConfiguration(
    `
[scopes.one]
paths = ["src/", "*.md"]
[scopes.two]
paths = ["*.md"]
[generated.first]
paths = ["gen/a/**"]
[generated.second]
paths = ["gen/**"]
run = "x"
`,
    'discern.toml',
  )
  const scopes = classifyScopes(configuration)
  assert.deepEqual(['src/a', 'a.md', 'a'].map(scopes), [['one'], ['one', 'two'], []])
  assert.deepEqual(['gen/a/x', 'gen/b', 'src/a'].map(classifyGenerated(configuration)), ['first', 'second', undefined])
})
