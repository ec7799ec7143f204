/** A small file system of its own that a test can fill. */
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { type Scratch, scratch } from './scratch.ts'

export interface SmallDisk {
  readonly s: Scratch
  readonly path: string
  /** Fills it but for so many blocks. */
  readonly fill: (leaveBlocks: number) => void
  readonly free: () => void
}

/** Runs a test on six megabytes; skips it where this user may not mount them. */
export const onSmallDisk = async (t: TestContext, work: (disk: SmallDisk) => Promise<void>): Promise<void> => {
  const s = scratch(t)
  const path = s.path('disk')
  mkdirSync(path)
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', path]).status !== 0) {
    return t.skip('may not mount a small disk')
  }
  const filler = `${path}/filler`
  try {
    await work({
      s,
      path,
      fill: leaveBlocks => {
        const file = openSync(filler, 'w')
        const { bavail, bsize } = statfsSync(path)
        const block = Buffer.alloc(bsize)
        for (let at = leaveBlocks; at < bavail; at += 1) writeSync(file, block)
        closeSync(file)
      },
      free: () => rmSync(filler),
    })
  } finally {
    // Before the scratch folder goes.
    spawnSync('umount', ['-l', path])
  }
}
