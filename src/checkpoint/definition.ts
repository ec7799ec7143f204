/** A governing checkpoint, resolved: scope names and references expanded, built-in values merged, question text loaded. */
import type { Review, Trigger } from './fields.ts'

export type CheckpointMode = 'stop' | 'advise'

export type { Trigger }

/** The fields that a person reads have the types of their rows in `fields.ts`. */
export interface CheckpointDefinition extends Review {
  readonly id: string
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
