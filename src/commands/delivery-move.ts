/** `git discern delivery start|source|move|promote`: generations that no stage makes (facts 15). */
import type { Context } from '../context.ts'
import { listDeliveries } from '../delivery/ledger.ts'
import { PROMOTION, STATES } from '../delivery/stage.ts'
import { legalMoves, stateWithSource } from '../delivery/standing.ts'
import { wireDeliveries } from '../delivery/travel.ts'
import { Refusal } from '../errors.ts'
import { abbreviate } from '../proof/envelope.ts'
import type { Result } from '../result.ts'
import { openPlace, requireName, VERB } from './delivery-place.ts'
import { standingData } from './delivery-status.ts'
import {
  append,
  corpusOf,
  draw,
  type Flags,
  freshLedger,
  list,
  requireCommit,
  requireExpected,
  runOf,
  text,
  usage,
} from './delivery-write.ts'

export const start = async (context: Context, [name, ...more]: readonly string[], flags: Flags): Promise<Result> => {
  if (name === undefined || more.length > 0) throw usage('start needs one name', 'start <name>')
  const place = await openPlace(context)
  requireName(name)
  if ((await listDeliveries(place.worktree)).has(name)) {
    throw new Refusal('delivery_illegal', {
      problem: `delivery ${name} was started already`,
      next: `git discern delivery status ${name}`,
    })
  }
  const record = draw(context, place, name, undefined, {
    checkpoint: null,
    state: 'DISCOVERED',
    sourceCommit: await requireCommit(place, text(flags['commit']), '--commit'),
    ...corpusOf(text(flags['corpus'])),
    rollback: text(flags['rollback']) ?? 'nothing was changed yet',
  })
  await wireDeliveries(place.worktree, place.entries)
  return append(context, place, undefined, record)
}

export const source = async (context: Context, operands: readonly string[], flags: Flags): Promise<Result> => {
  const [revision, name, ...more] = operands
  if (revision === undefined || more.length > 0) throw usage('source needs a commit', 'source <commit> [<name>]')
  const place = await openPlace(context)
  const ledger = await freshLedger(context, place, name)
  requireExpected(ledger, flags)
  const { standing } = ledger
  const commit = await requireCommit(place, revision, 'the source commit')
  const revisionOfCorpus = text(flags['corpus']) ?? standing.corpusRevision
  if (commit === standing.sourceCommit && revisionOfCorpus === standing.corpusRevision) {
    return { ok: true, verb: VERB, data: { action: 'unchanged', ...standingData(ledger) } }
  }
  const record = draw(context, place, ledger.name, ledger, {
    checkpoint: null,
    state: stateWithSource(standing),
    sourceCommit: commit,
    ...corpusOf(revisionOfCorpus),
    rollback: text(flags['rollback']) ?? `git discern delivery source ${abbreviate(standing.sourceCommit)}`,
    reason: text(flags['reason']) ?? 'the source changed',
  })
  return append(context, place, ledger, record)
}

export const move = async (context: Context, operands: readonly string[], flags: Flags): Promise<Result> => {
  const [typed, name, ...more] = operands
  const to = STATES.find(state => state === typed?.toUpperCase().replaceAll('-', '_'))
  if (to === undefined || more.length > 0) {
    throw usage(
      `move needs one of ${STATES.join(', ')}${typed === undefined ? '' : `, found ${typed}`}`,
      'move <state> --reason <reason>',
    )
  }
  if (to === PROMOTION.to) {
    throw usage(`only a promotion leads to ${to}`, 'promote [<name>] --generation <n> --commit <commit>')
  }
  const place = await openPlace(context)
  const ledger = await freshLedger(context, place, name)
  requireExpected(ledger, flags)
  const reason = text(flags['reason'])
  const blockers = list(flags['blocker'])
  const { sourceCommit, corpusRevision } = ledger.standing
  const record = draw(context, place, ledger.name, ledger, {
    checkpoint: null,
    state: to,
    sourceCommit,
    ...corpusOf(corpusRevision),
    rollback: text(flags['rollback']) ?? 'a move changes no file and no release',
    ...(reason === undefined ? {} : { reason }),
    blockers: to === 'BLOCKED' && blockers.length === 0 && reason !== undefined ? [reason] : blockers,
  })
  return append(context, place, ledger, record)
}

/** HUMAN_ACCEPTED to RELEASED, only at the generation and for the commit that the caller looked at (facts 15). */
export const promote = async (context: Context, [name, ...more]: readonly string[], flags: Flags): Promise<Result> => {
  const example = 'promote [<name>] --generation <n> --commit <commit>'
  if (more.length > 0) throw usage('promote takes one name', example)
  const generation = text(flags['generation'])
  const typed = text(flags['commit'])
  if (generation === undefined || typed === undefined) {
    throw usage('a promotion names the generation and the commit that were looked at', example)
  }
  const place = await openPlace(context)
  const ledger = await freshLedger(context, place, name)
  requireExpected(ledger, flags)
  const commit = await requireCommit(place, typed, '--commit')
  const { standing } = ledger
  const accepted = standing.valid.get('CP6')?.sourceCommit
  if (commit !== (accepted ?? standing.sourceCommit)) {
    throw new Refusal('promotion_lost', {
      name: ledger.name,
      expected: { generation: Number(generation), commit: abbreviate(commit) },
      found: { generation: standing.generation, commit: abbreviate(accepted ?? standing.sourceCommit) },
    })
  }
  if (standing.state !== PROMOTION.from) {
    throw new Refusal('delivery_illegal', {
      problem: `only what is ${PROMOTION.from} is promoted, and ${ledger.name} is ${standing.state}: ${legalMoves(standing)}`,
      next: `git discern delivery status ${ledger.name}`,
    })
  }
  const record = draw(context, place, ledger.name, ledger, {
    checkpoint: null,
    state: PROMOTION.to,
    sourceCommit: commit,
    ...corpusOf(standing.corpusRevision),
    rollback: text(flags['rollback']) ?? standing.valid.get('CP5')?.rollback ?? 'git discern delivery move ROLLED_BACK',
    ...runOf(flags),
  })
  return append(context, place, ledger, record)
}
