/**
 * `npm test`: everything, from a fresh clone. Installs the locked packages when they are missing or older than the lock file,
 * builds, checks the types, and runs every `test/*.test.ts`. Arguments are passed on, for example `npm test -- --test-name-pattern=...`.
 * `--only <name>` runs the entry file of that name alone; `--bench` runs the benchmarks instead, and `--coverage` the entries that
 * stay in one process, to print which share of the lines of `src/` they reach.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const run = (command, args, env = process.env) => {
  const { status, signal, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env })
  if (error) throw error
  if (status !== 0) process.exit(status ?? (signal ? 1 : 70))
}

const installed = `${root}node_modules/.package-lock.json`
if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(`${root}package-lock.json`).mtimeMs) {
  run('npm', ['ci', '--no-audit', '--no-fund'])
}
run(process.execPath, ['src/build.mjs'])

/** Entries whose cases run the program in their own process, so that what they reach is seen. */
const IN_PROCESS = ['change', 'checkpoint', 'policy', 'proof', 'question', 'standards', 'store']

/** Percent of the lines of `src/` that an lcov report counts as reached. */
const lineCoverage = report => {
  let found = 0
  let hit = 0
  for (const record of report.split('end_of_record')) {
    if (!/^SF:(?:.*\/)?src\//m.test(record)) continue
    found += Number(/^LF:(\d+)$/m.exec(record)?.[1] ?? 0)
    hit += Number(/^LH:(\d+)$/m.exec(record)?.[1] ?? 0)
  }
  return Math.round((hit / found) * 10_000) / 100
}

const args = process.argv.slice(2)
if (args[0] === '--coverage') {
  const folder = mkdtempSync(join(tmpdir(), 'discern-coverage-'))
  const report = join(folder, 'lcov')
  const reporters = ['--test-reporter=dot', '--test-reporter-destination=stdout', '--test-reporter=lcov']
  const entries = IN_PROCESS.map(name => `test/${name}.test.ts`)
  const node = ['--import', 'tsx', '--experimental-test-coverage', '--test', '--test-concurrency=2', ...reporters]
  run(process.execPath, [...node, `--test-reporter-destination=${report}`, ...entries])
  console.log(`\nDISCERN_METRIC line-coverage ${lineCoverage(readFileSync(report, 'utf8'))}`)
  rmSync(folder, { recursive: true })
} else if (args[0] === '--bench') {
  run(process.execPath, ['--import', 'tsx', 'test/bench/bench.ts', ...args.slice(1)])
} else {
  run('npx', ['--no-install', 'tsc'])
  const only = args[0] === '--only' ? args.splice(0, 2)[1] : undefined
  const files = readdirSync(`${root}test`)
    .filter(name => name.endsWith('.test.ts') && (only === undefined || name === `${only}.test.ts`))
    .sort()
    .map(name => `test/${name}`)
  run(process.execPath, [
    '--import',
    'tsx',
    '--test',
    '--test-concurrency=2',
    '--test-reporter=spec',
    ...args,
    ...files,
  ])
}
