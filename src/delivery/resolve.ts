/**
 * Decides between two sides of a delivery that went on from one generation (design 4.10). Nothing is rewritten and nothing is
 * lost: the decision is one more generation, after the side that is kept and with the other as its second parent, so that a plain
 * push brings it to a remote that holds either side, and a plain fetch to a clone that does.
 */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import type { ConfigEntry } from '../git/config.ts'
import type { Repository } from '../git/repository.ts'
import { type Conflict, compareWith, contended, readOurs } from './compare.ts'
import { droppedPromotion } from './history.ts'
import { commitRecord, type Ledger, listDeliveries } from './ledger.ts'
import { trackedDeliveries } from './mapping.ts'
import { type DeliveryRecord, RECORD_SCHEMA, recordId } from './record.ts'
import { nextAfter } from './standing.ts'

export interface Resolution {
  /** Where the delivery is now. */
  readonly commit: string
  /** What was decided, one for each conflict that was meant; none when there was no such conflict. */
  readonly decided: readonly (Conflict & { readonly commit: string })[]
  /** Conflicts with remotes that this decision says nothing about. */
  readonly conflicts: readonly Conflict[]
}

/**
 * `local` keeps our side against every remote that went on apart; the name of a remote keeps its side against ours. A remote called
 * `local` cannot be named. The same decision made twice, in two clones, is the same commit. Refuses with `delivery_unknown` when
 * there is nothing of this name here, `delivery_invalid` when a side that is meant cannot be trusted, `invalid_value` when the remote
 * is not known to have it, `delivery_illegal` when the side that would go was promoted, `precondition_failed` when others move the
 * delivery at the same time. Two git processes, and five for each decision.
 */
export const resolve = async (
  context: Context,
  repository: Repository,
  entries: readonly ConfigEntry[],
  name: string,
  keep: string,
): Promise<Resolution> => {
  const tracked = (await trackedDeliveries(repository, entries)).get(name) ?? []
  if (keep !== 'local' && !tracked.some(({ remote }) => remote === keep)) {
    throw new Refusal('invalid_value', {
      what: '--keep',
      expected: ['local', ...tracked.map(({ remote }) => remote)].join(' or '),
      found: keep,
      next: `git discern delivery status ${name}`,
    })
  }
  const decided: Resolution['decided'][number][] = []
  const conflicts: Conflict[] = []
  let ours = await requireOurs(repository, name)
  // A remote that is kept comes first: what it decided already may settle the others.
  for (const one of [...tracked].sort((a, b) => Number(b.remote === keep) - Number(a.remote === keep))) {
    const { comparison, theirs } = await compareWith(repository, name, ours, one)
    const { remote, relation } = comparison
    const meant = keep === 'local' || keep === remote
    if (relation === 'invalid' && meant) {
      throw new Refusal('delivery_invalid', {
        where: `what ${remote} has of delivery ${name}`,
        problem: comparison.problem,
      })
    }
    if (relation !== 'diverged' || !theirs) continue
    const conflict = { remote, generation: comparison.common }
    if (!meant) {
      conflicts.push(conflict)
      continue
    }
    const commit = await decide(context, repository, ours, keep === 'local' ? [ours, theirs] : [theirs, ours])
    decided.push({ ...conflict, commit })
    ours = await requireOurs(repository, name)
  }
  return { commit: ours.tip, decided, conflicts }
}

const requireOurs = async (repository: Repository, name: string): Promise<Ledger> => {
  const ours = await readOurs(repository, name)
  if (ours) return ours
  throw new Refusal('delivery_unknown', { name, known: [...(await listDeliveries(repository)).keys()] })
}

const decide = async (
  context: Context,
  repository: Repository,
  ours: Ledger,
  [kept, other]: readonly [Ledger, Ledger],
): Promise<string> => {
  const problem = droppedPromotion(kept.history, other.history)
  if (problem !== undefined) {
    throw new Refusal('delivery_illegal', {
      problem,
      next: 'keep the side that was promoted, then git discern delivery move ROLLED_BACK --reason <why>',
    })
  }
  const record = decisionRecord(kept, other)
  const appended = await commitRecord(context, repository, record, {
    parents: [kept.tip, other.tip],
    from: ours.tip,
    time: new Date(record.observedAt),
  })
  if ('lost' in appended) throw contended(ours.name)
  return appended.commit
}

/** Made of the two sides alone, time included. */
const decisionRecord = (kept: Ledger, other: Ledger): DeliveryRecord => {
  const [ours, theirs] = [newest(kept), newest(other)]
  const draft: DeliveryRecord = {
    schema: RECORD_SCHEMA,
    delivery: kept.name,
    repository: ours.repository,
    generation: Math.max(ours.generation, theirs.generation) + 1,
    previous: recordId(ours),
    checkpoint: null,
    state: ours.state,
    sourceCommit: ours.sourceCommit,
    ...(ours.corpusRevision === undefined ? {} : { corpusRevision: ours.corpusRevision }),
    gateIds: [],
    evidence: [],
    blockers: ours.blockers,
    rollback: 'record on this side what the other one had; its records are the second parent of this one',
    next: { checkpoints: [], states: [] },
    resolves: { record: recordId(theirs), generation: theirs.generation },
    reason: `generation ${ours.generation} (${ours.state}) is kept, and generation ${theirs.generation} (${theirs.state}) beside it is not`,
    observedAt: [ours.observedAt, theirs.observedAt].sort()[1] ?? ours.observedAt,
  }
  const next = nextAfter(kept.standing, draft)
  if ('problem' in next) throw new Error(next.problem)
  return { ...draft, next }
}

const newest = ({ records }: Ledger): DeliveryRecord => {
  const record = records.at(-1)
  if (!record) throw new Error('a ledger has at least one record')
  return record
}
