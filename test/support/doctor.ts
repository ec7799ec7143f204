/** `git discern doctor` in a test: its findings, and the proof that looking changed nothing. */
import assert from 'node:assert/strict'
import type { DiscernOptions, DiscernRun, Scratch } from './scratch.ts'
import { snapshot } from './snapshot.ts'

export interface Found {
  readonly name: string
  readonly tests: string
  readonly verdict: 'ok' | 'warning' | 'failed'
  readonly evidence: string
  readonly next_action?: string
}

export interface Diagnosis {
  readonly run: DiscernRun
  /** Everything that was found about one subject. */
  readonly about: (name: string) => readonly Found[]
  /** `verdict: evidence` of all that is not right. */
  readonly wrong: readonly string[]
}

export const diagnose = async (s: Scratch, cwd: string, options: DiscernOptions = {}): Promise<Diagnosis> => {
  const before = snapshot(s.dir)
  const run = await s.discern(cwd, ['doctor', '--json'], options)
  assert.deepEqual(snapshot(s.dir), before, 'doctor changed something')
  const checks = run.result.data?.['checks'] as readonly Found[]
  for (const { verdict, next_action } of checks) assert.equal(next_action === undefined, verdict === 'ok')
  const failed = checks.filter(({ verdict }) => verdict === 'failed')
  assert.equal(run.exit, failed.length > 0 ? 1 : 0)
  assert.deepEqual(
    run.result.advisories,
    checks
      .filter(({ verdict }) => verdict === 'warning')
      .map(({ evidence, next_action }) => ({ kind: 'doctor-warning', evidence, next_action })),
  )
  return {
    run,
    about: name => checks.filter(check => check.name === name),
    wrong: checks.filter(({ verdict }) => verdict !== 'ok').map(({ verdict, evidence }) => `${verdict}: ${evidence}`),
  }
}
