/**
 * The added and removed lines of changed files, within hard budgets: a branch chooses its content, so no amount of it may cost
 * more than this, and no search is ever partial (facts 2.2, document 002).
 */
import type { Worktree } from '../git/repository.ts'
import {
  CHANGED_FILE_LIMIT_BYTES,
  CHANGED_LINE_LIMIT_BYTES,
  CHANGED_LINES_LIMIT_COUNT,
  CHANGED_TOTAL_LIMIT_BYTES,
  COMPARISON_WORK_LIMIT_BYTES,
} from '../limits.ts'
import type { CollectedChange } from './effort.ts'
import type { ChangedFile, ChangedLines, Fact, UnavailableReason } from './facts.ts'
import { openPatches, type Patches, parsePatch, type SignedLine, splitLines } from './patch.ts'
import { untrackedBytes } from './untracked.ts'

type LinesFact = Fact<ChangedLines>

const NONE: LinesFact = { known: { added: [], removed: [] } }

const FAILED: Patches = { read: async () => 'git_failed', close: async () => {} }

/** What is left of the budgets that all files share. */
interface Budget {
  bytes: number
  lines: number
  /** Set by the file that passed the number of lines; every later file shares its fate. */
  full: boolean
}

/**
 * Changed lines of each of `paths`, visited in path order whatever the order given. A binary file has none; a file whose
 * `binary` is unavailable has that reason. `line_limit`, `line_count` (this file and all later ones), `file_limit`,
 * `total_bytes`, `patch_mismatch` (the patch disagrees with the counts), `unreadable` and `git_failed` are as in facts 2.2.
 * A path that is not part of the change has no entry. A file that passes a limit is charged up to it, and keeps none of its
 * lines. One git process for all tracked files, one more after each of at most eight that pass a limit, two more when the
 * work tree holds modified ones.
 */
export const collectLines = async (
  worktree: Worktree,
  change: CollectedChange,
  paths: readonly string[],
): Promise<ReadonlyMap<string, LinesFact>> => {
  const wanted = new Set(paths)
  const files = change.files.filter(({ path }) => wanted.has(path))
  const facts = new Map<string, LinesFact>()
  const budget: Budget = { bytes: CHANGED_TOTAL_LIMIT_BYTES, lines: CHANGED_LINES_LIMIT_COUNT, full: false }
  let patches: Patches | undefined
  try {
    for (const [at, file] of files.entries()) {
      const sides = change.sides.get(file.path)
      if ('unavailable' in file.binary) facts.set(file.path, { unavailable: file.binary.unavailable })
      else if (file.binary.known) facts.set(file.path, NONE)
      else if (budget.full) facts.set(file.path, { unavailable: 'line_count' })
      else if (budget.bytes <= 0) facts.set(file.path, { unavailable: 'total_bytes' })
      else if (!sides) facts.set(file.path, { unavailable: 'unreadable' })
      else if (sides.from === 'untracked') {
        facts.set(file.path, await untrackedLines(worktree, file.path, budget))
      } else {
        patches ??= await openPatches(worktree, change, files.slice(at)).catch(() => FAILED)
        facts.set(file.path, await patchLines(patches, file, budget))
      }
    }
  } finally {
    await patches?.close()
  }
  return facts
}

/** Charges what was read; the reason when that was more than the file or the rest of the total allows. */
const charge = (size: number, budget: Budget): UnavailableReason | undefined => {
  const reason = budget.bytes < CHANGED_FILE_LIMIT_BYTES ? 'total_bytes' : 'file_limit'
  const allowed = Math.min(CHANGED_FILE_LIMIT_BYTES, budget.bytes)
  budget.bytes -= Math.min(size, allowed)
  return size > allowed ? reason : undefined
}

const untrackedLines = async (worktree: Worktree, path: string, budget: Budget): Promise<LinesFact> => {
  const allowed = Math.min(CHANGED_FILE_LIMIT_BYTES, budget.bytes)
  const bytes = await untrackedBytes(worktree.topLevel, path, allowed + 1)
  if (!bytes) return { unavailable: 'unreadable' }
  const over = charge(bytes.length, budget)
  if (over) return { unavailable: over }
  return admit(
    splitLines(bytes).map(line => ['+', line]),
    budget,
  )
}

const patchLines = async (patches: Patches, file: ChangedFile, budget: Budget): Promise<LinesFact> => {
  const patch = await patches.read(file.path, Math.min(CHANGED_FILE_LIMIT_BYTES, budget.bytes))
  if (typeof patch === 'string') return { unavailable: patch }
  const over = charge(patch.size, budget)
  if (over) return { unavailable: over }
  const fact = admit(parsePatch(patch.bytes), budget)
  if ('unavailable' in fact) return fact
  const { added, removed } = fact.known
  if (added.length === file.insertions && removed.length === file.deletions) return fact
  budget.lines += added.length + removed.length
  return { unavailable: 'patch_mismatch' }
}

/** Takes the lines of one file into the budget, all or none. */
const admit = (lines: readonly SignedLine[], budget: Budget): LinesFact => {
  const added: Buffer[] = []
  const removed: Buffer[] = []
  for (const [sign, line] of lines) {
    const payload = line.at(-1) === 13 ? line.subarray(0, -1) : line
    if (payload.length > CHANGED_LINE_LIMIT_BYTES) return { unavailable: 'line_limit' }
    if (added.length + removed.length === budget.lines) {
      budget.full = true
      return { unavailable: 'line_count' }
    }
    if (sign === '+') added.push(payload)
    else removed.push(payload)
  }
  budget.lines -= added.length + removed.length
  return { known: { added, removed } }
}

/** What comparing these lines with that many patterns costs: each line's payload and one separator, for each (facts 2.2). */
export const comparisonWork = (lines: readonly Buffer[], patternCount: number): number =>
  lines.reduce((sum, line) => sum + line.length + 1, 0) * patternCount

/**
 * Whether any line contains any pattern, byte for byte. `spentBytes` is what the definition's comparisons cost so far; work
 * past `COMPARISON_WORK_LIMIT_BYTES` is refused before anything is compared. Pure.
 */
export const matchesAnyLine = (
  lines: readonly Buffer[],
  patterns: readonly string[],
  spentBytes = 0,
): { readonly matches: Fact<boolean>; readonly spentBytes: number } => {
  const spent = spentBytes + comparisonWork(lines, patterns.length)
  if (spent > COMPARISON_WORK_LIMIT_BYTES) return { matches: { unavailable: 'comparison_work' }, spentBytes: spent }
  const needles = patterns.map(pattern => Buffer.from(pattern, 'utf8'))
  const known = lines.some(line => needles.some(needle => line.includes(needle)))
  return { matches: { known }, spentBytes: spent }
}
