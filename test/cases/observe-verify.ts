/** `git discern delivery verify`: a record is bound to what is expected of it, with or without the delivery at hand. */
import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { recordBytes } from '../../src/delivery/record.ts'
import { deliver, digest, following, ledgerOf, observe, promoted, right, serve } from '../support/observe.ts'
import { type DiscernRun, type Loose, type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

interface Verifying {
  readonly s: Scratch
  readonly commit: string
  /** The record that was observed. */
  readonly record: Loose
}

const FILE = 'record.json'

/** A repository `r` with a promoted delivery, a clone `c` of it that has none, and the observed record as a file of both. */
const verifying = async (t: TestContext): Promise<Verifying> => {
  const s = scratch(t)
  const site = await serve(t)
  const { standing } = await promoted(t, s, site.base)
  right(site, standing.sourceCommit)
  const run = await observe(s, ['--json', '--output', s.path('out')])
  assert.equal(run.exit, 0, run.out)
  s.git('.', 'clone', '-q', 'r', 'c')
  const bytes = s.read(run.data.file)
  s.write(FILE, bytes)
  return { s, commit: standing.sourceCommit, record: JSON.parse(bytes) }
}

/** Canonical JSON by the letter of RFC 8785, for values without odd numbers and keys. */
const canonical = (value: Loose): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.keys(value).sort()
  return `{${members.map(key => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`
}

const write = (s: Scratch, record: Loose): void => {
  s.write(FILE, `${canonical(record)}\n`)
}

const verify = (s: Scratch, where: string, ...more: readonly string[]): Promise<DiscernRun> =>
  s.discern(where, ['delivery', 'verify', s.path(FILE), ...more, '--json'])

const mismatch = async (run: Promise<DiscernRun>): Promise<string> => {
  const { exit, result, out } = await run
  assert.deepEqual([exit, result.error], [1, 'record_mismatch'], out)
  return (result.message ?? '').replace(/^.* is not the record that is expected: /, '')
}

test('a record is what the delivery says, and says what it was not held to', async t => {
  const { s, commit, record } = await verifying(t)
  const before = snapshot(s.dir)
  const here = await verify(s, 'r')
  assert.equal(here.exit, 0, here.out)
  assert.deepEqual(here.data, {
    action: 'verify',
    file: s.path(FILE),
    record: `sha256:${digest(s.read(FILE))}`,
    checks: [
      { what: 'repository', value: 'example.org/product', by: 'ledger' },
      { what: 'commit', value: commit, by: 'ledger' },
      { what: 'corpus', value: 'c-7', by: 'ledger' },
    ],
    unchecked: ['run', 'attempt'],
    ledger: 'next',
  })
  const whole = ['--repository', 'example.org/product', '--run', '4711', '--attempt', '2', '--corpus', 'c-7']
  const there = await verify(s, 'c', '--commit', 'HEAD', ...whole)
  assert.equal(there.exit, 0, there.out)
  assert.deepEqual(
    there.data.checks.map(({ what, by }: Loose) => `${what} by ${by}`),
    ['repository by flag', 'commit by flag', 'run by flag', 'attempt by flag', 'corpus by flag'],
  )
  assert.deepEqual([there.data.unchecked, there.data.ledger], [[], 'absent'])
  const bare = await verify(s, 'c', '--commit', commit)
  assert.deepEqual(bare.data.unchecked, ['repository', 'run', 'attempt', 'corpus'])
  const piped = await s.discern('c', ['delivery', 'verify', '-', '--commit', commit, '--json'], { stdin: s.read(FILE) })
  assert.deepEqual([piped.exit, piped.data.file], [0, 'standard input'], piped.out)
  assert.deepEqual(snapshot(s.dir), before, 'verifying changed something')

  // Once the ledger has it, it is one of its generations, also after later ones.
  const taken = await s.discern('r', ['delivery', 'record', 'CP7', 'r1', '--file', s.path(FILE), '--json'])
  assert.equal(taken.exit, 0, taken.out)
  assert.equal((await verify(s, 'r')).data.ledger, 'recorded')
  const ledger = await ledgerOf(t, s, 'r', 'r1')
  assert.equal(ledger.records.at(-1)?.generation, record.generation)
  const back = await s.discern('r', ['delivery', 'move', 'ROLLED_BACK', 'r1', '--reason', 'slow', '--json'])
  assert.equal(back.exit, 0, back.out)
  const later = await verify(s, 'r')
  assert.deepEqual([later.exit, later.data.ledger], [0, 'recorded'], later.out)
})

test('every mismatch is named', async t => {
  const { s, commit, record } = await verifying(t)
  const other = 'f'.repeat(40)
  const flags: readonly (readonly [where: string, args: readonly string[], expected: string])[] = [
    ['c', ['--commit', other], `its commit is "${commit}", not "${other}"`],
    ['r', ['--commit', other], `its commit is "${commit}", not "${other}"`],
    ['r', ['--repository', 'x'], 'its repository is "example.org/product", not "x"'],
    ['r', ['--run', '4712'], 'its run is "4711", not "4712"'],
    ['r', ['--attempt', '1'], 'its attempt is "2", not "1"'],
    ['r', ['--attempt', '02'], 'its attempt is "2", not "02"'],
    ['r', ['--corpus', 'c-8'], 'its corpus is "c-7", not "c-8"'],
    [
      'c',
      ['--commit', other, '--run', '1', '--corpus', '\u202ex'],
      `its commit is "${commit}", not "${other}"; its run is "4711", not "1"; its corpus is "c-7", not "\\u202ex"`,
    ],
  ]
  for (const [where, args, expected] of flags) {
    assert.equal(await mismatch(verify(s, where, ...args)), expected, args.join(' '))
  }
  const statement = record.evidence.map((one: Loose) =>
    one.part === 'remote-refs' ? { part: 'remote-refs', kind: 'statement', text: 'main' } : one,
  )
  const { run: _run, ...runless } = record
  const { corpusRevision: _corpus, ...corpusless } = record
  /** A record, and what is wrong with it where nothing is known of its delivery, and where everything is. */
  const records: readonly (readonly [changed: Loose, there: string | undefined, here: string])[] = [
    [{ ...record, checkpoint: 'CP6' }, 'it is a record of CP6, not of CP7', 'it is a record of CP6, not of CP7'],
    [
      { ...record, checkpoint: null },
      'it is a record of RELEASED, not of CP7',
      'it is a record of RELEASED, not of CP7',
    ],
    [{ ...record, state: 'CANDIDATE' }, 'its state is CANDIDATE, not RELEASED', 'its state is CANDIDATE, not RELEASED'],
    [
      { ...record, evidence: record.evidence.filter((one: Loose) => one.part !== 'readback') },
      'it lacks readback',
      'it lacks readback',
    ],
    [
      { ...record, evidence: statement },
      'its remote-refs is a statement, and needs a hash or an object id',
      'its remote-refs is a statement',
    ],
    [{ ...record, blockers: ['the store'] }, 'something blocks it: "the store"', 'something blocks it: "the store"'],
    [{ ...record, repository: 'y' }, undefined, 'its repository is "y", not "example.org/product"'],
    [{ ...record, sourceCommit: other }, `its commit is "${other}", not "${commit}"`, `its commit is "${other}"`],
    [{ ...record, corpusRevision: 'c-8' }, undefined, 'its corpus is "c-8", not "c-7"'],
    [corpusless, undefined, 'its corpus is none, not "c-7"'],
    [{ ...record, generation: 9 }, undefined, 'generation 9 of r1 is another record here'],
    [{ ...record, generation: 11 }, undefined, 'it is generation 11, and r1 is at generation 9 here'],
    [
      { ...record, previous: `sha256:${'0'.repeat(64)}` },
      undefined,
      'it follows another record than generation 9 of r1 here',
    ],
    [
      { ...record, next: { checkpoints: [], states: ['VERIFYING'] } },
      undefined,
      'its next moves are not those that the rules allow',
    ],
  ]
  for (const [changed, there, here] of records) {
    write(s, changed)
    const what = JSON.stringify(changed)
    assert.ok((await mismatch(verify(s, 'r'))).includes(here), what)
    const clone = verify(s, 'c', '--commit', commit)
    if (there === undefined) assert.equal((await clone).exit, 0, what)
    else assert.equal(await mismatch(clone), there, what)
  }
  write(s, runless)
  assert.match(await mismatch(verify(s, 'c', '--commit', commit, '--run', '4711')), /^its run is none, not "4711"$/)
})

test('what is no record of this version, whole and to the letter, is refused', async t => {
  const { s, commit, record } = await verifying(t)
  const bytes = s.read(FILE)
  const cases: readonly (readonly [what: string, content: string | Uint8Array, error: string, message: RegExp])[] = [
    ['nothing', '', 'delivery_invalid', /no JSON text/],
    ['half of it', bytes.slice(0, 400), 'delivery_invalid', /no JSON text/],
    ['not UTF-8', Buffer.from([0x7b, 0xff]), 'delivery_invalid', /no JSON text/],
    ['without its newline', bytes.trimEnd(), 'delivery_invalid', /not the canonical text/],
    ['spread over lines', JSON.stringify(record, null, 2), 'delivery_invalid', /not the canonical text/],
    ['one member twice', bytes.replace('{', '{"blockers":[],'), 'delivery_invalid', /not the canonical text/],
    ['one member more', `${canonical({ ...record, extra: 1 })}\n`, 'delivery_invalid', /additional properties/],
    ['one member less', `${canonical({ ...record, rollback: undefined })}\n`, 'delivery_invalid', /./],
    ['newer', `${canonical({ ...record, schema: 2 })}\n`, 'store_newer', /written by a newer/],
    ['too large', `${bytes}${' '.repeat(1_048_577 - bytes.length)}`, 'store_unreadable', /larger than 1048576 bytes/],
  ]
  for (const [what, content, error, message] of cases) {
    s.write(FILE, content)
    const run = await verify(s, 'c', '--commit', commit)
    assert.deepEqual([run.exit, run.result.error], [1, error], `${what}: ${run.out}`)
    assert.match(run.result.message ?? '', message, what)
  }
  const stdin = `${bytes}${' '.repeat(1_048_577 - bytes.length)}`
  const piped = await s.discern('c', ['delivery', 'verify', '-', '--commit', commit, '--json'], { stdin })
  assert.equal(piped.result.error, 'delivery_invalid')
  assert.match(piped.result.message ?? '', /^standard input .*larger than 1048576 bytes/)
  s.write(FILE, bytes)
  symlinkSync(s.path(FILE), s.path('link'))
  for (const [file, error] of [
    ['nowhere', 'store_unreadable'],
    ['.git', 'store_unreadable'],
    ['../link', 'store_unreadable'],
  ] as const) {
    const run = await s.discern('c', ['delivery', 'verify', file, '--commit', commit, '--json'])
    assert.deepEqual([run.exit, run.result.error], [1, error], file)
  }
  for (const args of [[], [s.path(FILE)], [s.path(FILE), 'more', '--commit', commit]]) {
    const run = await s.discern('c', ['delivery', 'verify', ...args, '--json'])
    assert.deepEqual([run.exit, run.result.error], [2, 'invalid_arguments'], run.out)
  }
  const unknown = await verify(s, 'c', '--commit', 'no-such-branch')
  assert.deepEqual([unknown.exit, unknown.result.error], [1, 'invalid_value'])
})

test('a delivery without a corpus expects none, and hostile text in a record is harmless', async t => {
  const { s, commit } = await verifying(t)
  const ledger = await deliver(t, s, 'r', 'plain', { corpus: null })
  const base = { delivery: 'plain', sourceCommit: commit } as const
  const step = { checkpoint: 'CP7', state: 'RELEASED' } as const
  s.write(FILE, recordBytes(following(ledger, step, base)))
  const right = await verify(s, 'r')
  assert.equal(right.exit, 0, right.out)
  assert.deepEqual(right.data.checks.at(-1), { what: 'corpus', value: 'none', by: 'ledger' })

  const nasty = '\u001b[31m\u202eevil\u2028'
  write(s, { ...following(ledger, step, base), repository: nasty, blockers: [nasty] })
  for (const format of [[], ['--markdown'], ['--json']]) {
    const run = await s.discern('r', ['delivery', 'verify', s.path(FILE), ...format])
    assert.equal(run.exit, 1)
    assert.doesNotMatch(run.out + run.err, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e\u2028]/)
    assert.match(run.out + run.err, /u202e/)
  }
})
