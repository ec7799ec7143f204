/** Where the record of an observation is written: a file that is never source of the repository (facts 15). */
import { lstat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { Refusal } from '../errors.ts'
import { displayPath } from '../git/path.ts'
import { isInside, resolveExisting, type Worktree } from '../git/repository.ts'
import { git } from '../git/run.ts'
import { createFile } from '../store/file.ts'

/** Below the top level, unless said otherwise; it has to be ignored. */
export const ARTIFACT_FOLDER = 'artifacts'

export const artifactName = ({ id, attempt }: { readonly id: string; readonly attempt: number }): string =>
  `release-checkpoint-${id}-${attempt}.json`

/**
 * The file for a run in `directory`, or in the default folder; an absolute path without symbolic links. Refuses with
 * `precondition_failed` where git would show it as a change, where something is there already, and where a symbolic link of the
 * checkout leads the default folder elsewhere. Writes nothing; at most one git process.
 */
export const placeArtifact = async (
  worktree: Worktree,
  directory: string | undefined,
  run: { readonly id: string; readonly attempt: number },
): Promise<string> => {
  const path = join(await resolveExisting(directory ?? join(worktree.topLevel, ARTIFACT_FOLDER)), artifactName(run))
  const inside = await isInside(path, worktree.topLevel)
  if (!inside && directory === undefined) {
    throw new Refusal('precondition_failed', {
      problem: `${ARTIFACT_FOLDER} of this checkout leads outside of it, to ${displayPath(path)}`,
      next: 'say where the record goes: git discern delivery observe --output <directory>',
    })
  }
  if ((inside && !(await isIgnored(worktree, path))) || (await isInside(path, worktree.commonDir))) {
    throw new Refusal('precondition_failed', {
      problem: `${displayPath(path)} would not be ignored by git, and records of a delivery are no source`,
      next: `echo /${ARTIFACT_FOLDER}/ >> "$(git rev-parse --git-path info/exclude)", or name another place with --output <directory>`,
    })
  }
  if (await lstat(path).catch(() => undefined)) throw exists(path)
  return path
}

const exists = (path: string): Refusal =>
  new Refusal('precondition_failed', {
    problem: `${displayPath(path)} is there already, and a record is never replaced`,
    next: 'observe with the attempt that this is: git discern delivery observe --run <id> --attempt <n>',
  })

const isIgnored = async (worktree: Worktree, path: string): Promise<boolean> => {
  const run = await git(worktree, ['check-ignore', '-z', '--stdin'], {
    input: `${relative(worktree.topLevel, path)}\0`,
    // This one command refuses literal pathspecs, and takes every name literally anyway.
    env: { GIT_LITERAL_PATHSPECS: '0' },
  })
  return run.exitCode === 0 && run.stdout.length > 0
}

/** Whole or not at all, 0600, and never over something. */
export const writeArtifact = async (path: string, bytes: string): Promise<void> => {
  if (!(await createFile(path, bytes))) throw exists(path)
}
