import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { distinctDrops, makeDrop } from '../../src/checkpoint/drop.ts'
import { definitionHash, needsOfTrigger, rows, summarise } from '../../src/checkpoint/fields.ts'
import { mergeSeed, seeds } from '../../src/checkpoint/seeds.ts'
import { isSimilar, normalStem, splitName } from '../../src/checkpoint/similar.ts'
import { triggerOf } from '../support/checkpoint.ts'
import { projectRoot } from '../support/scratch.ts'

const tagged = (json: string): string => createHash('sha256').update(`checkpoint-definition/v4\n${json}`).digest('hex')

test('the table has a row for every key that the configuration allows, and no other', () => {
  const schema = JSON.parse(readFileSync(join(projectRoot, 'schema/discern-config.schema.json'), 'utf8'))
  assert.deepEqual(rows.map(([name]) => name).sort(), Object.keys(schema.$defs.checkpoint.properties).sort())
})

test('facts 3.1: the hash covers twenty keys in their fixed order, defaults spelled out', () => {
  assert.equal(
    definitionHash(triggerOf({ question: 'Really?' })),
    tagged(
      '{"question":"Really?","question_file":null,"exclude_paths":[],"include_generated":false,"kinds":[],"adds_matching":[],"removes_matching":[],"new_directory":false,"binary":null,"deletion_dominant":false,"min_changed_files":null,"min_changed_lines":null,"min_commits":null,"mode":"stop","reference":null,"selector_globs":null,"similar_new_file":false,"teach":null,"unless_changed":[],"when":null}',
    ),
  )
})

test('facts 3.1: the hash covers resolved values, and lists keep the order of the file', () => {
  const scopes = { docs: ['docs/**', '*.md'] }
  const all = triggerOf(
    {
      scope: 'docs',
      include_generated: true,
      exclude_paths: ['z', 'a'],
      kinds: ['deleted', 'added'],
      adds_matching: ['é"'],
      removes_matching: ['b', 'a'],
      new_directory: true,
      binary: false,
      similar_new_file: true,
      unless_changed: ['docs', 'x/**'],
      min_changed_files: 0,
      min_changed_lines: 2,
      deletion_dominant: true,
      min_commits: 3,
      when: 'ask',
      mode: 'advise',
      question: 'a\r\nb',
      question_file: 'q.md',
      teach: 't',
      reference: 'r',
    },
    scopes,
  )
  assert.equal(
    definitionHash(all),
    tagged(
      '{"question":"a\\r\\nb","question_file":"q.md","exclude_paths":["z","a"],"include_generated":true,"kinds":["deleted","added"],"adds_matching":["é\\""],"removes_matching":["b","a"],"new_directory":true,"binary":false,"deletion_dominant":true,"min_changed_files":0,"min_changed_lines":2,"min_commits":3,"mode":"advise","reference":"r","selector_globs":["docs/**","*.md"],"similar_new_file":true,"teach":"t","unless_changed":["docs/**","*.md","x/**"],"when":"ask"}',
    ),
  )
  const byPaths = triggerOf({ question: 'q', paths: ['docs/**', '*.md'] })
  assert.equal(definitionHash(triggerOf({ question: 'q', scope: 'docs' }, scopes)), definitionHash(byPaths))
})

test('every field but the way to write the selector changes the hash by itself', () => {
  const samples: Readonly<Record<string, unknown>> = {
    paths: [],
    include_generated: true,
    exclude_paths: ['x'],
    kinds: ['added'],
    adds_matching: ['x'],
    removes_matching: ['x'],
    new_directory: true,
    binary: false,
    similar_new_file: true,
    unless_changed: ['x'],
    min_changed_files: 0,
    min_changed_lines: 0,
    deletion_dominant: true,
    min_commits: 0,
    when: 'x',
    mode: 'advise',
    question: 'x',
    question_file: 'x',
    teach: 'x',
    reference: 'x',
  }
  const hashes = rows.flatMap(([name]) =>
    name === 'scope' ? [] : [definitionHash(triggerOf({ [name]: samples[name] }))],
  )
  assert.equal(new Set([...hashes, definitionHash(triggerOf({}))]).size, 21)
})

test('a blank condition is none, and an absent field needs no fact', () => {
  assert.equal(triggerOf({ when: ' \n' }).when, undefined)
  assert.deepEqual([...needsOfTrigger(triggerOf({ when: ' ', kinds: [], adds_matching: [] }))], [])
  assert.deepEqual([...needsOfTrigger(triggerOf({ when: 'x' }))], ['binary', 'history'])
  assert.deepEqual([...needsOfTrigger(triggerOf({ min_commits: 0 }))], ['history'])
  assert.deepEqual([...needsOfTrigger(triggerOf({ removes_matching: ['x'], binary: false }))], ['content', 'binary'])
})

test('the summary says in the order of the evaluation what makes a checkpoint fire', () => {
  assert.equal(summarise(triggerOf({})), 'any change')
  assert.equal(summarise(triggerOf({ paths: [] })), 'changes nowhere')
  assert.equal(
    summarise(
      triggerOf({ min_commits: 1, when: 'ask', kinds: ['added', 'deleted'], paths: ['src/**'], binary: false }),
    ),
    'changes in src/**; added or deleted files; a text file; at least 1 commit; when "ask" says so',
  )
})

test('facts 3.2: an entry overrides the seed of its name field by field, the selector being one slot', () => {
  const seed = seeds.get('new-binary-asset')
  assert.deepEqual(mergeSeed('new-binary-asset', {}), seed)
  assert.deepEqual(mergeSeed('new-binary-asset', { binary: false, paths: ['a'] }), {
    ...seed,
    binary: false,
    paths: ['a'],
  })
  const { question: _, ...rest } = seed ?? {}
  assert.deepEqual(mergeSeed('new-binary-asset', { question_file: 'q' }), { ...rest, question_file: 'q' })
  assert.deepEqual(mergeSeed('constructor', { mode: 'stop' }), { mode: 'stop' })
  for (const [id, { mode, question }] of seeds) {
    assert.equal(mode, 'advise', id)
    assert.match(String(question), /\?$/, id)
  }
})

test('facts 2.4: marks of copies and versions leave the stem one after another', () => {
  const stems: readonly (readonly [string, string])[] = [
    ['utils2', 'utils'],
    ['service_v2', 'service'],
    ['Service-Final.copy', 'service'],
    ['a b old 12', 'a b'],
    ['report_2_final_v10', 'report'],
    ['sha256', 'sha256'],
    ['base64', 'base64'],
    ['v2', 'v'],
    ['service_test', 'service_test'],
    ['newest', 'newest'],
    ['copy', 'copy'],
    ['_copy', ''],
    ['a1b2', 'a1b'],
  ]
  for (const [stem, expected] of stems) assert.equal(normalStem(stem), expected, stem)
  assert.deepEqual(splitName('a/.env.copy'), { folder: 'a', stem: '.env', extension: '.copy' })
  assert.deepEqual(splitName('.env'), { folder: '', stem: '.env', extension: '' })
})

test('facts 2.4: similar names share folder and extension and differ in their raw stem', () => {
  assert.ok(isSimilar('a/utils2.ts', 'a/utils.ts'))
  assert.ok(isSimilar('x_old', 'x.new'.replace('.new', '')))
  assert.ok(isSimilar('a/Utils.ts', 'a/utils.ts'))
  assert.ok(!isSimilar('a/utils2.ts', 'utils.ts'))
  assert.ok(!isSimilar('a/utils2.ts', 'a/utils.js'))
  assert.ok(!isSimilar('a/utils.ts', 'a/utils.ts'))
  assert.ok(!isSimilar('_copy.ts', '_new.ts'))
  assert.ok(!isSimilar('sha256.ts', 'sha512.ts'))
})

test('facts 6.4: an account is one line of at most 500 characters, and equal drops collapse', () => {
  const place = { policyCommit: 'c', checkpoint: 'x', mode: 'stop' } as const
  const account = (text: string): string => makeDrop('subject_unavailable', text, place).account
  assert.equal(account(' a\n\t\u0000 b\u2028c '), 'a b c')
  assert.equal(account('x'.repeat(500)), 'x'.repeat(500))
  assert.equal(account('\u{1f600}'.repeat(501)), `${'\u{1f600}'.repeat(497)}...`)
  assert.equal(account(' \n'), 'The content that the question is about cannot be identified.')
  assert.deepEqual(makeDrop('governing_config_invalid', 'a', {}), {
    scope: 'policy',
    checkpoint: null,
    mode: null,
    reason: 'governing_config_invalid',
    account: 'a',
  })
  const one = makeDrop('when_timeout', 'a', place)
  const other = makeDrop('when_timeout', 'b', place)
  assert.deepEqual(distinctDrops([one, other, { ...one }]), [one, other])
})
