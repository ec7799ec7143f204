/** What the tests of validation evidence share: a capture of a real checkout, and its manifest made by hand. */
import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { openWorktree } from '../../src/git/repository.ts'
import { type AllowanceLimits, openAllowance } from '../../src/logbook/allowance.ts'
import type { StateEvidence } from '../../src/logbook/event.ts'
import { captureState } from '../../src/logbook/state.ts'
import type { KeyAnswer } from '../../src/store/hmac-key.ts'
import { violations } from '../../src/store/schema.ts'
import { contextFor } from './gate.ts'
import type { Scratch } from './scratch.ts'

/** One key for states of different repositories, so that they can be compared. */
export const KEY_BYTES = Buffer.from('0123456789abcdef0123456789ABCDEF')
export const KEY: KeyAnswer = { known: createSecretKey(KEY_BYTES) }

export interface CaptureOptions {
  readonly key?: KeyAnswer | Promise<KeyAnswer>
  readonly limits?: Partial<AllowanceLimits>
  readonly env?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  readonly clock?: () => number
}

/** The state of a checkout, held against the contract of the Logbook's lines. */
export const captured = async (s: Scratch, cwd: string, options: CaptureOptions = {}): Promise<StateEvidence> => {
  const { key = KEY, limits, env, signal, clock } = options
  const worktree = await openWorktree(contextFor(s.path(cwd), { ...s.env, ...env }))
  const evidence = await captureState(worktree, {
    capture: 'before-test-group',
    allowance: openAllowance({ ...(limits ? { limits } : {}), ...(clock ? { clock } : {}) }),
    key,
    ...(signal ? { signal } : {}),
  })
  assert.deepEqual(violations('discern-logbook', lineWith(evidence)), [], JSON.stringify(evidence))
  return evidence
}

const lineWith = (state: StateEvidence): object => ({
  schema: 1,
  at: '2026-01-01T00:00:00.000Z',
  kind: 'verb',
  verb: 'test',
  surface: 'cli',
  branch: 'main',
  head: null,
  clean: null,
  outcome: 'ok',
  duration_ms: 1,
  epoch: null,
  validation: {
    version: 1,
    state,
    execution: {
      version: 1,
      complete: false,
      mode: 'standalone-test',
      writer: '1',
      jobs: [],
      incomplete: state.incomplete ?? [{ category: 'execution', reason: 'unavailable' }],
    },
  },
})

/** The components in which two states differ. */
export const differing = (one: StateEvidence, other: StateEvidence): readonly string[] =>
  (['head', 'index', 'tracked', 'untracked', 'submodules'] as const).filter(
    name => one.components?.[name] !== other.components?.[name],
  )

/** Runs a script that must succeed. */
export const must = (s: Scratch, cwd: string, script: string): void => {
  const done = s.sh(cwd, `set -e\n${script}`)
  assert.equal(done.exit, 0, `${script}: ${done.err}${done.out}`)
}

export const incompleteOf = (evidence: StateEvidence): readonly string[] =>
  (evidence.incomplete ?? []).map(({ category, reason }) => `${category}/${reason}`)

/** Does something without the rights of the system's owner, who may read everything; nothing else must run meanwhile. */
export const unprivileged = async <T>(work: () => Promise<T>): Promise<T> => {
  const owner = process.geteuid?.() === 0
  if (owner) process.seteuid?.(65534)
  try {
    return await work()
  } finally {
    if (owner) process.seteuid?.(0)
  }
}
