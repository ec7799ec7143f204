/** Whether a branch keeps the standards of its trunk: they may be added and tightened, and nothing else (facts 14). Pure. */
import { isDeepStrictEqual } from 'node:util'
import type { Configuration } from './definition.ts'
import type { CommittedConfiguration } from './read.ts'
import { meaningFingerprint, readStandards, type StandardDefinition } from './standards.ts'

/** The committed configuration of the trunk, or why it cannot be compared with. */
export type TrunkStandards = { readonly known: Configuration | undefined } | { readonly unavailable: string }

/** What a trunk's commit has, as the ratchet takes it: a trunk without the file has no standard that could be lost. */
export const trunkStandards = (committed: CommittedConfiguration): TrunkStandards => {
  switch (committed.status) {
    case 'ok':
      return { known: committed.configuration }
    case 'absent':
      return { known: undefined }
    case 'unreadable':
      return { unavailable: committed.reason }
    case 'invalid':
      return { unavailable: committed.refusal.message }
  }
}

/** A limit that waits for the owner: as far as the ratchet must know it. */
export interface ProposedLimit {
  readonly standard: string
  readonly definition_fingerprint: string
  readonly trunk_limit: number
  readonly proposed_limit: number
}

/** `unverified` is loud and does not block; `failed` blocks; `proposed` waits for the owner's approval. */
export type RatchetStatus = 'verified' | 'unverified' | 'proposed' | 'failed'

export interface RatchetRow {
  readonly standard: string
  readonly status: RatchetStatus
  /** One sentence: what was compared, and with `failed` how to put it right. */
  readonly sentence: string
}

export interface Ratchet {
  /** The worst of the rows; `verified` when there is none. */
  readonly status: RatchetStatus
  /** The standards of the branch in the order of its file, then those it deleted. */
  readonly rows: readonly RatchetRow[]
}

const BY_WEIGHT: readonly RatchetStatus[] = ['failed', 'unverified', 'proposed', 'verified']

/**
 * Compares a branch with the trunk it will land on. `proposed` are the recorded proposals of the branch; one excuses a limit
 * only when its numbers and its standard's meaning are exactly those of the two configurations. `fingerprint` is
 * `meaningFingerprint`.
 */
export const ratchet = (
  trunk: TrunkStandards,
  branch: Configuration,
  proposed: readonly ProposedLimit[] = [],
): Ratchet => {
  const own = readStandards(branch)
  const rows = 'unavailable' in trunk ? own.map(unverified(trunk.unavailable)) : compare(trunk.known, own, proposed)
  return { status: BY_WEIGHT.find(status => rows.some(row => row.status === status)) ?? 'verified', rows }
}

const unverified =
  (reason: string) =>
  ({ name }: StandardDefinition): RatchetRow => ({
    standard: name,
    status: 'unverified',
    sentence: `its limit was compared with nothing: ${reason}`,
  })

const compare = (
  trunk: Configuration | undefined,
  own: readonly StandardDefinition[],
  proposed: readonly ProposedLimit[],
): readonly RatchetRow[] => {
  const before = new Map((trunk ? readStandards(trunk) : []).map(standard => [standard.name, standard]))
  const kept = new Set(own.map(({ name }) => name))
  return [
    ...own.map(after => judge(before.get(after.name), after, proposed)),
    ...[...before.keys()]
      .filter(name => !kept.has(name))
      .map(
        (name): RatchetRow => ({
          standard: name,
          status: 'failed',
          sentence: `it was deleted; restore [standards.${name}] of the trunk`,
        }),
      ),
  ]
}

const judge = (
  before: StandardDefinition | undefined,
  after: StandardDefinition,
  proposed: readonly ProposedLimit[],
): RatchetRow => {
  const row = (status: RatchetStatus, sentence: string): RatchetRow => ({ standard: after.name, status, sentence })
  if (!before) return row('verified', `it is new, with the limit ${after.limit}`)
  const changed = changedMeaning(before, after)
  if (changed !== undefined) return row('failed', `${changed}; restore what the trunk has`)
  if (before.limit === after.limit) return row('verified', `its limit is that of the trunk, ${after.limit}`)
  const numbers = `${before.limit} to ${after.limit}`
  if (isTighter(after.direction, before.limit, after.limit))
    return row('verified', `its limit was tightened from ${numbers}`)
  return proposed.some(proposal => excuses(proposal, before, after))
    ? row('proposed', `its limit is proposed to go from ${numbers}, and awaits the owner's approval`)
    : row(
        'failed',
        `its limit was loosened from ${numbers}; restore ${before.limit}, or propose another: git discern standards propose ${after.name} --reason "<why>"`,
      )
}

const isTighter = (direction: 'up' | 'down', before: number, after: number): boolean =>
  direction === 'up' ? after > before : after < before

const excuses = (proposal: ProposedLimit, before: StandardDefinition, after: StandardDefinition): boolean =>
  proposal.standard === after.name &&
  proposal.trunk_limit === before.limit &&
  proposal.proposed_limit === after.limit &&
  proposal.definition_fingerprint === meaningFingerprint(after)

/** What makes a standard measure something else, one row each; the first that changed is named. */
const MEANING: readonly (readonly [what: string, of: (standard: StandardDefinition) => unknown])[] = [
  ['direction', ({ direction }) => direction],
  ['metric', ({ metric }) => metric],
  ['run', ({ recipe }) => recipe?.run],
  ['producer', ({ producer }) => producer],
  ['extract', ({ extract }) => extract],
  ['artifact', ({ artifact }) => artifact],
  ['per', ({ per }) => per],
  ['scale', ({ scale }) => scale],
]

/** Lists that may grow and must not shrink. */
const KEPT = ['environment', 'toolchain', 'needs'] as const

/** What about a standard was changed that must not be, limit and margin aside; `undefined` when its meaning was kept. */
export const changedMeaning = (before: StandardDefinition, after: StandardDefinition): string | undefined => {
  for (const [what, of] of MEANING) {
    if (!isDeepStrictEqual(of(before), of(after))) return `its ${what} was changed`
  }
  const narrowed = narrowedInput(before.inputs, after.inputs)
  if (narrowed !== undefined) return narrowed
  for (const key of KEPT) {
    const gone = before[key].find(item => !after[key].includes(item))
    if (gone !== undefined) return `${gone} was removed from its ${key}`
  }
  return undefined
}

/** Without inputs a reading depends on everything, so they may go; and any that comes to none narrows. */
const narrowedInput = (
  before: readonly string[] | undefined,
  after: readonly string[] | undefined,
): string | undefined => {
  if (after === undefined) return undefined
  if (before === undefined) return 'its inputs were narrowed from everything'
  const gone = before.find(pattern => pattern !== '' && !after.includes(pattern))
  return gone === undefined ? undefined : `${gone} was removed from its inputs`
}
