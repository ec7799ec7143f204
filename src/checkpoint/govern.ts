/** What governs at one commit: its checkpoints, resolved, and what of them is lost (facts 6.2 to 6.4). */
import { Refusal, reasonOf } from '../errors.ts'
import type { Repository } from '../git/repository.ts'
import type { Configuration } from '../policy/definition.ts'
import { classifyGenerated } from '../policy/jobs.ts'
import { matchesAny } from '../policy/paths.ts'
import { CONFIG_FILE, parseConfiguration, readCommittedConfiguration } from '../policy/read.ts'
import type { CheckpointDefinition, CheckpointMode } from './definition.ts'
import { type Drop, type DropReasonOf, distinctDrops, makeDrop } from './drop.ts'
import { definitionHash, resolveEntry, type Setting, summarise } from './fields.ts'
import { type QuestionText, questionPath, readQuestionFiles } from './question-file.ts'
import { type Entry, mergeSeed } from './seeds.ts'

export interface Governing {
  readonly commit: string
  /** In the order of the file. */
  readonly definitions: readonly CheckpointDefinition[]
  readonly drops: readonly Drop[]
  /** `undefined` when the commit has none that can be used. */
  readonly configuration: Configuration | undefined
  /** The generated group that owns a path, changed or of the policy commit. */
  readonly generated: (path: string) => string | undefined
}

type Table = Readonly<Record<string, unknown>>
type Entries = Readonly<Record<string, Entry>>
type Loss = { readonly lost: DropReasonOf<'entry'>; readonly account: string }

/**
 * The policy at a commit, given by its full id. A missing file is no policy; what cannot be read or is wrong is a drop, and
 * nothing governs. Entries that are wrong in their question or selector alone are left out, each with a drop of its own. At
 * most one git process beside the object reader, and that only when a question stands in a file. Never refuses.
 */
export const governingPolicy = async (repository: Repository, policyCommit: string): Promise<Governing> => {
  const nothing = (reason?: DropReasonOf<'policy'>, account = ''): Governing => ({
    commit: policyCommit,
    definitions: [],
    drops: reason ? [makeDrop(reason, account, { policyCommit })] : [],
    configuration: undefined,
    generated: () => undefined,
  })
  let read: Awaited<ReturnType<typeof readCommittedConfiguration>>
  try {
    read = await readCommittedConfiguration(repository, policyCommit)
  } catch (error) {
    if (error instanceof Refusal) return nothing('governing_config_unreadable', error.message)
    throw error
  }
  switch (read.status) {
    case 'absent':
      return nothing()
    case 'unreadable':
      return nothing('governing_config_unreadable', read.reason)
    case 'invalid': {
      const recovered = read.text === undefined ? undefined : await recover(read.text)
      if (!recovered) return nothing('governing_config_invalid', read.refusal.message)
      return govern(repository, policyCommit, read.text ?? '', recovered, nothing)
    }
    case 'ok': {
      const { configuration } = read
      return govern(repository, policyCommit, read.text, { configuration, entries: configuration.checkpoints }, nothing)
    }
  }
}

interface Readable {
  readonly configuration: Configuration
  /** As they stand in the file, also those that are wrong in their question or selector. */
  readonly entries: Table
}

const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

/** Keys of an entry whose trouble is its own: an empty or doubled question source, a doubled selector. */
const troubles = (entry: Table): readonly string[] => {
  const has = (key: string): boolean => typeof entry[key] === 'string'
  const doubled = Object.hasOwn(entry, 'question') && Object.hasOwn(entry, 'question_file')
  return [
    ...['question', 'question_file'].filter(key => has(key) && (doubled || entry[key] === '')),
    ...(has('scope') && Object.hasOwn(entry, 'paths') ? ['scope'] : []),
  ]
}

/** Reads the configuration again without those keys; everything else must be right (facts 6.2). */
const recover = async (text: string): Promise<Readable | undefined> => {
  let entries: Table = {}
  try {
    const configuration = await parseConfiguration(text, CONFIG_FILE, document => {
      const found = document['checkpoints']
      if (!isTable(found)) return document
      entries = found
      const checkpoints = Object.entries(found).map(([id, entry]) => {
        if (!isTable(entry)) return [id, entry] as const
        const wrong = troubles(entry)
        return [id, Object.fromEntries(Object.entries(entry).filter(([key]) => !wrong.includes(key)))] as const
      })
      return { ...document, checkpoints: Object.fromEntries(checkpoints) }
    })
    return { configuration, entries }
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

/** Keys that look like numbers lose their place in a JavaScript object; only then the order is read from the text. */
const inFileOrder = async (text: string, entries: Table): Promise<readonly string[]> => {
  const ids = Object.keys(entries)
  if (ids.length < 2 || !ids.some(id => /^\d+$/.test(id))) return ids
  const { readPlaces } = await import('../policy/problem.ts')
  const places = readPlaces(text.replace(/^\uFEFF/, ''))
  const seen = places.flatMap(([[table, id]]) => (table === 'checkpoints' && id !== undefined ? [id] : []))
  return [...new Set([...seen.filter(id => Object.hasOwn(entries, id)), ...ids])]
}

const govern = async (
  repository: Repository,
  policyCommit: string,
  text: string,
  { configuration, entries }: Readable,
  nothing: (reason: DropReasonOf<'policy'>, account: string) => Governing,
): Promise<Governing> => {
  let generated: Governing['generated']
  try {
    // A broken model must not pass for one in which everything is authored (facts 1.3).
    for (const { paths } of configuration.generated) matchesAny(paths)(CONFIG_FILE)
    generated = classifyGenerated(configuration)
  } catch (error) {
    return nothing('governing_config_invalid', `the generated paths: ${reasonOf(error)}`)
  }
  const ids = await inFileOrder(text, entries)
  const merged = ids.map(id => ({ id, own: entries[id] as Entry, entry: mergeSeed(id, entries[id] as Entry) }))
  const files = merged.flatMap(({ entry }) => questionPath(String(entry.question_file ?? '')) ?? [])
  const texts = await readQuestionFiles(repository, policyCommit, files)
  const setting: Setting = {
    references: configuration.references,
    scopes: new Map(configuration.scopes.map(({ name, paths }) => [name, paths])),
  }
  const definitions: CheckpointDefinition[] = []
  const drops: Drop[] = []
  for (const { id, own, entry } of merged) {
    const resolved = resolve(id, own, entry, setting, texts)
    if ('lost' in resolved) {
      const mode = (entry.mode ?? 'stop') as CheckpointMode
      drops.push(makeDrop(resolved.lost, resolved.account, { policyCommit, checkpoint: id, mode }))
    } else definitions.push(resolved)
  }
  const kept = new Set(definitions.map(({ id }) => id))
  const checkpoints: Entries = Object.fromEntries(Object.entries(entries as Entries).filter(([id]) => kept.has(id)))
  return {
    commit: policyCommit,
    definitions,
    drops: distinctDrops(drops),
    configuration: { ...configuration, checkpoints },
    generated,
  }
}

const resolve = (
  id: string,
  own: Entry,
  entry: Entry,
  setting: Setting,
  texts: ReadonlyMap<string, QuestionText>,
): CheckpointDefinition | Loss => {
  const question = questionOf(id, own, entry, texts)
  if ('lost' in question) return question
  if (Object.hasOwn(own, 'scope') && Object.hasOwn(own, 'paths')) {
    return { lost: 'checkpoint_selector_conflict', account: `checkpoints.${id} has both scope and paths` }
  }
  if (entry.scope !== undefined && !setting.scopes.has(String(entry.scope))) {
    return { lost: 'checkpoint_unknown_scope', account: `checkpoints.${id}: there is no scope ${String(entry.scope)}` }
  }
  const all = resolveEntry({ ...entry, question: question.text, question_file: question.file }, setting)
  const { question: words, questionFile, mode, teach, reference, ...trigger } = all
  return {
    id,
    question: words,
    questionFile,
    mode,
    teach,
    reference,
    trigger,
    hash: definitionHash(all),
    summary: summarise(trigger),
    dormant: trigger.selectorGlobs?.every(glob => glob === '') ?? false,
  }
}

/** Exactly one source, and a text that is not blank. */
const questionOf = (
  id: string,
  own: Entry,
  entry: Entry,
  texts: ReadonlyMap<string, QuestionText>,
): { readonly text: string; readonly file: string | undefined } | Loss => {
  if (Object.hasOwn(own, 'question') && Object.hasOwn(own, 'question_file')) {
    const account = `checkpoints.${id} has both question and question_file`
    return { lost: 'checkpoint_question_source_conflict', account }
  }
  if (entry.question_file !== undefined) {
    const file = questionPath(String(entry.question_file))
    const read = file === undefined ? undefined : texts.get(file)
    if (!read) return { lost: 'checkpoint_question_file_invalid_path', account: String(entry.question_file) }
    return 'lost' in read ? read : { text: read.text, file }
  }
  const text = String(entry.question ?? '')
  if (text.trim() === '') return { lost: 'checkpoint_missing_question', account: `checkpoints.${id} asks nothing` }
  return { text, file: undefined }
}
