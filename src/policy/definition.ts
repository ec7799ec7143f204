/** What a `discern.toml` means once it is read: frozen values in the order of the file, every default filled in. */
import type { StandardDefinition } from './standards.ts'

export type Stage = 'fix' | 'build' | 'check' | 'test'

/** The stages in the order they run; `check` and `test` run side by side. */
export const STAGES: readonly Stage[] = ['fix', 'build', 'check', 'test']

/** The part that a job, a scope gate and a generator share. */
export interface Recipe {
  /** Commands for the shell, run one after another; never blank or `:`, and empty only for `discern-preflight`. */
  readonly run: readonly string[]
  /** Seconds; 0 means no limit. The table's own value, else `[gate].timeout`. */
  readonly timeoutS: number
  /** Globs of what the result depends on; `undefined` when the project did not say. */
  readonly inputs: readonly string[] | undefined
  /** Names of jobs that must have passed before this one starts. */
  readonly needs: readonly string[]
  readonly artifacts: readonly string[]
  /** Names of environment variables that the result depends on. */
  readonly environment: readonly string[]
  /** Project-relative paths of tools that the result depends on. */
  readonly toolchain: readonly string[]
  readonly provides: readonly string[]
}

export interface JobDefinition extends Recipe {
  readonly name: string
  readonly stage: Stage
}

export interface ScopeDefinition {
  readonly name: string
  readonly paths: readonly string[]
  /** A neutral scope triggers no gate, whatever it says. */
  readonly neutral: boolean
  readonly gate: Recipe | undefined
}

export interface GeneratedDefinition {
  readonly name: string
  readonly paths: readonly string[]
  /** Without a command the paths are only classified. */
  readonly generator: Recipe | undefined
}

export interface Configuration {
  readonly project: { readonly name: string | undefined; readonly recordLogbook: boolean }
  readonly repository: {
    /** Short branch name, as configured; `undefined` leaves it to detection. */
    readonly trunk: string | undefined
    readonly branchPrefix: string
    readonly proofNotesMode: 'local' | 'fetch'
  }
  readonly gate: {
    readonly failFast: boolean
    readonly timeoutS: number
    readonly concurrentTestRuns: number
    readonly streamOutput: boolean
  }
  readonly acceptance: { readonly preAuthorized: readonly string[] }
  readonly jobs: readonly JobDefinition[]
  readonly scopes: readonly ScopeDefinition[]
  readonly generated: readonly GeneratedDefinition[]
  /** Tables as they stand in the file, checked by whoever owns them. */
  readonly checkpoints: Readonly<Record<string, unknown>>
  readonly standards: Readonly<Record<string, unknown>>
  readonly delivery: Readonly<Record<string, unknown>>
  /** Top-level tables that belong to the public program alone. */
  readonly foreignTables: readonly string[]
  /** Older spellings that were understood, for example `repository.proof_notes`. */
  readonly renamedKeys: readonly { readonly from: string; readonly to: string }[]
  /** The replacements for `${map.dir}` and its like (facts 1.2). */
  readonly references: Readonly<Record<string, string>>
}

/** Requirement id of a generator, by which `needs` and `producer` name it. */
export const generatedId = (name: string): string => `discern-generated-${name}`

/** The job of a plan that a name in `needs` means: its id, or the table it stands in. */
export const neededJob = (plan: readonly PlannedJob[], need: string): PlannedJob | undefined =>
  plan.find(({ id, producer }) => id === need || producer === need)

/** One thing the gate will run. The same plan is shown by `--dry-run` and executed by a real run. */
export interface PlannedJob {
  /** Requirement id: the job's name, `discern-scope-<name>`, `discern-generated-<name>`, `discern-standard-<name>` or `discern-preflight`. */
  readonly id: string
  readonly kind: 'job' | 'scope' | 'generated' | 'standard'
  /** What a person calls it: `lint`, `scope docs`, `generated api`, `standard coverage`. */
  readonly label: string
  /** `scope` gates run after check and test; a `standard` as soon as what it needs has passed. */
  readonly stage: Stage | 'scope' | 'standard'
  /** `jobs.x`, `scopes.x.gate`, `generated.x` or `standards.x` (facts 8.3, `producer`). */
  readonly producer: string
  readonly recipe: Recipe
  /** SHA-256 over the definition (facts 8.3). */
  readonly definition: string
  /** For a generator: the globs of its outputs. */
  readonly outputs: readonly string[]
  /** What is measured, where this is a standard. */
  readonly standard?: StandardDefinition
}
