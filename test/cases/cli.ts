/** The command line itself: what people mistype, what programs read, and how little is said. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { commands } from '../../src/commands/command.ts'
import { project } from '../support/project.ts'
import { launcher, scratch } from '../support/scratch.ts'

describe('the command line', () => {
  const wrong: readonly [args: readonly string[], message: RegExp][] = [
    [['stauts'], /"stauts" is not a verb; did you mean "status"\?/],
    [['xyzzy'], /"xyzzy" is not a verb\n/],
    [['done', '--rerunn'], /unknown option --rerunn; did you mean --rerun\?/],
    [['done', '-x'], /unknown option -x/],
    [['done', '--no-rerun'], /unknown option --no-rerun/],
    [['done', '--rerun=yes'], /--rerun takes no value/],
    [['setup', '--trunk'], /--trunk needs a branch/],
    [['setup', '--trunk', 'a', '--trunk', 'b'], /--trunk may be given once/],
    [['done', 'everything'], /unexpected argument everything/],
    [['notes'], /expected list \| merge \| resolve/],
    [['status', '--markdown', '--json=x'], /--json takes no value/],
    [['help', 'stauts'], /did you mean "status"\?/],
  ]
  for (const [args, message] of wrong) {
    it(`refuses git discern ${args.join(' ')} with exit 2 and says what to type`, async t => {
      const s = scratch(t)
      const run = await s.discern('.', args)
      assert.equal(run.exit, 2)
      assert.match(run.err, message)
      assert.match(run.err, /\n {2}next: git discern/)
      assert.equal(run.out, '')
    })
  }

  it('prints the same refusal as JSON on standard output when asked', async t => {
    const s = scratch(t)
    const run = await s.discern('.', ['done', '--rerunn', '--json'])
    assert.equal(run.exit, 2)
    assert.equal(run.err, '')
    assert.equal(run.result.error, 'invalid_arguments')
    assert.equal(run.result.verb, 'done')
  })

  it('answers -h for the program and for every verb, naming each flag', async t => {
    const s = scratch(t)
    const all = await s.discern('.', ['-h'])
    assert.equal(all.exit, 0)
    for (const command of commands) {
      assert.match(all.out, new RegExp(`^ {2}${command.name} `, 'm'))
      const help = await s.discern('.', [command.name, '-h'])
      assert.equal(help.exit, 0)
      for (const flag of command.flags) assert.ok(help.out.includes(`--${flag.name}`), `${command.name} --${flag.name}`)
      assert.deepEqual((await s.discern('.', ['help', command.name])).out, help.out)
    }
  })

  it('is status when no verb is given', async t => {
    const s = scratch(t)
    project(s)
    const plain = await s.discern('r', [])
    assert.equal(plain.out, (await s.discern('r', ['status'])).out)
    assert.equal((await s.discern('r', ['--json'])).result.verb, 'status')
  })

  it('says nothing with -q when all is well', async t => {
    const s = scratch(t)
    project(s)
    const run = await s.discern('r', ['status', '-q'])
    assert.deepEqual([run.exit, run.out, run.err], [0, '', ''])
  })

  it('never colours a pipe, honours NO_COLOR, and colours on request', t => {
    const s = scratch(t)
    project(s)
    assert.doesNotMatch(s.launch('r', ['status']).out, /\u001b/)
    assert.match(s.launch('r', ['status'], { FORCE_COLOR: '1' }).out, /\u001b\[/)
    assert.doesNotMatch(s.launch('r', ['status'], { FORCE_COLOR: '1', NO_COLOR: '1' }).out, /\u001b/)
  })

  it('survives a reader that goes away', t => {
    const s = scratch(t)
    project(s)
    const run = s.sh('r', `'${launcher}' -h | head -1; '${launcher}' status | true`)
    assert.equal(run.exit, 0)
    assert.equal(run.err, '')
  })

  it('stands where the user stood when called through an alias from a subdirectory (case 90)', t => {
    const s = scratch(t)
    project(s)
    s.write('r/sub/x', '1')
    s.git('r', 'config', 'alias.d', '!git discern')
    const run = s.exec('r/sub', 'git', ['d', 'status', '--json'])
    assert.equal(run.exit, 0, run.err)
    assert.equal(JSON.parse(run.out).data.branch, 'main')
  })

  it('honours a repository chosen on purpose, and refuses dubious ownership in git’s words (case 20)', async t => {
    const s = scratch(t)
    project(s)
    s.init('other')
    const env = { GIT_DIR: s.path('r/.git'), GIT_WORK_TREE: s.path('r') }
    assert.equal((await s.discern('other', ['status', '--json'], { env })).data.set_up, true)
    const dubious = await s.discern('r', ['status', '--json'], { env: { GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' } })
    assert.equal(dubious.result.error, 'not_initialized')
    assert.match(String(dubious.result.message), /dubious ownership/)
  })

  it('says when git itself cannot be run', async t => {
    const s = scratch(t)
    project(s)
    const broken = await s.discern('r', ['status'], { env: { PATH: s.path('nowhere') } })
    assert.equal(broken.exit, 1)
    assert.match(broken.err, /git could not be run/)
    assert.match(broken.err, /next: install git/)
  })
})
