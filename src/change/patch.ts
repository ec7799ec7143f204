/** Zero-context patches of many files from one git, told apart by numbers that stand for the paths. */
import { type Borrowed, openBorrowed } from '../git/borrowed.ts'
import { encodePath } from '../git/path.ts'
import type { Worktree } from '../git/repository.ts'
import { gitPrefix } from '../git/run.ts'
import { CHANGED_FILE_LIMIT_BYTES, CHANGED_TOTAL_LIMIT_BYTES } from '../limits.ts'
import type { CollectedChange, Sides } from './effort.ts'
import type { ChangedFile } from './facts.ts'
import { hashChanged, pairName, pairTrees } from './sides.ts'

export type SignedLine = readonly [sign: '+' | '-', line: Buffer]

/** Lines without their LF; a last line without one counts, an empty rest does not. Pure. */
export const splitLines = (bytes: Buffer): readonly Buffer[] => {
  const lines: Buffer[] = []
  let from = 0
  for (let lf = bytes.indexOf(10); lf !== -1; lf = bytes.indexOf(10, from)) {
    lines.push(bytes.subarray(from, lf))
    from = lf + 1
  }
  if (from < bytes.length) lines.push(bytes.subarray(from))
  return lines
}

const AT = 64
const PLUS = 43
const MINUS = 45
const LETTER_D = 100

/**
 * The `+` and `-` lines of one path's patch, in its order. A change of type is two patches in one, so headers may come again
 * after a hunk; no line of a hunk begins with a letter. Pure.
 */
export const parsePatch = (patch: Buffer): readonly SignedLine[] => {
  const lines: SignedLine[] = []
  let inHunk = false
  for (const line of splitLines(patch)) {
    const sign = line[0]
    if (sign === AT) inHunk = true
    else if (sign === LETTER_D) inHunk = false
    else if (inHunk && sign === PLUS) lines.push(['+', line.subarray(1)])
    else if (inHunk && sign === MINUS) lines.push(['-', line.subarray(1)])
  }
  return lines
}

export interface Patch {
  readonly bytes: Buffer
  /** How long it is under the path's own name; past the limit when it was cut. */
  readonly size: number
}

export interface Patches {
  /**
   * The patch of a path; the paths are asked in their order. One that is longer than `limitBytes` may be cut after it.
   * `unreadable` when the file is no longer what it was, `git_failed` when git could not make it.
   */
  readonly read: (path: string, limitBytes: number) => Promise<Patch | 'unreadable' | 'git_failed'>
  readonly close: () => Promise<void>
}

interface Numbered {
  readonly path: string
  readonly sides: Sides
}

/**
 * Patches of the tracked text files among `files`, made when the first is read. Throws when there is no temporary folder. At
 * most two git processes here; one at the first `read`, and again after each patch that was cut.
 */
export const openPatches = async (
  worktree: Worktree,
  change: CollectedChange,
  files: readonly ChangedFile[],
): Promise<Patches> => {
  const borrowed = await openBorrowed(worktree)
  let pairs: readonly Numbered[]
  try {
    pairs = await withBlobs(worktree, borrowed, trackedText(change, files))
  } catch (error) {
    await borrowed.close()
    throw error
  }
  const places = new Map(pairs.map(({ path }, at) => [path, at]))
  let ready: Sections | undefined
  let first = 0
  return {
    read: async (path, limitBytes) => {
      const at = places.get(path)
      if (at === undefined) return 'unreadable'
      let section = ready?.patches[at - first]
      if (!section || (section.cut && section.bytes.length <= limitBytes)) {
        if (ready?.failed) return 'git_failed'
        ready = await readSections(worktree, borrowed, pairs.slice(at))
        first = at
        section = ready.patches[0]
      }
      if (!section || (section.cut && section.bytes.length <= limitBytes)) return 'git_failed'
      return { bytes: section.bytes, size: section.bytes.length + nameGrowth(section.bytes, path) }
    },
    close: borrowed.close,
  }
}

const trackedText = (change: CollectedChange, files: readonly ChangedFile[]): readonly Numbered[] =>
  files.flatMap(({ path, binary }) => {
    const sides = change.sides.get(path)
    return sides && sides.from !== 'untracked' && 'known' in binary && !binary.known ? [{ path, sides }] : []
  })

/** Puts the contents of the work tree into `borrowed`; a file that cannot be hashed any more is left out. */
const withBlobs = async (
  worktree: Worktree,
  borrowed: Borrowed,
  pairs: readonly Numbered[],
): Promise<readonly Numbered[]> => {
  const open = pairs.filter(({ sides }) => sides.from === 'file')
  const hashed = await hashChanged(
    worktree,
    borrowed,
    open.map(({ path, sides }) => ({ path, base: sides.base })),
  )
  return pairs.flatMap(({ path, sides }) => {
    if (sides.from !== 'file' || !sides.current) return [{ path, sides }]
    const oid = hashed.get(path)?.oid
    return oid === undefined ? [] : [{ path, sides: { ...sides, current: { mode: sides.current.mode, oid } } }]
  })
}

interface Sections {
  /** By position, as far as git came. */
  readonly patches: readonly { readonly bytes: Buffer; readonly cut: boolean }[]
  readonly failed: boolean
}

const PATCH = [
  'diff-tree',
  '--patch',
  '--unified=0',
  '--inter-hunk-context=0',
  '--text',
  '--no-ext-diff',
  '--no-textconv',
  '--no-renames',
  '--no-color',
] as const

/** All that may be read in total and one file more, so that a cut patch is longer than any limit. */
const READ_LIMIT_BYTES = CHANGED_TOTAL_LIMIT_BYTES + CHANGED_FILE_LIMIT_BYTES

const readSections = async (worktree: Worktree, borrowed: Borrowed, pairs: readonly Numbered[]): Promise<Sections> => {
  const trees = await pairTrees(
    worktree,
    borrowed,
    pairs.map(({ sides }) => sides),
  )
  const { exitCode, stdout, more } = await gitPrefix(borrowed, [...PATCH, ...trees], READ_LIMIT_BYTES)
  const failed = exitCode !== 0 && !more
  const pieces = new Map<number, readonly [start: number, end: number]>()
  let last = -1
  for (let at = nextHeader(stdout, 0); at !== -1; ) {
    const end = nextHeader(stdout, at + 1)
    const name = stdout.toString('latin1', at + HEADER.length, at + HEADER.length + pairName(0).length)
    last = Number(name)
    pieces.set(last, [pieces.get(last)?.[0] ?? at, end === -1 ? stdout.length : end])
    at = end
  }
  const whole = failed || more ? last + 1 : pairs.length
  const patches = Array.from({ length: whole }, (_, at) => ({
    bytes: stdout.subarray(...(pieces.get(at) ?? [0, 0])),
    cut: (failed || more) && at === last,
  }))
  return { patches, failed }
}

const HEADER = 'diff --git a/'

/** Where the next header begins: within a patch without context every line of content has a sign in front. */
const nextHeader = (bytes: Buffer, from: number): number => {
  if (from === 0 && bytes.subarray(0, HEADER.length).equals(Buffer.from(HEADER))) return 0
  const found = bytes.indexOf(`\n${HEADER}`, Math.max(from - 1, 0))
  return found === -1 ? -1 : found + 1
}

/** How much longer the headers are with the path in the place of its number. */
const nameGrowth = (patch: Buffer, path: string): number => {
  const more = encodePath(path).length - pairName(0).length
  let names = 0
  let inHunk = false
  for (let at = 0; at < patch.length; ) {
    const lf = patch.indexOf(10, at)
    const end = lf === -1 ? patch.length : lf
    const sign = patch[at]
    if (sign === LETTER_D) inHunk = false
    else if (sign === AT) inHunk = true
    if (!inHunk) names += patch.toString('latin1', at, end).match(/ [ab]\/\d{9}/g)?.length ?? 0
    at = end + 1
  }
  return names * more
}
