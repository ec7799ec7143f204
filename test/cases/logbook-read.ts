/** Reading the Logbook: what is torn, foreign, unreadable or somebody else's is skipped and counted, and nothing is read as a whole. */
import assert from 'node:assert/strict'
import {
  appendFileSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { LogbookEvent } from '../../src/logbook/event.ts'
import { newestEvents, readEventFile, readEvents } from '../../src/logbook/read.ts'
import { beginLine, type Places, placesIn, verbEvent } from '../support/logbook.ts'
import { bundle } from '../support/project.ts'
import { projectRoot, type Scratch, scratch } from '../support/scratch.ts'
import { snapshot } from '../support/snapshot.ts'

const line = (name: string, at?: string): string => `${JSON.stringify(verbEvent(name, at))}\n`

const book = (s: Scratch, months: Readonly<Record<string, string | Buffer>>): Places => {
  const places = placesIn(s.path('g'))
  mkdirSync(places.folder, { recursive: true })
  for (const [month, text] of Object.entries(months)) writeFileSync(join(places.folder, `${month}.jsonl`), text)
  return places
}

const names = (events: readonly LogbookEvent[]): readonly string[] =>
  events.map(event => (event.kind === 'verb' || event.kind === 'begin' ? `${event.invocation}` : event.kind))

const readAll = async ({ directories }: Places) => {
  const events: LogbookEvent[] = []
  const months: string[] = []
  const reading = await readEvents(directories, (event, month) => {
    events.push(event)
    if (months.at(-1) !== month) months.push(month)
  })
  return { ...reading, names: names(events), months }
}

/** The longest line that is read, as bytes without the newline (src/limits.ts). */
const LONGEST = 1024 * 1024

const padded = (name: string, bytes: number): string => {
  const bare = JSON.stringify(verbEvent(name, undefined, { flags: [''] })).length
  return `${JSON.stringify(verbEvent(name, undefined, { flags: ['p'.repeat(bytes - bare)] }))}\n`
}

describe('a Logbook is read', () => {
  it('month by month as it was written, with what is no event skipped and counted', async t => {
    const s = scratch(t)
    const places = book(s, {
      '2026-02': `${line('b1')}{"torn\n\n${line('b2')}${line('b3').trimEnd()}`,
      '2026-01': [
        line('a1', '2026-01-09T00:00:00.000Z'),
        '{"schema":1,"at":"2026-01-09T00:00:00.000Z","kind":"unheard-of"}\n',
        '{"schema":2,"at":"later","kind":"verb"}\n',
        '{"schema":"1"}\n[1]\nnull\n7\n"text"\n{}\n',
        `${JSON.stringify({ ...verbEvent('x'), outcome: 'fine' })}\n`,
        `${JSON.stringify({ ...verbEvent('a2'), added: { later: true } })}\n`,
        `${beginLine('a3', '2026-01-01T00:00:00.000Z')}\n`,
        `${line('g').trimEnd()}${line('g')}`,
        '\u0000\u0000\u0000\u0000\n',
      ].join(''),
    })
    const read = await readAll(places)
    assert.deepEqual(read.names, ['a1', 'a2', 'a3', 'b1', 'b2', 'b3'])
    assert.deepEqual(read.months, ['2026-01.jsonl', '2026-02.jsonl'])
    assert.deepEqual(
      read.files.map(({ name, events, torn, foreign }) => ({ name, events, torn, foreign })),
      [
        { name: '2026-01.jsonl', events: 3, torn: 2, foreign: 9 },
        { name: '2026-02.jsonl', events: 3, torn: 1, foreign: 0 },
      ],
    )
    assert.deepEqual([read.events, read.torn, read.foreign, read.unreadable], [6, 3, 9, []])
    const newest = await newestEvents(places.directories, 100)
    assert.deepEqual(names(newest.events), read.names)
    assert.deepEqual([newest.torn, newest.foreign, newest.all], [3, 9, true])
    const file = await readEventFile(join(places.folder, '2026-02.jsonl'), () => {})
    assert.ok('events' in file)
    assert.deepEqual([file.name, file.events, file.torn], ['2026-02.jsonl', 3, 1])
    assert.match(JSON.stringify(await readEventFile(s.path('nowhere'), () => {})), /"reason":"ENOENT/)
  })

  it('where there is none, an empty one, or something else in its place', async t => {
    const s = scratch(t)
    const none = await readAll(placesIn(s.path('g')))
    assert.deepEqual([none.events, none.files, none.unreadable], [0, [], []])
    const empty = await readAll(book(s, { '2026-01': '' }))
    assert.deepEqual([empty.events, empty.torn, empty.files.length], [0, 0, 1])
    s.write('h/discern/logbook', 'a file\n')
    const file = await readAll(placesIn(s.path('h')))
    assert.match(file.unreadable[0]?.reason ?? '', /not a directory/)
    mkdirSync(s.path('i/discern'), { recursive: true })
    symlinkSync(s.path('g/discern/logbook'), s.path('i/discern/logbook'))
    assert.match((await readAll(placesIn(s.path('i')))).unreadable[0]?.reason ?? '', /not a directory/)
    assert.deepEqual((await newestEvents(placesIn(s.path('i')).directories, 5)).events, [])
  })

  it('without following or touching what does not belong there', async t => {
    const s = scratch(t)
    const places = book(s, { '2026-03': line('ours') })
    s.write('secret.jsonl', line('secret'))
    symlinkSync(s.path('secret.jsonl'), join(places.folder, '2026-01.jsonl'))
    symlinkSync('/dev/zero', join(places.folder, '2026-02.jsonl'))
    mkdirSync(join(places.folder, '2025-12.jsonl'))
    assert.equal(s.sh('.', `mkfifo '${join(places.folder, '2025-11.jsonl')}'`).exit, 0)
    for (const name of ['2026-13.jsonl', '2026-00.jsonl', '2026-03.jsonl.bak', 'x\u001b[31m.jsonl', '2026-3.jsonl']) {
      writeFileSync(join(places.folder, name), line('foreign'))
    }
    writeFileSync(join(places.folder, 'epoch.json'), '{}')
    const before = snapshot(s.path('g'))
    const read = await readAll(places)
    assert.deepEqual(read.names, ['ours'])
    assert.deepEqual(read.others.length, 9)
    assert.deepEqual(names((await newestEvents(places.directories, 9)).events), ['ours'])
    assert.deepEqual(snapshot(s.path('g')), before)
  })

  it('with a line of the longest length, and none that is longer', async t => {
    const s = scratch(t)
    const places = book(s, {
      '2026-01': `${line('a')}${padded('longest', LONGEST)}${line('b')}${padded('longer', LONGEST + 1)}${line('c')}${'z'.repeat(3 * LONGEST)}`,
    })
    const read = await readAll(places)
    assert.deepEqual(read.names, ['a', 'longest', 'b', 'c'])
    assert.equal(read.torn, 2)
    const newest = await newestEvents(places.directories, 10)
    assert.deepEqual(names(newest.events), read.names)
    assert.equal(newest.torn, 2)
    appendFileSync(join(places.folder, '2026-01.jsonl'), `\n${line('d')}`)
    assert.deepEqual(names((await newestEvents(places.directories, 2)).events), ['c', 'd'])
  })

  it('without a month that is too large to be one', async t => {
    const s = scratch(t)
    const places = book(s, { '2026-01': line('a'), '2026-02': line('b') })
    // A file with a hole, so it costs no room.
    truncateSync(join(places.folder, '2026-01.jsonl'), 512 * 1024 * 1024 + 1)
    const read = await readAll(places)
    assert.deepEqual(read.names, ['b'])
    assert.deepEqual(
      read.unreadable.map(({ name }) => name),
      ['2026-01.jsonl'],
    )
    assert.match(read.unreadable[0]?.reason ?? '', /larger than 536870912 bytes/)
    const newest = await newestEvents(places.directories, 5)
    assert.deepEqual([names(newest.events), newest.unreadable.length], [['b'], 1])
  })

  it('from its end without reading the rest', async t => {
    const s = scratch(t)
    const many = Array.from({ length: 3000 }, (_, at) => line(`m${at}`)).join('')
    const places = book(s, { '2026-01': '', '2026-02': line('old'), '2026-03': many, '2026-04': line('last') })
    // What lies before would take minutes to read, and has no line that is one.
    const file = openSync(join(places.folder, '2026-01.jsonl'), 'r+')
    ftruncateSync(file, 500 * 1024 * 1024)
    closeSync(file)
    const newest = await newestEvents(places.directories, 200)
    const expected = [...Array.from({ length: 199 }, (_, at) => `m${2801 + at}`), 'last']
    assert.deepEqual(names(newest.events), expected)
    assert.equal(newest.all, false)
    const some = await newestEvents(
      places.directories,
      2,
      event => event.kind === 'verb' && /^m\d*7$/.test(`${event.invocation}`),
    )
    assert.deepEqual(names(some.events), ['m2987', 'm2997'])
  })
})

describe('a Logbook of 100 MB (case 92)', () => {
  it('is counted and shown within 200 MB of memory', t => {
    const s = scratch(t)
    s.init('r')
    const { folder } = placesIn(s.path('r/.git'))
    mkdirSync(folder, { recursive: true })
    let count = 0
    let bytes = 0
    for (let month = 1; month <= 4; month += 1) {
      const file = openSync(join(folder, `2026-0${month}.jsonl`), 'w')
      while (bytes < month * 25 * 1024 * 1024) {
        const block: string[] = []
        for (let at = 0; at < 1000; at += 1) {
          count += 1
          block.push(`${beginLine(`i${count}`, `2026-0${month}-01T00:00:00.000Z`)}\n`)
          const steps = Array.from({ length: 10 }, (_, step) => ({
            label: `job-${step}`,
            kind: 'job',
            outcome: 'ok',
            disposition: 'run',
            group: 'test',
            duration_s: step,
          }))
          block.push(`${JSON.stringify(verbEvent(`i${count}`, `2026-0${month}-01T00:00:01.000Z`, { steps }))}\n`)
        }
        bytes += writeSync(file, block.join(''))
      }
      closeSync(file)
    }
    const [node, script] = bundle
    const execute = (...args: string[]): string => {
      const meter = s.path('meter')
      const done = s.exec('r', node, ['-r', join(projectRoot, 'test/support/meter.cjs'), script, 'logbook', ...args], {
        env: { METER: meter },
      })
      assert.equal(done.exit, 0, done.err)
      const [kilobytes = 0, ms = 0] = s.read('meter').split(' ').map(Number)
      assert.ok(kilobytes < 200 * 1024, `${args[0]} took ${kilobytes} kB`)
      t.diagnostic(`${args[0]}: ${Math.round(kilobytes / 1024)} MB, ${ms} ms`)
      return done.out
    }
    const run = (...args: string[]) => JSON.parse(execute(...args, '--json')).data
    t.diagnostic(`${2 * count} events, ${Math.round(bytes / 1024 / 1024)} MB`)
    const stats = run('stats')
    assert.deepEqual([stats.events, stats.torn, stats.foreign, stats.bytes], [2 * count, 0, 0, bytes])
    assert.deepEqual(stats.kinds, { begin: count, verb: count })
    assert.deepEqual(stats.verbs, [{ verb: 'done', count, ok: count }])
    const shown = run('show', '-n', '200')
    assert.equal(shown.events.length, 200)
    assert.equal(shown.events[199].invocation, `i${count}`)
    const all = run('show', '--all')
    assert.deepEqual([all.events.length, all.all], [10_000, false])
    const text = execute('show', '--all').trimEnd().split('\n')
    assert.equal(text.length, 10_001)
    assert.equal(text.at(-1), 'older events are there: in the files of git discern logbook path')
  })
})
