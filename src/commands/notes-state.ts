/** What the notes refs lack, found out without moving them. */
import type { ConfigEntry } from '../git/config.ts'
import { LOCAL_NOTES_REF, NOTES_REF, OVERWRITTEN_NOTES_REF } from '../git/notes.ts'
import { isAncestor, type Ref, type Shared } from '../git/refs.ts'
import { trackingRefs } from '../proof/remote.ts'

export interface NotesState {
  /** The public ref no longer contains what we last wrote or adopted (design 4.5). */
  readonly lost: boolean
  /** Refs whose history is not taken in: nobody did it yet, or a conflict is open. */
  readonly unmerged: readonly string[]
}

/**
 * `refs` must hold the notes refs and the tracking refs. One git process for each ref that stands elsewhere; a history that git
 * cannot follow, as in a shallow clone, counts as taken in.
 */
export const readNotesState = async (
  place: Shared,
  entries: readonly ConfigEntry[],
  refs: ReadonlyMap<string, Ref>,
): Promise<NotesState> => {
  const tip = refs.get(NOTES_REF)?.oid
  const lacks = async (ref: string): Promise<boolean> => {
    const oid = refs.get(ref)?.oid
    if (oid === undefined || oid === tip) return false
    return tip === undefined || (await isAncestor(place, oid, tip)) === false
  }
  const others = [...trackingRefs(entries), OVERWRITTEN_NOTES_REF]
  const lacking = await Promise.all(others.map(lacks))
  return { lost: await lacks(LOCAL_NOTES_REF), unmerged: others.filter((_, at) => lacking[at]) }
}
