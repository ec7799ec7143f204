/** What every verb that adds a generation to a delivery shares: a fresh ledger, a legal record, one compare-and-swap (facts 15). */
import type { Context } from '../context.ts'
import { appendRecord, type Ledger, listDeliveries, readLedger } from '../delivery/ledger.ts'
import { type DeliveryRecord, RECORD_SCHEMA, recordId } from '../delivery/record.ts'
import { stageOf } from '../delivery/stage.ts'
import { nextAfter, type Standing } from '../delivery/standing.ts'
import { adopt, wireDeliveries } from '../delivery/travel.ts'
import { Refusal } from '../errors.ts'
import { quoted } from '../escape.ts'
import { remoteNames } from '../git/config.ts'
import { resolveCommit } from '../git/refs.ts'
import { abbreviate } from '../proof/envelope.ts'
import type { Result } from '../result.ts'
import type { Call } from './call.ts'
import { type Place, requireLedger, VERB } from './delivery-place.ts'
import { standingData } from './delivery-status.ts'

export type Flags = Call['flags']

export const list = (value: Flags[string]): readonly string[] => (Array.isArray(value) ? value : [])
export const text = (value: Flags[string]): string | undefined => (typeof value === 'string' ? value : undefined)

export const usage = (problem: string, example: string): Refusal =>
  new Refusal('invalid_arguments', { problem: `${VERB}: ${problem}`, usage: `git discern ${VERB} ${example}` })

/** A commit as it is typed; the one that is checked out without. */
export const requireCommit = async ({ worktree }: Place, typed: string | undefined, what: string): Promise<string> => {
  const revision = typed ?? 'HEAD'
  const commit = revision.startsWith('-') ? undefined : await resolveCommit(worktree, revision)
  if (commit !== undefined) return commit
  throw new Refusal('invalid_value', {
    what,
    expected: 'a commit of this repository',
    found: revision,
    next: 'git log --oneline',
  })
}

/** The part of a record that its maker fills in. */
type Draft = Pick<DeliveryRecord, 'checkpoint' | 'state' | 'sourceCommit' | 'rollback'> &
  Partial<
    Pick<DeliveryRecord, 'corpusRevision' | 'gateIds' | 'evidence' | 'blockers' | 'reason' | 'acceptedBy' | 'run'>
  >

/** The record that follows a ledger; refuses with `delivery_illegal` and the legal moves when no rule allows it. */
export const draw = (
  context: Context,
  { identity }: Place,
  name: string,
  ledger: Ledger | undefined,
  draft: Draft,
): DeliveryRecord => {
  const newest = ledger?.records.at(-1)
  const record: DeliveryRecord = {
    schema: RECORD_SCHEMA,
    delivery: name,
    repository: newest?.repository ?? identity,
    generation: (ledger?.standing.generation ?? 0) + 1,
    previous: newest ? recordId(newest) : null,
    gateIds: [],
    evidence: [],
    blockers: [],
    ...draft,
    next: { checkpoints: [], states: [] },
    observedAt: context.now().toISOString(),
  }
  const next = nextAfter(ledger?.standing, record)
  if ('problem' in next) {
    const stage = record.checkpoint === null ? undefined : stageOf(record.checkpoint)
    const lacking = stage?.parts.filter(part => !record.evidence.some(one => one.part === part.name)) ?? []
    const again = lacking
      .map(part => `--evidence ${part.name}=${part.statement ? '"<sentence>"' : 'file:<path>'}`)
      .join(' ')
    throw new Refusal('delivery_illegal', {
      problem: next.problem,
      next:
        stage?.from === ledger?.standing.state && lacking.length > 0
          ? `git discern delivery record ${record.checkpoint} ${name} ${again}`
          : `git discern delivery status ${name}`,
    })
  }
  return { ...record, next }
}

/** Appends by compare-and-swap; whoever was overtaken is told by whom, and changes nothing. */
export const append = async (
  context: Context,
  place: Place,
  ledger: Ledger | undefined,
  record: DeliveryRecord,
): Promise<Result> => {
  const written = await appendRecord(context, place.worktree, ledger, record)
  const tip = (await listDeliveries(place.worktree)).get(record.delivery)
  if ('lost' in written) {
    if (tip === undefined) throw new Refusal('precondition_failed', { problem: written.lost, next: 'git status' })
    throw lost(record, await readLedger(place.worktree, record.delivery, tip), ledger?.standing)
  }
  const now = await readLedger(place.worktree, record.delivery, written.commit)
  return {
    ok: true,
    verb: VERB,
    data: {
      action: record.checkpoint === null ? 'moved' : 'recorded',
      commit: written.commit,
      record: recordId(record),
      ...standingData(now),
    },
    hints: pushHints(place, record.delivery),
  }
}

/** Nothing is ever pushed by us. */
export const pushHints = ({ entries, trunk }: Place, name: string): readonly string[] => {
  const remotes = remoteNames(entries)
  const remote = trunk.remote ?? (remotes.includes('origin') ? 'origin' : remotes[0])
  return remote === undefined ? [] : [`git push ${quoted(remote)} refs/discern/delivery/${name}`]
}

const lost = (record: DeliveryRecord, { standing }: Ledger, expected: Standing | undefined): Refusal =>
  new Refusal('promotion_lost', {
    name: record.delivery,
    expected: {
      generation: expected?.generation ?? 0,
      commit: abbreviate(expected?.sourceCommit ?? record.sourceCommit),
    },
    found: { generation: standing.generation, commit: abbreviate(standing.sourceCommit) },
  })

/** The ledger as it is here and at the remotes that were fetched; refuses while two sides contradict each other. */
export const freshLedger = async (context: Context, place: Place, name: string | undefined): Promise<Ledger> => {
  const chosen = name ?? (await requireLedger(place, undefined).catch(() => undefined))?.name
  if (chosen !== undefined) {
    const adopted = await adopt(context, place.worktree, place.entries, chosen)
    if ('conflict' in adopted) throw new Refusal('delivery_conflict', { name: chosen, ...adopted.conflict })
  }
  const ledger = await requireLedger(place, name)
  // One that was brought here by hand comes with every fetch from now on.
  await wireDeliveries(place.worktree, place.entries)
  return ledger
}

/** The generation that the caller looked at, where it was said. */
export const requireExpected = (ledger: Ledger, flags: Flags): void => {
  const expected = text(flags['generation'])
  if (expected === undefined) return
  if (!/^[1-9]\d{0,8}$/.test(expected)) throw usage(`--generation needs a number from 1, found ${expected}`, 'status')
  const { generation, sourceCommit } = ledger.standing
  if (Number(expected) === generation) return
  throw new Refusal('promotion_lost', {
    name: ledger.name,
    expected: { generation: Number(expected), commit: text(flags['commit']) ?? abbreviate(sourceCommit) },
    found: { generation, commit: abbreviate(sourceCommit) },
  })
}

export const corpusOf = (revision: string | undefined): { readonly corpusRevision?: string } =>
  revision === undefined ? {} : { corpusRevision: revision }

export const runOf = (flags: Flags): { readonly run?: { readonly id: string; readonly attempt: number } } => {
  const [id, attempt] = [text(flags['run']), text(flags['attempt'])]
  if (id === undefined && attempt === undefined) return {}
  if (id === undefined || attempt === undefined || !/^[1-9]\d{0,5}$/.test(attempt)) {
    throw usage(
      '--run and --attempt belong together; an attempt is a number from 1',
      'record <CPn> --run <id> --attempt <n>',
    )
  }
  return { run: { id, attempt: Number(attempt) } }
}
