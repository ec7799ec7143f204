/**
 * `git discern delivery verify <file>`: whether a CP7 record is the one that is expected: of this repository, commit, run, attempt
 * and corpus revision (facts 15). Also in a clone that has no delivery. Writes nothing.
 */
import { resolve } from 'node:path'
import type { Context } from '../context.ts'
import { type Ledger, listDeliveries, readLedger } from '../delivery/ledger.ts'
import { type DeliveryRecord, parseRecord, recordId } from '../delivery/record.ts'
import { stageOf } from '../delivery/stage.ts'
import { advance } from '../delivery/standing.ts'
import { Refusal, reasonOf } from '../errors.ts'
import { escapeText } from '../escape.ts'
import { displayPath } from '../git/path.ts'
import { resolveCommit } from '../git/refs.ts'
import { isOid, openRepository, type Repository } from '../git/repository.ts'
import { DELIVERY_RECORD_LIMIT_BYTES } from '../limits.ts'
import type { Result } from '../result.ts'
import { readRegularFile } from '../store/file.ts'
import type { Call } from './call.ts'
import { VERB } from './delivery-place.ts'
import { type Flags, text, usage } from './delivery-write.ts'

const EXAMPLE = 'verify <file> --commit <commit>'

/** One thing that a record is bound to. */
interface Expectation {
  readonly what: string
  readonly expected: string
  /** `undefined` when the record says nothing of it. */
  readonly found: string | undefined
  readonly by: 'flag' | 'ledger'
}

/** Refuses with `record_mismatch` and every mismatch, `delivery_invalid`, `store_unreadable`, `invalid_arguments`. */
export const verify = async (context: Context, call: Call, file: string | undefined): Promise<Result> => {
  if (file === undefined || call.operands.length > 2) throw usage('verify takes one file', EXAMPLE)
  const shown = file === '-' ? 'standard input' : displayPath(file)
  const record = parseRecord(await readRecord(context, call, file, shown), shown)
  const repository = await openRepository(context)
  const ledger = await ledgerOf(repository, record.delivery)
  const expectations = await expectationsOf(repository, record, ledger, call.flags)
  const unfit = ledger ? fitProblems(record, ledger) : []
  const mismatches = [
    ...shapeProblems(record),
    ...expectations.flatMap(({ what, expected, found }) =>
      found === expected
        ? []
        : [`its ${what} is ${found === undefined ? 'not said' : quote(found)}, not ${quote(expected)}`],
    ),
    ...unfit,
  ]
  const data = {
    action: 'verify',
    file: shown,
    record: recordId(record),
    checks: expectations
      .filter(({ expected, found }) => expected === found)
      .map(({ what, expected, by }) => ({ what, value: escapeText(expected), by })),
    unchecked: BOUND.filter(what => !expectations.some(one => one.what === what)),
    ledger: relationOf(record, ledger, unfit),
  }
  if (mismatches.length > 0) throw new Refusal('record_mismatch', { file: shown, mismatches }, { data })
  return { ok: true, verb: VERB, data }
}

/** Whether this clone has the delivery, and the record already, or as what may come next. */
const relationOf = (record: DeliveryRecord, ledger: Ledger | undefined, unfit: readonly string[]): string => {
  if (ledger === undefined) return 'absent'
  if (isRecorded(record, ledger)) return 'recorded'
  return unfit.length === 0 ? 'next' : 'unfit'
}

const quote = (value: string): string => JSON.stringify(escapeText(value))

const readRecord = async (context: Context, call: Call, file: string, shown: string): Promise<Buffer> => {
  if (file === '-') {
    const bytes = await call.stdin()
    if (bytes.length <= DELIVERY_RECORD_LIMIT_BYTES) return bytes
    throw new Refusal('delivery_invalid', {
      where: shown,
      problem: `it is larger than ${DELIVERY_RECORD_LIMIT_BYTES} bytes`,
    })
  }
  let bytes: Buffer | undefined
  let reason = 'there is no such file'
  try {
    bytes = await readRegularFile(resolve(context.cwd, file), DELIVERY_RECORD_LIMIT_BYTES)
  } catch (error) {
    reason = reasonOf(error)
  }
  if (bytes) return bytes
  throw new Refusal('store_unreadable', { path: shown, reason })
}

/** The delivery that the record is of, where this clone has it. */
const ledgerOf = async (repository: Repository, name: string): Promise<Ledger | undefined> => {
  const tip = (await listDeliveries(repository)).get(name)
  return tip === undefined ? undefined : readLedger(repository, name, tip)
}

/** In the order in which they are said. */
const BOUND = ['repository', 'commit', 'run', 'attempt', 'corpus'] as const

/** What was typed; else what the delivery is now. A delivery without a corpus revision expects none. */
const expectationsOf = async (
  repository: Repository,
  record: DeliveryRecord,
  ledger: Ledger | undefined,
  flags: Flags,
): Promise<readonly Expectation[]> => {
  const commit = text(flags['commit'])
  const known: Readonly<Record<string, string | undefined>> = ledger
    ? {
        repository: ledger.records.at(-1)?.repository,
        commit: ledger.standing.sourceCommit,
        corpus: ledger.standing.corpusRevision ?? 'none',
      }
    : {}
  if (commit === undefined && known['commit'] === undefined) {
    throw usage(`verify needs --commit, since delivery ${record.delivery} is not known here`, EXAMPLE)
  }
  const typed: Readonly<Record<string, string | undefined>> = {
    repository: text(flags['repository']),
    commit: commit === undefined ? undefined : await fullCommit(repository, commit),
    run: text(flags['run']),
    attempt: text(flags['attempt']),
    corpus: text(flags['corpus']),
  }
  const found: Readonly<Record<string, string | undefined>> = {
    repository: record.repository,
    commit: record.sourceCommit,
    run: record.run?.id,
    attempt: record.run && String(record.run.attempt),
    corpus: record.corpusRevision ?? (typed['corpus'] === undefined ? 'none' : undefined),
  }
  return BOUND.flatMap((what): readonly Expectation[] => {
    const [own, expected] = [typed[what], typed[what] ?? known[what]]
    return expected === undefined
      ? []
      : [{ what, expected, found: found[what], by: own === undefined ? 'ledger' : 'flag' }]
  })
}

/** A commit that is typed in full need not be in this clone. */
const fullCommit = async (repository: Repository, typed: string): Promise<string> => {
  if (isOid(repository, typed)) return typed
  const commit = typed.startsWith('-') ? undefined : await resolveCommit(repository, typed)
  if (commit !== undefined) return commit
  throw new Refusal('invalid_value', {
    what: '--commit',
    expected: 'a commit of this repository, or a full object id',
    found: typed,
    next: 'git log --oneline',
  })
}

/** What a record of CP7 is by itself, wherever it is read. */
const shapeProblems = (record: DeliveryRecord): readonly string[] => {
  const stage = stageOf('CP7')
  if (record.checkpoint !== 'CP7') return [`it is a record of ${record.checkpoint ?? record.state}, not of CP7`]
  const problems: string[] = []
  if (record.state !== stage.to) problems.push(`its state is ${record.state}, not ${stage.to}`)
  for (const { name, statement } of stage.parts) {
    const own = record.evidence.filter(({ part }) => part === name)
    if (own.length === 0) problems.push(`it lacks ${name}`)
    else if (!statement && own.some(({ kind }) => kind === 'statement')) {
      problems.push(`its ${name} is a statement, and needs a hash or an object id`)
    }
  }
  if (record.blockers.length > 0) problems.push(`something blocks it: ${quote(record.blockers[0] ?? '')}`)
  return problems
}

const isRecorded = (record: DeliveryRecord, { records }: Ledger): boolean =>
  records.some(one => one.generation === record.generation && recordId(one) === recordId(record))

/** Either a generation of the delivery as it is here, or the one that may come next. */
const fitProblems = (record: DeliveryRecord, ledger: Ledger): readonly string[] => {
  if (isRecorded(record, ledger)) return []
  const { standing, records, name } = ledger
  const newest = records.at(-1)
  if (record.generation <= standing.generation) {
    return [`generation ${record.generation} of ${name} is another record here`]
  }
  if (record.generation !== standing.generation + 1) {
    return [`it is generation ${record.generation}, and ${name} is at generation ${standing.generation} here`]
  }
  if (newest && record.previous !== recordId(newest)) {
    return [`it follows another record than generation ${standing.generation} of ${name} here`]
  }
  const next = advance(standing, record)
  return 'problem' in next ? [next.problem] : []
}
