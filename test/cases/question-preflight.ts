import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { collectChange } from '../../src/change/effort.ts'
import { tryCheckpoints } from '../../src/checkpoint/decide.ts'
import type { DeclarationRequest } from '../../src/checkpoint/declare.ts'
import { governingPolicy } from '../../src/checkpoint/govern.ts'
import { inspect, type Preflight, preflight } from '../../src/checkpoint/preflight.ts'
import { evidenceIdentity } from '../../src/checkpoint/question.ts'
import { Interrupted, Refusal } from '../../src/errors.ts'
import { runCommand } from '../../src/gate/job.ts'
import { oddDuration, running, until } from '../support/gate.ts'
import { openScratch } from '../support/open.ts'
import { scratch } from '../support/scratch.ts'

const POLICY = `

[checkpoints.api]
question = "Is the API still compatible?"
paths = ["src/**"]

[checkpoints.hint]
mode = "advise"
question = "Did you think of the docs?"
paths = ["src/**"]
`

let runs = 0

/** A project on branch `work`, whose trunk has the policy. */
const project = async (t: TestContext, policy = POLICY) => {
  const s = scratch(t)
  const top = s.init('p')
  s.write('p/src/a.ts', 'one\n')
  s.write('p/discern.toml', policy)
  s.commit('p', 'policy')
  s.git('p', 'switch', '-q', '-c', 'work')
  const { context, repository } = await openScratch(t, s, 'p')
  const file = join(repository.gitDir, 'discern/checkpoint-open-questions')
  const trial = async () => {
    const base = s.git('p', 'merge-base', 'main', 'HEAD')
    return tryCheckpoints(
      repository,
      await governingPolicy(repository, base),
      await collectChange(repository, base, { kind: 'worktree' }),
    )
  }
  const position = async () => ({
    worktree: repository,
    branch: s.git('p', 'symbolic-ref', 'HEAD'),
    trial: await trial(),
    current: 'worktree' as const,
  })
  const settle = async (
    request: Partial<DeclarationRequest> = {},
    more: { readonly mode?: 'strict' | 'report'; readonly signal?: AbortSignal } = {},
  ): Promise<Preflight> => {
    const signal = more.signal ?? context.signal
    runs += 1
    const marker = `preflight-${process.pid}-${runs}.1`
    return preflight({
      ...(await position()),
      context: { ...context, signal },
      mode: more.mode ?? 'strict',
      request: { met: [], unmet: [], why: undefined, ...request },
      verb: 'done',
      run: ({ outputBytes, ...call }) =>
        runCommand({
          ...call,
          cwd: top,
          env: s.env,
          marker,
          signal,
          now: context.now,
          overflow: 'stop',
          daemons: 'stop',
          limits: { outputBytes, graceMs: 200, drainMs: 150 },
        }),
    })
  }
  return { s, top, context, repository, file, settle, look: async () => inspect(await position()) }
}

const owed = ({ checkpoints }: Preflight): Readonly<Record<string, string>> =>
  Object.fromEntries(
    checkpoints.map(({ definition, obligation, extra }) => [
      definition.id,
      extra ? `${obligation} ${extra}` : obligation,
    ]),
  )
const lost = ({ drops }: Preflight): readonly string[] =>
  drops.map(({ reason, checkpoint }) => `${checkpoint ?? '*'} ${reason}`)
const refusedWith = (slug: string) => (error: unknown) => error instanceof Refusal && error.slug === slug

describe('a strict run', () => {
  it('asks, takes the answer, and asks again only when what was asked about changes', async t => {
    const { s, file, settle, look } = await project(t)
    s.write('p/src/a.ts', 'two\n')
    assert.deepEqual(owed(await look()), { api: 'will_open', hint: 'none' })
    assert.equal(existsSync(file), false)

    const asked = await settle()
    assert.deepEqual(owed(asked), { api: 'awaiting_declaration', hint: 'none' })
    assert.deepEqual(
      asked.blocking.map(({ definition }) => definition.id),
      ['api'],
    )
    assert.deepEqual(asked.checkpoints[0]?.question?.matchedPaths, ['src/a.ts'])
    assert.deepEqual(
      asked.checkpoints.map(({ transition }) => transition),
      ['opened', undefined],
    )
    assert.deepEqual(Object.keys(JSON.parse(readFileSync(file, 'utf8')).openQuestions), ['api'])

    const declared = await settle({ met: ['api'] })
    assert.deepEqual(owed(declared), { api: 'declared_met', hint: 'none' })
    assert.deepEqual([declared.blocking, declared.declared.length], [[], 1])
    const stored = readFileSync(file, 'utf8')
    assert.deepEqual(owed(await settle({ met: ['api'] })), { api: 'declared_met', hint: 'none' })

    s.write('p/unrelated', 'x')
    s.commit('p', 'work')
    s.git('p', 'commit', '-q', '--allow-empty', '-m', 'more')
    assert.deepEqual(owed(await settle()), { api: 'declared_met', hint: 'none' })
    assert.equal(readFileSync(file, 'utf8'), stored)

    s.write('p/src/a.ts', 'three\n')
    assert.deepEqual(owed(await look()), { api: 'reopened', hint: 'none' })
    const reopened = await settle()
    assert.deepEqual(owed(reopened), { api: 'reopened', hint: 'none' })
    assert.equal(reopened.blocking.length, 1)
    assert.notEqual(readFileSync(file, 'utf8'), stored)

    const unmet = await settle({ unmet: ['api'], why: ' not yet ' })
    assert.deepEqual(owed(unmet), { api: 'declared_unmet variance_required', hint: 'none' })
    assert.equal(unmet.checkpoints[0]?.question?.declaration?.why, 'not yet')
    const question = unmet.checkpoints[0]?.question
    assert.deepEqual(unmet.evidence, { known: evidenceIdentity(question ? [question] : []) })
    assert.deepEqual((await look()).evidence, unmet.evidence)
  })

  it('keeps a question after its trigger vetoes, and reopens it when its own paths change', async t => {
    const { s, settle, look } = await project(
      t,
      POLICY.replace('paths = ["src/**"]\n\n', 'paths = ["src/**"]\nunless_changed = ["docs/**"]\n\n'),
    )
    s.write('p/src/a.ts', 'two\n')
    await settle({ met: ['api'] })
    s.write('p/docs/x', 'why\n')
    const vetoed = await settle()
    assert.deepEqual(vetoed.checkpoints[0]?.decision, { kind: 'vetoed', veto: 'unless_changed' })
    assert.deepEqual([owed(vetoed)['api'], vetoed.checkpoints[0]?.transition], ['declared_met', 'carried'])
    s.write('p/src/a.ts', 'three\n')
    assert.equal(owed(await look())['api'], 'reopened')
    const edited = await settle()
    assert.deepEqual([owed(edited)['api'], edited.checkpoints[0]?.fired], ['reopened', false])
    assert.equal(owed(await settle({ met: ['api'] }))['api'], 'declared_met')
  })

  it('records all of a request or nothing, not even a new question', async t => {
    const { s, file, settle } = await project(t)
    s.write('p/src/a.ts', 'two\n')
    await assert.rejects(settle({ met: ['api', 'hint'] }), (error: unknown) => {
      assert.ok(refusedWith('invalid_value')(error))
      assert.match(String(error), /one of api, found hint/)
      return true
    })
    assert.equal(existsSync(file), false)
  })

  it('keeps the questions of two branches in one worktree apart', async t => {
    const { s, settle, look } = await project(t)
    s.write('p/src/a.ts', 'two\n')
    s.commit('p', 'work')
    await settle({ met: ['api'] })
    s.git('p', 'switch', '-q', '-c', 'other', 'main')
    s.write('p/src/a.ts', 'elsewhere\n')
    assert.equal(owed(await settle())['api'], 'awaiting_declaration')
    s.commit('p', 'other')
    s.git('p', 'switch', '-q', 'work')
    assert.equal(owed(await look())['api'], 'declared_met')
    s.git('p', 'switch', '-q', 'other')
    assert.equal(owed(await look())['api'], 'awaiting_declaration')
  })

  it('leaves a question of which the policy knows nothing any more visible, and never blocks for it', async t => {
    const { s, settle } = await project(t)
    s.write('p/src/a.ts', 'two\n')
    s.commit('p', 'work')
    await settle()
    s.git('p', 'switch', '-q', 'main')
    s.write('p/discern.toml', POLICY.replace('checkpoints.api', 'checkpoints.contract'))
    s.commit('p', 'rename')
    s.git('p', 'switch', '-q', 'work')
    s.git('p', 'merge', '-q', '--no-edit', 'main')
    const settled = await settle({ met: ['contract'] })
    assert.deepEqual(
      settled.ungoverned.map(({ checkpoint }) => checkpoint),
      ['api'],
    )
    assert.deepEqual([settled.blocking, owed(settled)['contract']], [[], 'declared_met'])
  })
})

describe('a checkpoint with a condition', () => {
  const withWhen = (when: string, mode = 'stop'): string =>
    `[checkpoints.api]\nmode = "${mode}"\nquestion = "Is it compatible?"\npaths = ["src/**"]\nwhen = ${JSON.stringify(when)}\n`
  const prepared = async (t: TestContext, when: string, mode?: string) => {
    const made = await project(t, withWhen(when, mode))
    made.s.write('p/src/a.ts', 'two\n')
    made.s.write('p/src/b.ts', 'new\n')
    return made
  }

  it('asks about what it names', async t => {
    const { settle } = await prepared(t, 'grep -q src/b.ts "$DISCERN_CHECKPOINT_INPUT" && echo DISCERN_MATCH src/b.ts')
    const settled = await settle()
    assert.deepEqual(settled.checkpoints[0]?.question?.matchedPaths, ['src/b.ts'])
    assert.deepEqual(settled.checkpoints[0]?.matched, ['src/b.ts'])
  })

  it('asks nothing when it passes', async t => {
    const { file, settle } = await prepared(t, 'exit 10')
    const settled = await settle()
    assert.deepEqual([owed(settled), settled.checkpoints[0]?.fired, lost(settled)], [{ api: 'none' }, false, []])
    assert.equal(existsSync(file), false)
  })

  it('that decides nothing asks about everything as a stop, and only reports as an advice', async t => {
    const stop = await (await prepared(t, 'echo DISCERN_MATCH src/a.ts; exit 1')).settle()
    assert.deepEqual([owed(stop), lost(stop)], [{ api: 'awaiting_declaration' }, ['api when_invalid_exit']])
    assert.deepEqual(stop.checkpoints[0]?.question?.matchedPaths, ['src/a.ts', 'src/b.ts'])
    const advise = await (await prepared(t, 'exit 1', 'advise')).settle()
    assert.deepEqual([owed(advise), advise.blocking, lost(advise)], [{ api: 'none' }, [], ['api when_invalid_exit']])
  })

  it('is pending, and not run, where somebody only looks', async t => {
    const { s, repository, settle, look } = await prepared(t, 'touch ../ran; exit 0')
    assert.deepEqual(owed(await look()), { api: 'unknown when_pending' })
    assert.equal(existsSync(s.path('ran')), false)
    assert.equal(existsSync(join(repository.gitDir, 'discern')), false)
    await settle({ met: ['api'] })
    assert.equal(existsSync(s.path('ran')), true)
    assert.deepEqual(owed(await look()), { api: 'unknown when_pending' })
    s.write('p/src/a.ts', 'three\n')
    assert.deepEqual(owed(await look()), { api: 'reopened' })
  })

  it('case 83: interrupted, it stops everything before anything is written, and leaves no input', async t => {
    const odd = oddDuration(t)
    const { file, repository, settle } = await prepared(t, `sleep ${odd}`)
    const aborter = new AbortController()
    const ended = settle({}, { signal: aborter.signal })
    const rejected = assert.rejects(
      ended,
      (error: unknown) => error instanceof Interrupted && error.signal === 'SIGTERM',
    )
    await until(() => running(odd).length > 0, 'the condition runs')
    aborter.abort(new Interrupted('SIGTERM'))
    await rejected
    assert.deepEqual(readdirSync(join(repository.gitDir, 'discern/when-input')), [])
    assert.equal(existsSync(file), false)
  })
})

describe('when something cannot be had', () => {
  it('a report settles in mind only', async t => {
    const { s, file, settle } = await project(t)
    s.write('p/src/a.ts', 'two\n')
    const reported = await settle({}, { mode: 'report' })
    assert.deepEqual(owed(reported), { api: 'awaiting_declaration', hint: 'none' })
    assert.deepEqual(reported.evidence, { known: evidenceIdentity([]) })
    assert.equal(existsSync(file), false)
    await assert.rejects(settle({ met: ['api'] }, { mode: 'report' }), refusedWith('checkpoint_evidence_unavailable'))
  })

  it('a store of a newer version is kept, and nothing blocks', async t => {
    const { s, file, settle, look } = await project(t)
    s.write('p/src/a.ts', 'two\n')
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, '{"version":2}\n')
    for (const found of [await settle(), await look()]) {
      assert.deepEqual(
        [owed(found)['api'], found.blocking, lost(found)],
        ['unknown store_unavailable', [], ['* open_question_store_unreadable']],
      )
      assert.ok('unavailable' in found.evidence)
    }
    await assert.rejects(settle({ met: ['api'] }), refusedWith('checkpoint_evidence_unavailable'))
    assert.equal(readFileSync(file, 'utf8'), '{"version":2}\n')
  })

  it('a corrupt store is rebuilt by the first question that is asked', async t => {
    const { s, file, settle, look } = await project(t)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, 'garbage')
    const idle = await settle()
    assert.deepEqual([owed(idle)['api'], lost(idle)], ['unknown store_unavailable', ['* open_question_store_corrupt']])
    assert.ok('unavailable' in idle.evidence)
    assert.equal(readFileSync(file, 'utf8'), 'garbage')
    s.write('p/src/a.ts', 'two\n')
    assert.deepEqual(
      [owed(await look())['api'], lost(await look())],
      ['unknown store_unavailable', ['* open_question_store_corrupt']],
    )
    const rebuilt = await settle()
    assert.deepEqual(lost(rebuilt), ['* open_question_store_corrupt', 'api open_question_store_rebuilt'])
    assert.deepEqual([owed(rebuilt)['api'], 'known' in rebuilt.evidence], ['awaiting_declaration', true])
    assert.deepEqual(lost(await settle()), [])
  })

  it('a question that cannot be recorded does not block, one that stands does, and a declaration is refused', async t => {
    const { s, repository, settle } = await project(
      t,
      `${POLICY}\n[checkpoints.docs]\nquestion = "Is it right?"\npaths = ["docs/**"]\n`,
    )
    s.write('p/src/a.ts', 'two\n')
    await settle()
    s.write('p/docs/x', 'new\n')
    const lock = join(repository.gitDir, 'discern/lock')
    rmSync(lock, { recursive: true })
    writeFileSync(lock, '')
    const settled = await settle()
    assert.deepEqual(owed(settled), { api: 'awaiting_declaration', hint: 'none', docs: 'unknown store_unavailable' })
    assert.deepEqual(
      settled.blocking.map(({ definition }) => definition.id),
      ['api'],
    )
    assert.deepEqual(lost(settled), ['docs open_question_store_write_failed'])
    await assert.rejects(settle({ met: ['api'] }), refusedWith('checkpoint_evidence_unavailable'))
  })

  it('a subject that cannot be computed opens nothing, and a standing question can still be answered', async t => {
    const { s, settle, look } = await project(t)
    s.write('p/src/a.ts', 'two\n')
    await settle()
    rmSync(s.path('p/src/a.ts'))
    s.exec('p', 'mkfifo', ['src/a.ts'])
    const settled = await settle({ met: ['api'] })
    assert.deepEqual([owed(settled)['api'], settled.blocking], ['unknown subject_unavailable', []])
    assert.deepEqual(lost(settled), ['api subject_unavailable'])
    assert.equal(settled.checkpoints[0]?.question?.declaration?.conclusion, 'met')
    s.sh('p', 'rm src/a.ts; echo two > src/a.ts')
    assert.equal(owed(await look())['api'], 'declared_met')
  })

  it('a change that cannot be read asks nothing new, and what stands is judged by its own paths', async t => {
    const { s, context, repository, settle } = await project(t)
    s.write('p/src/a.ts', 'two\n')
    await settle({ met: ['api'] })
    const governing = await governingPolicy(repository, s.git('p', 'rev-parse', 'main'))
    const trial = await tryCheckpoints(repository, governing, { status: 'unreadable', reason: 'no disk' })
    const found = await inspect({ worktree: repository, branch: 'refs/heads/work', trial, current: 'worktree' })
    assert.deepEqual(owed(found), { api: 'declared_met', hint: 'none' })
    assert.deepEqual(lost(found), ['api effort_diff_unreadable', 'hint effort_diff_unreadable'])
    const fresh = await inspect({ worktree: repository, branch: 'refs/heads/new', trial, current: 'worktree' })
    assert.deepEqual([owed(fresh)['api'], fresh.blocking], ['unknown diff_unavailable', []])
    assert.ok(context)
  })

  it('a history that cannot be had leaves a question of min_commits as it is', async t => {
    const { s, repository, file, settle } = await project(
      t,
      '[checkpoints.story]\nquestion = "Is it told well?"\nmin_commits = 1\n',
    )
    s.write('p/src/a.ts', 'two\n')
    s.commit('p', 'work')
    assert.equal(owed(await settle({ met: ['story'] }))['story'], 'declared_met')
    s.git('p', 'commit', '-q', '--amend', '-m', 'other words')
    assert.equal(owed(await settle())['story'], 'reopened')
    const stored = readFileSync(file, 'utf8')
    writeFileSync(join(repository.gitDir, 'shallow'), `${s.git('p', 'rev-parse', 'main')}\n`)
    const settled = await settle()
    assert.deepEqual([owed(settled)['story'], settled.blocking], ['unknown subject_unavailable', []])
    assert.deepEqual(lost(settled), ['story trigger_history_unavailable'])
    assert.equal(readFileSync(file, 'utf8'), stored)
  })
})
