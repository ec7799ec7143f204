/**
 * The epoch of a configuration: a keyed fingerprint by which events of one setting are told from those of another (facts
 * 12.1). Limits of standards are masked, since tightening one is the daily course of things.
 */
import { EPOCH_BRANCH_LIMIT_COUNT, KEYED_SHORT_DIGITS } from '../limits.ts'
import { type AdminRead, readAdmin, writeAdmin } from '../store/admin.ts'
import { canonicalJson, type Key, keyed } from '../store/digest.ts'

type Table = Readonly<Record<string, unknown>>

export interface Epoch {
  /** 16 hexadecimal digits. */
  readonly fingerprint: string
  /** The same for each top-level table. */
  readonly sections: Readonly<Record<string, string>>
}

/** A parsed configuration as plain JSON data; dates become text. */
export const plainDocument = (document: Table): Table => JSON.parse(JSON.stringify(document)) as Table

const isTable = (value: unknown): value is Table => typeof value === 'object' && value !== null && !Array.isArray(value)

const masked = (document: Table): Table => {
  const { standards } = document
  if (!isTable(standards)) return document
  const entries = Object.entries(standards).map(([name, table]) => [
    name,
    isTable(table) ? { ...table, limit: null } : table,
  ])
  return { ...document, standards: Object.fromEntries(entries) }
}

/** The epoch of a parsed configuration. Throws for data that is no JSON, such as a lone surrogate. */
export const epochOf = (key: Key, document: Table): Epoch => {
  const plain = masked(plainDocument(document))
  const digest = (name: string, value: unknown): string =>
    keyed(key, 'logbook-epoch-v1', [
      ['section', name],
      ['value', canonicalJson(value)],
    ]).slice(0, KEYED_SHORT_DIGITS)
  return {
    fingerprint: digest('', plain),
    sections: Object.fromEntries(Object.entries(plain).map(([name, value]) => [name, digest(name, value)])),
  }
}

type Known = Readonly<Record<string, Epoch>>

const isEpoch = (value: unknown): value is Epoch =>
  isTable(value) && typeof value['fingerprint'] === 'string' && isTable(value['sections'])

const knownIn = (read: AdminRead): Known =>
  read.status === 'ok' && isTable(read.value['branches'])
    ? Object.fromEntries(
        Object.entries(read.value['branches']).filter((entry): entry is [string, Epoch] => isEpoch(entry[1])),
      )
    : {}

/** The top-level tables in which two epochs differ, sorted. */
const differing = (one: Epoch, other: Epoch): readonly string[] =>
  [...new Set([...Object.keys(one.sections), ...Object.keys(other.sections)])]
    .filter(name => one.sections[name] !== other.sections[name])
    .sort()

/**
 * Keeps the epoch of a branch. Answers the tables that changed since the branch was last seen here; `undefined` when none did,
 * or when it is seen for the first time. Throws what a write throws; a file of a newer version stays as it is.
 */
export const keepEpoch = async (
  directories: Parameters<typeof readAdmin>[0],
  branch: string,
  epoch: Epoch,
): Promise<readonly string[] | undefined> => {
  const read = await readAdmin(directories, 'epoch')
  if (read.status === 'newer' || read.status === 'unavailable') return undefined
  const known = knownIn(read)
  const standing = Object.hasOwn(known, branch) ? known[branch] : undefined
  if (standing?.fingerprint === epoch.fingerprint) return undefined
  const others = Object.entries(known).filter(([name]) => name !== branch)
  const branches = Object.fromEntries([...others, [branch, epoch] as const].slice(-EPOCH_BRANCH_LIMIT_COUNT))
  await writeAdmin(directories, 'epoch', { branches })
  return standing && differing(standing, epoch)
}
