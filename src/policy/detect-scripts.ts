/** Commands that a project keeps under names of its own: scripts, tasks, targets, recipes. */
import { suits } from './command-text.ts'
import { type Detector, type Found, KNOWN_JOBS, type KnownJob } from './detector.ts'

/** Names under which projects keep each job, best first. */
const SPELLINGS: Readonly<Record<KnownJob, readonly string[]>> = {
  format: ['format', 'fmt', 'format:write', 'format:fix', 'prettier:write', 'fix', 'cs:fix', 'cs-fix'],
  build: ['build'],
  lint: ['lint', 'lint:check', 'lint:ci', 'cs', 'cs:check'],
  typecheck: [
    'typecheck',
    'type-check',
    'check-types',
    'check:types',
    'types:check',
    'tsc',
    'phpstan',
    'stan',
    'psalm',
  ],
  test: ['test', 'test:ci', 'test:run', 'test:unit', 'tests', 'phpunit'],
  smoke: ['smoke', 'test:smoke'],
}

/** Picks from named commands: for each job the first spelling whose text suits it. */
const pick = (
  texts: ReadonlyMap<string, string>,
  command: (name: string) => string,
  because: (name: string) => string,
): Found => {
  const found: Found = {}
  for (const job of KNOWN_JOBS) {
    const name = SPELLINGS[job].find(spelling => {
      const text = texts.get(spelling)
      return text !== undefined && suits(job, text)
    })
    if (name !== undefined) found[job] = [command(name), because(name)]
  }
  return found
}

type Table = Readonly<Record<string, unknown>>

const asTable = (value: unknown): Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Table) : {}

/** JSON with comments and trailing commas; a file that is neither says nothing. */
const readJson = (text: string): Table => {
  const kept = (_: string, literal: string | undefined): string => literal ?? ''
  const plain = text
    .replace(/^\uFEFF/, '')
    .replace(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, kept)
    .replace(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, kept)
  try {
    return asTable(JSON.parse(plain))
  } catch {
    return {}
  }
}

/** The scripts of a table, each with the text of those it calls, so that `npm run build:all` is judged by what it does. */
const scriptTexts = (scripts: Table): ReadonlyMap<string, string> => {
  const bodies = new Map<string, string>()
  for (const [name, body] of Object.entries(scripts)) {
    const text =
      typeof body === 'string'
        ? body
        : Array.isArray(body)
          ? body.filter(line => typeof line === 'string').join(' && ')
          : ''
    if (text) bodies.set(name, text)
  }
  const whole = (name: string): string => {
    const reached = new Set([name])
    for (const at of reached) {
      for (const match of (bodies.get(at) ?? '').matchAll(CALLED)) {
        if (match[1] !== undefined && bodies.has(match[1])) reached.add(match[1])
      }
    }
    return [...reached].map(at => bodies.get(at)).join(' ; ')
  }
  return new Map([...bodies.keys()].map(name => [name, whole(name)]))
}

/** How one script calls another: `npm run x`, `yarn x`, and composer's `@x`. */
const CALLED = /(?:\b(?:npm|pnpm|yarn|bun) (?:run )?|(?:^|\s)@)([\w:.-]+)/g

const PACKAGE_MANAGERS: readonly (readonly [file: string, name: string])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
]

const EXECUTE: Readonly<Record<string, string>> = {
  npm: 'npx --no-install',
  pnpm: 'pnpm exec',
  yarn: 'yarn run',
  bun: 'bunx --no-install',
}

export const packageScripts: Detector['find'] = (text, file, files) => {
  const manifest = readJson(text)
  const scripts = asTable(manifest['scripts'])
  const declared = /^(npm|pnpm|yarn|bun)@/.exec(String(manifest['packageManager'] ?? ''))?.[1]
  const manager = declared ?? PACKAGE_MANAGERS.find(([lock]) => files.has(lock))?.[1] ?? 'npm'
  const because = (name: string): string => `${file} scripts.${name}`
  const found = pick(scriptTexts(scripts), name => `${manager} run ${name}`, because)
  // Bare `vitest` watches at a terminal; the same with `run` does not.
  const bare = /^vitest((?:\s+--(?!ui\b|watch\b)[\w.-]+(?:=\S+)?)*)$/.exec(String(scripts['test'] ?? '').trim())
  if (!found.test && bare) found.test = [`${EXECUTE[manager]} vitest run${bare[1]}`, `${because('test')}, run once`]
  return found
}

export const makeTargets: Detector['find'] = (text, file) => {
  const recipes = new Map<string, string>()
  let open: readonly string[] = []
  for (const line of text.replace(/\\\r?\n/g, ' ').split(/\r?\n/)) {
    const rule = /^([A-Za-z0-9_./ -]*?[A-Za-z0-9_.-])\s*::?(?![:=])([^=]*)$/.exec(line)
    if (rule) {
      open = (rule[1] ?? '').split(/\s+/)
      for (const name of open)
        recipes.set(name, [recipes.get(name), (rule[2] ?? '').replace(/^[^;]*;?/, '')].join(' ; '))
    } else if (line.startsWith('\t')) {
      for (const name of open) recipes.set(name, `${recipes.get(name)} ; ${line.replace(/^\t[@+-]*/, '')}`)
    } else if (line.trim() && !line.startsWith('#')) open = []
  }
  return pick(
    runnable(recipes),
    name => `make ${name}`,
    name => `${file} ${name}`,
  )
}

export const justRecipes: Detector['find'] = (text, file) => {
  const recipes = new Map<string, string>()
  let open: string | undefined
  for (const line of text.split(/\r?\n/)) {
    const head = /^@?([A-Za-z_][\w-]*)((?:\s+[^:=]+(?:=\S+)?)*)\s*:(?!=)/.exec(line)
    if (head) {
      // A recipe with a parameter that has no default cannot be run by its name alone.
      const parameters = (head[2] ?? '').split(/\s+/).filter(Boolean)
      open = parameters.every(parameter => /^\*|=/.test(parameter)) ? head[1] : undefined
      if (open !== undefined) recipes.set(open, '')
    } else if (open !== undefined && /^\s+\S/.test(line)) {
      recipes.set(open, `${recipes.get(open)} ; ${line.trim().replace(/^[@-]+/, '')}`)
    }
  }
  return pick(
    runnable(recipes),
    name => `just ${name}`,
    name => `${file} ${name}`,
  )
}

/** A rule without commands only names others; what those do is theirs to say. */
const runnable = (recipes: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map([...recipes].map(([name, text]) => [name, text.replace(/^[\s;]+/, '') || 'unknown']))

export const denoTasks: Detector['find'] = (text, file) => {
  const manifest = readJson(text)
  const tasks = Object.entries(asTable(manifest['tasks'])).map(([name, task]) => [
    name,
    typeof task === 'string' ? task : asTable(task)['command'],
  ])
  const found = pick(
    scriptTexts(Object.fromEntries(tasks)),
    name => `deno task ${name}`,
    name => `${file} tasks.${name}`,
  )
  return {
    ...(manifest['fmt'] === undefined ? {} : { format: ['deno fmt', `${file} fmt`] }),
    ...(manifest['lint'] === undefined ? {} : { lint: ['deno lint', `${file} lint`] }),
    ...found,
  }
}

export const composerScripts: Detector['find'] = (text, file) =>
  pick(
    scriptTexts(asTable(readJson(text)['scripts'])),
    name => `composer run-script ${name}`,
    name => `${file} scripts.${name}`,
  )
