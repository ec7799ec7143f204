/**
 * The `when` protocol, version 1 (facts 2.6, document 000): a command of the policy decides whether a checkpoint whose structure
 * holds really fires. It gets one JSON file that exists only while it runs. Everything but a clear yes or no is indeterminate,
 * with a typed reason.
 */
import { constants, type FileHandle, lstat, mkdir, mkdtemp, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChangedFile, History, RelatedPath } from '../change/facts.ts'
import { reasonOf } from '../errors.ts'
import { decodePath, displayPath, parseDisplayedPath } from '../git/path.ts'
import { TEMPORARY_FILE_AGE_LIMIT_MS, WHEN_LIMIT_MS, WHEN_OUTPUT_LIMIT_BYTES } from '../limits.ts'
import type { CheckpointDefinition } from './definition.ts'

/** Names the file for the command. */
export const WHEN_INPUT_VARIABLE = 'DISCERN_CHECKPOINT_INPUT'

export type WhenReason =
  | 'when_input_cleanup_failed'
  | 'when_input_failed'
  | 'when_spawn_failed'
  | 'when_timeout'
  | 'when_cancelled'
  | 'when_output_limit'
  | 'when_invalid_exit'

export type WhenOutcome =
  /** The matched set, narrowed by the command or whole, sorted by code unit; relations of what is left. */
  | { readonly kind: 'fires'; readonly matched: readonly string[]; readonly related: readonly RelatedPath[] }
  | { readonly kind: 'passes' }
  /** `account` says in words what happened; it may hold text that the command chose. */
  | { readonly kind: 'indeterminate'; readonly reason: WhenReason; readonly account: string }

/**
 * What runs one command of the owner: text for the shell, both streams merged, in a process group of its own of which nothing is
 * alive on return unless it is named. `outputBytes` is what is kept; more ends the command and is `outputLimit`.
 */
export interface WhenCall {
  readonly command: string
  readonly extra: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly outputBytes: number
}

export interface WhenEnded {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly timedOut: boolean
  readonly cancelled: boolean
  readonly spawnFailed: string | undefined
  readonly outputLimit: boolean
  readonly output: Buffer
  readonly survivors: readonly { readonly pid: number; readonly command: string }[]
}

export type RunWhen = (call: WhenCall) => Promise<WhenEnded>

export interface WhenRequest {
  readonly definition: Pick<CheckpointDefinition, 'id' | 'mode'>
  readonly command: string
  readonly policyCommit: string
  /** The structurally matched files; each `binary` must be known. */
  readonly files: readonly ChangedFile[]
  readonly related: readonly RelatedPath[]
  readonly history: History | undefined
  /** Where the private folder of this run is made; itself made when it is missing. */
  readonly folder: string
  readonly now: Date
  readonly run: RunWhen
  /** Defaults are the constants of `limits.ts`; tests choose smaller ones. */
  readonly limits?: { readonly timeoutMs?: number; readonly outputBytes?: number }
}

const PRIVATE = 'run-'

/**
 * Runs the command of one checkpoint and decides. On return, also when the run throws, the input file is gone, or the outcome
 * says that it is not. Spawns what `run` spawns. Nothing is thrown for what the command or the file system does.
 */
export const runWhen = async (request: WhenRequest): Promise<WhenOutcome> => {
  const limits = { timeoutMs: WHEN_LIMIT_MS, outputBytes: WHEN_OUTPUT_LIMIT_BYTES, ...request.limits }
  const input = await writeInput(request.folder, formatInput(request), request.now)
  let ended: WhenEnded | undefined
  let left: string | undefined
  try {
    if (input.path !== undefined) {
      const extra = { [WHEN_INPUT_VARIABLE]: input.path }
      ended = await request.run({ command: request.command, extra, ...limits })
    }
  } finally {
    left = await input.remove()
  }
  return decide(request, { problem: input.problem, ended, left, limits })
}

interface Happened {
  readonly problem: string | undefined
  readonly ended: WhenEnded | undefined
  readonly left: string | undefined
  readonly limits: { readonly timeoutMs: number; readonly outputBytes: number }
}

/** The precedence of facts 2.6. */
const decide = (request: WhenRequest, { problem, ended, left, limits }: Happened): WhenOutcome => {
  const unclear = (reason: WhenReason, account: string): WhenOutcome => ({ kind: 'indeterminate', reason, account })
  if (left !== undefined) return unclear('when_input_cleanup_failed', left)
  const [survivor] = ended?.survivors ?? []
  if (survivor) {
    return unclear('when_input_cleanup_failed', `process ${survivor.pid} (${survivor.command}) of the command lives on`)
  }
  if (problem !== undefined || ended === undefined) return unclear('when_input_failed', problem ?? 'no input file')
  if (ended.spawnFailed !== undefined) return unclear('when_spawn_failed', ended.spawnFailed)
  if (ended.timedOut) return unclear('when_timeout', `the command ran longer than ${limits.timeoutMs / 1000} s`)
  if (ended.cancelled) return unclear('when_cancelled', 'the command was cancelled')
  if (ended.outputLimit)
    return unclear('when_output_limit', `the command printed more than ${limits.outputBytes} bytes`)
  if (ended.exitCode === 10) return { kind: 'passes' }
  if (ended.exitCode !== 0) {
    const how =
      ended.exitCode === null ? `was ended by ${ended.signal ?? 'a signal'}` : `ended with exit ${ended.exitCode}`
    return unclear('when_invalid_exit', `the command ${how}; 0 fires and 10 passes`)
  }
  const all = request.files.map(({ path }) => path).sort()
  const named = parseMatches(ended.output, new Set(all))
  const kept = new Set(named.length > 0 ? named : all)
  return {
    kind: 'fires',
    matched: [...kept].sort(),
    related: request.related.filter(({ forPath }) => kept.has(forPath)),
  }
}

/**
 * The paths that `DISCERN_MATCH` lines name, once each and only those among `changed` (facts 2.6). A path may stand as it is
 * or as it is displayed in the input file.
 */
export const parseMatches = (output: Buffer, changed: ReadonlySet<string>): readonly string[] => {
  const kept = new Set<string>()
  for (const line of decodePath(output).split('\n')) {
    const rest = /(?:^|\s)DISCERN_MATCH(?:\s+(.*))?$/s.exec(line)?.[1]?.trim()
    if (!rest) continue
    const found = [parseDisplayedPath(rest), rest]
      .map(relativePath)
      .find(path => path !== undefined && changed.has(path))
    if (found !== undefined) kept.add(found)
  }
  return [...kept]
}

/** Without leading `./`; `undefined` for what is empty, absolute, or climbs. */
const relativePath = (path: string | undefined): string | undefined => {
  const plain = path?.replace(/^(\.\/+)+/, '')
  return !plain || plain.startsWith('/') || plain.split('/').includes('..') ? undefined : plain
}

/** One line of JSON with exactly the published members, or why it cannot be made. */
const formatInput = (request: WhenRequest): { readonly text: string } | { readonly problem: string } => {
  const changed: object[] = []
  for (const { path, kind, insertions, deletions, binary } of request.files.toSorted((a, b) =>
    a.path < b.path ? -1 : 1,
  )) {
    const shown = displayPath(path)
    if ('unavailable' in binary) return { problem: `whether ${shown} is binary is not known` }
    changed.push({ path: shown, kind, insertions, deletions, binary: binary.known })
  }
  const { definition, policyCommit, history } = request
  const input = {
    version: 1,
    checkpoint: { id: definition.id, mode: definition.mode },
    policy_commit: policyCommit,
    changed_files: changed,
    ...(history ? { history: { count: history.count, fingerprint: history.fingerprint } } : {}),
  }
  return { text: `${JSON.stringify(input)}\n` }
}

interface Input {
  /** Absolute; `undefined` when there is none. */
  readonly path: string | undefined
  readonly problem: string | undefined
  /** Removes the file and its folder; what is left of them, in words. Never throws. */
  readonly remove: () => Promise<string | undefined>
}

const writeInput = async (folder: string, content: ReturnType<typeof formatInput>, now: Date): Promise<Input> => {
  let place: string | undefined
  let file: FileHandle | undefined
  const remove = async (): Promise<string | undefined> => {
    try {
      if (place !== undefined) await rm(place, { recursive: true, force: true })
      // The command may have moved the file, or linked it: then it lives on under another name.
      if (file && (await file.stat()).nlink > 0) return 'the input file was moved or linked and still exists'
      return undefined
    } catch (error) {
      return reasonOf(error)
    } finally {
      await file?.close().catch(() => {})
    }
  }
  if ('problem' in content) return { path: undefined, problem: content.problem, remove }
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await reapFolders(folder, now)
    place = await mkdtemp(join(folder, PRIVATE))
    const path = join(place, 'input.json')
    file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
    await file.writeFile(content.text)
    return { path, problem: undefined, remove }
  } catch (error) {
    return { path: undefined, problem: reasonOf(error), remove }
  }
}

/** Removes the folders of runs that were killed more than a day ago (case 83). */
const reapFolders = async (folder: string, now: Date): Promise<void> => {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(PRIVATE)) continue
    const path = join(folder, name)
    const stat = await lstat(path).catch(() => undefined)
    if (stat && now.getTime() - stat.mtimeMs > TEMPORARY_FILE_AGE_LIMIT_MS) {
      await rm(path, { recursive: true, force: true }).catch(() => {})
    }
  }
}
