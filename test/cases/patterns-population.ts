/** What is counted of a Logbook, and what is left out of it and why. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { LogbookEvent, VerbEvent } from '../../src/logbook/event.ts'
import { event, evidence, lookAt, minute, red } from '../support/events.ts'

const begin = (): LogbookEvent => {
  const { schema, at, invocation = '', verb, surface, branch, head, epoch } = event()
  const driver = { json: false, tty: true, ci: false, agent_signals: [] }
  return { schema, at, kind: 'begin', invocation, verb, surface, driver, branch, head, epoch }
}

const ci = { json: true, tty: false, ci: true, agent_signals: [] }

const counted = async (
  events: readonly LogbookEvent[],
): Promise<readonly [number, Readonly<Record<string, number>>]> => {
  const { population } = await lookAt(events)
  const out = Object.values(population.left_out).reduce((sum, count) => sum + count, 0)
  assert.equal(population.events, events.length)
  assert.equal(population.counted + out, events.length, 'every event is counted or left out')
  return [population.counted, population.left_out]
}

describe('the population', () => {
  it('is made of verb events alone, without CI and dry runs', async () => {
    const change: LogbookEvent = {
      schema: 1,
      at: minute(0),
      kind: 'config-change',
      branch: 'feat',
      sections: ['jobs'],
      epoch: 'eeeeeeeeeeeeeeee',
    }
    const events = [
      begin(),
      event(),
      change,
      event({ driver: ci }),
      event({ dry_run: true }),
      event({ driver: ci, dry_run: true }),
    ]
    assert.deepEqual(await counted(events), [1, { 'other-kind': 2, ci: 2, 'dry-run': 1 }])
  })

  it('leaves out the branch that git discern was set up on, until it landed', async () => {
    const on = (branch: string | null, more: Partial<VerbEvent> = {}) => event({ branch, ...more })
    const setup = (branch: string | null, more: Partial<VerbEvent> = {}) =>
      on(branch, { verb: 'setup', epoch: null, ...more })
    const landing = {
      commit: 'c'.repeat(40),
      trunk: 'main',
      consent: 'conversation',
      variances: [],
      proposals: 0,
      publication: 'recorded',
    } as const
    assert.deepEqual(await counted([setup('new'), on('new'), red({ branch: 'new' }), on('other')]), [
      1,
      { 'setup-branch': 3 },
    ])
    assert.deepEqual(await counted([on('new', { verb: 'status' }), setup('new'), on('new')]), [
      1,
      { 'setup-branch': 2 },
    ])
    assert.deepEqual(
      await counted([setup('main'), on('main', { verb: 'test' })]),
      [2, {}],
      'the trunk is no such branch',
    )
    assert.deepEqual(await counted([setup(null), on(null)]), [2, {}])
    assert.deepEqual(await counted([on('old'), setup('old'), on('old')]), [3, {}], 'there was work before')
    assert.deepEqual(
      await counted([setup('old', { epoch: 'e'.repeat(16) }), on('old')]),
      [2, {}],
      'it was set up already',
    )
    const landed = on('main', { verb: 'accept', target: 'new', landing: [landing] })
    assert.deepEqual(await counted([setup('new'), on('new'), landed, on('new')]), [2, { 'setup-branch': 2 }])
  })

  it('counts by verb and outcome, over which time, by whom written', async () => {
    const { population } = await lookAt([
      event({ at: minute(5), writer: '2.0.0' }),
      red({ at: minute(3) }),
      event({ at: minute(9), verb: 'accept', outcome: 'partial' }),
      event({ at: minute(7), outcome: 'refused', error: 'dirty_worktree' }),
    ])
    assert.deepEqual(population.verbs, [
      { verb: 'accept', ok: 0, failed: 0, partial: 1, refused: 0 },
      { verb: 'done', ok: 1, failed: 1, partial: 0, refused: 1 },
    ])
    assert.deepEqual([population.from, population.to, population.writers], [minute(3), minute(9), ['1.2.0', '2.0.0']])
  })

  it('counts evidence that may be compared, and why the rest may not', async () => {
    const incomplete = (reasons: readonly ('dirty' | 'path-limit')[]) =>
      evidence({
        state: {
          complete: false,
          digest: undefined,
          incomplete: reasons.map(reason => ({ category: reason === 'dirty' ? 'submodules' : 'untracked', reason })),
        },
        execution: { complete: false, incomplete: [{ category: 'untracked', reason: 'path-limit' }] },
      })
    const { population } = await lookAt([
      event({ validation: evidence() }),
      event({ verb: 'test', validation: evidence() }),
      event({ verb: 'prepare', validation: evidence() }),
      event(),
      event({ validation: incomplete(['path-limit', 'path-limit']) }),
      event({ validation: incomplete(['dirty']) }),
    ])
    assert.deepEqual(population.evidence, {
      comparable: 2,
      not_comparable: { 'no-evidence': 1, 'state-incomplete': 2 },
      incomplete: [
        { category: 'untracked', reason: 'path-limit', count: 2 },
        { category: 'submodules', reason: 'dirty', count: 1 },
      ],
    })
  })

  it('keeps the invocations of a begin line and its end apart, and events without an invocation', async () => {
    const ended = event()
    const begun = { ...begin(), invocation: ended.invocation ?? '' }
    const without = { ...event(), invocation: undefined } as unknown as VerbEvent
    assert.deepEqual(await counted([begun as LogbookEvent, ended]), [1, { 'other-kind': 1 }])
    const { population } = await lookAt([without, without])
    assert.equal(population.counted, 2)
  })

  it('does not count a copy of what is left out twice', async () => {
    const one = event({ driver: ci })
    assert.deepEqual(await counted([one, one, event()]), [1, { ci: 1, duplicate: 1 }])
    assert.deepEqual(await counted([one, { ...one, driver: { ...ci, ci: false } }, event()]), [1, { contradictory: 2 }])
  })
})
