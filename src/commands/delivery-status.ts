/** `git discern delivery status`: where each delivery stands, what is missing, what no longer counts (facts 15). Writes nothing. */
import type { Context } from '../context.ts'
import { type Ledger, listDeliveries, readLedger } from '../delivery/ledger.ts'
import type { DeliveryRecord } from '../delivery/record.ts'
import { recordId } from '../delivery/record.ts'
import { STAGES } from '../delivery/stage.ts'
import { compare } from '../delivery/travel.ts'
import { Refusal, refusalOf } from '../errors.ts'
import { isAncestor } from '../git/refs.ts'
import type { Result } from '../result.ts'
import type { Call } from './call.ts'
import { openPlace, type Place, requireLedger, VERB } from './delivery-place.ts'

/** What every answer says of a ledger. */
export const standingData = ({ name, records, standing }: Ledger): Readonly<Record<string, unknown>> => ({
  delivery: name,
  repository: records.at(-1)?.repository,
  state: standing.state,
  generation: standing.generation,
  source_commit: standing.sourceCommit,
  ...(standing.corpusRevision === undefined ? {} : { corpus_revision: standing.corpusRevision }),
  stages: STAGES.map(({ id, title, parts }) => {
    const record = standing.valid.get(id)
    const gone = standing.invalidated.find(({ checkpoint }) => checkpoint === id)
    return {
      checkpoint: id,
      title,
      status: record ? 'valid' : gone ? 'invalidated' : 'missing',
      ...(record ? recordData(record) : {}),
      ...(gone ? { was: gone.generation, by: gone.by } : {}),
      ...(record ? {} : { needs: parts.map(part => part.name) }),
    }
  }),
  blockers: standing.blockers,
  next: standing.next,
})

const recordData = (record: DeliveryRecord): Readonly<Record<string, unknown>> => ({
  generation: record.generation,
  record: recordId(record),
  source_commit: record.sourceCommit,
  gate_ids: record.gateIds,
  evidence: record.evidence,
  rollback: record.rollback,
  ...(record.acceptedBy === undefined ? {} : { accepted_by: record.acceptedBy }),
})

export const status = async (
  context: Context,
  [name, ...more]: readonly string[],
  flags: Call['flags'],
): Promise<Result> => {
  if (more.length > 0) {
    throw new Refusal('invalid_arguments', {
      problem: `${VERB}: status takes one name`,
      usage: `git discern ${VERB} status [<name>]`,
    })
  }
  const place = await openPlace(context)
  const { worktree } = place
  const all = await listDeliveries(worktree)
  const names = name === undefined ? [...all.keys()] : [name]
  const ledgers: Readonly<Record<string, unknown>>[] = []
  if (name !== undefined && !all.has(name) && (await compare(worktree, place.entries, name)).length === 0) {
    await requireLedger(place, name)
  }
  for (const one of names) ledgers.push(await look(place, one, all.get(one), names.length > 1, flags['all'] === true))
  return { ok: true, verb: VERB, data: { action: 'status', deliveries: ledgers } }
}

/** One delivery; of several, one that cannot be trusted is said beside the others. */
const look = async (
  place: Place,
  name: string,
  tip: string | undefined,
  several: boolean,
  whole: boolean,
): Promise<Readonly<Record<string, unknown>>> => {
  const remotes = await compare(place.worktree, place.entries, name)
  if (tip === undefined) return { delivery: name, remotes }
  try {
    const ledger = await readLedger(place.worktree, name, tip)
    return {
      ...standingData(ledger),
      ...(await trunkMoved(place, ledger)),
      remotes,
      ...(whole ? { history: ledger.records.map(historyData) } : {}),
    }
  } catch (error) {
    const refusal = refusalOf(error)
    if (!several || !refusal) throw error
    return { delivery: name, remotes, problem: refusal.message }
  }
}

const historyData = (record: DeliveryRecord): Readonly<Record<string, unknown>> => ({
  ...recordData(record),
  checkpoint: record.checkpoint,
  state: record.state,
  ...(record.corpusRevision === undefined ? {} : { corpus_revision: record.corpusRevision }),
  ...(record.reason === undefined ? {} : { reason: record.reason }),
  ...(record.run === undefined ? {} : { run: record.run }),
  blockers: record.blockers,
  observed_at: record.observedAt,
})

/** Commits of the trunk that the delivery does not have: it goes on without them until its source is changed. */
const trunkMoved = async ({ worktree, trunk, trunkTip }: Place, { standing }: Ledger): Promise<object> => {
  if (trunkTip === undefined || trunkTip === standing.sourceCommit) return {}
  if ((await isAncestor(worktree, standing.sourceCommit, trunkTip)) !== true) return {}
  return { trunk: { name: trunk.name, tip: trunkTip } }
}
