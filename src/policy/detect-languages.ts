/** Commands that the conventions of a language give, as far as the project configured them. */
import { parse } from 'smol-toml'
import type { Detector } from './detector.ts'

type Table = Readonly<Record<string, unknown>>

const asTable = (value: unknown): Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Table) : {}

const readToml = (text: string): Table => {
  try {
    return parse(text.replace(/^\uFEFF/, ''))
  } catch {
    return {}
  }
}

export const python: Detector['find'] = (text, file, files) => {
  const tool = asTable(readToml(text)['tool'])
  const runner = files.has('uv.lock')
    ? 'uv run '
    : files.has('poetry.lock')
      ? 'poetry run '
      : files.has('pdm.lock')
        ? 'pdm run '
        : ''
  const set = (name: string): boolean => tool[name] !== undefined
  const row = (command: string, name: string): readonly [string, string] => [
    `${runner}${command}`,
    `${file} [tool.${name}]`,
  ]
  const mypy = asTable(tool['mypy'])
  return {
    ...(set('black') ? { format: row('black .', 'black') } : {}),
    ...(asTable(tool['ruff'])['format'] === undefined ? {} : { format: row('ruff format .', 'ruff.format') }),
    ...(set('ruff') ? { lint: row('ruff check .', 'ruff') } : {}),
    ...(set('pyright') ? { typecheck: row('pyright', 'pyright') } : {}),
    ...(set('mypy') ? { typecheck: row((mypy['files'] ?? mypy['packages']) ? 'mypy' : 'mypy .', 'mypy') } : {}),
    ...(set('pytest') ? { test: row('pytest', 'pytest') } : {}),
  }
}

export const cargo: Detector['find'] = (text, file) => {
  const all = /^\[workspace[\].]/m.test(text)
  return {
    format: [all ? 'cargo fmt --all' : 'cargo fmt', file],
    build: [all ? 'cargo build --workspace' : 'cargo build', file],
    lint: [`cargo clippy ${all ? '--workspace ' : ''}--all-targets`, file],
    test: [all ? 'cargo test --workspace' : 'cargo test', file],
  }
}

export const go: Detector['find'] = (_, file, files) => {
  const linter = ['.golangci.yml', '.golangci.yaml', '.golangci.toml'].find(files.has)
  return {
    format: ['go fmt ./...', file],
    build: ['go build ./...', file],
    lint: linter ? ['golangci-lint run', linter] : ['go vet ./...', file],
    test: ['go test ./...', file],
  }
}

export const ruby: Detector['find'] = (text, file, files) => {
  const rake = files.text('Rakefile') ?? ''
  const task = /\btask\s+(?::|["'])?test\b|Rake::TestTask|Minitest::TestTask/.test(rake)
  return {
    ...(files.has('.rubocop.yml') && /rubocop|standard/.test(text)
      ? { lint: ['bundle exec rubocop', '.rubocop.yml'] }
      : {}),
    ...(files.has('.rspec')
      ? { test: ['bundle exec rspec', '.rspec'] }
      : task
        ? { test: ['bundle exec rake test', `${file} and Rakefile`] }
        : {}),
  }
}

export const mix: Detector['find'] = (_, file, files) => ({
  ...(files.has('.formatter.exs') ? { format: ['mix format', '.formatter.exs'] } : {}),
  build: ['mix compile', file],
  ...(files.has('.credo.exs') ? { lint: ['mix credo', '.credo.exs'] } : {}),
  test: ['mix test', file],
})

export const gradle: Detector['find'] = (text, file, files) => {
  const command = files.has('gradlew') ? './gradlew' : 'gradle'
  return {
    ...(/spotless/.test(text)
      ? { format: [`${command} spotlessApply`, file], lint: [`${command} spotlessCheck`, file] }
      : {}),
    build: [`${command} assemble`, file],
    test: [`${command} test`, file],
  }
}

export const maven: Detector['find'] = (_, file, files) => {
  const command = files.has('mvnw') ? './mvnw' : 'mvn'
  return { build: [`${command} --batch-mode compile`, file], test: [`${command} --batch-mode test`, file] }
}

/** Only with an ignored `build` folder: anything else would leave the tree dirty after each run. */
export const cmake: Detector['find'] = (text, file, files) => {
  if (!/^\/?build\/?\s*$/m.test(files.text('.gitignore') ?? '')) return {}
  return {
    build: ['cmake -S . -B build && cmake --build build', file],
    ...(/\benable_testing\s*\(|\binclude\s*\(\s*CTest\s*\)/i.test(text)
      ? { test: ['ctest --test-dir build --output-on-failure', file] }
      : {}),
  }
}
