import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type ConfigEntry, readConfig } from '../../src/git/config.ts'
import { NOTES_REF } from '../../src/git/notes.ts'
import { readRefs } from '../../src/git/refs.ts'
import {
  MARKER_KEY,
  mappingHazards,
  publicationOf,
  reconcileMapping,
  trackingClashes,
  trackingRefs,
} from '../../src/proof/remote.ts'
import { importHistories, note, openFor, subjectOf } from '../support/notes.ts'
import { type Scratch, scratch } from '../support/scratch.ts'

const mappingOf = (remote: string): string => `+refs/notes/discern*:refs/discern/remotes/${remote}/notes*`

const start = async (t: TestContext, script = '', name = 'r') => {
  const s = scratch(t)
  s.git('.', 'init', '-q', '--bare', 'up')
  s.git('.', 'init', '-q', name)
  const prepared = s.sh(name, script)
  assert.equal(prepared.exit, 0, prepared.err)
  return { s, at: s.path(name), repository: await openFor(t, s, name) }
}

type Place = Awaited<ReturnType<typeof start>>

const reconcile = async ({ repository }: Place, mode: 'local' | 'fetch', removeWhenLocal = true, dryRun = false) =>
  reconcileMapping(repository, await readConfig(repository), mode, { removeWhenLocal, dryRun })

const values = ({ s, at }: Place, key: string): readonly string[] =>
  s.tryGit(at, 'config', '--local', '--get-all', key).out.split('\n').filter(Boolean)

const configOf = ({ s, at }: Place): string => s.read(`${at}/.git/config`)

const ADD_ORIGIN = 'git remote add origin ../up'

/** Every row of the table in facts 11.4: what stands, in which mode, what is answered, what stands afterwards. */
const rows: readonly {
  readonly state: string
  readonly script: string
  readonly mode: 'local' | 'fetch'
  readonly answer: {
    readonly status: string
    readonly remotes?: readonly string[]
    readonly added?: readonly string[]
    readonly removed?: readonly string[]
  }
  readonly lines: readonly string[]
  readonly markers: readonly string[]
  readonly untouched?: true
}[] = [
  {
    state: 'mode local, no markers',
    script: `${ADD_ORIGIN}; git config --add remote.origin.fetch '${mappingOf('origin')}'`,
    mode: 'local',
    answer: { status: 'local', remotes: ['origin'] },
    lines: ['+refs/heads/*:refs/remotes/origin/*', mappingOf('origin')],
    markers: [],
    untouched: true,
  },
  {
    state: 'mode local, markers',
    script: `${ADD_ORIGIN}; git config --add remote.origin.fetch '${mappingOf('origin')}'; git config --add remote.origin.fetch +refs/x/*:refs/x/*; git config ${MARKER_KEY} origin`,
    mode: 'local',
    answer: { status: 'local', removed: ['origin'] },
    lines: ['+refs/heads/*:refs/remotes/origin/*', '+refs/x/*:refs/x/*'],
    markers: [],
  },
  {
    state: 'mode fetch, no remotes (case 34)',
    script: '',
    mode: 'fetch',
    answer: { status: 'no_remote' },
    lines: [],
    markers: [],
    untouched: true,
  },
  {
    state: 'a remote without marker and without mapping',
    script: ADD_ORIGIN,
    mode: 'fetch',
    answer: { status: 'wired', remotes: ['origin'], added: ['origin'] },
    lines: ['+refs/heads/*:refs/remotes/origin/*', mappingOf('origin')],
    markers: ['origin'],
  },
  {
    state: 'a remote without marker, the canonical mapping present',
    script: `${ADD_ORIGIN}; git config --add remote.origin.fetch '${mappingOf('origin')}'`,
    mode: 'fetch',
    answer: { status: 'unchanged', remotes: ['origin'] },
    lines: ['+refs/heads/*:refs/remotes/origin/*', mappingOf('origin')],
    markers: [],
    untouched: true,
  },
  {
    state: 'a marker, the mapping missing',
    script: `${ADD_ORIGIN}; git config ${MARKER_KEY} origin`,
    mode: 'fetch',
    answer: { status: 'wired', remotes: ['origin'], added: ['origin'] },
    lines: ['+refs/heads/*:refs/remotes/origin/*', mappingOf('origin')],
    markers: ['origin'],
  },
  {
    state: 'a marker and its mapping',
    script: `${ADD_ORIGIN}; git config ${MARKER_KEY} origin; git config --add remote.origin.fetch '${mappingOf('origin')}'`,
    mode: 'fetch',
    answer: { status: 'unchanged', remotes: ['origin'] },
    lines: ['+refs/heads/*:refs/remotes/origin/*', mappingOf('origin')],
    markers: ['origin'],
    untouched: true,
  },
  {
    state: 'a marker and duplicates of both',
    script: `${ADD_ORIGIN}; for n in 1 2 3; do git config --add ${MARKER_KEY} origin; git config --add remote.origin.fetch '${mappingOf('origin')}'; done`,
    mode: 'fetch',
    answer: { status: 'wired', remotes: ['origin'] },
    lines: ['+refs/heads/*:refs/remotes/origin/*', mappingOf('origin')],
    markers: ['origin'],
  },
  {
    state: 'an exact mapping, marker present',
    script: `${ADD_ORIGIN}; git config ${MARKER_KEY} origin; git config --add remote.origin.fetch +${NOTES_REF}:refs/discern/remotes/origin/notes`,
    mode: 'fetch',
    answer: { status: 'wired', remotes: ['origin'], added: ['origin'] },
    lines: [
      '+refs/heads/*:refs/remotes/origin/*',
      `+${NOTES_REF}:refs/discern/remotes/origin/notes`,
      mappingOf('origin'),
    ],
    markers: ['origin'],
  },
  {
    state: 'a remote that was removed',
    script: `${ADD_ORIGIN}; git config ${MARKER_KEY} gone; git config --add ${MARKER_KEY} origin; git config --add remote.origin.fetch '${mappingOf('origin')}'`,
    mode: 'fetch',
    answer: { status: 'wired', remotes: ['origin'], removed: ['gone'] },
    lines: ['+refs/heads/*:refs/remotes/origin/*', mappingOf('origin')],
    markers: ['origin'],
  },
  {
    state: 'a remote without a fetch line of its own',
    script: 'git config remote.origin.url ../up',
    mode: 'fetch',
    answer: { status: 'no_remote' },
    lines: [],
    markers: [],
    untouched: true,
  },
  {
    state: 'a remote whose own fetch line went away: ours alone would change what a fetch means',
    script: `git config remote.origin.url ../up; git config remote.origin.fetch '${mappingOf('origin')}'; git config ${MARKER_KEY} origin`,
    mode: 'fetch',
    answer: { status: 'no_remote', removed: ['origin'] },
    lines: [],
    markers: [],
  },
  {
    state: 'a mirror by its fetch line',
    script: 'git remote add --mirror=fetch origin ../up',
    mode: 'fetch',
    answer: { status: 'no_remote' },
    lines: ['+refs/*:refs/*'],
    markers: [],
    untouched: true,
  },
  {
    state: 'a mirror by its setting',
    script: `${ADD_ORIGIN}; git config remote.origin.mirror true`,
    mode: 'fetch',
    answer: { status: 'no_remote' },
    lines: ['+refs/heads/*:refs/remotes/origin/*'],
    markers: [],
    untouched: true,
  },
  {
    state: 'the mapping in an included file that we do not edit',
    script: `${ADD_ORIGIN}; printf '[remote "origin"]\\n\\tfetch = ${mappingOf('origin')}\\n\\tfetch = ${mappingOf('origin')}\\n' >.git/more; git config include.path more; git config ${MARKER_KEY} origin`,
    mode: 'fetch',
    answer: { status: 'unchanged', remotes: ['origin'] },
    lines: ['+refs/heads/*:refs/remotes/origin/*'],
    markers: ['origin'],
    untouched: true,
  },
]

for (const row of rows) {
  test(`fetch mapping: ${row.state}`, async t => {
    const place = await start(t, row.script)
    const before = configOf(place)
    const planned = await reconcile(place, row.mode, true, true)
    assert.equal(configOf(place), before, 'a dry run edits nothing')
    const result = await reconcile(place, row.mode)
    assert.deepEqual(result, planned, 'and answers the same')
    assert.deepEqual(result, { mode: row.mode, remotes: [], added: [], removed: [], errors: [], ...row.answer })
    assert.deepEqual(values(place, 'remote.origin.fetch'), row.lines)
    assert.deepEqual(values(place, MARKER_KEY), row.markers)
    if (row.untouched) assert.equal(configOf(place), before, 'not a byte of the configuration changed')
    assert.deepEqual(values(place, 'remote.origin.push'), [])
    const settled = configOf(place)
    const again = await reconcile(place, row.mode)
    assert.deepEqual([again.added, again.removed], [[], []])
    assert.equal(configOf(place), settled, 'and the next time nothing changes')
  })
}

test('fetch mapping: in mode local a hook or another verb leaves it alone, so that switching branches edits nothing', async t => {
  const place = await start(t, ADD_ORIGIN)
  await reconcile(place, 'fetch')
  const wired = configOf(place)
  const result = await reconcile(place, 'local', false)
  assert.deepEqual([result.status, result.removed, result.remotes], ['local', [], ['origin']])
  assert.equal(configOf(place), wired)
})

test('fetch mapping: adding and removing it leaves the configuration as it was, byte by byte', async t => {
  const place = await start(t, ADD_ORIGIN)
  const before = configOf(place)
  await reconcile(place, 'fetch')
  assert.notEqual(configOf(place), before)
  await reconcile(place, 'local')
  assert.equal(configOf(place), before)
})

test('fetch mapping: one remote that fails does not keep the others from it, and leaves no marker behind', async t => {
  const place = await start(t, 'git remote add bad ../up; git remote add good ../up')
  const real = place.s.exec('.', 'sh', ['-c', 'command -v git']).out.trim()
  place.s.write(
    'bin/git',
    `#!/bin/sh\ncase "$*" in *"--add remote.bad.fetch"*) exit 4 ;; esac\nexec ${real} "$@"\n`,
    0o755,
  )
  const result = await reconcile(place, 'fetch')
  assert.equal(result.status, 'failed')
  assert.deepEqual([result.added, result.errors.map(({ remote }) => remote)], [['good'], ['bad']])
  assert.deepEqual(values(place, MARKER_KEY), ['good'])
  assert.deepEqual(values(place, 'remote.good.fetch').length, 2)
})

test('case 32: with our mapping a fetch succeeds before anybody published, and brings exactly our ref afterwards', async t => {
  const place = await start(t, ADD_ORIGIN)
  const { s, at } = place
  await reconcile(place, 'fetch')
  assert.equal(s.tryGit(at, 'fetch', '-q', 'origin').exit, 0)
  const [tip] = importHistories(s, 'up', [
    { ref: NOTES_REF, files: { [subjectOf('a')]: note('a') } },
    { ref: 'refs/notes/discern-other', files: { [subjectOf('b')]: note('b') } },
  ])
  assert.equal(s.tryGit(at, 'fetch', '-q', 'origin').exit, 0)
  const entries = await readConfig(place.repository)
  assert.deepEqual(trackingRefs(entries), ['refs/discern/remotes/origin/notes'])
  assert.equal(s.git(at, 'rev-parse', 'refs/discern/remotes/origin/notes'), tip)
})

test('case 32: a line that names our ref without a star is named with the command that removes it, and not touched', async t => {
  const place = await start(t, `${ADD_ORIGIN}; git config --add remote.origin.fetch ${NOTES_REF}:refs/mine`)
  assert.equal(place.s.tryGit(place.at, 'fetch', 'origin').exit, 128, 'the recipe breaks every fetch')
  await reconcile(place, 'fetch')
  const [hazard, ...more] = mappingHazards(await readConfig(place.repository))
  assert.deepEqual([hazard?.kind, hazard?.line, more.length], ['exact', `${NOTES_REF}:refs/mine`, 0])
  for (const command of hazard?.commands ?? []) assert.equal(place.s.sh(place.at, command).exit, 0)
  assert.equal(place.s.tryGit(place.at, 'fetch', 'origin').exit, 0)
})

test('case 34: with no remote nothing is written below remote, so that one can still be added', async t => {
  const place = await start(t)
  await reconcile(place, 'fetch')
  assert.equal(place.s.tryGit(place.at, 'remote', 'add', 'origin', '../up').exit, 0)
})

test('case 35: a remote that comes later, with slashes and dots in its name, gets the mapping at the next convergence', async t => {
  const place = await start(t)
  assert.equal((await reconcile(place, 'fetch', false)).status, 'no_remote')
  place.s.git(place.at, 'remote', 'add', 'team/up.stream', '../up')
  const result = await reconcile(place, 'fetch', false)
  assert.deepEqual([result.status, result.added], ['wired', ['team/up.stream']])
  const [tip] = importHistories(place.s, 'up', [{ ref: NOTES_REF, files: { [subjectOf('a')]: note('a') } }])
  place.s.git(place.at, 'fetch', '-q', 'team/up.stream')
  const [ref = ''] = trackingRefs(await readConfig(place.repository))
  assert.equal(place.s.git(place.at, 'rev-parse', ref), tip)
})

test('a linked worktree edits the configuration that all share', async t => {
  const s = scratch(t)
  s.init('r')
  s.git('r', 'remote', 'add', 'origin', '../up')
  s.git('r', 'worktree', 'add', '-q', '../wt', '-b', 'wt')
  const place = { s, at: s.path('r'), repository: await openFor(t, s, 'wt') }
  assert.equal((await reconcile(place, 'fetch')).status, 'wired')
  assert.deepEqual(values(place, MARKER_KEY), ['origin'])
  assert.equal((await reconcile(place, 'fetch')).status, 'unchanged')
})

test('a name that makes no ref is no remote of ours: no pattern, no mapping that would break every fetch', async t => {
  const place = await start(
    t,
    `git config 'remote.*.fetch' +refs/heads/*:refs/x/*; git config 'remote.a..b.fetch' +refs/heads/*:refs/x/*`,
  )
  const before = configOf(place)
  assert.equal((await reconcile(place, 'fetch')).status, 'no_remote')
  assert.equal(configOf(place), before)
  assert.deepEqual(trackingRefs(await readConfig(place.repository)), [])
})

test('case 31: a forced line that covers our ref is found wherever it stands, with what to do about it', async t => {
  const found = async (lines: readonly string[]) => {
    const place = await start(
      t,
      [ADD_ORIGIN, ...lines.map(line => `git config --add remote.origin.fetch '${line}'`)].join('; '),
    )
    return { place, hazards: mappingHazards(await readConfig(place.repository)) }
  }
  for (const line of [
    '+refs/notes/*:refs/notes/*',
    '+refs/notes/*:refs/notes/*n',
    `+${NOTES_REF}:${NOTES_REF}`,
    '+refs/*:refs/*',
  ]) {
    const { place, hazards } = await found([line])
    const [hazard] = hazards
    assert.deepEqual([hazards.length, hazard?.kind, hazard?.line], [1, 'forced', line])
    assert.match(hazard?.origin ?? '', /^file:.*config$/)
    for (const command of hazard?.commands ?? []) assert.equal(place.s.sh(place.at, command).exit, 0, command)
    assert.deepEqual(mappingHazards(await readConfig(place.repository)), [], 'the replacement is safe')
  }
  for (const lines of [
    ['refs/notes/*:refs/notes/*'],
    ['+refs/notes/*:refs/remote-notes/*'],
    ['+refs/notes/commits:refs/notes/commits'],
    ['+refs/notes/*:refs/notes/*', `^${NOTES_REF}`],
    [mappingOf('origin')],
  ]) {
    assert.deepEqual((await found(lines)).hazards, [], lines.join())
  }
})

test('case 31: the commands for a line in the global file name that file', () => {
  const entry: ConfigEntry = {
    scope: 'global',
    origin: 'file:/home/dev/.gitconfig',
    key: "remote.it's.fetch",
    value: '+refs/notes/*:refs/notes/*',
  }
  const [hazard] = mappingHazards([entry])
  assert.deepEqual(hazard?.commands, [
    `git config --global --fixed-value --unset-all 'remote.it'\\''s.fetch' '+refs/notes/*:refs/notes/*'`,
    `git config --global --add 'remote.it'\\''s.fetch' '+refs/notes/*:refs/notes/remotes/it'\\''s/*'`,
  ])
})

test('case 74: remotes whose tracking refs would be one file, or one inside the other, are named', () => {
  const remotes = (...names: string[]): ConfigEntry[] =>
    names.map(name => ({ scope: 'local', origin: 'file:x', key: `remote.${name}.url`, value: '../up' }))
  assert.deepEqual(trackingClashes(remotes('Origin', 'origin', 'up')), [['Origin', 'origin']])
  assert.deepEqual(trackingClashes(remotes('a', 'A/notes')), [['A/notes', 'a']])
  assert.deepEqual(trackingClashes(remotes('origin', 'original', 'origin-2')), [])
})

test('publication says of each remote how far our notes have come, and what it cannot know', async t => {
  const s: Scratch = scratch(t)
  s.git('.', 'init', '-q', 'r')
  const names = ['same', 'ahead', 'behind', 'apart', 'silent', 'contested'] as const
  const tracking = (name: string): string => `refs/discern/remotes/${name}/notes`
  importHistories(s, 'r', [
    { ref: tracking('behind'), files: { [subjectOf('a')]: note('a') } },
    { ref: NOTES_REF, from: tracking('behind'), files: { [subjectOf('b')]: note('b') } },
    { ref: tracking('same'), from: NOTES_REF, files: {} },
    { ref: tracking('ahead'), from: NOTES_REF, files: { [subjectOf('c')]: note('c') } },
    { ref: tracking('apart'), files: { [subjectOf('d')]: note('d') } },
    { ref: tracking('contested'), files: { [subjectOf('a')]: note('x') } },
  ])
  s.git('r', 'update-ref', tracking('same'), NOTES_REF)
  for (const name of names) s.git('r', 'remote', 'add', name, '../up')
  const repository = await openFor(t, s, 'r')
  const refs = await readRefs(repository, ['refs/notes', 'refs/discern'])
  const conflict = { subject: subjectOf('a'), local: ['1'], remote: ['2'], ref: tracking('contested') }
  const entries = await readConfig(repository)
  const states = await publicationOf(repository, entries, refs, refs.get(NOTES_REF)?.oid, [conflict])
  assert.deepEqual(Object.fromEntries(states.map(({ remote, state }) => [remote, state])), {
    same: 'published',
    ahead: 'published',
    behind: 'behind',
    apart: 'diverged',
    silent: 'unknown',
    contested: 'conflict',
  })
  assert.equal(states.find(({ remote }) => remote === 'behind')?.command, `git push behind ${NOTES_REF}`)
  const none = await publicationOf(repository, entries, refs, undefined, [])
  assert.ok(
    none.every(({ state }) => state === 'published'),
    'without notes nothing is unpublished',
  )
})
