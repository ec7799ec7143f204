/** The key of a repository: made once, never guessed, and never touched where something else stands (facts 12.5). */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { chmodSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { describe, it } from 'node:test'
import { keyed, keyedStream } from '../../src/store/digest.ts'
import { openKey, readKey } from '../../src/store/hmac-key.ts'
import { projectRoot, type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'
import { captured, incompleteOf, KEY, KEY_BYTES, must, unprivileged } from '../support/validation.ts'

const PATH = 'discern/validation-hmac-key'
const at = (s: Scratch) => ({ gitDir: s.path('no/such/folder'), commonDir: s.path('common') })

const common = (t: Parameters<typeof scratch>[0]): Scratch => {
  const s = scratch(t)
  mkdirSync(s.path('common'))
  return s
}

/** HMAC over frames, written down again. */
const byHand = (key: Uint8Array, parts: readonly (string | Uint8Array)[]): string => {
  const hmac = createHmac('sha256', key)
  for (const part of parts) {
    const bytes = Buffer.from(part)
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    hmac.update(length).update(bytes)
  }
  return hmac.digest('hex')
}

describe('the key of a repository', () => {
  it('is made once, private, and the same ever after', async t => {
    const s = common(t)
    assert.deepEqual(await readKey(at(s)), { unavailable: 'unavailable' })
    assert.deepEqual(readdirSync(s.path('common')), [], 'reading makes nothing')
    const first = await openKey(at(s))
    assert.ok('known' in first)
    assert.equal(statSync(s.path('common', PATH)).mode & 0o7777, 0o600)
    assert.equal(statSync(s.path('common/discern')).mode & 0o7777, 0o700)
    const bytes = readFileSync(s.path('common', PATH))
    assert.equal(bytes.length, 32)
    for (const again of [await openKey(at(s)), await readKey(at(s))]) {
      assert.ok('known' in again && again.known.equals(first.known))
      assert.deepEqual(again.known.export(), bytes)
      assert.equal(JSON.stringify(again), '{"known":{}}', 'its bytes are not printed by accident')
    }
    assert.deepEqual(readFileSync(s.path('common', PATH)), bytes)
    const other = common(t)
    const foreign = await openKey(at(other))
    assert.ok('known' in foreign && !foreign.known.equals(first.known))
  })

  it('is one, however many make it at once, in one process or many', async t => {
    const s = common(t)
    const script = s.write(
      'make.mts',
      `import { openKey } from ${JSON.stringify(`${projectRoot}/src/store/hmac-key.ts`)}
const found = await Promise.all(Array.from({ length: 5 }, () => openKey(${JSON.stringify(at(s))})))
for (const one of found) console.log('known' in one ? one.known.export().toString('hex') : one.unavailable)`,
    )
    const here = Promise.all(Array.from({ length: 20 }, () => openKey(at(s))))
    const args = ['--import', import.meta.resolve('tsx'), script]
    const others = await Promise.all([1, 2, 3, 4].map(() => s.execAsync('.', process.execPath, args)))
    const seen = new Set(
      (await here).map(one => ('known' in one ? one.known.export().toString('hex') : one.unavailable)),
    )
    for (const { out, err } of others) for (const line of out.split('\n').filter(Boolean)) seen.add(line + err)
    assert.deepEqual([...seen], [readFileSync(s.path('common', PATH)).toString('hex')])
    assert.deepEqual(readdirSync(s.path('common/discern')), ['validation-hmac-key'])
  })

  it('is neither followed, repaired nor replaced where something else stands', async t => {
    const good = Buffer.alloc(32, 9)
    const key = (s: Scratch): string => s.path('common', PATH)
    const place = (s: Scratch, bytes: Uint8Array, mode = 0o600): void => {
      s.write(`common/${PATH}`, bytes, mode)
    }
    const rows: readonly (readonly [what: string, make: (s: Scratch) => void, reason: string])[] = [
      ['too short', s => place(s, good.subarray(1)), 'invalid'],
      ['too long', s => place(s, Buffer.alloc(33, 9)), 'invalid'],
      ['empty', s => place(s, Buffer.alloc(0)), 'invalid'],
      ['readable by others', s => place(s, good, 0o644), 'invalid'],
      ['readable by the group', s => place(s, good, 0o640), 'invalid'],
      ['executable', s => place(s, good, 0o700), 'invalid'],
      ['read-only', s => place(s, good, 0o400), 'invalid'],
      ['with a set-user bit', s => place(s, good, 0o4600), 'invalid'],
      ['a folder', s => mkdirSync(key(s), { recursive: true, mode: 0o600 }), 'invalid'],
      ['a FIFO', s => must(s, '.', `mkdir common/discern; mkfifo -m 600 common/${PATH}`), 'invalid'],
      [
        'a device',
        s =>
          must(s, '.', `mkdir common/discern; mknod -m 600 common/${PATH} c 1 5 2>/dev/null || mkfifo common/${PATH}`),
        'invalid',
      ],
      [
        'a link to a good key',
        s => {
          s.write('good', good, 0o600)
          mkdirSync(s.path('common/discern'))
          symlinkSync('../../good', key(s))
        },
        'invalid',
      ],
      [
        'a link that leads nowhere',
        s => {
          mkdirSync(s.path('common/discern'))
          symlinkSync('../../nowhere', key(s))
        },
        'invalid',
      ],
      [
        'a good key in a folder that is a link',
        s => {
          s.write('real/validation-hmac-key', good, 0o600)
          symlinkSync('../real', s.path('common/discern'))
        },
        'invalid',
      ],
      ['a folder that is a link to nowhere', s => symlinkSync('../nowhere', s.path('common/discern')), 'invalid'],
      ['a file in place of the folder', s => s.write('common/discern', 'x'), 'invalid'],
      ['a common folder that is a file', s => must(s, '.', 'rmdir common; echo >common'), 'invalid'],
      [
        'a common folder that leads round in a circle',
        s => {
          must(s, '.', 'rmdir common')
          symlinkSync('common', s.path('common'))
        },
        'invalid',
      ],
    ]
    for (const [what, make, reason] of rows) {
      const s = common(t)
      make(s)
      const before = snapshot(s.dir)
      assert.deepEqual(await openKey(at(s)), { unavailable: reason }, what)
      assert.deepEqual(await readKey(at(s)), { unavailable: reason }, what)
      assert.deepEqual(snapshot(s.dir), before, what)
    }
    assert.deepEqual(await openKey({ gitDir: '/proc/self', commonDir: '/proc/self' }), { unavailable: 'unavailable' })
  })

  it('is not there for whoever may not read it, or may not make it', async t => {
    const s = common(t)
    chmodSync(s.dir, 0o755)
    if (!(await unprivileged(async () => existsSync(s.path('common')))))
      return t.skip('the folder for temporary files is private')
    chmodSync(s.path('common'), 0o555)
    assert.deepEqual(await unprivileged(() => openKey(at(s))), { unavailable: 'unavailable' })
    chmodSync(s.path('common'), 0o755)
    assert.ok('known' in (await openKey(at(s))))
    chmodSync(s.path('common/discern'), 0o000)
    const bytes = async () => [await unprivileged(() => openKey(at(s))), await unprivileged(() => readKey(at(s)))]
    assert.deepEqual(await bytes(), [{ unavailable: 'unreadable' }, { unavailable: 'unreadable' }])
    chmodSync(s.path('common/discern'), 0o700)
  })

  it('is good under a second name, as it is for a moment whenever it is made', async t => {
    const s = common(t)
    assert.ok('known' in (await openKey(at(s))))
    linkSync(s.path('common', PATH), s.path('second'))
    assert.ok('known' in (await openKey(at(s))))
  })

  it('is looked at on every use', async t => {
    const s = common(t)
    assert.ok('known' in (await openKey(at(s))))
    chmodSync(s.path('common', PATH), 0o644)
    assert.deepEqual(await openKey(at(s)), { unavailable: 'invalid' })
    chmodSync(s.path('common', PATH), 0o600)
    assert.ok('known' in (await openKey(at(s))))
  })

  it('leaves a state incomplete where it cannot be had, and nothing else', async t => {
    const s = scratch(t)
    s.init('r')
    s.write('r/n', 'n\n')
    for (const [key, reason] of [
      [() => ({ unavailable: 'invalid' }) as const, 'key/invalid'],
      [() => ({ unavailable: 'unreadable' }) as const, 'key/unreadable'],
      [async () => ({ unavailable: 'unavailable' }) as const, 'key/unavailable'],
      [() => Promise.reject(new Error('no')), 'key/unavailable'],
    ] as const) {
      const answer = Promise.resolve(key())
      answer.catch(() => {})
      const state = await captured(s, 'r', { key: answer })
      assert.deepEqual(incompleteOf(state), [reason])
      assert.deepEqual([state.digest, state.components], [undefined, undefined])
      assert.deepEqual(state.counts, { index_entries: 1, tracked_paths: 0, untracked_paths: 1, submodules: 0 })
      assert.equal(state.bytes.untracked_content, 0, 'what cannot be digested is not read')
    }
  })
})

describe('a keyed digest', () => {
  const key = 'known' in KEY ? KEY.known : assert.fail()

  it('is HMAC-SHA-256 over the domain and the fields, each framed by its length', () => {
    const long = Buffer.alloc(200_000, 'é')
    for (const size of [
      0, 1, 65_500, 65_519, 65_520, 65_521, 65_531, 65_532, 65_535, 65_536, 65_537, 131_072, 200_000,
    ]) {
      const value = long.subarray(0, size)
      assert.equal(
        keyed(key, 'word', [
          ['one', value],
          ['zwei', 'é'],
          ['one', value],
        ]),
        byHand(KEY_BYTES, ['domain', 'word', 'one', value, 'zwei', 'é', 'one', value]),
      )
    }
    assert.equal(keyed(key, 'word', []), byHand(KEY_BYTES, ['domain', 'word']))
  })

  it('is the same for fields that come one by one, however many', () => {
    const stream = keyedStream(key, 'word')
    const parts: string[] = []
    for (let number = 0; number < 20_000; number += 1) {
      stream.add('path', `some/folder/${number}`)
      parts.push('path', `some/folder/${number}`)
    }
    assert.equal(stream.digest(), byHand(KEY_BYTES, ['domain', 'word', ...parts]))
  })

  it('takes no text that is none', () => {
    assert.throws(() => keyed(key, 'word', [['name', '\ud800']]), TypeError)
  })
})
