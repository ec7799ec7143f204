/** A job that is really flaky, among many that only look so: forty runs, and patterns names exactly what was planted (facts 12.6). */
import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { it } from 'node:test'
import { verbEvents } from '../support/book.ts'
import { type Loose, scratch } from '../support/scratch.ts'

/** Every job fails while a file of its name stands outside the tree, which no state can know of. */
const configuration = (more = ''): string => `[repository]
trunk = "main"

[jobs]
unit = { run = "test ! -e ../red-unit", stage = "test" }
web = { run = "test ! -e ../red-web", stage = "test" }
${more}`

it('40 runs over many states and conditions: exactly the planted flakes are found, and no decoy', async t => {
  const s = scratch(t)
  s.git('.', 'init', '-q', 'r')
  s.write('r/discern.toml', configuration())
  s.write('r/f', '1\n')
  s.commit('r', 'one')
  s.git('r', 'switch', '-q', '-c', 'feat')
  let runs = 0
  const run = async (red: readonly string[], ...args: string[]): Promise<void> => {
    s.sh('.', `rm -f red-*; ${red.map(job => `: >red-${job}`).join('; ')}`)
    await s.discern('r', args.length > 0 ? args : ['test'])
    runs += 1
  }
  /** A state of its own. */
  const state = (text: string): string => {
    s.write('r/f', `${text}\n`)
    return s.commit('r', text)
  }
  const planted: (readonly [job: string, head: string, failed: number, passed: number])[] = []

  // Planted: unit fails twice and passes three times on one committed state, standalone.
  const one = state('planted one')
  for (const red of [[], ['unit'], [], ['unit'], []]) await run(red)
  planted.push(['unit', one, 2, 3])

  // Planted: web answers differently to the whole gate.
  const two = state('planted two')
  await run(['web'], 'done')
  for (const red of [[], ['web'], []]) await run(red, 'done', '--rerun')
  planted.push(['web', two, 2, 2])

  // Planted: the same in a tree with uncommitted and untracked files.
  const three = state('planted three')
  s.write('r/f', 'edited\n')
  s.write('r/new', 'untracked\n')
  for (const red of [['unit'], [], []]) await run(red)
  planted.push(['unit', three, 1, 2])
  s.git('r', 'checkout', '-q', 'f')
  s.sh('r', 'rm new')

  // A test that was red and was then mended, several times.
  for (const name of ['mended a', 'mended b', 'mended c']) {
    state(`${name}, red`)
    await run(['unit', 'web'])
    await run(['unit', 'web'])
    state(`${name}, green`)
    await run([])
  }
  // The same commit, with bytes that differ: staged only, in the tree only, untracked, a mode.
  state('bytes')
  await run(['unit'])
  s.write('r/f', 'staged\n')
  s.git('r', 'add', 'f')
  await run([])
  s.write('r/f', 'bytes\n')
  await run(['unit'])
  s.git('r', 'reset', '-q')
  s.write('r/new', '')
  await run([])
  s.sh('r', 'chmod +x new')
  await run(['unit'])
  s.sh('r', 'rm new')
  // Alone and beside another test; standalone and in the whole gate.
  state('siblings')
  await run(['unit'], 'test', 'unit')
  await run([])
  state('mode')
  await run(['unit'])
  await run([], 'done')
  // Evidence that is incomplete counts for nothing.
  state('incomplete')
  chmodSync(s.path('r/.git/discern/validation-hmac-key'), 0o644)
  await run(['unit'])
  await run([])
  chmodSync(s.path('r/.git/discern/validation-hmac-key'), 0o600)
  // A job that was not run is neither red nor green: web needs unit, and unit is red; then the gate is stopped before both.
  s.write('r/discern.toml', configuration().replace('red-web", ', 'red-web", needs = ["unit"], '))
  state('skipped')
  await run(['unit'])
  await run(['unit'])
  s.write('r/discern.toml', configuration('broken = { run = "test ! -e ../red-broken", stage = "build" }\n'))
  state('not reached')
  await run(['broken'], 'done')
  await run([], 'done', '--rerun')
  // One that was stopped has said nothing: the other fails at once, and fail-fast ends it.
  s.write(
    'r/discern.toml',
    configuration('[gate]\nfail_fast = true\n').replace('test ! -e ../red-web', 'test ! -e ../red-unit || sleep 5'),
  )
  state('cancelled')
  await run(['unit'])
  s.sh('.', 'rm -f red-*')
  while (runs < 40) await run(['unit'])

  assert.equal(runs, 40)
  const outcomes = new Set(
    verbEvents(s).flatMap(({ validation }) => validation?.execution.jobs.map((job: Loose) => job.outcome)),
  )
  assert.deepEqual([...outcomes].sort(), ['cancelled', 'failed', 'passed', 'skipped'])
  const { data } = await s.discern('r', ['patterns', '--all', '--json'])
  const detector = (name: string): Loose => data.detectors.find((one: Loose) => one.detector === name)
  const found = detector('same-tree-flake').findings.map(({ about, seen }: Loose) => {
    const [, failed, passed, head] = /failed (\d+) and passed (\d+) of \d+ times .* ([0-9a-f]{12})/.exec(seen) ?? []
    return [about.replace(/^job /, ''), head, Number(failed), Number(passed)].join(' ')
  })
  assert.deepEqual(
    found.sort(),
    planted.map(([job, head, ...counts]) => [job, head.slice(0, 12), ...counts].join(' ')).sort(),
  )
  // Another configuration and another definition, where git ignores discern.toml: on what is provably one state.
  s.git('.', 'init', '-q', 'ignoring')
  s.write('ignoring/.gitignore', 'discern.toml\n')
  s.commit('ignoring', 'one')
  for (const [red, config] of [
    [['unit'], configuration()],
    [[], configuration('[project]\nname = "other"\n')],
    [[], configuration().replace('test ! -e ../red-unit', 'test ! -f ../red-unit')],
    [[], configuration('[worktree]\nsetup = "true"\n')],
  ] as const) {
    s.sh('.', `rm -f red-*; ${red.map(job => `: >red-${job}`).join('; ')}`)
    s.write('ignoring/discern.toml', config)
    await s.discern('ignoring', ['test'])
  }
  const states = verbEvents(s, 'test', 'ignoring').map(({ validation }) => validation.state.digest)
  assert.deepEqual([states.length, new Set(states).size], [4, 1])
  const ignoring = (await s.discern('ignoring', ['patterns', '--all', '--json'])).data
  assert.deepEqual(
    ignoring.detectors.flatMap(({ findings }: Loose) => findings),
    [],
  )
  // What differs by its conditions alone is told as that, and not as a flake.
  assert.deepEqual(
    detector('execution-context-divergence')
      .findings.map(({ about }: Loose) => about)
      .sort(),
    ['job unit', 'job unit'],
  )
})
