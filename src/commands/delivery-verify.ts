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
  /** `undefined` when the record must say nothing of it. */
  readonly expected: string | undefined
  /** `undefined` when it says nothing. */
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
  const shape = shapeProblems(record)
  const unfit = ledger ? fitProblems(record, ledger, shape.length > 0) : []
  const mismatches = [
    ...shape,
    ...expectations.flatMap(({ what, expected, found }) =>
      found === expected ? [] : [`its ${what} is ${said(found)}, not ${said(expected)}`],
    ),
    ...unfit,
  ]
  const data = {
    action: 'verify',
    file: shown,
    record: recordId(record),
    checks: expectations
      .filter(({ expected, found }) => expected === found)
      .map(({ what, expected, by }) => ({ what, value: escapeText(expected ?? 'none'), by })),
    unchecked: BOUND.filter(what => !expectations.some(one => one.what === what)),
    ledger: relationOf(record, ledger, [...shape, ...unfit]),
  }
  if (mismatches.length > 0) throw new Refusal('record_mismatch', { file: shown, mismatches }, { data })
  return { ok: true, verb: VERB, data }
}

/** Whether this clone has the delivery, and the record already, or as what may come next. */
const relationOf = (record: DeliveryRecord, ledger: Ledger | undefined, problems: readonly string[]): string => {
  if (ledger === undefined) return 'absent'
  if (isRecorded(record, ledger)) return 'recorded'
  return problems.length === 0 ? 'next' : 'unfit'
}

const said = (value: string | undefined): string => (value === undefined ? 'none' : quote(value))

const quote = (value: string): string => escapeText(JSON.stringify(value))

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

type Binding = Readonly<Partial<Record<(typeof BOUND)[number], string | undefined>>>

/** What was typed; else what the delivery is now. A delivery without a corpus revision expects none. */
const expectationsOf = async (
  repository: Repository,
  record: DeliveryRecord,
  ledger: Ledger | undefined,
  flags: Flags,
): Promise<readonly Expectation[]> => {
  const commit = text(flags['commit'])
  if (commit === undefined && !ledger) {
    throw usage(`verify needs --commit, since delivery ${record.delivery} is not known here`, EXAMPLE)
  }
  const known: Binding = ledger
    ? {
        repository: ledger.records.at(-1)?.repository,
        commit: ledger.standing.sourceCommit,
        corpus: ledger.standing.corpusRevision,
      }
    : {}
  const typed: Binding = {
    repository: text(flags['repository']),
    commit: commit === undefined ? undefined : await fullCommit(repository, commit),
    run: text(flags['run']),
    attempt: text(flags['attempt']),
    corpus: text(flags['corpus']),
  }
  const found: Binding = {
    repository: record.repository,
    commit: record.sourceCommit,
    run: record.run?.id,
    attempt: record.run && String(record.run.attempt),
    corpus: record.corpusRevision,
  }
  return BOUND.flatMap((what): readonly Expectation[] => {
    if (typed[what] !== undefined) return [{ what, expected: typed[what], found: found[what], by: 'flag' }]
    return Object.hasOwn(known, what) ? [{ what, expected: known[what], found: found[what], by: 'ledger' }] : []
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
const fitProblems = (record: DeliveryRecord, ledger: Ledger, broken: boolean): readonly string[] => {
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
  // What is wrong with it by itself was said already.
  if (broken) return []
  const next = advance(standing, record)
  return 'problem' in next ? [escapeText(next.problem)] : []
}
