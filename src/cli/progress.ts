/** What runs, how long, and what is left: live on a terminal, plain lines elsewhere. */
import type { ProgressEvent } from '../context.ts'

export interface Progress {
  readonly event: (event: ProgressEvent) => void
  /** Stops drawing and leaves the cursor on a fresh line; may be called often. */
  readonly end: () => void
}

export const progressFor = (
  _look: { readonly terminal: boolean; readonly colour: boolean; readonly quiet: boolean },
  _write: (text: string) => void,
): Progress => ({ event: () => {}, end: () => {} })
