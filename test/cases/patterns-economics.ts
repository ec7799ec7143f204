/** What `git discern checkpoints` says of each checkpoint out of the newest events of the Logbook. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { economicsOf } from '../../src/logbook/economics.ts'
import type { DeclarationRecord, LogbookEvent, QuestionRecord } from '../../src/logbook/event.ts'
import { event, keyed, times } from '../support/events.ts'
import { CONFIG, change, project } from '../support/project.ts'
import { type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

const question = (id: string): QuestionRecord => ({ id, definition: keyed('ab'), subject: keyed('cd') })

const answer = (id: string, conclusion: 'met' | 'unmet', elapsed_ms?: number): DeclarationRecord => ({
  ...question(id),
  conclusion,
  revised: false,
  ...(elapsed_ms === undefined ? {} : { elapsed_ms }),
})

const asked = (branch: string, id: string): LogbookEvent => event({ branch, checkpoints: { fired: [question(id)] } })

const answered = (branch: string, ...declared: readonly DeclarationRecord[]): LogbookEvent =>
  event({ branch, checkpoints: { declared } })

const landed = (branch: string, variances: readonly string[]): LogbookEvent =>
  event({
    verb: 'accept',
    branch,
    landing: [
      {
        commit: 'c'.repeat(40),
        trunk: 'main',
        consent: 'conversation',
        variances,
        proposals: 0,
        publication: 'recorded',
      },
    ],
  })

describe('the economics of checkpoints', () => {
  it('count efforts in which one fired, answers, variances, and the time to an answer in the middle', async () => {
    const events = [
      asked('a', 'it'),
      asked('a', 'it'),
      answered('a', answer('it', 'unmet', 60_000)),
      landed('a', ['it']),
      asked('a', 'it'),
      answered('a', answer('it', 'met', 10_000), answer('other', 'met')),
      event({ branch: 'b', checkpoints: { reopened: [question('it')], advise: [{ id: 'advice' }] } }),
      answered('b', answer('it', 'met', 20_000)),
    ]
    assert.deepEqual(await economicsOf(events, 'main'), {
      lines: 8,
      checkpoints: [
        { id: 'advice', fired: 1, met: 0, unmet: 0, varied: 0 },
        { id: 'it', fired: 3, met: 2, unmet: 1, varied: 1, median_answer_ms: 20_000 },
        { id: 'other', fired: 0, met: 1, unmet: 0, varied: 0 },
      ],
    })
  })

  it('leave out CI and copies, as patterns do', async () => {
    const one = answered('a', answer('it', 'met', 1))
    const ci = event({
      driver: { json: true, tty: false, ci: true, agent_signals: [] },
      checkpoints: { declared: [answer('it', 'unmet')] },
    })
    assert.deepEqual(await economicsOf([one, one, ci], 'main'), {
      lines: 3,
      checkpoints: [{ id: 'it', fired: 0, met: 1, unmet: 0, varied: 0, median_answer_ms: 1 }],
    })
  })
})

describe('git discern checkpoints beside a Logbook', () => {
  const governed = (s: Scratch): void => {
    project(s)
    s.write('r/discern.toml', `${CONFIG}[checkpoints.it]\npaths = ["f"]\nquestion = "?"\n`)
    s.commit('r', 'policy')
    change(s, 'r', 'feat', { f: '2\n' })
  }
  const write = (s: Scratch, month: string, events: readonly LogbookEvent[], more = ''): void => {
    const lines = events.map(one => `${JSON.stringify(one)}\n`).join('')
    s.write(`r/.git/discern/logbook/${month}.jsonl`, `${lines}${more}`)
  }

  it('shows what the newest events say of the checkpoints that govern, and writes nothing', async t => {
    const s = scratch(t)
    governed(s)
    write(s, '2026-03', [asked('a', 'it'), answered('a', answer('it', 'met', 240_000)), asked('a', 'gone')], '{"torn\n')
    const before = snapshot(s.path('r'))
    const { data, exit } = await s.discern('r', ['checkpoints', '--json'])
    assert.equal(exit, 0)
    assert.deepEqual(data.economics, {
      lines: 4,
      checkpoints: [{ id: 'it', fired: 1, met: 1, unmet: 0, varied: 0, median_answer_ms: 240_000 }],
    })
    assert.match(
      (await s.discern('r', ['checkpoints'])).out,
      /\n\nin the newest 4 lines of the Logbook\n {2}it {2}fired in 1 effort, declared met 1, unmet 0, landed under a variance 0, answered in 4 min\n\nit: /,
    )
    assert.deepEqual(snapshot(s.path('r')), before)
  })

  it('reads the newest two hundred lines, over months, and not one more', async t => {
    const s = scratch(t)
    governed(s)
    write(s, '2026-03', [answered('a', answer('it', 'unmet')), answered('a', answer('it', 'unmet'))])
    write(
      s,
      '2026-04',
      times(199, () => answered('a', answer('it', 'met'))),
    )
    const { data } = await s.discern('r', ['checkpoints', '--json'])
    assert.deepEqual(data.economics.checkpoints, [{ id: 'it', fired: 0, met: 199, unmet: 1, varied: 0 }])
  })

  it('counts no line that is torn or of another shape, and those around it', async t => {
    const s = scratch(t)
    governed(s)
    const good = answered('a', answer('it', 'met'))
    const lines = [
      { ...good, schema: 2 },
      { ...good, checkpoints: null },
      { ...good, checkpoints: { declared: 'all' } },
      { ...good, checkpoints: { declared: [null] } },
      { ...good, checkpoints: { declared: [{ id: 'it', conclusion: 'maybe' }] } },
      { ...good, checkpoints: { fired: [{ id: 3 }] } },
      { ...good, checkpoints: { fired: {} } },
      { ...good, landing: [{ variances: 'it' }] },
      { ...good, landing: ['it'] },
    ]
    write(s, '2026-03', [good], `${lines.map(one => `${JSON.stringify(one)}\n`).join('')}{"kind":"verb","landing":[\n`)
    const run = await s.discern('r', ['checkpoints', '--json'])
    assert.deepEqual(run.data.economics, {
      lines: 11,
      checkpoints: [{ id: 'it', fired: 0, met: 1, unmet: 0, varied: 0 }],
    })
  })

  it('says nothing without a Logbook, with one that names none of them, or that cannot be read', async t => {
    const s = scratch(t)
    governed(s)
    assert.equal('economics' in (await s.discern('r', ['checkpoints', '--json'])).data, false)
    write(s, '2026-03', [asked('a', 'gone')])
    assert.equal('economics' in (await s.discern('r', ['checkpoints', '--json'])).data, false)
    s.sh('r', 'rm -r .git/discern/logbook && : >.git/discern/logbook')
    const run = await s.discern('r', ['checkpoints', '--json'])
    assert.deepEqual([run.exit, 'economics' in run.data], [0, false])
  })
})
