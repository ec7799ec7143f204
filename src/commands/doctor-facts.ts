/**
 * What the checks of `doctor` look at, read once. Nothing here refuses: what cannot be read is a value, since finding out is
 * the point.
 */
import { isAbsolute } from 'node:path'
import type { Context } from '../context.ts'
import { Refusal, reasonOf } from '../errors.ts'
import { quoted } from '../escape.ts'
import { runCommand } from '../gate/job.ts'
import { type ConfigEntry, readConfig, remoteNames } from '../git/config.ts'
import { configHookPath } from '../git/hook-config.ts'
import { readStanding } from '../git/hook-slot.ts'
import { type HooksInspection, inspectHooks, type Programs } from '../git/hooks.ts'
import { type Ref, readRefs } from '../git/refs.ts'
import { openWorktree, type Worktree } from '../git/repository.ts'
import { type WorktreeState, worktreeState } from '../git/worktrees.ts'
import { DOCTOR_START_LIMIT_MS } from '../limits.ts'
import type { Configuration } from '../policy/definition.ts'
import { readLiveConfiguration } from '../policy/read.ts'
import { resolveTrunk, type Trunk } from '../policy/trunk.ts'

/** A value, or the refusal that stands in its place. */
export type Attempt<T> = { readonly value: T } | { readonly refusal: Refusal }

const attempt = async <T>(work: () => T | Promise<T>): Promise<Attempt<T>> => {
  try {
    return { value: await work() }
  } catch (error) {
    if (error instanceof Refusal) return { refusal: error }
    throw error
  }
}

export interface DoctorFacts {
  readonly context: Context
  readonly worktree: Worktree
  readonly entries: readonly ConfigEntry[]
  readonly remotes: readonly string[]
  readonly refs: ReadonlyMap<string, Ref>
  readonly state: WorktreeState
  readonly configuration: Attempt<Configuration | undefined>
  readonly trunk: Attempt<Trunk>
  readonly hooks: HooksInspection
  /** The Node and the launcher that the installed hooks name, each once; empty where no hook of ours stands. */
  readonly recorded: readonly Pick<Programs, 'node' | 'launcher'>[]
}

/** Reads the facts. At most ten git processes. Refuses outside a work tree only. */
export const readFacts = async (context: Context): Promise<DoctorFacts> => {
  const worktree = await openWorktree(context)
  const [entries, state, refs, configuration] = await Promise.all([
    readConfig(worktree),
    worktreeState(worktree),
    readRefs(worktree, ['refs/heads/', 'refs/remotes/', 'refs/notes/', 'refs/discern/']),
    attempt(() => readLiveConfiguration(worktree)),
  ])
  const configured = 'value' in configuration ? configuration.value?.repository.trunk : undefined
  const programs: Programs = { node: context.node, launcher: context.launcher, version: context.version }
  const hooks = await inspectHooks(worktree, entries, programs)
  return {
    context,
    worktree,
    entries,
    remotes: remoteNames(entries),
    refs,
    state,
    configuration,
    trunk: await attempt(() => resolveTrunk({ configured, env: context.env, refs, entries, current: state.branch })),
    hooks,
    recorded: await recordedPrograms(worktree, hooks),
  }
}

const recordedPrograms = async (
  worktree: Worktree,
  { events }: HooksInspection,
): Promise<readonly Pick<Programs, 'node' | 'launcher'>[]> => {
  const found = new Map<string, Pick<Programs, 'node' | 'launcher'>>()
  for (const { event, path } of events) {
    const standing = await readStanding(isAbsolute(path) ? path : configHookPath(worktree, event), event)
    if (standing.kind !== 'ours') continue
    const { node, launcher } = standing.values
    found.set(`${node}\0${launcher}`, { node, launcher })
  }
  return [...found.values()]
}

/** How a program ended that was started the way a hook starts it. */
export interface Start {
  readonly ok: boolean
  /** First line of what it printed; the reason when it could not be started. */
  readonly said: string
}

/**
 * Starts a program with one argument and nothing on its input. `path` replaces the PATH: a program with a window gives its
 * hooks a small one (case 9). Starts one process; answers within the limit.
 */
export const startProgram = async (
  { context, worktree }: Pick<DoctorFacts, 'context' | 'worktree'>,
  program: string,
  argument: string,
  extra: Readonly<Record<string, string>> = {},
): Promise<Start> => {
  try {
    const ended = await runCommand({
      command: `exec ${quoted(program)} ${argument} </dev/null`,
      cwd: worktree.topLevel,
      env: context.env,
      extra: { NODE_OPTIONS: '', ...extra },
      marker: `${context.uuid()}.1`,
      timeoutMs: DOCTOR_START_LIMIT_MS,
      signal: context.signal,
      now: context.now,
    })
    const said = ended.output.toString('utf8').trim().split('\n', 1)[0] ?? ''
    if (ended.timedOut) return { ok: false, said: `no answer within ${DOCTOR_START_LIMIT_MS / 1000} s` }
    return { ok: ended.exitCode === 0, said: said || `exit ${ended.exitCode ?? ended.signal}` }
  } catch (error) {
    return { ok: false, said: reasonOf(error) }
  }
}

/** What a program with a window hands down (case 9). */
export const SMALL_PATH = { PATH: '/usr/bin:/bin' } as const
