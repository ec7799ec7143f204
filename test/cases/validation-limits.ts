/** What a capture may cost: each ceiling at its limit and one past it, and who is ended there (facts 12.5). */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync, truncateSync } from 'node:fs'
import { createServer } from 'node:net'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openAllowance, within } from '../../src/logbook/allowance.ts'
import { internalState, notReached } from '../../src/logbook/state.ts'
import { openObserver } from '../../src/logbook/work-tree.ts'
import type { KeyAnswer } from '../../src/store/hmac-key.ts'
import { noProc, oddDuration, running, until } from '../support/gate.ts'
import { type Scratch, scratch } from '../support/scratch.ts'
import { type CaptureOptions, captured, incompleteOf, must, unprivileged } from '../support/validation.ts'

/** A `git` that does something else at the calls that fit a shell pattern. */
const otherGit = (s: Scratch, pattern: string, deed: string, folder = 'other'): { readonly PATH: string } => {
  const real = s.sh('.', 'command -v git').out.trim()
  s.write(`${folder}/git`, `#!/bin/sh\ncase "$*" in ${pattern}) ${deed} ;; esac\nexec '${real}' "$@"\n`, 0o755)
  return { PATH: `${s.path(folder)}:${s.env['PATH']}` }
}

/** The capture, and how long it took. */
const timed = async (s: Scratch, cwd: string, options: CaptureOptions) => {
  const since = performance.now()
  const state = await captured(s, cwd, options)
  return { state, took: performance.now() - since, incomplete: incompleteOf(state) }
}

describe('the cost of a capture', () => {
  it('of 250 files of one KiB is below a tenth of the paths, a hundredth of the bytes, and the time', async t => {
    const s = scratch(t)
    s.init('r')
    const fill = (byte: string): void => {
      for (let number = 0; number < 250; number += 1) s.write(`r/d/${number}`, byte.repeat(1024))
    }
    fill('a')
    for (const [what, script] of [
      ['untracked', ''],
      ['tracked', 'git add -A; git commit -qm d'],
    ] as const) {
      must(s, 'r', script)
      if (what === 'tracked') fill('b')
      const { state, took, incomplete } = await timed(s, 'r', {})
      assert.deepEqual(incomplete, [], what)
      const { index_entries, tracked_paths, untracked_paths, submodules } = state.counts
      assert.equal(state.counts[`${what}_paths`], 250)
      assert.ok(index_entries + tracked_paths + untracked_paths + submodules < 20_000 / 10)
      assert.equal(state.bytes[`${what}_content`], 250 * 1024)
      const { git_output = 0, tracked_content, untracked_content } = state.bytes
      assert.ok(git_output + tracked_content + untracked_content < (64 * 1024 * 1024) / 100)
      assert.ok(took < 5_000, `${took} ms`)
    }
  })

  it('ends at 20,000 paths, wherever they are', async t => {
    const s = scratch(t)
    s.git('.', 'init', '-q', 'r')
    const blob = s.exec('r', 'git', ['hash-object', '-w', '--stdin'], { input: 'x\n' }).out.trim()
    // None of them is there, so that each counts twice: in the index, and as a file that is missing.
    const lines = Array.from({ length: 9_990 }, (_, number) => `100644 ${blob}\td${number % 50}/f${number}\n`)
    const done = s.exec('r', 'git', ['update-index', '--add', '--index-info'], { input: lines.join('') })
    assert.equal(done.exit, 0, done.err)
    must(
      s,
      'r',
      'git commit -qm many; for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo $n >u$n; done',
    )
    const full = await captured(s, 'r')
    assert.deepEqual(incompleteOf(full), [])
    assert.deepEqual(full.counts, { index_entries: 9_990, tracked_paths: 9_990, untracked_paths: 20, submodules: 0 })
    must(s, 'r', 'echo 21 >u21')
    const over = await captured(s, 'r')
    assert.deepEqual([incompleteOf(over), over.digest], [['budget/path-limit'], undefined])
    assert.ok(over.components?.head && over.components.index, 'what could be had is told')
    must(s, 'r', 'git update-index --force-remove d0/f0')
    assert.deepEqual(incompleteOf(await captured(s, 'r')), [])
  })

  it('counts the paths of submodules, and repositories that only lie there', async t => {
    const s = scratch(t)
    s.init('sm')
    s.init('r')
    must(
      s,
      'r',
      'git submodule --quiet add ../sm sm; git commit -qm sm; git init -q in; git -C in commit -q --allow-empty -m a',
    )
    // Three entries, the one of the submodule and itself, an untracked path and the repository behind it.
    assert.deepEqual(incompleteOf(await captured(s, 'r', { limits: { paths: 7 } })), [])
    for (let paths = 0; paths < 7; paths += 1) {
      assert.deepEqual(incompleteOf(await captured(s, 'r', { limits: { paths } })), ['budget/path-limit'], `${paths}`)
    }
  })

  it('ends at the bytes of what git prints and files hold together', async t => {
    const s = scratch(t)
    s.init('r')
    must(s, 'r', 'echo changed >f; echo untracked >n; ln -s nowhere l')
    const { bytes } = await captured(s, 'r')
    const all = (bytes.git_output ?? 0) + bytes.tracked_content + bytes.untracked_content
    assert.deepEqual([bytes.tracked_content, bytes.untracked_content], [8, 10 + 7])
    assert.deepEqual(incompleteOf(await captured(s, 'r', { limits: { bytes: all } })), [])
    for (const less of [1, 10, 25, all]) {
      const state = await captured(s, 'r', { limits: { bytes: all - less } })
      assert.deepEqual(incompleteOf(state), ['budget/byte-limit'], `${less} less`)
    }
    // What git says to nobody counts too.
    const env = otherGit(s, '*--others*', 'printf 0123456789 >&2')
    assert.deepEqual(incompleteOf(await captured(s, 'r', { env, limits: { bytes: all + 9 } })), ['budget/byte-limit'])
    assert.deepEqual(incompleteOf(await captured(s, 'r', { env, limits: { bytes: all + 10 } })), [])
  })

  it('ends at 64 MiB, and a file that is larger is not read at all', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/n', '')
    const rest = (await captured(s, 'r')).bytes.git_output ?? 0
    truncateSync(s.path('r/n'), 64 * 1024 * 1024 - rest)
    const full = await captured(s, 'r')
    assert.deepEqual(incompleteOf(full), [])
    assert.equal(full.bytes.untracked_content, 64 * 1024 * 1024 - rest)
    truncateSync(s.path('r/n'), 64 * 1024 * 1024 - rest + 1)
    assert.deepEqual(incompleteOf(await captured(s, 'r')), ['budget/byte-limit'])
    truncateSync(s.path('r/n'), 300 * 1000 * 1000)
    const before = process.memoryUsage().rss
    const sparse = await captured(s, 'r')
    assert.deepEqual([incompleteOf(sparse), sparse.bytes.untracked_content], [['budget/byte-limit'], 0])
    assert.ok(process.memoryUsage().rss - before < 100 * 1000 * 1000)
  })

  it('ends at the deadline, whichever git does not answer, and that git is dead then', { skip: noProc }, async t => {
    const s = scratch(t)
    s.init('sm')
    s.init('r')
    must(s, 'r', 'git submodule --quiet add ../sm sm; git commit -qm sm; echo 2 >f; echo n >n')
    const odd = oddDuration(t)
    for (const [what, pattern, deed] of [
      ['the index', '*ls-files*--stage*', `exec sleep ${odd}`],
      ['the difference', '*status*', `exec sleep ${odd}`],
      ['the untracked files', '*--others*', `exec sleep ${odd}`],
      ['a submodule', '*--untracked-files=all*', `exec sleep ${odd}`],
      ['one that waits for another', '*--others*', `sleep ${odd}`],
      ['one that left another with its pipes', '*--others*', `sleep ${odd} & exit 0`],
      ['one that listens to nobody', '*--others*', `trap '' TERM INT HUP; sleep ${odd}; sleep ${odd}`],
      [
        'one that prints for ever, slowly',
        '*--others*',
        `while :; do printf 'x\\0'; sleep 0.${odd.replace(/\D/g, '')}; done`,
      ],
    ] as const) {
      const env = otherGit(s, pattern, deed)
      const { state, took, incomplete } = await timed(s, 'r', { env, limits: { ms: 400 } })
      assert.deepEqual(incomplete, ['budget/time-limit'], what)
      assert.ok(state.elapsed_ms >= 390 && took < 2_500, `${what}: ${state.elapsed_ms} of ${took}`)
      assert.equal(state.digest, undefined)
      await until(() => running(odd).length === 0 && running(odd.replace(/\D/g, '')).length === 0, `${what} is gone`)
    }
  })

  it('lets go of pipes that a process of a session of its own still holds', { skip: noProc }, async t => {
    const s = scratch(t)
    s.init('r')
    const odd = oddDuration(t)
    const pipes = (): number => process.getActiveResourcesInfo().filter(name => name === 'PipeWrap').length
    const before = pipes()
    const env = otherGit(s, '*--others*', `setsid sleep ${odd} & exit 0`)
    const { took, incomplete } = await timed(s, 'r', { env, limits: { ms: 400 } })
    assert.deepEqual(incomplete, ['budget/time-limit'])
    assert.ok(took < 2_500, `${took}`)
    assert.ok(running(odd).length > 0, 'it holds them still')
    await until(() => pipes() <= before, 'nothing here waits for it')
  })

  it('ends a git that prints without end at the bytes, long before the deadline', { skip: noProc }, async t => {
    const s = scratch(t)
    s.init('r')
    const mark = oddDuration(t)
    for (const [pattern, deed] of [
      ['*ls-files*--stage*', `exec yes ${mark}`],
      ['*status*', `exec yes ${mark} >&2`],
    ] as const) {
      const { took, incomplete } = await timed(s, 'r', { env: otherGit(s, pattern, deed) })
      assert.deepEqual(incomplete, ['budget/byte-limit'])
      assert.ok(took < 4_500, `${took}`)
      await until(() => running(mark).length === 0, 'it is gone')
    }
    const { incomplete } = await timed(s, 'r', {
      env: otherGit(s, '*--others*', `exec yes "$(printf '${mark}\\0')" | tr '\\n' '\\0'`),
    })
    assert.deepEqual(incomplete, ['budget/path-limit'], 'and one that names paths without end at the paths')
    await until(() => running(mark).length === 0, 'it is gone')
  })

  it('ends at the deadline of whoever opened it, a key and a cancelled run included', async t => {
    const s = scratch(t)
    s.init('r')
    const never = new Promise<KeyAnswer>(() => {})
    const waiting = await timed(s, 'r', { key: never, limits: { ms: 300 } })
    assert.deepEqual(waiting.incomplete, ['budget/time-limit'])
    assert.equal(waiting.state.counts.index_entries, 1, 'what was seen until then stays')
    assert.ok(waiting.took < 2_000)
    assert.deepEqual(incompleteOf(await captured(s, 'r', { limits: { ms: 0 } })), ['budget/time-limit'])
    let now = 0
    const clock = (): number => {
      now += 1
      return now > 1 ? 5_001 : 0
    }
    assert.deepEqual(
      incompleteOf(await captured(s, 'r', { clock })),
      ['budget/time-limit'],
      'its time runs from when it was opened',
    )
    const stop = new AbortController()
    setTimeout(() => stop.abort(), 100)
    const cancelled = await timed(s, 'r', { key: never, signal: stop.signal })
    assert.deepEqual(cancelled.incomplete, ['internal/unavailable'])
    assert.ok(cancelled.took < 2_000)
    assert.deepEqual(incompleteOf(await captured(s, 'r', { signal: AbortSignal.abort() })), ['internal/unavailable'])
  })

  it('is a defect of ours at worst, when the digests themselves fail', async t => {
    const s = scratch(t)
    s.init('r')
    const { privateKey } = generateKeyPairSync('ed25519')
    const { incomplete, state } = await timed(s, 'r', { key: { known: privateKey } })
    assert.deepEqual([incomplete, state.digest], [['internal/unavailable'], undefined])
    assert.deepEqual(incompleteOf(internalState('after-fix-build', 12.4)), ['internal/unavailable'])
    assert.equal(internalState('after-fix-build', 12.4).elapsed_ms, 12)
    assert.deepEqual(notReached('after-fix-build'), {
      version: 1,
      complete: false,
      capture: 'after-fix-build',
      elapsed_ms: 0,
      counts: { index_entries: 0, tracked_paths: 0, untracked_paths: 0, submodules: 0 },
      bytes: { index_manifest: 0, tracked_content: 0, untracked_content: 0, git_output: 0 },
      incomplete: [{ category: 'boundary', reason: 'not-reached' }],
      exclusions: [
        'ignored-files',
        'external-services',
        'clocks',
        'random-seeds',
        'runtime-environment',
        'concurrent-external-processes',
      ],
    })
  })

  it('is known at the deadline though the work goes on, and what that comes to is dropped', async () => {
    let late = 0
    const unhandled = (): void => {
      late += 1
    }
    process.on('unhandledRejection', unhandled)
    const after = async (ms: number, result: () => string): Promise<string> => {
      await pause(ms)
      return result()
    }
    const fail = (): string => {
      throw new Error('late')
    }
    const time = (ms: number) => openAllowance({ limits: { ms } })
    assert.deepEqual(
      await within(
        time(2_000),
        after(1, () => 'x'),
      ),
      { known: 'x' },
    )
    assert.deepEqual(await within(time(2_000), () => after(1, () => 'x')), { known: 'x' })
    await assert.rejects(within(time(2_000), after(1, fail)), /late/)
    await assert.rejects(
      within(time(2_000), () => {
        throw new Error('early')
      }),
      /early/,
    )
    assert.deepEqual(
      await within(
        time(20),
        after(60, () => 'x'),
      ),
      { unavailable: 'time-limit' },
    )
    assert.deepEqual(await within(time(20), after(60, fail)), { unavailable: 'time-limit' })
    assert.deepEqual(await within(time(0), after(0, fail)), { unavailable: 'time-limit' })
    let started = false
    const work = async (): Promise<void> => {
      started = true
    }
    assert.deepEqual([await within(time(0), work), started], [{ unavailable: 'time-limit' }, false])
    // Work that kept the only thread busy past the deadline is late as well, though no timer could say so.
    const busy = async (): Promise<string> => {
      for (const since = performance.now(); performance.now() - since < 30; );
      return 'x'
    }
    assert.deepEqual(await within(time(10), busy), { unavailable: 'time-limit' })
    await pause(100)
    process.off('unhandledRejection', unhandled)
    assert.equal(late, 0)
  })
})

describe('a file of a captured state', () => {
  it('is never waited for, and what cannot be read is said', { skip: noProc }, async t => {
    const s = scratch(t)
    const bounds = openAllowance()
    must(s, '.', 'mkdir top; mkfifo top/fifo; ln -s fifo top/link; echo 1 >top/file; ln -s . top/round')
    const server = createServer().listen(s.path('top/socket'))
    t.after(() => server.close())
    await until(() => existsSync(s.path('top/socket')), 'the socket is there')
    const at = (topLevel: string, path: string) => openObserver(topLevel, bounds).observe(Buffer.from(path))
    const top = s.path('top')
    assert.deepEqual(await at(top, 'fifo'), { unavailable: 'invalid' })
    assert.deepEqual(await at(top, 'socket'), { unavailable: 'invalid' })
    assert.deepEqual(await at('/dev', 'null'), { unavailable: 'invalid' })
    assert.deepEqual(await at(top, 'link'), { known: { kind: 'symlink', target: Buffer.from('fifo') } })
    assert.deepEqual(await at(top, 'round/file'), { known: { kind: 'deleted' } })
    assert.deepEqual(await at(top, 'file/deeper'), { known: { kind: 'deleted' } })
    assert.deepEqual(await at(top, 'missing/deeper/still'), { known: { kind: 'deleted' } })
    assert.deepEqual(await at(top, '.'), { known: { kind: 'directory' } })
    s.write('top/secret', 'x', 0o000)
    assert.deepEqual(await unprivileged(() => at(top, 'secret')), { unavailable: 'unreadable' })
    // No permission even for the system's owner, and a file that has more in it than its size says.
    assert.deepEqual(await at('/proc/self', 'mem'), { unavailable: 'unreadable' })
    assert.ok(readFileSync('/proc/self/status').length > 0)
    assert.deepEqual(await at('/proc/self', 'status'), { unavailable: 'unreadable' })
  })
})
