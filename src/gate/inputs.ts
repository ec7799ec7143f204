/**
 * What the result of a producer depends on, read from the commit and never from the work tree (facts 8.3): with it evidence can
 * be known to hold for another commit. Tools and environment variables are the machine's and are read where they stand.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { decodePath, displayPath, filePath, splitNul } from '../git/path.ts'
import type { Repository } from '../git/repository.ts'
import { gitOutput } from '../git/run.ts'
import { INPUTS_LIMIT_BYTES, INPUTS_LIMIT_COUNT } from '../limits.ts'
import { neededJob, type PlannedJob } from '../policy/definition.ts'
import { matchesAny } from '../policy/paths.ts'
import { sha256, sha256Json } from '../store/digest.ts'

/** One declared input at a commit. */
export interface InputFile {
  readonly path: string
  readonly mode: string
  /** SHA-256 of the content; of a symbolic link, of its target text. */
  readonly digest: string
  readonly bytes: number
  /** Newlines, and one more for a last line without one. */
  readonly lines: number
  /** Runs of characters that are no ASCII white space. */
  readonly words: number
}

/** The files that a selection takes, sorted by path; `unavailable` when not all of them can be told. */
export type Selection = { readonly known: readonly InputFile[] } | { readonly unavailable: string }

/** Reads a commit's files by pattern; its tree is listed once, each content read once. */
export interface CommitFiles {
  readonly select: (patterns: readonly string[]) => Promise<Selection>
}

const GITLINK = '160000'

interface Entry {
  readonly mode: string
  readonly oid: string
  readonly path: string
}

type Sizes = Pick<InputFile, 'digest' | 'bytes' | 'lines' | 'words'>

/**
 * Opens a commit given by its full id. One git process for the tree and one for each selection that has new contents, beside
 * the object reader. A selection is unavailable when it takes a submodule, an object that is not here, or more than
 * `INPUTS_LIMIT_COUNT` files or `INPUTS_LIMIT_BYTES`.
 */
export const openCommitFiles = (repository: Repository, commit: string): CommitFiles => {
  let listing: Promise<readonly Entry[]> | undefined
  const contents = new Map<string, Sizes>()

  const select = async (patterns: readonly string[]): Promise<Selection> => {
    const matches = matchesAny(patterns)
    listing ??= listCommit(repository, commit)
    const entries = (await listing).filter(({ path }) => matches(path))
    const submodule = entries.find(({ mode }) => mode === GITLINK)
    if (submodule) return { unavailable: `${displayPath(submodule.path)} is a submodule` }
    if (entries.length > INPUTS_LIMIT_COUNT) {
      return { unavailable: `${entries.length} files are selected, more than ${INPUTS_LIMIT_COUNT}` }
    }
    const fresh = [...new Set(entries.map(({ oid }) => oid))].filter(oid => !contents.has(oid))
    const problem = fresh.length > 0 ? await tooMuch(repository, fresh) : undefined
    if (problem !== undefined) return { unavailable: problem }
    for (const oid of fresh) {
      const object = await repository.objects.read(oid)
      if (object?.type !== 'blob') return { unavailable: `the object ${oid} is not here` }
      contents.set(oid, measure(object.content))
    }
    const known = entries.flatMap(({ path, mode, oid }): readonly InputFile[] => {
      const sizes = contents.get(oid)
      return sizes ? [{ path, mode, ...sizes }] : []
    })
    return { known: known.sort((left, right) => (left.path < right.path ? -1 : 1)) }
  }
  return { select }
}

const listCommit = async (repository: Repository, commit: string): Promise<readonly Entry[]> => {
  const records = splitNul(await gitOutput(repository, ['ls-tree', '-r', '-z', '--full-tree', commit]))
  return records.map(record => {
    const tab = record.indexOf(9)
    const [mode = '', , oid = ''] = record.toString('latin1', 0, tab).split(' ')
    return { mode, oid, path: decodePath(record.subarray(tab + 1)) }
  })
}

/** Why these contents cannot all be read, or `undefined`. One git process. */
const tooMuch = async (repository: Repository, oids: readonly string[]): Promise<string | undefined> => {
  const output = await gitOutput(repository, ['cat-file', '--batch-check=%(objectname) %(objectsize)'], {
    input: `${oids.join('\n')}\n`,
  })
  let bytes = 0
  for (const line of output.toString('latin1').trimEnd().split('\n')) {
    const [oid = '', size = ''] = line.split(' ')
    if (!/^\d+$/.test(size)) return `the object ${oid} is not here`
    bytes += Number(size)
  }
  return bytes > INPUTS_LIMIT_BYTES ? `${bytes} bytes are selected, more than ${INPUTS_LIMIT_BYTES}` : undefined
}

const measure = (content: Buffer): Sizes => {
  let lines = 0
  let words = 0
  let inWord = false
  for (const byte of content) {
    const isSpace = byte === 32 || (byte >= 9 && byte <= 13)
    if (byte === 10) lines += 1
    if (!isSpace && !inWord) words += 1
    inWord = !isSpace
  }
  const isOpen = content.length > 0 && content[content.length - 1] !== 10
  return { digest: sha256(content), bytes: content.length, lines: lines + (isOpen ? 1 : 0), words }
}

/** What the evidence of one planned job depends on, as digests (facts 8.3). */
export interface ProducerState {
  /** The job and everything it needs, sorted by selector. */
  readonly closure: readonly PlannedJob[]
  readonly inputs: string
  readonly toolchain: string
  readonly environment: string
  /** Every producer of the closure declares its inputs, and all of them could be told, tools included. */
  readonly declared: boolean
}

export interface Surroundings {
  /** Operating system and processor, for example `linux-x64`. */
  readonly platform: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * The state of every job of a plan at a commit, by job id. Generated outputs count as inputs of their generator, since editing
 * one by hand must bring the generator back. Git processes only where inputs are declared, as in `openCommitFiles`.
 */
export const describeProducers = async (
  repository: Repository & { readonly topLevel: string },
  commit: string,
  plan: readonly PlannedJob[],
  { platform, env }: Surroundings,
): Promise<ReadonlyMap<string, ProducerState>> => {
  const files = openCommitFiles(repository, commit)
  const tools = new Map<string, Promise<string | null>>()
  const toolOf = (path: string): Promise<string | null> => {
    const known = tools.get(path) ?? fileDigest(filePath(repository.topLevel, path))
    tools.set(path, known)
    return known
  }
  const states = new Map<string, ProducerState>()
  for (const job of plan) {
    const closure = closureOf(job, plan)
    const complete = closure.every(({ recipe }) => recipe.inputs !== undefined)
    const patterns = [...new Set(closure.flatMap(({ recipe, outputs }) => [...(recipe.inputs ?? []), ...outputs]))]
    const selection = complete ? await files.select(patterns) : { unavailable: 'no inputs are declared' }
    const toolchain = await Promise.all(
      sortedUnion(closure, 'toolchain').map(async path => [path, await toolOf(path)] as const),
    )
    const variables = sortedUnion(closure, 'environment').map(name => {
      const value = env[name]
      return [name, value === undefined ? null : sha256(value)]
    })
    states.set(job.id, {
      closure,
      inputs: sha256Json('known' in selection ? selection.known.map(inputRow) : null),
      toolchain: sha256Json(toolchain),
      environment: sha256Json({ execution: platform, variables }),
      declared: 'known' in selection && toolchain.every(([, digest]) => digest !== null),
    })
  }
  return states
}

/** The four facts that facts 8.3 names; a mode stands only where it is not that of an ordinary file. */
const inputRow = ({ path, mode, digest, bytes, lines, words }: InputFile): readonly unknown[] => [
  displayPath(path),
  { digest, bytes, lines, words, ...(mode === '100644' ? {} : { mode }) },
]

const sortedUnion = (closure: readonly PlannedJob[], key: 'toolchain' | 'environment'): readonly string[] =>
  [...new Set(closure.flatMap(({ recipe }) => recipe[key]))].sort()

/** A job and all that it needs within a plan, sorted by selector. */
export const closureOf = (job: PlannedJob, plan: readonly PlannedJob[]): readonly PlannedJob[] => {
  const closure = new Set([job])
  for (const member of closure) {
    for (const need of member.recipe.needs) {
      const needed = neededJob(plan, need)
      if (needed) closure.add(needed)
    }
  }
  return [...closure].sort((left, right) => (left.producer < right.producer ? -1 : 1))
}

/** SHA-256 of a file as it stands, links followed; `null` when it is no file that can be read. */
const fileDigest = async (path: string | Buffer): Promise<string | null> => {
  try {
    if (!(await stat(path)).isFile()) return null
    const hash = createHash('sha256')
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
    return hash.digest('hex')
  } catch {
    return null
  }
}
