/** The house rules that a reader relies on: who may import whom, and who alone may touch what. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, it } from 'node:test'
import { commands } from '../../src/commands/command.ts'
import { refusals } from '../../src/errors.ts'
import { projectRoot } from '../support/scratch.ts'

const AREAS = [
  'cli',
  'mcp',
  'commands',
  'landing',
  'delivery',
  'logbook',
  'proof',
  'gate',
  'checkpoint',
  'change',
  'policy',
  'git',
  'store',
]

const src = join(projectRoot, 'src')
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts'))
  .map(name => ({ name, text: readFileSync(join(src, name), 'utf8') }))

/** Every module that a file imports, lazily or not. */
const importsOf = (text: string): readonly string[] =>
  [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(match => match[1] ?? '')

const areaOf = (name: string): number => (name.includes('/') ? AREAS.indexOf(name.split('/')[0] ?? '') : AREAS.length)

describe('the structure of src/', () => {
  it('has no area that the design does not name', () => {
    assert.deepEqual(
      files.filter(({ name }) => areaOf(name) === -1).map(({ name }) => name),
      [],
    )
  })

  it('imports only downwards', () => {
    const upward = files.flatMap(({ name, text }) =>
      importsOf(text)
        .filter(target => target.startsWith('.'))
        .map(target => relative(src, join(src, dirname(name), target)))
        .filter(
          target =>
            !target.startsWith('..') && areaOf(target) < areaOf(name) && target.split('/')[0] !== name.split('/')[0],
        )
        .map(target => `${name} -> ${target}`),
    )
    assert.deepEqual(upward, [])
  })

  const single: readonly [what: string, pattern: RegExp, allowed: readonly string[]][] = [
    ['spawns git', /\bspawn\(\s*'git'|execFile\(\s*'git'/, ['git/run.ts']],
    ['uses execa', /'execa'/, ['gate/job.ts']],
    ['matches globs', /'picomatch'/, ['policy/paths.ts']],
    ['parses arguments', /'mri'/, ['cli/argv.ts']],
    ['uses the JSON canonicalisation', /'json-canonicalize'/, ['store/digest.ts']],
    ['reads the environment of the process', /process\.(env|argv|cwd|stdin|stdout|stderr|exit)\b/, ['cli/main.ts']],
    ['reads the clock', /\bnew Date\(\)|Date\.now\(\)/, ['cli/main.ts']],
    ['writes to the console', /\bconsole\./, []],
    ['compiles schemas', /'ajv/, []],
    ['opens the network', /'node:(net|http|https|tls|dns)'|\bfetch\(/, ['delivery/endpoint.ts']],
  ]
  for (const [what, pattern, allowed] of single) {
    it(`has one place that ${what}`, () => {
      const users = files.filter(({ text }) => pattern.test(text)).map(({ name }) => name)
      assert.deepEqual(
        users.filter(name => !allowed.includes(name)),
        [],
      )
    })
  }

  it('never asks git to stash, prune, collect, reset, clean, fetch or push, and never forces', () => {
    const asked = /\[\s*'(stash|prune|gc|reset|clean|fetch|pull|push)'|'--(hard|force|force-with-lease)'/
    assert.deepEqual(
      files.filter(({ name, text }) => !name.startsWith('cli/') && asked.test(text)).map(({ name }) => name),
      [],
    )
    assert.match("git(place, ['stash', 'push'])", asked)
  })
})

describe('the tables', () => {
  it('give every verb a module that runs, help text and distinct flags', async () => {
    for (const command of commands) {
      assert.equal(typeof (await command.load()).run, 'function', command.name)
      assert.ok(command.description.length > 40 && command.examples.length > 0, command.name)
      const names = command.flags.flatMap(flag => [flag.name, ...(flag.short ? [flag.short] : [])])
      assert.deepEqual(names, [...new Set(names)], command.name)
    }
  })

  it('give every refusal an exit code that the manual names', () => {
    for (const [slug, { exit }] of Object.entries(refusals)) assert.ok([1, 2, 3].includes(exit), slug)
  })
})

describe('the project', () => {
  it('has nothing at the top that the layout does not name', () => {
    const known = [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'discern.toml',
      'dist',
      'docs',
      'git-discern',
      'hooks',
      'install.sh',
      'node_modules',
      'package-lock.json',
      'package.json',
      'schema',
      'src',
      'test',
      'tsconfig.json',
    ]
    const found = readdirSync(projectRoot).filter(name => !name.startsWith('.'))
    assert.deepEqual(
      found.filter(name => !known.includes(name)),
      [],
    )
  })

  it('keeps registry addresses out of the lock file', () => {
    assert.doesNotMatch(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8'), /"resolved"/)
  })
})
