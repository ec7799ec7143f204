/** How a trigger field narrows the changed files that may raise a question (facts 2.3). Pure; each row of `fields.ts` uses one. */
import type { Change, ChangedFile, ChangedLines, ChangeKind, Facts, RelatedPath } from '../change/facts.ts'
import { comparisonWork, matchesAnyLine } from '../change/lines.ts'
import { displayPath } from '../git/path.ts'
import { COMPARISON_WORK_LIMIT_BYTES, DELETION_DOMINANT_MINIMUM_LINES, DELETION_DOMINANT_RATIO } from '../limits.ts'
import { matchesAny } from '../policy/paths.ts'
import { isSimilar, splitName } from './similar.ts'

/** What every field of one definition is judged against. */
export interface Scene {
  /** Tells apart the folder questions of several definitions. */
  readonly id: string
  readonly change: Change
  readonly facts: Facts
  readonly generated: (path: string) => boolean
  /** Authored, unless generated files count, and not excluded; for changed paths and for those of the policy commit. */
  readonly admitted: (path: string) => boolean
  /** What the comparisons of this definition cost so far. */
  readonly work: { spentBytes: number }
}

/** The files that are left, none meaning a veto; or a fact that is missing, which is neither. */
export type Narrowed =
  | { readonly keep: readonly ChangedFile[]; readonly related?: readonly RelatedPath[] }
  | { readonly lost: 'trigger_content_unavailable' | 'trigger_history_unavailable'; readonly account: string }

export type Narrow<V> = (value: V, files: readonly ChangedFile[], scene: Scene) => Narrowed

const content = (path: string, reason: string): Narrowed => ({
  lost: 'trigger_content_unavailable',
  account: `${displayPath(path)}: ${reason}`,
})

const allOrNone = (files: readonly ChangedFile[], holds: boolean): Narrowed => ({ keep: holds ? files : [] })

/** Steps 1 and 3; `undefined` selects the whole change. */
export const selected: Narrow<readonly string[] | undefined> = (globs, files) => {
  if (!globs) return { keep: files }
  const matches = matchesAny(globs)
  return { keep: files.filter(({ path }) => matches(path)) }
}

export const withoutExcluded: Narrow<readonly string[]> = (globs, files) => {
  const excluded = matchesAny(globs)
  return { keep: files.filter(({ path }) => !excluded(path)) }
}

export const authored: Narrow<boolean> = (include, files, { generated }) => ({
  keep: include ? files : files.filter(({ path }) => !generated(path)),
})

export const ofKind: Narrow<readonly ChangeKind[]> = (kinds, files) => ({
  keep: files.filter(({ kind }) => kinds.includes(kind)),
})

/**
 * Steps 5 and 6. Every candidate's lines must be known before any is compared, and the whole work is charged first, so that
 * there is never a partial answer (facts 2.2).
 */
export const withLines =
  (side: keyof ChangedLines): Narrow<readonly string[]> =>
  (texts, files, { facts, work }) => {
    const candidates: { readonly file: ChangedFile; readonly lines: readonly Buffer[] }[] = []
    for (const file of files) {
      const found = facts.lines.get(file.path) ?? { unavailable: 'unreadable' }
      if ('unavailable' in found) return content(file.path, found.unavailable)
      const lines = found.known[side]
      work.spentBytes += comparisonWork(lines, texts.length)
      if (work.spentBytes > COMPARISON_WORK_LIMIT_BYTES) return content(file.path, 'comparison_work')
      candidates.push({ file, lines })
    }
    const keep = candidates.filter(({ lines }) => {
      const { matches } = matchesAnyLine(lines, texts)
      return 'known' in matches && matches.known
    })
    return { keep: keep.map(({ file }) => file) }
  }

/** The name under which `Needs.baseHolds` and `Facts.baseHolds` speak of one definition's view of a folder. */
export const folderKey = (id: string, folder: string): string => `${id}\0${folder}`

/** Whether the policy commit has an admitted file at any depth below a folder; `undefined` when that is not known. */
const existed = (folder: string, { id, facts, admitted }: Scene): boolean | undefined => {
  const answer = facts.baseHolds?.get(folderKey(id, folder))
  if (answer && 'known' in answer) return answer.known
  if ('unavailable' in facts.baseFiles) return undefined
  const names = facts.baseFiles.known.get(folder)
  if (names?.some(name => admitted(`${folder}/${name}`))) return true
  return names ? undefined : false
}

/** Step 7: added files, not in the root, whose folder the policy commit does not have. */
export const inNewFolder: Narrow<boolean> = (_, files, scene) => {
  const folders = new Map<string, boolean>()
  const keep: ChangedFile[] = []
  for (const file of files) {
    const { folder } = splitName(file.path)
    if (file.kind !== 'added' || folder === '') continue
    const known = folders.get(folder) ?? existed(folder, scene)
    if (known === undefined)
      return content(file.path, `the folder ${displayPath(folder)} of the policy commit is unreadable`)
    folders.set(folder, known)
    if (!known) keep.push(file)
  }
  return { keep }
}

/** The first file that nobody can call binary or text. */
const undecided = (files: readonly ChangedFile[]): Narrowed | undefined => {
  for (const { path, binary } of files) if ('unavailable' in binary) return content(path, binary.unavailable)
  return undefined
}

export const isBinary: Narrow<boolean | undefined> = (value, files) =>
  undecided(files) ?? { keep: files.filter(({ binary }) => 'known' in binary && binary.known === value) }

/** Step 9: added files beside a file of similar name that the policy commit has, that is admitted and not deleted. */
export const withSibling: Narrow<boolean> = (_, files, { change, facts, admitted }) => {
  const added = files.filter(({ kind }) => kind === 'added')
  if (added.length === 0) return { keep: [] }
  if ('unavailable' in facts.baseFiles) return content(added[0]?.path ?? '', facts.baseFiles.unavailable)
  const deleted = new Set(change.files.filter(({ kind }) => kind === 'deleted').map(({ path }) => path))
  const related: RelatedPath[] = []
  for (const { path: forPath } of added) {
    const { folder } = splitName(forPath)
    const names = facts.baseFiles.known.get(folder) ?? []
    const paths = names.map(name => (folder === '' ? name : `${folder}/${name}`)).sort()
    for (const path of paths) {
      if (!deleted.has(path) && admitted(path) && isSimilar(forPath, path)) {
        related.push({ kind: 'similar_existing', forPath, path })
      }
    }
  }
  const having = new Set(related.map(({ forPath }) => forPath))
  return { keep: added.filter(({ path }) => having.has(path)), related }
}

/** Step 10 looks at everything admitted, selected or not. */
export const unlessChanged: Narrow<readonly string[]> = (globs, files, { change, admitted }) => {
  const matches = matchesAny(globs)
  return allOrNone(files, !change.files.some(({ path }) => admitted(path) && matches(path)))
}

export const enoughFiles: Narrow<number | undefined> = (least, files) => allOrNone(files, files.length >= (least ?? 0))

/** Added and removed lines of all files; a binary file has none. */
const lineCounts = (files: readonly ChangedFile[]): { readonly insertions: number; readonly deletions: number } => {
  const text = files.filter(({ binary }) => 'known' in binary && !binary.known)
  return {
    insertions: text.reduce((sum, { insertions }) => sum + insertions, 0),
    deletions: text.reduce((sum, { deletions }) => sum + deletions, 0),
  }
}

export const enoughLines: Narrow<number | undefined> = (least, files) => {
  const { insertions, deletions } = lineCounts(files)
  return undecided(files) ?? allOrNone(files, insertions + deletions >= (least ?? 0))
}

export const mostlyDeletions: Narrow<boolean> = (_, files) => {
  const { insertions, deletions } = lineCounts(files)
  return (
    undecided(files) ??
    allOrNone(files, deletions >= DELETION_DOMINANT_MINIMUM_LINES && deletions >= DELETION_DOMINANT_RATIO * insertions)
  )
}

export const enoughCommits: Narrow<number | undefined> = (least, files, { facts: { history } }) =>
  'unavailable' in history
    ? { lost: 'trigger_history_unavailable', account: `the commits since the policy commit: ${history.unavailable}` }
    : allOrNone(files, history.known.count >= (least ?? 0))

/** Step 15: the condition itself runs elsewhere; its input must say of each file whether it is binary. */
export const describable: Narrow<string | undefined> = (_, files) => undecided(files) ?? { keep: files }
