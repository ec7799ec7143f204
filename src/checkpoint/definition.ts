/** A governing checkpoint, resolved: scope names and references expanded, built-in values merged, question text loaded. */
import type { ChangeKind } from '../change/facts.ts'

export type CheckpointMode = 'stop' | 'advise'

/** The trigger fields as the table in `fields.ts` describes them; an absent optional is `undefined`. */
export interface Trigger {
  /** Globs of `scope` or `paths`; `undefined` is the whole authored change. */
  readonly selectorGlobs: readonly string[] | undefined
  readonly includeGenerated: boolean
  readonly excludePaths: readonly string[]
  readonly kinds: readonly ChangeKind[]
  readonly addsMatching: readonly string[]
  readonly removesMatching: readonly string[]
  readonly newDirectory: boolean
  readonly binary: boolean | undefined
  readonly similarNewFile: boolean
  /** Scope names already expanded to their globs. */
  readonly unlessChanged: readonly string[]
  readonly minChangedFiles: number | undefined
  readonly minChangedLines: number | undefined
  readonly deletionDominant: boolean
  readonly minCommits: number | undefined
  readonly when: string | undefined
}

export interface CheckpointDefinition {
  readonly id: string
  readonly mode: CheckpointMode
  readonly question: string
  readonly questionFile: string | undefined
  readonly teach: string | undefined
  readonly reference: string | undefined
  readonly trigger: Trigger
  /** 64 hexadecimal digits (facts 3.1). */
  readonly hash: string
  /** One line for people: what makes it fire. */
  readonly summary: string
  /** All selector globs are empty: it can be resolved but never fire (facts 1.2). */
  readonly dormant: boolean
}

/** The closed list of ordinary decisions against firing (facts 2.3). */
export type Veto =
  | 'empty_matched_set'
  | 'generated_only'
  | 'excluded_only'
  | 'kinds'
  | 'adds_matching'
  | 'removes_matching'
  | 'new_directory'
  | 'binary'
  | 'unless_changed'
  | 'min_changed_files'
  | 'min_changed_lines'
  | 'deletion_dominant'
  | 'similar_new_file'
  | 'min_commits'
