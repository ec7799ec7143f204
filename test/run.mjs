/**
 * `npm test`: everything, from a fresh clone. Installs the locked packages when they are missing or older than the lock file,
 * builds, checks the types, and runs every `test/*.test.ts`. Arguments are passed on, for example `npm test -- --test-name-pattern=...`.
 * `--only <name>` runs the entry file of that name alone; `--bench` runs the benchmarks instead.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
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

const args = process.argv.slice(2)
if (args[0] === '--bench') {
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
