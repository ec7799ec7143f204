/**
 * The ledger of a delivery (design 4.10): a line of commits on `refs/discern/delivery/<name>`, one for each generation, each
 * with the one file `record.json`. Nothing is ever rewritten; a ref moves by compare-and-swap from the generation it was read at.
 */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { commitNotes, notesWriter } from '../git/notes-commit.ts'
import { writeBlob } from '../git/objects.ts'
import { readRefs, updateRefs } from '../git/refs.ts'
import { type Repository, zeroOid } from '../git/repository.ts'
import { gitOutput } from '../git/run.ts'
import { type Generation, type History, RECORD_FILE, readHistory } from './history.ts'
import { type DeliveryRecord, recordBytes } from './record.ts'
import type { Standing } from './standing.ts'

export const DELIVERY_PREFIX = 'refs/discern/delivery/'

export const deliveryRef = (name: string): string => `${DELIVERY_PREFIX}${name}`

/** A name is one part of a ref, and one of a file name. */
export const isDeliveryName = (name: string): boolean =>
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name) &&
  !name.includes('..') &&
  !name.endsWith('.lock') &&
  !name.endsWith('.')

export interface Ledger {
  readonly name: string
  /** Full id of the commit of the newest generation. */
  readonly tip: string
  /**
   * Of the line that counts, oldest first. Generations rise by one, but for a record that decided between two sides: it is above
   * both, so that no number ever stands for two records that somebody may have looked at.
   */
  readonly records: readonly DeliveryRecord[]
  /** Full ids of the commits, beside the records. */
  readonly commits: readonly string[]
  readonly standing: Standing
  /** With the sides that decisions went against. */
  readonly history: History
}

/**
 * Reads the line that ends at a commit, with all it rests on, and holds every record to the rules. Refuses with
 * `delivery_invalid`, naming the commit, when one is missing, does not follow the one before, or breaks a rule; `store_newer` for
 * one of a newer version.
 */
export const readLedger = async (repository: Repository, name: string, tip: string): Promise<Ledger> => {
  const history = await readHistory(repository, name, tip)
  const line: Generation[] = []
  for (let one = history.get(tip); one; one = history.get(one.parents[0] ?? '')) line.push(one)
  const [newest] = line
  if (!newest) throw new Error('a ledger has at least one record')
  line.reverse()
  return {
    name,
    tip,
    records: line.map(({ record }) => record),
    commits: line.map(({ commit }) => commit),
    standing: newest.standing,
    history,
  }
}

/** The deliveries of this repository by name, each with the commit of its newest generation. One git process. */
export const listDeliveries = async (repository: Repository): Promise<ReadonlyMap<string, string>> => {
  const refs = await readRefs(repository, [DELIVERY_PREFIX])
  const names = [...refs].map(([ref, { oid }]) => [ref.slice(DELIVERY_PREFIX.length), oid] as const)
  return new Map(names.filter(([name]) => isDeliveryName(name)).sort(([one], [other]) => (one < other ? -1 : 1)))
}

type Appended = { readonly commit: string } | { readonly lost: string }

/**
 * Appends one record as a generation of its own. `lost` when the ref is not where the ledger was read any more: somebody else
 * went on, and nothing was changed. Four git processes.
 */
export const appendRecord = (
  context: Context,
  repository: Repository,
  /** What it follows; `undefined` starts a delivery. */
  ledger: Pick<Ledger, 'tip'> | undefined,
  record: DeliveryRecord,
): Promise<Appended> =>
  commitRecord(context, repository, record, {
    parents: ledger ? [ledger.tip] : [],
    from: ledger?.tip ?? zeroOid(repository),
    time: context.now(),
  })

/** The same with the parents, the time of the commit, and the value that the ref moves from. */
export const commitRecord = async (
  context: Context,
  repository: Repository,
  record: DeliveryRecord,
  { parents, from, time }: { readonly parents: readonly string[]; readonly from: string; readonly time: Date },
): Promise<Appended> => {
  const blob = await writeBlob(repository, recordBytes(record))
  const tree = await gitOutput(repository, ['mktree', '-z'], { input: `100644 blob ${blob}\t${RECORD_FILE}\0` })
  const title = record.checkpoint ?? record.state
  const commit = await commitNotes(repository, notesWriter(context), {
    tree: tree.toString('utf8').trim(),
    parents,
    message: `Delivery ${record.delivery}, generation ${record.generation}: ${title}`,
    time: Math.floor(time.getTime() / 1000),
  })
  if (commit === undefined) {
    throw new Refusal('precondition_failed', {
      problem: 'git knows no identity to commit a record with',
      next: 'git config user.name "<name>" && git config user.email <address>, or unset DISCERN_NO_ATTRIBUTION',
    })
  }
  const moved = await updateRefs(
    repository,
    [{ ref: deliveryRef(record.delivery), from, to: commit }],
    `discern delivery: generation ${record.generation}`,
  )
  return moved.moved ? { commit } : { lost: moved.reason }
}
