/** What a row of the detector table is given and may answer. */

export type KnownJob = 'format' | 'build' | 'lint' | 'typecheck' | 'test' | 'smoke'

export const KNOWN_JOBS: readonly KnownJob[] = ['format', 'build', 'lint', 'typecheck', 'test', 'smoke']

/** The top of a project, read by the caller. */
export interface ProjectFiles {
  readonly has: (name: string) => boolean
  /** The text of a file, or `undefined` when there is none. */
  readonly text: (name: string) => string | undefined
}

export interface DetectedJob {
  readonly run: readonly string[]
  /** Where it was found, for a person: `package.json scripts.lint`. */
  readonly because: string
}

export type DetectedJobs = Readonly<Partial<Record<KnownJob, DetectedJob>>>

export type Found = Partial<Record<KnownJob, readonly [run: string, because: string]>>

export interface Detector {
  /** Any of these makes the row look; the first that is there is given to it. */
  readonly files: readonly string[]
  /** `runner` rows are the project's own entry points and count before the conventions of a language. */
  readonly rank: 'runner' | 'language'
  readonly find: (text: string, file: string, files: ProjectFiles) => Found
}
