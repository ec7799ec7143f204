/** What `git discern setup` finds in a project: its trunk, its commands, and a configuration that is there already. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'smol-toml'
import { type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

interface Written {
  readonly repository?: { readonly trunk?: string; readonly proof_notes_mode?: string }
  readonly jobs?: Readonly<Record<string, string | readonly string[]>>
}

/** What any reader of TOML finds in the file, as plain objects. */
const written = (s: Scratch, path = 'r/discern.toml'): Written => structuredClone(parse(s.read(path))) as Written

const PROJECTS: readonly (readonly [
  kind: string,
  files: Readonly<Record<string, string>>,
  jobs: Readonly<Record<string, string | readonly string[]>>,
])[] = [
  [
    'package.json',
    { 'package.json': '{"scripts":{"build":"tsc","test":"node --test","start":"node ."}}' },
    { build: 'npm run build', test: 'npm run test' },
  ],
  [
    'package.json with pnpm',
    { 'package.json': '{"scripts":{"test":"node --test"}}', 'pnpm-lock.yaml': '' },
    { test: 'pnpm run test' },
  ],
  ['a package without tests', { 'package.json': '{"scripts":{"test":"echo no test specified && exit 1"}}' }, {}],
  ['Makefile', { Makefile: 'test:\n\tsh test.sh\n\nlint:\n\tsh -n *.sh\n' }, { lint: 'make lint', test: 'make test' }],
  [
    'Cargo.toml',
    { 'Cargo.toml': '[package]\nname = "x"\n' },
    { format: 'cargo fmt', build: 'cargo build', lint: 'cargo clippy --all-targets', test: 'cargo test' },
  ],
  [
    'go.mod',
    { 'go.mod': 'module x\n' },
    { format: 'go fmt ./...', build: 'go build ./...', lint: 'go vet ./...', test: 'go test ./...' },
  ],
  [
    'pyproject.toml',
    { 'pyproject.toml': '[tool.ruff]\n[tool.pytest.ini_options]\n' },
    { lint: 'ruff check .', test: 'pytest' },
  ],
  [
    'two languages side by side',
    { 'go.mod': 'module x\n', 'package.json': '{"scripts":{"test":"node --test"}}' },
    {
      format: 'go fmt ./...',
      build: 'go build ./...',
      lint: 'go vet ./...',
      test: ['npm run test', 'go test ./...'],
    },
  ],
  ['nothing that is known', { 'README.txt': 'hello\n' }, {}],
]

for (const [kind, files, jobs] of PROJECTS) {
  test(`setup writes the jobs of a project: ${kind}`, async t => {
    const s = scratch(t)
    s.git('.', 'init', '-q', 'r')
    for (const [name, content] of Object.entries(files)) s.write(`r/${name}`, content)
    s.commit('r', 'one')
    const run = await s.discern('r', ['setup', '--json'])
    assert.equal(run.exit, 0, JSON.stringify(run.result))
    const file = written(s)
    assert.deepEqual(file.jobs ?? {}, jobs)
    assert.deepEqual(file.repository, { trunk: 'main', proof_notes_mode: 'fetch' })
    assert.match(s.read('r/discern.toml'), /^# /)
    const config = run.result.data?.['config'] as { jobs: { name: string; run: string[]; because: string }[] }
    assert.deepEqual(Object.fromEntries(config.jobs.map(({ name, run }) => [name, run])), asLists(jobs))
    for (const { because } of config.jobs)
      assert.ok(
        Object.keys(files).some(name => because.includes(name)),
        because,
      )
  })
}

const asLists = (jobs: Readonly<Record<string, string | readonly string[]>>): object =>
  Object.fromEntries(Object.entries(jobs).map(([name, run]) => [name, typeof run === 'string' ? [run] : run]))

test('setup never overwrites a discern.toml, and lists what it says', async t => {
  const s = scratch(t)
  s.init('r')
  const text = '[repository]\ntrunk = "main"\n\n[jobs]\ntest = ["one", "two"]\n'
  s.write('r/discern.toml', text)
  s.git('r', 'remote', 'add', 'origin', '../up')
  const before = s.read('r/.git/config')
  const run = await s.discern('r', ['setup', '--json'])
  assert.equal(run.exit, 0)
  assert.equal(s.read('r/discern.toml'), text)
  const { config, proof_notes } = run.result.data as {
    config: { status: string; jobs: object }
    proof_notes: { status: string; mode: string }
  }
  assert.equal(config.status, 'unchanged')
  assert.deepEqual(config.jobs, [{ name: 'test', run: ['one', 'two'], because: 'discern.toml' }])
  // The file leaves the mode at its default, local, and so does setup.
  assert.deepEqual([proof_notes.mode, proof_notes.status], ['local', 'local'])
  assert.equal(s.read('r/.git/config'), before)
})

test('setup on a branch that lags behind a trunk with a discern.toml does not write a second one', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'branch', 'old')
  s.write('r/discern.toml', '[repository]\ntrunk = "main"\nproof_notes_mode = "fetch"\n\n[jobs]\ntest = "true"\n')
  s.commit('r', 'adopt')
  s.git('r', 'remote', 'add', 'origin', '../up')
  s.git('r', 'switch', '-q', 'old')
  const run = await s.discern('r', ['setup'])
  assert.equal(run.exit, 0, run.err)
  assert.equal(s.git('r', 'status', '--porcelain'), '')
  assert.match(run.out, /^ {2}discern\.toml +left alone: main has one, and this branch lags behind it$/m)
  assert.match(run.out, /^ {2}fetch from origin +brings Proof notes: added /m)
  assert.match(run.out, /^next: git merge main {3}# brings its discern\.toml along$/m)
  const refreshed = await s.discern('r', ['refresh', '--json'])
  assert.equal(refreshed.exit, 0)
  assert.deepEqual(refreshed.result.data?.['proof_notes_fetch_changed'], [])
})

test('setup refuses while the discern.toml of the trunk is wrong, rather than write another one', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'branch', 'old')
  s.write('r/discern.toml', '[repository\n')
  s.commit('r', 'adopt')
  s.git('r', 'switch', '-q', 'old')
  const before = snapshot(s.path('r'))
  const run = await s.discern('r', ['setup', '--json'])
  assert.equal(run.result.error, 'invalid_config')
  assert.match(run.result.message ?? '', /^[0-9a-f]{12}:discern\.toml:1: /)
  assert.deepEqual(snapshot(s.path('r')), before)
})

test('setup in a repository without commits names the branch that the first one will make', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', '-b', 'first', 'r')
  const run = await s.discern('r', ['setup'])
  assert.equal(run.exit, 0, run.err)
  assert.equal(written(s).repository?.trunk, 'first')
  assert.match(run.out, /created: trunk first \(the branch of the first commit\), 0 jobs/)
  s.commit('r', 'one')
  const after = await s.discern('r', ['setup'])
  assert.match(after.out, /^nothing had to change$/m)
})

test('setup says what comes next: commit, land, prove', async t => {
  const s = scratch(t)
  s.init('r')
  s.write('r/Makefile', 'test:\n\tsh test.sh\n')
  s.commit('r', 'two')
  s.git('r', 'switch', '-q', '-c', 'adopt')
  const hints = async (): Promise<readonly string[]> =>
    ((await s.discern('r', ['setup', '--trunk', 'main', '--json'])).result.hints ?? []).map(hint =>
      hint.replace(/ {3}#.*$/, ''),
    )
  const commit = 'git add discern.toml && git commit -m "Set up git discern"'
  assert.deepEqual(await hints(), [commit, 'git discern done && git discern accept --confirmed'])
  s.commit('r', 'Set up git discern')
  assert.deepEqual(await hints(), ['git discern done && git discern accept --confirmed'])
  s.git('r', 'branch', '-f', 'main', 'adopt')
  assert.deepEqual(await hints(), ['git discern done'])
  s.git('r', 'switch', '-q', 'main')
  assert.deepEqual(await hints(), ['git switch -c <branch>'])
  s.write('r/discern.toml', '[repository]\ntrunk = "main"\n')
  assert.deepEqual(await hints(), [
    'name the commands that a change has to pass: edit [jobs] in discern.toml',
    commit,
    'git switch -c <branch>',
  ])
})

const trunkOf = async (s: Scratch, ...args: string[]): Promise<string> => {
  const run = await s.discern('r', ['setup', '--json', ...args])
  return run.exit === 0 ? (written(s).repository?.trunk ?? '') : `${run.result.error}: ${run.result.hints?.[0]}`
}

for (const name of ['trunk', 'master', 'feature/x', 'HEAD']) {
  test(`case 54: the only branch is the trunk, whatever it is called: ${name}`, async t => {
    const s = scratch(t)
    s.init('r', '-b', 'start')
    s.git('r', 'update-ref', `refs/heads/${name}`, 'HEAD')
    s.git('r', 'symbolic-ref', 'HEAD', `refs/heads/${name}`)
    s.git('r', 'update-ref', '-d', 'refs/heads/start')
    assert.equal(await trunkOf(s), name)
  })
}

test('case 54: the HEAD of the remote names the trunk', async t => {
  const s = scratch(t)
  s.init('up', '-b', 'develop')
  s.git('up', 'branch', 'main')
  s.git('.', 'clone', '-q', 'up', 'r')
  s.git('r', 'switch', '-q', 'main')
  assert.equal(await trunkOf(s), 'develop')
})

test('case 54: several branches and nothing that decides is a question, and nothing is written', async t => {
  const s = scratch(t)
  s.init('r', '-b', 'develop')
  s.git('r', 'branch', 'production')
  const before = snapshot(s.dir)
  assert.equal(await trunkOf(s), 'trunk_unknown: git discern setup --trunk <branch>   # one of: develop, production')
  assert.deepEqual(snapshot(s.dir), before)
  assert.equal(await trunkOf(s, '--trunk', 'production'), 'production')
})

test('case 54: a clone without origin/HEAD and with one branch of its own asks', async t => {
  const s = scratch(t)
  s.init('up', '-b', 'develop')
  s.git('.', 'clone', '-q', 'up', 'r')
  s.git('r', 'remote', 'set-head', 'origin', '-d')
  s.git('r', 'switch', '-q', '-c', 'topic')
  s.git('r', 'branch', '-q', '-D', 'develop')
  assert.equal(await trunkOf(s), 'trunk_unknown: git discern setup --trunk <branch>   # one of: develop, topic')
  const run = await s.discern('r', ['setup', '--trunk', 'develop', '--json'])
  assert.equal(written(s).repository?.trunk, 'develop')
  assert.match(run.result.hints?.join('\n') ?? '', /^git branch develop origin\/develop /m)
})

test('case 54: a symbolic branch is another name of the trunk, and a tag of its name is not meant', async t => {
  const s = scratch(t)
  s.init('r', '-b', 'develop')
  s.git('r', 'symbolic-ref', 'refs/heads/trunk', 'refs/heads/develop')
  s.git('r', 'tag', 'develop')
  assert.equal(await trunkOf(s), 'develop')
  const doctor = await s.discern('r', ['doctor', '-v'])
  assert.match(doctor.out, /^ {2}trunk +ok: develop: discern\.toml says so$/m)
})

test('--trunk wins over what would be found, and must be a branch', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'branch', 'stable')
  assert.equal(
    await trunkOf(s, '--trunk', 'gone'),
    'trunk_unknown: git discern setup --trunk <branch>   # one of: main, stable',
  )
  assert.match(await trunkOf(s, '--trunk', 'a..b'), /^invalid_value: /)
  assert.equal(await trunkOf(s, '--trunk', 'refs/heads/stable'), 'stable')
})

test('--trunk against a discern.toml that says otherwise refuses and names the line to write', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'branch', 'stable')
  s.write('r/discern.toml', '[repository]\ntrunk = "main"\n')
  const before = snapshot(s.dir)
  assert.equal(
    await trunkOf(s, '--trunk', 'stable'),
    'precondition_failed: write trunk = "stable" below [repository] in discern.toml',
  )
  assert.deepEqual(snapshot(s.dir), before)
  assert.equal(await trunkOf(s, '--trunk', 'main'), 'main')
})

test('setup outside a work tree says what is missing', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', '--bare', 'bare.git')
  for (const place of ['.', 'bare.git']) {
    const run = await s.discern(place, ['setup', '--json'])
    assert.equal(run.exit, 1)
    assert.equal(run.result.error, 'not_initialized')
  }
})

test('setup works in a repository with SHA-256 ids', async t => {
  const s = scratch(t)
  s.init('r', '--object-format=sha256')
  assert.equal(await trunkOf(s), 'main')
  assert.match((await s.discern('r', ['doctor', '-v'])).out, /^ {2}repository +ok: sha256 objects, refs in files$/m)
})
