/** The life of a proposed limit: measured, committed alone, recorded, renewed, approved or declined, and never half done. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../../src/errors.ts'
import { openWorktree, type Worktree } from '../../src/git/repository.ts'
import {
  approvalToken,
  checkApprovals,
  liveProposals,
  type Renewed,
  recordedProposals,
  renewProposals,
  requireSameProposals,
} from '../../src/landing/proposal.ts'
import { trunkStandards } from '../../src/policy/ratchet.ts'
import { readCommittedConfiguration, readLiveConfiguration } from '../../src/policy/read.ts'
import type { StandardProposal } from '../../src/proof/claim.ts'
import { contextFor } from '../support/gate.ts'
import { bundle, killingGit } from '../support/project.ts'
import { type DiscernRun, type Scratch, scratch } from '../support/scratch.ts'
import { commitValue, runs, STANDARDS, standardProject } from '../support/standards.ts'

const BRANCH = 'refs/heads/feat'
const STORE = 'r/.git/discern/standard-limit-proposals.json'
const JOURNAL = 'r/.git/discern/standard-limit-proposal-transaction.json'
const MARKER = 'r/.git/discern/gate-proof'
const REASON = 'the old parser had most of the tests'

const propose = (s: Scratch, reason = REASON, ...more: readonly string[]): Promise<DiscernRun> =>
  s.discern('r', ['standards', 'propose', 'cov', '--reason', reason, '--json', ...more])

const refused = (run: DiscernRun, slug: string, pattern: RegExp, next?: RegExp): void => {
  assert.equal(run.result.error, slug, run.out)
  assert.match(run.result.message ?? '', pattern)
  if (next) assert.match(run.result.hints?.join('\n') ?? '', next)
}

const head = (s: Scratch): string => s.git('r', 'rev-parse', 'HEAD')

const limitInFile = (s: Scratch, value: number | string): void => {
  s.write('r/discern.toml', STANDARDS.replace('limit = 80', `limit = ${value}`))
  s.commit('r', `limit ${value}`)
}

const inRepository = async <T>(s: Scratch, work: (worktree: Worktree) => Promise<T>): Promise<T> => {
  const closers: (() => void | Promise<void>)[] = []
  const context = { ...contextFor(s.path('r'), s.env), defer: (close: () => void) => closers.push(close) }
  try {
    return await work(await openWorktree(context))
  } finally {
    for (const close of closers) await close()
  }
}

/** What `done` does once it has measured. */
const renew = (s: Scratch, readings: Readonly<Record<string, number>>): Promise<Renewed> =>
  inRepository(s, async worktree => {
    const configuration = await readLiveConfiguration(worktree)
    if (!configuration) throw new Error('no configuration')
    return renewProposals(contextFor(s.path('r'), s.env), {
      worktree,
      branch: BRANCH,
      head: head(s),
      configuration,
      trunk: trunkStandards(await readCommittedConfiguration(worktree, 'refs/heads/main')),
      readings: new Map(Object.entries(readings)),
    })
  })

const live = (s: Scratch): Promise<readonly StandardProposal[]> =>
  inRepository(s, worktree => liveProposals(worktree, BRANCH, head(s)))

describe('a proposal', () => {
  it('is a commit that changes one number, on top of the measured one, and a record of everything the owner must know', async t => {
    const s = scratch(t)
    standardProject(s)
    const trunk = s.git('r', 'rev-parse', 'main')
    const measured = commitValue(s, 79.25)
    s.write(MARKER, '{"version":1}\n')
    const dry = await propose(s, REASON, '--dry-run')
    assert.deepEqual([dry.result.ok, head(s), runs(s), dry.data.proposal], [true, measured, 0, undefined], dry.out)
    const run = await propose(s, `  ${REASON}\n`)
    assert.equal(run.exit, 0, run.out)
    const commit = head(s)
    assert.equal(s.git('r', 'rev-parse', 'HEAD^'), measured)
    assert.equal(s.git('r', 'status', '--porcelain'), '')
    assert.equal(s.git('r', 'diff', '--name-only', 'HEAD^', 'HEAD'), 'discern.toml')
    assert.equal(s.read('r/discern.toml'), STANDARDS.replace('limit = 80 #', 'limit = 79.25 #'))
    assert.equal(
      s.git('r', 'log', '-1', '--format=%an <%ae>%n%B'),
      `Dev <dev@example.invalid>\nPropose 79.25 as the limit of standard cov, which is 80\n\n${REASON}\n`,
    )
    const token = createHash('sha256')
      .update(`{"proposed_limit":79.25,"reason":"${REASON}","standard":"cov"}`)
      .digest('hex')
    const meaning =
      '{"artifact":null,"artifacts":[],"direction":"up","environment":[],"extract":null,"inputs":["value","measure.sh"],"metric":"cov","needs":[],"per":null,"producer":null,"run":["sh measure.sh"],"scale":1,"selector":"standards.cov","toolchain":[]}'
    const expected = {
      standard: 'cov',
      commit,
      bound_commit: commit,
      measured_commit: measured,
      definition_fingerprint: createHash('sha256').update(meaning).digest('hex'),
      trunk: 'main',
      trunk_commit: trunk,
      direction: 'up',
      trunk_limit: 80,
      proposed_limit: 79.25,
      measurement: 79.25,
      delta: -0.75,
      reason: REASON,
      evidence_paths: ['value'],
    }
    assert.deepEqual(run.data.proposal, { ...expected, token })
    assert.deepEqual(JSON.parse(s.read(STORE)), { version: 2, branches: { [BRANCH]: { proposals: [expected] } } })
    assert.deepEqual(await live(s), [expected])
    assert.deepEqual([existsSync(s.path(JOURNAL)), existsSync(s.path(MARKER))], [false, false])
    assert.deepEqual([run.data.ratchet, run.data.standards[0].verdict, runs(s)], ['proposed', 'held', 1])
    const shown = await s.discern('r', ['standards'])
    assert.equal(shown.exit, 0, shown.err)
    assert.match(shown.out, /cov {2}79\.25, at least 79\.25: held .*proposed to go from 80 to 79\.25/)
    assert.match(
      shown.out,
      new RegExp(`proposed: cov 80 -> 79\\.25\\n {2}${REASON}\\n.*\\n.*--approve-standard ${token}\\n`),
    )
    assert.equal(runs(s), 1, 'another limit measures nothing anew')
  })

  it('is made once, takes another reason without a commit, and follows another value with a commit of its own', async t => {
    const s = scratch(t)
    standardProject(s)
    commitValue(s, 79)
    const first = await propose(s)
    const commit = head(s)
    const again = await propose(s)
    assert.deepEqual([again.data.proposal, head(s)], [first.data.proposal, commit])
    s.write(MARKER, '{"version":1}\n')
    const other = await propose(s, 'another one')
    assert.deepEqual([head(s), other.data.proposal.reason, other.data.proposal.commit], [commit, 'another one', commit])
    assert.notEqual(other.data.proposal.token, first.data.proposal.token)
    assert.equal(existsSync(s.path(MARKER)), false, 'a Proof with the old reason is no more')
    const measured = commitValue(s, 78)
    const lower = await propose(s)
    assert.deepEqual(
      [lower.data.proposal.measured_commit, lower.data.proposal.trunk_limit, lower.data.proposal.proposed_limit],
      [measured, 80, 78],
      lower.out,
    )
    assert.equal(lower.data.proposal.commit, head(s))
    assert.equal((await live(s)).length, 1)
    // The value rose, and still misses the limit of the trunk.
    commitValue(s, 79.5)
    assert.equal((await propose(s)).data.proposal.proposed_limit, 79.5)
    commitValue(s, 81)
    refused(await propose(s), 'proposal_failed', /81 holds the trunk's limit 80/, /restore the limit 80/)
  })

  it('is refused, with nothing moved, whenever anything about it is not as it must be', async t => {
    const s = scratch(t)
    standardProject(s)
    const start = head(s)
    refused(await propose(s), 'proposal_failed', /no path that this branch changed is among its inputs/)
    const good = commitValue(s, 79)
    refused(await propose(s, ' \n '), 'invalid_value', /--reason: expected one paragraph of 1 to 500 .*, found nothing/)
    refused(await propose(s, 'x'.repeat(501)), 'invalid_value', /found 501 characters/)
    refused(await propose(s, 'a\nb'), 'invalid_value', /found the character U\+000A/)
    refused(await propose(s, 'a\u202eb'), 'invalid_value', /U\+202E/)
    s.write('r/value', '78\n')
    refused(await propose(s), 'dirty_worktree', /value/)
    s.git('r', 'restore', 'value')
    s.write('r/new', '')
    refused(await propose(s), 'dirty_worktree', /new/)
    s.sh('r', 'rm new')
    assert.equal(head(s), good)
    const cases: readonly (readonly [config: string, slug: string, problem: RegExp])[] = [
      [STANDARDS.replace('limit = 80', 'limit = 79'), 'proposal_failed', /changed by hand from 80 to 79/],
      [STANDARDS.replace('limit = 80', 'limit = 90'), 'proposal_failed', /changed by hand from 80 to 90/],
      [STANDARDS.replace('run = "sh', 'run = "exec sh'), 'proposal_failed', /its run was changed/],
      [STANDARDS.replace('["value", ', '["'.replace('"', '')), 'proposal_failed', /value was removed from its inputs/],
      [STANDARDS.replace('standards.cov', 'standards.new'), 'unknown_standard', /there is no standard "cov"/],
    ]
    for (const [config, slug, problem] of cases) {
      s.write('r/discern.toml', config)
      const commit = s.commit('r', 'config')
      refused(await propose(s), slug, problem)
      assert.equal(head(s), commit)
      s.git('r', 'reset', '-q', '--hard', good)
    }
    s.write('r/discern.toml', `${STANDARDS}\n[standards.own]\ndirection = "up"\nlimit = 1\nrun = "true"\n`)
    s.commit('r', 'own')
    const own = await s.discern('r', ['standards', 'propose', 'own', '--reason', 'x', '--json'])
    refused(own, 'proposal_failed', /the trunk does not have this standard/)
    s.git('r', 'reset', '-q', '--hard', good)
    commitValue(s, 'much')
    refused(await propose(s), 'proposal_failed', /expected a number, found "much"/)
    commitValue(s, 79)
    s.write('r/.git/hooks/reference-transaction', '#!/bin/sh\n[ "$1" != prepared ] || exit 1\n', 0o755)
    refused(await propose(s), 'proposal_failed', /git refused to move feat/)
    s.sh('r', 'rm .git/hooks/reference-transaction')
    s.git('r', 'switch', '-q', '--detach')
    refused(await propose(s), 'detached_head', /branch/)
    s.git('r', 'switch', '-q', 'main')
    refused(await propose(s), 'on_trunk', /main/)
    assert.deepEqual([existsSync(s.path(STORE)), existsSync(s.path(JOURNAL))], [false, false])
    assert.equal(s.git('r', 'rev-parse', 'main'), start)
  })

  it('stands in stores that a newer version wrote or that are damaged, and nobody touches those', async t => {
    const s = scratch(t)
    standardProject(s)
    const commit = commitValue(s, 79)
    for (const [path, text, slug] of [
      [STORE, '{"version":3}', 'store_newer'],
      [STORE, '{"version":2,"branches":{"refs/heads/feat":{"proposals":[{"standard":"cov"}]}}}', 'store_unreadable'],
      [STORE, 'torn', 'store_unreadable'],
      [JOURNAL, '{"version":2}', 'store_newer'],
      [JOURNAL, '{"version":1,"branch":"refs/heads/feat"}', 'store_unreadable'],
    ] as const) {
      s.write(path, text)
      refused(await propose(s), slug, /./)
      assert.deepEqual([s.read(path), head(s)], [text, commit])
      rmSync(s.path(path))
    }
  })
})

describe('a recorded proposal', () => {
  it('moves on to a descendant where the same was measured, without a commit, and takes the Proof with it', async t => {
    const s = scratch(t)
    standardProject(s)
    commitValue(s, 79)
    const { proposal } = (await propose(s)).data
    const { token: _token, ...recorded } = proposal
    s.write(MARKER, '{"version":1}\n')
    assert.deepEqual(await renew(s, { cov: 79 }), { live: [recorded], stale: [] })
    assert.ok(existsSync(s.path(MARKER)), 'nothing changed')
    s.write('r/other', 'x')
    const next = s.commit('r', 'next')
    assert.deepEqual(await live(s), [], 'nobody has measured here yet')
    const moved = await renew(s, { cov: 79 })
    assert.deepEqual(moved, { live: [{ ...recorded, bound_commit: next }], stale: [] })
    assert.deepEqual([await live(s), head(s), existsSync(s.path(MARKER))], [moved.live, next, false])
    // Looking from another branch finds nothing, and changes nothing.
    s.git('r', 'branch', 'elsewhere')
    assert.deepEqual(await inRepository(s, place => recordedProposals(place, 'refs/heads/elsewhere')), [])
  })

  it('does not move on when anything about it is different, and is forgotten when the limit is restored', async t => {
    const s = scratch(t)
    standardProject(s)
    const start = commitValue(s, 79)
    await propose(s)
    const commit = head(s)
    const reason = async (readings: Readonly<Record<string, number>>): Promise<string> => {
      const { live: still, stale } = await renew(s, readings)
      assert.deepEqual(still, [])
      return stale.map(({ standard, reason: why }) => `${standard}: ${why}`).join()
    }
    s.write('r/other', 'x')
    s.commit('r', 'next')
    assert.equal(await reason({}), 'cov: it was not measured')
    assert.equal(await reason({ cov: 79.5 }), 'cov: 79.5 was measured, and 79 is proposed')
    s.write('r/discern.toml', STANDARDS.replace('limit = 80', 'limit = 79').replace('["value"', '["*.txt", "value"'))
    s.commit('r', 'wider inputs')
    assert.equal(await reason({ cov: 79 }), 'cov: the standard means something else now')
    s.git('r', 'reset', '-q', '--hard', start)
    s.write('r/discern.toml', STANDARDS.replace('limit = 80', 'limit = 79'))
    s.commit('r', 'made by hand')
    assert.equal(await reason({ cov: 79 }), 'cov: its commit is not part of this branch any more')
    s.git('r', 'reset', '-q', '--hard', commit)
    s.git('r', 'switch', '-q', 'main')
    s.write('r/discern.toml', STANDARDS.replace('limit = 80', 'limit = 79.5'))
    s.commit('r', 'trunk')
    s.git('r', 'switch', '-q', 'feat')
    s.write('r/again', 'x')
    s.commit('r', 'again')
    assert.equal(await reason({ cov: 79 }), "cov: the trunk's limit is 79.5 and was 80")
    assert.ok(existsSync(s.path(STORE)))
    s.write(MARKER, '{"version":1}\n')
    limitInFile(s, 80)
    assert.deepEqual(await renew(s, { cov: 79 }), { live: [], stale: [] })
    assert.deepEqual([existsSync(s.path(STORE)), existsSync(s.path(MARKER))], [false, false])
  })
})

describe('an approval', () => {
  const proposal = (standard: string, change: Partial<StandardProposal> = {}): StandardProposal => ({
    standard,
    commit: 'a'.repeat(40),
    bound_commit: 'a'.repeat(40),
    measured_commit: 'b'.repeat(40),
    definition_fingerprint: 'c'.repeat(64),
    trunk: 'main',
    trunk_commit: 'd'.repeat(40),
    direction: 'up',
    trunk_limit: 80,
    proposed_limit: 79,
    measurement: 79,
    delta: -1,
    reason: 'because',
    evidence_paths: ['x'],
    ...change,
  })
  const [a, b] = [proposal('a'), proposal('b')]
  const token = (standard: string, limit = 79, reason = 'because') => approvalToken(standard, limit, reason)
  const refusal = (work: () => unknown): Refusal => {
    try {
      work()
    } catch (error) {
      if (error instanceof Refusal) return error
      throw error
    }
    throw new Error('nothing was refused')
  }

  it('is exactly the set of the live proposals, in any order', () => {
    assert.deepEqual(checkApprovals([token('b'), token('a'), token('b')], [a, b]), [a, b])
    assert.deepEqual(checkApprovals([], []), [])
  })

  it('misses, and says which and how, when one is missing, for another limit or reason, or for nothing', () => {
    const tokens = [
      [],
      [token('a')],
      [token('a'), token('b', 78)],
      [token('a'), token('b', 79, 'Because')],
      [token('a'), token('b'), token('c')],
      [token('a'), token('b').toUpperCase()],
    ]
    for (const given of tokens) {
      const error = refusal(() => checkApprovals(given, [a, b]))
      assert.equal(error.slug, 'awaiting_standard_approval')
      assert.match(
        error.message,
        /needs the owner's approval of 2 limits: a 80 -> 79 \(because\); b 80 -> 79 \(because\)/,
      )
      assert.equal(
        error.next[0],
        `ask the owner; after a yes: git discern accept --confirmed --approve-standard ${token('a')} --approve-standard ${token('b')}`,
      )
      assert.match(error.next[1] ?? '', /after a no: restore the limit 80 of a and the limit 80 of b/)
    }
    const stray = refusal(() => checkApprovals(['x'], []))
    assert.deepEqual([stray.slug, stray.message], ['awaiting_standard_approval', 'nothing awaits the approval x'])
  })

  it('needs a Proof that carries the same proposals', () => {
    requireSameProposals([a, b], [b, a])
    requireSameProposals([])
    for (const [now, then] of [
      [[a], []],
      [[], [a]],
      [[a], [b]],
      [[a], [proposal('a', { reason: 'other' })]],
      [[a], [proposal('a', { bound_commit: 'e'.repeat(40) })]],
    ] as const) {
      assert.equal(refusal(() => requireSameProposals(now, then)).slug, 'proposal_stale')
    }
  })
})

describe('a proposal and a model of it', () => {
  interface Model {
    readonly limit: number
    readonly value: number
    /** The proposed limit that is recorded, and whether it is bound to the commit at hand. */
    readonly recorded: number | undefined
    readonly bound: boolean
  }
  const action = fc.oneof(
    fc.record({ kind: fc.constant('value' as const), value: fc.constantFrom(78, 79, 80, 81) }),
    fc.record({ kind: fc.constant('limit' as const), value: fc.constantFrom(79, 80) }),
    fc.record({ kind: fc.constantFrom('other' as const, 'propose' as const, 'propose' as const, 'renew' as const) }),
  )

  it('agree after every step of random lives', async t => {
    const s = scratch(t)
    standardProject(s)
    const start = commitValue(s, 80.5)
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 3, maxLength: 7 }), async actions => {
        s.git('r', 'reset', '-q', '--hard', start)
        rmSync(s.path(STORE), { force: true })
        let model: Model = { limit: 80, value: 80.5, recorded: undefined, bound: false }
        let other = 0
        for (const step of actions) {
          const before = head(s)
          switch (step.kind) {
            case 'value':
              if (step.value === model.value) break
              commitValue(s, step.value)
              model = { ...model, value: step.value, bound: false }
              break
            case 'limit':
              if (step.value === model.limit) break
              limitInFile(s, step.value)
              model = { ...model, limit: step.value, bound: false }
              break
            case 'other':
              other += 1
              s.write('r/other', String(other))
              s.commit('r', 'other')
              model = { ...model, bound: false }
              break
            case 'propose': {
              const standing = model.recorded !== undefined && model.recorded === model.limit
              const allowed = (model.limit === 80 || standing) && model.value < 80
              const run = await propose(s)
              assert.equal(run.result.error, allowed ? undefined : 'proposal_failed', run.out)
              // The limit is in the file already when somebody took the proposal back and forth by hand.
              const commits = allowed && model.limit !== model.value
              assert.equal(s.git('r', 'rev-list', '--count', `${before}..HEAD`), commits ? '1' : '0')
              if (allowed) model = { ...model, limit: model.value, recorded: model.value, bound: true }
              break
            }
            case 'renew': {
              const found = await renew(s, { cov: model.value })
              assert.equal(head(s), before, 'renewing makes no commit')
              if (model.recorded !== model.limit) model = { ...model, recorded: undefined, bound: false }
              else model = { ...model, bound: model.bound || model.recorded === model.value }
              assert.equal(found.live.length, model.recorded === model.value && model.recorded !== undefined ? 1 : 0)
              break
            }
          }
          assert.deepEqual(
            (await live(s)).map(({ proposed_limit }) => proposed_limit),
            model.bound ? [model.recorded] : [],
          )
          assert.equal(s.git('r', 'status', '--porcelain'), '')
          assert.match(s.read('r/discern.toml'), new RegExp(`^limit = ${model.limit} # percent$`, 'm'))
        }
      }),
      { numRuns: 8 },
    )
  })
})

describe('a proposal that is interrupted', () => {
  it('by SIGKILL before or after any git call is wholly there or not at all once it is run again', async t => {
    const s = scratch(t)
    standardProject(s)
    const start = commitValue(s, 79)
    await s.discern('r', ['standards', '--json'])
    const [node, script] = bundle
    const args = ['standards', 'propose', 'cov', '--reason', REASON, '--json']
    cpSync(s.path('r'), s.path('whole'), { recursive: true })
    const whole = s.exec('whole', node, [script, ...args], { env: killingGit(s, 0, '', s.path('count')) })
    assert.equal(whole.exit, 0, whole.out + whole.err)
    const end = s.git('whole', 'rev-parse', 'HEAD')
    const record = s.read('whole/.git/discern/standard-limit-proposals.json')
    const tips = new Set<string>()
    const interrupt = async (at: number, when: string): Promise<boolean> => {
      const copy = `${when}-${at}`
      cpSync(s.path('r'), s.path(copy), { recursive: true })
      const env = killingGit(s, at, when, s.path(copy, '.git/count'), `${copy}/.git/shim`)
      const killed = await s.execAsync(copy, node, [script, ...args], { env })
      if (!existsSync(s.path(copy, `.git/count.${at}`))) return false
      assert.notEqual(killed.exit, 0)
      tips.add(s.git(copy, 'rev-parse', 'HEAD'))
      const again = await s.discern(copy, args)
      assert.equal(again.result.ok, true, `${copy}: ${again.out}`)
      assert.equal(s.git(copy, 'rev-parse', 'HEAD'), end)
      assert.equal(s.git(copy, 'status', '--porcelain'), '')
      assert.equal(s.read(`${copy}/.git/discern/standard-limit-proposals.json`), record)
      assert.equal(existsSync(s.path(copy, '.git/discern/standard-limit-proposal-transaction.json')), false)
      rmSync(s.path(copy), { recursive: true })
      return true
    }
    const calls = readdirSync(s.dir).filter(name => name.startsWith('count.')).length
    // All but the last ten only ask; one of those stands for them.
    for (const at of [1, ...Array.from({ length: 10 }, (_, back) => calls - 9 + back)]) {
      const both = await Promise.all(['before', 'after'].map(when => interrupt(at, when)))
      assert.deepEqual(both, [true, true], `${at} of ${calls}`)
      if (at <= calls - 9) assert.deepEqual([...tips], [start])
    }
    assert.deepEqual([...tips].sort(), [start, end].sort(), 'some of the kills came after the branch had moved')
  })

  it('leaves a branch alone that moved on, or was switched away from, in the meantime', async t => {
    const s = scratch(t)
    standardProject(s)
    const start = commitValue(s, 79)
    await propose(s)
    const end = head(s)
    const proposals = JSON.parse(s.read(STORE)).branches[BRANCH].proposals
    const journal = JSON.stringify({ version: 1, branch: BRANCH, expected: start, target: end, proposals })
    // The branch never moved: the journal is dropped and nothing is recorded for it.
    s.git('r', 'reset', '-q', '--hard', start)
    rmSync(s.path(STORE))
    s.write(JOURNAL, journal)
    refused(await propose(s, REASON, '--dry-run'), 'precondition_failed', /was interrupted here/)
    s.write('r/value', '80\n')
    s.commit('r', 'better')
    refused(await propose(s), 'proposal_failed', /no path that this branch changed/)
    assert.deepEqual([existsSync(s.path(JOURNAL)), existsSync(s.path(STORE))], [false, false])
    // It moved, and somebody checked out another branch: only the record is made.
    s.git('r', 'reset', '-q', '--hard', end)
    s.git('r', 'switch', '-q', '-c', 'away', 'main')
    s.write(JOURNAL, journal)
    s.write('r/value', '79.9\n')
    s.commit('r', 'on away')
    refused(await s.discern('r', ['standards', '--pin', '--json']), 'pin_failed', /breached/)
    assert.deepEqual(JSON.parse(s.read(STORE)).branches[BRANCH].proposals, proposals)
    assert.equal(s.git('r', 'status', '--porcelain'), '')
    assert.equal(existsSync(s.path(JOURNAL)), false)
  })
})
