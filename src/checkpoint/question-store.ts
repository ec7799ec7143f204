/**
 * The file in which a worktree keeps its open questions (facts 5.1). `openQuestions` are those of the branch in `branch`, in the
 * published shape; the questions of the worktree's other branches wait in `branches` (design 4.1). A reader looks only at its own
 * branch, and a writer hands the others on unread: damage in one does not reach another. Paths stand as they are displayed.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { RelatedPath } from '../change/facts.ts'
import type { Context } from '../context.ts'
import { Refusal, reasonOf } from '../errors.ts'
import { displayPath, parseDisplayedPath } from '../git/path.ts'
import { QUESTION_STORE_PAUSE_MS, QUESTION_STORE_TRY_COUNT } from '../limits.ts'
import { adminFiles, readAdmin, writeAdmin } from '../store/admin.ts'
import { withLock } from '../store/lock.ts'
import { type Declaration, evidenceIdentity, type OpenQuestion, type Questions } from './question.ts'

const FILE = 'checkpoint-open-questions'

interface Directories {
  readonly gitDir: string
  readonly commonDir: string
}

/**
 * `invalid` is a corrupt store: the next write rebuilds it and its conclusions are lost. `newer` was written by a later version
 * and is never replaced. `unavailable` is a failed read (facts 5.1).
 */
export type QuestionRead =
  | { readonly status: 'ok' | 'missing'; readonly questions: Questions }
  | { readonly status: 'invalid' | 'newer' | 'unavailable'; readonly reason: string }

type Members = Readonly<Record<string, unknown>>

interface Layout {
  /** What the file says about the branch at hand; `undefined` is nothing. */
  readonly own: unknown
  /** What it says about other branches, as it stands. */
  readonly others: ReadonlyMap<string, unknown>
}

const nothing: Questions = new Map()

/** Reads the questions of one branch (full ref name). Never throws, writes nothing. */
export const readQuestions = async (directories: Directories, branch: string): Promise<QuestionRead> =>
  (await readFile(directories, branch)).read

const readFile = async (
  directories: Directories,
  branch: string,
): Promise<{ read: QuestionRead; others: Layout['others'] }> => {
  const file = await readAdmin(directories, FILE)
  switch (file.status) {
    case 'missing':
      return { read: { status: 'missing', questions: nothing }, others: new Map() }
    case 'newer':
      return { read: { status: 'newer', reason: `it has format ${file.version}` }, others: new Map() }
    case 'invalid':
    case 'unavailable':
      return { read: { status: file.status, reason: file.reason }, others: new Map() }
    case 'ok': {
      const layout = layoutOf(file.value, branch)
      if (layout === undefined) {
        return { read: { status: 'invalid', reason: 'openQuestions or branches is no object' }, others: new Map() }
      }
      const { own, others } = layout
      if (own === undefined) return { read: { status: 'missing', questions: nothing }, others }
      const parsed = parseQuestions(own)
      return typeof parsed === 'string'
        ? { read: { status: 'invalid', reason: parsed }, others }
        : { read: { status: 'ok', questions: parsed }, others }
    }
  }
}

/** A file without `branch` is another program's and speaks of whatever branch is checked out. */
const layoutOf = (file: Members, branch: string): Layout | undefined => {
  const { branch: named = branch, openQuestions, branches = {} } = file
  if (typeof named !== 'string' || !isMembers(openQuestions) || !isMembers(branches)) return undefined
  const all = new Map<string, unknown>([...Object.entries(branches), [named, openQuestions]])
  const own = all.get(branch)
  all.delete(branch)
  return { own, others: all }
}

export type QuestionWrite<Value> =
  | {
      readonly status: 'written' | 'unchanged'
      readonly questions: Questions
      readonly value: Value
      /** A corrupt store was replaced; its conclusions are lost (`open_question_store_rebuilt`). */
      readonly rebuilt: boolean
    }
  /** Nothing was changed (`open_question_store_write_failed`). */
  | { readonly status: 'failed'; readonly reason: string }

/**
 * Changes the questions of one branch: one writer at a time in a worktree, one atomic replacement, and none when `change` gives
 * back the very map that it was given. A corrupt store counts as empty; a newer or unreadable one is left alone. Waits at
 * most two seconds for another writer. Never throws for the file system's sake.
 */
export const updateQuestions = async <Value>(
  context: Context,
  directories: Directories,
  branch: string,
  verb: string,
  change: (questions: Questions) => { readonly questions: Questions; readonly value: Value },
): Promise<QuestionWrite<Value>> => {
  const update = async (): Promise<QuestionWrite<Value>> => {
    const { read, others } = await readFile(directories, branch)
    if (read.status === 'newer' || read.status === 'unavailable') return { status: 'failed', reason: read.reason }
    const standing = 'questions' in read ? read.questions : nothing
    const { questions, value } = change(standing)
    if (questions === standing) return { status: 'unchanged', questions, value, rebuilt: false }
    const file = formatFile(branch, questions, others)
    if (Buffer.byteLength(JSON.stringify(file)) > adminFiles[FILE].limitBytes - 64) {
      return { status: 'failed', reason: `it would be larger than ${adminFiles[FILE].limitBytes} bytes` }
    }
    await writeAdmin(directories, FILE, file)
    return { status: 'written', questions, value, rebuilt: read.status === 'invalid' }
  }
  for (let tries = 1; ; tries += 1) {
    try {
      return await withLock(context, directories, 'questions', verb, update)
    } catch (error) {
      if (!(error instanceof Refusal) && (error as NodeJS.ErrnoException).code === undefined) throw error
      const busy = error instanceof Refusal && error.slug === 'busy'
      if (!busy || tries >= QUESTION_STORE_TRY_COUNT) return { status: 'failed', reason: reasonOf(error) }
    }
    await pause(QUESTION_STORE_PAUSE_MS)
  }
}

/** The declaration-evidence identity of a branch, or why it cannot be had; that never means "changed" (facts 4.3). */
export const evidenceOf = (read: QuestionRead): { readonly known: string } | { readonly unavailable: string } =>
  'questions' in read ? { known: evidenceIdentity([...read.questions.values()]) } : { unavailable: read.reason }

const formatFile = (branch: string, questions: Questions, others: Layout['others']): object => ({
  openQuestions: Object.fromEntries([...questions].map(([id, question]) => [id, formatQuestion(question)])),
  branch,
  ...(others.size > 0 ? { branches: Object.fromEntries(others) } : {}),
})

const formatQuestion = (question: OpenQuestion): object => ({
  ...question,
  matchedPaths: question.matchedPaths.map(displayPath),
  relatedPaths: question.relatedPaths.map(({ kind, forPath, path }) => ({
    kind,
    forPath: displayPath(forPath),
    path: displayPath(path),
  })),
})

/** The questions, or what is wrong; one malformed entry rejects all of them (facts 5.1). */
const parseQuestions = (value: unknown): Questions | string => {
  if (!isMembers(value)) return 'the questions are no object'
  const questions = new Map<string, OpenQuestion>()
  for (const [id, entry] of Object.entries(value)) {
    const question = parseQuestion(id, entry)
    if (question === undefined) return `the question ${displayPath(id)} is malformed`
    questions.set(id, question)
  }
  return questions
}

const parseQuestion = (id: string, entry: unknown): OpenQuestion | undefined => {
  if (!isMembers(entry) || entry['checkpoint'] !== id) return undefined
  const { definitionHash, subject, openedAt, reopenedAt } = entry
  const matchedPaths = listOf(entry['matchedPaths'], parsePath)
  const relatedPaths = listOf(entry['relatedPaths'] ?? [], parseRelation)
  if (!isDigest(definitionHash) || !isDigest(subject) || !isInstant(openedAt)) return undefined
  if (matchedPaths === undefined || relatedPaths === undefined) return undefined
  if (reopenedAt !== undefined && !isInstant(reopenedAt)) return undefined
  const declaration = entry['declaration'] === undefined ? undefined : parseDeclaration(entry['declaration'])
  if (declaration === null) return undefined
  return {
    checkpoint: id,
    definitionHash,
    subject,
    matchedPaths,
    relatedPaths,
    openedAt,
    ...(reopenedAt === undefined ? {} : { reopenedAt }),
    ...(declaration === undefined ? {} : { declaration }),
  }
}

const parseDeclaration = (value: unknown): Declaration | null => {
  if (!isMembers(value)) return null
  const { conclusion, why, definitionHash, subject, declaredAt } = value
  if (!isDigest(definitionHash) || !isDigest(subject) || !isInstant(declaredAt)) return null
  const bound = { definitionHash, subject, declaredAt }
  if (conclusion === 'met' && why === undefined) return { conclusion, ...bound }
  if (conclusion === 'unmet' && typeof why === 'string' && why !== '') return { conclusion, why, ...bound }
  return null
}

const parsePath = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? parseDisplayedPath(value) : undefined

const parseRelation = (value: unknown): RelatedPath | undefined => {
  if (!isMembers(value) || value['kind'] !== 'similar_existing') return undefined
  const forPath = parsePath(value['forPath'])
  const path = parsePath(value['path'])
  return forPath === undefined || path === undefined ? undefined : { kind: 'similar_existing', forPath, path }
}

const listOf = <Item>(value: unknown, parse: (item: unknown) => Item | undefined): readonly Item[] | undefined => {
  if (!Array.isArray(value)) return undefined
  const items: Item[] = []
  for (const item of value) {
    const parsed = parse(item)
    if (parsed === undefined) return undefined
    items.push(parsed)
  }
  return items
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isDigest = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

const isInstant = (value: unknown): value is string =>
  typeof value === 'string' &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value) &&
  !Number.isNaN(Date.parse(value))
