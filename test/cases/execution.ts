/** The conditions of a run as keyed evidence: what moves which digest, what does not, and the limits (facts 12.3 to 12.5). */
import assert from 'node:assert/strict'
import { createHmac, createSecretKey } from 'node:crypto'
import { describe, it } from 'node:test'
import { concludeEnvelope, type ExecutionInput, fits, sealEnvelope } from '../../src/logbook/execution.ts'
import type { PlannedJob } from '../../src/policy/definition.ts'
import { verbEvents } from '../support/book.ts'
import { CONFIG, change, project } from '../support/project.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'

const KEY_BYTES = Buffer.alloc(32, 7)
const KEY = createSecretKey(KEY_BYTES)

const job = (id: string, more: Partial<PlannedJob> & { readonly run?: readonly string[] } = {}): PlannedJob => {
  const { run = ['true'], ...rest } = more
  return {
    id,
    kind: 'job',
    label: id,
    stage: 'test',
    producer: `jobs.${id}`,
    recipe: {
      run,
      timeoutS: 600,
      inputs: undefined,
      needs: [],
      artifacts: [],
      environment: [],
      toolchain: [],
      provides: [],
    },
    definition: '',
    outputs: [],
    ...rest,
  }
}

const input = (...jobs: readonly PlannedJob[]): ExecutionInput => ({
  mode: 'full-gate',
  writer: '1.2.3',
  jobs: jobs.map(planned => ({ planned, willRun: true, concurrentSiblings: jobs.length > 1 })),
})

/** Frames as the specification has them, written anew: length, name, length, value; the domain comes first. */
const hmac = (domain: string, value: string): string => {
  const framed = ['domain', domain, 'value', value].flatMap(text => {
    const bytes = Buffer.from(text)
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    return [length, bytes]
  })
  return createHmac('sha256', KEY_BYTES).update(Buffer.concat(framed)).digest('hex')
}

describe('the envelope of a run', () => {
  it('has the digests that a few independent lines make of the same values', () => {
    const { digests } = sealEnvelope(input(job('unit', { run: ['npm test'] })), KEY, {
      project: { name: 'x' },
      env: { b: 1, a: [true] },
    })
    assert.equal(digests?.config, hmac('validation-config-v1', '{"env":{"a":[true],"b":1},"project":{"name":"x"}}'))
    assert.equal(digests?.setup, hmac('validation-setup-v1', '{"environment":[],"tables":{"env":{"a":[true],"b":1}}}'))
    assert.deepEqual(digests?.jobs, [
      hmac(
        'validation-job-v1',
        '{"command":["npm test"],"kind":"job","label":"unit","stage":"test","timeout":600,"will_run":true}',
      ),
    ])
  })

  it('takes a job from an explicit step only; absence, a skip and a reused pass are no verdict', () => {
    const envelope = sealEnvelope(input(job('a'), job('b'), job('c'), job('d'), job('e')), KEY, {})
    const step = (label: string, outcome: 'ok' | 'failed' | 'skipped' | 'cancelled', disposition: 'run' | 'skip') =>
      ({ kind: 'job', label, group: 'test', outcome, disposition }) as const
    const told = concludeEnvelope(envelope, [
      step('a', 'ok', 'run'),
      step('b', 'failed', 'run'),
      step('c', 'ok', 'skip'),
      step('d', 'cancelled', 'run'),
      { ...step('e', 'ok', 'run'), group: 'check' },
    ])
    assert.deepEqual(
      told.jobs.map(({ id, outcome }) => [id, outcome]),
      [
        ['a', 'passed'],
        ['b', 'failed'],
        ['c', 'skipped'],
        ['d', 'cancelled'],
        ['e', 'unavailable'],
      ],
    )
    assert.equal(told.complete, true)
  })

  it('holds 1,000 jobs and not one more', () => {
    const many = Array.from({ length: 1000 }, (_, at) => job(`j${at}`))
    const full = concludeEnvelope(sealEnvelope(input(...many), KEY, {}), [])
    assert.deepEqual([full.complete, full.jobs.length], [true, 1000])
    const over = concludeEnvelope(sealEnvelope(input(...many, job('more')), KEY, {}), [])
    assert.deepEqual([over.complete, over.incomplete], [false, [{ category: 'execution', reason: 'entry-limit' }]])
    assert.deepEqual([over.jobs, over.config_digest, over.setup_digest], [[], undefined, undefined])
  })

  it('holds 1 MiB of canonical input and not one byte more, which is known before any text of it is made', () => {
    const limit = 1024 * 1024
    const around = JSON.stringify([{ a: '' }, { tables: {}, environment: [] }, []]).length
    for (const [length, complete] of [
      [limit - around, true],
      [limit - around + 1, false],
    ] as const) {
      const told = concludeEnvelope(sealEnvelope(input(), KEY, { a: 'x'.repeat(length) }), [])
      assert.equal(told.complete, complete, String(length))
      if (!complete) assert.deepEqual(told.incomplete, [{ category: 'execution', reason: 'byte-limit' }])
    }
    // What cannot be told apart from endless is left in the middle.
    let looked = 0
    const endless: unknown[] = Array.from({ length: 1_000_000 }, () => 'y'.repeat(10))
    const counting = new Proxy(endless, {
      get: (target, key, receiver) => {
        looked += 1
        return Reflect.get(target, key, receiver)
      },
    })
    assert.equal(fits(counting, 1000), false)
    assert.ok(looked < 1000, `${looked} looks`)
  })
})

describe('the evidence of a run', () => {
  const last = (s: Scratch): Loose => verbEvents(s).at(-1)?.validation

  it('moves with commands, configuration, setup, mode and siblings, each alone, and with nothing else', async t => {
    const s = scratch(t)
    project(s)
    change(s, 'r', 'feat', { g: '1\n' })
    const run = async (config: string, ...args: string[]): Promise<Loose> => {
      s.write('r/discern.toml', config)
      await s.discern('r', args.length > 0 ? args : ['test'])
      return last(s).execution
    }
    const plain = await run(CONFIG)
    assert.deepEqual(await run(CONFIG), plain)
    assert.deepEqual(await run(`# a comment\n${CONFIG}`), plain, 'a comment is no configuration')
    const timed = await run(`${CONFIG}[gate]\ntimeout = 30\n`)
    assert.notEqual(timed.config_digest, plain.config_digest)
    assert.notEqual(timed.jobs[0].definition_digest, plain.jobs[0].definition_digest)
    assert.equal(timed.setup_digest, plain.setup_digest)
    const named = await run(`${CONFIG}[project]\nname = "x"\n`)
    assert.notEqual(named.config_digest, plain.config_digest)
    assert.equal(named.jobs[0].definition_digest, plain.jobs[0].definition_digest)
    const set = await run(`${CONFIG}[worktree]\nsetup = "npm ci"\n`)
    assert.notEqual(set.setup_digest, plain.setup_digest)
    const other = await run(CONFIG.replace('sh check.sh', 'sh ./check.sh'))
    assert.notEqual(other.jobs[0].definition_digest, plain.jobs[0].definition_digest)
    const two = await run(`${CONFIG}second = { run = "true", stage = "test" }\n`)
    assert.deepEqual(
      two.jobs.map(({ id, concurrent_siblings }: Loose) => [id, concurrent_siblings]),
      [
        ['test', true],
        ['second', true],
      ],
    )
    assert.equal(plain.jobs[0].concurrent_siblings, false)
    assert.equal(plain.mode, 'standalone-test')
    s.write('r/discern.toml', CONFIG)
    await s.discern('r', ['done'])
    assert.equal(last(s).execution.mode, 'full-gate')
    assert.deepEqual(last(s).execution.jobs, plain.jobs)
  })

  it('is of the tree that check and test saw, after fix and build rewrote it', async t => {
    const s = scratch(t)
    project(s)
    change(s, 'r', 'feat', { 'discern.toml': CONFIG.replace('[jobs]', '[jobs]\nbuild = "echo built >out"') })
    await s.discern('r', ['done'])
    const built = last(s)
    assert.deepEqual([built.state.complete, built.state.capture], [true, 'after-fix-build'])
    assert.equal(built.state.counts.untracked_paths, 1)
    assert.equal(built.state.bytes.untracked_content, 'built\n'.length)
  })

  it('of a run that never reached its tests looks at no tree', async t => {
    const s = scratch(t)
    project(s)
    change(s, 'r', 'feat', { 'discern.toml': CONFIG.replace('[jobs]', '[jobs]\nbuild = "false"') })
    await s.discern('r', ['done'])
    const { state, execution } = last(s)
    const notReached = [{ category: 'boundary', reason: 'not-reached' }]
    assert.deepEqual([state.complete, state.incomplete, state.digest], [false, notReached, undefined])
    assert.deepEqual(Object.values(state.counts), [0, 0, 0, 0])
    assert.deepEqual([execution.complete, execution.incomplete], [false, notReached])
    assert.deepEqual(
      execution.jobs.map(({ id, outcome }: Loose) => [id, outcome]),
      [['test', 'skipped']],
    )
  })

  it('of a job whose earlier pass stands says skipped, not passed', async t => {
    const s = scratch(t)
    project(s)
    const config = CONFIG.replace('test = "sh check.sh"', 'test = { run = "sh check.sh", inputs = ["check.sh"] }')
    change(s, 'r', 'feat', { 'discern.toml': config })
    await s.discern('r', ['done'])
    assert.equal(last(s).execution.jobs[0].outcome, 'passed')
    s.write('r/other', '1\n')
    s.commit('r', 'unrelated')
    await s.discern('r', ['done'])
    assert.equal(last(s).execution.jobs[0].outcome, 'skipped')
  })
})
