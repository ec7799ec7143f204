/** `git discern delivery record <CPn>`: the exit evidence of a stage as a record (facts 15). */
import { resolve } from 'node:path'
import type { Context } from '../context.ts'
import { parseEvidence, parseValue, type Typed } from '../delivery/evidence.ts'
import type { Ledger } from '../delivery/ledger.ts'
import { type DeliveryRecord, type Evidence, parseRecord, recordId } from '../delivery/record.ts'
import { type CheckpointId, STAGES, type Stage } from '../delivery/stage.ts'
import { advance, stageProblem } from '../delivery/standing.ts'
import { Refusal, reasonOf } from '../errors.ts'
import { displayPath } from '../git/path.ts'
import { worktreeState } from '../git/worktrees.ts'
import { DELIVERY_RECORD_LIMIT_BYTES } from '../limits.ts'
import { isCi } from '../logbook/driver.ts'
import { abbreviate } from '../proof/envelope.ts'
import type { Result } from '../result.ts'
import { readRegularFile } from '../store/file.ts'
import {
  changedPathsEvidence,
  fileEvidence,
  gatesOf,
  lookUp,
  type NotedProof,
  readNotedProof,
} from './delivery-evidence.ts'
import { openPlace, type Place } from './delivery-place.ts'
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

export const record = async (context: Context, operands: readonly string[], flags: Flags): Promise<Result> => {
  const [typed, name, ...more] = operands
  const stage = STAGES.find(({ id }) => id === typed?.toUpperCase())
  if (!stage || more.length > 0) {
    const found = typed === undefined ? '' : `, found ${typed}`
    throw usage(`record needs one of ${STAGES.map(({ id }) => id).join(', ')}${found}`, 'record <CPn> [<name>]')
  }
  const place = await openPlace(context)
  const ledger = await freshLedger(context, place, name)
  requireExpected(ledger, flags)
  const file = text(flags['file'])
  if (file !== undefined) return append(context, place, ledger, await recordFromFile(context, ledger, stage, file))
  const { standing } = ledger
  // Before anything is looked up: what cannot be recorded now needs no evidence.
  const illegal = stageProblem(standing, stage)
  if (illegal) {
    throw new Refusal('delivery_illegal', { ...illegal, next: `git discern delivery status ${ledger.name}` })
  }
  const commit =
    flags['commit'] === undefined
      ? standing.sourceCommit
      : await requireCommit(place, text(flags['commit']), '--commit')
  const proof = await readNotedProof(place.worktree, commit)
  const template = place.settings.templates.get(stage.id)
  const rollback = text(flags['rollback']) ?? template?.rollback
  if (rollback === undefined) {
    throw usage(
      `${stage.id} needs --rollback: how is it taken back?`,
      `record ${stage.id} ${ledger.name} --rollback "<how>"`,
    )
  }
  const typedEvidence = withTemplate(stage, list(flags['evidence']), template?.evidence ?? new Map())
  const found = await lookUp(context, { repository: place.worktree, commit, proof }, typedEvidence)
  const own = await OWN_EVIDENCE[stage.id]?.({ context, place, ledger, stage, flags, commit, proof })
  const given = new Set(found.evidence.map(({ part }) => part))
  const evidence = [
    ...found.evidence,
    ...(own?.always ?? []),
    ...(own?.otherwise ?? []).filter(({ part }) => !given.has(part)),
  ]
  const gateIds = [...new Set([...list(flags['gate']), ...found.gateIds])]
  requireGates(place, stage, gateIds)
  const made = draw(context, place, ledger.name, ledger, {
    checkpoint: stage.id,
    state: stage.to,
    sourceCommit: commit,
    ...corpusOf(text(flags['corpus']) ?? standing.corpusRevision),
    gateIds,
    evidence,
    blockers: list(flags['blocker']),
    rollback,
    ...(stage.id === 'CP6' ? { acceptedBy: await requireOwner(context, place, ledger, flags) } : {}),
    ...runOf(flags),
  })
  return append(context, place, ledger, made)
}

/** What was typed, and for every other part what the template of the trunk says. */
const withTemplate = (
  stage: Stage,
  typed: readonly string[],
  template: ReadonlyMap<string, string>,
): readonly Typed[] => {
  const own = typed.map(one => parseEvidence(stage, one))
  const given = new Set(own.map(({ part }) => part))
  const rest = stage.parts.flatMap(({ name, statement }) => {
    const value = template.get(name)
    return value === undefined || given.has(name) ? [] : [parseValue(name, statement === true, value)]
  })
  return [...own, ...rest]
}

/** The gates that the trunk asks of a stage. */
const requireGates = ({ settings }: Place, stage: Stage, gateIds: readonly string[]): void => {
  const missing = (settings.gates.get(stage.id) ?? []).filter(id => !gateIds.includes(id))
  if (missing.length === 0) return
  throw new Refusal('delivery_illegal', {
    problem: `${stage.id} needs the gates ${missing.join(', ')}, which no evidence names`,
    next: `git discern delivery record ${stage.id} --evidence <part>=gate:<job>, or --gate <id> for one that ran elsewhere`,
  })
}

interface OwnInput {
  readonly context: Context
  readonly place: Place
  readonly ledger: Ledger
  readonly stage: Stage
  readonly flags: Flags
  readonly commit: string
  readonly proof: NotedProof | undefined
}

/** Evidence that is computed here: what stands in any case, and what stands for parts that nothing was typed for. */
type OwnEvidence = (
  input: OwnInput,
) => Promise<{ readonly always?: readonly Evidence[]; readonly otherwise?: readonly Evidence[] }>

const OWN_EVIDENCE: Readonly<Partial<Record<CheckpointId, OwnEvidence>>> = {
  CP2: async ({ place, ledger, commit, proof }) => {
    const tests = proof ? [noteEvidence('package-tests', proof)] : []
    const base = proof?.payload.proof.completion.candidate.predecessor ?? ledger.records[0]?.sourceCommit
    // A delivery that began at its own source says nothing of what changed.
    if (base === undefined || base === commit) return { otherwise: tests }
    return { otherwise: [await changedPathsEvidence(place.worktree, 'changed-paths', base, commit), ...tests] }
  },
  CP5: async ({ context, place, flags, commit }) => {
    const state = await worktreeState(place.worktree)
    const dirty = [...state.tracked, ...state.untracked]
    if (dirty.length > 0) throw new Refusal('dirty_worktree', { paths: dirty.map(displayPath) })
    if (state.head !== commit) {
      throw new Refusal('delivery_illegal', {
        problem: `a candidate is sealed from a clean checkout of its own commit, ${abbreviate(commit)}; ${abbreviate(state.head ?? '')} is checked out`,
        next: `git switch --detach ${abbreviate(commit)}`,
      })
    }
    const artifacts: Evidence[] = []
    for (const path of list(flags['artifact'])) artifacts.push(await fileEvidence(context, 'artifacts', path))
    return { always: [{ part: 'clean-commit', kind: 'git', oid: commit, name: 'clean checkout' }, ...artifacts] }
  },
  CP6: async ({ ledger, proof }) => {
    const variances = proof?.payload.acceptance?.variances ?? []
    const sealed = ledger.standing.valid.get('CP5')
    return {
      always: variances.map(({ checkpoint, why }) => ({
        part: 'exceptions',
        kind: 'statement',
        text: `variance for ${checkpoint}, declared unmet: ${why}`,
      })),
      otherwise: [
        ...(variances.length === 0 ? [{ part: 'exceptions', kind: 'statement', text: 'none' } as const] : []),
        ...(sealed
          ? [{ part: 'references', kind: 'digest', sha256: recordId(sealed).slice(7), name: 'record of CP5' } as const]
          : []),
      ],
    }
  },
}

const noteEvidence = (part: string, proof: NotedProof): Evidence => ({
  part,
  kind: 'git',
  oid: proof.blob,
  name: `Proof note, ${gatesOf(proof).join(', ')}`,
})

/** Who says yes to a candidate: the owner in this conversation, at this terminal, or an environment that the trunk protects. */
const requireOwner = async (
  context: Context,
  { settings }: Place,
  { name, standing }: Ledger,
  flags: Flags,
): Promise<NonNullable<DeliveryRecord['acceptedBy']>> => {
  if (flags['confirmed'] === true) return 'conversation'
  const environment = context.env['DISCERN_ENVIRONMENT']
  const named = environment !== undefined && settings.protectedEnvironments.includes(environment)
  if (named && isCi(context)) return 'protected-environment'
  const question = `accept delivery ${name}, generation ${standing.generation}, commit ${abbreviate(standing.sourceCommit)}?`
  if (await context.confirm?.(question)) return 'terminal'
  throw new Refusal('awaiting_confirmation', {
    deed: `CP6 records that the accountable owner of ${name} accepted ${abbreviate(standing.sourceCommit)}`,
    command: `git discern delivery record CP6 ${name} --confirmed`,
  })
}

/** A record that was made elsewhere, such as the artifact of an observation: appended as it is, or refused. */
const recordFromFile = async (
  context: Context,
  ledger: Ledger,
  stage: Stage,
  typed: string,
): Promise<DeliveryRecord> => {
  let bytes: Buffer | undefined
  try {
    bytes = await readRegularFile(resolve(context.cwd, typed), DELIVERY_RECORD_LIMIT_BYTES)
  } catch (error) {
    throw new Refusal('store_unreadable', { path: typed, reason: reasonOf(error) })
  }
  if (bytes === undefined) throw new Refusal('store_unreadable', { path: typed, reason: 'there is no such file' })
  const made = parseRecord(bytes, typed)
  const newest = ledger.records.at(-1)
  const problem =
    made.delivery !== ledger.name
      ? `it is of delivery ${made.delivery}, not of ${ledger.name}`
      : made.checkpoint !== stage.id
        ? `it is a record of ${made.checkpoint ?? made.state}, not of ${stage.id}`
        : made.repository !== newest?.repository
          ? `it is of ${made.repository}, not of ${newest?.repository ?? ''}`
          : made.previous !== (newest ? recordId(newest) : null)
            ? 'it follows another record than the newest one here'
            : undefined
  if (problem !== undefined) throw new Refusal('delivery_invalid', { where: typed, problem })
  const next = advance(ledger.standing, made)
  if ('problem' in next) {
    throw new Refusal('delivery_illegal', { problem: next.problem, next: `git discern delivery status ${ledger.name}` })
  }
  return made
}
