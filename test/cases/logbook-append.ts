/** Writing events: whole lines whoever writes, dies or fills the disk meanwhile, and only the newest months are kept (case 92). */
import assert from 'node:assert/strict'
import fs, {
  appendFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type Appended, appendEvent } from '../../src/logbook/book.ts'
import type { LogbookEvent } from '../../src/logbook/event.ts'
import { readEvents } from '../../src/logbook/read.ts'
import { violations } from '../../src/store/schema.ts'
import { lines, linesBelow, placesIn, startWriters, verbEvent } from '../support/logbook.ts'
import { scratch } from '../support/scratch.ts'
import { onSmallDisk } from '../support/small-disk.ts'

const NOW = new Date('2026-03-10T10:00:00Z')
const WRITTEN: Appended = { written: true }
const MONTH = '2026-03.jsonl'

const failed = (appended: Appended): string => ('failed' in appended ? appended.failed : 'it was written')

/** Lets somebody do something right before the first write of a line. */
const beforeWrite = (t: TestContext, deed: (file: number) => void): void => {
  const real = fs.writeSync
  let done = false
  const restore = (): void => {
    fs.writeSync = real
    syncBuiltinESMExports()
  }
  fs.writeSync = ((file: number, ...rest: [Buffer]) => {
    if (!done) {
      done = true
      deed(file)
    }
    return real(file, ...rest)
  }) as typeof fs.writeSync
  syncBuiltinESMExports()
  t.after(restore)
}

describe('an event', () => {
  it('becomes one line of the month it is written in, in a folder and a file for the owner alone', async t => {
    const { directories, folder } = placesIn(scratch(t).path('g'))
    const event = verbEvent('one', '2026-03-31T23:59:59.999Z', { branch: 'fä\n\u2028"\\' })
    assert.deepEqual(await appendEvent(directories, event, new Date('2026-03-31T23:59:59.999Z')), WRITTEN)
    assert.deepEqual(await appendEvent(directories, event, new Date('2026-04-01T00:00:00Z')), WRITTEN)
    assert.deepEqual(await appendEvent(directories, event, new Date('2026-04-01T00:00:01Z')), WRITTEN)
    assert.deepEqual(readdirSync(folder), ['2026-03.jsonl', '2026-04.jsonl'])
    assert.equal(readFileSync(join(folder, '2026-03.jsonl'), 'utf8'), `${JSON.stringify(event)}\n`)
    assert.equal(readFileSync(join(folder, '2026-04.jsonl'), 'utf8'), `${JSON.stringify(event)}\n`.repeat(2))
    assert.equal(statSync(folder).mode & 0o777, 0o700)
    assert.equal(statSync(join(folder, '2026-03.jsonl')).mode & 0o777, 0o600)
    assert.deepEqual(violations('discern-logbook', JSON.parse(lines(join(folder, '2026-03.jsonl'))[0] ?? '')), [])
  })

  it('that breaks its contract, has no end or no time is not written and throws nothing', async t => {
    const { directories, folder } = placesIn(scratch(t).path('g'))
    const wrong = { ...verbEvent('one'), outcome: 'fine' } as unknown as LogbookEvent
    assert.match(failed(await appendEvent(directories, wrong, NOW)), /^the event is invalid: \//)
    const long = verbEvent('one', undefined, { flags: ['x'.repeat(1 << 20)] })
    assert.match(failed(await appendEvent(directories, long, NOW)), /longer than the limit/)
    assert.match(failed(await appendEvent(directories, verbEvent('one'), new Date(Number.NaN))), /Invalid time/)
    assert.equal(fs.existsSync(folder), false)
  })

  it('is refused by whatever stands in its place, which is left as it is', async t => {
    const s = scratch(t)
    const write = async (name: string): Promise<string> =>
      failed(await appendEvent(placesIn(s.path(name)).directories, verbEvent('one'), NOW))
    s.write('elsewhere', 'mine\n')
    const kinds: Readonly<Record<string, (folder: string) => void>> = {
      link: folder => symlinkSync(s.path('elsewhere'), join(folder, MONTH)),
      dangling: folder => symlinkSync(s.path('nowhere'), join(folder, MONTH)),
      directory: folder => mkdirSync(join(folder, MONTH)),
      pipe: folder => assert.equal(s.sh('.', `mkfifo '${join(folder, MONTH)}'`).exit, 0),
    }
    for (const [name, make] of Object.entries(kinds)) {
      const { folder } = placesIn(s.path(name))
      mkdirSync(folder, { recursive: true })
      make(folder)
      const before = lstatSync(join(folder, MONTH)).ino
      assert.match(await write(name), /ELOOP|EISDIR|not a regular file/, name)
      assert.equal(lstatSync(join(folder, MONTH)).ino, before, name)
    }
    assert.equal(s.read('elsewhere'), 'mine\n')
    assert.equal(fs.existsSync(s.path('nowhere')), false)
    mkdirSync(s.path('linked/discern'), { recursive: true })
    mkdirSync(s.path('target'))
    symlinkSync(s.path('target'), s.path('linked/discern/logbook'))
    assert.match(await write('linked'), /not a directory/)
    s.write('file/discern', '')
    assert.match(await write('file'), /ENOTDIR/)
    assert.deepEqual(readdirSync(s.path('target')), [])
  })

  it('starts a line of its own after one that was cut short', async t => {
    const { directories, folder } = placesIn(scratch(t).path('g'))
    await appendEvent(directories, verbEvent('one'), NOW)
    appendFileSync(join(folder, MONTH), '{"schema":1,"at":"2026')
    await appendEvent(directories, verbEvent('two'), NOW)
    await appendEvent(directories, verbEvent('three'), NOW)
    const expected = ['one', '{"schema":1,"at":"2026', 'two', 'three'].map(name =>
      name.startsWith('{') ? name : JSON.stringify(verbEvent(name)),
    )
    assert.equal(readFileSync(join(folder, MONTH), 'utf8'), `${expected.join('\n')}\n`)
    const { events, torn, foreign } = await readEvents(directories, () => {})
    assert.deepEqual({ events, torn, foreign }, { events: 3, torn: 1, foreign: 0 })
  })

  it('is written again when another writer dies in a line just before it', async t => {
    const { directories, folder } = placesIn(scratch(t).path('g'))
    await appendEvent(directories, verbEvent('one'), NOW)
    beforeWrite(t, () => appendFileSync(join(folder, MONTH), '{"half'))
    assert.deepEqual(await appendEvent(directories, verbEvent('two'), NOW), WRITTEN)
    const two = JSON.stringify(verbEvent('two'))
    assert.deepEqual(lines(join(folder, MONTH)), [JSON.stringify(verbEvent('one')), `{"half${two}`, two])
  })

  it('is written once when another writer ends a line just before it', async t => {
    const { directories, folder } = placesIn(scratch(t).path('g'))
    await appendEvent(directories, verbEvent('one'), NOW)
    beforeWrite(t, () => appendFileSync(join(folder, MONTH), `${JSON.stringify(verbEvent('other'))}\n`))
    assert.deepEqual(await appendEvent(directories, verbEvent('two'), NOW), WRITTEN)
    assert.deepEqual(
      lines(join(folder, MONTH)),
      ['one', 'other', 'two'].map(name => JSON.stringify(verbEvent(name))),
    )
  })

  it('is written again when its file is deleted just before it, with or without the folder', async t => {
    for (const what of ['file', 'folder']) {
      await t.test(what, async inner => {
        const { directories, folder } = placesIn(scratch(inner).path('g'))
        await appendEvent(directories, verbEvent('one'), NOW)
        beforeWrite(inner, () =>
          what === 'file' ? unlinkSync(join(folder, MONTH)) : rmSync(folder, { recursive: true }),
        )
        assert.deepEqual(await appendEvent(directories, verbEvent('two'), NOW), WRITTEN)
        assert.deepEqual(lines(join(folder, MONTH)), [JSON.stringify(verbEvent('two'))])
      })
    }
  })
})

describe('parallel writers (case 92)', () => {
  it('of 20 processes leave 2,000 whole lines, and one began the month', async t => {
    const s = scratch(t)
    const { directories, folder } = placesIn(s.path('g'))
    const names = Array.from({ length: 20 }, (_, at) => `w${at}`)
    const writers = await startWriters(s, s.path('g'), names, { count: 100, bytes: 700 })
    const wrote = (await Promise.all(writers.map(writer => writer.wrote))).flat()
    assert.deepEqual(
      [...wrote].sort(),
      names.flatMap(name => Array.from({ length: 100 }, (_, at) => `${name}-${at}`)).sort(),
    )
    const found: string[] = []
    const reading = await readEvents(directories, event => {
      if (event.kind === 'verb') found.push(event.invocation ?? '')
    })
    assert.deepEqual(found.sort(), [...wrote].sort())
    assert.deepEqual([reading.events, reading.torn, reading.foreign], [2000, 0, 0])
    assert.deepEqual(readdirSync(folder), [MONTH])
  })

  it('that are killed in a line harm no line that another one finished', async t => {
    const s = scratch(t)
    const { directories, folder } = placesIn(s.path('g'))
    await appendEvent(directories, verbEvent('first'), NOW)
    const names = Array.from({ length: 8 }, (_, at) => `k${at}`)
    const writers = await startWriters(s, s.path('g'), names, { count: 300, bytes: 60_000 })
    for (const [at, { child }] of writers.slice(2).entries()) {
      while (statSync(join(folder, MONTH)).size < (at + 1) * 5_000_000) await pause(1)
      child.kill('SIGKILL')
    }
    const wrote = ['first', ...(await Promise.all(writers.map(writer => writer.wrote))).flat()]
    const found: string[] = []
    const { torn, foreign } = await readEvents(directories, event => {
      if (event.kind === 'verb') found.push(event.invocation ?? '')
    })
    assert.ok(wrote.length > 600, 'two of them were not killed, the others wrote')
    assert.deepEqual(
      wrote.filter(name => !found.includes(name)),
      [],
    )
    assert.equal(new Set(found).size, found.length)
    // One line of each that was killed may be there without its writer having said so.
    assert.ok(found.length <= wrote.length + 6, `${found.length} lines, ${wrote.length} said`)
    assert.ok(torn <= 6, `${torn} torn`)
    assert.ok(found.length < 2400, 'nobody was killed early')
    assert.equal(foreign, 0)
    t.diagnostic(`${found.length} lines of 60 kB whole, ${torn} torn by 6 kills`)
  })
})

describe('a full disk under the Logbook (case 92)', () => {
  it('fails an event without throwing, and costs no line that was complete, at every amount of room that is left', t =>
    onSmallDisk(t, async ({ path, fill, free }) => {
      const { directories, folder } = placesIn(join(path, 'g'))
      const said: string[] = []
      let refused = 0
      for (let round = 0; round < 6; round += 1) {
        fill(round)
        for (let at = 0; at < 12; at += 1) {
          const name = `r${round}-${at}`
          const appended = await appendEvent(
            directories,
            verbEvent(name, undefined, { flags: ['y'.repeat(1500)] }),
            NOW,
          )
          if ('written' in appended) said.push(name)
          else {
            refused += 1
            assert.match(appended.failed, /ENOSPC/)
          }
        }
        free()
      }
      await appendEvent(directories, verbEvent('last'), NOW)
      const found: string[] = []
      const { torn } = await readEvents(directories, event =>
        found.push(event.kind === 'verb' ? `${event.invocation}` : ''),
      )
      assert.ok(refused > 10 && said.length > 10, `${refused} refused, ${said.length} written`)
      assert.deepEqual(found, [...said, 'last'])
      assert.ok(torn > 0, 'a line was cut short')
      assert.deepEqual(readdirSync(folder), [MONTH])
    }))

  it('drops no month whose going it cannot tell of', t =>
    onSmallDisk(t, async ({ path, fill, free }) => {
      const { directories, folder } = placesIn(join(path, 'g'))
      const months = Array.from(
        { length: 24 },
        (_, at) => `${2024 + Math.floor(at / 12)}-${`${(at % 12) + 1}`.padStart(2, '0')}`,
      )
      const seen = new Set<string>()
      for (let blocks = 0; blocks < 12; blocks += 1) {
        rmSync(folder, { recursive: true, force: true })
        mkdirSync(folder, { recursive: true })
        for (const month of months) {
          // So many verbs that telling of them takes more than a block.
          const verbs =
            month === '2024-01' ? Array.from({ length: 400 }, (_, at) => `verb-${at}-${'z'.repeat(10)}`) : ['done']
          const text = verbs.map(
            verb => `${JSON.stringify(verbEvent(`${month}-${verb}`, `${month}-01T00:00:00.000Z`, { verb }))}\n`,
          )
          writeFileSync(join(folder, `${month}.jsonl`), text.join(''))
        }
        const before = linesBelow(folder)
        fill(blocks)
        const appended = await appendEvent(
          directories,
          verbEvent('new', '2026-01-01T00:00:00.000Z'),
          new Date('2026-01-01T00:00:00Z'),
        )
        free()
        const after = linesBelow(folder)
        const gone = before.filter(line => !after.includes(line))
        const told: LogbookEvent[] = []
        await readEvents(directories, event => told.push(event))
        const prune = told.find(event => event.kind === 'prune')
        assert.equal(
          told.some(event => event.kind === 'verb' && event.invocation === 'new'),
          'written' in appended,
        )
        if (prune === undefined) assert.deepEqual(gone, [], `${blocks} blocks`)
        else assert.equal(gone.length, 400)
        seen.add(`${'written' in appended ? 'written' : 'failed'}, ${prune ? 'told' : 'not told'}`)
      }
      assert.deepEqual([...seen].sort(), ['failed, not told', 'written, not told', 'written, told'])
    }))
})

describe('the months of the Logbook', () => {
  it('are kept for the newest 24, and one line tells what went with each older one', async t => {
    const { directories, folder } = placesIn(scratch(t).path('g'))
    const monthOf = (at: number): string => new Date(Date.UTC(2024, at)).toISOString().slice(0, 7)
    for (let at = 0; at < 30; at += 1) {
      const now = new Date(Date.UTC(2024, at, 3))
      await appendEvent(directories, verbEvent(`${at}-ok`, now.toISOString(), { writer: '1.0.0' }), now)
      await appendEvent(directories, verbEvent(`${at}-red`, now.toISOString(), { outcome: 'failed' }), now)
      await appendEvent(
        directories,
        verbEvent(`${at}-no`, now.toISOString(), { verb: 'accept', outcome: 'refused' }),
        now,
      )
      if (at === 0) {
        appendFileSync(join(folder, '2024-01.jsonl'), `{"schema":9}\n{"torn\n${'[]\n'}`)
        writeFileSync(join(folder, '2023-12.txt'), 'not ours\n')
        symlinkSync('2024-01.jsonl', join(folder, '2023-11.jsonl'))
      }
    }
    const kept = Array.from({ length: 24 }, (_, at) => `${monthOf(at + 6)}.jsonl`)
    assert.deepEqual(readdirSync(folder), ['2023-11.jsonl', '2023-12.txt', ...kept])
    const prunes: LogbookEvent[] = []
    await readEvents(directories, event => {
      assert.deepEqual(violations('discern-logbook', event), [])
      if (event.kind === 'prune') prunes.push(event)
    })
    const counts = { ok: 1, failed: 1, refused: 1, by_verb: { done: 2, accept: 1 } }
    const expected = Array.from({ length: 6 }, (_, at) => ({
      schema: 1,
      at: new Date(Date.UTC(2024, 24 + at, 3)).toISOString(),
      writer: '1.0.0',
      kind: 'prune',
      removed: [{ file: `${monthOf(at)}.jsonl`, events: 3, ...counts, ...(at === 0 ? { unparsed: 3 } : {}) }],
    }))
    assert.deepEqual(prunes, expected)
  })

  it('are dropped by the one writer that begins a month, several at once, oldest first, and never the month it writes in', async t => {
    const s = scratch(t)
    const { directories, folder } = placesIn(s.path('g'))
    mkdirSync(folder, { recursive: true })
    for (let at = 0; at < 27; at += 1) {
      const month = new Date(Date.UTC(2022, at)).toISOString().slice(0, 7)
      writeFileSync(join(folder, `${month}.jsonl`), `${JSON.stringify(verbEvent(month))}\n`)
    }
    const writers = await startWriters(s, s.path('g'), ['a', 'b', 'c', 'd'], { count: 10, bytes: 10 })
    const wrote = await Promise.all(writers.map(writer => writer.wrote))
    assert.equal(wrote.flat().length, 40)
    const told: unknown[] = []
    await readEvents(directories, event => event.kind === 'prune' && told.push(event.removed))
    const gone = ['2022-01', '2022-02', '2022-03', '2022-04']
    assert.deepEqual(told, [gone.map(month => ({ file: `${month}.jsonl`, events: 1, ok: 1, by_verb: { done: 1 } }))])
    assert.equal(readdirSync(folder).length, 24)
    // A clock far in the past begins a month that is the oldest of all.
    const past = new Date('1999-05-05T00:00:00Z')
    assert.deepEqual(await appendEvent(directories, verbEvent('past'), past), WRITTEN)
    assert.deepEqual(lines(join(folder, '1999-05.jsonl')), [JSON.stringify(verbEvent('past'))])
    assert.equal(readdirSync(folder).length, 25)
  })
})
