/** Which branch `setup` writes down as the trunk (design 4.3, case 54). */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { type ConfigEntry, remoteNames } from '../git/config.ts'
import { type Ref, shortBranch } from '../git/refs.ts'
import type { Worktree } from '../git/repository.ts'
import { git } from '../git/run.ts'
import type { WorktreeState } from '../git/worktrees.ts'
import type { Configuration } from '../policy/definition.ts'
import { CONFIG_FILE } from '../policy/read.ts'
import { resolveTrunk, type Trunk } from '../policy/trunk.ts'

export interface TrunkGround {
  readonly worktree: Worktree
  readonly entries: readonly ConfigEntry[]
  readonly refs: ReadonlyMap<string, Ref>
  readonly state: WorktreeState
  readonly configuration: Configuration | undefined
}

export interface ChosenTrunk {
  /** Short name. */
  readonly name: string
  /** `option`: named on the command line. `unborn`: the branch that the first commit will make. */
  readonly source: Trunk['source'] | 'option' | 'unborn'
  /** Full id of its tip, here or at a remote; `undefined` before the first commit. */
  readonly tip: string | undefined
  /** The remote that alone has it, so that nothing can land yet. */
  readonly onlyAt: string | undefined
}

/**
 * The trunk that was named, or the one that can be told. Refuses with `trunk_unknown` where it cannot, and with `invalid_value`
 * or `precondition_failed` for a name that cannot be written down. At most one git process.
 */
export const chooseTrunk = async (
  context: Context,
  ground: TrunkGround,
  wanted: string | undefined,
): Promise<ChosenTrunk> => {
  if (wanted !== undefined) return named(ground, wanted.replace(/^refs\/heads\//, ''))
  const { refs, entries, state, configuration } = ground
  try {
    const trunk = resolveTrunk({
      configured: configuration?.repository.trunk,
      env: context.env,
      refs,
      entries,
      current: state.branch,
    })
    const tip = refs.get(trunk.target)?.oid ?? (trunk.tracking ? refs.get(trunk.tracking)?.oid : undefined)
    return { name: trunk.name, source: trunk.source, tip, onlyAt: trunk.local ? undefined : trunk.remote }
  } catch (error) {
    if (!(error instanceof Refusal) || error.slug !== 'trunk_unknown') throw error
    const { candidates } = error.detail as { readonly candidates: readonly string[] }
    if (candidates.length > 0 || state.branch === undefined) throw error
    return { name: shortBranch(state.branch), source: 'unborn', tip: undefined, onlyAt: undefined }
  }
}

const named = async (ground: TrunkGround, name: string): Promise<ChosenTrunk> => {
  const { worktree, refs, entries, state, configuration } = ground
  const ref = `refs/heads/${name}`
  if ((await git(worktree, ['check-ref-format', ref])).exitCode !== 0) {
    throw new Refusal('invalid_value', {
      what: '--trunk',
      expected: 'the name of a branch',
      found: JSON.stringify(name),
      next: 'git branch --all   # lists them',
    })
  }
  if (configuration && configuration.repository.trunk !== name) {
    const says = configuration.repository.trunk
    throw new Refusal('precondition_failed', {
      problem: `${CONFIG_FILE} ${says === undefined ? 'names no trunk' : `says that the trunk is ${says}`}, and setup never changes a ${CONFIG_FILE} that is there`,
      next: `write trunk = ${JSON.stringify(name)} below [repository] in ${CONFIG_FILE}`,
    })
  }
  const remotes = remoteNames(entries).filter(remote => refs.has(`refs/remotes/${remote}/${name}`))
  const here = refs.get(ref)
  if (here === undefined && remotes.length === 0 && state.branch !== ref) {
    throw new Refusal('trunk_unknown', {
      reason: `there is no branch ${name}`,
      candidates: [...refs.keys()].filter(known => known.startsWith('refs/heads/')).map(shortBranch),
    })
  }
  const tip = here ?? refs.get(`refs/remotes/${remotes[0]}/${name}`)
  return {
    name,
    source: 'option',
    tip: tip?.oid,
    onlyAt: here === undefined && state.branch !== ref ? remotes[0] : undefined,
  }
}
