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

/** Another installation, whose program only says its version: starting the real one again and again would test the same. */
export const quickProgram = (s: Scratch): { readonly launcher: string } => ({
  launcher: s.write('quick/git-discern', '#!/bin/sh\necho git-discern 1.2.3\n', 0o755),
})

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
