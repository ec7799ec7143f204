import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { commandEnvironment } from '../../src/gate/environment.ts'
import { type CommandCall, type CommandResult, runCommand } from '../../src/gate/job.ts'
import { strays } from '../../src/gate/processes.ts'
import { noProc, oddDuration, running, runningWith, until } from '../support/gate.ts'
import { projectRoot, scratch } from '../support/scratch.ts'

/** What is meant to last about a second; a busy machine may take longer, a pipe that is held takes hours. */
const SOON_MS = 8000

let runs = 0
const run = (t: TestContext, command: string, more: Partial<CommandCall> = {}): Promise<CommandResult> => {
  const s = scratch(t)
  runs += 1
  return runCommand({
    command,
    cwd: s.dir,
    env: s.env,
    marker: `test-${process.pid}-${runs}.1`,
    timeoutMs: 0,
    signal: new AbortController().signal,
    now: () => new Date(),
    limits: { graceMs: 200, drainMs: 150 },
    ...more,
  })
}

const text = (result: CommandResult): string => result.output.toString('utf8')

test('a command gets the exit code of its shell, and its two streams in the order they were written', async t => {
  const result = await run(t, 'echo one; echo two >&2; echo three; printf %s "$0"; exit 7')
  assert.equal(result.exitCode, 7)
  assert.equal(text(result), 'one\ntwo\nthree\n/bin/sh')
  assert.equal(result.outputBytes, Buffer.byteLength('one\ntwo\nthree\n/bin/sh'))
  assert.deepEqual(
    [result.signal, result.timedOut, result.cancelled, result.spawnFailed, result.outputLimit, result.survivors],
    [null, false, false, undefined, false, []],
  )
})

test('with the streams apart only standard output is kept', async t => {
  const seen: string[] = []
  const result = await run(t, 'echo one; echo two >&2; echo three', {
    stderr: 'apart',
    sink: bytes => seen.push(bytes.toString('utf8')),
  })
  assert.equal(text(result), 'one\nthree\n')
  assert.equal(seen.join(''), 'one\nthree\n')
})

test('quotes, newlines and a syntax error reach the shell as they were written', async t => {
  assert.equal(text(await run(t, `printf '%s|' "a 'b" \\\n 'c "d' $#`)), `a 'b|c "d|0|`)
  const broken = await run(t, 'if; then')
  assert.equal(broken.exitCode, 2)
  assert.match(text(broken), /yntax error/)
})

test('standard input is empty and closed', async t => {
  const result = await run(t, 'cat; echo $?', { timeoutMs: 3000 })
  assert.equal(text(result), '0\n')
})

test('a command leads a session and a process group of its own', { skip: noProc }, async t => {
  const result = await run(t, `cut -d' ' -f5,6 /proc/$$/stat; echo $$`)
  const [ids, pid] = text(result).split('\n')
  assert.equal(ids, `${pid} ${pid}`)
})

test('a command that a signal ended says which', async t => {
  const result = await run(t, 'kill -SEGV $$')
  assert.deepEqual([result.exitCode, result.signal], [null, 'SIGSEGV'])
})

test('a shell that cannot start is a value with the reason', async t => {
  const result = await run(t, 'true', { cwd: '/nowhere/at/all' })
  assert.match(result.spawnFailed ?? '', /ENOENT|directory/)
  assert.deepEqual([result.exitCode, result.timedOut, result.cancelled], [null, false, false])
  const tooLong = await run(t, `true ${'x'.repeat(300_000)}`)
  assert.match(tooLong.spawnFailed ?? '', /E2BIG/)
})

test('a command that was cancelled before it started does not start', async t => {
  const s = scratch(t)
  const result = await run(t, `touch '${s.path('ran')}'`, { signal: AbortSignal.abort() })
  assert.equal(result.cancelled, true)
  assert.throws(() => s.read('ran'), /ENOENT/)
})

test("case 20: no variable that git calls repository-local reaches a command, the user's locale does", async t => {
  const local = execFileSync('git', ['rev-parse', '--local-env-vars'], { encoding: 'utf8' }).trim().split('\n')
  const names = [...local, 'GIT_NAMESPACE', 'GIT_QUARANTINE_PATH', 'GIT_CONFIG_KEY_0', 'GIT_CONFIG_VALUE_0']
  assert.ok(local.includes('GIT_INDEX_FILE') && local.includes('GIT_CONFIG_PARAMETERS'))
  const poison = Object.fromEntries(names.map(name => [name, name === 'GIT_CONFIG_COUNT' ? '1' : 'core.bare']))
  const result = await run(t, 'env', {
    env: { ...scratch(t).env, ...poison, LC_ALL: 'de_DE.UTF-8', LANGUAGE: 'de', GIT_AUTHOR_NAME: 'Somebody' },
    extra: { DISCERN_CHECKPOINT_INPUT: '/x' },
  })
  const seen = new Set(
    text(result)
      .split('\n')
      .map(line => line.replace(/=.*/s, '')),
  )
  assert.deepEqual(
    names.filter(name => seen.has(name)),
    [],
  )
  for (const kept of ['LC_ALL', 'LANGUAGE', 'GIT_AUTHOR_NAME', 'DISCERN_CHECKPOINT_INPUT']) assert.ok(seen.has(kept))
})

test("case 20: git in a job's temporary repository leaves the user's repository alone", async t => {
  const s = scratch(t)
  const mine = s.init('mine')
  const before = [s.git('mine', 'rev-parse', 'HEAD'), s.read('mine/.git/config'), s.git('mine', 'ls-files', '-s')]
  const result = await run(
    t,
    'git init -q other && cd other && git config core.bare false && echo x >x && git add x && git commit -qm x && git rev-parse --show-toplevel',
    {
      cwd: s.dir,
      env: { ...s.env, GIT_DIR: `${mine}/.git`, GIT_INDEX_FILE: `${mine}/.git/index`, GIT_PREFIX: 'sub/' },
    },
  )
  assert.equal(text(result), `${s.path('other')}\n`)
  assert.deepEqual(
    [s.git('mine', 'rev-parse', 'HEAD'), s.read('mine/.git/config'), s.git('mine', 'ls-files', '-s')],
    before,
  )
})

test('the permission for a directory is all that stays of the configuration in the environment', () => {
  const pairs = {
    GIT_CONFIG_COUNT: '3',
    GIT_CONFIG_KEY_0: 'core.worktree',
    GIT_CONFIG_VALUE_0: '/elsewhere',
    GIT_CONFIG_KEY_1: 'safe.Directory',
    GIT_CONFIG_VALUE_1: '/repo',
    GIT_CONFIG_KEY_2: 'core.hooksPath',
    GIT_CONFIG_VALUE_2: '/hooks',
  }
  assert.deepEqual(commandEnvironment({ ...pairs, HOME: '/h' }, {}, 'r.1'), {
    HOME: '/h',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'safe.directory',
    GIT_CONFIG_VALUE_0: '/repo',
    DISCERN_JOB: 'r.1',
  })
  assert.equal(commandEnvironment({ DISCERN_JOB: 'outer.4' }, {}, 'r.1')['DISCERN_JOB'], 'outer.4 r.1')
})

/** Each holds on in another way; `SLEEP` stands for a sleep that can be recognised. */
const stubborn: readonly (readonly [string, string])[] = [
  ['a background process that holds the pipe', 'SLEEP & SLEEP'],
  ['a shell that ignores SIGTERM', "trap '' TERM; while :; do SLEEP; done"],
  ['a process that left the session', 'setsid SLEEP & SLEEP'],
  ['a process that left the session and ignores SIGTERM', `setsid sh -c "trap '' TERM; SLEEP; SLEEP" & SLEEP`],
  ['a process that left the session without its environment', 'env -i setsid SLEEP & SLEEP'],
  ['a daemon whose parents are all gone', '(setsid sh -c "SLEEP & :" &) ; sleep 0.1; SLEEP'],
  ['nohup', 'nohup SLEEP >/dev/null 2>&1 & SLEEP'],
  ['a command that closes its output and lives on', 'exec >&- 2>&-; SLEEP'],
  ['a stopped process', '(kill -STOP $$) ; SLEEP'],
  ['a background flood', 'yes & SLEEP'],
]

test('case 82: after a timeout nothing is alive', { skip: noProc, concurrency: true }, async t => {
  await Promise.all(
    stubborn.map(([name, script]) =>
      t.test(name, async t => {
        const odd = oddDuration(t)
        const marker = `test-${odd}.1`
        const from = performance.now()
        const result = await run(t, script.replaceAll('SLEEP', `sleep ${odd}`), { marker, timeoutMs: 300 })
        const took = performance.now() - from
        assert.deepEqual(running(odd), [])
        assert.deepEqual(runningWith(marker), [])
        assert.deepEqual([result.timedOut, result.cancelled, result.survivors], [true, false, []])
        assert.ok(took < SOON_MS, `took ${took} ms`)
      }),
    ),
  )
})

test('case 82: a background process does not hold up a command that ended, and does not outlive it', {
  skip: noProc,
}, async t => {
  const odd = oddDuration(t)
  const from = performance.now()
  const result = await run(t, `trap '' TERM; sleep ${odd} & nohup sleep ${odd} >/dev/null 2>&1 & echo hi; exit 3`)
  assert.ok(performance.now() - from < SOON_MS)
  assert.deepEqual([result.exitCode, text(result), result.timedOut], [3, 'hi\n', false])
  assert.deepEqual(running(odd), [])
})

test('output of a background process that ends by itself is waited for', async t => {
  const limits = { graceMs: 200, drainMs: 8000 }
  assert.equal(text(await run(t, '(sleep 0.05; echo late) & echo early', { limits })), 'early\nlate\n')
})

test('a daemon outlives a command that ended by itself and is named; it is ended where nothing may stay', {
  skip: noProc,
}, async t => {
  const odd = oddDuration(t)
  const script = `setsid sh -c 'exec >/dev/null 2>&1; touch up; exec sleep ${odd}' & until [ -e up ]; do sleep 0.01; done; echo up`
  const left = await run(t, script, { marker: `stray-${odd}.1` })
  assert.deepEqual([left.exitCode, left.survivors], [0, []])
  const [pid, ...others] = running(odd)
  assert.ok(pid !== undefined && others.length === 0)
  assert.deepEqual(strays(`stray-${odd}`), [{ pid, command: 'sleep' }])
  process.kill(pid, 'SIGKILL')
  const ended = await run(t, script, { daemons: 'stop' })
  assert.deepEqual([ended.exitCode, ended.survivors], [0, []])
  assert.deepEqual(running(odd), [])
})

test('case 82: a cancelled command is ended with everything it started', { skip: noProc }, async t => {
  const odd = oddDuration(t)
  const aborter = new AbortController()
  setTimeout(() => aborter.abort(), 200)
  const result = await run(t, `setsid sleep ${odd} & sleep ${odd}`, { signal: aborter.signal })
  assert.deepEqual([result.cancelled, result.timedOut, result.signal], [true, false, 'SIGTERM'])
  assert.deepEqual(running(odd), [])
})

test('a command that ends politely within the grace keeps its own exit code and its last words', async t => {
  const aborter = new AbortController()
  const result = await run(t, "trap 'echo bye; exit 9' TERM; echo hi; while :; do sleep 0.02; done", {
    signal: aborter.signal,
    sink: () => aborter.abort(),
    limits: { graceMs: 8000, drainMs: 150 },
  })
  assert.deepEqual([result.cancelled, result.exitCode], [true, 9])
  // Some shells report the end of their sleep.
  assert.match(text(result), /^hi\n(Terminated\n)?bye\n$/)
})

test('case 82: a flood of a gigabyte keeps its head and its tail in bounded memory and time', async t => {
  const before = process.memoryUsage().rss
  let most = before
  let streamed = 0
  const from = performance.now()
  const result = await run(t, 'printf head; head -c 1000000000 /dev/zero; printf tail', {
    sink: bytes => {
      streamed += bytes.length
      most = Math.max(most, process.memoryUsage.rss())
    },
  })
  assert.equal(result.exitCode, 0)
  assert.equal(result.outputBytes, 1_000_000_008)
  assert.equal(streamed, 1_000_000_008)
  assert.equal(result.outputLimit, true)
  assert.equal(result.output.length, 4 * 1024 * 1024 + '\n[995805704 bytes left out here]\n'.length)
  assert.ok(text(result).startsWith('head\0') && text(result).endsWith('\0tail'))
  assert.ok(most - before < 100e6, `${most - before} bytes more`)
  assert.ok(performance.now() - from < 60_000)
})

test('case 82: output past the cap ends a command that may not print more', { skip: noProc }, async t => {
  const marker = `flood-${oddDuration(t)}.1`
  const result = await run(t, 'yes', {
    marker,
    timeoutMs: 10_000,
    overflow: 'stop',
    stderr: 'apart',
    limits: { graceMs: 200, drainMs: 100, outputBytes: 256 * 1024 },
  })
  assert.deepEqual([result.outputLimit, result.timedOut, result.cancelled], [true, false, false])
  assert.ok(result.output.length < 257 * 1024)
  assert.deepEqual(runningWith(marker), [])
  const exact = await run(t, 'head -c 262144 /dev/zero', {
    overflow: 'stop',
    limits: { graceMs: 200, drainMs: 100, outputBytes: 256 * 1024 },
  })
  assert.deepEqual([exact.outputLimit, exact.exitCode, exact.output.length], [false, 0, 262_144])
})

test('case 83: a program that exits in the middle takes its commands with it', { skip: noProc }, async t => {
  const s = scratch(t)
  const odd = oddDuration(t)
  const script = s.write(
    'program.mts',
    `import { runCommand } from ${JSON.stringify(`${projectRoot}src/gate/job.ts`)}
process.on('SIGTERM', () => process.exit(143))
await runCommand({ command: "trap '' TERM; setsid sleep ${odd} & sleep ${odd}", cwd: '/', env: process.env,
  marker: 'x.1', timeoutMs: 0, signal: new AbortController().signal, now: () => new Date(), sink: () => {} })`,
  )
  const child = spawn(process.execPath, ['--import', 'tsx', script], { cwd: projectRoot, stdio: 'inherit', env: s.env })
  await until(() => running(odd).length >= 3, 'the command, its sleep and the daemon run')
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  assert.equal(code, 143)
  await until(() => running(odd).length === 0, 'they are dead')
})
