/** Reads `discern.toml`: the live one of a checkout, or the one that a commit governs with (facts 6.2, 7.11). */
import { join } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { Refusal, reasonOf } from '../errors.ts'
import { parseTree } from '../git/objects.ts'
import { oidDigits, type Repository, type Worktree } from '../git/repository.ts'
import { CONFIGURATION_LIMIT_BYTES, LITERAL_LIMIT_BYTES } from '../limits.ts'
import { sha256Json } from '../store/digest.ts'
import { readRegularFile } from '../store/file.ts'
import { violations } from '../store/schema.ts'
import type { Configuration } from './definition.ts'
import { findDeliveryProblem } from './delivery-problem.ts'
import { findForeign } from './foreign.ts'
import { findNeedsProblem } from './jobs.ts'
import { type ConfigDocument, normalise, type Order, RENAMED } from './normalise.ts'
import { compilePattern } from './paths.ts'
import type { ConfigProblem } from './problem.ts'
import { expandPattern } from './references.ts'
import { findStandardsProblem } from './standards-problem.ts'

/** Name of the configuration below the project root, which is the top of the checkout. */
export const CONFIG_FILE = 'discern.toml'

type Table = Readonly<Record<string, unknown>>

/**
 * Reads the text of a configuration. `file` names it in messages. Refuses with `invalid_config`, naming file, line, key, what
 * was expected and the nearest right key. Starts no process.
 */
export const parseConfiguration = async (
  text: string,
  file: string,
  /** Takes out, before anything is checked, what its owner judges by itself. */
  without: (document: Table) => Table = document => document,
): Promise<Configuration> => {
  const plain = text.replace(/^\uFEFF/, '')
  const document = without(parseToml(plain, file))
  const refuse = async (problem: ConfigProblem): Promise<never> => {
    const { configRefusal } = await import('./problem.ts')
    throw configRefusal(plain, file, problem)
  }
  const foreign = await findForeign(document)
  if (foreign.problem) return refuse(foreign.problem)
  const broken = violations('discern-config', document)
  if (broken.length > 0) {
    const { describeViolation } = await import('./problem.ts')
    return refuse(describeViolation(document, broken))
  }
  const configuration = normalise(document as ConfigDocument, foreign.names, await fileOrder(plain, document))
  const problem =
    findDoubleSpelling(document) ??
    findLongLiteral(document) ??
    findBadPattern(document, configuration.references) ??
    findNeedsProblem(configuration) ??
    findStandardsProblem(configuration, absentJobs(document, configuration)) ??
    findDeliveryProblem(configuration)
  return problem ? refuse(problem) : configuration
}

const parseToml = (text: string, file: string): Table => {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const problem = error.message.split('\n', 1)[0]?.replace(/^Invalid TOML document: /, '') ?? 'not TOML'
    throw new Refusal('invalid_config', { file, line: error.line, key: '', problem })
  }
}

/** Keys that look like numbers lose their place in a JavaScript object; only then the order is read from the text. */
const fileOrder = async (text: string, document: Table): Promise<Order | undefined> => {
  const ordered = ['jobs', 'scopes', 'generated'].map(name => Object.keys((document[name] as Table | undefined) ?? {}))
  if (!ordered.some(keys => keys.length > 1 && keys.some(key => /^\d+$/.test(key)))) return undefined
  const { readPlaces } = await import('./problem.ts')
  const places = readPlaces(text)
  return (table, keys) => {
    const seen = new Set(places.flatMap(([path]) => (path[0] === table && path[1] !== undefined ? [path[1]] : [])))
    return [...new Set([...[...seen].filter(key => keys.includes(key)), ...keys])]
  }
}

/** Jobs that stand in the file without a command. */
const absentJobs = (document: Table, { jobs }: Configuration): ReadonlySet<string> => {
  const present = new Set(jobs.map(({ name }) => name))
  return new Set(Object.keys((document['jobs'] as Table | undefined) ?? {}).filter(name => !present.has(name)))
}

const findDoubleSpelling = (document: Table): ConfigProblem | undefined => {
  for (const [table, from, to] of RENAMED) {
    const keys = (document[table] as Table | undefined) ?? {}
    if (Object.hasOwn(keys, from) && Object.hasOwn(keys, to)) {
      return { path: [table, from], problem: `the older spelling of ${to}, which is set as well`, nearest: to }
    }
  }
  return undefined
}

/** Every list of texts at or below a table whose key is one of `keys`, with its path. */
const listsIn = (table: unknown, keys: readonly string[], at: readonly string[]): readonly List[] =>
  Object.entries(table ?? {}).flatMap(([key, value]): readonly List[] => {
    const path = [...at, key]
    if (Array.isArray(value)) return keys.includes(key) ? [[path, value as readonly string[]]] : []
    return typeof value === 'object' ? listsIn(value, keys, path) : []
  })

type List = readonly [path: readonly string[], list: readonly string[]]

/** A contract counts characters, a content budget bytes (facts 2.2). */
const findLongLiteral = (document: Table): ConfigProblem | undefined => {
  for (const [path, list] of listsIn(document['checkpoints'], ['adds_matching', 'removes_matching'], ['checkpoints'])) {
    const index = list.findIndex(literal => Buffer.byteLength(literal) > LITERAL_LIMIT_BYTES)
    if (index !== -1) {
      return { path: [...path, String(index)], problem: `expected at most ${LITERAL_LIMIT_BYTES} bytes of UTF-8` }
    }
  }
  return undefined
}

const PATTERN_LISTS = [
  'paths',
  'inputs',
  'artifacts',
  'exclude_paths',
  'unless_changed',
  'files',
  'lines',
  'words',
  'bytes',
]

/** Facts 1.3: a pattern that cannot work must not pass for one that matches nothing. */
const findBadPattern = (document: Table, references: Readonly<Record<string, string>>): ConfigProblem | undefined => {
  const tables = ['jobs', 'scopes', 'generated', 'checkpoints', 'standards']
  for (const [path, list] of tables.flatMap(table => listsIn(document[table], PATTERN_LISTS, [table]))) {
    for (const [index, pattern] of list.entries()) {
      try {
        compilePattern(expandPattern(pattern, references))
      } catch (error) {
        return { path: [...path, String(index)], problem: `not a path pattern: ${reasonOf(error).split(': ').at(-1)}` }
      }
    }
  }
  return undefined
}

/** Strict UTF-8; a byte order mark is kept, since the digest covers the text as it is. */
const decode = (bytes: Buffer, file: string): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    const line = bytes.toString('utf8').split('\uFFFD', 1)[0]?.split('\n').length ?? 1
    throw new Refusal('invalid_config', { file, line, key: '', problem: 'not UTF-8' })
  }
}

/**
 * The configuration in a checkout, or `undefined` when it has none. Refuses with `invalid_config` when it is wrong and with
 * `store_unreadable` when it is no regular file, too large or not readable. No git process.
 */
export const readLiveConfiguration = async (
  worktree: Pick<Worktree, 'topLevel'>,
): Promise<Configuration | undefined> => {
  const path = join(worktree.topLevel, CONFIG_FILE)
  let bytes: Buffer | undefined
  try {
    bytes = await readRegularFile(path, CONFIGURATION_LIMIT_BYTES)
  } catch (error) {
    throw new Refusal('store_unreadable', { path, reason: reasonOf(error) })
  }
  return bytes && parseConfiguration(decode(bytes, CONFIG_FILE), CONFIG_FILE)
}

/**
 * The live `discern.toml` as plain tables, nothing of it checked: for those who only tell one configuration from another.
 * `undefined` when there is none. Throws what reading and parsing throw.
 */
export const readLiveDocument = async ({ topLevel }: Pick<Worktree, 'topLevel'>): Promise<Table | undefined> => {
  const bytes = await readRegularFile(join(topLevel, CONFIG_FILE), CONFIGURATION_LIMIT_BYTES)
  return bytes && parseToml(decode(bytes, CONFIG_FILE).replace(/^\uFEFF/, ''), CONFIG_FILE)
}

/** What a commit has for a configuration. Nothing governs unless it is `ok`. */
export type CommittedConfiguration =
  | { readonly status: 'absent' }
  | { readonly status: 'ok'; readonly text: string; readonly configuration: Configuration }
  /** The commit, its tree or the file is not here, or the entry is no regular file. */
  | { readonly status: 'unreadable'; readonly reason: string }
  /** `text` is missing when the bytes are no UTF-8. */
  | { readonly status: 'invalid'; readonly text: string | undefined; readonly refusal: Refusal<'invalid_config'> }

/**
 * The configuration at a commit, given by full id or full ref name (facts 6.2). Three requests to the object reader, no git
 * process of its own. Never refuses: what is wrong with the file is part of the answer.
 */
export const readCommittedConfiguration = async (
  repository: Pick<Repository, 'objects' | 'objectFormat'>,
  commit: string,
): Promise<CommittedConfiguration> => {
  const tree = await repository.objects.read(`${commit}^{tree}`)
  if (!tree) return { status: 'unreadable', reason: `the tree of ${commit} is not in this repository` }
  const entry = parseTree(tree.content, oidDigits(repository)).find(({ path }) => path === CONFIG_FILE)
  if (!entry) return { status: 'absent' }
  if (!/^100[0-7]{3}$/.test(entry.mode)) {
    return { status: 'unreadable', reason: `${CONFIG_FILE} at ${commit} is not a regular file` }
  }
  const blob = await repository.objects.read(entry.oid)
  if (!blob) return { status: 'unreadable', reason: `${CONFIG_FILE} at ${commit} is not in this repository` }
  if (blob.content.length > CONFIGURATION_LIMIT_BYTES) {
    return {
      status: 'unreadable',
      reason: `${CONFIG_FILE} at ${commit} is larger than ${CONFIGURATION_LIMIT_BYTES} bytes`,
    }
  }
  const file = `${/^[0-9a-f]+$/.test(commit) ? commit.slice(0, 12) : commit}:${CONFIG_FILE}`
  let text: string | undefined
  try {
    text = decode(blob.content, file)
    return { status: 'ok', text, configuration: await parseConfiguration(text, file) }
  } catch (error) {
    if (error instanceof Refusal && error.slug === 'invalid_config') {
      return { status: 'invalid', text, refusal: error as Refusal<'invalid_config'> }
    }
    throw error
  }
}

/** The `policy` hash of facts 8.3: SHA-256 over the JSON of the text, or of `null` for a commit without the file. */
export const policyDigest = (text: string | undefined): string => sha256Json(text ?? null)
