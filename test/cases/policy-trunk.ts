import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Refusal } from '../../src/errors.ts'
import { readConfig } from '../../src/git/config.ts'
import { headBranch, readRefs } from '../../src/git/refs.ts'
import { openRepository } from '../../src/git/repository.ts'
import { resolveTrunk, type Trunk } from '../../src/policy/trunk.ts'
import { contextFor } from '../support/gate.ts'
import { type Scratch, scratch } from '../support/scratch.ts'

/** Asks about a real repository, with everything read as the program reads it. */
const trunkOf = async (
  t: TestContext,
  s: Scratch,
  name: string,
  configured?: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Trunk> => {
  const repository = await openRepository({
    ...contextFor(s.path(name), { ...s.env, ...env }),
    defer: close => t.after(close),
  })
  const [refs, entries, current] = await Promise.all([
    readRefs(repository, ['refs/heads/', 'refs/remotes/']),
    readConfig(repository),
    headBranch(repository),
  ])
  return resolveTrunk({ configured, env, refs, entries, current })
}

const refused = async (work: Promise<Trunk>): Promise<Refusal<'trunk_unknown'>['detail']> => {
  const error = await work.then(
    trunk => new Error(`resolved to ${trunk.ref}`),
    (thrown: unknown) => thrown,
  )
  if (error instanceof Refusal && error.slug === 'trunk_unknown') return (error as Refusal<'trunk_unknown'>).detail
  throw error
}

/** A home whose configuration names no default branch. */
const withoutDefault = (s: Scratch): void => {
  s.write('home/.gitconfig', '[user]\n\tname = Dev\n\temail = dev@example.invalid\n')
}

test('case 54: the only branch is the trunk, whatever its name', async t => {
  const s = scratch(t)
  s.init('r', '-b', 'trunk')
  assert.deepEqual(await trunkOf(t, s, 'r'), {
    ref: 'refs/heads/trunk',
    target: 'refs/heads/trunk',
    name: 'trunk',
    source: 'only-branch',
    local: true,
  })
  s.init('h', '-b', 'HEAD-less')
  s.git('h', 'update-ref', 'refs/heads/HEAD', 'HEAD')
  s.git('h', 'symbolic-ref', 'HEAD', 'refs/heads/HEAD')
  s.git('h', 'update-ref', '-d', 'refs/heads/HEAD-less')
  assert.equal((await trunkOf(t, s, 'h')).ref, 'refs/heads/HEAD')
})

test('case 54: several branches and no word from anybody is a question, even when one is called main', async t => {
  const s = scratch(t)
  withoutDefault(s)
  s.init('r', '-b', 'main')
  s.git('r', 'branch', 'topic/a')
  const detail = await refused(trunkOf(t, s, 'r'))
  assert.deepEqual(detail.candidates, ['main', 'topic/a'])
  assert.equal(detail.reason, 'nothing is configured, there is no remote, and there are 2 branches')
})

test('case 54: git’s own default branch breaks a tie when it exists, and only then', async t => {
  const s = scratch(t)
  withoutDefault(s)
  s.init('r', '-b', 'dev')
  s.git('r', 'branch', 'other')
  s.git('r', 'config', 'init.defaultBranch', 'missing')
  assert.deepEqual((await refused(trunkOf(t, s, 'r'))).candidates, ['dev', 'other'])
  s.git('r', 'config', 'init.defaultBranch', 'other')
  const { name, source } = await trunkOf(t, s, 'r')
  assert.deepEqual([name, source], ['other', 'default-branch'])
})

test('case 54: an unborn repository has no trunk yet, and the refusal says so', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', '-b', 'start', 'r')
  const detail = await refused(trunkOf(t, s, 'r'))
  assert.deepEqual([detail.reason, detail.candidates], ['start has no commit, and there is no branch', []])
})

test('case 54: the configured trunk wins over the remote, and DISCERN_TRUNK over both', async t => {
  const s = scratch(t)
  s.init('up', '-b', 'main')
  s.git('up', 'branch', 'release')
  s.git('up', 'branch', 'next')
  s.git('.', 'clone', '-q', 'up', 'r')
  s.git('r', 'branch', 'release', 'origin/release')
  const summary = ({ ref, source, local, remote, tracking }: Trunk) => [ref, source, local, remote, tracking]
  assert.deepEqual(summary(await trunkOf(t, s, 'r')), [
    'refs/heads/main',
    'remote-head',
    true,
    'origin',
    'refs/remotes/origin/main',
  ])
  assert.deepEqual(summary(await trunkOf(t, s, 'r', 'release')), [
    'refs/heads/release',
    'configuration',
    true,
    'origin',
    'refs/remotes/origin/release',
  ])
  for (const value of ['next', ' refs/heads/next ']) {
    assert.deepEqual(summary(await trunkOf(t, s, 'r', 'release', { DISCERN_TRUNK: value })), [
      'refs/heads/next',
      'environment',
      false,
      'origin',
      'refs/remotes/origin/next',
    ])
  }
  assert.equal((await trunkOf(t, s, 'r', 'release', { DISCERN_TRUNK: '' })).name, 'release')
  assert.deepEqual(summary(await trunkOf(t, s, 'r', 'nowhere')), [
    'refs/heads/nowhere',
    'configuration',
    false,
    undefined,
    undefined,
  ])
})

test('case 54: the only remote counts under any name, and of several only origin', async t => {
  const s = scratch(t)
  withoutDefault(s)
  s.init('up', '-b', 'dev')
  s.git('up', 'branch', 'other')
  s.git('.', 'clone', '-q', '-o', 'team/one', 'up', 'r')
  s.git('r', 'branch', 'topic')
  const only = await trunkOf(t, s, 'r')
  assert.deepEqual([only.name, only.source, only.tracking], ['dev', 'remote-head', 'refs/remotes/team/one/dev'])
  s.git('r', 'remote', 'add', 'second', '../up')
  assert.match((await refused(trunkOf(t, s, 'r'))).reason, /none of the remotes second, team\/one is called origin/)
  s.git('r', 'remote', 'rename', 'second', 'origin')
  s.git('r', 'fetch', '-q', 'origin')
  s.git('r', 'symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/other')
  assert.equal((await trunkOf(t, s, 'r')).name, 'other')
})

test('case 54: without the remote’s HEAD its branches are candidates like the local ones', async t => {
  const s = scratch(t)
  withoutDefault(s)
  s.init('up', '-b', 'dev')
  s.git('up', 'branch', 'feat')
  s.git('.', 'clone', '-q', '-b', 'feat', 'up', 'r')
  s.git('r', 'remote', 'set-head', 'origin', '-d')
  const detail = await refused(trunkOf(t, s, 'r'))
  assert.deepEqual(detail.candidates, ['dev', 'feat'])
  assert.match(detail.reason, /refs\/remotes\/origin\/HEAD is not set/)
  // A plain id where git usually keeps a symbolic ref is still no branch.
  s.git('r', 'update-ref', '--no-deref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/dev')
  assert.deepEqual((await refused(trunkOf(t, s, 'r'))).candidates, ['dev', 'feat'])
})

test('case 54: a trunk that only the remote has says so, as in a detached checkout', async t => {
  const s = scratch(t)
  withoutDefault(s)
  s.init('up', '-b', 'dev')
  s.git('.', 'init', '-q', 'r')
  s.git('r', 'remote', 'add', 'origin', '../up')
  s.git('r', 'fetch', '-q', 'origin', '+refs/heads/dev:refs/remotes/origin/dev')
  s.git('r', 'checkout', '-q', '--detach', 'origin/dev')
  assert.deepEqual(await trunkOf(t, s, 'r'), {
    ref: 'refs/heads/dev',
    target: 'refs/heads/dev',
    name: 'dev',
    source: 'only-branch',
    local: false,
    remote: 'origin',
    tracking: 'refs/remotes/origin/dev',
  })
})

test('case 54: a symbolic trunk is moved at its target, and its alias is no candidate of its own', async t => {
  const s = scratch(t)
  s.init('r', '-b', 'develop')
  s.git('r', 'symbolic-ref', 'refs/heads/trunk', 'refs/heads/develop')
  const named = await trunkOf(t, s, 'r', 'trunk')
  assert.deepEqual([named.ref, named.target, named.name], ['refs/heads/trunk', 'refs/heads/develop', 'trunk'])
  const found = await trunkOf(t, s, 'r')
  assert.deepEqual([found.ref, found.source], ['refs/heads/develop', 'only-branch'])
  s.git('r', 'update-ref', 'refs/remotes/x/y', 'HEAD')
  s.git('r', 'symbolic-ref', 'refs/heads/odd', 'refs/remotes/x/y')
  assert.match((await refused(trunkOf(t, s, 'r', 'odd'))).reason, /points at refs\/remotes\/x\/y, which is no branch/)
})

test('case 54: a tag of the same name never shadows the branch', async t => {
  const s = scratch(t)
  s.init('r', '-b', 'main')
  s.git('r', 'tag', 'main')
  s.git('r', 'tag', 'other')
  assert.equal((await trunkOf(t, s, 'r')).ref, 'refs/heads/main')
  assert.equal((await trunkOf(t, s, 'r', 'other')).local, false)
})
