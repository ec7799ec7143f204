/** Git's configuration, read once as git sees it, and edited only through git. */
import { git, gitOutput, type Place } from './run.ts'

export interface ConfigEntry {
  readonly scope: string
  /** For example `file:.git/config` or `command line:`. */
  readonly origin: string
  /** Lower-case section and name; the subsection keeps its case. */
  readonly key: string
  readonly value: string
}

/** Every entry in the order git reads them. One git process. */
export const readConfig = async (place: Place): Promise<readonly ConfigEntry[]> => {
  const output = await gitOutput(place, ['config', '--list', '-z', '--show-scope', '--show-origin'])
  const fields = output.toString('utf8').split('\0')
  const entries: ConfigEntry[] = []
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const pair = fields[at + 2] ?? ''
    const newline = pair.indexOf('\n')
    entries.push({
      scope: fields[at] ?? '',
      origin: fields[at + 1] ?? '',
      key: newline === -1 ? pair : pair.slice(0, newline),
      // A key without `=` is git's short form of true.
      value: newline === -1 ? 'true' : pair.slice(newline + 1),
    })
  }
  return entries
}

/** The last value of a key, as git would use it. */
export const configValue = (entries: readonly ConfigEntry[], key: string): string | undefined =>
  entries.findLast(entry => entry.key === key)?.value

/** All values of a key, in order. */
export const configValues = (entries: readonly ConfigEntry[], key: string): readonly string[] =>
  entries.filter(entry => entry.key === key).map(entry => entry.value)

/** Adds one value of a multi-valued key to the repository's own configuration file. */
export const addConfigValue = async (place: Place, key: string, value: string): Promise<void> => {
  await gitOutput(place, ['config', '--local', '--add', key, value])
}

/**
 * Removes every value of `key` that equals `value` to the letter, and the section when that leaves it empty. `false` when
 * there was none. Exit 5 is git's word for "no such key or value".
 */
export const removeConfigValue = async (place: Place, key: string, value: string): Promise<boolean> => {
  const run = await git(place, ['config', '--local', '--fixed-value', '--unset-all', key, value])
  if (run.exitCode === 0) return true
  if (run.exitCode === 5) return false
  throw new Error(`git config could not remove ${key}: ${run.stderr}`)
}

/** Makes one of several equal values of a multi-valued key, in one step. */
export const mergeConfigValues = async (place: Place, key: string, value: string): Promise<void> => {
  await gitOutput(place, ['config', '--local', '--fixed-value', '--replace-all', key, value, value])
}

/** The names of all configured remotes, sorted; a name may hold slashes and dots. */
export const remoteNames = (entries: readonly ConfigEntry[]): readonly string[] => {
  const names = new Set<string>()
  for (const { key } of entries) {
    const match = /^remote\.(.+)\.[^.]+$/.exec(key)
    if (match?.[1]) names.add(match[1])
  }
  return [...names].sort()
}
