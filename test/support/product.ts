/** A delivery on its way, made with the verbs a person types. */
import assert from 'node:assert/strict'
import { CONFIG, change, land, project } from './project.ts'
import type { DiscernRun, Scratch } from './scratch.ts'

export const DELIVERY = `
[delivery]
repository = "example.org/product"
protected_environments = ["production"]

[delivery.templates.CP3]
rollback = "nothing is out yet"
`

/** The arguments that record each stage of a product `r`; every part that is not computed is given. */
export const STAGE_ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  CP0: ['owner=Ada', 'authority=release manager', 'scope=the new g', 'rollback-boundary=the last tag'],
  CP1: [
    'decisions=git:HEAD:discern.toml',
    'contracts=git:HEAD:g',
    'threat-boundary=none',
    'compatibility-plan=the same',
  ],
  CP2: [],
  CP3: ['lint=gate:test', 'types=gate:test', 'tests=gate:*', 'builds=file:g', 'previews=file:g'],
  CP4: [
    'cross-product=file:g',
    'security=file:g',
    'hosts=file:g',
    'provenance=git:HEAD',
    'signing=nothing is signed',
    'performance=file:g',
  ],
  CP5: ['source-provenance=built by hand', `candidate-url=https://example.org/c#sha256:${'c'.repeat(64)}`],
  CP6: ['owner=Ada', 'decision=ship it'],
}

/** A product whose change has landed with its Proof, in `r`, on its trunk. */
export const product = async (s: Scratch, more = ''): Promise<string> => {
  project(s)
  s.write('r/discern.toml', `${CONFIG}${DELIVERY}${more}`)
  s.commit('r', 'policy')
  change(s, 'r', 'feat', { g: '1\n' })
  const commit = await land(s, 'r')
  s.git('r', 'switch', '-q', 'main')
  return commit
}

/** Runs one delivery verb with `--json`. */
export const delivery = (s: Scratch, cwd: string, ...args: readonly string[]): Promise<DiscernRun> =>
  s.discern(cwd, ['delivery', ...args, '--json'])

/** Records one stage of `r1`, which must succeed unless more arguments spoil it. */
export const record = (s: Scratch, cwd: string, stage: string, ...more: readonly string[]): Promise<DiscernRun> => {
  const evidence = (STAGE_ARGUMENTS[stage] ?? []).flatMap(one => ['--evidence', one])
  const own = stage === 'CP5' ? ['--artifact', 'g'] : stage === 'CP6' ? ['--confirmed'] : []
  return delivery(s, cwd, 'record', stage, 'r1', ...evidence, ...own, '--rollback', `undo ${stage}`, ...more)
}

/** Starts `r1` and records every stage up to this one. */
export const upTo = async (s: Scratch, last: string, cwd = 'r'): Promise<DiscernRun> => {
  let run = await delivery(s, cwd, 'start', 'r1')
  assert.equal(run.result.ok, true, run.out)
  for (const stage of Object.keys(STAGE_ARGUMENTS)) {
    run = await record(s, cwd, stage)
    assert.equal(run.result.ok, true, run.out)
    if (stage === last) break
  }
  return run
}

export const REF = 'refs/discern/delivery/r1'
