/**
 * Builds `dist/`: one validator per JSON contract, compiled by ajv, and the bundle that `git-discern` runs. Entry points that
 * only some verbs need become chunks of their own, read when they are imported.
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
await build({
  entryPoints: { 'git-discern': `${root}src/cli/main.ts` },
  outdir: dist,
  bundle: true,
  splitting: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  minifySyntax: true,
  minifyWhitespace: true,
  chunkNames: 'chunk-[name]-[hash]',
  define: { DISCERN_BUNDLE: 'true', DISCERN_VERSION: JSON.stringify(version) },
  banner: { js: "import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);" },
  logLevel: 'warning',
  absWorkingDir: root,
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
await writeFile(`${dist}package.json`, '{"type":"module"}\n')

// What an earlier build left. Until here the standing program could still be started, also when this build had failed.
for (const entry of await readdir(dist, { recursive: true, withFileTypes: true })) {
  const path = `${entry.parentPath ?? entry.path}/${entry.name}`
  if (entry.isFile() && (await stat(path)).mtimeMs < started - CLOCK_GRAIN_MS) await rm(path)
}
