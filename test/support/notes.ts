/** What the notes tests share: histories from data, one `git fast-import` for many, and a reading of trees that is git's own. */
import { createHash, randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { NotesWriter, SameClaim } from '../../src/git/notes.ts'
import { openRepository, type Repository } from '../../src/git/repository.ts'
import { contextFor } from './gate.ts'
import type { Scratch } from './scratch.ts'

/** The repository around `cwd`, closed when the test ends. */
export const openFor = async (
  t: TestContext,
  s: Scratch,
  cwd: string,
  env: Record<string, string> = {},
): Promise<Repository> => {
  const closers: (() => void | Promise<void>)[] = []
  t.after(async () => {
    for (const close of closers) await close()
  })
  const place = cwd.startsWith('/') ? cwd : s.path(cwd)
  return openRepository({ ...contextFor(place, { ...s.env, ...env }), defer: close => closers.push(close) })
}

/** Writes as `discern`, one second later each time. */
export const testWriter = (): NotesWriter => {
  let seconds = Date.parse('2026-02-01T00:00:00Z')
  return {
    identity: {
      GIT_AUTHOR_NAME: 'discern',
      GIT_AUTHOR_EMAIL: 'done@discern.sh',
      GIT_COMMITTER_NAME: 'discern',
      GIT_COMMITTER_EMAIL: 'done@discern.sh',
    },
    now: () => {
      seconds += 1000
      return new Date(seconds)
    },
    chance: () => Number.parseInt(randomUUID().slice(0, 8), 16) / 2 ** 32,
  }
}

/** A note that claims `claim` and shows it as `show`; only the first is compared. */
export const note = (claim: string, show = ''): string => `${JSON.stringify({ claim, show })}\n`

const claimOf = (bytes: Buffer): string | undefined => {
  try {
    return (JSON.parse(bytes.toString('utf8')) as { claim?: string }).claim
  } catch {
    return undefined
  }
}

export const sameClaim: SameClaim = (left, right) => {
  const claim = claimOf(left)
  return claim !== undefined && claim === claimOf(right)
}

/** The id of a commit that is not here; notes may be about such. */
export const subjectOf = (name: string | number, algorithm: 'sha1' | 'sha256' = 'sha1'): string =>
  createHash(algorithm).update(`commit ${name}`).digest('hex')

/** The path of a subject after `depth` slashes. */
export const pathOf = (subject: string, depth: number): string => {
  let path = ''
  for (let at = 0; at < depth; at += 1) path += `${subject.slice(2 * at, 2 * at + 2)}/`
  return path + subject.slice(2 * depth)
}

export interface History {
  readonly ref: string
  /** The ref to go on from, made by an earlier entry or standing before; a history of its own without. */
  readonly from?: string
  /** Path to body; `undefined` deletes. */
  readonly files: ReadonlyMap<string, string | undefined> | Readonly<Record<string, string | undefined>>
}

/** Makes one commit for each history and returns their ids. One git process for all, one to read the ids. */
export const importHistories = (s: Scratch, cwd: string, histories: readonly History[]): readonly string[] => {
  const parts: string[] = []
  const made = new Set<string>()
  for (const { ref, from, files } of histories) {
    parts.push(`commit ${ref}\ncommitter Dev <dev@example.invalid> 1767225600 +0000\ndata 1\nx\n`)
    // Within one stream a branch goes on by itself, and its new commits have no name that git could look up yet.
    if (from && made.has(from) && from !== ref) parts.push(`from ${from}\n`)
    else if (from && !made.has(from)) parts.push(`from ${from}^0\n`)
    made.add(ref)
    for (const [path, body] of files instanceof Map ? files : Object.entries(files)) {
      parts.push(
        body === undefined ? `D ${path}\n` : `M 100644 inline ${path}\ndata ${Buffer.byteLength(body)}\n${body}\n`,
      )
    }
    parts.push('\n')
  }
  const done = s.exec(cwd, 'git', ['fast-import', '--quiet', '--force'], { input: parts.join('') })
  if (done.exit !== 0) throw new Error(done.err)
  return s.git(cwd, 'rev-parse', ...histories.map(({ ref }) => ref)).split('\n')
}

/** Every file of a commit by path, with its text: read by git alone. */
export const filesOf = (s: Scratch, cwd: string, commit: string): ReadonlyMap<string, string> => {
  const lines = s.git(cwd, 'ls-tree', '-r', commit).split('\n').filter(Boolean)
  const entries = lines.map(line => /^\d+ blob (\S+)\t(.*)$/.exec(line)?.slice(1, 3) ?? ['', ''])
  const batch = s.exec(cwd, 'git', ['cat-file', '--batch'], { input: entries.map(([oid]) => `${oid}\n`).join('') }).out
  const files = new Map<string, string>()
  let at = 0
  for (const [, path = ''] of entries) {
    const newline = batch.indexOf('\n', at)
    const size = Number(batch.slice(at, newline).split(' ')[2])
    files.set(path, batch.slice(newline + 1, newline + 1 + size))
    at = newline + 1 + size + 1
  }
  return files
}

/** The notes of a commit by subject; fails on a subject that stands twice. */
export const notesOf = (s: Scratch, cwd: string, commit: string): ReadonlyMap<string, string> => {
  const notes = new Map<string, string>()
  for (const [path, body] of filesOf(s, cwd, commit)) {
    const subject = path.replaceAll('/', '')
    if (!/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(subject)) continue
    if (notes.has(subject)) throw new Error(`${subject} stands twice`)
    notes.set(subject, body)
  }
  return notes
}
