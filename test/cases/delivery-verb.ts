/** `git discern delivery` as a person, a script and two clones use it (facts 15). */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { DELIVERY, delivery, product, REF, record, STAGE_ARGUMENTS, upTo } from '../support/product.ts'
import { CONFIG, change } from '../support/project.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

const digest = (bytes: string): string => createHash('sha256').update(bytes).digest('hex')

/** The newest record as git has it. */
const newest = (s: Scratch, cwd = 'r'): Loose => JSON.parse(s.git(cwd, 'cat-file', 'blob', `${REF}:record.json`))

const statuses = ({ data }: { readonly data: Loose }): string =>
  (data.stages ?? data.deliveries[0].stages).map(({ status }: Loose) => status[0]).join('')

describe('a delivery', () => {
  it('goes from its scope to its release, each stage a commit with one canonical record', async t => {
    const s = scratch(t)
    const commit = await product(s)
    const sealed = await upTo(s, 'CP6')
    assert.deepEqual([sealed.data.state, sealed.data.generation, statuses(sealed)], ['HUMAN_ACCEPTED', 8, 'vvvvvvvm'])
    assert.deepEqual(sealed.data.next, { checkpoints: [], states: ['RELEASED'] })
    const released = await delivery(s, 'r', 'promote', '--generation', '8', '--commit', commit)
    assert.deepEqual([released.result.ok, released.data.state, released.data.generation], [true, 'RELEASED', 9])
    const text = s.git('r', 'cat-file', 'blob', `${REF}:record.json`)
    const before = s.git('r', 'cat-file', 'blob', `${REF}~1:record.json`)
    assert.equal(newest(s).previous, `sha256:${digest(`${before}\n`)}`)
    assert.equal(s.git('r', 'ls-tree', '--name-only', REF), 'record.json')
    assert.equal(s.git('r', 'rev-list', '--count', REF), '9')
    assert.deepEqual(Object.keys(JSON.parse(text)), Object.keys(JSON.parse(text)).sort())
  })

  it('takes CP2, CP3 and the sealed artifacts from what is there, digests and ids computed here', async t => {
    const s = scratch(t)
    const commit = await product(s)
    await upTo(s, 'CP4')
    s.write('r/untracked', '')
    assert.equal((await record(s, 'r', 'CP5')).result.error, 'dirty_worktree')
    s.sh('r', 'rm untracked')
    s.git('r', 'switch', '-q', '--detach', 'HEAD~1')
    const elsewhere = await record(s, 'r', 'CP5')
    assert.match(String(elsewhere.result.message), /sealed from a clean checkout of its own commit/)
    s.git('r', 'switch', '-q', 'main')
    assert.equal((await record(s, 'r', 'CP5')).result.ok, true)
    const records = s
      .git('r', 'rev-list', '--reverse', REF)
      .split('\n')
      .map(oid => JSON.parse(s.git('r', 'cat-file', 'blob', `${oid}:record.json`)))
    const of = (checkpoint: string): Loose => records.find(one => one.checkpoint === checkpoint)
    const note = s.git('r', 'notes', '--ref=discern', 'list', commit)
    const paths = s.sh('r', `git diff --name-only -z ${commit}~1 ${commit} | sha256sum`).out.slice(0, 64)
    assert.deepEqual(
      of('CP2').evidence.map(({ part, sha256, oid }: Loose) => [part, sha256 ?? oid]),
      [
        ['changed-paths', paths],
        ['package-tests', note],
      ],
    )
    assert.deepEqual(of('CP3').gateIds, ['test'])
    assert.deepEqual(
      of('CP3').evidence.map(({ part, oid, sha256 }: Loose) => [part, oid ?? sha256]),
      [
        ['lint', note],
        ['types', note],
        ['tests', note],
        ['builds', digest('1\n')],
        ['previews', digest('1\n')],
      ],
    )
    const sealed = of('CP5').evidence
    assert.deepEqual(
      sealed.filter(({ part }: Loose) => part === 'artifacts' || part === 'clean-commit'),
      [
        { part: 'clean-commit', kind: 'git', oid: commit, name: 'clean checkout' },
        { part: 'artifacts', kind: 'digest', sha256: digest('1\n'), name: 'g' },
      ],
    )
  })

  it('loses CP2 and later to another source or corpus, keeps CP0 and CP1, and says so', async t => {
    const s = scratch(t)
    await product(s)
    await upTo(s, 'CP6')
    s.write('r/g', '2\n')
    const other = s.commit('r', 'more')
    const moved = await delivery(s, 'r', 'status', 'r1')
    assert.deepEqual(moved.data.deliveries[0].trunk, { name: 'main', tip: other })
    assert.equal(statuses(moved), 'vvvvvvvm', 'a trunk that goes on takes nothing away by itself')
    const changed = await delivery(s, 'r', 'source', other)
    assert.deepEqual([changed.data.state, statuses(changed)], ['IMPLEMENTING', 'vviiiiim'])
    const refused = await record(s, 'r', 'CP3')
    assert.equal(refused.result.error, 'delivery_illegal')
    assert.match(String(refused.result.message), /CP3 is recorded from VERIFYING, and this is IMPLEMENTING/)
    const stale = await delivery(s, 'r', 'promote', '--generation', '8', '--commit', 'HEAD~1')
    assert.equal(stale.result.error, 'promotion_lost')
    // The new source was not landed with a Proof, so its tests are given by hand.
    await record(s, 'r', 'CP2', '--evidence', 'package-tests=file:g')
    const corpus = await delivery(s, 'r', 'source', other, '--corpus', 'rev-2')
    assert.deepEqual(
      [corpus.data.state, corpus.data.corpus_revision, statuses(corpus)],
      ['IMPLEMENTING', 'rev-2', 'vviiiiim'],
    )
    const same = await delivery(s, 'r', 'source', other)
    assert.deepEqual([same.data.action, same.data.generation], ['unchanged', corpus.data.generation])
  })

  it('refuses each stage that lacks a part and names it with a command, and writes nothing', async t => {
    const s = scratch(t)
    await product(s)
    await upTo(s, 'CP0')
    const before = snapshot(s.path('r'), /(^|\/)logbook$/)
    for (const [args, slug, message] of [
      [
        ['record', 'CP1', '--rollback', 'x'],
        'delivery_illegal',
        /CP1 lacks decisions .*contracts .*compatibility-plan/,
      ],
      [['record', 'CP1'], 'invalid_arguments', /CP1 needs --rollback/],
      [
        ['record', 'CP1', '--evidence', 'lint=x', '--rollback', 'x'],
        'invalid_value',
        /expected one of decisions, contracts/,
      ],
      [['record', 'CP1', '--evidence', 'decisions=a sentence', '--rollback', 'x'], 'invalid_value', /sha256:<hex>/],
      [
        ['record', 'CP1', '--evidence', 'decisions=https://example.org/', '--rollback', 'x'],
        'invalid_value',
        /since a URL can change/,
      ],
      [
        ['record', 'CP1', '--evidence', 'decisions=file:missing', '--rollback', 'x'],
        'invalid_value',
        /a file that can be read/,
      ],
      [
        ['record', 'CP1', '--evidence', 'decisions=git:nowhere', '--rollback', 'x'],
        'invalid_value',
        /an object of this repository/,
      ],
      [['record', 'CP1', '--evidence', 'decisions=gate:lint', '--rollback', 'x'], 'invalid_value', /found lint/],
      [['record', 'CP9'], 'invalid_arguments', /one of CP0, CP1/],
      [['record', 'CP6', 'r1', '--confirmed', '--rollback', 'x'], 'delivery_illegal', /CP6 is recorded from CANDIDATE/],
      [
        ['move', 'blocked'],
        'delivery_illegal',
        /nothing leads from PLANNED to BLOCKED: from PLANNED one can record CP1/,
      ],
      [['move', 'RELEASED'], 'invalid_arguments', /only a promotion leads to RELEASED/],
      [['move', 'nowhere'], 'invalid_arguments', /one of DISCOVERED/],
      [['promote', '--commit', 'HEAD'], 'invalid_arguments', /names the generation and the commit/],
      [
        ['promote', '--generation', '2', '--commit', 'HEAD'],
        'delivery_illegal',
        /only what is HUMAN_ACCEPTED is promoted/,
      ],
      [['promote', '--generation', '7', '--commit', 'HEAD'], 'promotion_lost', /is at generation 2/],
      [['start', 'r1'], 'delivery_illegal', /was started already/],
      [['start', '../x'], 'invalid_value', /letters, digits/],
      [['status', 'r2'], 'delivery_unknown', /there is no delivery r2/],
      [['recrod', 'CP1'], 'invalid_arguments', /did you mean record\?/],
      [['status', '--confirmed'], 'invalid_arguments', /--confirmed belongs to record/],
    ] as const) {
      const run = await delivery(s, 'r', ...args)
      assert.equal(run.result.error, slug, `${args.join(' ')}: ${run.out}`)
      assert.match(String(run.result.message), message, args.join(' '))
      assert.ok((run.result.hints ?? []).length > 0, 'it says what to type next')
      assert.deepEqual(snapshot(s.path('r'), /(^|\/)logbook$/), before, args.join(' '))
    }
  })

  it('changes neither work tree nor index nor any other ref, whatever verb is typed', async t => {
    const s = scratch(t)
    const commit = await product(s)
    s.write('r/half', 'edited\n')
    s.git('r', 'add', 'half')
    s.write('r/half', 'edited again\n')
    const others = (): readonly unknown[] => [
      s
        .git('r', 'for-each-ref', '--format=%(refname) %(objectname)')
        .split('\n')
        .filter(line => !line.startsWith(REF)),
      s.git('r', 'status', '--porcelain=v2', '--branch'),
      s.git('r', 'ls-files', '--stage'),
      s.read('r/half'),
    ]
    const before = others()
    for (const args of [
      ['start', 'r1'],
      ['record', 'CP0', '--rollback', 'x', ...(STAGE_ARGUMENTS['CP0'] ?? []).flatMap(one => ['--evidence', one])],
      ['status', '--all'],
      ['source', `${commit}~1`],
      ['source', commit],
      ['record', 'CP1', '--rollback', 'x', ...(STAGE_ARGUMENTS['CP1'] ?? []).flatMap(one => ['--evidence', one])],
      ['move', 'BLOCKED', '--reason', 'waiting'],
      ['move', 'IMPLEMENTING', '--reason', 'waited'],
    ]) {
      const run = await delivery(s, 'r', ...args)
      assert.equal(run.result.ok, true, run.out)
      assert.deepEqual(others(), before, args.join(' '))
    }
  })
})

describe('a human acceptance', () => {
  const ask = (s: Scratch, env: Readonly<Record<string, string>>, confirm?: () => Promise<boolean>) =>
    s.discern(
      'r',
      [
        'delivery',
        'record',
        'CP6',
        '--evidence',
        'owner=Ada',
        '--evidence',
        'decision=ship',
        '--rollback',
        'x',
        '--json',
      ],
      { env, ...(confirm ? { confirm } : {}) },
    )

  it('needs the owner: a flag, a yes at a terminal, or an environment that the trunk protects, in an automated build', async t => {
    const s = scratch(t)
    await product(s)
    await upTo(s, 'CP5')
    const sealed = s.git('r', 'rev-parse', REF)
    const again = (): string => s.git('r', 'update-ref', REF, sealed)
    for (const [env, confirm] of [
      [{}, undefined],
      [{}, async () => false],
      [{ DISCERN_ENVIRONMENT: 'production' }, undefined],
      [{ CI: 'true', DISCERN_ENVIRONMENT: 'staging' }, undefined],
      [{ CI: 'true' }, undefined],
    ] as const) {
      const refused = await ask(s, env, confirm)
      assert.equal(refused.result.error, 'awaiting_confirmation', JSON.stringify(env))
      assert.equal(s.git('r', 'rev-parse', REF), sealed)
    }
    // A branch cannot protect an environment for itself.
    change(s, 'r', 'own-policy', { 'discern.toml': `${CONFIG}${DELIVERY.replace('"production"', '"staging"')}` })
    s.git('r', 'switch', '-q', 'main')
    for (const [env, confirm, by] of [
      [{}, async () => true, 'terminal'],
      [{ CI: 'true', DISCERN_ENVIRONMENT: 'production' }, undefined, 'protected-environment'],
    ] as const) {
      const accepted = await ask(s, env, confirm)
      assert.equal(accepted.result.ok, true, accepted.out)
      assert.equal(newest(s).acceptedBy, by)
      again()
    }
    assert.equal((await record(s, 'r', 'CP6')).result.ok, true)
    assert.equal(newest(s).acceptedBy, 'conversation')
    assert.deepEqual(
      newest(s).evidence.map(({ part, text, name }: Loose) => [part, text ?? name]),
      [
        ['owner', 'Ada'],
        ['decision', 'ship it'],
        ['exceptions', 'none'],
        ['references', 'record of CP5'],
      ],
    )
  })

  it('names every variance of the landing among its exceptions, whatever else was typed', async t => {
    const s = scratch(t)
    const more = '\n[checkpoints.why]\npaths = ["g"]\nquestion = "Why?"\n'
    s.git('.', 'init', '-q', 'r')
    s.write('r/check.sh', 'true\n')
    s.write('r/discern.toml', `${CONFIG}${DELIVERY}${more}`)
    s.commit('r', 'policy')
    change(s, 'r', 'feat', { g: '1\n' })
    await s.discern('r', ['done'])
    await s.discern('r', ['done', '--unmet', 'why', '--why', 'no time'])
    const landed = await s.discern('r', ['accept', '--confirmed', '--variance', 'why', '--json'])
    assert.equal(landed.result.ok, true, landed.out)
    s.git('r', 'switch', '-q', 'main')
    await upTo(s, 'CP5')
    const run = await record(s, 'r', 'CP6', '--evidence', 'exceptions=the colours are wrong')
    assert.equal(run.result.ok, true, run.out)
    assert.deepEqual(
      newest(s)
        .evidence.filter(({ part }: Loose) => part === 'exceptions')
        .map(({ text }: Loose) => text),
      ['the colours are wrong', 'variance for why, declared unmet: no time'],
    )
  })
})

describe('a promotion', () => {
  it('50 times two at once: one wins, the other is blocked and has changed nothing', async t => {
    const s = scratch(t)
    const commit = await product(s)
    await upTo(s, 'CP6')
    const accepted = s.git('r', 'rev-parse', REF)
    for (let round = 0; round < 50; round += 1) {
      const promote = () => delivery(s, 'r', 'promote', '--generation', '8', '--commit', commit)
      const runs = await Promise.all([promote(), promote()])
      const [won, lost] = runs[0].result.ok ? runs : [runs[1], runs[0]]
      assert.deepEqual([won?.result.ok, lost?.result.ok], [true, false], `round ${round}`)
      assert.equal(lost?.result.error, 'promotion_lost', lost?.out)
      assert.match(String(lost?.result.message), /is at generation 9 .*generation 8 .* nothing was promoted/)
      assert.equal(s.git('r', 'rev-list', '--count', REF), '9')
      assert.equal(s.git('r', 'rev-parse', `${REF}~1`), accepted)
      s.git('r', 'update-ref', REF, accepted)
    }
  })

  it('is blocked while another clone went on from the same generation, until somebody decides', async t => {
    const s = scratch(t)
    const commit = await product(s)
    s.git('.', 'clone', '-q', '--bare', 'r', 'hub.git')
    for (const name of ['a', 'b']) s.git('.', 'clone', '-q', 'hub.git', name)
    s.git('a', 'fetch', '-q', s.path('r'), 'refs/notes/discern:refs/notes/discern')
    await upTo(s, 'CP6', 'a')
    s.git('a', 'push', '-q', 'origin', REF)
    s.git('b', 'fetch', '-q', 'origin', '+refs/discern/delivery/*:refs/discern/remotes/origin/delivery/*')
    // One side promotes and publishes, the other rejects nothing and records another source.
    const one = await delivery(s, 'a', 'promote', '--generation', '8', '--commit', commit)
    assert.equal(one.result.ok, true, one.out)
    s.git('a', 'push', '-q', 'origin', REF)
    const apart = await delivery(s, 'b', 'source', `${commit}~1`, 'r1')
    assert.equal(apart.result.ok, true, apart.out)
    s.git('b', 'fetch', '-q', 'origin')
    const shown = await delivery(s, 'b', 'status', 'r1')
    assert.deepEqual(
      shown.data.deliveries[0].remotes.map(({ remote, relation }: Loose) => [remote, relation]),
      [['origin', 'diverged']],
    )
    const tip = s.git('b', 'rev-parse', REF)
    const blocked = await delivery(s, 'b', 'promote', 'r1', '--generation', '9', '--commit', commit)
    assert.equal(blocked.result.error, 'delivery_conflict', blocked.out)
    assert.equal(s.git('b', 'rev-parse', REF), tip)
    const local = await delivery(s, 'b', 'resolve', 'r1', '--keep', 'local')
    assert.equal(local.result.error, 'delivery_illegal', 'what was promoted is not decided away')
    const kept = await delivery(s, 'b', 'resolve', 'r1', '--keep', 'origin')
    assert.deepEqual([kept.result.ok, kept.data.state], [true, 'RELEASED'], kept.out)
    s.git('b', 'push', '-q', 'origin', REF)
    s.git('a', 'fetch', '-q', 'origin')
    const rolled = await delivery(s, 'a', 'move', 'rolled-back', 'r1', '--reason', 'it burns')
    assert.deepEqual([rolled.result.ok, rolled.data.state], [true, 'ROLLED_BACK'], rolled.out)
    const back = await delivery(s, 'a', 'move', 'VERIFYING', '--reason', 'again')
    assert.equal(statuses(back), 'vvviiiim')
  })
})
