import assert from 'node:assert/strict'
import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { accept, bundle, killingGit, noteLines, project, provenWorktree } from '../support/project.ts'
import { type Scratch, scratch } from '../support/scratch.ts'

describe('interruption', () => {
  /** What must hold after an interrupted `accept` was run again. */
  const settled = (s: Scratch, cwd: string, commit: string, trunk: string): void => {
    assert.equal(s.git(cwd, 'rev-parse', 'main'), commit)
    assert.equal(s.git(cwd, 'status', '--porcelain'), '', 'the trunk checkout is clean at the new commit')
    assert.equal(s.read(`${cwd}/g`), '2\n')
    assert.match(noteLines(s, cwd).join(), new RegExp(` ${commit}$`))
    assert.equal(s.git(cwd, 'log', '--format=%H', `${trunk}..main`), commit)
    const left = readdirSync(s.path(cwd, '.git/worktrees/wt/discern')).filter(name => name.startsWith('acceptance'))
    assert.deepEqual(left, [])
    assert.equal(s.git(`${cwd.replace(/r$/, 'wt')}`, 'for-each-ref', 'refs/worktree'), '')
  }

  for (const when of ['before', 'after']) {
    it(`by SIGKILL ${when} any git call of accept leaves a landing that is wholly there or not at all`, async t => {
      const s = scratch(t)
      const commit = await provenWorktree(s)
      const trunk = s.git('r', 'rev-parse', 'main')
      const [node, script] = bundle
      let landedThen = 0
      for (let at = 1; ; at += 1) {
        const copy = `copy-${when}-${at}`
        for (const name of ['r', 'wt'])
          cpSync(s.path(name), s.path(copy, name), { recursive: true, verbatimSymlinks: true })
        writeFileSync(s.path(copy, 'wt/.git'), `gitdir: ${s.path(copy, 'r/.git/worktrees/wt')}\n`)
        writeFileSync(s.path(copy, 'r/.git/worktrees/wt/gitdir'), `${s.path(copy, 'wt/.git')}\n`)
        const killed = s.exec(`${copy}/wt`, node, [script, 'accept', '--confirmed', '--json'], {
          env: killingGit(s, at, when, s.path(copy, 'count')),
        })
        if (!existsSync(s.path(copy, `count.${at}`))) break
        assert.notEqual(killed.exit, 0)
        const tip = s.git(`${copy}/r`, 'rev-parse', 'main')
        assert.ok([trunk, commit].includes(tip))
        if (tip === commit) landedThen += 1
        const again = await s.discern(`${copy}/wt`, ['accept', '--confirmed', '--json'])
        if (!again.result.ok) assert.equal(again.result.error, 'nothing_to_prove', `${at}: ${again.out}`)
        settled(s, `${copy}/r`, commit, trunk)
        rmSync(s.path(copy), { recursive: true })
      }
      assert.ok(landedThen > 0, 'some of the kills came after the trunk had moved')
    })
  }

  it('in the middle of the checkout is finished without mistaking written files for local edits', async t => {
    const s = scratch(t)
    const commit = await provenWorktree(s, { f: 'new\n', g: '2\n', h: '3\n' })
    const trunk = s.git('r', 'rev-parse', 'main')
    const [node, script] = bundle
    const real = s.sh('.', 'command -v git').out.trim()
    s.write(
      'shim/git',
      `#!/bin/sh\ncase " $* " in *" read-tree -u "*) printf 'new\\n' >'${s.path('r/f')}'; printf '2\\n' >'${s.path('r/g')}'; kill -9 $PPID; exit 1 ;; esac\nexec '${real}' "$@"\n`,
      0o755,
    )
    const killed = s.exec('wt', node, [script, 'accept', '--confirmed'], {
      env: { PATH: `${s.path('shim')}:${s.env['PATH']}` },
    })
    assert.notEqual(killed.exit, 0)
    assert.equal(s.git('r', 'rev-parse', 'main'), commit)
    const again = await accept(s)
    assert.equal(again.result.ok, true, again.out)
    assert.equal(again.data.landing.recovery_performed, true)
    assert.equal(s.git('r', 'status', '--porcelain'), '')
    assert.equal(s.read('r/h'), '3\n')
    assert.equal(s.git('r', 'log', '--format=%H', `${trunk}..main`), commit)
  })
})

describe('two accepts at once', () => {
  it('land exactly one per trunk value, 50 times, and lose no note (case 53)', async t => {
    const s = scratch(t)
    project(s)
    const [node, script] = bundle
    for (const name of ['one', 'two']) s.git('r', 'worktree', 'add', '-q', `../${name}`, '-b', name, 'main')
    s.git('r', 'switch', '-q', '--detach')
    const landed: string[] = []
    for (let round = 0; round < 50; round += 1) {
      const trunk = s.git('r', 'rev-parse', 'main')
      await Promise.all(
        ['one', 'two'].map(async name => {
          s.git(name, 'switch', '-q', '-C', `${name}-${round}`, 'main')
          s.git(name, 'commit', '-q', '--allow-empty', '-m', `${name} ${round}`)
          const done = await s.discern(name, ['done', '--json'])
          assert.equal(done.result.ok, true, done.out)
        }),
      )
      const both = await Promise.all(
        ['one', 'two'].map(name => s.execAsync(name, node, [script, 'accept', '--confirmed', '--json'])),
      )
      const results = both.map(({ out }) => JSON.parse(out))
      assert.deepEqual(results.map(({ ok }) => ok).sort(), [false, true], JSON.stringify(results))
      assert.equal(results.find(({ ok }) => !ok).error, 'trunk_moved')
      const tip = s.git('r', 'rev-parse', 'main')
      assert.equal(s.git('r', 'rev-parse', 'main^'), trunk)
      landed.push(tip)
    }
    const subjects = noteLines(s).map(line => line.split(' ')[1])
    assert.deepEqual(subjects.sort(), landed.sort())
  })
})
