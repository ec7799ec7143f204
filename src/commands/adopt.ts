/**
 * What every hook and verb may do on the side: adopt fetched notes, bring overwritten ones back, and add the fetch mapping to a
 * remote that came later (design 4.4, 4.5; cases 16, 31, 35). It moves notes refs and adds configuration, nothing else.
 */
import type { Context } from '../context.ts'
import {
  type Convergence,
  convergeNotes,
  LOCAL_NOTES_REF,
  NOTES_REF,
  type NotesConflict,
  notesWriter,
  OVERWRITTEN_NOTES_REF,
} from '../git/notes.ts'
import { sameClaim } from '../proof/envelope.ts'
import { type MappingResult, type Publication, publicationOf, reconcileMapping, trackingRefs } from '../proof/remote.ts'
import type { Advisory } from '../result.ts'
import { mappingAdvisories } from './advise.ts'
import { type NotesState, readNotesState } from './notes-state.ts'
import type { Situation } from './situation.ts'

export interface Adoption {
  /** Where the local notes stand now. */
  readonly tip: string | undefined
  readonly adopted: number
  readonly restored: number
  readonly conflicts: readonly NotesConflict[]
  readonly fetch: MappingResult | undefined
  readonly publication: readonly Publication[]
  readonly advisories: readonly Advisory[]
}

/**
 * Converges notes and mapping when `write` is set; otherwise only says how things are. Never throws for what it could not do:
 * that is an advisory.
 */
export const adoptFetched = async (
  context: Context,
  { worktree, entries, refs, configuration }: Situation,
  { write }: { readonly write: boolean },
): Promise<Adoption> => {
  const tracking = trackingRefs(entries)
  const before = refs.get(NOTES_REF)?.oid
  const convergence: Convergence | undefined =
    write && !isConverged(refs, tracking)
      ? await convergeNotes(worktree, { tracking, sameClaim, writer: notesWriter(context) })
      : undefined
  const fetch =
    write && configuration
      ? await reconcileMapping(worktree, entries, configuration.repository.proofNotesMode, { removeWhenLocal: false })
      : undefined
  const tip = convergence?.tip ?? before
  const conflicts = convergence?.conflicts ?? []
  return {
    tip,
    adopted: convergence?.adopted ?? 0,
    restored: convergence?.restored ?? 0,
    conflicts,
    fetch,
    publication: await publicationOf(worktree, entries, refs, tip, conflicts),
    advisories: [
      ...(convergence
        ? convergenceAdvisories(convergence)
        : stateAdvisories(await readNotesState(worktree, entries, refs))),
      ...mappingAdvisories(entries),
      ...(fetch?.errors ?? []).map(
        ({ remote, reason }) =>
          ({
            kind: 'notes-mapping-failed',
            evidence: `the fetch mapping of ${remote} could not be reconciled: ${reason}`,
            next_action: 'git discern refresh',
          }) as const,
      ),
    ],
  }
}

/** Whether the refs alone show that there is nothing to adopt and nothing to bring back. No git process. */
const isConverged = (refs: Situation['refs'], tracking: readonly string[]): boolean => {
  const tip = refs.get(NOTES_REF)?.oid
  const others = tracking.map(ref => refs.get(ref)?.oid)
  return (
    refs.get(LOCAL_NOTES_REF)?.oid === tip &&
    !refs.has(OVERWRITTEN_NOTES_REF) &&
    others.every(oid => oid === undefined || oid === tip)
  )
}

/** What a person must know of a convergence: what came back, what nobody decided, what could not be done. */
export const convergenceAdvisories = ({ restored, conflicts, failure }: Convergence): readonly Advisory[] => [
  ...(restored > 0
    ? [
        {
          kind: 'notes-restored',
          evidence: `something had overwritten or pruned ${NOTES_REF}; ${restored} ${restored === 1 ? 'note was' : 'notes were'} brought back`,
          next_action: 'git discern doctor   # names what overwrites it',
        } as const,
      ]
    : []),
  ...conflicts.map(
    ({ subject, local, remote, ref }) =>
      ({
        kind: 'notes-conflict',
        evidence: `two different Proofs claim ${subject}: ${local.join(', ')} here, ${remote.join(', ')} in ${ref}`,
        next_action: `git discern notes resolve ${subject} --keep local|remote`,
      }) as const,
  ),
  ...(failure
    ? [
        {
          kind: 'proof-recording-unavailable',
          evidence: `fetched notes could not be adopted: ${failure.cause}: ${failure.reason}`,
          next_action: 'git discern notes merge',
        } as const,
      ]
    : []),
]

/** The same as far as it can be seen without moving anything. */
const stateAdvisories = ({ lost, unmerged }: NotesState): readonly Advisory[] =>
  lost || unmerged.length > 0
    ? [
        {
          kind: 'notes-unmerged',
          evidence: lost
            ? `something overwrote ${NOTES_REF}`
            : `fetched notes are not yet adopted: ${unmerged.join(', ')}`,
          next_action: 'git discern notes merge',
        },
      ]
    : []
