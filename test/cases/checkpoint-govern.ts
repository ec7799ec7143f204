import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { type Governing, governingPolicy } from '../../src/checkpoint/govern.ts'
import { questionPath } from '../../src/checkpoint/question-file.ts'
import { openScratch } from '../support/open.ts'
import { type Scratch, scratch } from '../support/scratch.ts'

/** Governs with a configuration and whatever else `prepare` puts into the commit. */
const govern = async (
  t: TestContext,
  config: string | Uint8Array | undefined,
  prepare: (s: Scratch) => void = () => {},
  ...init: string[]
): Promise<Governing> => {
  const s = scratch(t)
  s.init('r', ...init)
  if (config !== undefined) s.write('r/discern.toml', config)
  prepare(s)
  const commit = s.commit('r', 'policy')
  const { repository } = await openScratch(t, s, 'r')
  const governing = await governingPolicy(repository, commit)
  assert.equal(governing.commit, commit)
  for (const drop of governing.drops) assert.equal(drop.policy_commit, commit)
  return governing
}

const ids = ({ definitions }: Governing): readonly string[] => definitions.map(({ id }) => id)
const reasons = ({ drops }: Governing): readonly (readonly [string | null, string])[] =>
  drops.map(({ checkpoint, reason }) => [checkpoint, reason])

test('a commit without a configuration has no policy and loses nothing', async t => {
  const governing = await govern(t, undefined)
  assert.deepEqual([ids(governing), governing.drops, governing.configuration], [[], [], undefined])
})

test('a configuration that is no regular file is unreadable, and nothing governs', async t => {
  const governing = await govern(t, undefined, s => symlinkSync('f', s.path('r/discern.toml')))
  assert.deepEqual(reasons(governing), [[null, 'governing_config_unreadable']])
  assert.deepEqual([ids(governing), governing.configuration], [[], undefined])
})

test('a commit that is not here is unreadable', async t => {
  const s = scratch(t)
  s.init('r')
  const { repository } = await openScratch(t, s, 'r')
  assert.deepEqual(reasons(await governingPolicy(repository, 'd'.repeat(40))), [[null, 'governing_config_unreadable']])
})

const INVALID: readonly (readonly [what: string, config: string | Uint8Array])[] = [
  ['not TOML', '[checkpoints.a\n'],
  ['not UTF-8', Buffer.from([0x23, 0xff])],
  ['an unknown field', '[checkpoints.a]\nquestion = "q"\nadd_matching = ["x"]\n'],
  ['a wrong type', '[checkpoints.a]\nquestion = "q"\nmin_commits = "2"\n'],
  ['a question of a wrong type', '[checkpoints.a]\nquestion = 3\n'],
  ['an impossible pattern', '[checkpoints.a]\nquestion = "q"\npaths = ["+(a|a)*"]\n'],
  ['a generated pattern that cannot work', '[generated.g]\npaths = ["+(a|a)*"]\n[checkpoints.a]\nquestion = "q"\n'],
  [
    'another mistake beside a doubled question',
    '[checkpoints.a]\nquestion = "q"\nquestion_file = "f"\nbinary = "no"\n',
  ],
]

test('a configuration that is wrong elsewhere than in question or selector governs nothing', async t => {
  for (const [what, config] of INVALID) {
    const governing = await govern(t, config)
    assert.deepEqual(reasons(governing), [[null, 'governing_config_invalid']], what)
    assert.deepEqual([ids(governing), governing.configuration], [[], undefined], what)
  }
})

test('entries that are wrong in question or selector are lost one by one, the rest governs in the order of the file', async t => {
  const governing = await govern(
    t,
    `[scopes.docs]
paths = ["docs/**"]
[checkpoints.z]
question = "z?"
scope = "docs"
[checkpoints.none]
[checkpoints.blank]
question = " \\n"
mode = "advise"
[checkpoints.empty]
question = ""
[checkpoints.both]
question = "a"
question_file = "f"
[checkpoints.selector]
question = "a"
scope = "docs"
paths = ["a"]
[checkpoints.scope]
question = "a"
scope = "doc"
[checkpoints.2]
question = "two?"
[checkpoints.1]
question = "one?"
unless_changed = ["docs", "x"]
[checkpoints.effort-sprawl]
min_changed_files = 3
`,
  )
  assert.deepEqual(ids(governing), ['z', '2', '1', 'effort-sprawl'])
  assert.deepEqual(
    governing.drops.map(({ checkpoint, mode, reason }) => [checkpoint, mode, reason]),
    [
      ['none', 'stop', 'checkpoint_missing_question'],
      ['blank', 'advise', 'checkpoint_missing_question'],
      ['empty', 'stop', 'checkpoint_missing_question'],
      ['both', 'stop', 'checkpoint_question_source_conflict'],
      ['selector', 'stop', 'checkpoint_selector_conflict'],
      ['scope', 'stop', 'checkpoint_unknown_scope'],
    ],
  )
  const [first, , third, seeded] = governing.definitions
  assert.deepEqual(first?.trigger.selectorGlobs, ['docs/**'])
  assert.deepEqual(third?.trigger.unlessChanged, ['docs/**', 'x'])
  assert.deepEqual([seeded?.mode, seeded?.trigger.minChangedFiles], ['advise', 3])
  assert.deepEqual(Object.keys(governing.configuration?.checkpoints ?? {}).sort(), ['1', '2', 'effort-sprawl', 'z'])
})

test('facts 6.3: a question file is one regular file of the policy commit, with its line endings, at most 65,536 bytes', async t => {
  const entry = (id: string, path: string): string => `[checkpoints.${id}]\nquestion_file = ${JSON.stringify(path)}\n`
  const governing = await govern(
    t,
    [
      entry('good', './docs//q.md'),
      entry('full', 'full'),
      entry('glob', '[q].md'),
      entry('missing', 'docs/none.md'),
      entry('under', 'f/q.md'),
      entry('folder', 'docs'),
      entry('link', 'link'),
      entry('large', 'large'),
      entry('bytes', 'bytes'),
      entry('up', '../q.md'),
      entry('root', '/q.md'),
      entry('git', 'a/.GIT/q'),
    ].join(''),
    s => {
      s.write('r/docs/q.md', '\uFEFFa\r\nb\n')
      s.write('r/full', 'é'.repeat(32_768), 0o755)
      s.write('r/[q].md', 'g?')
      s.write('r/large', 'x'.repeat(65_537))
      s.write('r/bytes', Buffer.from([0x61, 0xff]))
      symlinkSync('full', s.path('r/link'))
    },
  )
  assert.deepEqual(
    governing.definitions.map(({ id, question, questionFile }) => [id, question, questionFile]),
    [
      ['good', '\uFEFFa\r\nb\n', 'docs/q.md'],
      ['full', 'é'.repeat(32_768), 'full'],
      ['glob', 'g?', '[q].md'],
    ],
  )
  assert.deepEqual(reasons(governing), [
    ['missing', 'checkpoint_question_file_missing'],
    ['under', 'checkpoint_question_file_missing'],
    ['folder', 'checkpoint_question_file_not_regular'],
    ['link', 'checkpoint_question_file_not_regular'],
    ['large', 'checkpoint_question_file_oversized'],
    ['bytes', 'checkpoint_question_file_invalid_utf8'],
    ['up', 'checkpoint_question_file_invalid_path'],
    ['root', 'checkpoint_question_file_invalid_path'],
    ['git', 'checkpoint_question_file_invalid_path'],
  ])
})

test('a question file whose content is not in the repository is unreadable', async t => {
  const s = scratch(t)
  s.init('r', '--object-format=sha256')
  s.write('r/discern.toml', '[checkpoints.a]\nquestion_file = "q"\n[checkpoints.b]\nquestion = "b?"\n')
  s.write('r/q', 'gone?')
  const commit = s.commit('r', 'policy')
  const oid = s.git('r', 'rev-parse', 'HEAD:q')
  s.sh('r', `rm -f .git/objects/${oid.slice(0, 2)}/${oid.slice(2)}`)
  const { repository } = await openScratch(t, s, 'r')
  const governing = await governingPolicy(repository, commit)
  assert.deepEqual(reasons(governing), [['a', 'checkpoint_question_file_unreadable']])
  assert.deepEqual(ids(governing), ['b'])
})

test('a branch that changes its questions in the work tree changes nothing of what governs', async t => {
  const s = scratch(t)
  s.init('r')
  s.write('r/discern.toml', '[checkpoints.a]\nquestion_file = "q"\n')
  s.write('r/q', 'asked?')
  const commit = s.commit('r', 'policy')
  s.write('r/discern.toml', '')
  s.write('r/q', 'nothing')
  s.commit('r', 'branch')
  const { repository } = await openScratch(t, s, 'r')
  assert.deepEqual(
    (await governingPolicy(repository, commit)).definitions.map(({ question }) => question),
    ['asked?'],
  )
})

test('a checkpoint whose selector refers to nothing is dormant, and generated groups are those of the policy', async t => {
  const governing = await govern(
    t,
    '[generated.g]\npaths = ["gen/**"]\n[checkpoints.a]\nquestion = "q"\npaths = ["$' +
      '{map.dir}**"]\n[checkpoints.b]\nquestion = "q"\n',
  )
  assert.deepEqual(
    governing.definitions.map(({ dormant }) => dormant),
    [true, false],
  )
  assert.deepEqual([governing.generated('gen/a'), governing.generated('a')], ['g', undefined])
})

test('a portable question path stays inside the project and outside the git directory', () => {
  for (const path of [
    '',
    '.',
    '/a',
    'a/',
    '../a',
    'a/../b',
    'a\\b',
    'C:a',
    '.git/a',
    'a/.Git/b',
    'nul',
    'a/CON.md',
    'a.',
    'a\nb',
    'a*b',
  ])
    assert.equal(questionPath(path), undefined, JSON.stringify(path))
  for (const [path, normal] of [
    ['a', 'a'],
    ['./a//b.md', 'a/b.md'],
    ['.github/q.md', '.github/q.md'],
    ['é/ü x.md', 'é/ü x.md'],
    ['console.md', 'console.md'],
  ] as const)
    assert.equal(questionPath(path), normal)
})
