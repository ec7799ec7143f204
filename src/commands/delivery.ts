/** `git discern delivery`: one release from its scope to production, as immutable records (facts 15). */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import type { Result } from '../result.ts'
import type { Call } from './call.ts'

interface Action {
  /** Flags of this action alone; each belongs to at least one. */
  readonly flags: readonly string[]
  readonly run: (context: Context, operands: readonly string[], call: Call) => Promise<Result>
}

const EVIDENCE = ['evidence', 'gate', 'rollback', 'run', 'attempt', 'corpus', 'commit', 'generation'] as const

/** Every action is a row. Those that only read are named in the table of verbs too, which decides what the Logbook tells of. */
const ACTIONS: Readonly<Record<string, Action>> = {
  start: {
    flags: ['commit', 'corpus', 'rollback'],
    run: async (context, operands, { flags }) => (await import('./delivery-move.ts')).start(context, operands, flags),
  },
  status: {
    flags: ['all'],
    run: async (context, operands, { flags }) =>
      (await import('./delivery-status.ts')).status(context, operands, flags),
  },
  record: {
    flags: [...EVIDENCE, 'artifact', 'blocker', 'confirmed', 'file'],
    run: async (context, operands, { flags }) =>
      (await import('./delivery-record.ts')).record(context, operands, flags),
  },
  source: {
    flags: ['corpus', 'rollback', 'reason', 'generation'],
    run: async (context, operands, { flags }) => (await import('./delivery-move.ts')).source(context, operands, flags),
  },
  move: {
    flags: ['reason', 'blocker', 'rollback', 'generation'],
    run: async (context, operands, { flags }) => (await import('./delivery-move.ts')).move(context, operands, flags),
  },
  promote: {
    flags: ['generation', 'commit', 'rollback', 'run', 'attempt'],
    run: async (context, operands, { flags }) => (await import('./delivery-move.ts')).promote(context, operands, flags),
  },
  observe: {
    flags: ['run', 'attempt', 'output', 'evidence', 'rollback'],
    run: async (context, [name], call) => (await import('./delivery-observe.ts')).observe(context, call, name),
  },
  verify: {
    flags: ['repository', 'commit', 'run', 'attempt', 'corpus'],
    run: async (context, [file], call) => (await import('./delivery-verify.ts')).verify(context, call, file),
  },
  resolve: {
    flags: ['keep'],
    run: async (context, operands, { flags }) =>
      (await import('./delivery-resolve.ts')).resolve(context, operands, flags),
  },
}

/** Flags that only some actions take. */
const OWN_FLAGS: readonly string[] = [...new Set(Object.values(ACTIONS).flatMap(({ flags }) => flags))]

export const run = async (context: Context, call: Call): Promise<Result> => {
  const [name = 'status', ...operands] = call.operands
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
  const usage = (problem: string, example: string): Refusal =>
    new Refusal('invalid_arguments', { problem: `delivery: ${problem}`, usage: `git discern delivery ${example}` })
  if (!action) {
    const { closestMatch } = await import('leven')
    const near = closestMatch(name, Object.keys(ACTIONS), { maxDistance: 3 })
    const known = Object.keys(ACTIONS).join(', ')
    throw usage(`expected one of ${known}, found ${name}${near ? `; did you mean ${near}?` : ''}`, near ?? 'status')
  }
  for (const flag of OWN_FLAGS) {
    const value = call.flags[flag]
    if (value === undefined || (Array.isArray(value) && value.length === 0) || action.flags.includes(flag)) continue
    const owners = Object.keys(ACTIONS).filter(owner => ACTIONS[owner]?.flags.includes(flag))
    throw usage(`--${flag} belongs to ${owners.join(', ')}`, `${name} -h`)
  }
  return action.run(context, operands, call)
}
