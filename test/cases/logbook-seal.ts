/** Sealing and resetting: whatever is killed, full or written meanwhile, each line is somewhere, and after the next seal in one place. */
import assert from 'node:assert/strict'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { Context } from '../../src/context.ts'
import { pendingSnapshots, resetLogbook, sealLogbook } from '../../src/logbook/archive.ts'
import { appendEvent } from '../../src/logbook/book.ts'
import { beginLine, lines, linesBelow, type Places, placesIn, startWriters, verbEvent } from '../support/logbook.ts'
import { openScratch } from '../support/open.ts'
import { bundle } from '../support/project.ts'
import { projectRoot, type Scratch, scratch } from '../support/scratch.ts'
import { onSmallDisk } from '../support/small-disk.ts'

const raw = (name: string): string => JSON.stringify(verbEvent(name, '2025-06-01T00:00:00.000Z'))

const yes = { confirm: async () => true }

const FOREIGN = '{"schema":7,"kind":"of a later version"}'

/** Three months with everything a month can hold, and what else may lie beside them. */
const fillBook = ({ folder }: Places): readonly string[] => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, '2025-04.jsonl'), `${raw('a1')}\n${FOREIGN}\n${raw('a2')}\n`)
  // Cut short at its end, and once more in the middle.
  writeFileSync(join(folder, '2025-05.jsonl'), `${raw('b1')}\n{"torn in the middle\n${raw('b2')}\n{"torn at the end`)
  writeFileSync(join(folder, '2025-06.jsonl'), `${raw('c1')}\n${raw('c2')}\n`)
  writeFileSync(join(folder, 'epoch.json'), '{"schema":1,"branches":{}}')
  writeFileSync(join(folder, 'notes.txt'), 'not ours\n')
  const torn = ['{"torn in the middle', '{"torn at the end']
  return [raw('a1'), FOREIGN, raw('a2'), raw('b1'), ...torn, raw('b2'), raw('c1'), raw('c2')].sort()
}

const everywhere = ({ folder, archives, recovery }: Places): readonly string[] => linesBelow(folder, recovery, archives)

/** After a seal nothing is left to finish, and what is no month is where it was. */
const assertSealed = (places: Places, expected: readonly string[], about: string): void => {
  assert.deepEqual([...linesBelow(places.archives)].sort(), expected, about)
  assert.deepEqual(
    [existsSync(places.recovery), readdirSync(places.folder)],
    [false, ['epoch.json', 'notes.txt']],
    about,
  )
  assert.equal(readFileSync(join(places.folder, 'epoch.json'), 'utf8'), '{"schema":1,"branches":{}}', about)
  const archives = readdirSync(places.archives)
  for (const name of archives) assert.match(name, /^logbook-\d{8}T\d{6}Z(-\d+)?\.jsonl$/, about)
}

interface Bench {
  readonly s: Scratch
  readonly places: Places
  readonly context: Context
}

const bench = async (t: TestContext): Promise<Bench> => {
  const s = scratch(t)
  s.init('r')
  const { context } = await openScratch(t, s, 'r')
  return { s, places: placesIn(s.path('r/.git')), context }
}

describe('a seal', () => {
  it('puts the raw lines of all months into one archive for the owner alone, and does not write over another', async t => {
    const { places, context } = await bench(t)
    const expected = fillBook(places)
    const text = ['2025-04', '2025-05', '2025-06'].map(month =>
      readFileSync(join(places.folder, `${month}.jsonl`), 'utf8'),
    )
    const fixed = { ...context, now: () => new Date('2026-07-08T09:10:11.999Z') }
    const [archive] = await sealLogbook(fixed, places.directories)
    assert.equal(archive?.path, join(places.archives, 'logbook-20260708T091011Z.jsonl'))
    assert.equal(readFileSync(archive.path, 'utf8'), `${text.slice(0, 2).join('')}\n${text[2]}`)
    assert.equal(archive.bytes, statSync(archive.path).size)
    assert.deepEqual([statSync(archive.path).mode & 0o777, statSync(places.archives).mode & 0o777], [0o600, 0o700])
    assertSealed(places, expected, 'once')
    for (let again = 1; again < 3; again += 1) {
      writeFileSync(join(places.folder, '2026-07.jsonl'), `${raw(`again${again}`)}\n`)
      const sealed = await sealLogbook(fixed, places.directories)
      assert.deepEqual(
        sealed.map(({ path }) => path),
        [join(places.archives, `logbook-20260708T091011Z-${again}.jsonl`)],
      )
    }
    assert.deepEqual(await sealLogbook(fixed, places.directories), [], 'nothing is sealed when there is nothing')
    assertSealed(places, [...expected, raw('again1'), raw('again2')].sort(), 'three times')
  })

  it('that is killed at any step loses no line, and the next one puts each in exactly one place', async t => {
    const { s, places, context } = await bench(t)
    const expected = fillBook(places)
    const pristine = s.path('pristine')
    const discern = s.path('r/.git/discern')
    cpSync(discern, pristine, { recursive: true })
    const [node, script] = bundle
    const preloaded = ['interrupt', 'terminal'].flatMap(name => ['-r', join(projectRoot, `test/support/${name}.cjs`)])
    const attempt = async (step: number) => {
      rmSync(discern, { recursive: true, force: true })
      cpSync(pristine, discern, { recursive: true })
      const env = { STEP: `${step}`, STEPS: s.path('steps'), TERM: 'dumb' }
      return s.execAsync('r', node, [...preloaded, script, 'logbook', 'seal'], { env, input: 'y\n' })
    }
    const whole = await attempt(0)
    assert.equal(whole.exit, 0, whole.err)
    const steps = Number(s.read('steps'))
    assertSealed(places, expected, 'uninterrupted')
    let pending = 0
    for (let step = 1; step <= steps; step += 1) {
      const killed = await attempt(step)
      assert.equal(killed.exit, 137, `step ${step}: ${killed.out}${killed.err}`)
      const left = everywhere(places)
      assert.deepEqual(
        expected.filter(line => !left.includes(line)),
        [],
        `killed before step ${step}`,
      )
      const held = linesBelow(places.archives)
      assert.ok(held.length === 0 || held.length === expected.length, `step ${step}: an archive is whole or not there`)
      pending += (await pendingSnapshots(places.directories)).length
      await sealLogbook(context, places.directories)
      assertSealed(places, expected, `sealed again after step ${step}`)
    }
    assert.ok(steps > 15 && pending > 10, `${steps} steps, ${pending} of them left something to finish`)
    t.diagnostic(`killed before each of ${steps} steps; ${pending} times the next seal had to finish`)
  })

  it('that fails at any step for want of room leaves what the next one finishes', async t => {
    const { places, context } = await bench(t)
    const names = ['link', 'mkdir', 'open', 'rename', 'rmdir', 'unlink'] as const
    const originals = names.map(name => files[name])
    const restore = (): void => {
      for (const [at, name] of names.entries()) Object.assign(files, { [name]: originals[at] })
      syncBuiltinESMExports()
    }
    t.after(restore)
    let failures = 0
    for (let step = 1; ; step += 1) {
      rmSync(places.archives, { recursive: true, force: true })
      rmSync(places.folder, { recursive: true, force: true })
      const expected = fillBook(places)
      let calls = 0
      for (const name of names) {
        const real = files[name] as (...args: readonly unknown[]) => Promise<unknown>
        const failing = async (...args: readonly unknown[]): Promise<unknown> => {
          if (!`${args[0]}`.includes('/discern/logbook')) return real(...args)
          calls += 1
          if (calls === step) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
          return real(...args)
        }
        Object.assign(files, { [name]: failing })
      }
      syncBuiltinESMExports()
      const outcome = await sealLogbook(context, places.directories).then(
        () => 'sealed',
        error => (error as NodeJS.ErrnoException).code,
      )
      restore()
      if (calls < step) break
      failures += outcome === 'sealed' ? 0 : 1
      const left = everywhere(places)
      assert.deepEqual(
        expected.filter(line => !left.includes(line)),
        [],
        `step ${step}`,
      )
      await sealLogbook(context, places.directories)
      assertSealed(places, expected, `step ${step}`)
    }
    assert.ok(failures > 12, `${failures} failures`)
  })

  it('on a full disk says so, keeps every line, and goes on when there is room', t =>
    onSmallDisk(t, async ({ s, path, fill, free }) => {
      s.init('disk/r')
      const places = placesIn(join(path, 'r/.git'))
      mkdirSync(places.folder, { recursive: true })
      const all = Array.from({ length: 400 }, (_, at) => raw(`${at}-${'f'.repeat(2000)}`))
      writeFileSync(join(places.folder, '2025-06.jsonl'), `${all.join('\n')}\n`)
      let refusals = 0
      for (const blocks of [0, 1, 5, 60, 150]) {
        fill(blocks)
        const run = await s.discern('disk/r', ['logbook', 'seal'], yes)
        const stats = await s.discern('disk/r', ['logbook', 'stats', '--json'])
        free()
        assert.equal(run.exit, 1, run.out)
        assert.match(run.err, /^git discern: cannot write .*(ENOSPC|no space).*\n {2}next: make .* free some space/)
        refusals += 1
        assert.deepEqual(everywhere(places), all, `${blocks} blocks`)
        assert.equal(stats.exit, 0)
        assert.equal(stats.data.events + stats.data.pending.length, stats.data.events === 0 ? 1 : 400)
      }
      const run = await s.discern('disk/r', ['logbook', 'seal'], yes)
      assert.equal(run.exit, 0, run.err)
      assert.deepEqual([refusals, linesBelow(places.archives), existsSync(places.recovery)], [5, all, false])
    }))

  it('loses no event of writers that go on meanwhile', async t => {
    const { s, places, context } = await bench(t)
    mkdirSync(places.folder, { recursive: true })
    const writers = await startWriters(s, s.path('r/.git'), ['p', 'q', 'r'], { count: 400, bytes: 300 })
    let running = writers.length
    for (const { wrote } of writers) void wrote.then(() => (running -= 1))
    let seals = 0
    while (running > 0) seals += (await sealLogbook(context, places.directories)).length
    const wrote = (await Promise.all(writers.map(writer => writer.wrote))).flat()
    const found = everywhere(places).map(line => JSON.parse(line).invocation as string)
    assert.equal(wrote.length, 1200)
    assert.deepEqual(
      wrote.filter(name => !found.includes(name)),
      [],
    )
    assert.equal(existsSync(places.recovery), false)
    const twice = found.length - new Set(found).size
    // A line stands twice where its file was deleted between its write and its writer's second look.
    assert.ok(twice <= seals, `${twice} of ${found.length} lines stand twice`)
    t.diagnostic(`${seals} seals under 3 writers; ${twice} of 1200 lines stand twice`)
  })

  it('brings along what a writer wrote into a month after it was copied', async t => {
    const { places, context } = await bench(t)
    mkdirSync(places.folder, { recursive: true })
    const name = '20260101T000000Z'
    const month = join(places.recovery, name, '2025-06.jsonl')
    mkdirSync(join(places.recovery, name), { recursive: true })
    mkdirSync(places.archives)
    // As a kill left it: the archive is there, half of the second line was seen when it was copied, and two came later.
    const [first, second, third] = [raw('one'), raw('two'), raw('three')]
    const seen = `${first}\n${second.slice(0, 40)}`
    writeFileSync(join(places.archives, `logbook-${name}.jsonl`), `${seen}\n`)
    writeFileSync(join(places.recovery, name, 'copied.json'), `{"2025-06.jsonl":${seen.length}}\n`)
    writeFileSync(month, `${first}\n${second}\n${third}\n`)
    await sealLogbook(context, places.directories)
    assert.equal(existsSync(places.recovery), false)
    const everything = linesBelow(places.archives)
    assert.deepEqual([...everything].sort(), [first, second, second.slice(0, 40), third].sort())
  })

  it('leaves a newer setting of the Logbook, and a stranger that has no place to go back to, where they are', async t => {
    const { places, context } = await bench(t)
    fillBook(places)
    const name = '20260101T000000Z'
    mkdirSync(join(places.recovery, name, 'folder'), { recursive: true })
    writeFileSync(join(places.recovery, name, 'epoch.json'), 'older')
    writeFileSync(join(places.recovery, name, 'notes.txt'), 'older notes\n')
    writeFileSync(join(places.recovery, 'stray.txt'), 'not ours\n')
    symlinkSync('/', join(places.recovery, '20260102T000000Z'))
    await sealLogbook(context, places.directories)
    assert.equal(readFileSync(join(places.folder, 'notes.txt'), 'utf8'), 'not ours\n')
    assert.equal(readFileSync(join(places.folder, 'epoch.json'), 'utf8'), '{"schema":1,"branches":{}}')
    assert.deepEqual(readdirSync(places.folder), ['epoch.json', 'folder', 'notes.txt'])
    assert.deepEqual(readdirSync(join(places.recovery, name)), ['notes.txt'])
    assert.deepEqual(readdirSync(places.recovery).sort(), [name, '20260102T000000Z', 'stray.txt'].sort())
  })
})

describe('seal and reset', () => {
  it('wait for nobody: they refuse while another of them, or any other verb, is under way', async t => {
    const { s, places, context } = await bench(t)
    const now = Date.parse('2026-01-02T00:00:00Z')
    const at = (minutes: number): string => new Date(now + minutes * 60_000).toISOString()
    const month = join(places.folder, '2026-01.jsonl')
    const write = (...text: readonly string[]): void => {
      mkdirSync(places.folder, { recursive: true })
      writeFileSync(month, `${text.join('\n')}\n`)
    }
    const end = (name: string, minutes: number): string => JSON.stringify(verbEvent(name, at(minutes)))
    const old = Array.from({ length: 300 }, (_, count) => end(`old${count}`, -600))
    const busy: readonly (readonly string[])[] = [
      [beginLine('x', at(-1))],
      [beginLine('x', at(-59)), beginLine('y', at(-50)), end('y', -40)],
      [end('x', -3), beginLine('x2', at(-2)), '{"torn', FOREIGN],
      // A clock that was behind for a few lines does not end the search.
      [beginLine('x', at(-30)), ...old.slice(0, 150)],
      [beginLine('x', at(20))],
    ]
    for (const text of busy) {
      for (const action of ['seal', 'reset'] as const) {
        write(...text)
        const run = await s.discern('r', ['logbook', action], { confirm: () => assert.fail('nothing is asked') })
        assert.deepEqual([run.exit, run.out], [1, ''], text.join('\n'))
        assert.match(run.err, /^git discern: git discern done began at 202/)
        assert.match(run.err, new RegExp(`\n {2}next: .*; then: git discern logbook ${action}\n$`))
        assert.deepEqual(lines(month), text)
        assert.deepEqual(readdirSync(join(s.path('r/.git/discern/lock'), '..')).includes('logbook-recovery'), false)
      }
    }
    const idle: readonly (readonly string[])[] = [
      [beginLine('x', at(-5)), end('x', -4)],
      [beginLine('x', at(-61))],
      [beginLine('x', at(-30)), ...old],
      ['{"torn'],
    ]
    for (const text of idle) {
      write(...text)
      const run = await s.discern('r', ['logbook', 'seal'], yes)
      assert.equal(run.exit, 0, run.err)
    }
    write(...old)
    s.write(
      'r/.git/discern/lock/logbook',
      JSON.stringify({ pid: process.pid, host: context.host, started: '', verb: 'logbook' }),
    )
    for (const work of [sealLogbook, resetLogbook]) {
      await assert.rejects(work(context, places.directories), { slug: 'busy' })
    }
    assert.deepEqual(lines(month), old)
    s.write(
      'r/.git/discern/lock/logbook',
      JSON.stringify({ pid: 2 ** 22 + 1, host: context.host, started: '', verb: 'logbook' }),
    )
    assert.deepEqual(await resetLogbook(context, places.directories), ['2026-01.jsonl'], 'a dead holder does not count')
    assert.equal(existsSync(s.path('r/.git/discern/lock/logbook')), false)
  })

  it('log nothing, and what is written after them begins anew', async t => {
    const { places, context } = await bench(t)
    const expected = fillBook(places)
    writeFileSync(join(places.folder, '2025-07.jsonl'), `${raw('d')}\n`)
    assert.deepEqual(
      await resetLogbook(context, places.directories),
      ['04', '05', '06', '07'].map(m => `2025-${m}.jsonl`),
    )
    assert.deepEqual(readdirSync(places.folder), ['notes.txt'], 'what is not ours stays, settings of it go')
    assert.deepEqual(await resetLogbook(context, places.directories), [])
    rmSync(join(places.folder, 'notes.txt'))
    fillBook(places)
    await sealLogbook(context, places.directories)
    assert.deepEqual(await resetLogbook(context, places.directories), [], 'archives are no part of it')
    assert.deepEqual([...linesBelow(places.archives)].sort(), expected)
    const now = new Date('2026-01-02T00:00:00Z')
    assert.deepEqual(await appendEvent(places.directories, verbEvent('new'), now), { written: true })
    appendFileSync(join(places.folder, '2026-01.jsonl'), '')
    assert.deepEqual(linesBelow(places.folder), [JSON.stringify(verbEvent('new'))])
  })
})
