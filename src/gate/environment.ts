/**
 * The environment of the owner's commands: the caller's, without anything that tells git which repository, index or object
 * store to use. A job that runs git in a temporary repository must never reach the user's own through it (case 20).
 */

/**
 * What `git rev-parse --local-env-vars` names in any supported git, and three more that describe one git command's
 * repository without being on that list. The locale is the user's and stays (case 78).
 */
const REPOSITORY_LOCAL = new Set([
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_COMMON_DIR',
  'GIT_CONFIG',
  'GIT_CONFIG_COUNT',
  'GIT_CONFIG_PARAMETERS',
  'GIT_DIR',
  'GIT_GRAFT_FILE',
  'GIT_IMPLICIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_INTERNAL_SUPER_PREFIX',
  'GIT_NAMESPACE',
  'GIT_NO_REPLACE_OBJECTS',
  'GIT_OBJECT_DIRECTORY',
  'GIT_PREFIX',
  'GIT_QUARANTINE_PATH',
  'GIT_REPLACE_REF_BASE',
  'GIT_SHALLOW_FILE',
  'GIT_WORK_TREE',
  // Ours, and meant for one command in one repository.
  'DISCERN_TRUNK',
])

/** `GIT_CONFIG_KEY_<n>` and `GIT_CONFIG_VALUE_<n>` mean nothing without `GIT_CONFIG_COUNT`. */
const CONFIG_PAIR = /^GIT_CONFIG_(KEY|VALUE)_\d+$/

/** Names the run and job that a process belongs to: one word for each level of nesting, `<run>.<number>`. */
export const JOB_MARKER = 'DISCERN_JOB'

/**
 * The pairs of `GIT_CONFIG_COUNT` that permit a directory. They describe the machine, not a repository: a container passes
 * them so that git works at all, and git takes them from no repository's own configuration.
 */
const permittedDirectories = (env: Readonly<Record<string, string | undefined>>): readonly string[] => {
  const count = /^\d{1,4}$/.test(env['GIT_CONFIG_COUNT'] ?? '') ? Number(env['GIT_CONFIG_COUNT']) : 0
  const values: string[] = []
  for (let at = 0; at < count; at += 1) {
    const value = env[`GIT_CONFIG_VALUE_${at}`]
    if (value !== undefined && env[`GIT_CONFIG_KEY_${at}`]?.toLowerCase() === 'safe.directory') values.push(value)
  }
  return values
}

/**
 * The environment of one command. `extra` wins over the caller's; `marker` is added to the markers of the runs that this one
 * is nested in, so that each of them still finds its descendants.
 */
export const commandEnvironment = (
  env: Readonly<Record<string, string | undefined>>,
  extra: Readonly<Record<string, string>>,
  marker: string,
): Record<string, string> => {
  const result: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !REPOSITORY_LOCAL.has(name) && !CONFIG_PAIR.test(name)) result[name] = value
  }
  const permitted = permittedDirectories(env)
  for (const [at, value] of permitted.entries()) {
    result[`GIT_CONFIG_KEY_${at}`] = 'safe.directory'
    result[`GIT_CONFIG_VALUE_${at}`] = value
  }
  if (permitted.length > 0) result['GIT_CONFIG_COUNT'] = String(permitted.length)
  const outer = env[JOB_MARKER]
  return { ...result, ...extra, [JOB_MARKER]: outer ? `${outer} ${marker}` : marker }
}

/** The runs that this process is itself a part of, outermost first. */
export const enclosingRuns = (env: Readonly<Record<string, string | undefined>>): readonly string[] =>
  (env[JOB_MARKER] ?? '').split(' ').flatMap(word => (word === '' ? [] : [word.replace(/\.\d+$/, '')]))
