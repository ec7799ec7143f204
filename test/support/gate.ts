/** What the gate's tests share: planned jobs from a few words, a context with the real clock, and who is still alive. */
import { randomInt, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Context, ProgressEvent } from '../../src/context.ts'
import type { PlannedJob } from '../../src/policy/definition.ts'

export const contextFor = (
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
  options: { readonly signal?: AbortSignal; readonly progress?: (event: ProgressEvent) => void } = {},
): Context => ({
  cwd,
  env,
  now: () => new Date(),
  uuid: () => randomUUID(),
  pid: process.pid,
  host: hostname(),
  node: process.execPath,
  launcher: 'git-discern',
  version: '0.0.0-test',
  platform: 'test-x64',
  terminal: false,
  signal: options.signal ?? new AbortController().signal,
  progress: options.progress ?? (() => {}),
  confirm: undefined,
  defer: () => {},
})

export const planned = (
  id: string,
  stage: PlannedJob['stage'],
  run: string | readonly string[],
  more: { readonly needs?: readonly string[]; readonly timeoutS?: number; readonly outputs?: readonly string[] } = {},
): PlannedJob => ({
  id,
  kind: more.outputs ? 'generated' : stage === 'scope' ? 'scope' : 'job',
  label: id,
  stage,
  producer: `jobs.${id}`,
  recipe: {
    run: typeof run === 'string' ? [run] : run,
    timeoutS: more.timeoutS ?? 20,
    inputs: undefined,
    needs: more.needs ?? [],
    artifacts: [],
    environment: [],
    toolchain: [],
    provides: [],
  },
  definition: '0'.repeat(64),
  outputs: more.outputs ?? [],
})

export const noProc = process.platform === 'linux' ? false : 'there is no /proc to look into'

/** Waits until something is so, at most some seconds: a busy machine is no failure, a thing that never comes is. */
export const until = async (isSo: () => boolean, what: string): Promise<void> => {
  for (let waited = 0; !isSo(); waited += 10) {
    if (waited > 15_000) throw new Error(`never: ${what}`)
    await pause(10)
  }
}

/** A duration that no other process sleeps for, so that its sleepers can be told from all others; a failed test leaves none. */
export const oddDuration = (t: TestContext): string => {
  const odd = `3${randomInt(1000, 10_000)}.${randomInt(100_000, 1_000_000)}`
  t.after(() => {
    if (!noProc) for (const pid of running(odd)) process.kill(pid, 'SIGKILL')
  })
  return odd
}

/** Processes with `text` in their arguments, zombies excluded. Needs `/proc`. */
export const running = (text: string): readonly number[] =>
  readdirSync('/proc').flatMap(name => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return []
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(text) ? [Number(name)] : []
    } catch {
      return []
    }
  })

/** Processes whose environment holds `text`. Needs `/proc`. */
export const runningWith = (text: string): readonly number[] =>
  readdirSync('/proc').flatMap(name => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return []
    try {
      return readFileSync(`/proc/${name}/environ`, 'utf8').includes(text) ? [Number(name)] : []
    } catch {
      return []
    }
  })
