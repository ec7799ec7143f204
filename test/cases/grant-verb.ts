/** `git discern grant`: asked for, shown, taken back; and what a landing makes of it. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { describe, it } from 'node:test'
import { change, project } from '../support/project.ts'
import { scratch } from '../support/scratch.ts'
import { LOGBOOK, snapshot } from '../support/snapshot.ts'

describe('git discern grant', () => {
  it('needs the owner, is shown, stays when asked again, and is taken back', async t => {
    const s = scratch(t)
    project(s)
    const head = change(s, 'r', 'feat/x', { g: '2\n' })
    mkdirSync(s.path('r/.git/discern'), { mode: 0o700 })
    const before = snapshot(s.path('r'))
    const shown = await s.discern('r', ['grant', '--show', '--json'])
    assert.deepEqual([shown.exit, shown.data.granted], [0, false])
    const dry = await s.discern('r', ['grant', '-n', '--json'])
    assert.equal(dry.result.plan?.[0]?.label, 'allow the next landing of feat/x on main')
    assert.equal(dry.result.plan?.[0]?.disposition, 'run')
    assert.deepEqual(snapshot(s.path('r')), before)
    const refused = await s.discern('r', ['grant', '--json'])
    assert.equal(refused.exit, 1)
    assert.equal(refused.result.error, 'awaiting_consent')
    assert.deepEqual(refused.result.hints, ['ask the owner; after a yes: git discern grant --confirmed'])
    assert.deepEqual(snapshot(s.path('r'), LOGBOOK), before, 'nothing was written so far but that it was asked for')
    const given = await s.discern('r', ['grant', '--confirmed', '--json'])
    assert.equal(given.exit, 0)
    const { granted, branch, ahead, grant } = given.data
    assert.deepEqual([granted, branch, given.data.head], [true, 'feat/x', head])
    assert.deepEqual(ahead, { count: 1, newest: [{ oid: head, subject: 'change on feat/x' }] })
    assert.match(given.data.never_covered, /a variance, a proposed limit, a stop .*, and every landing after the next/)
    const again = await s.discern('r', ['grant', '--json'])
    assert.deepEqual([again.exit, again.data.grant], [0, grant], 'nobody is asked for what stands')
    const text = await s.discern('r', ['grant', '--show'])
    assert.match(text.out, /^the next landing of feat\/x on main is allowed, since 2026-01-02T/)
    assert.match(text.out, /a grant never covers a variance/)
    assert.equal((await s.discern('r', ['grant', '--revoke', '-n', '--json'])).result.plan?.[0]?.disposition, 'run')
    const revoked = await s.discern('r', ['grant', '--revoke', '--json'])
    assert.deepEqual([revoked.data.revoked, revoked.data.granted], [true, false])
    assert.equal((await s.discern('r', ['grant', '--revoke'])).out, 'feat/x had no grant\n')
    assert.equal((await s.discern('r', ['grant', '--show', '--json'])).data.granted, false)
  })

  it('shows at the terminal what it is about, escaped, and takes a no for a no', async t => {
    const s = scratch(t)
    project(s)
    change(s, 'r', 'feat', { g: '2\n' })
    s.git('r', 'config', 'log.showSignature', 'true')
    for (let at = 0; at < 11; at += 1) s.git('r', 'commit', '-q', '--allow-empty', '-m', `step ${at} \u001b[31m`)
    const questions: string[] = []
    const ask = (answer: boolean) =>
      s.discern('r', ['grant', '--json'], {
        confirm: async question => {
          questions.push(question)
          return answer
        },
      })
    const no = await ask(false)
    assert.equal(no.result.error, 'awaiting_consent')
    const notes = no.events.flatMap(event => (event.kind === 'note' ? [event.text] : []))
    assert.match(notes[0] ?? '', /^feat at [0-9a-f]{12}: 12 commits that main does not have$/)
    assert.match(notes[1] ?? '', /step 10/)
    assert.equal(notes[11], '  and 2 older')
    assert.match(notes.at(-1) ?? '', /never a variance/)
    assert.deepEqual(questions, ['Allow the next landing of feat on main?'])
    assert.equal((await s.discern('r', ['grant', '--show', '--json'])).data.granted, false)
    const yes = await ask(true)
    assert.equal(yes.data.granted, true)
    const text = await s.discern('r', ['grant'])
    assert.match(text.out, /step 9 \\x1b\[31m\n/)
    assert.doesNotMatch(text.out, /\u001b/)
  })

  it('belongs to one branch, also where its name is odd, and is for a branch of its own alone', async t => {
    const s = scratch(t)
    project(s)
    const odd = `feat/ä'"$(x)@y`
    s.git('r', 'switch', '-q', '-c', odd)
    assert.equal((await s.discern('r', ['grant', '--confirmed', '--json'])).data.ahead.count, 0)
    s.git('r', 'switch', '-q', '-c', 'other')
    assert.equal((await s.discern('r', ['grant', '--show', '--json'])).data.granted, false)
    s.git('r', 'switch', '-q', odd)
    assert.equal((await s.discern('r', ['grant', '--show', '--json'])).data.granted, true)
    s.git('r', 'switch', '-q', 'main')
    for (const args of [['--confirmed'], ['--show'], ['--revoke']]) {
      assert.equal((await s.discern('r', ['grant', ...args, '--json'])).result.error, 'on_trunk', args.join(' '))
    }
    s.git('r', 'switch', '-q', '--detach')
    for (const args of [['--confirmed'], ['--show'], ['--revoke']]) {
      assert.equal((await s.discern('r', ['grant', ...args, '--json'])).result.error, 'detached_head', args.join(' '))
    }
    const both = await s.discern('r', ['grant', '--show', '--confirmed', '--json'])
    assert.deepEqual([both.exit, both.result.error], [2, 'invalid_arguments'])
  })
})
