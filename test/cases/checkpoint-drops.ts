/**
 * Every reason for which enforcement can be lost (facts 6.4), really caused and told by a verb: in the JSON, in the Proof, on
 * its page. Nothing is held back that the loss is not about, and a Proof that rests on an undecided stop is good for one landing.
 */
import assert from 'node:assert/strict'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { describe, it } from 'node:test'
import { noProc, oddDuration, running } from '../support/gate.ts'
import { CONFIG, change, project } from '../support/project.ts'
import { type DiscernOptions, type Loose, type Scratch, scratch } from '../support/scratch.ts'

const STORE = 'r/.git/discern/checkpoint-open-questions'

/** A trunk with this policy and these files, and a branch with a configuration of its own that changes some. */
const governed = (
  s: Scratch,
  policy: string | Uint8Array,
  files: Readonly<Record<string, string>> = { 'm/1.sql': 'create;\n' },
): void => {
  project(s)
  s.write('r/discern.toml', policy)
  s.commit('r', 'policy')
  change(s, 'r', 'feat', files)
}

const json = (s: Scratch, args: readonly string[], options?: DiscernOptions) =>
  s.discern('r', [...args, '--json'], options)

const stop = (id: string, more = ''): string =>
  `[checkpoints.${id}]\npaths = ["m/**"]\nquestion = "Is ${id} right?"\n${more}\n`

type Row = readonly [reason: string, checkpoint: string | null, mode: 'stop' | 'advise' | null]

const rows = (drops: readonly Loose[]): readonly Row[] =>
  drops.map(({ scope, reason, checkpoint, mode }) => {
    assert.equal(scope, checkpoint === null ? 'policy' : 'entry')
    return [reason, checkpoint, mode]
  })

/** What the Proof of `r` says was lost, after its page was seen to say the same, one line each. */
const proven = (s: Scratch): readonly Loose[] => {
  const { proof } = JSON.parse(s.read('r/.git/discern/gate-proof'))
  const drops: readonly Loose[] = proof.claim.checkpoint_drops ?? []
  const page: string = proof.markdown
  const lines = page.split('### Enforcement that was lost\n\n')[1]?.split('\n\n')[0]?.split('\n') ?? []
  const starts = drops.map(({ checkpoint, reason }) => `- ${checkpoint ? `\`${checkpoint}\`: ` : ''}\`${reason}\`: `)
  assert.equal(lines.length, starts.length, page)
  for (const [at, start] of starts.entries()) assert.ok(lines[at]?.startsWith(start), `${lines[at]} is not ${start}`)
  return drops
}

/** `done` must be green with exactly these losses in its answer, its Proof and its page; `again`: the next run works again. */
const passes = async (
  s: Scratch,
  expected: readonly Row[],
  { again, args = [], ...options }: DiscernOptions & { readonly again: boolean; readonly args?: readonly string[] },
): Promise<readonly Loose[]> => {
  const done = await json(s, ['done', ...args], options)
  assert.equal(done.result.ok, true, done.out)
  assert.equal(done.data.gate_ran, true)
  assert.deepEqual(rows(done.data.checkpoint_drops), expected)
  assert.deepEqual(proven(s), done.data.checkpoint_drops)
  const next = await json(s, ['done'], options)
  assert.equal(next.result.ok, true, next.out)
  assert.equal(next.data.gate_ran, again, 'whether the Proof is good for more than one landing')
  assert.deepEqual(next.data.checkpoint_drops, done.data.checkpoint_drops)
  return done.data.checkpoint_drops
}

// One of them waits for ten seconds; the others run meanwhile.
describe('enforcement that is lost', { concurrency: true }, () => {
  describe('what a condition loses', { concurrency: true }, () => {
    const both = (when: string): string =>
      `${CONFIG}${stop('a', `when = ${JSON.stringify(when)}`)}${stop('b', `mode = "advise"\nwhen = ${JSON.stringify(when)}`)}`
    const files = { 'm/1.sql': '1', 'm/2.sql': '2' }
    const inputs = (s: Scratch): string => s.sh('r', 'find .git/discern -name input.json').out

    for (const [reason, when, account, spoil] of [
      ['when_spawn_failed', `exit 10 # ${'x'.repeat(140_000)}`, /E2BIG/],
      [
        'when_input_failed',
        'touch ../ran; exit 10',
        /ENOTDIR|EEXIST/,
        'mkdir -p .git/discern; touch .git/discern/when-input',
      ],
      ['when_input_cleanup_failed', 'mv "$DISCERN_CHECKPOINT_INPUT" ../kept; exit 10', /moved or linked/],
      ['when_output_limit', 'echo DISCERN_MATCH m/1.sql; head -c 300000 /dev/zero; exit 0', /262144 bytes/],
    ] as const) {
      it(`is ${reason}: a stop asks about all that matched, an advice is given, and the Proof is not used again`, {
        // Elsewhere an argument may be as long as all of them together.
        skip: reason === 'when_spawn_failed' && noProc,
      }, async t => {
        const s = scratch(t)
        governed(s, both(when), files)
        if (spoil) s.sh('r', spoil)
        const expected: readonly Row[] = [
          [reason, 'a', 'stop'],
          [reason, 'b', 'advise'],
        ]
        assert.deepEqual((await json(s, ['checkpoints'])).data.drops, [])
        const report = await json(s, ['done', '--ci'])
        assert.equal(report.result.ok, true, report.out)
        assert.deepEqual(rows(report.data.checkpoint_drops), expected)
        assert.deepEqual(report.data.unreviewed, ['a'])
        assert.match(report.data.report.markdown, new RegExp(`\n- \`a\`: \`${reason}\`: `))
        const asked = await json(s, ['done'])
        assert.equal(asked.result.error, 'awaiting_declaration', asked.out)
        assert.deepEqual(rows(asked.data.checkpoint_drops), expected)
        assert.match(asked.data.checkpoint_drops[0].account, account)
        assert.deepEqual(asked.data.checkpoints[0].open_question.matched, ['m/1.sql', 'm/2.sql'])
        await passes(s, expected, { again: true, args: ['--met', 'a'] })
        assert.equal(inputs(s), '')
        assert.equal(existsSync(s.path('ran')), false)
      })
    }

    it('does not hold an advice back, nor its Proof from being used again', async t => {
      const s = scratch(t)
      governed(s, `${CONFIG}${stop('b', 'mode = "advise"\nwhen = "exit 3"')}`)
      await passes(s, [['when_invalid_exit', 'b', 'advise']], { again: false })
    })

    it('case 82: is when_timeout after ten seconds, whatever the command started, and nothing of it is left', {
      skip: noProc,
    }, async t => {
      const odd = oddDuration(t)
      const when = `test -e ../quick && exit 0
trap '' TERM; sleep ${odd} & setsid sleep ${odd} & nohup sleep ${odd} >/dev/null 2>&1 &
(exec >/dev/null 2>&1; sleep ${odd}) & echo 'DISCERN_MATCH m/1.sql'; sleep ${odd}; sleep ${odd}`
      const policy = `${CONFIG}${stop('a', `when = ${JSON.stringify(when)}`)}`
      const fresh = scratch(t)
      const opened = scratch(t)
      for (const s of [fresh, opened]) governed(s, policy, files)
      opened.write('quick', '')
      assert.equal((await json(opened, ['done'])).result.error, 'awaiting_declaration')
      rmSync(opened.path('quick'))
      const since = performance.now()
      const [asked, met] = await Promise.all([json(fresh, ['done']), json(opened, ['done', '--met', 'a'])])
      const took = performance.now() - since
      assert.ok(took > 10_000 && took < 20_000, `${took} ms`)
      assert.deepEqual(running(odd), [])
      const expected: readonly Row[] = [['when_timeout', 'a', 'stop']]
      assert.equal(asked.result.error, 'awaiting_declaration', asked.out)
      assert.deepEqual(rows(asked.data.checkpoint_drops), expected)
      assert.equal(asked.data.checkpoint_drops[0].account, 'the command ran longer than 10 s')
      assert.deepEqual(asked.data.checkpoints[0].open_question.matched, ['m/1.sql', 'm/2.sql'])
      assert.equal(met.result.ok, true, met.out)
      assert.deepEqual(rows(met.data.checkpoint_drops), expected)
      assert.deepEqual(proven(opened), met.data.checkpoint_drops)
      for (const s of [fresh, opened]) assert.equal(inputs(s), '')
      opened.write('quick', '')
      const again = await json(opened, ['done'])
      assert.equal(again.data.gate_ran, true)
      assert.deepEqual(again.data.checkpoint_drops, [])
      assert.equal((await json(opened, ['done'])).data.gate_ran, false, 'nothing is undecided any more')
    })
  })

  describe('what the policy itself loses', { concurrency: true }, () => {
    it('takes single entries out, in the order of the file, and leaves the others in force', async t => {
      const s = scratch(t)
      project(s)
      s.write('r/q/latin1', Buffer.from([0x77, 0x61, 0x73, 0xdf, 0x3f]))
      s.write('r/q/long', 'x'.repeat(65_537))
      s.write('r/q/limit', 'x'.repeat(65_536))
      s.write('r/q/lost', 'This text will be gone.\n')
      s.sh('r', 'ln -s limit q/link')
      s.write(
        'r/discern.toml',
        `${CONFIG}
[checkpoints.none]
[checkpoints.blank]
mode = "advise"
question = " \\t"
[checkpoints.both]
question = "a"
question_file = "q/limit"
[checkpoints.missing]
question_file = "q/nothing"
[checkpoints.outside]
question_file = "../q/limit"
[checkpoints.linked]
question_file = "q/link"
[checkpoints.folder]
mode = "advise"
question_file = "q"
[checkpoints.long]
question_file = "q/long"
[checkpoints.latin]
question_file = "q/latin1"
[checkpoints.gone]
question_file = "q/lost"
[checkpoints.two-selectors]
question = "a"
scope = "s"
paths = ["m/**"]
[checkpoints.elsewhere]
question = "a"
scope = "nowhere"
${stop('kept')}
[checkpoints.limit]
paths = ["never/**"]
question_file = "q/limit"
`,
      )
      s.commit('r', 'policy')
      change(s, 'r', 'feat', { 'm/1.sql': 'x\n', 'discern.toml': CONFIG })
      const lost = s.git('r', 'rev-parse', 'main:q/lost')
      rmSync(s.path(`r/.git/objects/${lost.slice(0, 2)}/${lost.slice(2)}`))
      const expected: readonly Row[] = [
        ['checkpoint_missing_question', 'none', 'stop'],
        ['checkpoint_missing_question', 'blank', 'advise'],
        ['checkpoint_question_source_conflict', 'both', 'stop'],
        ['checkpoint_question_file_missing', 'missing', 'stop'],
        ['checkpoint_question_file_invalid_path', 'outside', 'stop'],
        ['checkpoint_question_file_not_regular', 'linked', 'stop'],
        ['checkpoint_question_file_not_regular', 'folder', 'advise'],
        ['checkpoint_question_file_oversized', 'long', 'stop'],
        ['checkpoint_question_file_invalid_utf8', 'latin', 'stop'],
        ['checkpoint_question_file_unreadable', 'gone', 'stop'],
        ['checkpoint_selector_conflict', 'two-selectors', 'stop'],
        ['checkpoint_unknown_scope', 'elsewhere', 'stop'],
      ]
      const looked = await json(s, ['checkpoints'])
      assert.deepEqual(rows(looked.data.drops), expected)
      assert.equal(looked.result.advisories?.length, expected.length)
      assert.deepEqual(
        looked.data.checkpoints.map(({ id, obligation }: Loose) => [id, obligation]),
        [
          ['kept', 'will_open'],
          ['limit', 'none'],
        ],
      )
      const report = await json(s, ['done', '--ci'])
      assert.equal(report.result.ok, true, report.out)
      assert.deepEqual(rows(report.data.checkpoint_drops), expected)
      assert.deepEqual(report.data.unreviewed, ['kept'])
      assert.match(
        report.data.report.markdown,
        /- `linked`: `checkpoint_question_file_not_regular`: q\/link has the mode 120000\n/,
      )
      const asked = await json(s, ['done'])
      assert.equal(asked.result.error, 'awaiting_declaration')
      assert.deepEqual(asked.result.hints, [
        'git discern done --met kept',
        'git discern done --unmet kept --why "<reason>"',
      ])
      assert.deepEqual(rows(asked.data.checkpoint_drops), expected)
      const drops = await passes(s, expected, { again: false, args: ['--met', 'kept'] })
      assert.deepEqual(drops[3], {
        scope: 'entry',
        checkpoint: 'missing',
        mode: 'stop',
        policy_commit: s.git('r', 'rev-parse', 'main'),
        reason: 'checkpoint_question_file_missing',
        account: 'q/nothing is not in the policy commit',
      })
    })

    for (const [how, reason, policy] of [
      ['is larger than any configuration', 'governing_config_unreadable', `# ${'x'.repeat(1 << 20)}\n${CONFIG}`],
      ['is a link', 'governing_config_unreadable', undefined],
      ['has bytes that are no text', 'governing_config_invalid', Buffer.from(`${CONFIG}#\xff\n${stop('a')}`, 'latin1')],
      ['has a key that nobody knows', 'governing_config_invalid', `${CONFIG}${stop('a', 'wen = "true"')}`],
      [
        'has a broken pattern for what is generated',
        'governing_config_invalid',
        `${CONFIG}${stop('a')}[generated.g]\npaths = ["[z-a]"]\n`,
      ],
    ] as const) {
      it(`is everything when it ${how}`, async t => {
        const s = scratch(t)
        project(s)
        if (policy === undefined) {
          renameSync(s.path('r/discern.toml'), s.path('r/other.toml'))
          s.sh('r', 'ln -s other.toml discern.toml')
        } else s.write('r/discern.toml', policy)
        s.commit('r', 'policy')
        s.git('r', 'switch', '-q', '-c', 'feat')
        rmSync(s.path('r/discern.toml'))
        s.write('r/discern.toml', CONFIG)
        s.write('r/m/1.sql', 'x\n')
        s.commit('r', 'work')
        const expected: readonly Row[] = [[reason, null, null]]
        const looked = await json(s, ['checkpoints'])
        assert.deepEqual(rows(looked.data.drops), expected)
        assert.deepEqual(looked.data.checkpoints, [])
        assert.deepEqual(rows((await json(s, ['done', '--ci'])).data.checkpoint_drops), expected)
        const [drop] = await passes(s, expected, { again: false })
        assert.equal(drop.policy_commit, s.git('r', 'rev-parse', 'main'))
      })
    }
  })

  describe('what the store of questions loses', { concurrency: true }, () => {
    const asked = (s: Scratch): void => governed(s, `${CONFIG}${stop('a')}`)
    const evidence: Row = ['declaration_evidence_unavailable', null, null]

    for (const [how, spoil] of [
      ['is of a newer version', (s: Scratch) => s.write(STORE, '{"version":2,"openQuestions":{}}\n')],
      ['is no file', (s: Scratch) => s.sh('.', `mkdir -p ${STORE}`)],
    ] as const) {
      it(`blocks nothing when it ${how}, and stays as it is`, async t => {
        const s = scratch(t)
        asked(s)
        spoil(s)
        const before = s.sh('r', 'cd .git/discern; find checkpoint-open-questions -exec cat {} + 2>/dev/null').out
        const looked = await json(s, ['checkpoints'])
        assert.deepEqual(rows(looked.data.drops), [['open_question_store_unreadable', null, null]])
        assert.equal(looked.data.checkpoints[0].obligation, 'unknown')
        assert.equal(looked.data.checkpoints[0].obligation_detail, 'store_unavailable')
        const declared = await json(s, ['done', '--met', 'a'])
        assert.equal(declared.result.error, 'checkpoint_evidence_unavailable')
        assert.equal(existsSync(s.path('r/.git/discern/gate-proof')), false)
        const done = await json(s, ['done'])
        assert.equal(done.result.ok, true, done.out)
        assert.equal(done.data.checkpoint_drops[0].reason, 'open_question_store_unreadable')
        assert.deepEqual(rows(proven(s)), [['open_question_store_unreadable', null, null], evidence])
        assert.deepEqual(done.data.proof.checkpoint_drops, proven(s))
        assert.equal((await json(s, ['done'])).data.gate_ran, true, 'what was declared is not known')
        assert.equal(
          s.sh('r', 'cd .git/discern; find checkpoint-open-questions -exec cat {} + 2>/dev/null').out,
          before,
        )
      })
    }

    it('is told when it is damaged and nothing has to be written', async t => {
      const s = scratch(t)
      governed(s, `${CONFIG}${stop('a')}`, { g: 'not asked about\n' })
      s.write(STORE, '{"version":1,"openQuestions":[]}\n')
      const corrupt: Row = ['open_question_store_corrupt', null, null]
      assert.deepEqual(rows((await json(s, ['checkpoints'])).data.drops), [corrupt])
      assert.deepEqual(rows((await json(s, ['done', '--ci'])).data.checkpoint_drops), [corrupt])
      const done = await json(s, ['done'])
      assert.equal(done.result.ok, true, done.out)
      assert.equal(done.data.checkpoint_drops[0].reason, 'open_question_store_corrupt')
      assert.deepEqual(rows(proven(s)), [corrupt, evidence])
      assert.equal((await json(s, ['done'])).data.gate_ran, true)
      assert.equal(s.read(STORE), '{"version":1,"openQuestions":[]}\n')
    })

    it('is told for each question that a damaged one was replaced for, with the conclusion of the same run', async t => {
      const s = scratch(t)
      governed(s, `${CONFIG}${stop('a')}[checkpoints.b]\npaths = ["n/**"]\nquestion = "?"\n`)
      s.write(STORE, 'not json')
      const expected: readonly Row[] = [
        ['open_question_store_corrupt', null, null],
        ['open_question_store_rebuilt', 'a', 'stop'],
      ]
      await passes(s, expected, { again: false, args: ['--met', 'a'] })
      assert.deepEqual(Object.keys(JSON.parse(s.read(STORE)).openQuestions), ['a'])
    })

    it('is told when somebody else writes it for too long, and the question is asked when they have gone', async t => {
      const s = scratch(t)
      asked(s)
      const lock = s.write(
        'r/.git/discern/lock/questions',
        `${JSON.stringify({ pid: process.pid, host: hostname(), started: '', verb: 'done' })}\n`,
      )
      const done = await json(s, ['done'])
      assert.equal(done.result.ok, true, done.out)
      assert.deepEqual(rows(done.data.checkpoint_drops), [['open_question_store_write_failed', 'a', 'stop']])
      assert.match(done.data.checkpoint_drops[0].account, new RegExp(`process ${process.pid} on `))
      assert.deepEqual(proven(s), done.data.checkpoint_drops)
      assert.equal(done.data.checkpoints[0].obligation, 'unknown')
      assert.equal(existsSync(s.path(STORE)), false)
      rmSync(lock)
      assert.equal((await json(s, ['done', '--rerun'])).result.error, 'awaiting_declaration')
    })
  })

  describe('what the change loses', { concurrency: true }, () => {
    const content = `${CONFIG}${stop('line', 'adds_matching = ["eval("]')}${stop('path')}
[checkpoints.words]
mode = "advise"
removes_matching = ["never"]
question = "?"
`

    it('is only what needs the content that is over its limit', async t => {
      const s = scratch(t)
      governed(s, content, { 'm/1.sql': `eval(${'x'.repeat(8_200)}\n` })
      const expected: readonly Row[] = [
        ['trigger_content_unavailable', 'line', 'stop'],
        ['trigger_content_unavailable', 'words', 'advise'],
      ]
      const looked = await json(s, ['checkpoints'])
      assert.deepEqual(rows(looked.data.drops), expected)
      assert.deepEqual(
        looked.data.checkpoints.map(({ obligation, obligation_detail, fired }: Loose) => [
          obligation,
          obligation_detail,
          fired,
        ]),
        [
          ['unknown', 'diff_unavailable', false],
          ['will_open', undefined, true],
          ['none', undefined, false],
        ],
      )
      const report = await json(s, ['done', '--ci'])
      assert.deepEqual(rows(report.data.checkpoint_drops), expected)
      assert.deepEqual(report.data.unreviewed, ['path'])
      const asked = await json(s, ['done'])
      assert.match(String(asked.result.message), /path/)
      assert.doesNotMatch(String(asked.result.hints), /line/)
      const drops = await passes(s, expected, { again: false, args: ['--met', 'path'] })
      assert.match(drops[0].account, /line_limit/)
    })

    it('is only what needs the history that a shallow clone lacks, and a question asked before is kept as it was', async t => {
      const s = scratch(t)
      governed(s, `${CONFIG}${stop('story', 'min_commits = 1')}${stop('path')}`)
      await json(s, ['done'])
      await json(s, ['done', '--met', 'story', '--met', 'path'])
      const story = (): unknown => JSON.parse(s.read(STORE)).openQuestions.story
      const before = story()
      s.write('r/m/1.sql', 'second\n')
      s.commit('r', 'second')
      s.write('r/.git/shallow', `${s.git('r', 'rev-parse', 'main')}\n`)
      const expected: readonly Row[] = [['trigger_history_unavailable', 'story', 'stop']]
      const looked = await json(s, ['checkpoints'])
      assert.deepEqual(rows(looked.data.drops), expected)
      assert.match(looked.data.drops[0].account, /shallow/)
      assert.deepEqual(
        looked.data.checkpoints.map(({ obligation }: Loose) => obligation),
        ['unknown', 'reopened'],
      )
      const report = await json(s, ['done', '--ci'])
      assert.deepEqual(rows(report.data.checkpoint_drops), expected)
      const asked = await json(s, ['done'])
      assert.equal(asked.result.error, 'awaiting_declaration')
      assert.doesNotMatch(String(asked.result.hints), /story/)
      await passes(s, expected, { again: false, args: ['--met', 'path'] })
      assert.deepEqual(story(), before)
    })

    it('is the policy where no common ancestor is here, and the page of a report says so', async t => {
      const s = scratch(t)
      governed(s, `${CONFIG}${stop('a')}`)
      s.git('r', 'switch', '-q', 'main')
      s.write('r/f', '2')
      s.commit('r', 'the trunk moves')
      s.write('r/.git/shallow', `${s.git('r', 'rev-parse', 'main')}\n${s.git('r', 'rev-parse', 'feat')}\n`)
      s.git('r', 'switch', '-q', 'feat')
      const expected: readonly Row[] = [['merge_base_unresolved', null, null]]
      const report = await json(s, ['done', '--ci'])
      assert.equal(report.result.ok, true, report.out)
      assert.deepEqual(rows(report.data.checkpoint_drops), expected)
      assert.match(
        report.data.report.markdown,
        /### Enforcement that was lost\n\n- `merge_base_unresolved`: no common ancestor is here; fetch more history: git fetch --unshallow\n/,
      )
      assert.equal((await json(s, ['done'])).result.error, 'precondition_failed')
    })

    it('is everything when git cannot list it', async t => {
      const s = scratch(t)
      governed(s, content)
      const expected: readonly Row[] = [
        ['effort_diff_unreadable', 'line', 'stop'],
        ['effort_diff_unreadable', 'path', 'stop'],
        ['effort_diff_unreadable', 'words', 'advise'],
      ]
      const nowhere = await json(s, ['checkpoints'], { env: { TMPDIR: s.path('nowhere') } })
      assert.deepEqual(rows(nowhere.data.drops), expected)
      assert.match(nowhere.data.drops[0].account, /ENOENT/)
      const real = s.sh('.', 'command -v git').out.trim()
      s.write('broken/git', `#!/bin/sh\ncase "$*" in *--no-relative*) exit 128 ;; esac\nexec '${real}' "$@"\n`, 0o755)
      const env = { PATH: `${s.path('broken')}:${s.env['PATH']}` }
      assert.deepEqual(rows((await json(s, ['done', '--ci'], { env })).data.checkpoint_drops), expected)
      await passes(s, expected, { again: false, env })
      assert.equal((await json(s, ['done', '--rerun'])).result.error, 'awaiting_declaration', 'with a git that works')
    })

    it('is the subject when what is asked about has no identity', async t => {
      const s = scratch(t)
      project(s)
      s.write('r/discern.toml', `${CONFIG}${stop('a')}`)
      s.write('r/m/deep/1.sql', 'old\n')
      s.commit('r', 'policy')
      change(s, 'r', 'feat', { 'm/deep/1.sql': 'new\n' })
      const expected: readonly Row[] = [['subject_unavailable', 'a', 'stop']]
      s.sh('r', 'rm m/deep/1.sql; mkfifo m/deep/1.sql')
      const looked = await json(s, ['checkpoints'])
      assert.deepEqual(rows(looked.data.drops), expected)
      assert.equal(looked.data.checkpoints[0].obligation_detail, 'subject_unavailable')
      rmSync(s.path('r/m/deep/1.sql'))
      s.git('r', 'checkout', '-q', '--', 'm')
      assert.equal((await json(s, ['done'])).result.error, 'awaiting_declaration')
      // Undone, the question is still about the file; its folder is the same on both sides, so nothing else looks into it.
      s.write('r/m/deep/1.sql', 'old\n')
      s.write('r/g', 'something else\n')
      s.commit('r', 'undo')
      const tree = s.git('r', 'rev-parse', 'main:m/deep')
      rmSync(s.path(`r/.git/objects/${tree.slice(0, 2)}/${tree.slice(2)}`))
      await passes(s, expected, { again: false })
    })
  })
})
