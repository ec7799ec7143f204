/** A repository of a scratch folder, opened for functions that no verb exposes by themselves. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { TestContext } from 'node:test'
import type { Context } from '../../src/context.ts'
import { openWorktree, type Worktree } from '../../src/git/repository.ts'
import { launcher, type Scratch } from './scratch.ts'

export const openScratch = async (
  t: TestContext,
  s: Scratch,
  cwd: string,
): Promise<{ readonly context: Context; readonly repository: Worktree }> => {
  let clock = Date.parse('2026-01-02T00:00:00Z')
  const context: Context = {
    cwd: s.path(cwd),
    env: s.env,
    now: () => new Date(clock++),
    uuid: () => randomUUID(),
    pid: process.pid,
    host: hostname(),
    node: process.execPath,
    launcher,
    version: '0.0.0-test',
    platform: 'test-x64',
    terminal: false,
    signal: new AbortController().signal,
    progress: () => {},
    confirm: undefined,
    defer: close => t.after(close),
  }
  return { context, repository: await openWorktree(context) }
}
