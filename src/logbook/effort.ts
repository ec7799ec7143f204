/** Which events belong to one effort: a branch up to its landing, after which the same name is another one. Pure. */
import type { LandingRecord, VerbEvent } from './event.ts'

interface Followed {
  readonly effort: string | undefined
  readonly landed: readonly { readonly effort: string | undefined; readonly landing: LandingRecord }[]
}

interface Efforts {
  /**
   * Whether an event is of the branch that git discern was set up on: one other than the trunk that began with a `setup` where
   * there was no configuration yet. Setting up again, on whatever branch, makes none.
   */
  readonly isSetUpOn: (event: VerbEvent) => boolean
  readonly follow: (event: VerbEvent) => Followed
}

/** Verbs that show that a branch is for other work than setting up. */
const WORK: readonly string[] = ['prepare', 'test', 'done', 'update', 'accept']

const NOTHING_LANDED: Followed['landed'] = []

/** Follows branches through events that come oldest first. `trunk` is the short name of the branch that is no effort. */
export const efforts = (trunk: string | undefined): Efforts => {
  /** How often each branch landed. */
  const generations = new Map<string, number>()
  /** Branches on which somebody worked before any setup there; both of these until they land. */
  const worked = new Set<string>()
  const setUp = new Set<string>()
  /** The proven commit of each effort that has not landed, by which a landing of several names what it landed. */
  const proven = new Map<string, string>()
  const provenOf = new Map<string, string>()

  const effortOf = (branch: string | null | undefined): string | undefined =>
    branch === null || branch === undefined || branch === trunk
      ? undefined
      : `${branch}#${(generations.get(branch) ?? 0) + 1}`

  const land = (effort: string): void => {
    const branch = branchOf(effort)
    generations.set(branch, (generations.get(branch) ?? 0) + 1)
    setUp.delete(branch)
    worked.delete(branch)
    const commit = provenOf.get(effort)
    provenOf.delete(effort)
    if (commit !== undefined) proven.delete(commit)
  }

  return {
    isSetUpOn: ({ verb, branch, epoch }) => {
      if (branch === null || branch === trunk) return false
      if (verb === 'setup' && epoch === null && !worked.has(branch)) setUp.add(branch)
      if (setUp.has(branch)) return true
      if (WORK.includes(verb)) worked.add(branch)
      return false
    },
    follow: event => {
      const effort = effortOf(event.target ?? event.branch)
      if (event.verb === 'done' && event.outcome === 'ok' && effort !== undefined && event.head !== null) {
        const before = provenOf.get(effort)
        if (before !== undefined) proven.delete(before)
        provenOf.set(effort, event.head)
        proven.set(event.head, effort)
      }
      const records = event.landing ?? []
      if (records.length === 0) return { effort, landed: NOTHING_LANDED }
      const landed = records.map(landing => ({
        // The commit says it best; where only one landed, the branch that was named or is checked out does as well.
        effort: proven.get(landing.commit) ?? (records.length === 1 ? effort : undefined),
        landing,
      }))
      for (const one of landed) if (one.effort !== undefined) land(one.effort)
      return { effort, landed }
    },
  }
}

/** The branch of an effort. */
export const branchOf = (effort: string): string => effort.slice(0, effort.lastIndexOf('#'))
