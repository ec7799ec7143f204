/** Projects that a gate can run in, set up the way a person would. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type DiscernRun, launcher, type Scratch } from './scratch.ts'

export const CONFIG = `[repository]
trunk = "main"
proof_notes_mode = "fetch"

[jobs]
test = "sh check.sh"
`

/** Job script that passes while `broken` is not tracked. */
export const CHECK = 'test ! -e broken\n'

/** A repository with discern.toml on its trunk. Extra arguments go to `git init`. */
export const project = (s: Scratch, name = 'r', ...init: string[]): string => {
  s.git('.', 'init', '-q', ...init, name)
  s.write(join(name, 'f'), '1\n')
  s.write(join(name, 'check.sh'), CHECK)
  s.write(join(name, 'discern.toml'), CONFIG)
  s.commit(name, 'one')
  return s.path(name)
}

/** A change on a new branch of a checkout; returns its commit. */
export const change = (s: Scratch, cwd: string, branch: string, files: Readonly<Record<string, string>>): string => {
  s.git(cwd, 'switch', '-q', '-c', branch)
  for (const [path, text] of Object.entries(files)) s.write(join(cwd.startsWith('/') ? cwd : s.path(cwd), path), text)
  return s.commit(cwd, `change on ${branch}`)
}

/** A bare hub with two clones `a` and `b` of it, both set up through the launcher. */
export const hubAndClones = (s: Scratch, ...init: string[]): void => {
  project(s, 'seed', ...init)
  s.git('.', 'clone', '-q', '--bare', 'seed', 'hub.git')
  for (const name of ['a', 'b']) {
    s.git('.', 'clone', '-q', 'hub.git', name)
    const done = s.launch(name, ['setup'])
    if (done.exit !== 0) throw new Error(`setup in ${name}: ${done.err}${done.out}`)
  }
}

/** Lands the current branch of a checkout; throws with what was said when it does not. */
export const land = async (s: Scratch, cwd: string): Promise<string> => {
  for (const args of [
    ['done', '--json'],
    ['accept', '--confirmed', '--json'],
  ]) {
    const run = await s.discern(cwd, args)
    if (!run.result.ok) throw new Error(`${args.join(' ')}: ${run.out}`)
  }
  return s.git(cwd, 'rev-parse', 'HEAD')
}

/**
 * A `git` that counts its calls as folders `<counter>.<n>`, which parallel calls cannot mix up, and, at call `at`, kills the
 * process that called it: before git runs, or after (a git that is talked to has no after). All of it stands in the script, since git's environment is an allow-list.
 * Returns the environment that puts it first on the PATH;
 * runs side by side need a folder of their own for it.
 */
export const killingGit = (
  s: Scratch,
  at: number,
  when: string,
  counter: string,
  folder = 'shim',
): { readonly PATH: string } => {
  const real = s.sh('.', 'command -v git').out.trim()
  s.write(
    `${folder}/git`,
    `#!/bin/sh
n=1
while ! mkdir '${counter}'.$n 2>/dev/null; do n=$((n + 1)); done
if [ $n = ${at} ]; then
  ${when === 'after' ? `case "$*" in *--batch*) ;; *) '${real}' "$@" >/dev/null 2>&1 ;; esac` : ':'}
  kill -9 $PPID
  exit 1
fi
exec '${real}' "$@"
`,
    0o755,
  )
  return { PATH: `${s.path(folder)}:${s.env['PATH']}` }
}

/** Node and the bundle itself, so that a killed parent is the program and not its launcher. */
export const bundle: readonly [node: string, script: string] = [
  process.execPath,
  join(launcher, '..', 'dist', 'git-discern.js'),
]

/** A project whose trunk is checked out in `r`, with a proven change in the linked worktree `wt`; returns its commit. */
export const provenWorktree = async (
  s: Scratch,
  files: Readonly<Record<string, string>> = { g: '2\n' },
): Promise<string> => {
  project(s)
  s.git('r', 'worktree', 'add', '-q', '../wt', '-b', 'feat')
  for (const [path, text] of Object.entries(files)) s.write(`wt/${path}`, text)
  const commit = s.commit('wt', 'two')
  const done = await s.discern('wt', ['done', '--json'])
  assert.equal(done.result.ok, true, done.out)
  return commit
}

/** Accepts what `cwd` has proven, with the owner's yes. */
export const accept = (s: Scratch, cwd = 'wt'): Promise<DiscernRun> =>
  s.discern(cwd, ['accept', '--confirmed', '--json'])

/** One line per note, as git lists them: blob and commit. */
export const noteLines = (s: Scratch, cwd = 'r'): readonly string[] =>
  s.tryGit(cwd, 'notes', '--ref=discern', 'list').out.split('\n').filter(Boolean)

/** The environment of a `git` that, at its `at`-th call that fits a shell pattern, first lets somebody else do something. */
export const meddlingGit = (s: Scratch, pattern: string, deed: string, at = 1): { readonly PATH: string } => {
  const real = s.sh('.', 'command -v git').out.trim()
  const count = s.path('meddled')
  s.write(
    'meddling/git',
    `#!/bin/sh
case "$*" in ${pattern})
  echo >>'${count}'
  if [ "$(wc -l <'${count}')" -eq ${at} ]; then (PATH='${s.env['PATH']}'; ${deed}) >/dev/null 2>&1; fi
esac
exec '${real}' "$@"
`,
    0o755,
  )
  return { PATH: `${s.path('meddling')}:${s.env['PATH']}` }
}
