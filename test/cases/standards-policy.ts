/** Standards as definitions: what a table means, what it can never mean, and which hashes tell what changed. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { Refusal } from '../../src/errors.ts'
import type { Configuration } from '../../src/policy/definition.ts'
import { parseConfiguration } from '../../src/policy/read.ts'
import {
  meaningFingerprint,
  readStandards,
  type StandardDefinition,
  standardDefinition,
  standardPlan,
} from '../../src/policy/standards.ts'

const parse = (text: string): Promise<Configuration> => parseConfiguration(text, 'discern.toml')

const JOBS = '[jobs]\ntest = "t"\nlint = "l"\nbuild = ":"\n[generated.api]\npaths = ["api/"]\nrun = "g"\n'

const one = async (table: string): Promise<StandardDefinition> => {
  const [standard] = readStandards(await parse(`${JOBS}[standards.s]\n${table}`))
  if (!standard) throw new Error('no standard was read')
  return standard
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')
const ref = (name: string): string => `$\{${name}}`

describe('a standard', () => {
  it('has every default filled in', async () => {
    assert.deepEqual(await one('direction = "down"\nlimit = 3\nrun = "count"\n'), {
      name: 's',
      direction: 'down',
      limit: 3,
      metric: 's',
      recipe: {
        run: ['count'],
        timeoutS: 600,
        inputs: undefined,
        needs: [],
        artifacts: [],
        environment: [],
        toolchain: [],
        provides: [],
      },
      producer: undefined,
      extract: undefined,
      artifact: undefined,
      per: undefined,
      scale: 1,
      margin: 0,
      inputs: undefined,
      needs: [],
      artifacts: [],
      environment: [],
      toolchain: [],
      timeoutS: 600,
    })
  })

  it('means what its table says, references expanded, and stands where the file has it', async () => {
    const standards = readStandards(
      await parse(`[map]
dir = "docs/map"
[gate]
timeout = 7
${JOBS}
[standards.zeta]
direction = "up"
limit = 80.5
metric = "lines"
producer = "jobs.test"
extract = { json = "/total/a~1b" }
artifact = "out/coverage.json"
per = { lines = ["${ref('map.dir')}/**"] }
scale = 100
margin = 0.5
inputs = ["${ref('map.dir')}/*.md"]
needs = ["lint", "build", "discern-generated-api"]
artifacts = ["out/"]
environment = ["CI"]
toolchain = ["${ref('map.dir')}/tool"]
timeout = 9
[standards.alpha]
direction = "down"
limit = 0
run = ["first ${ref('map.dir')}", ":", "second"]
extract = "jq ${ref('map.dir')}"
per = "total"
[standards.beta]
direction = "down"
limit = 0
producer = "generated.api"
extract = { pattern = "took (\\\\d+) ms" }
`),
    )
    assert.deepEqual(
      standards.map(({ name }) => name),
      ['zeta', 'alpha', 'beta'],
    )
    const [zeta, alpha, beta] = standards
    assert.deepEqual(zeta, {
      name: 'zeta',
      direction: 'up',
      limit: 80.5,
      metric: 'lines',
      recipe: undefined,
      producer: 'test',
      extract: { kind: 'json', pointer: '/total/a~1b' },
      artifact: 'out/coverage.json',
      per: { kind: 'size', unit: 'lines', globs: ['docs/map/**'] },
      scale: 100,
      margin: 0.5,
      inputs: ['docs/map/*.md'],
      // A job without a command is there to be needed, and needing it is needing nothing.
      needs: ['lint', 'discern-generated-api'],
      artifacts: ['out/'],
      environment: ['CI'],
      toolchain: ['docs/map/tool'],
      timeoutS: 9,
    })
    assert.deepEqual(
      [alpha?.recipe?.run, alpha?.recipe?.timeoutS, alpha?.extract, alpha?.per, alpha?.producer],
      [
        ['first docs/map', 'second'],
        7,
        { kind: 'command', command: 'jq docs/map' },
        { kind: 'metric', metric: 'total' },
        undefined,
      ],
    )
    assert.deepEqual(
      [beta?.producer, beta?.extract],
      ['discern-generated-api', { kind: 'pattern', pattern: 'took (\\d+) ms' }],
    )
    assert.throws(() => Object.assign(beta ?? {}, { limit: 1 }), TypeError, 'a definition is frozen')
  })

  it('is planned with its own commands, or after the producer whose output it reads', async () => {
    const plan = standardPlan(
      await parse(
        `${JOBS}[standards.own]\ndirection = "up"\nlimit = 1\nrun = "m"\nneeds = ["lint"]\n[standards.read]\ndirection = "up"\nlimit = 1\nproducer = "test"\nneeds = ["lint", "test"]\n`,
      ),
    )
    assert.deepEqual(
      plan.map(({ id, kind, label, stage, producer, recipe, outputs }) => [
        [id, kind, label, stage, producer],
        recipe.run,
        recipe.needs,
        outputs,
      ]),
      [
        [['discern-standard-own', 'standard', 'standard own', 'standard', 'standards.own'], ['m'], ['lint'], []],
        [
          ['discern-standard-read', 'standard', 'standard read', 'standard', 'standards.read'],
          [],
          ['test', 'lint'],
          [],
        ],
      ],
    )
  })
})

describe('the hashes of a standard', () => {
  it('cover the whole table in one, and all but limit, margin and time limit in the other', async () => {
    const text = 'direction = "up"\nlimit = 80\nproducer = "test"\nmargin = 1\n'
    const configuration = await parse(`${JOBS}[standards.s]\n${text}`)
    const definition = hash(
      '{"direction":"up","limit":80,"margin":1,"producer":"test","selector":"standards.s","timeout":600}',
    )
    assert.equal(standardDefinition(configuration, 's'), definition)
    assert.deepEqual(
      standardPlan(configuration).map(planned => planned.definition),
      [definition],
    )
    assert.equal(
      meaningFingerprint(await one(text)),
      hash(
        '{"artifact":null,"artifacts":[],"direction":"up","environment":[],"extract":null,"inputs":null,"metric":"s","needs":[],"per":null,"producer":"test","run":null,"scale":1,"selector":"standards.s","toolchain":[]}',
      ),
    )
  })

  const plain =
    'direction = "up"\nlimit = 80\nrun = "m"\ninputs = ["a"]\nneeds = ["lint"]\nenvironment = ["A"]\ntoolchain = ["t"]\nartifacts = ["o"]\nextract = "e"\nartifact = "f"\nper = "d"\nscale = 2\nmetric = "x"\n'
  const free = [
    ['limit = 80', 'limit = 81'],
    ['scale = 2', 'scale = 2\nmargin = 3'],
    ['scale = 2', 'scale = 2\ntimeout = 3'],
  ] as const
  const meant = [
    ['"up"', '"down"'],
    ['run = "m"', 'run = "n"'],
    ['run = "m"', 'producer = "test"'],
    ['["a"]', '["b"]'],
    ['["lint"]', '["test"]'],
    ['["A"]', '["B"]'],
    ['["t"]', '["u"]'],
    ['["o"]', '["p"]'],
    ['extract = "e"', 'extract = "f"'],
    ['artifact = "f"', 'artifact = "g"'],
    ['per = "d"', 'per = { files = ["d"] }'],
    ['scale = 2', 'scale = 3'],
    ['metric = "x"', 'metric = "y"'],
  ] as const

  it('keep the fingerprint while only limit, margin or time limit move', async () => {
    const standing = meaningFingerprint(await one(plain))
    for (const [from, to] of free) {
      assert.ok(plain.includes(from))
      assert.equal(meaningFingerprint(await one(plain.replace(from, to))), standing, to)
    }
  })

  it('give every other change a fingerprint of its own', async () => {
    const seen = new Set([meaningFingerprint(await one(plain))])
    for (const [from, to] of meant) {
      assert.ok(plain.includes(from))
      seen.add(meaningFingerprint(await one(plain.replace(from, to))))
    }
    assert.equal(seen.size, meant.length + 1)
  })
})

describe('a standard that can measure nothing is refused', () => {
  const base = 'direction = "up"\nlimit = 1\n'
  const cases: readonly (readonly [table: string, line: number, key: string, problem: RegExp, nearest?: string])[] = [
    ['run = ":"', 11, 'run', /without one nothing is measured/],
    ['run = []', 11, 'run', /without one nothing is measured/],
    ['producer = "tets"', 11, 'producer', /there is no job "tets"/, 'test'],
    ['producer = "build"', 11, 'producer', /the job "build" has no command/],
    ['producer = "scopes.a.gate"', 11, 'producer', /there is no job/],
    ['run = "x"\nneeds = ["lint", "lnt"]', 12, 'needs', /there is no job "lnt"/, 'lint'],
    ['run = "x"\nmetric = "a b"', 12, 'metric', /no blank/],
    ['run = "x"\nextract = " "', 12, 'extract', /expected a command or a table/],
    ['run = "x"\nextract = 3', 12, 'extract', /expected a command, or a table/],
    ['run = "x"\nextract = { }', 12, 'extract', /exactly one of `json` and `pattern`/],
    ['run = "x"\nextract = { json = "/a", pattern = "(a)" }', 12, 'extract', /exactly one of/],
    ['run = "x"\nextract = { jsn = "/a" }', 12, 'extract.jsn', /unknown key/, 'json'],
    ['run = "x"\nextract = { json = "a" }', 12, 'extract.json', /expected a JSON pointer/],
    ['run = "x"\nextract = { json = "/a~2" }', 12, 'extract.json', /expected a JSON pointer/],
    ['run = "x"\nextract = { pattern = "a" }', 12, 'extract.pattern', /one group, found 0/],
    ['run = "x"\nextract = { pattern = "(a)(b)" }', 12, 'extract.pattern', /one group, found 2/],
    ['run = "x"\nextract = { pattern = "(a" }', 12, 'extract.pattern', /not a regular expression/],
    ['run = "x"\nextract = "e"\nartifact = "../a"', 13, 'artifact', /inside the project/],
    ['run = "x"\nextract = "e"\nartifact = "/a"', 13, 'artifact', /inside the project/],
    ['run = "x"\nper = ""', 12, 'per', /names nothing/],
    ['run = "x"\nper = "a b"', 12, 'per', /names nothing/],
    ['run = "x"\nper = { lines = [] }', 12, 'per', /names nothing/],
    [`run = "x"\nper = { lines = ["${ref('map.dir')}"] }`, 12, 'per', /names nothing/],
    ['run = "x"\nper = "total"\nextract = { json = "/a" }', 12, 'per', /no metric "total" beside it/],
    ['run = "x"\nscale = 0', 12, 'scale', /a number above 0/],
    ['run = "x"\nmargin = -1', 12, 'margin', /.*/],
    ['run = "x"\ninputs = ["[z-a]"]', 12, 'inputs.0', /not a path pattern/],
  ]
  for (const [table, line, key, problem, nearest] of cases) {
    it(table.replaceAll('\n', ', '), async () => {
      await assert.rejects(parse(`${JOBS}[standards.s]\n${base}${table}\n`), error => {
        assert.ok(error instanceof Refusal && error.slug === 'invalid_config', String(error))
        const detail = error.detail as { line: number; key: string; problem: string; nearest?: string }
        assert.equal(detail.key, `standards.s.${key}`)
        assert.equal(detail.line, line)
        assert.match(detail.problem, problem)
        assert.equal(detail.nearest, nearest)
        return true
      })
    })
  }
})
