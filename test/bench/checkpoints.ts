/** What reading a change costs where the tree is very large: every trigger field in use, 300 changed files (design 5). */
import type { TestContext } from 'node:test'
import { bundle } from '../support/project.ts'
import { Scratch } from '../support/scratch.ts'
import { compare, type Row, type Subject } from './measure.ts'

const CHANGED = 300

const CONFIG = `[repository]
trunk = "main"
[scopes.code]
paths = ["d1/**"]
[checkpoints.every-field]
scope = "code"
exclude_paths = ["*.none"]
kinds = ["added", "modified"]
adds_matching = ["needle"]
unless_changed = ["absent"]
min_changed_files = 1
min_changed_lines = 1
min_commits = 1
question = "?"
[checkpoints.removed]
removes_matching = ["line"]
binary = false
include_generated = true
question = "?"
[checkpoints.shape]
new_directory = true
deletion_dominant = true
question = "?"
[checkpoints.similar]
similar_new_file = true
question = "?"
`

/** A repository of `count` files in folders of 100, and a branch that changes 300 of them. */
const build = (s: Scratch, name: string, count: number): void => {
  s.git('.', 'init', '-q', name)
  const stream = ['blob\nmark :1\ndata 10\nline\nline\n\n', `blob\nmark :2\ndata ${CONFIG.length}\n${CONFIG}\n`]
  stream.push('commit refs/heads/main\ncommitter D <d@e.f> 1767225600 +0000\ndata 4\nbase\nM 100644 :2 discern.toml\n')
  for (let at = 0; at < count; at += 1) stream.push(`M 100644 :1 d${Math.floor(at / 100)}/f${at}.txt\n`)
  s.exec(name, 'git', ['fast-import', '--quiet'], { input: `${stream.join('')}\n` })
  s.git(name, 'switch', '-q', 'main')
  s.git(name, 'switch', '-q', '-c', 'feat')
  for (let at = 0; at < CHANGED; at += 1)
    s.write(`${name}/d${at % 30}/f${(at % 30) * 100 + Math.floor(at / 30)}.txt`, `line\nneedle ${at}\n`)
  s.commit(name, 'change 300 files')
}

export const checkpointRows = async (runs = 10): Promise<{ readonly rows: readonly Row[] }> => {
  const ends: (() => void)[] = []
  const s = new Scratch({ after: (end: () => void) => ends.push(end) } as unknown as TestContext)
  try {
    const rows: Row[] = []
    for (const count of [100_000, 400_000]) {
      const name = `r${count}`
      build(s, name, count)
      const at = (command: string, args: readonly string[]): Subject => ({
        command,
        args,
        cwd: s.path(name),
        env: { ...(process.env as Record<string, string>), HOME: s.home },
      })
      const reference = at('sh', ['-c', `'${process.execPath}' -e 0; git diff --raw --numstat main >/dev/null`])
      rows.push(
        compare(
          `checkpoints, ${CHANGED} changed of ${count} files`,
          at(bundle[0], [bundle[1], 'checkpoints', '--json']),
          reference,
          2,
          'node -e 0 and one git diff --raw --numstat of the same',
          runs,
        ),
      )
    }
    return { rows }
  } finally {
    for (const end of ends) end()
  }
}
