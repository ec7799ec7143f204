/**
 * Merging two notes histories. One comparison of the two trees says what differs; each subject is then judged by itself, and
 * no rule lets a note vanish. A merge commit is made of the two tips alone, so two clones that merge the same tips make the
 * same commit, bit for bit.
 */
import {
  type CommitRequest,
  commitNotes,
  mergeBases,
  type NotesCommit,
  type NotesWriter,
  readNotesCommit,
  requireNotesCommit,
} from './notes-commit.ts'
import { type Comparison, compareNotes, completeSides, diffNotes } from './notes-compare.ts'
import { addOtherPaths, editNotes } from './notes-edit.ts'
import { judgeNotes, type SameClaim } from './notes-judge.ts'
import { type NoteReplacement, type NotesConflict, type Plan, planChanges } from './notes-plan.ts'
import { type Folder, openNotes } from './notes-tree.ts'
import { uniteNotes } from './notes-union.ts'
import { oidDigits, type Repository } from './repository.ts'
import { openTreeStore } from './trees.ts'

export interface MergeRequest {
  /** Tip of the standing history, the one that gives way to nothing by itself. */
  readonly ours: string
  readonly theirs: string
  /** Where `theirs` was read from, for the report. */
  readonly ref: string
  readonly sameClaim: SameClaim
  readonly writer: NotesWriter
  /** Compares also when `theirs` is already contained, since `ours` may have lost some of it (case 42). */
  readonly thorough?: boolean
  /** One conflict that is being decided right now. */
  readonly decide?: { readonly subject: string; readonly keep: 'local' | 'remote' }
}

export interface NotesMerge {
  /**
   * `current`: nothing to take. `forward`: their tip as it is. `merged`: a commit with both tips as parents, or, where one of
   * them contains the other, with that one. `partial`: conflicts stand; the rest was adopted without recording their history,
   * so that git refuses a push until someone decides. `no-identity`: a commit was needed and nobody may make it.
   * `unreadable`: theirs is no commit that is here.
   */
  readonly kind: 'current' | 'forward' | 'merged' | 'partial' | 'no-identity' | 'unreadable'
  readonly tip: string
  /** Notes that ours lacked or gave up for theirs. */
  readonly adopted: number
  /** Notes that theirs lacks or holds otherwise. */
  readonly kept: number
  readonly replaced: readonly NoteReplacement[]
  readonly conflicts: readonly NotesConflict[]
  /** Whether the `decide` of the request found its conflict and could settle it. */
  readonly decided: boolean
}

/** Folders of new notes, below the second level, that are looked into; with more, only a forged tree could hide anything there. */
const DEEP_FOLDERS = 64

interface Judged extends Plan {
  readonly folder: Folder
  readonly judged: number
}

/**
 * Opens our tree as far as the comparison asks for it, and judges. Folders in which theirs only added notes are taken as they
 * are, unread, where there are many of them; as soon as anything about the rest is out of the ordinary, everything is read.
 */
const judgeOpen = async (
  repository: Repository,
  request: MergeRequest,
  bases: readonly string[],
  tree: string,
  { open, known }: Comparison,
): Promise<Judged> => {
  const subjects = open.map(difference => difference.subject)
  const judgeWith = async (skip: (path: string) => boolean): Promise<Judged> => {
    const folder = await openNotes(repository, tree, subjects, skip)
    const differences = completeSides(folder, open)
    const verdicts = await judgeNotes(repository, { ...request, bases }, differences)
    return { ...planChanges(request, differences, verdicts), folder, judged: differences.length }
  }
  const isDeep = (path: string): boolean => path.length > 2 && known.has(path)
  if ([...known.keys()].filter(isDeep).length > DEEP_FOLDERS) {
    const quick = await judgeWith(isDeep)
    if (quick.changes.size === open.length && quick.replaced.length === 0) return quick
  }
  return judgeWith(() => false)
}

/**
 * Merges `theirs` into `ours` and moves no ref. At most twelve git processes besides the long-lived object reader, whatever the
 * number of notes; the cost grows with what differs. Throws `notes_failed` when ours is not here.
 */
export const mergeNotes = async (repository: Repository, request: MergeRequest): Promise<NotesMerge> => {
  const { ours, theirs } = request
  const nothing = { adopted: 0, kept: 0, replaced: [], conflicts: [], decided: false } as const
  if (ours === theirs) return { kind: 'current', tip: ours, ...nothing }
  const bases = await mergeBases(repository, ours, theirs)
  const contained = bases.includes(theirs)
  const forward = bases.includes(ours)
  if (contained && !request.thorough) return { kind: 'current', tip: ours, ...nothing }

  const oursCommit = await requireNotesCommit(repository, ours)
  const theirsCommit = await readNotesCommit(repository, theirs)
  if (!theirsCommit) return { kind: 'unreadable', tip: ours, ...nothing }
  const diff = await diffNotes(repository, oursCommit.tree, theirsCommit.tree)
  const union =
    contained || forward ? undefined : await uniteNotes(repository, diff, oursCommit.tree, theirsCommit.tree)
  if (union) {
    const { tree, adopted, kept } = union
    const tip = await commitNotes(repository, request.writer, mergeCommit(tree, oursCommit, theirsCommit, request))
    return tip === undefined
      ? { kind: 'no-identity', tip: ours, ...nothing }
      : { kind: 'merged', tip, ...nothing, adopted, kept }
  }
  const compared = compareNotes(diff, oidDigits(repository))
  const plan = await judgeOpen(repository, request, bases, oursCommit.tree, compared)
  const { changes, decisions, conflicts } = plan
  const report = {
    adopted: changes.size,
    kept: compared.onlyOurs + plan.judged - changes.size,
    replaced: plan.replaced,
    conflicts,
    decided: plan.decided,
  }
  const partial = conflicts.length > 0
  if (forward && report.kept === 0 && !compared.othersOnlyOurs) return { kind: 'forward', tip: theirs, ...report }

  const trees = openTreeStore(repository)
  const edited = editNotes(trees, oidDigits(repository), plan.folder, changes, compared.known)
  const whole = (await addOtherPaths(repository, trees, edited, compared.others)) ?? oursCommit.tree
  if (whole === oursCommit.tree && decisions.length === 0) {
    if (contained) return { kind: 'current', tip: ours, ...report }
    if (partial) return { kind: 'partial', tip: ours, ...report }
  }
  // Of two layouts of the same notes the one of the smaller tip is kept, so that clones do not swap layouts for ever.
  const alike = !compared.othersDiffer && compared.open.length === 0 && compared.onlyOurs === 0
  await trees.flush()
  const tree = alike && theirs < ours ? theirsCommit.tree : whole
  const commit = mergeCommit(tree, oursCommit, theirsCommit, request)
  const plain = !partial && !contained && !forward && decisions.length === 0
  const tip = await commitNotes(
    repository,
    request.writer,
    plain
      ? commit
      : {
          tree,
          parents: partial || contained ? [ours] : forward ? [theirs] : commit.parents,
          message: commitMessage(request, partial, decisions),
          time: Math.floor(request.writer.now().getTime() / 1000),
        },
  )
  if (tip === undefined) return { kind: 'no-identity', tip: ours, ...nothing }
  return { kind: partial ? 'partial' : 'merged', tip, ...report }
}

/** A plain merge must come out the same wherever it is made: sorted parents, the later of their times. */
const mergeCommit = (
  tree: string,
  ourCommit: NotesCommit,
  theirCommit: NotesCommit,
  { ours, theirs }: MergeRequest,
): CommitRequest => ({
  tree,
  parents: [ours, theirs].sort(),
  message: 'Notes merged',
  time: Math.max(ourCommit.time, theirCommit.time),
})

const commitMessage = ({ ref, decide }: MergeRequest, partial: boolean, decisions: readonly string[]): string => {
  if (!decide) return partial ? 'Notes adopted, except conflicts' : 'Notes merged'
  return [
    `Notes decided by 'git discern notes resolve --keep ${decide.keep}'`,
    `${decide.subject}\nagainst ${ref}`,
    ...(decisions.length > 0 ? [decisions.join('\n')] : []),
  ].join('\n\n')
}
