/**
 * Builds `dist/`: one validator per JSON contract, compiled by ajv, and the bundle that `git-discern` runs.
 */
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
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

for (const [name, reference] of targets) {
  const validate = ajv.getSchema(reference)
  if (!validate) throw new Error(`no contract ${reference}`)
  const entry = `${dist}validators/${name}.entry.cjs`
  await writeFile(entry, standalone.default(ajv, validate))
  await build({
    entryPoints: [entry],
    outfile: `${dist}validators/${name}.cjs`,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    minify: true,
    logLevel: 'warning',
    absWorkingDir: root,
  })
  await rm(entry)
}

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

/**
 * One CommonJS file: starting Node's module loader for ES modules alone would cost a quarter of a bare start. Modules that are
 * imported lazily stay lazy inside it.
 */
await build({
  ...common,
  entryPoints: [`${root}src/cli/main.ts`],
  outfile: `${dist}git-discern.js`,
  minifySyntax: true,
  minifyWhitespace: true,
  supported: { 'dynamic-import': false },
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

// What an earlier build left. Until here the standing program could still be started, also when this build had failed.
for (const entry of await readdir(dist, { recursive: true, withFileTypes: true })) {
  const path = `${entry.parentPath ?? entry.path}/${entry.name}`
  if (entry.isFile() && (await stat(path)).mtimeMs < started - CLOCK_GRAIN_MS) await rm(path)
}
