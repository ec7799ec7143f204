/**
 * Which branch is the trunk (design 4.3, case 54). Every answer is a full ref name, so no tag can shadow it; a literal name is
 * never assumed, and where several branches could be meant somebody has to say so.
 */
import { Refusal } from '../errors.ts'
import { type ConfigEntry, configValue, remoteNames } from '../git/config.ts'
import { type Ref, shortBranch } from '../git/refs.ts'

export interface Trunk {
  /** Full name of the branch that people mean. */
  readonly ref: string
  /** The ref that compare-and-swap moves: `ref`, or what it points at when it is symbolic. */
  readonly target: string
  /** As people write it, without `refs/heads/`. */
  readonly name: string
  /** How it was found. */
  readonly source: 'environment' | 'configuration' | 'remote-head' | 'default-branch' | 'only-branch'
  /** Whether the local branch exists; a landing needs one. */
  readonly local: boolean
  /** The remote that has it, and its tracking ref here, as far as `refs` tell. */
  readonly remote?: string
  readonly tracking?: string
}

export interface TrunkQuestion {
  /** `[repository].trunk`. */
  readonly configured: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  /** From `readRefs`; branches and remote-tracking refs, as far as they matter. */
  readonly refs: ReadonlyMap<string, Ref>
  readonly entries: readonly ConfigEntry[]
  /** Full name of the branch that is checked out. */
  readonly current: string | undefined
}

const HEADS = 'refs/heads/'
const trackingRoot = (remote: string): string => `refs/remotes/${remote}/`

/**
 * The trunk, or the refusal `trunk_unknown` with the branches to choose from. A trunk that somebody named is taken at their
 * word even where its branch does not exist (`local: false`, no `remote`). Pure; no git process.
 */
export const resolveTrunk = (question: TrunkQuestion): Trunk => {
  const { configured, env, refs, entries } = question
  const remote = mainRemote(remoteNames(entries))
  const named = env['DISCERN_TRUNK']?.trim()
  if (named) return describe(named.replace(/^refs\/heads\//, ''), 'environment', refs, entries, remote)
  if (configured) return describe(configured, 'configuration', refs, entries, remote)
  const advertised = remote && remoteHead(refs, remote)
  if (advertised) return describe(advertised, 'remote-head', refs, entries, remote)
  const candidates = candidateNames(refs, remote)
  const [only, ...others] = candidates
  if (only !== undefined && others.length === 0) return describe(only, 'only-branch', refs, entries, remote)
  const byDefault = configValue(entries, 'init.defaultbranch')
  if (byDefault !== undefined && candidates.includes(byDefault)) {
    return describe(byDefault, 'default-branch', refs, entries, remote)
  }
  throw new Refusal('trunk_unknown', { reason: reasonFor(question, remote, candidates), candidates })
}

const reasonFor = (
  { current, entries }: TrunkQuestion,
  remote: string | undefined,
  candidates: readonly string[],
): string => {
  if (candidates.length === 0) return `${current ? shortBranch(current) : 'HEAD'} has no commit, and there is no branch`
  const remotes = remoteNames(entries)
  const hint = remote
    ? `refs/remotes/${remote}/HEAD is not set`
    : remotes.length === 0
      ? 'there is no remote'
      : `none of the remotes ${remotes.join(', ')} is called origin`
  return `nothing is configured, ${hint}, and there are ${candidates.length} branches`
}

/** The remote whose word counts: `origin`, or the only one. */
const mainRemote = (remotes: readonly string[]): string | undefined =>
  remotes.includes('origin') ? 'origin' : remotes.length === 1 ? remotes[0] : undefined

/** The branch that the remote's HEAD names here. */
const remoteHead = (refs: ReadonlyMap<string, Ref>, remote: string): string | undefined => {
  const target = refs.get(`${trackingRoot(remote)}HEAD`)?.target
  return target?.startsWith(trackingRoot(remote)) ? target.slice(trackingRoot(remote).length) : undefined
}

/** Branches here and at the remote, by short name, sorted; a symbolic branch is another name of one that counts already. */
const candidateNames = (refs: ReadonlyMap<string, Ref>, remote: string | undefined): readonly string[] => {
  const names = new Set<string>()
  for (const { name, target } of refs.values()) {
    // The HEAD of a remote is no branch, even where a git wrote it as a plain id.
    if (target !== undefined || name === `${trackingRoot(remote ?? '')}HEAD`) continue
    if (name.startsWith(HEADS)) names.add(name.slice(HEADS.length))
    else if (remote && name.startsWith(trackingRoot(remote))) names.add(name.slice(trackingRoot(remote).length))
  }
  return [...names].sort()
}

const describe = (
  name: string,
  source: Trunk['source'],
  refs: ReadonlyMap<string, Ref>,
  entries: readonly ConfigEntry[],
  mainRemote: string | undefined,
): Trunk => {
  const ref = `${HEADS}${name}`
  const target = refs.get(ref)?.target ?? ref
  if (!target.startsWith(HEADS)) {
    throw new Refusal('trunk_unknown', {
      reason: `${name} is symbolic and points at ${target}, which is no branch`,
      candidates: candidateNames(refs, mainRemote),
    })
  }
  const having = remoteNames(entries).filter(remote => refs.has(`${trackingRoot(remote)}${name}`))
  const remote = mainRemote && having.includes(mainRemote) ? mainRemote : having.length === 1 ? having[0] : undefined
  return {
    ref,
    target,
    name,
    source,
    local: refs.has(ref),
    ...(remote ? { remote, tracking: `${trackingRoot(remote)}${name}` } : {}),
  }
}
