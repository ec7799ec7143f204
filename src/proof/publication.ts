/** How far the notes of this repository have come to each remote, as far as the last fetch can tell. */
import { type ConfigEntry, remoteNames } from '../git/config.ts'
import { NOTES_REF, type NotesConflict } from '../git/notes.ts'
import { isAncestor, type Ref, type Shared } from '../git/refs.ts'
import { isRefName, trackingRef } from './refspec.ts'

/**
 * `published`: the remote has all of ours. `behind`: a push would bring it all. `diverged`: both have something; a merge comes
 * first. `conflict`: someone has to decide first. `unknown`: nothing was fetched from there, or git cannot tell.
 */
export type PublicationState = 'published' | 'behind' | 'diverged' | 'unknown' | 'conflict'

export interface Publication {
  readonly remote: string
  /** The tracking ref, and what it holds. */
  readonly ref: string
  readonly tip: string | undefined
  readonly state: PublicationState
  /** What publishes the notes, once nothing is in the way. */
  readonly command: string
}

const compare = async (
  place: Shared,
  ours: string | undefined,
  theirs: string | undefined,
): Promise<PublicationState> => {
  if (ours === undefined || ours === theirs) return 'published'
  if (theirs === undefined) return 'unknown'
  const [behind, published] = await Promise.all([isAncestor(place, theirs, ours), isAncestor(place, ours, theirs)])
  if (behind === undefined || published === undefined) return 'unknown'
  return published ? 'published' : behind ? 'behind' : 'diverged'
}

/**
 * One entry for each configured remote. `refs` must hold the tracking refs; `tip` is where the local notes stand now. Two git
 * processes for each remote that holds other notes than ours.
 */
export const publicationOf = (
  place: Shared,
  entries: readonly ConfigEntry[],
  refs: ReadonlyMap<string, Ref>,
  tip: string | undefined,
  conflicts: readonly NotesConflict[],
): Promise<readonly Publication[]> =>
  Promise.all(
    remoteNames(entries)
      .filter(remote => isRefName(trackingRef(remote)))
      .map(async remote => {
        const ref = trackingRef(remote)
        const theirs = refs.get(ref)?.oid
        const contested = conflicts.some(conflict => conflict.ref === ref)
        return {
          remote,
          ref,
          tip: theirs,
          state: contested ? 'conflict' : await compare(place, tip, theirs),
          command: `git push ${remote} ${NOTES_REF}`,
        }
      }),
  )
