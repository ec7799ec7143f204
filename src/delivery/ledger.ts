/**
 * The ledger of a delivery (design 4.10): a chain of commits on `refs/discern/delivery/<name>`, one for each generation, each
 * with the one file `record.json`. Nothing is ever rewritten; a ref moves by compare-and-swap from the generation it was read at.
 */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { commitNotes, notesWriter } from '../git/notes-commit.ts'
import { parseCommit, parseTree, writeBlob } from '../git/objects.ts'
import { readRefs, updateRefs } from '../git/refs.ts'
import { oidDigits, type Repository, zeroOid } from '../git/repository.ts'
import { gitOutput } from '../git/run.ts'
import { DELIVERY_GENERATION_LIMIT_COUNT } from '../limits.ts'
import { type DeliveryRecord, parseRecord, recordBytes, recordId } from './record.ts'
import { advance, type Standing } from './standing.ts'

export const DELIVERY_PREFIX = 'refs/discern/delivery/'

export const RECORD_FILE = 'record.json'

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
  /** Oldest first; the place of a record is its generation less one. */
  readonly records: readonly DeliveryRecord[]
  /** Full ids of the commits, beside the records. */
  readonly commits: readonly string[]
  readonly standing: Standing
}

/**
 * Reads the chain that ends at a commit and holds every record to the rules. Refuses with `delivery_invalid`, naming the commit,
 * when one is missing, does not follow the one before, or breaks a rule; `store_newer` for one of a newer version.
 */
export const readLedger = async (repository: Repository, name: string, tip: string): Promise<Ledger> => {
  const commits: string[] = []
  const records: DeliveryRecord[] = []
  for (let oid: string | undefined = tip; oid !== undefined; ) {
    const where = `commit ${oid} of delivery ${name}`
    const { record, parents } = await readCommit(repository, oid, where)
    if (record.delivery !== name)
      throw new Refusal('delivery_invalid', { where, problem: `it is of ${record.delivery}` })
    commits.unshift(oid)
    records.unshift(record)
    if (parents.length > 1) throw new Refusal('delivery_invalid', { where, problem: 'it has more than one parent' })
    if (commits.length > DELIVERY_GENERATION_LIMIT_COUNT) {
      throw new Refusal('delivery_invalid', {
        where,
        problem: `there are over ${DELIVERY_GENERATION_LIMIT_COUNT} generations`,
      })
    }
    oid = parents[0]
  }
  let standing: Standing | undefined
  for (const [at, record] of records.entries()) {
    const where = `commit ${commits[at]} of delivery ${name}`
    const previous = records[at - 1]
    if (record.previous !== (previous ? recordId(previous) : null)) {
      throw new Refusal('delivery_invalid', { where, problem: 'it does not follow the record before it' })
    }
    if (previous && record.repository !== previous.repository) {
      throw new Refusal('delivery_invalid', {
        where,
        problem: `it is of ${record.repository}, not of ${previous.repository}`,
      })
    }
    const next: Standing | { readonly problem: string } = advance(standing, record)
    if ('problem' in next) throw new Refusal('delivery_invalid', { where, problem: next.problem })
    standing = next
  }
  if (!standing) throw new Error('a ledger has at least one record')
  return { name, tip, records, commits, standing }
}

const readCommit = async (
  repository: Repository,
  oid: string,
  where: string,
): Promise<{ readonly record: DeliveryRecord; readonly parents: readonly string[] }> => {
  const wrong = (problem: string): Refusal => new Refusal('delivery_invalid', { where, problem })
  const commit = await repository.objects.read(oid)
  if (commit?.type !== 'commit') throw wrong('the commit is not here')
  const { tree, parents } = parseCommit(commit.content)
  const listing = await repository.objects.read(tree)
  const [entry, ...others] = listing?.type === 'tree' ? parseTree(listing.content, oidDigits(repository)) : []
  if (entry?.path !== RECORD_FILE || entry.mode !== '100644' || others.length > 0) {
    throw wrong(`it does not hold exactly the file ${RECORD_FILE}`)
  }
  const blob = await repository.objects.read(entry.oid)
  if (blob?.type !== 'blob') throw wrong(`its ${RECORD_FILE} is not here`)
  return { record: parseRecord(blob.content, where), parents }
}

/** The deliveries of this repository by name, each with the commit of its newest generation. One git process. */
export const listDeliveries = async (repository: Repository): Promise<ReadonlyMap<string, string>> => {
  const refs = await readRefs(repository, [DELIVERY_PREFIX])
  const names = [...refs].map(([ref, { oid }]) => [ref.slice(DELIVERY_PREFIX.length), oid] as const)
  return new Map(names.filter(([name]) => isDeliveryName(name)).sort(([one], [other]) => (one < other ? -1 : 1)))
}

/**
 * Appends one record as a generation of its own. `false` when the ref is not where the ledger was read any more: somebody else
 * went on, and nothing was changed. Four git processes.
 */
export const appendRecord = async (
  context: Context,
  repository: Repository,
  /** What it follows; `undefined` starts a delivery. */
  ledger: Pick<Ledger, 'tip'> | undefined,
  record: DeliveryRecord,
): Promise<{ readonly commit: string } | { readonly lost: string }> => {
  const blob = await writeBlob(repository, recordBytes(record))
  const tree = await gitOutput(repository, ['mktree', '-z'], { input: `100644 blob ${blob}\t${RECORD_FILE}\0` })
  const title = record.checkpoint ?? record.state
  const commit = await commitNotes(repository, notesWriter(context), {
    tree: tree.toString('utf8').trim(),
    parents: ledger ? [ledger.tip] : [],
    message: `Delivery ${record.delivery}, generation ${record.generation}: ${title}`,
    time: Math.floor(context.now().getTime() / 1000),
  })
  if (commit === undefined) {
    throw new Refusal('precondition_failed', {
      problem: 'git knows no identity to commit a record with',
      next: 'git config user.name "<name>" && git config user.email <address>, or unset DISCERN_NO_ATTRIBUTION',
    })
  }
  const moved = await updateRefs(
    repository,
    [{ ref: deliveryRef(record.delivery), from: ledger?.tip ?? zeroOid(repository), to: commit }],
    `discern delivery: generation ${record.generation}`,
  )
  return moved.moved ? { commit } : { lost: moved.reason }
}
