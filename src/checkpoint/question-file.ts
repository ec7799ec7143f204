/** The text of questions that stand in files of the policy commit (facts 6.3). */
import { decodePath, splitNul } from '../git/path.ts'
import { oidDigits, type Repository } from '../git/repository.ts'
import { git } from '../git/run.ts'
import { QUESTION_FILE_LIMIT_BYTES } from '../limits.ts'
import type { DropReasonOf } from './drop.ts'

/** The text with its line endings, or why there is none. */
export type QuestionText =
  | { readonly text: string }
  | { readonly lost: DropReasonOf<'entry'>; readonly account: string }

/** What no file system forbids: no control character, `\`, `:` and the like, no name that ends in a dot or a space. */
const PORTABLE_NAME = /^[^\p{Cc}\\:*?"<>|]*[^\p{Cc}\\:*?"<>|. ]$/u
const DEVICE_NAME = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i

/** The path without `.` and doubled slashes, or `undefined` when it is not a portable path inside the project outside `.git`. */
export const questionPath = (path: string): string | undefined => {
  if (path.startsWith('/') || path.endsWith('/')) return undefined
  const names = path.split('/').filter(name => name !== '' && name !== '.')
  const portable = names.every(
    name => PORTABLE_NAME.test(name) && !DEVICE_NAME.test(name) && name.toLowerCase() !== '.git',
  )
  return names.length > 0 && portable ? names.join('/') : undefined
}

interface ListedEntry {
  readonly mode: string
  readonly oid: string
  /** `NaN` where the object is not here. */
  readonly sizeBytes: number
}

/** The entries at some exact paths of a commit; `undefined` when git cannot list them. One git process. */
const list = async (
  repository: Repository,
  commit: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, readonly ListedEntry[]> | undefined> => {
  // `-t`, since a folder that another path leads into would not be listed itself.
  const run = await git(repository, ['ls-tree', '-z', '-l', '-t', '--full-tree', commit, '--', ...paths]).catch(
    () => undefined,
  )
  if (run?.exitCode !== 0) return undefined
  const found = new Map<string, readonly ListedEntry[]>()
  for (const record of splitNul(run.stdout)) {
    const tab = record.indexOf(9)
    const [mode = '', , oid = '', size = ''] = record.toString('latin1', 0, tab).split(/ +/)
    const path = decodePath(record.subarray(tab + 1))
    found.set(path, [...(found.get(path) ?? []), { mode, oid, sizeBytes: Number(size) }])
  }
  return found
}

/**
 * The question texts at some paths, all of the form that `questionPath` gives, by path. A file larger than 65,536 bytes is
 * never read. One git process when there is any path; never throws for what the repository holds.
 */
export const readQuestionFiles = async (
  repository: Repository,
  commit: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, QuestionText>> => {
  const texts = new Map<string, QuestionText>()
  if (paths.length === 0) return texts
  const listed = await list(repository, commit, [...new Set(paths)])
  for (const path of new Set(paths)) {
    texts.set(
      path,
      listed
        ? await readOne(repository, path, listed.get(path) ?? [])
        : { lost: 'checkpoint_question_file_unreadable', account: `${path}: git cannot list it` },
    )
  }
  return texts
}

const readOne = async (
  repository: Repository,
  path: string,
  entries: readonly ListedEntry[],
): Promise<QuestionText> => {
  const [entry, ...others] = entries
  if (!entry) return { lost: 'checkpoint_question_file_missing', account: `${path} is not in the policy commit` }
  if (others.length > 0 || !/^100(?:644|755)$/.test(entry.mode)) {
    return { lost: 'checkpoint_question_file_not_regular', account: `${path} has the mode ${entry.mode}` }
  }
  if (entry.sizeBytes > QUESTION_FILE_LIMIT_BYTES) {
    const account = `${path} has ${entry.sizeBytes} bytes, more than ${QUESTION_FILE_LIMIT_BYTES}`
    return { lost: 'checkpoint_question_file_oversized', account }
  }
  const missing: QuestionText = {
    lost: 'checkpoint_question_file_unreadable',
    account: `${path}: its content is not in this repository`,
  }
  if (Number.isNaN(entry.sizeBytes) || entry.oid.length !== oidDigits(repository)) return missing
  const blob = await repository.objects.read(entry.oid).catch(() => undefined)
  if (blob?.type !== 'blob') return missing
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(blob.content) }
  } catch {
    return { lost: 'checkpoint_question_file_invalid_utf8', account: `${path} is not UTF-8` }
  }
}
