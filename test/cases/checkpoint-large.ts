/** Changes past every limit, through the verbs: only what needs the fact that is over its limit is lost, and nothing is held in memory. */
import assert from 'node:assert/strict'
import { closeSync, ftruncateSync, openSync, truncateSync, writeSync } from 'node:fs'
import { describe, it } from 'node:test'
import { bundle, CONFIG } from '../support/project.ts'
import { governed, seen } from '../support/reading.ts'
import { type Loose, scratch } from '../support/scratch.ts'

const HUGE_BYTES = 300_000_000

/** `early` and `late` need the lines of files before and after everything that is too much; `inside` needs those themselves. */
const POLICY = `${CONFIG}
[checkpoints.paths]
question = "What changed?"
[checkpoints.files]
mode = "advise"
min_changed_files = 20001
question = "Why so many?"
[checkpoints.more-files]
mode = "advise"
min_changed_files = 20002
question = "Why so many?"
[checkpoints.lines]
mode = "advise"
paths = ["m/**"]
min_changed_lines = 70000
question = "Why so long?"
[checkpoints.more-lines]
mode = "advise"
paths = ["m/**"]
min_changed_lines = 70001
question = "Why so long?"
[checkpoints.early]
paths = ["a"]
adds_matching = ["eval("]
question = "Why eval?"
[checkpoints.inside]
paths = ["m/**"]
adds_matching = ["eval("]
question = "Why eval?"
[checkpoints.late]
paths = ["z"]
adds_matching = ["eval("]
question = "Why eval?"
`

describe('checkpoints on a change past every limit', () => {
  it('case 80: loses what needs the fact over its limit and nothing else, in bounded memory and time', async t => {
    const s = scratch(t)
    governed(s, {}, POLICY)
    const peak = s.path('peak')
    const hook = s.write(
      'peak.cjs',
      `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(peak)}, String(process.resourceUsage().maxRSS)))\n`,
    )
    // A verb in a process of its own: what it saw, and the most memory that the process ever had.
    const run = (...args: readonly string[]): { readonly seen: Loose; readonly drops: Loose; readonly mb: number } => {
      const started = performance.now()
      const { out, exit } = s.exec('r', bundle[0], ['-r', hook, bundle[1], ...args, '--json'])
      const took = performance.now() - started
      assert.equal(exit, 0, out)
      assert.ok(took < 20_000, `${args.join(' ')}: ${took} ms`)
      const { data } = JSON.parse(out)
      const drops = data.drops.map(({ checkpoint, reason }: Loose) => [checkpoint, reason])
      return { seen: seen(data), drops, mb: Number(s.read('peak')) / 1024 }
    }
    const around = 'M 100644 inline a\ndata 8\neval(a)\n\nM 100644 inline z\ndata 8\neval(z)\n\n'
    const branch = (name: string, entries: string): void => {
      const commit = `commit refs/heads/${name}\ncommitter D <d@e> 0 +0000\ndata 1\nw\nfrom refs/heads/main\n`
      assert.equal(s.exec('r', 'git', ['fast-import', '--quiet'], { input: `${commit}${around}${entries}` }).exit, 0)
    }
    const before = s.exec('r', bundle[0], ['-r', hook, bundle[1], 'checkpoints', '--json'])
    assert.equal(before.exit, 0)
    const idle = Number(s.read('peak')) / 1024
    const bounded = (mb: number, most: number): void => assert.ok(mb - idle < most, `${mb} MB, ${idle} MB when idle`)

    const wide = Array.from({ length: 19_999 }, (_, at) => `M 100644 inline m/${at % 50}/f${at}\ndata 2\nx\n`)
    branch('wide', wide.join('\n'))
    const many = run('evaluate', 'wide')
    assert.equal(many.seen.paths.length, 20_001)
    assert.equal(many.seen.files.length, 20_001)
    assert.equal(many.seen['more-files'], 'min_changed_files')
    assert.deepEqual(many.seen.early, ['a'])
    assert.match(many.seen.inside, /^m\/\d+\/f\d+: total_bytes$/)
    assert.equal(many.seen.late, 'z: total_bytes')
    assert.deepEqual(many.drops, [
      ['inside', 'trigger_content_unavailable'],
      ['late', 'trigger_content_unavailable'],
    ])
    bounded(many.mb, 200)

    branch('long', `M 100644 inline m/lines\ndata 70000\n${'\n'.repeat(70_000)}\n`)
    const long = run('evaluate', 'long')
    assert.deepEqual(long.seen, {
      paths: ['a', 'm/lines', 'z'],
      files: 'min_changed_files',
      'more-files': 'min_changed_files',
      lines: ['m/lines'],
      'more-lines': 'min_changed_lines',
      early: ['a'],
      inside: 'm/lines: line_count',
      late: 'z: line_count',
    })
    bounded(long.mb, 60)

    // One line of text: no NUL among the first 8,000 bytes, and a hole for the rest.
    s.write('r/a', 'eval(a)\n')
    s.write('r/z', 'eval(z)\n')
    s.write('r/m/huge', '')
    const file = openSync(s.path('r/m/huge'), 'r+')
    writeSync(file, 'x'.repeat(8_000))
    ftruncateSync(file, HUGE_BYTES)
    closeSync(file)
    const expected = {
      paths: ['a', 'm/huge', 'z'],
      files: 'min_changed_files',
      'more-files': 'min_changed_files',
      lines: 'min_changed_lines',
      'more-lines': 'min_changed_lines',
      early: ['a'],
      inside: 'm/huge: file_limit',
      late: ['z'],
    }
    const untracked = run('checkpoints')
    assert.deepEqual(untracked.seen, expected)
    assert.deepEqual(untracked.drops, [['inside', 'trigger_content_unavailable']])
    bounded(untracked.mb, 60)
    // A third of it is enough for git to hash, store and compare.
    truncateSync(s.path('r/m/huge'), HUGE_BYTES / 3)
    s.git('r', '-c', 'core.compression=1', 'add', '-A')
    s.git('r', 'commit', '-q', '-m', 'huge')
    const committed = run('checkpoints')
    assert.deepEqual(committed.seen, expected)
    bounded(committed.mb, 60)
  })
})
