/**
 * Builds `dist/`: one validator per JSON contract, compiled by ajv, and the bundle that `git-discern` runs.
 */
import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import Ajv2020 from 'ajv/dist/2020.js'
import standalone from 'ajv/dist/standalone/index.js'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = `${root}dist/`
const started = Date.now()
/** A file system may stamp a file with the time of the last clock tick. */
const CLOCK_GRAIN_MS = 50

await mkdir(`${dist}validators`, { recursive: true })

const contracts = (await readdir(`${root}schema`)).filter(name => name.endsWith('.schema.json')).sort()
const schemas = await Promise.all(
  contracts.map(async name => JSON.parse(await readFile(`${root}schema/${name}`, 'utf8'))),
)

/** Length is counted in code points, as JSON Schema says; only the first violation is reported for a configuration. */
const ajv = new Ajv2020({
  code: { source: true, lines: true },
  schemas,
  strict: true,
  strictRequired: false,
  allErrors: false,
})

/** Beside each whole contract, the parts of one that are validated by themselves. */
const targets = [
  ...schemas.map(schema => [schema.$id.replace(/^.*\//, '').replace(/\.schema\.json$/, ''), schema.$id]),
  ...(contracts.includes('discern-proof-note.schema.json')
    ? [
        [
          'discern-proof-payload',
          'https://discern.sh/schema/v1/discern-proof-note.schema.json#/$defs/DiscernProofNotePayload',
        ],
      ]
    : []),
]

/**
 * One module for each, compiled by ajv here and by nobody later: a verb reads only the contract that it needs. What is in several of
 * them stands in each.
 */
await rm(`${dist}validators/entries`, { recursive: true, force: true })
await mkdir(`${dist}validators/entries`)
for (const [name, reference] of targets) {
  await writeFile(`${dist}validators/entries/${name}.cjs`, standalone.default(ajv, ajv.getSchema(reference)))
}
await build({
  entryPoints: targets.map(([name]) => `${dist}validators/entries/${name}.cjs`),
  outdir: `${dist}validators`,
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  minify: true,
  logLevel: 'warning',
  absWorkingDir: root,
})
await rm(`${dist}validators/entries`, { recursive: true })

const { version } = JSON.parse(await readFile(`${root}package.json`, 'utf8'))

/** Packages that few runs need: each is a file of its own, read when it is first used. */
const rare = ['execa', 'leven', 'log-update', 'toml-eslint-parser']
const common = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  logLevel: 'warning',
  absWorkingDir: root,
}
for (const name of rare) {
  await build({
    ...common,
    stdin: { contents: `export * from '${name}'`, resolveDir: root, loader: 'js' },
    outfile: `${dist}vendor/${name}.js`,
    minify: true,
  })
}

/** The program reads everything it writes, but not its own answers: those are held to their contract by the tests alone. */
const shipped = targets.map(([name]) => name).filter(name => name !== 'discern-results')
const injected = `${dist}validators/bundled.mjs`
const members = shipped.map(name => `  '${name}': () => require('./${name}.cjs'),\n`)
await writeFile(injected, `export const bundledValidators = {\n${members.join('')}}\n`)

/**
 * One CommonJS file: starting Node's module loader for ES modules alone would cost a quarter of a bare start. Modules that are
 * imported lazily stay lazy inside it.
 */
await build({
  ...common,
  entryPoints: [`${root}src/cli/main.ts`],
  outfile: `${dist}program.js`,
  minifySyntax: true,
  minifyWhitespace: true,
  supported: { 'dynamic-import': false },
  inject: [injected],
  define: {
    DISCERN_BUNDLE: 'true',
    DISCERN_VERSION: JSON.stringify(version),
    'import.meta.url': 'bundleUrl',
  },
  banner: { js: "const bundleUrl=require('node:url').pathToFileURL(__filename).href;" },
  plugins: [
    {
      name: 'rare packages',
      setup: ({ onResolve }) =>
        onResolve({ filter: new RegExp(`^(${rare.join('|')})$`) }, ({ path }) => ({
          path: `./vendor/${path}.js`,
          external: true,
        })),
    },
  ],
})

/**
 * Compiling the program takes a third of a bare start, so V8's own record of a compilation is kept beside it. V8 ignores a record
 * that another Node made; the program then starts all the same.
 */
const starter = `'use strict'
const { readFileSync, writeSync } = require('node:fs')
const start = () => {
  const filename = __dirname + '/program.js'
  let cachedData
  try { cachedData = readFileSync(filename + '.cache') } catch {}
  const source = '(function(exports,require,module,__filename,__dirname){' + readFileSync(filename, 'latin1') + '\\n})'
  const script = new (require('node:vm').Script)(source, { filename, cachedData })
  const record = process.env.DISCERN_RECORD_COMPILATION
  if (record) process.on('exit', () => require('node:fs').writeFileSync(record, script.createCachedData()))
  script.runInThisContext()(exports, require, module, filename, __dirname)
}
if (process.argv.length === 3 && process.argv[2] === '--version') writeSync(1, 'git-discern ${version}\\n')
else start()
`
await rm(`${dist}program.js.cache`, { force: true })
await writeFile(`${dist}git-discern.js`, starter)

// The manual pages and the completion scripts come out of the command table itself.
const generator = `${dist}generator.mjs`
await build({
  entryPoints: [`${root}src/cli/manual.ts`],
  outfile: generator,
  bundle: true,
  packages: 'external',
  platform: 'node',
  target: 'node20',
  format: 'esm',
  logLevel: 'warning',
  absWorkingDir: root,
})
const { generatedFiles } = await import(pathToFileURL(generator).href)
for (const { path, text } of generatedFiles(version)) {
  await mkdir(dirname(`${dist}${path}`), { recursive: true })
  await writeFile(`${dist}${path}`, text)
}
await rm(generator)

// Written last: a build that was cut short has no such file.
await writeFile(`${dist}package.json`, '{"type":"commonjs"}\n')

// One run of what most runs use, in a small repository, so that the record knows those functions too. It may fail: the program
// then starts without a record.
const trial = await mkdtemp(join(tmpdir(), 'git-discern-build-'))
/** Nothing of a repository that the build may be running in the hook of. */
const outside = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')))
const inTrial = (command, args, more = {}) =>
  spawnSync(command, args, {
    cwd: trial,
    stdio: 'ignore',
    env: { ...outside, GIT_CONFIG_GLOBAL: '/dev/null', ...more },
  })
const identity = ['-c', 'user.name=build', '-c', 'user.email=build@example.invalid']
const question = '[repository]\ntrunk = "trunk"\n[checkpoints.any]\npaths = ["f"]\nquestion = "?"\n'
inTrial('git', ['init', '-q', '-b', 'trunk'])
await writeFile(`${trial}/discern.toml`, question)
inTrial('git', ['add', '-A'])
inTrial('git', [...identity, 'commit', '-q', '-m', 'policy'])
inTrial('git', ['switch', '-q', '-c', 'change'])
await writeFile(`${trial}/f`, 'change\n')
inTrial('git', ['add', '-A'])
inTrial('git', [...identity, 'commit', '-q', '-m', 'change'])
inTrial(process.execPath, [`${dist}git-discern.js`, 'status', '-q'], {
  DISCERN_RECORD_COMPILATION: `${dist}program.js.cache`,
})
await rm(trial, { recursive: true, force: true })

// What an earlier build left. Until here the standing program could still be started, also when this build had failed.
for (const entry of await readdir(dist, { recursive: true, withFileTypes: true })) {
  const path = `${entry.parentPath ?? entry.path}/${entry.name}`
  if (entry.isFile() && (await stat(path)).mtimeMs < started - CLOCK_GRAIN_MS) await rm(path)
}
