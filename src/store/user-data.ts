/**
 * What a person's machine remembers for diagnosis, outside of every repository: the user-data directory of the platform (facts
 * 15). Nothing is ever decided by it, it may vanish at any time, and nobody notices where it cannot be written.
 */
import { isAbsolute, join } from 'node:path'
import { replaceFile } from './file.ts'

interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Operating system and processor, for example `linux-x64`. */
  readonly platform: string
}

/** Absolute, or `undefined` where the environment names no such place. Nothing is looked at or made. */
export const userDataDirectory = ({ env, platform }: Surroundings): string | undefined => {
  const absolute = (path: string | undefined): string | undefined =>
    path !== undefined && isAbsolute(path) ? path : undefined
  const home = absolute(env['HOME'])
  // A path that the specification of XDG_DATA_HOME calls invalid is ignored, as it says.
  const base = platform.startsWith('win32')
    ? absolute(env['LOCALAPPDATA'])
    : platform.startsWith('darwin')
      ? home && join(home, 'Library', 'Application Support')
      : (absolute(env['XDG_DATA_HOME']) ?? (home && join(home, '.local', 'share')))
  return base && join(base, 'git-discern')
}

/** Replaces one JSON file below it, 0600; the path, or `undefined` when it was not written for whatever reason. */
export const keepUserData = async (
  surroundings: Surroundings,
  parts: readonly string[],
  value: object,
): Promise<string | undefined> => {
  const directory = userDataDirectory(surroundings)
  if (directory === undefined) return undefined
  const path = join(directory, ...parts)
  try {
    await replaceFile(path, `${JSON.stringify(value)}\n`)
    return path
  } catch {
    return undefined
  }
}
