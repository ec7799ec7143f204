import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rewrites, waits } from '../../src/policy/command-text.ts'
import { detectCommands } from '../../src/policy/detect.ts'
import { parseConfiguration } from '../../src/policy/read.ts'
import { renderConfiguration } from '../../src/policy/template.ts'

type Files = Readonly<Record<string, string>>

const found = (files: Files): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(
      detectCommands({
        has: name => Object.hasOwn(files, name),
        text: name => (Object.hasOwn(files, name) ? files[name] : undefined),
      }),
    ).map(([job, { run, because }]) => [job, `${run.join(' && ')} <- ${because}`]),
  )

const scripts = (table: Readonly<Record<string, string>>, more: object = {}): string =>
  JSON.stringify({ name: 'x', scripts: table, ...more })

/** What a project has at its top, and every job that is found there. */
const projects: readonly (readonly [what: string, files: Files, jobs: Readonly<Record<string, string>>])[] = [
  ['nothing', {}, {}],
  ['a manifest without scripts', { 'package.json': '{"name":"x"}' }, {}],
  ['a manifest that is no JSON', { 'package.json': '{"scripts":' }, {}],
  [
    'package.json',
    {
      'package.json': scripts({
        format: 'prettier --write .',
        build: 'tsc -p .',
        lint: 'eslint .',
        typecheck: 'tsc --noEmit',
        test: 'node --test',
        smoke: 'node dist/main.js --version',
        start: 'node .',
      }),
    },
    {
      format: 'npm run format <- package.json scripts.format',
      build: 'npm run build <- package.json scripts.build',
      lint: 'npm run lint <- package.json scripts.lint',
      typecheck: 'npm run typecheck <- package.json scripts.typecheck',
      test: 'npm run test <- package.json scripts.test',
      smoke: 'npm run smoke <- package.json scripts.smoke',
    },
  ],
  [
    'other spellings, and pnpm',
    {
      'package.json': scripts({ fmt: 'biome check --write .', 'check-types': 'tsc', 'test:unit': 'jest' }),
      'pnpm-lock.yaml': '',
    },
    {
      format: 'pnpm run fmt <- package.json scripts.fmt',
      typecheck: 'pnpm run check-types <- package.json scripts.check-types',
      test: 'pnpm run test:unit <- package.json scripts.test:unit',
    },
  ],
  [
    'yarn',
    { 'package.json': scripts({ lint: 'eslint .' }), 'yarn.lock': '', 'package-lock.json': '' },
    { lint: 'yarn run lint <- package.json scripts.lint' },
  ],
  [
    'a declared package manager before any lock file',
    { 'package.json': scripts({ lint: 'eslint .' }, { packageManager: 'bun@1.2.0' }), 'yarn.lock': '' },
    { lint: 'bun run lint <- package.json scripts.lint' },
  ],
  [
    'what npm writes instead of tests',
    {
      'package.json': scripts({ test: 'echo "Error: no test specified" && exit 1', build: 'true', lint: 'echo todo' }),
    },
    {},
  ],
  [
    'scripts that wait, only look, or edit where they should look',
    {
      'package.json': scripts({
        format: 'prettier --check .',
        build: 'vite build --watch',
        lint: 'eslint . --fix',
        typecheck: 'tsc -w --noEmit',
        test: 'react-scripts test',
      }),
    },
    {},
  ],
  [
    'the next spelling where the first does not suit',
    {
      'package.json': scripts({
        format: 'prettier --check .',
        'format:write': 'prettier --write .',
        lint: 'npm run lint:eslint -- --fix',
        'lint:check': 'eslint .',
        test: 'jest --watch',
        'test:ci': 'jest --ci',
      }),
    },
    {
      format: 'npm run format:write <- package.json scripts.format:write',
      lint: 'npm run lint:check <- package.json scripts.lint:check',
      test: 'npm run test:ci <- package.json scripts.test:ci',
    },
  ],
  [
    'a script that is judged by those it calls',
    {
      'package.json': scripts({
        format: 'npm run fix:all',
        'fix:all': 'prettier --write . && yarn lint:fix',
        'lint:fix': 'eslint --fix',
        test: 'npm run test:watch',
        'test:watch': 'vitest watch',
        build: 'yarn build',
      }),
    },
    {
      format: 'npm run format <- package.json scripts.format',
      build: 'npm run build <- package.json scripts.build',
    },
  ],
  [
    'bare vitest, which would watch',
    { 'package.json': scripts({ test: 'vitest --coverage' }), 'pnpm-lock.yaml': '' },
    { test: 'pnpm exec vitest run --coverage <- package.json scripts.test, run once' },
  ],
  ['vitest with its window', { 'package.json': scripts({ test: 'vitest --ui' }) }, {}],
  [
    'a Makefile before the manifests, for the jobs it has',
    {
      Makefile:
        'VERSION := 1\n.PHONY: test lint\n\nall: build\n\nbuild: deps ## build it\n\tgo build ./...\n\nlint test:: deps\n\t@echo $@\n\tgo $@\n\nfmt:\n\tgofmt -l .\n\nformat:\n\tgofmt -w .\nwatch:\n\tentr make\n',
      'go.mod': 'module x\n',
    },
    {
      format: 'make format <- Makefile format',
      build: 'make build <- Makefile build',
      lint: 'make lint <- Makefile lint',
      test: 'make test <- Makefile test',
    },
  ],
  [
    'a Makefile whose test never ends',
    { Makefile: 'test:\n\tnpx jest --watch\nlint: ; eslint .\nbuild=x\n' },
    { lint: 'make lint <- Makefile lint' },
  ],
  [
    'a justfile',
    {
      justfile:
        'set shell := ["sh"]\nname := "x"\n\n@fmt:\n    cargo fmt\n\ntest filter:\n    cargo test {{filter}}\n\nlint level="x" *flags: build\n    cargo clippy\n\nbuild:\n    cargo build\n',
      Makefile: 'test:\n\tx\nbuild:\n\ty\n',
    },
    {
      format: 'just fmt <- justfile fmt',
      build: 'just build <- justfile build',
      lint: 'just lint <- justfile lint',
      test: 'make test <- Makefile test',
    },
  ],
  [
    'Cargo',
    { 'Cargo.toml': '[package]\nname="x"\n' },
    {
      format: 'cargo fmt <- Cargo.toml',
      build: 'cargo build <- Cargo.toml',
      lint: 'cargo clippy --all-targets <- Cargo.toml',
      test: 'cargo test <- Cargo.toml',
    },
  ],
  [
    'a Cargo workspace beside a package with its own tests',
    { 'Cargo.toml': '[workspace]\nmembers=[]\n', 'package.json': scripts({ test: 'node --test' }) },
    {
      format: 'cargo fmt --all <- Cargo.toml',
      build: 'cargo build --workspace <- Cargo.toml',
      lint: 'cargo clippy --workspace --all-targets <- Cargo.toml',
      test: 'npm run test && cargo test --workspace <- package.json scripts.test, Cargo.toml',
    },
  ],
  [
    'Go',
    { 'go.mod': 'module x\n' },
    {
      format: 'go fmt ./... <- go.mod',
      build: 'go build ./... <- go.mod',
      lint: 'go vet ./... <- go.mod',
      test: 'go test ./... <- go.mod',
    },
  ],
  [
    'Python, as far as it is configured',
    {
      'pyproject.toml':
        '[project]\nname="x"\n[tool.ruff]\nline-length=99\n[tool.mypy]\nfiles=["src"]\n[tool.pytest.ini_options]\n',
    },
    {
      lint: 'ruff check . <- pyproject.toml [tool.ruff]',
      typecheck: 'mypy <- pyproject.toml [tool.mypy]',
      test: 'pytest <- pyproject.toml [tool.pytest]',
    },
  ],
  [
    'Python with formatters and uv',
    { 'pyproject.toml': '[tool.black]\n[tool.ruff.format]\nquote-style="single"\n[tool.mypy]\n', 'uv.lock': '' },
    {
      format: 'uv run ruff format . <- pyproject.toml [tool.ruff.format]',
      lint: 'uv run ruff check . <- pyproject.toml [tool.ruff]',
      typecheck: 'uv run mypy . <- pyproject.toml [tool.mypy]',
    },
  ],
  ['Python without tools', { 'pyproject.toml': '[project]\nname="x"\n' }, {}],
  [
    'Composer',
    {
      'composer.json':
        '{"scripts":{"cs-fix":"php-cs-fixer fix src","test":["@clean","phpunit"],"clean":"rm -rf t","phpstan":"phpstan analyse"}}',
    },
    {
      format: 'composer run-script cs-fix <- composer.json scripts.cs-fix',
      typecheck: 'composer run-script phpstan <- composer.json scripts.phpstan',
      test: 'composer run-script test <- composer.json scripts.test',
    },
  ],
  [
    'Ruby with a Rakefile',
    { Gemfile: 'gem "rubocop"\n', '.rubocop.yml': '', Rakefile: 'Rake::TestTask.new(:test)\n' },
    { lint: 'bundle exec rubocop <- .rubocop.yml', test: 'bundle exec rake test <- Gemfile and Rakefile' },
  ],
  ['Ruby with rspec', { Gemfile: '', '.rspec': '' }, { test: 'bundle exec rspec <- .rspec' }],
  [
    'Elixir',
    { 'mix.exs': '', '.formatter.exs': '' },
    { format: 'mix format <- .formatter.exs', build: 'mix compile <- mix.exs', test: 'mix test <- mix.exs' },
  ],
  [
    'Gradle with a wrapper',
    { 'build.gradle.kts': 'plugins { id("com.diffplug.spotless") }', gradlew: '' },
    {
      format: './gradlew spotlessApply <- build.gradle.kts',
      build: './gradlew assemble <- build.gradle.kts',
      lint: './gradlew spotlessCheck <- build.gradle.kts',
      test: './gradlew test <- build.gradle.kts',
    },
  ],
  [
    'Maven',
    { 'pom.xml': '<project/>' },
    { build: 'mvn --batch-mode compile <- pom.xml', test: 'mvn --batch-mode test <- pom.xml' },
  ],
  [
    'Deno with comments in its file',
    {
      'deno.json':
        '{ // tasks\n "lint": {}, "url": "http://x", "tasks": { "test": "deno test -A", "fmt": "deno fmt", "dev": "deno run --watch x", }, }',
    },
    {
      format: 'deno task fmt <- deno.json tasks.fmt',
      lint: 'deno lint <- deno.json lint',
      test: 'deno task test <- deno.json tasks.test',
    },
  ],
  [
    'CMake with an ignored build folder',
    { 'CMakeLists.txt': 'project(x)\nenable_testing()\n', '.gitignore': '*.o\n/build/\n' },
    {
      build: 'cmake -S . -B build && cmake --build build <- CMakeLists.txt',
      test: 'ctest --test-dir build --output-on-failure <- CMakeLists.txt',
    },
  ],
  ['CMake that would leave the tree dirty', { 'CMakeLists.txt': 'enable_testing()\n' }, {}],
]

for (const [what, files, jobs] of projects) {
  test(`detection finds exactly what a project has: ${what}`, () => {
    assert.deepEqual(found(files), jobs)
  })
}

test('a command that could go on until somebody stops it is known by its text', () => {
  const waiting = [
    'jest --watch',
    'jest --watchAll',
    'jest --watchAll=true',
    'tsc -w',
    'tsc -p . -w',
    'vitest',
    'npx vitest --coverage',
    'node_modules/.bin/vitest',
    'vitest run --ui',
    'vitest watch',
    'vite',
    'vite --host',
    'vite && echo',
    'next dev',
    'webpack serve',
    'ng test',
    'karma start',
    'cypress open',
    'playwright test --ui',
    'nodemon x',
    'turbo watch test',
  ]
  const ending = [
    'jest',
    'jest --watchAll=false',
    'jest --no-watch',
    'tsc',
    'vitest run',
    'vitest --run',
    'vitest --watch=false',
    'vitest run --config vitest.config.ts',
    'vite build',
    'tsc && vite build',
    'next build',
    'webpack',
    'ng test --watch=false --browsers=ChromeHeadless',
    'karma start --single-run',
    'react-scripts test --watchAll=false',
    'playwright test',
    'wc -w file',
  ]
  assert.deepEqual(
    waiting.filter(command => !waits(command)),
    [],
  )
  assert.deepEqual(ending.filter(waits), [])
})

test('a formatter is one that rewrites files', () => {
  const writing = [
    'prettier --write .',
    'biome check --write',
    'gofmt -w .',
    'cargo fmt',
    'ruff format .',
    'black .',
    'eslint . --fix',
    'dprint fmt',
    'clang-format -i x.c',
  ]
  const looking = [
    'prettier .',
    'prettier --check .',
    'gofmt -l .',
    'cargo fmt --check',
    'black --check .',
    'ruff format --diff',
    'eslint .',
    'echo format',
  ]
  assert.deepEqual(
    writing.filter(command => !rewrites(command)),
    [],
  )
  assert.deepEqual(looking.filter(rewrites), [])
})

test('the configuration that setup writes reads back to the same trunk, mode and commands', async () => {
  const jobs = {
    lint: { run: ['say "hi" \\ $X', "it's"], because: 'package.json scripts.lint' },
    test: { run: ['test'], because: 'two\nlines = 1' },
    smoke: { run: ['weiß \u007f'], because: 'x' },
  }
  for (const trunk of ['main', 'a"b\\c', undefined]) {
    for (const notesMode of ['local', 'fetch'] as const) {
      const text = renderConfiguration({ trunk, jobs, notesMode })
      const read = await parseConfiguration(text, 'discern.toml')
      assert.equal(read.repository.trunk, trunk)
      assert.equal(read.repository.proofNotesMode, notesMode)
      assert.deepEqual(
        read.jobs.map(({ name, run }) => [name, run]),
        Object.entries(jobs).map(([name, { run }]) => [name, run]),
      )
      assert.deepEqual([read.foreignTables, read.renamedKeys, read.scopes, read.generated], [[], [], [], []])
    }
  }
})

test('everything that the written configuration only suggests is right when the comment signs go', async () => {
  const text = renderConfiguration({ trunk: 'dev', jobs: {}, notesMode: 'local' })
  const live = text.replace(/^# (?=\[|[a-z_]+ = )/gm, '')
  const read = await parseConfiguration(live, 'discern.toml')
  assert.deepEqual(
    read.jobs.map(({ name, stage }) => [name, stage]),
    [['licenses', 'check']],
  )
  assert.deepEqual(
    read.scopes.map(({ name }) => name),
    ['docs'],
  )
  assert.deepEqual(
    read.generated.map(({ name }) => name),
    ['api'],
  )
})
