/**
 * What a command may know of the world around it: time, randomness, environment, directory, terminal. Commands get this and
 * read it nowhere else, so a test can fix every one of them.
 */

/** A message about work that goes on. A renderer shows it; nobody decides anything by it. */
export type ProgressEvent =
  | { readonly kind: 'plan'; readonly labels: readonly string[] }
  | { readonly kind: 'start'; readonly label: string; readonly stage: string; readonly command: string }
  | { readonly kind: 'output'; readonly label: string; readonly bytes: Buffer }
  | {
      readonly kind: 'end'
      readonly label: string
      readonly stage: string
      readonly outcome: 'passed' | 'failed' | 'skipped' | 'cancelled'
      readonly durationMs: number
      /** Said instead of the duration, where nothing ran. */
      readonly note?: string
    }
  | { readonly kind: 'note'; readonly text: string }

export interface Context {
  /** Where the user stands; absolute. Relative operands are resolved from here, also under a git alias (`GIT_PREFIX`). */
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly now: () => Date
  /** A fresh lowercase UUID (facts 8.1). */
  readonly uuid: () => string
  /** Process id and start identity of this process, for lock holders. */
  readonly pid: number
  readonly host: string
  /** Absolute path of the Node executable and of the launcher that git runs, for the hooks that setup writes. */
  readonly node: string
  readonly launcher: string
  readonly version: string
  /** Operating system and processor, for example `linux-x64`. */
  readonly platform: string
  /** Whether messages go to a terminal. */
  readonly terminal: boolean
  readonly signal: AbortSignal
  readonly progress: (event: ProgressEvent) => void
  /** Asks a yes/no question at a terminal; `undefined` when there is none to ask. */
  readonly confirm: ((question: string) => Promise<boolean>) | undefined
  /** Registers something that must be closed before the process may end. */
  readonly defer: (close: () => void | Promise<void>) => void
}
