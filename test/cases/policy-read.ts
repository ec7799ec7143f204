import assert from 'node:assert/strict'
import { readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Refusal } from '../../src/errors.ts'
import { openWorktree, type Worktree } from '../../src/git/repository.ts'
import { OWN_TABLES } from '../../src/policy/foreign.ts'
import { KNOWN_STAGES, RENAMED } from '../../src/policy/normalise.ts'
import {
  parseConfiguration,
  policyDigest,
  readCommittedConfiguration,
  readLiveConfiguration,
} from '../../src/policy/read.ts'
import { contextFor } from '../support/gate.ts'
import { projectRoot, type Scratch, scratch } from '../support/scratch.ts'

const parse = (text: string) => parseConfiguration(text, 'discern.toml')

const refusalOf = async (work: Promise<unknown>): Promise<Refusal<'invalid_config'>['detail']> => {
  try {
    await work
  } catch (error) {
    if (error instanceof Refusal && error.slug === 'invalid_config') {
      return (error as Refusal<'invalid_config'>).detail
    }
    throw error
  }
  throw new Error('it was accepted')
}

/** A dollar sign in front of a brace, which the linter takes for a template that is not one. */
const ref = (name: string): string => `$\{${name}}`

test('an empty file, and one with a comment alone, mean every default', async () => {
  for (const text of ['', '# nothing\n', '\uFEFF', '[jobs]\n']) {
    assert.deepEqual(await parse(text), {
      project: { name: undefined, recordLogbook: true },
      repository: { trunk: undefined, branchPrefix: 'agent/', proofNotesMode: 'local' },
      gate: { failFast: true, timeoutS: 600, concurrentTestRuns: 1, streamOutput: false },
      acceptance: { preAuthorized: [] },
      jobs: [],
      scopes: [],
      generated: [],
      checkpoints: {},
      standards: {},
      delivery: {},
      foreignTables: [],
      renamedKeys: [],
      references: {},
    })
  }
})

test('every setting is read, and the file may have CRLF and a byte order mark', async () => {
  const text = `
[project]
name = "demo"
record_logbook = false
[repository]
trunk = "release/1"
branch_prefix = "work/"
proof_notes_mode = "fetch"
[jobs]
format = "fmt"
lint = ["lint one", "lint two"]
[jobs.licenses]
stage = "check"
run = "licenses"
inputs = ["src/**"]
needs = ["lint"]
artifacts = ["out/*.xml"]
environment = ["LICENSE_KEY"]
toolchain = ["tools/licenses"]
provides = ["licenses"]
timeout = 0
[scopes.docs]
paths = ["docs/**"]
gate = { run = "check-docs", timeout = 5 }
[scopes.notes]
paths = ["*.md"]
neutral = true
[generated.api]
paths = ["src/api/**"]
run = "generate"
[generated.vendored]
paths = ["vendor/"]
[gate]
fail_fast = false
timeout = 30
concurrent_test_runs = 0
stream_output = true
[acceptance]
pre_authorized = ["docs"]
[checkpoints.scary]
scope = "docs"
kinds = ["added", "deleted"]
adds_matching = ["eval("]
binary = false
min_changed_files = 2
when = "ask"
mode = "advise"
question = "Sure?"
[standards.coverage]
direction = "up"
limit = 80.5
producer = "lint"
per = { files = ["src/**"] }
[delivery]
repository = "example.com/demo"
`
  const recipe = { inputs: undefined, needs: [], artifacts: [], environment: [], toolchain: [], provides: [] }
  for (const variant of [text, `\uFEFF${text.replaceAll('\n', '\r\n')}`]) {
    const read = await parse(variant)
    assert.deepEqual(read.project, { name: 'demo', recordLogbook: false })
    assert.deepEqual(read.repository, { trunk: 'release/1', branchPrefix: 'work/', proofNotesMode: 'fetch' })
    assert.deepEqual(read.gate, { failFast: false, timeoutS: 30, concurrentTestRuns: 0, streamOutput: true })
    assert.deepEqual(read.acceptance, { preAuthorized: ['docs'] })
    assert.deepEqual(read.jobs, [
      { name: 'format', stage: 'fix', run: ['fmt'], timeoutS: 30, ...recipe },
      { name: 'lint', stage: 'check', run: ['lint one', 'lint two'], timeoutS: 30, ...recipe },
      {
        name: 'licenses',
        stage: 'check',
        run: ['licenses'],
        timeoutS: 0,
        inputs: ['src/**'],
        needs: ['lint'],
        artifacts: ['out/*.xml'],
        environment: ['LICENSE_KEY'],
        toolchain: ['tools/licenses'],
        provides: ['licenses'],
      },
    ])
    assert.deepEqual(read.scopes, [
      { name: 'docs', paths: ['docs/**'], neutral: false, gate: { run: ['check-docs'], timeoutS: 5, ...recipe } },
      { name: 'notes', paths: ['*.md'], neutral: true, gate: undefined },
    ])
    assert.deepEqual(read.generated, [
      { name: 'api', paths: ['src/api/**'], generator: { run: ['generate'], timeoutS: 30, ...recipe } },
      { name: 'vendored', paths: ['vendor/'], generator: undefined },
    ])
    assert.equal((read.checkpoints['scary'] as Record<string, unknown>)['when'], 'ask')
    assert.equal((read.standards['coverage'] as Record<string, unknown>)['limit'], 80.5)
    assert.deepEqual({ ...read.delivery }, { repository: 'example.com/demo' })
    assert.deepEqual([read.foreignTables, read.renamedKeys], [[], []])
    assert.throws(() => (read.jobs as unknown[]).push(1), TypeError, 'a configuration is frozen')
  }
})

test('the names that say their stage say it, and a table may say another', async () => {
  const read = await parse(
    '[jobs]\nformat="a"\nbuild="a"\nlint="a"\ntypecheck="a"\ntest="a"\nsmoke={stage="check",run="a"}\n',
  )
  assert.deepEqual(
    read.jobs.map(({ name, stage }) => [name, stage]),
    [
      ['format', 'fix'],
      ['build', 'build'],
      ['lint', 'check'],
      ['typecheck', 'check'],
      ['test', 'test'],
      ['smoke', 'check'],
    ],
  )
})

test('a blank command or a colon means not configured, wherever a command can stand', async () => {
  const read = await parse(`
[jobs]
format = ""
build = ":"
lint = [" ", ":", "lint"]
typecheck = []
test = { run = " : ", needs = ["lint"] }
smoke = { run = "smoke", needs = ["build", "lint"] }
[scopes.a]
paths = ["a/"]
gate = ":"
[generated.b]
paths = ["b/"]
run = [""]
`)
  assert.deepEqual(
    read.jobs.map(({ name, run, needs }) => [name, run, needs]),
    [
      ['lint', ['lint'], []],
      ['smoke', ['smoke'], ['lint']],
    ],
  )
  assert.equal(read.scopes[0]?.gate, undefined)
  assert.equal(read.generated[0]?.generator, undefined)
})

test('older spellings are understood and listed', async () => {
  const read = await parse('[project]\nlogbook=false\n[repository]\nproof_notes="fetch"\n[gate]\nstream=true\n')
  assert.equal(read.project.recordLogbook, false)
  assert.equal(read.repository.proofNotesMode, 'fetch')
  assert.equal(read.gate.streamOutput, true)
  assert.deepEqual(read.renamedKeys, [
    { from: 'project.logbook', to: 'project.record_logbook' },
    { from: 'repository.proof_notes', to: 'repository.proof_notes_mode' },
    { from: 'gate.stream', to: 'gate.stream_output' },
  ])
})

test('a full ref name of the trunk is as good as its short one', async () => {
  assert.equal((await parse('[repository]\ntrunk="refs/heads/dev"\n')).repository.trunk, 'dev')
  assert.equal((await parse('[repository]\ntrunk=""\n')).repository.trunk, undefined)
})

test('references are replaced from the same file, and an unset one makes the whole pattern match nothing', async () => {
  const read = await parse(`
[map]
dir = "docs/map/"
[project]
todo = "TODO.md"
[scopes.a]
paths = ["${ref('map.dir')}**", "${ref('project.todo')}", "${ref('skills.dir')}**", "${ref('other.dir')}/x", "x${ref('HOME')}"]
[jobs.lint]
run = "lint ${ref('map.dir')} ${ref('skills.dir')} ${ref('HOME')}"
inputs = ["${ref('scripts.dir')}", "${ref('map.dir')}"]
`)
  assert.deepEqual(read.scopes[0]?.paths, ['docs/map/**', 'TODO.md', '', `${ref('other.dir')}/x`, `x${ref('HOME')}`])
  assert.deepEqual(read.jobs[0]?.run, [`lint docs/map/ ${ref('skills.dir')} ${ref('HOME')}`])
  assert.deepEqual(read.jobs[0]?.inputs, ['', 'docs/map/'])
  assert.deepEqual(read.references, { 'map.dir': 'docs/map/', 'project.todo': 'TODO.md' })
})

test('the order of the file is kept even for names that look like numbers', async () => {
  const read = await parse(`
[generated.10]
paths = ["a"]
[generated.9]
paths = ["a"]
[jobs]
2 = { stage = "check", run = "a" }
lint = "a"
1 = { stage = "check", run = "a" }
`)
  assert.deepEqual(
    read.generated.map(({ name }) => name),
    ['10', '9'],
  )
  assert.deepEqual(
    read.jobs.map(({ name }) => name),
    ['2', 'lint', '1'],
  )
})

const PUBLIC_FILE = `
[project]
name = "widget"
todo = "docs/TODO.md"
gotchas_doc = "docs/gotchas.md"
logbook = true

[repository]
trunk = "main"
proof_notes = "fetch"

[worktree]
root = ".worktrees"
[[worktree.links]]
path = "node_modules"

[[resources]]
name = "db"

[map]
dir = "docs/map/"
[skills]
dir = "skills/"
[instructions]
sources = ["AGENTS.md"]
[environment]
FOO = "bar"
[mcp]
enabled = true
[docs]
adr = "docs/adr"
[agents.codex]
model = "x"
[hooks]
post_checkout = "true"

[jobs]
format = "deno fmt"
lint = "deno lint"
test = { run = "deno test", inputs = ["src/**"], timeout = 120 }

[scopes.docs]
paths = ["docs/**"]
neutral = true

[checkpoints.map-focus]
[checkpoints.effort-sprawl]
min_changed_files = 25
mode = "advise"
`

test('a file written for the public program loads, and its own tables are listed once', async () => {
  const read = await parse(PUBLIC_FILE)
  assert.deepEqual(read.foreignTables, [
    'worktree',
    'resources',
    'map',
    'skills',
    'instructions',
    'environment',
    'mcp',
    'docs',
    'agents',
    'hooks',
    'project.todo',
    'project.gotchas_doc',
  ])
  assert.deepEqual(
    read.renamedKeys.map(({ from }) => from),
    ['project.logbook', 'repository.proof_notes'],
  )
  assert.deepEqual(
    read.jobs.map(({ name }) => name),
    ['format', 'lint', 'test'],
  )
  assert.deepEqual(Object.keys(read.checkpoints), ['map-focus', 'effort-sprawl'])
})

test('a table that nobody could mean for ours is left to whoever it belongs to', async () => {
  assert.deepEqual((await parse('[deployment]\nhost="x"\n[[matrix]]\na=1\n')).foreignTables, ['deployment', 'matrix'])
})

/** Text, and literally what the refusal says: line, key, nearest spelling, and a part of the sentence. */
const invalid: readonly (readonly [
  text: string,
  line: number,
  key: string,
  nearest: string | undefined,
  says: RegExp,
])[] = [
  // Not TOML.
  ['[jobs]\nlint = \n', 2, '', undefined, /invalid value/],
  ['[jobs]\r\nlint = "a"\r\nlint = "b"\r\n', 3, '', undefined, /redefine/],
  ['[gate]\ntimeout = 99999999999999999999\n', 2, '', undefined, /losslessly/],
  // Tables and keys.
  ['# x\n[job]\nlint = "x"\n', 2, 'job', 'jobs', /unknown table/],
  ['[gates]\nfail_fast = true\n', 1, 'gates', 'gate', /unknown table/],
  ['[Gate]\nfail_fast = true\n', 1, 'Gate', 'gate', /unknown table/],
  ['\n[[scope]]\nname = "x"\n', 2, 'scope', 'scopes', /unknown table/],
  ['[checkpoint.a]\nmode = "stop"\n', 1, 'checkpoint', 'checkpoints', /unknown table/],
  ['trunk = "main"\n', 1, 'trunk', 'repository.trunk', /outside any table/],
  ['job = "x"\n', 1, 'job', 'jobs', /outside any table/],
  ['[project]\nnmae = "x"\n', 2, 'project.nmae', 'name', /unknown key/],
  ['[repository]\ntrunc = "x"\n', 2, 'repository.trunc', 'trunk', /\[repository\] has trunk, branch_prefix/],
  ['[repository]\nfail_fast = true\n', 2, 'repository.fail_fast', 'gate.fail_fast', /unknown key/],
  ['[repository]\nlogbook = true\n', 2, 'repository.logbook', 'project.record_logbook', /unknown key/],
  ['[gate]\nfail-fast = true\n', 2, 'gate.fail-fast', 'fail_fast', /unknown key/],
  [
    '[gate]\nparallel = 3\n',
    2,
    'gate.parallel',
    undefined,
    /has fail_fast, timeout, concurrent_test_runs, stream_output$/,
  ],
  ['[acceptance]\npreauthorized = []\n', 2, 'acceptance.preauthorized', 'pre_authorized', /unknown key/],
  ['[jobs.lint]\nrun = "x"\nstge = "fix"\n', 3, 'jobs.lint.stge', 'stage', /unknown key/],
  ['[jobs]\nlint = { run = "x", comand = "y" }\n', 2, 'jobs.lint.comand', undefined, /unknown key/],
  ['[scopes.docs]\npath = ["docs/"]\npaths = []\n', 2, 'scopes.docs.path', 'paths', /unknown key/],
  [
    '[scopes.docs]\npaths = []\n[scopes.docs.gate]\nrun = "x"\nstage = "check"\n',
    5,
    'scopes.docs.gate.stage',
    undefined,
    /unknown key/,
  ],
  ['[generated.api]\npaths = []\ncommand = "x"\n', 3, 'generated.api.command', undefined, /unknown key/],
  ['[checkpoints.a]\nadd_matching = ["x"]\n', 2, 'checkpoints.a.add_matching', 'adds_matching', /unknown key/],
  [
    '[standards.a]\nrun = "x"\ndirection = "up"\nlimit = 1\nmeasure = "on-demand"\n',
    5,
    'standards.a.measure',
    undefined,
    /unknown key/,
  ],
  ['[standards.a]\ndirction = "up"\nlimit = 1\n', 2, 'standards.a.dirction', 'direction', /unknown key/],
  // Older spellings beside new ones.
  ['[gate]\nstream = true\nstream_output = true\n', 2, 'gate.stream', 'stream_output', /older spelling/],
  // Values.
  ['jobs = 3\n', 1, 'jobs', undefined, /expected a table, found 3/],
  [
    '[jobs]\nlint = 3\n',
    2,
    'jobs.lint',
    undefined,
    /expected a command, a list of commands, or a table with `run`, found 3/,
  ],
  ['[jobs]\nlint = [\n  "a",\n  3,\n]\n', 4, 'jobs.lint.1', undefined, /expected a command, found 3/],
  [
    '[jobs.lint]\nrun = "x"\nstage = "tests"\n',
    3,
    'jobs.lint.stage',
    'test',
    /expected `fix`, `build`, `check` or `test`, found "tests"/,
  ],
  [
    '[jobs]\nlint.run = "x"\nlint.inputs = "src"\n',
    3,
    'jobs.lint.inputs',
    undefined,
    /expected a list of path patterns, found "src"/,
  ],
  ['[jobs.lint]\nrun = "a\\u0000b"\n', 2, 'jobs.lint.run', undefined, /expected a command or a list of commands/],
  [
    '[jobs.lint]\nrun = "x"\nenvironment = ["A-B"]\n',
    3,
    'jobs.lint.environment.0',
    undefined,
    /name of an environment variable, found "A-B"/,
  ],
  ['[jobs.lint]\nrun = "x"\ntimeout = inf\n', 3, 'jobs.lint.timeout', undefined, /from 0 to 2147483, found inf/],
  ['[gate]\ntimeout = -1\n', 2, 'gate.timeout', undefined, /from 0 to 2147483, found -1/],
  ['[gate]\nfail_fast = "yes"\n', 2, 'gate.fail_fast', undefined, /expected true or false, found "yes"/],
  [
    '[gate]\nconcurrent_test_runs = 1.5\n',
    2,
    'gate.concurrent_test_runs',
    undefined,
    /expected a whole number, found 1.5/,
  ],
  ['[repository]\ntrunk = 2026-01-01\n', 2, 'repository.trunk', undefined, /expected a text, found 2026-01-01/],
  [
    '[repository]\nproof_notes_mode = "Fetch"\n',
    2,
    'repository.proof_notes_mode',
    'fetch',
    /expected `local` or `fetch`, found "Fetch"/,
  ],
  [
    '[repository]\nproof_notes = "off"\n',
    2,
    'repository.proof_notes',
    undefined,
    /expected `local` or `fetch`, found "off"/,
  ],
  ['[scopes.a]\nneutral = true\n', 1, 'scopes.a.paths', undefined, /missing; expected a list of path patterns/],
  [
    '[scopes.a]\npaths = [\n"ok/**",\n"[z-a]*"]\n',
    4,
    'scopes.a.paths.1',
    undefined,
    /not a path pattern: Range out of order/,
  ],
  [
    '[scopes.a]\npaths = []\ngate = { run = "x", inputs = ["+(a|aa)*"] }\n',
    3,
    'scopes.a.gate.inputs.0',
    undefined,
    /not a path pattern/,
  ],
  // Lines are right with a byte order mark, CRLF, and what TOML 1.1 allows.
  ['\uFEFF[jobs]\r\nlint = 3\r\n', 2, 'jobs.lint', undefined, /found 3/],
  ['[jobs]\nlint = {\n  run = 3,\n}\n', 3, 'jobs.lint.run', undefined, /found 3/],
  // Names and stages of jobs.
  ['[jobs."a b"]\nstage = "fix"\nrun = "x"\n', 1, 'jobs."a b"', undefined, /a name of letters, digits/],
  ['[jobs.discern-x]\nstage = "fix"\nrun = "x"\n', 1, 'jobs.discern-x', undefined, /does not start with `discern-`/],
  ['[scopes."ä"]\npaths = []\n', 1, 'scopes."ä"', undefined, /a name of letters, digits/],
  [
    '[jobs]\nlicenses = "x"\n',
    2,
    'jobs.licenses',
    undefined,
    /a table with `stage` and `run`: only format, build, lint/,
  ],
  ['[jobs]\ntests = "x"\n', 2, 'jobs.tests', 'jobs.test', /a table with `stage` and `run`/],
  ['[jobs.unit]\nrun = "x"\n', 1, 'jobs.unit.stage', undefined, /missing; expected `fix`/],
  ['[jobs.constructor]\nrun = "x"\n', 1, 'jobs.constructor.stage', undefined, /missing; expected `fix`/],
  [
    '[jobs.lint]\nstage = "check"\n',
    1,
    'jobs.lint.run',
    undefined,
    /missing; expected a command or a list of commands/,
  ],
  // Needs.
  [
    '[jobs]\ntest = "x"\n[jobs.lint]\nrun = "x"\nneeds = ["tset"]\n',
    5,
    'jobs.lint.needs',
    'test',
    /there is no job "tset"/,
  ],
  [
    '[scopes.a]\npaths = []\n[scopes.a.gate]\nrun = "x"\nneeds = ["lint"]\n',
    5,
    'scopes.a.gate.needs',
    undefined,
    /there is no job "lint"/,
  ],
  [
    '[jobs]\ntest = "x"\nlint = { run = "x", needs = ["test"] }\n',
    3,
    'jobs.lint.needs',
    undefined,
    /test is of stage test, which comes after check/,
  ],
  ['[jobs.lint]\nrun = "x"\nneeds = ["lint"]\n', 3, 'jobs.lint.needs', undefined, /a circle: lint needs lint/],
  [
    '[jobs.lint]\nrun = "x"\nneeds = ["typecheck"]\n[jobs.typecheck]\nrun = "x"\nneeds = ["lint"]\n',
    3,
    'jobs.lint.needs',
    undefined,
    /a circle: lint needs typecheck needs lint/,
  ],
  [
    '[generated.api]\npaths = []\nrun = "x"\nneeds = ["lint"]\n[jobs]\nlint = "x"\n',
    4,
    'generated.api.needs',
    undefined,
    /comes after build/,
  ],
  // Checkpoints and standards.
  [
    '[checkpoints.a]\npaths = ["x"]\nscope = "y"\n',
    3,
    'checkpoints.a.scope',
    undefined,
    /not allowed here: .*either this or `paths`/,
  ],
  [
    '[checkpoints.a]\nquestion = "x"\nquestion_file = "y"\n',
    3,
    'checkpoints.a.question_file',
    undefined,
    /not allowed here/,
  ],
  [
    '[checkpoints.a]\nkinds = ["add"]\n',
    2,
    'checkpoints.a.kinds.0',
    'added',
    /expected `added`, `modified` or `deleted`/,
  ],
  ['[checkpoints.a]\nmode = "halt"\n', 2, 'checkpoints.a.mode', undefined, /expected `stop` or `advise`, found "halt"/],
  ['[checkpoints.a]\nmin_commits = 1.5\n', 2, 'checkpoints.a.min_commits', undefined, /expected a whole number/],
  [
    '[checkpoints.a]\nadds_matching = ["a", "a"]\n',
    2,
    'checkpoints.a.adds_matching',
    undefined,
    /at most 16 different texts/,
  ],
  [
    '[checkpoints.a]\nadds_matching = ["a\\n"]\n',
    2,
    'checkpoints.a.adds_matching.0',
    undefined,
    /without NUL and line breaks/,
  ],
  [
    `[checkpoints.a]\nremoves_matching = ["${'é'.repeat(65)}"]\n`,
    2,
    'checkpoints.a.removes_matching.0',
    undefined,
    /at most 128 bytes/,
  ],
  [
    '[standards.a]\ndirection = "up"\nlimit = 1\n',
    1,
    'standards.a.producer',
    undefined,
    /missing; expected the name of a job, or `run`/,
  ],
  [
    '[standards.a]\ndirection = "up"\nlimit = 1\nrun = "x"\nproducer = "y"\n',
    5,
    'standards.a.producer',
    undefined,
    /either this or `run`/,
  ],
  ['[standards.a]\ndirection = "down"\nrun = "x"\n', 1, 'standards.a.limit', undefined, /missing; expected/],
  [
    '[standards.a]\ndirection = "down"\nlimit = 1\nrun = "x"\nartifact = "y"\n',
    1,
    'standards.a.extract',
    undefined,
    /missing/,
  ],
  [
    '[standards.a]\ndirection = "down"\nlimit = 1\nrun = "x"\nper = { files = [], lines = [] }\n',
    5,
    'standards.a.per',
    undefined,
    /exactly one of/,
  ],
]

test('every mistake names file, line, key and the nearest right spelling', async () => {
  for (const [text, line, key, nearest, says] of invalid) {
    const detail = await refusalOf(parse(text))
    const { file, problem } = detail
    assert.deepEqual([file, detail.line, detail.key, detail.nearest], ['discern.toml', line, key, nearest], text)
    assert.match(problem, says, text)
  }
})

test('a refusal reads as one sentence that an editor can follow', async () => {
  const error = await parse('\n[jobs.lint]\nstge = "fix"\n').catch((thrown: unknown) => thrown)
  assert.ok(error instanceof Refusal)
  assert.match(error.message, /^discern\.toml:3: jobs\.lint\.stge: unknown key; .*; did you mean "stage"\?$/)
  assert.deepEqual(error.next, ['edit discern.toml, line 3: write stage'])
  assert.equal(error.exit, 1)
})

test('names that mean something to JavaScript are names like any other', async () => {
  const read = await parse(
    '[jobs.constructor]\nstage="check"\nrun="x"\n[jobs.__proto__]\nstage="check"\nrun="y"\n[scopes.toString]\npaths=["a"]\n',
  )
  assert.deepEqual(
    read.jobs.map(({ name, run }) => [name, ...run]),
    [
      ['constructor', 'x'],
      ['__proto__', 'y'],
    ],
  )
  assert.equal(read.scopes[0]?.name, 'toString')
})

interface SchemaText {
  readonly properties: Readonly<Record<string, { readonly properties?: Record<string, { deprecated?: boolean }> }>>
  readonly $defs: Readonly<
    Record<string, { readonly properties?: Record<string, { description?: string; $ref?: string }> }>
  >
}

test('the contract and the code know the same tables, job names and older spellings, and every setting is described', () => {
  const contract = JSON.parse(
    readFileSync(join(projectRoot, 'schema/discern-config.schema.json'), 'utf8'),
  ) as SchemaText & { $id: string; $schema: string }
  assert.equal(contract.$id, 'https://discern.sh/schema/v1/discern-config.schema.json')
  assert.equal(contract.$schema, 'https://json-schema.org/draft/2020-12/schema')
  assert.deepEqual(Object.keys(contract.properties), OWN_TABLES)
  assert.deepEqual(Object.keys(contract.properties['jobs']?.properties ?? {}), [...KNOWN_STAGES.keys()])
  const deprecated = Object.entries(contract.properties).flatMap(([table, { properties }]) =>
    Object.entries(properties ?? {}).flatMap(([key, { deprecated }]) => (deprecated ? [`${table}.${key}`] : [])),
  )
  assert.deepEqual(
    deprecated,
    RENAMED.map(([table, from]) => `${table}.${from}`),
  )
  const described = [...Object.values(contract.properties), ...Object.values(contract.$defs)].flatMap(node =>
    Object.entries((node.properties ?? {}) as Record<string, { description?: string; $ref?: string }>),
  )
  const silent = described.filter(
    ([, node]) => !node.description && !(node.$ref && 'description' in (contract.$defs[node.$ref.slice(8)] ?? {})),
  )
  assert.ok(described.length > 80)
  assert.deepEqual(
    silent.map(([key]) => key),
    [],
  )
})

const worktreeOf = (t: TestContext, s: Scratch, name: string): Promise<Worktree> =>
  openWorktree({ ...contextFor(s.path(name), s.env), defer: close => t.after(close) })

test('the live configuration is read from the checkout, and a missing one is no error', async t => {
  const s = scratch(t)
  s.init('r')
  const worktree = await worktreeOf(t, s, 'r')
  assert.equal(await readLiveConfiguration(worktree), undefined)
  s.write('r/discern.toml', '[jobs]\ntest = "t"\n')
  assert.equal((await readLiveConfiguration(worktree))?.jobs[0]?.name, 'test')
  s.write('r/discern.toml', Buffer.from('# ok\n# b\xe4d\n', 'latin1'))
  const detail = await refusalOf(readLiveConfiguration(worktree))
  assert.deepEqual([detail.file, detail.line, detail.problem], ['discern.toml', 2, 'not UTF-8'])
  rmSync(s.path('r/discern.toml'))
  symlinkSync('f', s.path('r/discern.toml'))
  await assert.rejects(
    readLiveConfiguration(worktree),
    (error: unknown) => error instanceof Refusal && error.slug === 'store_unreadable',
  )
})

for (const format of ['sha1', 'sha256']) {
  test(`the configuration of a commit is absent, right, wrong or not to be had (${format})`, async t => {
    const s = scratch(t)
    s.init('r', `--object-format=${format}`)
    const absent = s.git('r', 'rev-parse', 'HEAD')
    const text = '\uFEFF[jobs]\r\ntest = "t"\r\n'
    s.git('r', 'config', 'core.autocrlf', 'false')
    s.write('r/discern.toml', text)
    const right = s.commit('r', 'right')
    s.write('r/discern.toml', '\n[jobs]\nlint = 3\n')
    const wrong = s.commit('r', 'wrong')
    rmSync(s.path('r/discern.toml'))
    symlinkSync('f', s.path('r/discern.toml'))
    const linked = s.commit('r', 'linked')
    rmSync(s.path('r/discern.toml'))
    s.write('r/discern.toml/x', '1')
    const folder = s.commit('r', 'folder')
    s.write('r/lost.txt', '1')
    rmSync(s.path('r/discern.toml'), { recursive: true })
    s.write('r/discern.toml', '# lost\n')
    const lost = s.commit('r', 'lost')
    const blob = s.git('r', 'rev-parse', 'HEAD:discern.toml')
    rmSync(s.path('r/.git/objects', blob.slice(0, 2), blob.slice(2)))
    const worktree = await worktreeOf(t, s, 'r')
    const read = (commit: string) => readCommittedConfiguration(worktree, commit)

    assert.deepEqual(await read(absent), { status: 'absent' })
    const found = await read(right)
    assert.ok(found.status === 'ok')
    assert.equal(found.text, text)
    assert.equal(found.configuration.jobs[0]?.name, 'test')
    const broken = await read(wrong)
    assert.ok(broken.status === 'invalid')
    assert.equal(broken.text, '\n[jobs]\nlint = 3\n')
    assert.deepEqual(
      [broken.refusal.detail.file, broken.refusal.detail.line, broken.refusal.detail.key],
      [`${wrong.slice(0, 12)}:discern.toml`, 3, 'jobs.lint'],
    )
    for (const commit of [linked, folder, lost, '0'.repeat(right.length)]) {
      assert.equal((await read(commit)).status, 'unreadable', commit)
    }
  })
}

test('the policy digest covers the text as it is, and tells an absent file from an empty one', () => {
  // printf 'null' | sha256sum; printf '""' | sha256sum; printf '"a\\n"' | sha256sum
  assert.equal(policyDigest(undefined), '74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b')
  assert.equal(policyDigest(''), '12ae32cb1ec02d01eda3581b127c1fee3b0dc53572ed6baf239721a03d82e126')
  assert.equal(policyDigest('a\n'), '0a38bb8c01ea01837592dae4c410870541c6d83292570b08fe776cdc4f4511a1')
  assert.notEqual(policyDigest('a\r\n'), policyDigest('a\n'))
})
