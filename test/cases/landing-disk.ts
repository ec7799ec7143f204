/** A full disk and a Git directory that cannot be written to: a clear error, nothing half-written, and the retry works. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it, type TestContext } from 'node:test'
import { bundle, change, noteLines, project } from '../support/project.ts'
import type { Loose, Scratch } from '../support/scratch.ts'
import { onSmallDisk, type SmallDisk } from '../support/small-disk.ts'

const [node, script] = bundle

const discern = (s: Scratch, ...args: string[]): Loose => {
  const run = s.exec('disk/r', node, [script, ...args, '--json'])
  assert.notEqual(run.exit, 70, run.out + run.err)
  return JSON.parse(run.out)
}

/** Runs a test in a project with a change, on a small file system of its own. */
const onSmallProject = (t: TestContext, work: (disk: SmallDisk) => void): Promise<void> =>
  onSmallDisk(t, async disk => {
    project(disk.s, 'disk/r')
    change(disk.s, 'disk/r', 'feat', { g: '1' })
    work(disk)
  })

/** What must not change when a verb refuses. */
const state = (s: Scratch): string => `${s.git('disk/r', 'for-each-ref')}\n${s.git('disk/r', 'status', '--porcelain')}`

describe('a full disk', () => {
  it('stops done, grant and accept before anything is half done, at every amount of room that is left', t =>
    onSmallProject(t, ({ s, fill, free }) => {
      for (const [verb, ...flags] of [['done'], ['grant', '--confirmed'], ['accept']] as const) {
        let refusals = 0
        for (let blocks = 0; ; blocks += 1) {
          assert.ok(blocks < 60, `${verb} needs more than 60 blocks`)
          const before = state(s)
          fill(blocks)
          const answer = discern(s, verb, ...flags)
          free()
          if (answer.ok && answer.data.proof_note?.write.status !== 'record_failed') break
          if (answer.ok || answer.data?.landing) {
            // The trunk moved, and the note is owed: the next call delivers it.
            assert.equal(s.git('disk/r', 'rev-parse', 'main'), s.git('disk/r', 'rev-parse', 'feat'))
            assert.equal(discern(s, verb).ok, true)
            break
          }
          refusals += 1
          assert.match(answer.message, /ENOSPC|no space|No space|cannot write|git /i, JSON.stringify(answer))
          assert.ok(answer.hints.length > 0)
          assert.equal(state(s), before, `${verb} with ${blocks} blocks`)
        }
        assert.ok(refusals > 0, `${verb} never met the full disk`)
      }
      assert.equal(s.git('disk/r', 'rev-parse', 'main'), s.git('disk/r', 'rev-parse', 'feat'))
      assert.equal(noteLines(s, 'disk/r').length, 1)
      assert.equal(s.git('disk/r', 'for-each-ref', 'refs/worktree'), '')
      assert.equal(s.git('disk/r', 'status', '--porcelain'), '')
      assert.equal(s.git('disk/r', 'fsck', '--no-dangling'), '')
    }))

  it('is told from a Git directory that is mounted read-only, and the same commands work afterwards', t =>
    onSmallProject(t, ({ s, path }) => {
      const remount = (how: string): void => {
        assert.equal(spawnSync('mount', ['-o', `remount,${how}`, path]).status, 0)
      }
      for (const args of [['done'], ['grant', '--confirmed'], ['accept', '--confirmed']]) {
        const before = state(s)
        remount('ro')
        const answer = discern(s, ...args)
        const read = discern(s, 'status')
        remount('rw')
        assert.equal(answer.ok, false, args.join(' '))
        assert.match(answer.message, /EROFS|read-only|Read-only|cannot write/, JSON.stringify(answer))
        assert.equal(read.ok, true, JSON.stringify(read))
        assert.equal(state(s), before)
        assert.equal(discern(s, ...args).ok, true, args.join(' '))
      }
      assert.equal(noteLines(s, 'disk/r').length, 1)
    }))
})
