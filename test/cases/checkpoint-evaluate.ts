import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ChangedFile, Facts } from '../../src/change/facts.ts'
import { type Decision, evaluate, needsOf } from '../../src/checkpoint/evaluate.ts'
import type { Entry } from '../../src/checkpoint/seeds.ts'
import { changeOf, decide, factsOf, file, triggerOf, type World } from '../support/checkpoint.ts'
import { oracle, PATTERNS, POOL, type Spec, shown } from '../support/oracle.ts'

const generated = (path: string): string | undefined => (path.startsWith('gen/') ? 'g' : undefined)

/** A change with one of everything, and the facts about it. */
const FILES: readonly ChangedFile[] = [
  file('M', 'src/a.ts', { insertions: 3, deletions: 40 }),
  file('A', 'src/a2.ts', { insertions: 5, deletions: 0 }),
  file('A', 'src/new/b.ts', { insertions: 1, deletions: 0 }),
  file('D', 'src/old.ts', { insertions: 0, deletions: 20 }),
  file('A', 'logo.png', { insertions: 0, deletions: 0, binary: { known: true } }),
  file('M', 'docs/r.md', { insertions: 10, deletions: 10 }),
  file('M', 'gen/g.ts', { insertions: 500, deletions: 900 }),
]
const WORLD: World = {
  commits: 3,
  base: ['src/a.ts', 'src/old.ts', 'docs/r.md', 'gen/g.ts', 'docs/deep/er/x.md'],
  lines: {
    'src/a.ts': { added: ['eval(x)', 'y'], removed: ['test(1)'] },
    'src/a2.ts': { added: ['Eval(x)'] },
    'src/new/b.ts': { added: ['eval(y)'] },
    'src/old.ts': { removed: ['eval(z)', 'test(2)'] },
    'logo.png': {},
    'docs/r.md': { added: ['words'], removed: ['test(3)'] },
    'gen/g.ts': { added: ['eval('], removed: ['test('] },
  },
}
const ALL = '+docs/r.md logo.png src/a.ts src/a2.ts src/new/b.ts src/old.ts'

const EXPECTED: readonly (readonly [entry: Entry, expected: string])[] = [
  // Each field alone.
  [{}, ALL],
  [{ paths: ['src/**'] }, '+src/a.ts src/a2.ts src/new/b.ts src/old.ts'],
  [{ paths: [] }, '-empty_matched_set'],
  [{ paths: ['lib/**'] }, '-empty_matched_set'],
  [{ scope: 'docs' }, '+docs/r.md'],
  [{ include_generated: true }, ALL.replace(' logo', ' gen/g.ts logo')],
  [{ exclude_paths: ['src/**', '*.png'] }, '+docs/r.md'],
  [{ exclude_paths: ['**'] }, '-excluded_only'],
  [{ kinds: ['deleted'] }, '+src/old.ts'],
  [{ kinds: ['added', 'deleted'] }, '+logo.png src/a2.ts src/new/b.ts src/old.ts'],
  [{ adds_matching: ['eval('] }, '+src/a.ts src/new/b.ts'],
  [{ adds_matching: ['absent', 'Eval'] }, '+src/a2.ts'],
  [{ adds_matching: ['EVAL('] }, '-adds_matching'],
  [{ removes_matching: ['test('] }, '+docs/r.md src/a.ts src/old.ts'],
  [{ removes_matching: ['y'] }, '-removes_matching'],
  [{ new_directory: true }, '+src/new/b.ts'],
  [{ binary: true }, '+logo.png'],
  [{ binary: false }, '+docs/r.md src/a.ts src/a2.ts src/new/b.ts src/old.ts'],
  [{ similar_new_file: true }, '+src/a2.ts src/a2.ts~src/a.ts'],
  [{ unless_changed: ['docs'] }, '-unless_changed'],
  [{ unless_changed: ['tests/**'] }, ALL],
  [{ min_changed_files: 6 }, ALL],
  [{ min_changed_files: 7 }, '-min_changed_files'],
  [{ min_changed_lines: 89 }, ALL],
  [{ min_changed_lines: 90 }, '-min_changed_lines'],
  [{ deletion_dominant: true }, ALL],
  [{ min_commits: 3 }, ALL],
  [{ min_commits: 4 }, '-min_commits'],
  [{ when: 'ask' }, `${ALL} when`],
  [{ when: ' ' }, ALL],
  [{ mode: 'advise', question: 'q', question_file: 'f', teach: 't', reference: 'r' }, ALL],
  // Pairs: the earlier step decides, and narrows what the later one sees.
  [{ paths: ['gen/**'] }, '-generated_only'],
  [{ paths: ['gen/**'], exclude_paths: ['gen/**'] }, '-generated_only'],
  [{ paths: ['gen/**'], include_generated: true }, '+gen/g.ts'],
  [{ paths: ['docs/**'], exclude_paths: ['docs/**'] }, '-excluded_only'],
  [{ paths: ['docs/**'], kinds: ['added'] }, '-kinds'],
  [{ exclude_paths: ['src/old.ts'], kinds: ['deleted'] }, '-kinds'],
  [{ kinds: ['deleted'], adds_matching: ['eval('] }, '-adds_matching'],
  [{ adds_matching: ['eval('], removes_matching: ['test('] }, '+src/a.ts'],
  [{ adds_matching: ['Eval'], removes_matching: ['test('] }, '-removes_matching'],
  [{ adds_matching: ['eval('], new_directory: true }, '+src/new/b.ts'],
  [{ removes_matching: ['test('], new_directory: true }, '-new_directory'],
  [{ new_directory: true, binary: true }, '-binary'],
  [{ new_directory: true, exclude_paths: ['src/*.ts'] }, '+src/new/b.ts'],
  [{ binary: true, similar_new_file: true }, '-similar_new_file'],
  [{ similar_new_file: true, exclude_paths: ['src/a.ts'] }, '-similar_new_file'],
  [{ similar_new_file: true, min_changed_files: 2 }, '-min_changed_files'],
  [{ similar_new_file: true, min_changed_lines: 6 }, '-min_changed_lines'],
  [{ similar_new_file: true, min_changed_lines: 5 }, '+src/a2.ts src/a2.ts~src/a.ts'],
  [{ paths: ['src/**'], unless_changed: ['*.md'] }, '-unless_changed'],
  [{ exclude_paths: ['docs/**'], unless_changed: ['docs'] }, '+logo.png src/a.ts src/a2.ts src/new/b.ts src/old.ts'],
  [{ unless_changed: ['gen/**'] }, ALL],
  [{ unless_changed: ['gen/**'], include_generated: true }, '-unless_changed'],
  [{ unless_changed: ['docs'], min_changed_files: 99 }, '-unless_changed'],
  [{ min_changed_files: 99, min_changed_lines: 999 }, '-min_changed_files'],
  [{ min_changed_lines: 999, deletion_dominant: true }, '-min_changed_lines'],
  [{ paths: ['docs/**'], deletion_dominant: true }, '-deletion_dominant'],
  [{ paths: ['src/old.ts'], deletion_dominant: true }, '-deletion_dominant'],
  [{ paths: ['src/a.ts', 'src/old.ts'], deletion_dominant: true }, '+src/a.ts src/old.ts'],
  [{ kinds: ['added'], deletion_dominant: true }, '-deletion_dominant'],
  [{ paths: ['docs/**'], deletion_dominant: true, min_commits: 9 }, '-deletion_dominant'],
  [{ min_commits: 4, when: 'ask' }, '-min_commits'],
  [{ kinds: ['deleted'], when: 'ask' }, '+src/old.ts when'],
  [{ binary: true, min_changed_lines: 1 }, '-min_changed_lines'],
]

/** Facts with nothing in them but what some definition needs; folders are answered from the listing. */
const collected = (entry: Entry, files: readonly ChangedFile[], world: World): Facts => {
  const trigger = triggerOf(entry, { docs: ['docs/**'] })
  const needs = needsOf([{ id: 'c', trigger }], changeOf(...files), { generated })
  const complete = factsOf(world)
  const holds = new Map(
    (needs.baseHolds ?? []).map(({ key, folder, admits }) => [
      key,
      { known: (world.base ?? []).some(path => path.startsWith(`${folder}/`) && admits(path)) },
    ]),
  )
  const folders = 'known' in complete.baseFiles ? complete.baseFiles.known : undefined
  return {
    lines: new Map([...complete.lines].filter(([path]) => needs.content.includes(path))),
    history: needs.history ? complete.history : { unavailable: 'git_failed' },
    baseFiles: folders
      ? { known: new Map([...folders].filter(([folder]) => needs.baseFolders.includes(folder))) }
      : complete.baseFiles,
    baseHolds: holds,
  }
}

const judged = (entry: Entry, files: readonly ChangedFile[], world: World): Decision =>
  evaluate(
    { id: 'c', trigger: triggerOf(entry, { docs: ['docs/**'] }) },
    changeOf(...files),
    collected(entry, files, world),
    generated,
  )

test('facts 2.3: each field alone and with the next decides as its step says', () => {
  for (const [entry, expected] of EXPECTED) {
    assert.equal(shown(judged(entry, FILES, WORLD)), expected, JSON.stringify(entry))
  }
})

test('a change without any path matches nothing', () => {
  assert.equal(shown(decide({}, [], factsOf({}))), '-empty_matched_set')
})

test('facts 2.3, step 7: a folder is new unless the policy commit has an admitted file at any depth below it', () => {
  const holds = (path: string, base: readonly string[], entry: Entry = {}): string =>
    shown(judged({ ...entry, new_directory: true }, [file('A', path)], { base }))
  assert.equal(holds('a/b/c', []), '+a/b/c')
  assert.equal(holds('a/b/c', ['a/x']), '+a/b/c')
  assert.equal(holds('a/c', ['a/b/x']), '-new_directory')
  assert.equal(holds('a/c', ['a/b/c/d/x']), '-new_directory')
  assert.equal(holds('a/c', ['a']), '+a/c')
  assert.equal(holds('a/c', ['ab/x']), '+a/c')
  assert.equal(holds('c', []), '-new_directory')
  assert.equal(holds('a/c', ['a/x', 'a/b/y'], { exclude_paths: ['a/x', '*/b/y'] }), '+a/c')
  assert.equal(holds('gen/c', ['gen/x'], { include_generated: true }), '-new_directory')
})

test('a folder whose deep content was not asked for is new only when it is not there', () => {
  const decision = (base: readonly string[]): string =>
    shown(decide({ new_directory: true }, [file('A', 'a/c')], factsOf({ base })))
  assert.equal(decision([]), '+a/c')
  assert.equal(decision(['a/x']), '-new_directory')
  assert.equal(decision(['a/b/x']), '!content a/c: the folder a of the policy commit is unreadable')
})

test('a similar file that this change deletes does not count, and several siblings are all named', () => {
  const files = [file('A', 'a2.ts'), file('D', 'a.ts')]
  assert.equal(shown(judged({ similar_new_file: true }, files, { base: ['a.ts'] })), '-similar_new_file')
  const world = { base: ['a_old.ts', 'a.ts', 'b/a.ts'] }
  assert.equal(shown(judged({ similar_new_file: true, kinds: ['added'] }, files, world)), '+a2.ts a2.ts~a_old.ts')
  assert.equal(
    shown(judged({ similar_new_file: true }, [file('A', 'a2.ts')], world)),
    '+a2.ts a2.ts~a.ts a2.ts~a_old.ts',
  )
})

test('deletions dominate from 50 lines and from twice the insertions on', () => {
  const of = (insertions: number, deletions: number): string =>
    shown(decide({ deletion_dominant: true }, [file('M', 'a', { insertions, deletions })], factsOf({})))
  assert.deepEqual(
    [of(0, 49), of(0, 50), of(25, 50), of(26, 51), of(100, 200)],
    ['-deletion_dominant', '+a', '+a', '-deletion_dominant', '+a'],
  )
})

const unknown = { binary: { unavailable: 'unreadable' } } as const

test('a fact that is missing drops what needs it, and nothing else', () => {
  const files = [file('M', 'a'), file('M', 'odd', unknown), file('M', 'z')]
  const world: World = { lines: { a: { added: ['x'] } }, lostLines: ['z'], history: { unavailable: 'shallow' } }
  const decision = (entry: Entry): string => shown(decide(entry, files, factsOf(world)))
  assert.equal(decision({}), '+a odd z')
  assert.equal(decision({ min_changed_files: 3 }), '+a odd z')
  assert.equal(decision({ paths: ['a', 'z'], adds_matching: ['x'] }), '!content z: file_limit')
  assert.equal(decision({ paths: ['a'], adds_matching: ['x'] }), '+a')
  for (const entry of [
    { binary: true },
    { binary: false },
    { min_changed_lines: 1 },
    { deletion_dominant: true },
    { when: 'x' },
  ])
    assert.equal(decision(entry), '!content odd: unreadable', JSON.stringify(entry))
  assert.equal(decision({ exclude_paths: ['odd'], min_changed_lines: 1 }), '+a z')
  assert.equal(decision({ kinds: ['added'], binary: true }), '-kinds')
  assert.equal(decision({ min_commits: 0 }), '!history the commits since the policy commit: shallow')
  assert.equal(decision({ min_changed_files: 4, min_commits: 1 }), '-min_changed_files')
  const lost = factsOf({ baseFiles: { unavailable: 'object-missing' } })
  assert.equal(shown(decide({ similar_new_file: true }, [file('A', 'a')], lost)), '!content a: object-missing')
  assert.equal(shown(decide({ similar_new_file: true }, [file('M', 'a')], lost)), '-similar_new_file')
})

test('facts 2.2: 64 MiB of comparison are admitted for one definition, lines and separators times texts, one byte more is not', () => {
  const line = 'a'.repeat(8_191)
  const lines = (count: number, more: readonly string[] = []): readonly string[] => [
    ...Array(count).fill(line),
    ...more,
  ]
  const texts = Array.from({ length: 16 }, (_, at) => `x${at}`)
  const decision = (added: readonly string[], entry: Entry): string =>
    shown(decide(entry, [file('M', 'f')], factsOf({ lines: { f: { added, removed: ['x0'] } } })))
  assert.equal(decision(lines(512), { adds_matching: texts }), '-adds_matching')
  assert.equal(decision(lines(512, ['']), { adds_matching: texts }), '!content f: comparison_work')
  const both = { adds_matching: texts, removes_matching: ['x0'] }
  assert.equal(decision(lines(511, [`x0${'b'.repeat(8_184)}`]), both), '+f')
  assert.equal(decision(lines(511, [`x0${'b'.repeat(8_189)}`]), both), '!content f: comparison_work')
})

test('facts 2.1: only what some definition can use is collected', () => {
  const ask = (...entries: readonly Entry[]): unknown => {
    const definitions = entries.map((entry, at) => ({ id: `c${at}`, trigger: triggerOf(entry) }))
    const { content, history, baseFolders, baseHolds } = needsOf(definitions, changeOf(...FILES), { generated })
    return [content, history, baseFolders, baseHolds?.map(({ folder }) => folder)]
  }
  assert.deepEqual(ask({}, { binary: true, min_changed_lines: 1, min_changed_files: 1 }), [[], false, [], []])
  assert.deepEqual(ask({ min_commits: 1 }), [[], true, [], []])
  assert.deepEqual(ask({ when: 'x' }), [[], true, [], []])
  assert.deepEqual(ask({ adds_matching: ['x'], kinds: ['deleted'] }), [['src/old.ts'], false, [], []])
  assert.deepEqual(
    ask({ removes_matching: ['x'], paths: ['gen/**'] }, { adds_matching: ['x'], paths: ['docs/**', '*.png'] }),
    [['docs/r.md', 'logo.png'], false, [], []],
  )
  assert.deepEqual(ask({ similar_new_file: true }), [[], false, ['', 'src', 'src/new'], []])
  assert.deepEqual(ask({ new_directory: true }), [[], false, ['src', 'src/new'], ['src', 'src/new']])
  assert.deepEqual(ask({ new_directory: true, exclude_paths: ['src/new/**'] }), [[], false, ['src'], ['src']])
})

const TEXTS = ['foo', 'bar', 'o']
const lines = fc.subarray(['foo', 'barn', 'zoo', ''])
const place = fc.record({
  state: fc.constantFrom('absent', 'absent', 'absent', 'base', 'added', 'added', 'modified', 'deleted'),
  insertions: fc.constantFrom(0, 1, 30),
  deletions: fc.constantFrom(0, 1, 60),
  binary: fc.constantFrom('text', 'text', 'text', 'text', 'binary', 'unknown'),
  added: lines,
  removed: lines,
  lost: fc.integer({ min: 0, max: 9 }).map(n => n === 0),
})
const entries = fc.record({
  paths: fc.subarray(PATTERNS, { minLength: 1 }),
  include_generated: fc.boolean(),
  exclude_paths: fc.subarray(PATTERNS, { maxLength: 2 }),
  kinds: fc.subarray(['added', 'modified', 'deleted'], { maxLength: 2 }),
  adds_matching: fc.subarray(TEXTS, { maxLength: 1 }),
  removes_matching: fc.subarray(TEXTS, { maxLength: 1 }),
  new_directory: fc.constant(true),
  binary: fc.boolean(),
  similar_new_file: fc.constant(true),
  unless_changed: fc.subarray(PATTERNS, { maxLength: 1 }),
  min_changed_files: fc.integer({ min: 0, max: 3 }),
  min_changed_lines: fc.integer({ min: 0, max: 70 }),
  deletion_dominant: fc.constant(true),
  min_commits: fc.integer({ min: 0, max: 3 }),
  when: fc.constant('ask'),
})

const specs: fc.Arbitrary<Spec> = fc
  .record({
    entry: entries,
    // Few fields at once, or nothing ever holds.
    fields: fc.subarray(
      [
        'paths',
        'include_generated',
        'exclude_paths',
        'kinds',
        'adds_matching',
        'removes_matching',
        'new_directory',
        'binary',
        'similar_new_file',
        'unless_changed',
        'min_changed_files',
        'min_changed_lines',
        'deletion_dominant',
        'min_commits',
        'when',
      ],
      { minLength: 2, maxLength: 6 },
    ),
    places: fc.tuple(...POOL.map(() => place)),
    commits: fc.integer({ min: 0, max: 3 }),
    shallow: fc.integer({ min: 0, max: 5 }).map(n => n === 0),
  })
  .map(({ entry, fields, places, commits, shallow }) => {
    const all = POOL.map((path, at) => ({ path, ...(places[at] ?? { state: 'absent' }) })) as readonly ({
      path: string
    } & (typeof places)[number])[]
    const files = all.flatMap(({ path, state, insertions, deletions, binary }): readonly ChangedFile[] =>
      state === 'added' || state === 'modified' || state === 'deleted'
        ? [
            {
              path,
              kind: state,
              insertions: binary === 'text' ? insertions : 0,
              deletions: binary === 'text' ? deletions : 0,
              binary: binary === 'unknown' ? { unavailable: 'unreadable' } : { known: binary === 'binary' },
            },
          ]
        : [],
    )
    return {
      entry: Object.fromEntries(Object.entries(entry).filter(([name]) => fields.includes(name))) as Spec['entry'],
      files,
      world: {
        base: all.filter(({ state }) => ['base', 'modified', 'deleted'].includes(state)).map(({ path }) => path),
        lines: Object.fromEntries(all.map(({ path, added, removed }) => [path, { added, removed }])),
        lostLines: all.filter(({ lost }) => lost).map(({ path }) => path),
        commits,
        ...(shallow ? { history: { unavailable: 'output_limit' } as const } : {}),
      },
    }
  })

test('any trigger decides any change as the table of facts 2.3 reads, from the collected facts alone', () => {
  const seen = new Map<string, number>()
  fc.assert(
    fc.property(specs, spec => {
      const expected = oracle(spec)
      assert.equal(shown(judged(spec.entry, spec.files, spec.world)), expected)
      const kind = expected.startsWith('-') ? expected : expected.charAt(0)
      seen.set(kind, (seen.get(kind) ?? 0) + 1)
    }),
    { numRuns: 4_000 },
  )
  // Both ways out of every step, and no veto besides the fourteen.
  assert.equal(seen.size, 16, [...seen.keys()].join(' '))
})
