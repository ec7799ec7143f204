/** Who drives an invocation, as far as a process can tell (facts 12.2). Only names of variables are kept, never a value. */
import type { Context } from '../context.ts'
import { KEYED_SHORT_DIGITS } from '../limits.ts'
import { type Key, keyed } from '../store/digest.ts'
import type { Driver } from './event.ts'

/** By which coding agents show themselves to what they start. */
const AGENT_SIGNALS = [
  'AGENT',
  'AI_AGENT',
  'AIDER',
  'AMP_THREAD_ID',
  'CLAUDECODE',
  'CLINE_ACTIVE',
  'CODEX_SANDBOX',
  'COPILOT_AGENT',
  'CURSOR_AGENT',
  'CURSOR_TRACE_ID',
  'GEMINI_CLI',
  'OPENCODE',
]

/** What names one terminal or one conversation; the first that is set counts. */
const SESSIONS = [
  'DISCERN_SESSION',
  'AMP_THREAD_ID',
  'CURSOR_TRACE_ID',
  'TERM_SESSION_ID',
  'ITERM_SESSION_ID',
  'KITTY_WINDOW_ID',
  'WT_SESSION',
  'TMUX_PANE',
  'STY',
  'SSH_TTY',
]

const isSet = ({ env }: Context, name: string): boolean => env[name] !== undefined && env[name] !== ''

/** Whether an automated build runs this. */
export const isCi = (context: Context): boolean =>
  isSet(context, 'CI') && !['false', '0'].includes((context.env['CI'] ?? '').toLowerCase())

export const driverOf = (context: Context, key: Key | undefined, json: boolean, ci: boolean): Driver => {
  const session = SESSIONS.find(name => isSet(context, name))
  return {
    ...(key && session
      ? {
          session: keyed(key, 'logbook-session-v1', [
            ['name', session],
            ['value', (context.env[session] ?? '').toWellFormed()],
          ]).slice(0, KEYED_SHORT_DIGITS),
        }
      : {}),
    json,
    tty: context.terminal,
    ci: ci || isCi(context),
    agent_signals: AGENT_SIGNALS.filter(name => isSet(context, name)),
  }
}
