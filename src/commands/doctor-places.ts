/** What `doctor` tests about git itself, the configuration, the trunk, our own files, and the shape of the repository. */
import { access, constants } from 'node:fs/promises'
import { dirname } from 'node:path'
import { reasonOf } from '../errors.ts'
import { configValue } from '../git/config.ts'
import { atLeast, gitVersion } from '../git/hook-directory.ts'
import { gitLine } from '../git/run.ts'
import { CONFIG_HOOKS_GIT_VERSION, MINIMUM_GIT_VERSION } from '../limits.ts'
import type { Configuration } from '../policy/definition.ts'
import { CONFIG_FILE, readCommittedConfiguration } from '../policy/read.ts'
import type { Trunk } from '../policy/trunk.ts'
import { type AdminName, adminFiles, adminFolder, adminPath, readAdmin } from '../store/admin.ts'
import { type Check, type Finding, failed, ok, warning } from './doctor-check.ts'
import type { DoctorFacts } from './doctor-facts.ts'

const gitItself = async ({ worktree, hooks }: DoctorFacts): Promise<readonly Finding[]> => {
  const version = await gitVersion(worktree)
  const text = `git ${version.join('.')}`
  const oldest = MINIMUM_GIT_VERSION.join('.')
  if (!atLeast(version, MINIMUM_GIT_VERSION)) {
    return [failed(`${text} is too old: ${oldest} or newer is needed`, `install git ${oldest} or newer`)]
  }
  const known = atLeast(version, CONFIG_HOOKS_GIT_VERSION)
  const hooksOf: Readonly<Record<typeof hooks.mechanism, string>> = {
    files: 'hooks are files here',
    config: 'hooks are defined in the configuration here',
    none: known
      ? 'it knows hooks in the configuration'
      : `hooks in the configuration need ${CONFIG_HOOKS_GIT_VERSION.join('.')}`,
  }
  return [ok(`${text}; ${hooksOf[hooks.mechanism]}`)]
}

const configuration = async (facts: DoctorFacts): Promise<readonly Finding[]> => {
  const { configuration: live } = facts
  if ('refusal' in live) return [failed(live.refusal.message, live.refusal.next[0] ?? `look at ${CONFIG_FILE}`)]
  const governing = await governingConfiguration(facts)
  if (live.value === undefined) {
    return 'value' in governing
      ? [warning(`this checkout has no ${CONFIG_FILE}, and ${governing.name} has one`, `git merge ${governing.name}`)]
      : [failed(`this repository has no ${CONFIG_FILE}`, 'git discern setup')]
  }
  const { jobs, scopes } = live.value
  const count = `${jobs.length} ${jobs.length === 1 ? 'job' : 'jobs'}, ${scopes.filter(({ gate }) => gate).length} scope gates`
  const loaded =
    jobs.length + scopes.length === 0
      ? warning(
          `${CONFIG_FILE} loads, and names no command: done would prove nothing`,
          `add [jobs.test] to ${CONFIG_FILE}`,
        )
      : ok(`${CONFIG_FILE} loads: ${count}`)
  return 'problem' in governing
    ? [loaded, warning(`nothing governs: ${governing.problem}`, `put ${CONFIG_FILE} right on ${governing.name}`)]
    : [loaded]
}

type Governing =
  | { readonly name: string; readonly value: Configuration }
  | { readonly name: string; readonly problem: string }
  | { readonly absent: true }

/** The configuration of the trunk, which judges every change (facts 6.1). */
const governingConfiguration = async ({ worktree, trunk, refs }: DoctorFacts): Promise<Governing> => {
  if ('refusal' in trunk) return { absent: true }
  const { name } = trunk.value
  const tip = tipOf(trunk.value, refs)
  if (tip === undefined) return { absent: true }
  const read = await readCommittedConfiguration(worktree, tip)
  switch (read.status) {
    case 'absent':
      return { absent: true }
    case 'ok':
      return { name, value: read.configuration }
    case 'unreadable':
      return { name, problem: read.reason }
    case 'invalid':
      return { name, problem: read.refusal.message }
  }
}

const tipOf = ({ target, tracking }: Trunk, refs: DoctorFacts['refs']): string | undefined =>
  refs.get(target)?.oid ?? (tracking === undefined ? undefined : refs.get(tracking)?.oid)

const SOURCES: Readonly<Record<Trunk['source'], string>> = {
  environment: 'DISCERN_TRUNK says so',
  configuration: `${CONFIG_FILE} says so`,
  'remote-head': "it is the remote's HEAD",
  'default-branch': 'init.defaultBranch says so',
  'only-branch': 'it is the only branch',
}

const trunkBranch = ({ trunk, state }: DoctorFacts): readonly Finding[] => {
  if ('refusal' in trunk) return [failed(trunk.refusal.message, trunk.refusal.next[0] ?? 'git discern setup')]
  const { name, ref, source, local, remote } = trunk.value
  if (local) return [ok(`${name}: ${SOURCES[source]}`)]
  if (state.branch === ref) return [warning(`${name} has no commit yet`, 'git commit')]
  return remote === undefined
    ? [failed(`the trunk is ${name} (${SOURCES[source]}), and there is no such branch`, `git branch ${name} <commit>`)]
    : [warning(`${name} exists only at ${remote}, so nothing can land`, `git branch ${name} ${remote}/${name}`)]
}

/** Every file of ours that is there can be read by this version, and the places can be written to. Writes nothing. */
const stores = async ({ worktree }: DoctorFacts): Promise<readonly Finding[]> => {
  const findings: Finding[] = []
  for (const name of Object.keys(adminFiles) as AdminName[]) {
    const path = adminPath(worktree, name)
    const read = await readAdmin(worktree, name)
    if (read.status === 'newer') {
      const say = adminFiles[name].newer === 'refuse' ? failed : warning
      findings.push(say(`${path} was written by a newer git discern (format ${read.version})`, 'update git discern'))
    } else if (read.status === 'unavailable')
      findings.push(failed(`cannot read ${path}: ${read.reason}`, `look at ${path}`))
    else if (read.status === 'invalid') {
      findings.push(warning(`${path} makes no sense: ${read.reason}`, `move ${path} away; what it held is made anew`))
    }
  }
  const places = new Set([worktree.commonDir, worktree.gitDir, dirname(adminFolder(worktree, 'records'))])
  for (const place of places) {
    const problem = await access(place, constants.W_OK | constants.X_OK).then(() => undefined, reasonOf)
    if (problem !== undefined && !problem.startsWith('ENOENT')) {
      findings.push(failed(`cannot write to ${place}: ${problem}`, `make ${place} writable`))
    }
  }
  return findings.length > 0 ? findings : [ok(`everything in ${worktree.commonDir} can be read and written`)]
}

const shape = async ({ worktree, entries }: DoctorFacts): Promise<readonly Finding[]> => {
  const shallow = await gitLine(worktree, ['rev-parse', '--is-shallow-repository'])
  const storage = configValue(entries, 'extensions.refstorage') ?? 'files'
  const partial = configValue(entries, 'extensions.partialclone')
  const sparse = configValue(entries, 'core.sparsecheckout') === 'true'
  const remarks = [
    `${worktree.objectFormat} objects, refs in ${storage}`,
    ...(partial === undefined ? [] : [`a partial clone of ${partial}: what is missing is never fetched for a check`]),
    ...(sparse ? ['a sparse checkout'] : []),
  ]
  return [
    ok(remarks.join('; ')),
    ...(shallow === 'true'
      ? [
          warning(
            'a shallow clone: part of the history is not here, so some facts cannot be had',
            'git fetch --unshallow',
          ),
        ]
      : []),
  ]
}

export const gitCheck: Check = { name: 'git', tests: 'is git new enough?', run: gitItself }

export const placeChecks: readonly Check[] = [
  { name: 'config', tests: `does ${CONFIG_FILE} load, here and on the trunk?`, run: configuration },
  { name: 'trunk', tests: 'can the trunk be told?', run: trunkBranch },
  { name: 'stores', tests: 'can our files in the git directory be read and written?', run: stores },
  { name: 'repository', tests: 'is everything here that a check needs?', run: shape },
]
