/** What a verb is given and what it is: the part of the command table that the verbs themselves need. */
import type { Context } from '../context.ts'
import type { Result } from '../result.ts'

export interface Flag {
  /** Without the leading dashes. */
  readonly name: string
  readonly short?: string
  /** Name of the value in help, or the words allowed, as `local|remote`; absent for a switch. */
  readonly value?: string
  readonly repeatable?: true
  readonly summary: string
}

export interface Call {
  /** Switches are `true`; values are strings; repeatable flags are lists, possibly empty. */
  readonly flags: Readonly<Record<string, true | string | readonly string[] | undefined>>
  readonly operands: readonly string[]
  /** Standard input, read on demand; only plumbing uses it. */
  readonly stdin: () => Promise<Buffer>
}

export interface CommandModule {
  readonly run: (context: Context, call: Call) => Promise<Result>
}
