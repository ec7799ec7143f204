import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { decodePath, displayPath, encodePath, parseDisplayedPath, splitNul } from '../../src/git/path.ts'
import { adminPath, createAdmin, readAdmin, removeAdmin, writeAdmin } from '../../src/store/admin.ts'
import { canonicalJson, sha256 } from '../../src/store/digest.ts'
import { createFile, probeWrite, readRegularFile, reapTemporaryFiles, replaceFile } from '../../src/store/file.ts'
import { scratch } from '../support/scratch.ts'

describe('canonical JSON', () => {
  it('sorts by UTF-16 code units, prints numbers as ECMAScript does, and drops undefined members', () => {
    assert.equal(
      canonicalJson({ '\u{1F600}': 1, '\uFB33': 2, b: undefined, a: [1e21, 1.0, -0, 1e-7], é: '\u0007"\\/' }),
      '{"a":[1e+21,1,0,1e-7],"é":"\\u0007\\"\\\\/","\u{1F600}":1,"\uFB33":2}',
    )
  })

  it('refuses what is not plain JSON data', () => {
    for (const value of [
      () => 1,
      Symbol('x'),
      1n,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      '\ud800',
      { '\udc00': 1 },
      [undefined],
      new Date(0),
      new Map(),
    ]) {
      assert.throws(() => canonicalJson(value), TypeError)
    }
  })

  it('does not depend on the order of members', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), object => {
        fc.pre(Object.keys(object).every(key => key.isWellFormed()) && JSON.stringify(object).isWellFormed())
        const reversed = Object.fromEntries(Object.entries(object).reverse())
        assert.equal(canonicalJson(reversed), canonicalJson(object))
        assert.deepEqual(JSON.parse(canonicalJson(object)), JSON.parse(JSON.stringify(object)))
      }),
    )
  })

  it('hashes text as UTF-8', () => {
    assert.equal(sha256('é'), '4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c')
  })
})

describe('paths as bytes', () => {
  it('show odd names as git quotes them (case 67)', () => {
    const rows: readonly [bytes: string, shown: string][] = [
      ['plain.ts', 'plain.ts'],
      ['with space ', 'with space '],
      ['p b/q -> r', 'p b/q -> r'],
      ['ünï', 'ünï'],
      ['new\nline', '"new\\nline"'],
      ['tab\t', '"tab\\t"'],
      ['q"uote', '"q\\"uote"'],
      ['a\\b', '"a\\\\b"'],
      ['\u001b[31m', '"\\033[31m"'],
      ['\u202egpj', '"\\342\\200\\256gpj"'],
    ]
    for (const [name, shown] of rows) assert.equal(displayPath(decodePath(Buffer.from(name))), shown)
    assert.equal(displayPath(decodePath(Buffer.from([0x62, 0xff, 0x61]))), '"b\\377a"')
  })

  it('keep two names apart that differ only in invalid bytes', () => {
    assert.notEqual(decodePath(Buffer.from([0x61, 0xfe])), decodePath(Buffer.from([0x61, 0xff])))
    assert.notEqual(decodePath(Buffer.from([0xff])), decodePath(Buffer.from('\uFFFD')))
  })

  it('come back unchanged from every surface, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), bytes => {
        const path = decodePath(bytes)
        assert.deepEqual([...encodePath(path)], [...bytes])
        const shown = displayPath(path)
        assert.ok(shown.isWellFormed() && !/[\u0000-\u001f]/.test(shown))
        assert.equal(parseDisplayedPath(shown), path)
      }),
      { numRuns: 500 },
    )
  })

  it('are split at NUL alone', () => {
    assert.deepEqual(splitNul(Buffer.from('a\nb\0\0c')).map(String), ['a\nb', '', 'c'])
  })
})

describe('files of the admin area', () => {
  it('are replaced whole, private, and leave no temporary file', async t => {
    const s = scratch(t)
    const path = s.path('deep/er/file')
    await replaceFile(path, 'one')
    await replaceFile(path, 'two')
    assert.equal(s.read(path), 'two')
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(s.path('deep/er')), ['file'])
  })

  it('are created once and never replaced', async t => {
    const s = scratch(t)
    assert.equal(await createFile(s.path('x/f'), 'one'), true)
    assert.equal(await createFile(s.path('x/f'), 'two'), false)
    assert.equal(s.read('x/f'), 'one')
    assert.deepEqual(readdirSync(s.path('x')), ['f'])
  })

  it('stay as they were when the new content cannot be written', async t => {
    const s = scratch(t)
    s.write('blocked', 'a file where a folder is needed')
    await assert.rejects(replaceFile(s.path('blocked/f'), 'x'), /ENOTDIR|EEXIST/)
    mkdirSync(s.path('taken'))
    await assert.rejects(replaceFile(s.path('taken'), 'x'), /EISDIR|ENOTEMPTY|EEXIST/)
    assert.deepEqual(
      readdirSync(s.dir).filter(name => name.startsWith('.discern-tmp-')),
      [],
    )
  })

  it('are read only when they are regular files within their limit', async t => {
    const s = scratch(t)
    s.write('f', '12345')
    symlinkSync(s.path('f'), s.path('link'))
    spawnSync('mkfifo', [s.path('fifo')])
    assert.equal(String(await readRegularFile(s.path('f'), 5)), '12345')
    assert.equal(await readRegularFile(s.path('none'), 5), undefined)
    await assert.rejects(readRegularFile(s.path('f'), 4), /larger than 4 bytes/)
    await assert.rejects(readRegularFile(s.path('link'), 5), /ELOOP/)
    await assert.rejects(readRegularFile(s.path('fifo'), 5), /not a regular file/)
    await assert.rejects(readRegularFile(s.dir, 5), /not a regular file/)
  })

  it('are swept of temporary files a day old, and of nothing else (case 83)', async t => {
    const s = scratch(t)
    const old = new Date('2026-01-01T00:00:00Z')
    for (const name of ['.discern-tmp-old', '.discern-tmp-new', 'other']) s.write(join('d', name), '')
    utimesSync(s.path('d/.discern-tmp-old'), old, old)
    utimesSync(s.path('d/other'), old, old)
    utimesSync(s.path('d/.discern-tmp-new'), new Date('2026-01-02T12:00:00Z'), new Date('2026-01-02T12:00:00Z'))
    await reapTemporaryFiles(s.path('d'), new Date('2026-01-02T13:00:00Z'))
    assert.deepEqual(readdirSync(s.path('d')).sort(), ['.discern-tmp-new', 'other'])
  })

  it('are probed before work, and the probe leaves nothing', async t => {
    const s = scratch(t)
    await probeWrite(s.path('probe'))
    assert.deepEqual(readdirSync(s.path('probe')), [])
    s.write('file', '')
    await assert.rejects(probeWrite(s.path('file')), /ENOTDIR|EEXIST/)
  })
})

describe('the registry of admin files', () => {
  const places = (dir: string) => ({ gitDir: join(dir, 'worktree'), commonDir: join(dir, 'common') })

  it('reads back what it wrote, with its version', async t => {
    const s = scratch(t)
    await writeAdmin(places(s.dir), 'efforts', { efforts: {} })
    assert.equal(s.read('worktree/discern/efforts'), '{"version":1,"efforts":{}}\n')
    assert.deepEqual(await readAdmin(places(s.dir), 'efforts'), { status: 'ok', value: { version: 1, efforts: {} } })
  })

  const rows: readonly [string, string, string][] = [
    ['nothing', '', 'missing'],
    ['text', 'gate passed\n', 'invalid'],
    ['a list', '[]', 'invalid'],
    ['no version', '{"head":"x"}', 'invalid'],
    ['an older version', '{"version":0}', 'invalid'],
    ['a newer version', '{"version":2}', 'newer'],
  ]
  for (const [name, text, status] of rows) {
    it(`says ${status} for ${name}`, async t => {
      const s = scratch(t)
      if (text) s.write('worktree/discern/gate-proof', text)
      assert.equal((await readAdmin(places(s.dir), 'gate-proof')).status, status)
    })
  }

  it('says unavailable for a link, and follows it nowhere', async t => {
    const s = scratch(t)
    s.write('secret', '{"version":1}')
    mkdirSync(s.path('worktree/discern'), { recursive: true })
    symlinkSync(s.path('secret'), adminPath(places(s.dir), 'gate-proof'))
    assert.equal((await readAdmin(places(s.dir), 'gate-proof')).status, 'unavailable')
  })

  it('neither replaces nor removes what a newer version wrote', async t => {
    const s = scratch(t)
    const newer = '{"version":7,"later":true}'
    s.write('worktree/discern/gate-proof', newer)
    await assert.rejects(writeAdmin(places(s.dir), 'gate-proof', {}), /newer git discern \(format 7\)/)
    await assert.rejects(removeAdmin(places(s.dir), 'gate-proof'), /newer git discern \(format 7\)/)
    assert.equal(s.read('worktree/discern/gate-proof'), newer)
  })

  it('publishes a journal once', async t => {
    const s = scratch(t)
    assert.equal(await createAdmin(places(s.dir), 'acceptance-transaction', { id: 'a' }), true)
    assert.equal(await createAdmin(places(s.dir), 'acceptance-transaction', { id: 'b' }), false)
    assert.match(s.read('worktree/discern/acceptance-transaction.json'), /"id":"a"/)
  })
})

describe('the lock of a worktree', () => {
  it('refuses while its holder lives and ignores one that is gone (case 84)', async t => {
    const s = scratch(t)
    s.init('r')
    const lock = s.path('r/.git/discern/lock/accept')
    const holder = (pid: number, started: string) =>
      `${JSON.stringify({ pid, host: (spawnSync('hostname').stdout ?? '').toString().trim(), started, verb: 'accept' })}\n`
    s.write(lock, holder(process.pid, ''))
    const living = await s.discern('r', ['accept', '--json', '--confirmed'])
    assert.equal(living.result.error, 'busy')
    assert.match(String(living.result.message), new RegExp(`process ${process.pid} `))
    // The same pid with another start time is another process.
    s.write(lock, holder(process.pid, 'boot:1'))
    assert.notEqual((await s.discern('r', ['accept', '--json', '--confirmed'])).result.error, 'busy')
    const dead = spawnSync(process.execPath, ['-e', '0'])
    s.write(lock, holder(dead.pid, ''))
    assert.notEqual((await s.discern('r', ['accept', '--json', '--confirmed'])).result.error, 'busy')
    assert.equal(existsSync(lock), false)
  })
})
