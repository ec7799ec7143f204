/**
 * What the Logbook may hold (facts 12.2, 12.3): metadata of what a verb did, never content, paths, commands or values. Whoever
 * obtains a line must not be able to test a guess against it, so whatever is derived from content is a keyed digest.
 */

import type { Slug } from '../errors.ts'
import type { JobOutcome } from '../gate/outcome.ts'
import type { PlannedJob } from '../policy/definition.ts'

/** The major version of a line; a reader skips a newer one and counts it as foreign. */
export const EVENT_SCHEMA = 1

/** A keyed digest: HMAC-SHA-256 under the key of this repository and a domain word, 64 hexadecimal digits. */
export type Keyed = string

interface Base {
  readonly schema: typeof EVENT_SCHEMA
  /** When the line was written: UTC, `2026-11-30T21:05:00.000Z`. */
  readonly at: string
  /** Version of the program that wrote the line. */
  readonly writer?: string
}

/** Who was at the keyboard, as far as the process can tell. No value of the environment is kept. */
export interface Driver {
  /** Keyed digest (first 16 digits) of what names the terminal or agent session; absent where nothing does. */
  readonly session?: string
  readonly json: boolean
  readonly tty: boolean
  readonly ci: boolean
  /** Names of the environment variables by which agents show themselves. */
  readonly agent_signals: readonly string[]
  readonly mcp_client?: string
  readonly spawned_by?: string
}

interface Invocation extends Base {
  readonly verb: string
  readonly surface: 'cli' | 'mcp'
  /** Short name; `null` detached or unborn. */
  readonly branch: string | null
  readonly head: string | null
  /** Keyed fingerprint (16 digits) of the configuration with the limits of standards masked. */
  readonly epoch: string | null
}

export interface BeginEvent extends Invocation {
  readonly kind: 'begin'
  readonly invocation: string
  readonly driver: Driver
}

export type Outcome = 'ok' | 'failed' | 'partial' | 'refused'

export interface StepRecord {
  readonly label: string
  readonly kind: string
  readonly outcome: string
  readonly disposition: string
  readonly group?: string
  readonly duration_s?: number
  readonly error_like_lines?: number
}

/** One question in an event: which checkpoint, and keyed digests of its definition and of what it is about. */
export interface QuestionRecord {
  readonly id: string
  readonly definition: Keyed
  readonly subject: Keyed
}

export interface DeclarationRecord extends QuestionRecord {
  readonly conclusion: 'met' | 'unmet'
  /** This same invocation opened the question again first. */
  readonly revised: boolean
  /** From the moment the question was opened. */
  readonly elapsed_ms?: number
}

export interface CheckpointsRecord {
  readonly fired?: readonly QuestionRecord[]
  readonly reopened?: readonly QuestionRecord[]
  readonly advise?: readonly { readonly id: string }[]
  readonly declared?: readonly DeclarationRecord[]
}

export interface StandardRecord {
  readonly name: string
  readonly direction: 'up' | 'down'
  readonly limit: number
  /** Absent when it could not be measured. */
  readonly reading?: number
  readonly verdict: 'improved' | 'held' | 'breached' | 'failed'
}

/** What a landing did; counts and ids only. */
export interface LandingRecord {
  readonly commit: string
  readonly trunk: string
  readonly consent: 'conversation' | 'standing-grant' | 'effort-grant'
  /** Checkpoints that landed under a variance. */
  readonly variances: readonly string[]
  readonly proposals: number
  readonly publication: string
}

export interface VerbEvent extends Invocation {
  readonly kind: 'verb'
  readonly invocation?: string
  readonly driver?: Driver
  /** Whether the work tree was clean; `null` when the verb did not look. */
  readonly clean: boolean | null
  readonly outcome: Outcome
  readonly error?: Slug | string
  readonly failed_stage?: string
  /** Our own defect ended it. */
  readonly crash?: true
  readonly dry_run?: true
  readonly duration_ms: number
  /** Spent waiting for another worktree's tests. */
  readonly waited_ms?: number
  readonly gate_ran?: boolean
  /** Branch that the verb was pointed at, where that is not the current one. */
  readonly target?: string
  /** Names of the flags that were given, without values. */
  readonly flags?: readonly string[]
  readonly has_operands?: true
  readonly change?: {
    readonly files: number
    readonly insertions: number
    readonly deletions: number
    readonly commits?: number
  }
  readonly scopes?: readonly string[]
  readonly steps?: readonly StepRecord[]
  /** How many findings each tool had; no path and no message. */
  readonly diagnostics?: readonly { readonly tool: string; readonly rule?: string; readonly count: number }[]
  readonly standards?: readonly StandardRecord[]
  readonly update?: { readonly mode: 'merge' | 'rebase'; readonly moved: boolean; readonly conflict: boolean }
  readonly landing?: readonly LandingRecord[]
  readonly checkpoints?: CheckpointsRecord
  readonly validation?: Validation
}

export interface ConfigChangeEvent extends Base {
  readonly kind: 'config-change'
  readonly branch: string
  /** Top-level tables that differ from what this branch had before. */
  readonly sections: readonly string[]
  readonly epoch: string
}

export interface PinEvent extends Base {
  readonly kind: 'pin'
  readonly branch: string
  readonly standard: string
  readonly from: number
  readonly to: number
  readonly measured: number
}

/** What a month file that was dropped had held. */
export interface PruneRecord {
  readonly file: string
  readonly events: number
  readonly ok?: number
  readonly failed?: number
  readonly partial?: number
  readonly refused?: number
  readonly by_verb?: Readonly<Record<string, number>>
  readonly unparsed?: number
}

export interface PruneEvent extends Base {
  readonly kind: 'prune'
  readonly removed: readonly PruneRecord[]
}

export type LogbookEvent = BeginEvent | VerbEvent | ConfigChangeEvent | PinEvent | PruneEvent

/* The `validation` record, version 1 (facts 12.3). */

export const VALIDATION_VERSION = 1

/** When a state was captured. */
export type CaptureBoundary = 'after-fix-build' | 'before-test-group'

export type IncompleteCategory =
  | 'boundary'
  | 'key'
  | 'head'
  | 'index'
  | 'tracked'
  | 'untracked'
  | 'submodules'
  | 'execution'
  | 'budget'
  | 'internal'

export type IncompleteReason =
  | 'not-reached'
  | 'unavailable'
  | 'unreadable'
  | 'invalid'
  | 'path-limit'
  | 'entry-limit'
  | 'byte-limit'
  | 'time-limit'
  | 'dirty'

/** Why evidence proves nothing: a category and a reason, never a path. */
export interface Incomplete {
  readonly category: IncompleteCategory
  readonly reason: IncompleteReason
}

/** Dimensions that no state records; equal digests say nothing about them. */
export const EXCLUSIONS = [
  'ignored-files',
  'external-services',
  'clocks',
  'random-seeds',
  'runtime-environment',
  'concurrent-external-processes',
] as const

export const STATE_COMPONENTS = ['head', 'index', 'tracked', 'untracked', 'submodules'] as const

export interface StateEvidence {
  readonly version: typeof VALIDATION_VERSION
  readonly complete: boolean
  readonly capture: CaptureBoundary
  readonly elapsed_ms: number
  /** Over all components; only when complete. */
  readonly digest?: Keyed
  /** The components that could be had. */
  readonly components?: { readonly [C in (typeof STATE_COMPONENTS)[number]]?: Keyed }
  readonly counts: {
    readonly index_entries: number
    readonly tracked_paths: number
    readonly untracked_paths: number
    readonly submodules: number
  }
  readonly bytes: {
    readonly index_manifest: number
    readonly tracked_content: number
    readonly untracked_content: number
    readonly git_output?: number
  }
  /** Not empty exactly when the state is incomplete. */
  readonly incomplete?: readonly Incomplete[]
  readonly exclusions: readonly (typeof EXCLUSIONS)[number][]
}

export type ExecutionMode = 'full-gate' | 'standalone-test'

export interface ExecutionJob {
  readonly id: string
  readonly stage: PlannedJob['stage']
  readonly kind: PlannedJob['kind']
  readonly definition_digest?: Keyed
  readonly outcome: JobOutcome
  /** Whether other jobs of its group could run at the same time. */
  readonly concurrent_siblings: boolean
}

export interface ExecutionEvidence {
  readonly version: typeof VALIDATION_VERSION
  readonly complete: boolean
  readonly mode: ExecutionMode
  readonly writer: string
  readonly config_digest?: Keyed
  readonly setup_digest?: Keyed
  readonly jobs: readonly ExecutionJob[]
  readonly incomplete?: readonly Incomplete[]
}

export interface Validation {
  readonly version: typeof VALIDATION_VERSION
  readonly state: StateEvidence
  readonly execution: ExecutionEvidence
}
