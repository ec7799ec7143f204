/** From verdicts to changes of our tree, replacements, conflicts and decisions. Pure. */
import type { Difference } from './notes-compare.ts'
import { decisionLine, type Verdict } from './notes-judge.ts'

/** Two histories claim different things of one subject, and nobody has decided. */
export interface NotesConflict {
  readonly subject: string
  /** The blobs that stand here and there, by id. More than one on a side: that tree holds the subject twice (case 29). */
  readonly local: readonly string[]
  readonly remote: readonly string[]
  /** Where the other side was read from. */
  readonly ref: string
}

/** A note that the other history has replaced on purpose, on top of the one that stood here. */
export interface NoteReplacement {
  readonly subject: string
  readonly from: string
  readonly to: string
}

interface PlanRequest {
  /** Tip of the other history, and the ref it was read from. */
  readonly theirs: string
  readonly ref: string
  readonly decide?: { readonly subject: string; readonly keep: 'local' | 'remote' }
}

/** What a merge does to our tree, and what it reports. */
export interface Plan {
  readonly changes: ReadonlyMap<string, string>
  readonly replaced: readonly NoteReplacement[]
  readonly conflicts: readonly NotesConflict[]
  readonly decisions: readonly string[]
  readonly decided: boolean
}

/** What the verdicts mean for our tree, with the one decision of the request in place of its conflict. */
export const planChanges = (
  { theirs: theirTip, ref, decide }: PlanRequest,
  differences: readonly Difference[],
  verdicts: readonly Verdict[],
): Plan => {
  const changes = new Map<string, string>()
  const replaced: NoteReplacement[] = []
  const conflicts: NotesConflict[] = []
  const decisions: string[] = []
  let decided = false
  for (const [at, difference] of differences.entries()) {
    const { subject, ours: local, theirs: remote } = difference
    let verdict = verdicts[at]
    if (verdict === 'conflict' && decide?.subject === subject) {
      decided = decide.keep === 'local' ? local.length <= 1 : remote.length === 1
      if (decided) verdict = decide.keep === 'local' ? 'ours' : 'theirs'
      if (verdict === 'ours') decisions.push(decisionLine(difference, theirTip))
    }
    if (verdict === 'conflict') conflicts.push({ subject, local, remote, ref })
    const [to] = remote
    if (verdict !== 'theirs' || to === undefined) continue
    changes.set(subject, to)
    const [from] = local
    if (from !== undefined) replaced.push({ subject, from, to })
  }
  return { changes, replaced, conflicts, decisions, decided }
}
