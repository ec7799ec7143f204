/** Checkpoints through the verbs: policy on the trunk, a question before the gate, a conclusion on record, an interlock at the end. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { bundle, CONFIG, change, land, meddlingGit, project } from '../support/project.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'

const POLICY = `
[checkpoints.rollback-path]
paths = ["migrations/**"]
question = "Is the rollback path stated?"
teach = "docs/rollback.md"
`

/** A project whose trunk has the policy, and a branch that changes a migration. */
const asked = (
  s: Scratch,
  policy = POLICY,
  files: Readonly<Record<string, string>> = { 'migrations/1.sql': 'create;\n' },
): void => {
  project(s)
  s.write('r/check.sh', 'echo ran >>../ran\n')
  s.write('r/discern.toml', `${CONFIG}${policy}`)
  s.commit('r', 'policy')
  change(s, 'r', 'feat', files)
}

const json = (s: Scratch, ...args: string[]) => s.discern('r', [...args, '--json'])
const obligations = (data: Loose): Loose =>
  Object.fromEntries(data.checkpoints.map(({ id, obligation }: { id: string; obligation: string }) => [id, obligation]))
const ran = (s: Scratch): number => s.sh('.', 'cat ran 2>/dev/null | wc -l').out.trim() as unknown as number

describe('a question before the gate', () => {
  it('is that of the commit that is checked out when git has looked, not when it began to', async t => {
    const s = scratch(t)
    asked(s, POLICY, { g: '1' })
    s.write('r/migrations/2.sql', 'late\n')
    s.git('r', 'add', '.')
    const env = meddlingGit(s, 'status*', `git -C '${s.path('r')}' commit -q -m late`)
    const { data } = await s.discern('r', ['checkpoints', '--json'], { env })
    assert.deepEqual(obligations(data), { 'rollback-path': 'will_open' })
    assert.deepEqual(data.checkpoints[0].preview.matched, ['migrations/2.sql'])
  })

  it('is previewed by every read surface, which writes nothing', async t => {
    const s = scratch(t)
    asked(s)
    const snapshot = () => s.sh('r', 'find . -printf "%p %T@ %s %m\\n" | sort').out
    const before = snapshot()
    for (const args of [['checkpoints'], ['status'], ['done', '--dry-run'], ['evaluate']]) {
      const run = await json(s, ...args)
      assert.equal(run.exit, 0, run.out)
      const listed = run.data.checkpoints ?? run.data.questions
      assert.deepEqual(
        listed.map(({ id, obligation }: { id: string; obligation: string }) => [id, obligation]),
        [['rollback-path', 'will_open']],
        args.join(' '),
      )
    }
    assert.equal(snapshot(), before)
    const { checkpoints, policy } = (await json(s, 'checkpoints')).data
    assert.equal(policy, s.git('r', 'rev-parse', 'main'))
    assert.deepEqual(checkpoints[0], {
      id: 'rollback-path',
      mode: 'stop',
      question: 'Is the rollback path stated?',
      teach: 'docs/rollback.md',
      trigger: 'changes in migrations/**',
      obligation: 'will_open',
      fired: true,
      preview: { holds: true, matched: ['migrations/1.sql'] },
    })
  })

  it('stops done before any job, names everything needed, and opens once', async t => {
    const s = scratch(t)
    asked(s)
    const refused = await json(s, 'done')
    assert.equal(refused.result.error, 'awaiting_declaration')
    assert.equal(refused.data.gate_ran, false)
    assert.deepEqual(refused.result.hints, [
      'git discern done --met rollback-path',
      'git discern done --unmet rollback-path --why "<reason>"',
    ])
    assert.equal(ran(s), '0')
    const text = await s.discern('r', ['done'])
    assert.match(text.out, /Is the rollback path stated\?/)
    assert.match(text.out, /about +migrations\/1\.sql/)
    assert.match(text.out, /know +docs\/rollback\.md/)
    const store = s.read('r/.git/discern/checkpoint-open-questions')
    await json(s, 'done')
    assert.equal(
      s.read('r/.git/discern/checkpoint-open-questions'),
      store,
      'the same question is carried, not written again',
    )
  })

  it('is answered in the same run that proves, and the answer is kept until what it is about changes', async t => {
    const s = scratch(t)
    asked(s)
    await json(s, 'done')
    const met = await json(s, 'done', '--met', 'rollback-path')
    assert.equal(met.result.ok, true, met.out)
    assert.equal(ran(s), '1')
    assert.deepEqual(obligations(met.data), { 'rollback-path': 'declared_met' })
    assert.equal((await json(s, 'done')).data.gate_ran, false, 'a current Proof is reused')
    s.write('r/unrelated', 'x')
    s.git('r', 'add', '-A')
    s.git('r', 'commit', '-q', '--amend', '--no-edit')
    const amended = await json(s, 'done')
    assert.equal(amended.result.ok, true, 'an unrelated amend keeps the answer')
    s.write('r/migrations/1.sql', 'create; drop;\n')
    s.commit('r', 'edit the migration')
    const again = await json(s, 'done')
    assert.equal(again.result.error, 'awaiting_declaration')
    assert.deepEqual(obligations(again.data), { 'rollback-path': 'reopened' })
  })

  it('declared unmet lets the gate run and stops the landing with the exact variance command', async t => {
    const s = scratch(t)
    asked(s)
    await json(s, 'done')
    const unmet = await json(s, 'done', '--unmet', 'rollback-path', '--why', '  cannot be rolled `back`  ')
    assert.equal(unmet.result.ok, true, unmet.out)
    const [checkpoint] = unmet.data.checkpoints
    assert.equal(checkpoint.open_question.declaration.why, 'cannot be rolled `back`')
    assert.equal(checkpoint.open_question.variance_required, true)
    const trunk = s.git('r', 'rev-parse', 'main')
    const refused = await json(s, 'accept', '--confirmed')
    assert.equal(refused.result.error, 'awaiting_variance')
    assert.match(String(refused.result.hints), /git discern accept --confirmed --variance rollback-path/)
    assert.equal(s.git('r', 'rev-parse', 'main'), trunk)
    const { proof } = JSON.parse(s.read('r/.git/discern/gate-proof'))
    assert.match(proof.line, /1 declared unmet, owner variance required/)
    assert.match(proof.markdown, /### `rollback-path`: declared unmet\n/)
    assert.match(proof.markdown, /- Why: `` cannot be rolled `back` ``/)
    assert.doesNotMatch(proof.markdown, /rollback-path.*(passed|verified)/)
    await json(s, 'done', '--met', 'rollback-path')
    assert.equal((await json(s, 'accept', '--confirmed')).result.ok, true)
  })

  it('makes a Proof stale at an unchanged HEAD when the declaration changes', async t => {
    const s = scratch(t)
    asked(s)
    await json(s, 'done')
    await json(s, 'done', '--met', 'rollback-path')
    s.write('r/check.sh', 'false\n')
    const marker = s.read('r/.git/discern/gate-proof')
    s.git('r', 'checkout', '-q', 'check.sh')
    await json(s, 'done', '--unmet', 'rollback-path', '--why', 'second thoughts')
    s.write('r/.git/discern/gate-proof', marker)
    const status = await json(s, 'status')
    assert.equal(status.data.marker.status, 'stale')
    assert.match(status.data.marker.explanation, /declaration changed/)
  })

  it('takes a declaration request whole or not at all', async t => {
    const s = scratch(t)
    asked(s)
    await json(s, 'done')
    const store = s.read('r/.git/discern/checkpoint-open-questions')
    const rows: readonly (readonly string[])[] = [
      ['--met', 'unknown'],
      ['--met', 'rollback-path', '--met', 'rollback-path'],
      ['--met', 'rollback-path', '--unmet', 'rollback-path', '--why', 'x'],
      ['--unmet', 'rollback-path'],
      ['--unmet', 'rollback-path', '--why', 'two\nparagraphs'],
      ['--unmet', 'rollback-path', '--why', 'x'.repeat(501)],
      ['--met', 'rollback-path', '--why', 'x'],
    ]
    for (const args of rows) {
      const refused = await json(s, 'done', ...args)
      assert.equal(refused.result.error, 'invalid_value', `${args.join(' ')}: ${refused.out}`)
      assert.equal(s.read('r/.git/discern/checkpoint-open-questions'), store)
      assert.equal(ran(s), '0')
    }
  })

  it('cannot be switched off by the branch, its configuration or its attributes', async t => {
    const s = scratch(t)
    project(s)
    s.write('r/discern.toml', `${CONFIG}\n[checkpoints.no-eval]\nadds_matching = ["eval("]\nquestion = "Why eval?"\n`)
    s.commit('r', 'policy')
    change(s, 'r', 'feat', {
      'discern.toml': CONFIG,
      '.gitattributes': '*.ts -diff\n* binary\n',
      's.ts': 'eval(x)\n',
    })
    const refused = await json(s, 'done')
    assert.equal(refused.result.error, 'awaiting_declaration', refused.out)
    assert.deepEqual(refused.data.checkpoints[0].preview.matched, ['s.ts'])
  })

  it('belongs to its branch: another branch of the same worktree has its own', async t => {
    const s = scratch(t)
    asked(s)
    await json(s, 'done')
    await json(s, 'done', '--met', 'rollback-path')
    s.git('r', 'switch', '-q', '-c', 'other', 'main')
    s.write('r/migrations/2.sql', 'x\n')
    s.commit('r', 'other')
    assert.deepEqual(obligations((await json(s, 'done')).data), { 'rollback-path': 'awaiting_declaration' })
    s.git('r', 'switch', '-q', 'feat')
    assert.deepEqual(obligations((await json(s, 'checkpoints')).data), { 'rollback-path': 'declared_met' })
  })

  it('stays visible as history and blocks nothing when the policy no longer asks it', async t => {
    const s = scratch(t)
    asked(s)
    await json(s, 'done')
    s.git('r', 'switch', '-q', 'main')
    s.write('r/discern.toml', CONFIG)
    s.commit('r', 'drop the policy')
    s.git('r', 'switch', '-q', 'feat')
    s.git('r', 'merge', '-q', '--no-edit', 'main')
    const done = await json(s, 'done')
    assert.equal(done.result.ok, true, done.out)
    assert.deepEqual(
      done.data.ungoverned.map(({ id }: { id: string }) => id),
      ['rollback-path'],
    )
  })
})

describe('relevance', () => {
  it('20 unrelated edits and 20 unrelated trunk advances leave a conclusion current; what it is about reopens it', async t => {
    const s = scratch(t)
    asked(s)
    await json(s, 'done')
    await json(s, 'done', '--met', 'rollback-path')
    const state = async () => obligations((await json(s, 'checkpoints')).data)['rollback-path']
    for (let at = 0; at < 20; at += 1) {
      s.write(`r/unrelated-${at}`, `${at}`)
      s.git('r', 'add', '-A')
      s.git('r', 'commit', '-q', '-m', `unrelated ${at}`)
      const tip = s.git('r', 'commit-tree', 'main^{tree}', '-p', 'main', '-m', `trunk ${at}`)
      s.git('r', 'update-ref', 'refs/heads/main', tip)
    }
    assert.equal(await state(), 'declared_met', 'the branch lags, and only its own change counts')
    s.git('r', 'merge', '-q', '--no-edit', 'main')
    assert.equal(await state(), 'declared_met')
    s.write('r/migrations/1.sql', 'create;!\n')
    assert.equal(await state(), 'reopened', 'one byte')
    s.git('r', 'checkout', '-q', 'migrations/1.sql')
    assert.equal(await state(), 'declared_met', 'the same content again')
    s.sh('r', 'chmod +x migrations/1.sql')
    assert.equal(await state(), 'reopened', 'a mode')
    s.sh('r', 'chmod -x migrations/1.sql')
    s.git('r', 'switch', '-q', 'main')
    s.write('r/discern.toml', `${CONFIG}${POLICY.replace('stated?', 'stated and tried?')}`)
    s.commit('r', 'reword')
    s.git('r', 'switch', '-q', 'feat')
    assert.equal(await state(), 'reopened', 'another question text')
  })
})

describe('a condition', () => {
  const when = (command: string): string => `${POLICY}when = ${JSON.stringify(command)}\n`

  it('may let the change pass, narrow what is asked, or leave the whole question; read surfaces never run it', async t => {
    for (const [command, fired, matched] of [
      ['touch ../when-ran; exit 10', false, undefined],
      ['touch ../when-ran; echo "DISCERN_MATCH migrations/2.sql"', true, ['migrations/2.sql']],
      ['touch ../when-ran; exit 3', true, ['migrations/1.sql', 'migrations/2.sql']],
    ] as const) {
      const s = scratch(t)
      asked(s, when(command), { 'migrations/1.sql': '1', 'migrations/2.sql': '2' })
      const preview = await json(s, 'checkpoints')
      assert.deepEqual(obligations(preview.data), { 'rollback-path': 'unknown' })
      assert.equal(preview.data.checkpoints[0].preview.when_pending, true)
      for (const args of [['status'], ['prepare'], ['done', '--dry-run'], ['evaluate']]) await json(s, ...args)
      assert.equal(existsSync(s.path('when-ran')), false)
      const done = await json(s, 'done')
      assert.equal(existsSync(s.path('when-ran')), true)
      assert.equal(done.result.error, fired ? 'awaiting_declaration' : undefined, done.out)
      if (fired) assert.deepEqual(done.data.checkpoints[0].open_question.matched, matched)
      assert.equal(s.sh('r', 'find .git/discern/when-input -type f 2>/dev/null').out, '')
    }
  })

  it('that is interrupted leaves no child, no input and no question behind, and ends with the signal’s exit code', async t => {
    const s = scratch(t)
    asked(s, when('echo started >../started; sleep 39.771'))
    const child = spawn(bundle[0], [bundle[1], 'done'], { cwd: s.path('r'), env: s.env, stdio: 'ignore' })
    const ended = new Promise<number | null>(resolve => child.on('close', resolve))
    for (let waited = 0; !existsSync(s.path('started')) && waited < 20_000; waited += 25) await pause(25)
    child.kill('SIGINT')
    assert.equal(await ended, 130)
    assert.equal(s.sh('.', 'pgrep -f "^sleep 39.771"').out, '')
    assert.equal(s.sh('r', 'find .git/discern/when-input -type f').out, '')
    assert.equal(existsSync(s.path('r/.git/discern/checkpoint-open-questions')), false)
  })

  it('that is undecided leaves a drop in the Proof and a Proof that is not reused', async t => {
    const s = scratch(t)
    asked(s, when('exit 3'))
    await json(s, 'done')
    const done = await json(s, 'done', '--met', 'rollback-path')
    assert.equal(done.result.ok, true, done.out)
    assert.deepEqual(
      done.data.checkpoint_drops.map(({ reason, checkpoint, mode }: Loose) => [reason, checkpoint, mode]),
      [['when_invalid_exit', 'rollback-path', 'stop']],
    )
    assert.equal((await json(s, 'done')).data.gate_ran, true)
    assert.equal((await json(s, 'accept', '--confirmed')).result.ok, true)
    const note = JSON.parse(s.git('r', 'notes', '--ref=discern', 'show', 'main'))
    const { proof } = JSON.parse(Buffer.from(note.payload, 'base64').toString('utf8'))
    assert.equal(proof.checkpoint_drops[0].reason, 'when_invalid_exit')
    assert.match(proof.checkpoint_drops[0].policy_commit, /^[0-9a-f]{40}$/)
  })
})

describe('what is lost is said, and blocks nothing', () => {
  it('a policy that does not parse is a drop of the whole policy', async t => {
    const s = scratch(t)
    asked(s)
    s.git('r', 'switch', '-q', 'main')
    s.write('r/discern.toml', 'trunk = [\n')
    s.commit('r', 'break it')
    s.git('r', 'switch', '-q', 'feat')
    s.git('r', 'merge', '-q', '-s', 'ours', '--no-edit', 'main')
    const done = await json(s, 'done')
    assert.equal(done.result.ok, true, done.out)
    assert.deepEqual(
      done.data.checkpoint_drops.map(({ reason, scope }: Loose) => [reason, scope]),
      [['governing_config_invalid', 'policy']],
    )
  })

  it('a corrupt store is rebuilt, and asks again', async t => {
    const s = scratch(t)
    asked(s)
    await json(s, 'done')
    await json(s, 'done', '--met', 'rollback-path')
    s.write('r/.git/discern/checkpoint-open-questions', 'not json')
    const looked = await json(s, 'checkpoints')
    assert.deepEqual(obligations(looked.data), { 'rollback-path': 'unknown' })
    const done = await json(s, 'done', '--rerun')
    assert.equal(done.result.error, 'awaiting_declaration', done.out)
    assert.match(JSON.stringify(done.data.checkpoint_drops), /open_question_store_(rebuilt|corrupt)/)
  })
})

describe('prepare and evaluate', () => {
  it('prepare fixes and checks the tree as it is, runs no test, and advises', async t => {
    const s = scratch(t)
    asked(s, `${POLICY}`)
    s.write(
      'r/discern.toml',
      `${CONFIG.replace('test = "sh check.sh"', 'test = "sh check.sh"\nformat = "echo fixed >f"\nlint = "grep -q fixed f"')}${POLICY}`,
    )
    const run = await json(s, 'prepare')
    assert.equal(run.result.ok, true, run.out)
    assert.deepEqual(
      run.result.steps?.map(({ label }) => label),
      ['format', 'lint'],
    )
    assert.deepEqual(run.data.edited, ['f'])
    assert.deepEqual(obligations(run.data), { 'rollback-path': 'will_open' })
    assert.equal(ran(s), '0')
  })

  it('evaluate answers for scripts: stable lines, an exit code, a revision', async t => {
    const s = scratch(t)
    asked(s)
    assert.equal((await s.discern('r', ['evaluate', '--porcelain'])).out, 'will_open\trollback-path\tstop\n')
    assert.equal((await s.discern('r', ['evaluate', '--exit-code'])).exit, 1)
    await json(s, 'done')
    await json(s, 'done', '--met', 'rollback-path')
    assert.equal(
      (await s.discern('r', ['evaluate', 'HEAD', '--porcelain', '--exit-code'])).out,
      'declared_met\trollback-path\tstop\n',
    )
    assert.equal((await json(s, 'evaluate', 'nonsense')).result.error, 'invalid_value')
  })

  it('the hooks say once, on standard error, that an answer is owed again after an amend, and git succeeds', async t => {
    const s = scratch(t)
    asked(s)
    assert.equal(s.launch('r', ['setup']).exit, 0)
    await json(s, 'done')
    await json(s, 'done', '--met', 'rollback-path')
    const unrelated = s.tryGit('r', 'commit', '-q', '--amend', '--no-edit', '--allow-empty')
    assert.deepEqual([unrelated.exit, unrelated.out], [0, ''])
    assert.doesNotMatch(unrelated.err, /discern/)
    s.write('r/migrations/1.sql', 'changed\n')
    s.git('r', 'add', '-A')
    const amended = s.tryGit('r', 'commit', '-q', '--amend', '--no-edit')
    assert.deepEqual([amended.exit, amended.out], [0, ''])
    assert.match(
      amended.err,
      /^git discern: feat owes a conclusion: rollback-path \(asked again\); see: git discern checkpoints\n$/,
    )
  })
})

describe('the Proof of a landed change', () => {
  it('carries the author’s conclusion apart from what machines answered and what the owner allowed', async t => {
    const s = scratch(t)
    asked(s)
    await json(s, 'done')
    await json(s, 'done', '--met', 'rollback-path')
    await land(s, 'r')
    const page = (await s.discern('r', ['status', '--verbose'])).out
    const at = (text: string): number => {
      const found = page.indexOf(text)
      assert.notEqual(found, -1, text)
      return found
    }
    assert.ok(at('## Checkpoints, declared by the author') < at('### `rollback-path`: declared met'))
    assert.ok(at('### `rollback-path`: declared met') < at('## What ran'))
    assert.ok(at('## What ran') < at('Landed with conversation consent'))
  })
})
