/** Changed lines, each budget at its limit and one past it. The numbers here are those of facts 2.2, not the program's. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CollectedChange } from '../../src/change/effort.ts'
import type { ChangedLines, Fact } from '../../src/change/facts.ts'
import { collectLines, comparisonWork, matchesAnyLine } from '../../src/change/lines.ts'
import type { Worktree } from '../../src/git/repository.ts'
import { changeOf } from '../support/change.ts'
import { openScratch } from '../support/open.ts'
import { type Scratch, scratch } from '../support/scratch.ts'

/** `+` and `-` lines, the number of them when there are many, or the reason why there are none. */
const told = (fact: Fact<ChangedLines> | undefined): string | readonly string[] | number => {
  if (!fact) return 'no entry'
  if ('unavailable' in fact) return fact.unavailable
  const { added, removed } = fact.known
  if (added.length + removed.length > 9) return added.length + removed.length
  return [...removed.map(line => `-${line.toString('latin1')}`), ...added.map(line => `+${line.toString('latin1')}`)]
}

const linesOf = async (repository: Worktree, change: CollectedChange): Promise<Record<string, unknown>> => {
  const facts = await collectLines(
    repository,
    change,
    change.files.map(({ path }) => path),
  )
  return Object.fromEntries([...facts].map(([path, fact]) => [path, told(fact)]))
}

const start = async (t: Parameters<typeof scratch>[0]) => {
  const s = scratch(t)
  s.init('r')
  const base = s.git('r', 'rev-parse', 'HEAD')
  const { repository } = await openScratch(t, s, 'r')
  return { s, base, repository }
}

const both = (s: Scratch, name: string, text: string | Buffer): void => {
  s.write(`r/${name}-tracked`, text)
  s.git('r', 'add', `${name}-tracked`)
  s.write(`r/${name}-untracked`, text)
}

describe('changed lines', () => {
  it('are the added and removed ones without their ending, whatever they look like', async t => {
    const { s, repository } = await start(t)
    s.write('r/f', 'keep\nold\n-- dashes\nkeep too\n')
    s.write('r/crlf', 'a\r\nb\r\n')
    s.write('r/bin', 'x\0')
    const base = s.commit('r', 'base')
    s.write('r/f', 'keep\n@@ -1 +1 @@\ndiff --git a/000000001 b/000000001\n++ plus\nkeep too\nlast')
    s.write('r/crlf', 'a\r\nc\r\n\r\r\n')
    s.write('r/bin', 'y\0')
    s.write('r/new', 'one\r\n\ntwo')
    s.write('r/newbin', 'x\0')
    const expected = {
      bin: [],
      crlf: ['-b', '+c', '+\r'],
      f: ['-old', '--- dashes', '+@@ -1 +1 @@', '+diff --git a/000000001 b/000000001', '+++ plus', '+last'],
      new: ['+one', '+', '+two'],
      newbin: [],
    }
    assert.deepEqual(await linesOf(repository, await changeOf(repository, base)), expected)
    const commit = s.commit('r', 'all')
    assert.deepEqual(await linesOf(repository, await changeOf(repository, base, { kind: 'commit', commit })), expected)
  })

  it('case 65: are found under "-diff" and "binary"', async t => {
    const { s, base, repository } = await start(t)
    s.write('r/.gitattributes', 's.ts -diff\nf binary\n')
    s.write('r/s.ts', 'eval(x)\n')
    s.write('r/f', '1\neval(y)\n')
    s.commit('r', 'x')
    const change = await changeOf(repository, base)
    const lines = await collectLines(repository, change, ['s.ts', 'f'])
    assert.deepEqual(told(lines.get('s.ts')), ['+eval(x)'])
    assert.deepEqual(told(lines.get('f')), ['+eval(y)'])
  })

  it('are collected for the asked paths alone', async t => {
    const { s, base, repository } = await start(t)
    s.write('r/a', 'a\n')
    s.write('r/b', 'b\n')
    const change = await changeOf(repository, base)
    assert.deepEqual([...(await collectLines(repository, change, ['b', 'absent'])).keys()], ['b'])
    assert.equal((await collectLines(repository, change, [])).size, 0)
  })

  it('case 80: end at a line of 8,192 bytes, its ending not counted', async t => {
    const { s, base, repository } = await start(t)
    both(s, 'fits', `${'x'.repeat(8192)}\r\n`)
    both(s, 'long', `${'x'.repeat(8193)}\n`)
    assert.deepEqual(await linesOf(repository, await changeOf(repository, base)), {
      'fits-tracked': [`+${'x'.repeat(8192)}`],
      'fits-untracked': [`+${'x'.repeat(8192)}`],
      'long-tracked': 'line_limit',
      'long-untracked': 'line_limit',
    })
  })

  it('case 80: end at 65,536 in all, for every file from there on', async t => {
    const { s, base, repository } = await start(t)
    const lines = (count: number): string => '\n'.repeat(count)
    s.write('r/a', lines(30_000))
    s.git('r', 'add', 'a')
    s.write('r/b', lines(35_535))
    s.write('r/c', '\n')
    assert.deepEqual(await linesOf(repository, await changeOf(repository, base)), { a: 30_000, b: 35_535, c: ['+'] })
    s.write('r/c', '\n\n')
    s.write('r/d', '\n')
    s.write('r/e', 'e\0')
    assert.deepEqual(await linesOf(repository, await changeOf(repository, base)), {
      a: 30_000,
      b: 35_535,
      c: 'line_count',
      d: 'line_count',
      e: [],
    })
  })

  it('case 80: end at 262,144 bytes of one untracked file', async t => {
    const { s, base, repository } = await start(t)
    const text = `${'x'.repeat(4095)}\n`.repeat(64)
    assert.equal(text.length, 262_144)
    s.write('r/a', text)
    s.write('r/b', `${text}y`)
    s.write('r/c', 'c\n')
    assert.deepEqual(await linesOf(repository, await changeOf(repository, base)), { a: 64, b: 'file_limit', c: ['+c'] })
  })

  it("case 80: end at 262,144 bytes of one file's patch, headers and the path's own name included", async t => {
    const { s, base, repository } = await start(t)
    const name = 'a-name-of-more-than-nine-bytes'
    const write = (size: number): number => {
      s.write(`r/${name}`, `${`${'x'.repeat(4094)}\n`.repeat(63)}${'y'.repeat(size)}\n`)
      s.git('r', 'add', name)
      return Buffer.byteLength(s.exec('r', 'git', ['diff-index', '-p', '--unified=0', '--text', base, '--', name]).out)
    }
    const room = 262_144 - write(100)
    assert.equal(write(100 + room), 262_144)
    s.write('r/z', 'z\n')
    s.git('r', 'add', 'z')
    assert.deepEqual(await linesOf(repository, await changeOf(repository, base)), { [name]: 64, z: ['+z'] })
    assert.equal(write(101 + room), 262_145)
    assert.deepEqual(await linesOf(repository, await changeOf(repository, base)), { [name]: 'file_limit', z: ['+z'] })
  })

  it('case 80: end at 2,097,152 bytes in all, in path order, and a file that was too long has used its share', async t => {
    const { s, base, repository } = await start(t)
    const chunk = `${'x'.repeat(4095)}\n`.repeat(64)
    for (const at of [0, 1, 2, 3, 4, 5, 6]) s.write(`r/g${at}`, at === 3 ? `${chunk}more` : chunk)
    s.write('r/h', chunk.slice(0, -2))
    s.write('r/i', 'i')
    s.write('r/j', 'j\0')
    const full = { g0: 64, g1: 64, g2: 64, g3: 'file_limit', g4: 64, g5: 64, g6: 64, h: 64 }
    const found = await linesOf(repository, await changeOf(repository, base))
    assert.deepEqual(found, { ...full, i: ['+i'], j: [] })
    s.write('r/i', 'iii')
    const over = await linesOf(repository, await changeOf(repository, base))
    assert.deepEqual(over, { ...full, i: 'total_bytes', j: [] })
  })

  it('case 80: a line of 30 MB costs its own file and no more than the budget', async t => {
    const { s, base, repository } = await start(t)
    s.write('r/a', 'a\n')
    s.write('r/huge', Buffer.alloc(30_000_000, 120))
    s.write('r/z', 'z\n')
    s.git('r', 'add', '-A')
    assert.deepEqual(await linesOf(repository, await changeOf(repository, base)), {
      a: ['+a'],
      huge: 'file_limit',
      z: ['+z'],
    })
  })

  it('are refused when the patch disagrees with the counts, as after an edit in between', async t => {
    const { s, base, repository } = await start(t)
    s.write('r/f', '1\n2\n')
    s.write('r/g', 'g\n')
    s.git('r', 'add', 'g')
    const change = await changeOf(repository, base)
    s.write('r/f', '1\n2\n3\n')
    assert.deepEqual(await linesOf(repository, change), { f: 'patch_mismatch', g: ['+g'] })
  })
})

describe('matching lines', () => {
  const line = Buffer.from('let naïve = eval(x)')

  it('is literal, case-sensitive and byte for byte', () => {
    const matches = (...patterns: string[]) => matchesAnyLine([Buffer.from('none'), line], patterns).matches
    assert.deepEqual(matches('zzz', 'eval('), { known: true })
    assert.deepEqual(matches('ïv'), { known: true })
    assert.deepEqual(matches('Eval('), { known: false })
    assert.deepEqual(matches('e.al'), { known: false })
    assert.deepEqual(matches('nonelet'), { known: false })
  })

  it('charges payload and one separator for each pattern, and stops before comparing past 67,108,864', () => {
    assert.equal(comparisonWork([Buffer.from('abc'), Buffer.from('')], 5), 25)
    const lines = Array.from({ length: 8192 }, () => Buffer.alloc(8191))
    const full = matchesAnyLine(lines, ['x'])
    assert.deepEqual(full, { matches: { known: false }, spentBytes: 67_108_864 })
    assert.deepEqual(matchesAnyLine([Buffer.from('')], ['x'], full.spentBytes).matches, {
      unavailable: 'comparison_work',
    })
    assert.deepEqual(matchesAnyLine([line], ['eval'], 67_108_864 - line.length - 1).matches, { known: true })
    assert.deepEqual(matchesAnyLine([line], ['eval'], 67_108_864 - line.length).matches, {
      unavailable: 'comparison_work',
    })
  })
})
