/** What doctor, setup and refresh make of fetch lines and of what the notes refs hold. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Diagnosis, quickProgram, diagnose as withProgram } from '../support/doctor.ts'
import { type DiscernRun, type Scratch, scratch } from '../support/scratch.ts'

const CONFIG = '[repository]\ntrunk = "main"\nproof_notes_mode = "fetch"\n\n[jobs]\ntest = "true"\n'
const MAPPING = '+refs/notes/discern*:refs/discern/remotes/origin/notes*'

const diagnose = (s: Scratch, cwd: string): Promise<Diagnosis> => withProgram(s, cwd, { program: quickProgram(s) })
const discern = (s: Scratch, ...args: string[]): Promise<DiscernRun> =>
  s.discern('r', args, { program: quickProgram(s) })

/** A clone of `up` that is set up, with its own lines below `remote.origin`. */
const cloned = async (s: Scratch, ...lines: string[]): Promise<void> => {
  s.init('up')
  s.write('up/discern.toml', CONFIG)
  s.commit('up', 'set up')
  s.git('.', 'clone', '-q', 'up', 'r')
  for (const line of lines) s.git('r', 'config', '--add', 'remote.origin.fetch', line)
  const run = await discern(s, 'setup')
  assert.equal(run.exit, 0, run.err)
}

/** Types what was advised; the last part in this process, since the program on the PATH is another version. */
const obey = async (s: Scratch, advice: string): Promise<void> => {
  const commands = advice.split(' && ')
  assert.equal(commands.pop(), 'git discern refresh')
  for (const command of commands) assert.equal(s.sh('r', command).exit, 0, command)
  assert.equal((await discern(s, 'refresh')).exit, 0)
}

test('case 32: after setup a fetch works before and after the first Proof, and doctor says where Proofs arrive', async t => {
  const s = scratch(t)
  await cloned(s)
  for (const published of [false, true]) {
    if (published) s.git('up', 'notes', '--ref=discern', 'add', '-m', 'x')
    assert.equal(s.tryGit('r', 'fetch', '-q', 'origin').exit, 0)
    const fetch = (await diagnose(s, 'r')).about('fetch')
    assert.deepEqual(
      fetch.map(({ verdict, evidence }) => [verdict, evidence]),
      [['ok', 'a fetch from origin writes its Proofs to refs/discern/remotes/origin/notes']],
    )
  }
  assert.equal(
    s.git('r', 'rev-parse', 'refs/discern/remotes/origin/notes'),
    s.git('up', 'rev-parse', 'refs/notes/discern'),
  )
})

test('case 32: a foreign exact mapping is left alone and named, and doctor finds that every fetch fails', async t => {
  const s = scratch(t)
  const exact = '+refs/notes/discern:refs/discern/remotes/origin/notes'
  await cloned(s, exact)
  assert.deepEqual(s.git('r', 'config', '--get-all', 'remote.origin.fetch').split('\n'), [
    '+refs/heads/*:refs/remotes/origin/*',
    exact,
    MAPPING,
  ])
  assert.notEqual(s.tryGit('r', 'fetch', '-q', 'origin').exit, 0)
  const { wrong, run } = await diagnose(s, 'r')
  assert.deepEqual(wrong, [
    `failed: every fetch from origin fails until somebody publishes a Proof: ${exact}: the remote has no refs/notes/discern`,
  ])
  const command = run.result.hints?.[0] ?? ''
  assert.equal(
    command,
    `git config --local --fixed-value --unset-all remote.origin.fetch ${exact} && git discern refresh`,
  )
  await obey(s, command)
  assert.equal(s.tryGit('r', 'fetch', '-q', 'origin').exit, 0)
  assert.deepEqual((await diagnose(s, 'r')).wrong, [])
})

test('case 31: a forced mapping over our notes is named with its safe replacement by setup, refresh and doctor, and not edited', async t => {
  const s = scratch(t)
  const forced = '+refs/notes/*:refs/notes/*'
  await cloned(s, forced)
  const before = s.read('r/.git/config')
  const replacement =
    "git config --local --fixed-value --unset-all remote.origin.fetch '+refs/notes/*:refs/notes/*' && git config --local --add remote.origin.fetch '+refs/notes/*:refs/notes/remotes/origin/*' && git discern refresh"
  for (const verb of ['setup', 'refresh']) {
    const { result, exit } = await discern(s, verb, '--json')
    assert.equal(exit, 0)
    const [advisory] = result.advisories ?? []
    assert.equal(advisory?.kind, 'notes-mapping-forced')
    assert.equal(
      advisory?.evidence,
      `a fetch from origin overwrites refs/notes/discern, Proofs that are not published included: fetch = ${forced} (${s.path('r')}/.git/config)`,
    )
    assert.equal(advisory?.next_action, replacement)
  }
  assert.equal(s.read('r/.git/config'), before)
  const { wrong, about, run } = await diagnose(s, 'r')
  assert.equal(run.exit, 0)
  assert.deepEqual(wrong, [
    `warning: a fetch from origin overwrites refs/notes/discern, Proofs that are not published included: ${forced}`,
  ])
  assert.equal(about('fetch')[0]?.next_action, replacement)
  await obey(s, replacement)
  assert.deepEqual((await diagnose(s, 'r')).wrong, [])
})

test('case 31: notes that a fetch overwrote are seen by doctor and brought back by refresh, which says so', async t => {
  const s = scratch(t)
  await cloned(s)
  const mine = s.git('r', 'rev-parse', 'HEAD')
  s.git('r', 'notes', '--ref=discern', 'add', '-m', 'mine', mine)
  assert.equal((await discern(s, 'refresh')).exit, 0)
  s.git('up', 'notes', '--ref=discern', 'add', '-m', 'theirs', 'HEAD^')
  s.git('r', '-c', 'core.hooksPath=/dev/null', 'fetch', '-q', 'origin', '+refs/notes/*:refs/notes/*')
  assert.equal(s.tryGit('r', 'notes', '--ref=discern', 'show', mine).exit, 1)
  const { about } = await diagnose(s, 'r')
  assert.match(about('notes')[0]?.evidence ?? '', /^refs\/notes\/discern lost Proofs that were here/)
  const run = await discern(s, 'refresh', '--json')
  assert.deepEqual(
    run.result.advisories?.map(({ kind }) => kind),
    ['notes-restored'],
  )
  assert.equal(s.git('r', 'notes', '--ref=discern', 'show', mine), 'mine')
  assert.equal(s.git('r', 'notes', '--ref=discern', 'show', `${mine}^`), 'theirs')
  assert.deepEqual((await diagnose(s, 'r')).wrong, [])
})

test('doctor says which line keeps Proofs out of a fetch', async t => {
  const s = scratch(t)
  await cloned(s, '^refs/notes/*')
  assert.deepEqual((await diagnose(s, 'r')).wrong, [
    'warning: a fetch from origin brings no Proofs: ^refs/notes/* keeps them out',
  ])
})

test('case 35: a remote that came later has no mapping yet, and doctor says what adds it', async t => {
  const s = scratch(t)
  await cloned(s)
  s.git('r', 'remote', 'add', 'later', '../up')
  assert.deepEqual((await diagnose(s, 'r')).wrong, ['warning: a fetch from later brings no Proofs yet'])
})

test('remotes without a fetch line, and mirrors, are left alone without a warning', async t => {
  const s = scratch(t)
  await cloned(s)
  s.git('r', 'config', 'remote.pushonly.url', '../up')
  s.git('r', 'remote', 'add', '--mirror=push', 'copy', '../up')
  const before = s.read('r/.git/config')
  const run = await discern(s, 'refresh')
  assert.match(run.out, /^ {2}fetch from pushonly +left alone: it is a mirror, or has no fetch line of its own/m)
  assert.equal(s.read('r/.git/config'), before)
  assert.deepEqual((await diagnose(s, 'r')).wrong, [])
})

test('case 74: doctor reports remotes whose Proofs would share a file', async t => {
  const s = scratch(t)
  await cloned(s)
  s.git('r', 'remote', 'add', 'Origin', '../up')
  await discern(s, 'refresh')
  assert.deepEqual((await diagnose(s, 'r')).wrong, ['warning: the Proofs of Origin and origin may share one file'])
})

test('doctor says that fetched Proofs are not merged yet', async t => {
  const s = scratch(t)
  await cloned(s)
  s.git('up', 'notes', '--ref=discern', 'add', '-m', 'theirs')
  s.git('r', '-c', 'core.hooksPath=/dev/null', 'fetch', '-q', 'origin')
  assert.deepEqual((await diagnose(s, 'r')).wrong, [
    'warning: the Proofs of refs/discern/remotes/origin/notes are not merged',
  ])
  const dry = await discern(s, 'refresh', '--dry-run')
  assert.match(dry.out, /^ {2}Proof notes +adopt the notes of refs\/discern\/remotes\/origin\/notes$/m)
  assert.equal(s.tryGit('r', 'rev-parse', '-q', '--verify', 'refs/notes/discern').exit, 1)
  const run = await discern(s, 'refresh')
  assert.match(run.out, /^ {2}Proof notes +1 note adopted$/m)
  assert.deepEqual((await diagnose(s, 'r')).wrong, [])
})
