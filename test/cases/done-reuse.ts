/** Jobs that need not run again: evidence counts for every commit with the same declared inputs (facts 8.3 to 8.5). */
import assert from 'node:assert/strict'
import { readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { accept, land, noteLines } from '../support/project.ts'
import { type Loose, type Scratch, scratch } from '../support/scratch.ts'

const CONFIG = `[repository]
trunk = "main"
[jobs.lint]
run = "echo lint >>../ran; test ! -e src/bad"
inputs = ["src/**"]
toolchain = ["tool"]
environment = ["LEVEL"]
[jobs.test]
run = "echo test >>../ran"
`

const start = (s: Scratch, config = CONFIG): void => {
  s.git('.', 'init', '-q', 'r')
  s.write('r/src/a', '1\n')
  s.write('r/tool', 'v1\n')
  s.write('r/discern.toml', config)
  s.commit('r', 'one')
  s.git('r', 'switch', '-q', '-c', 'feat')
}

/** Commits these files, runs `done`, and answers which jobs ran. */
const ranBy = async (
  s: Scratch,
  files: Readonly<Record<string, string>>,
  { args = [], env = {}, cwd = 'r' }: { args?: readonly string[]; env?: Record<string, string>; cwd?: string } = {},
): Promise<{ readonly ran: string; readonly result: Loose }> => {
  for (const [path, text] of Object.entries(files)) s.write(`${cwd}/${path}`, text)
  if (Object.keys(files).length > 0) s.commit(cwd, 'more')
  rmSync(s.path('ran'), { force: true })
  s.write('ran', '')
  const { result } = await s.discern(cwd, ['done', '--json', ...args], { env })
  return { ran: s.read('ran').trim().split('\n').sort().join(' '), result }
}

describe('evidence that stands', () => {
  it('is reused while the declared inputs, tools and variables are the same, and for nothing else', async t => {
    const s = scratch(t)
    start(s)
    const first = await ranBy(s, { note: '1' })
    assert.equal(first.ran, 'lint test')
    const head = s.git('r', 'rev-parse', 'HEAD')
    const unrelated = await ranBy(s, { note: '2' })
    assert.equal(unrelated.ran, 'test')
    assert.equal(unrelated.result.data.producer_executions, 1)
    const step = unrelated.result.steps.find(({ label }: { label: string }) => label === 'lint')
    assert.deepEqual(
      [step.disposition, step.outcome, step.note],
      ['skip', 'ok', `same inputs as at ${head.slice(0, 12)}`],
    )
    assert.equal((await ranBy(s, { 'src/a': '2\n' })).ran, 'lint test', 'one byte of an input')
    assert.equal((await ranBy(s, { tool: 'v2\n' })).ran, 'lint test', 'the tool')
    assert.equal((await ranBy(s, { note: '3' }, { env: { LEVEL: '2' } })).ran, 'lint test', 'the variable')
    assert.equal((await ranBy(s, { note: '4' }, { env: { LEVEL: '2' } })).ran, 'test')
    s.sh('r', 'chmod +x src/a')
    s.commit('r', 'mode')
    assert.equal((await ranBy(s, {}, { env: { LEVEL: '2' } })).ran, 'lint test', 'the mode of an input')
    assert.equal((await ranBy(s, { note: '5', 'src/a': '1\n' })).ran, 'lint test', 'another mode than before')
    assert.equal((await ranBy(s, {}, { args: ['--rerun'] })).ran, 'lint test', 'on purpose')
    s.git('r', 'rm', '-q', 'tool')
    assert.equal((await ranBy(s, { note: '6' })).ran, 'lint test', 'a tool that is missing')
    assert.equal((await ranBy(s, { note: '7' })).ran, 'lint test', 'and still missing')
  })

  it('lands in the note with its attempt, executor and a receipt of this candidate, and crosses worktrees', async t => {
    const s = scratch(t)
    start(s)
    await ranBy(s, { note: '1' })
    await land(s, 'r')
    s.git('r', 'worktree', 'add', '-q', '-b', 'other', '../wt', 'main')
    const { ran, result } = await ranBy(s, { note: '2' }, { cwd: 'wt' })
    assert.equal(ran, 'test')
    assert.equal(result.ok, true)
    const page = JSON.parse(s.read('r/.git/worktrees/wt/discern/gate-proof')).proof
    assert.match(page.markdown, /\| lint \| check \| .* \| passed, same inputs as at [0-9a-f]{12} \|/)
    const { completion } = page.claim
    const receipt = completion.validation.receipts.find(({ requirement }: Loose) => requirement === 'lint')
    assert.equal(receipt.candidate_id, completion.candidate_id)
    const component = completion.components.find(({ id }: Loose) => id === receipt.evidence_id)
    assert.notEqual(component.evidence.candidate_id, completion.candidate_id)
    assert.equal(component.evidence.applicability.closure.kind, 'declared')
    assert.equal(completion.attempts.length, 2)
    assert.equal(completion.executors.length, 2)
    const landed = await accept(s, 'wt')
    assert.equal(landed.result.ok, true, landed.out)
    assert.equal(noteLines(s, 'r').length, 2)
  })

  it('is blocked by a later failure on the same inputs until they pass again', async t => {
    const s = scratch(t)
    start(s, CONFIG.replace('test ! -e src/bad', 'test ! -e ../flaky'))
    assert.equal((await ranBy(s, { note: '1' })).ran, 'lint test')
    s.write('flaky', '')
    const red = await ranBy(s, {}, { args: ['--rerun'] })
    assert.equal(red.result.error, 'gate_failed')
    rmSync(s.path('flaky'))
    assert.match((await ranBy(s, { note: '2' })).ran, /lint/, 'the older pass does not count')
    assert.equal((await ranBy(s, { note: '3' })).ran, 'test', 'the newer one does')
  })

  it('does not leave out what something that runs needs, nor a build before anything that runs', async t => {
    const s = scratch(t)
    start(
      s,
      `[repository]
trunk = "main"
[jobs.build]
run = "echo build >>../ran"
inputs = ["src/**"]
[jobs.lint]
run = "echo lint >>../ran"
inputs = ["src/**"]
[jobs.types]
stage = "check"
run = "echo types >>../ran"
inputs = ["lib/**"]
needs = ["lint"]
`,
    )
    assert.equal((await ranBy(s, { note: '1' })).ran, 'build lint types')
    assert.equal((await ranBy(s, { note: '2' })).ran, '', 'nothing has to run')
    assert.equal((await ranBy(s, { 'lib/x': '1' })).ran, 'build lint types')
    assert.equal((await ranBy(s, { 'src/a': '3' })).ran, 'build lint types', 'a need’s inputs are its own')
  })

  it('is bound to its commit where inputs cannot be told, and reads the commit, not the work tree', async t => {
    const s = scratch(t)
    start(s)
    symlinkSync('a', s.path('r/src/link'))
    assert.equal((await ranBy(s, { note: '1' })).ran, 'lint test')
    rmSync(s.path('r/src/link'))
    symlinkSync('b', s.path('r/src/link'))
    s.commit('r', 'another target')
    assert.equal((await ranBy(s, {})).ran, 'lint test')
    s.git('r', 'update-index', '--assume-unchanged', 'src/a')
    s.write('r/src/a', 'hidden\n')
    assert.equal((await ranBy(s, { note: '2' })).ran, 'test')
    const sub = s.git('r', 'rev-parse', 'HEAD')
    s.git('r', 'update-index', '--add', '--cacheinfo', `160000,${sub},src/sub`)
    s.sh('r', 'mkdir src/sub')
    s.git('r', 'commit', '-q', '-m', 'sub')
    assert.equal((await ranBy(s, {})).ran, 'lint test')
    s.write('r/note', '3')
    s.git('r', 'commit', '-q', '-m', 'three', 'note')
    assert.equal((await ranBy(s, {})).ran, 'lint test')
  })

  it('is that of its own subject: an entry that names evidence of another job counts for nothing', async t => {
    const s = scratch(t)
    start(
      s,
      CONFIG.replace(
        '[jobs.test]',
        '[jobs.types]\nstage = "check"\nrun = "echo types >>../ran"\ninputs = ["src/**"]\n[jobs.test]',
      ),
    )
    assert.equal((await ranBy(s, { note: '1' })).ran, 'lint test types')
    const folder = s.path('r/.git/discern/completion/subjects')
    const [one = '', other = ''] = readdirSync(folder)
    const [entry = ''] = readdirSync(join(folder, one))
    const [replaced = ''] = readdirSync(join(folder, other))
    renameSync(join(folder, one, entry), join(folder, other, replaced.replace(/[0-9a-f-]{36}$/, entry.slice(-36))))
    rmSync(join(folder, other, replaced))
    assert.equal((await ranBy(s, { note: '2' })).ran, 'lint test types')
  })
})
