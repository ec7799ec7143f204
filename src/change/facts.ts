/**
 * What is known about a change, collected once and never guessed (facts 2.1, 2.2). A fact that cannot be had is `unavailable` with
 * its reason, which is neither yes nor no. Nothing here depends on attributes, settings or the environment.
 */

/** Why a fact is missing. A closed list; each stands for one limit or one loss. */
export type UnavailableReason =
  | 'unreadable'
  | 'patch_mismatch'
  | 'line_limit'
  | 'line_count'
  | 'file_limit'
  | 'total_bytes'
  | 'comparison_work'
  | 'git_failed'
  | 'output_limit'
  | 'object-missing'
  | 'shallow'

export type Fact<T> = { readonly known: T } | { readonly unavailable: UnavailableReason }

export type ChangeKind = 'added' | 'modified' | 'deleted'

/** One changed path: committed, staged, unstaged and untracked changes together, against the policy commit. */
export interface ChangedFile {
  readonly path: string
  readonly kind: ChangeKind
  readonly insertions: number
  readonly deletions: number
  /** NUL among the first 8,000 bytes of either side; a gitlink or a special file has no answer. */
  readonly binary: Fact<boolean>
}

/** Added and removed lines of one file, as bytes without their line ending. Binary files have none of either. */
export interface ChangedLines {
  readonly added: readonly Buffer[]
  readonly removed: readonly Buffer[]
}

export interface History {
  readonly count: number
  /** SHA-256 over `checkpoint-history/v1` and the ordered ids (facts 2.5). */
  readonly fingerprint: string
}

/** What some definition may need; only that is collected. */
export interface Needs {
  /** Paths whose changed lines are needed, in path order. */
  readonly content: readonly string[]
  readonly history: boolean
  /** Folders of the policy commit whose entries are needed, and folders whose existence is. */
  readonly baseFolders: readonly string[]
  /** Questions whether any file below a folder of the policy commit is admitted; `new_directory` asks them. */
  readonly baseHolds?: readonly FolderQuestion[]
}

/** Two definitions may admit different files of one folder, hence a key for the answer. */
export interface FolderQuestion {
  readonly key: string
  readonly folder: string
  readonly admits: (path: string) => boolean
}

export interface Facts {
  readonly lines: ReadonlyMap<string, Fact<ChangedLines>>
  readonly history: Fact<History>
  /** Names of the files directly in each asked folder of the policy commit; a folder that is not there has none. */
  readonly baseFiles: Fact<ReadonlyMap<string, readonly string[]>>
  /** Answers to `Needs.baseHolds`, by key. */
  readonly baseHolds?: ReadonlyMap<string, Fact<boolean>>
}

/** A relation of a matched path to one that did not change; never counted, never admitted (facts 2.4). */
export interface RelatedPath {
  readonly kind: 'similar_existing'
  readonly forPath: string
  readonly path: string
}

export interface Change {
  /** The policy commit that the change is measured against. */
  readonly base: string
  /** Sorted by code unit of the path. */
  readonly files: readonly ChangedFile[]
}
