/**
 * The one envelope every verb answers with (facts 7.8). `--json` prints exactly this value, so nothing that only a person
 * needs belongs here, and nothing that a program needs may live elsewhere.
 */
import type { Slug } from './errors.ts'

export type StepKind =
  | 'job'
  | 'scope-gate'
  | 'merge-check'
  | 'checkout-clean-check'
  | 'git'
  | 'setup-step'
  | 'refresh'
  | 'standard'

export type StepOutcome = 'ok' | 'failed' | 'skipped' | 'cancelled'

/** One thing a verb did (`steps`) or would do (`plan`). Durations are seconds; paths are absolute. */
export interface Step {
  readonly kind: StepKind
  readonly label: string
  readonly disposition: 'run' | 'skip' | 'gate'
  readonly note?: string
  readonly group?: string
  readonly outcome?: StepOutcome
  readonly advisory?: boolean
  readonly duration_s?: number
  readonly output_path?: string
  readonly output_lines?: number
  readonly error_like_lines?: number
}

/** A finding of one of the project's own tools, with the command that shows it again. */
export interface Diagnostic {
  readonly tool: string
  readonly severity: 'error' | 'warning'
  readonly message: string
  readonly reproduce_cmd: string
  readonly output?: string
  readonly truncated?: boolean
  readonly output_path?: string
  readonly file?: string
  readonly line?: number
  readonly col?: number
  readonly rule?: string
  readonly fix_available?: boolean
}

/** The closed vocabulary of facts 7.9, as far as a verb here can raise it, and our own. */
export type AdvisoryKind =
  | 'acceptance-cleanup-incomplete'
  | 'checkpoint-evidence-dropped'
  | 'checkpoint-base-behind'
  | 'doctor-warning'
  | 'landing-authority-unverified'
  | 'proof-recording-unavailable'
  | 'config-foreign-table'
  | 'config-renamed-key'
  | 'hooks-unavailable'
  | 'note-not-evidence'
  | 'notes-restored'
  | 'notes-conflict'
  | 'notes-unmerged'
  | 'notes-mapping-forced'
  | 'notes-mapping-failed'
  | 'gate-output-incomplete'
  | 'gate-process-alive'
  | 'trunk-checkout-behind'
  | 'standards-limits-unverified'
  | 'trunk-behind-remote'

/** Something true that is not a failure: what was seen, and what to do about it. */
export interface Advisory {
  readonly kind: AdvisoryKind
  readonly evidence: string
  readonly next_action: string
}

/** `error` and `ok: true` never meet; every failure carries at least one hint. */
export interface Result<Data = unknown> {
  readonly ok: boolean
  readonly verb: string
  readonly dry_run?: true
  readonly plan?: readonly Step[]
  readonly steps?: readonly Step[]
  readonly diagnostics?: readonly Diagnostic[]
  readonly data?: Data
  readonly advisories?: readonly Advisory[]
  readonly hints?: readonly string[]
  readonly error?: Slug
  readonly message?: string
  readonly waited_ms?: number
}
