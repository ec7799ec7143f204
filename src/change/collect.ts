/** Bounded facts about the difference between the policy commit and a commit of the branch. */
import { openBorrowed } from '../git/borrowed.ts'
import { decodePath, splitNul } from '../git/path.ts'
import type { Repository } from '../git/repository.ts'
import { gitOutput } from '../git/run.ts'

export type ChangeKind = 'added' | 'modified' | 'deleted'

export interface ChangedPath {
  readonly path: string
  readonly kind: ChangeKind
  readonly insertions: number
  readonly deletions: number
}

export interface CommittedChange {
  /** Sorted by path. A rename is one deletion and one addition. */
  readonly paths: readonly ChangedPath[]
  readonly filesTotal: number
  readonly insertions: number
  readonly deletions: number
}

const KINDS: Readonly<Record<string, ChangeKind>> = { A: 'added', D: 'deleted' }

/**
 * What lies between two commits, in plumbing's words: no renames, no external diff, no textconv, no submodule setting, and no
 * attribute that the branch or a user could choose (cases 60, 64, 65). One git process.
 */
export const committedChange = async (repository: Repository, base: string, head: string): Promise<CommittedChange> => {
  const borrowed = await openBorrowed(repository)
  const output = await gitOutput(borrowed, [
    'diff-tree',
    '-r',
    '-z',
    '--raw',
    '--numstat',
    '--no-renames',
    '--no-ext-diff',
    '--no-textconv',
    '--ignore-submodules=none',
    base,
    head,
  ]).finally(() => borrowed.close())
  const kinds = new Map<string, ChangeKind>()
  const paths: ChangedPath[] = []
  const records = splitNul(output)
  for (let at = 0; at < records.length; at += 1) {
    const record = records[at] ?? Buffer.alloc(0)
    if (record[0] === 58) {
      const status = record.toString('latin1').split(' ')[4] ?? ''
      at += 1
      kinds.set(decodePath(records[at] ?? Buffer.alloc(0)), KINDS[status.charAt(0)] ?? 'modified')
      continue
    }
    const first = record.indexOf(9)
    const second = record.indexOf(9, first + 1)
    const path = decodePath(record.subarray(second + 1))
    paths.push({
      path,
      kind: kinds.get(path) ?? 'modified',
      insertions: count(record.toString('latin1', 0, first)),
      deletions: count(record.toString('latin1', first + 1, second)),
    })
  }
  paths.sort((left, right) => (left.path < right.path ? -1 : left.path > right.path ? 1 : 0))
  return {
    paths,
    filesTotal: paths.length,
    insertions: paths.reduce((sum, { insertions }) => sum + insertions, 0),
    deletions: paths.reduce((sum, { deletions }) => sum + deletions, 0),
  }
}

/** `-` stands for a binary file, which has no lines. */
const count = (text: string): number => (text === '-' ? 0 : Number.parseInt(text, 10))
