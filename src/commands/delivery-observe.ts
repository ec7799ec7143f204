/**
 * `git discern delivery observe`: asks the live endpoints that the trunk names, and writes a CP7 record when every condition is
 * True (facts 15). The only command that uses the network. It changes no ref, no index and no source.
 */
import { resolve } from 'node:path'
import type { Context } from '../context.ts'
import { placeArtifact, writeArtifact } from '../delivery/artifact.ts'
import { isWish, parseEvidence, parseValue } from '../delivery/evidence.ts'
import type { Ledger } from '../delivery/ledger.ts'
import { missingRoles, type Observation, observeEndpoints, readbackEvidence } from '../delivery/observe.ts'
import { type DeliveryRecord, type Evidence, parseRecord, recordBytes, recordId } from '../delivery/record.ts'
import { PROMOTION, stageOf } from '../delivery/stage.ts'
import { Refusal, throwIfInterrupted } from '../errors.ts'
import { quoted } from '../escape.ts'
import type { Result } from '../result.ts'
import { sha256 } from '../store/digest.ts'
import { keepUserData } from '../store/user-data.ts'
import type { Call } from './call.ts'
import { lookUp, readNotedProof } from './delivery-evidence.ts'
import { openPlace, type Place, requireLedger, VERB } from './delivery-place.ts'
import { corpusOf, draw, type Flags, list, text, usage } from './delivery-write.ts'

const EXAMPLE = 'observe [<name>] --run <id> --attempt <n>'

/** What is observed is never typed. */
const OBSERVED_PART = 'readback'

/**
 * Refuses before anything is asked where no CP7 could follow: `invalid_arguments`, `invalid_value`, `delivery_illegal`,
 * `precondition_failed`. Refuses with `observation_incomplete` and every verdict when a condition is not True.
 */
export const observe = async (context: Context, call: Call, name: string | undefined): Promise<Result> => {
  const { flags, operands } = call
  if (operands.length > 2) throw usage('observe takes one name', EXAMPLE)
  const run = requireRun(flags)
  const place = await openPlace(context)
  const ledger = await requireLedger(place, name)
  requireEndpoints(place)
  const stated = await statedEvidence(context, place, ledger, flags)
  const drawn = (readback: readonly Evidence[], gateIds: readonly string[]): DeliveryRecord =>
    draw(context, place, ledger.name, ledger, {
      checkpoint: 'CP7',
      state: stageOf('CP7').to,
      sourceCommit: ledger.standing.sourceCommit,
      ...corpusOf(ledger.standing.corpusRevision),
      gateIds,
      evidence: [...stated.evidence, ...readback],
      rollback: stated.rollback,
      run,
    })
  // The same rules as for the record that there is to be: nobody is asked for one that could not follow.
  drawn([{ part: OBSERVED_PART, kind: 'digest', sha256: '0'.repeat(64) }], [])
  const output = text(flags['output'])
  const file = await placeArtifact(place.worktree, output === undefined ? undefined : resolve(context.cwd, output), run)
  const observation = await observeEndpoints({
    settings: place.settings,
    values: valuesOf(ledger),
    now: context.now,
    signal: context.signal,
    userAgent: `git-discern/${context.version}`,
  })
  throwIfInterrupted(context)
  const data = {
    action: 'observe',
    delivery: ledger.name,
    source_commit: ledger.standing.sourceCommit,
    ...(ledger.standing.corpusRevision === undefined ? {} : { corpus_revision: ledger.standing.corpusRevision }),
    run,
    conditions: observation.verdicts,
    endpoints: observation.endpoints.map(endpointData),
  }
  const log = await keepAttempt(context, place, ledger.name, data)
  const diagnosis = log === undefined ? {} : { log }
  if (!observation.complete) {
    throw new Refusal(
      'observation_incomplete',
      { conditions: failuresOf(observation) },
      { data: { ...data, ...diagnosis } },
    )
  }
  const record = drawn(
    readbackEvidence(observation),
    observation.verdicts.map(({ endpoint, name: condition }) => `${endpoint}: ${condition}`),
  )
  const bytes = recordBytes(record)
  // Whoever reads it holds it to the contract, so it is held to it before it is there.
  parseRecord(Buffer.from(bytes), 'the record of this observation')
  throwIfInterrupted(context)
  await writeArtifact(file, bytes)
  return {
    ok: true,
    verb: VERB,
    data: { ...data, ...diagnosis, file, record: recordId(record) },
    hints: [`git discern delivery record CP7 ${ledger.name} --file ${quoted(file)}`],
  }
}

const requireRun = (flags: Flags): NonNullable<DeliveryRecord['run']> => {
  const [id, attempt] = [text(flags['run']), text(flags['attempt'])]
  if (id === undefined || attempt === undefined) throw usage('observe needs --run and --attempt', EXAMPLE)
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(id)) {
    throw usage(`--run needs letters, digits, dots, dashes and underscores, found ${id}`, EXAMPLE)
  }
  if (!/^[1-9]\d{0,5}$/.test(attempt)) throw usage(`--attempt needs a number from 1, found ${attempt}`, EXAMPLE)
  return { id, attempt: Number(attempt) }
}

const requireEndpoints = ({ settings, trunk }: Place): void => {
  const missing = missingRoles(settings)
  if (missing.length === 0) return
  throw new Refusal('invalid_value', {
    what: `[delivery.endpoints] of ${trunk.name}`,
    expected: 'locator, manifest, discovery and readiness',
    found: `no ${missing.join(', ')}`,
    next: `add [delivery.endpoints.${missing[0]}] with url, timeout and conditions to discern.toml, and land it on ${trunk.name}`,
  })
}

/** What the deployment is compared with. Its generation is that of its promotion, which is all that it can know. */
const valuesOf = ({ name, records, standing }: Ledger) => ({
  delivery: name,
  source_commit: standing.sourceCommit,
  ...(standing.corpusRevision === undefined ? {} : { corpus_revision: standing.corpusRevision }),
  generation: String(promotionOf(records)?.generation ?? standing.generation),
})

const promotionOf = (records: readonly DeliveryRecord[]): DeliveryRecord | undefined =>
  records.findLast(({ state }, at) => state === PROMOTION.to && records.slice(0, at).at(-1)?.state === PROMOTION.from)

/** Everything of the record that is not observed: what was typed, what the trunk's template says, and the source commit itself. */
const statedEvidence = async (
  context: Context,
  { settings, worktree }: Place,
  { name, standing }: Ledger,
  flags: Flags,
): Promise<{ readonly evidence: readonly Evidence[]; readonly rollback: string }> => {
  const stage = stageOf('CP7')
  const template = settings.templates.get('CP7')
  const typed = list(flags['evidence']).map(one => parseEvidence(stage, one))
  if (typed.some(({ part }) => part === OBSERVED_PART)) {
    throw usage(`${OBSERVED_PART} is what observe finds out, and is not typed`, EXAMPLE)
  }
  const given = new Set(typed.map(({ part }) => part))
  const all = [
    ...typed,
    ...stage.parts.flatMap(({ name: part, statement }) => {
      const value = template?.evidence.get(part)
      const wanted = value !== undefined && part !== OBSERVED_PART && !given.has(part)
      return wanted ? [parseValue(part, statement === true, value)] : []
    }),
  ]
  const commit = standing.sourceCommit
  const proof = all.some(isWish) ? await readNotedProof(worktree, commit) : undefined
  const found = await lookUp(context, { repository: worktree, commit, proof }, all)
  const evidence: readonly Evidence[] = [
    { part: 'remote-refs', kind: 'git', oid: commit, name: `source commit of generation ${standing.generation}` },
    ...found.evidence,
  ]
  const lacking = stage.parts.filter(
    ({ name: part }) => part !== OBSERVED_PART && !evidence.some(one => one.part === part),
  )
  if (lacking.length > 0) {
    throw new Refusal('delivery_illegal', {
      problem: `CP7 lacks ${lacking.map(({ name: part, means }) => `${part} (${means})`).join(', ')}`,
      next: `git discern delivery observe ${name} --run <id> --attempt <n> ${lacking.map(({ name: part }) => `--evidence ${part}="<sentence>"`).join(' ')}`,
    })
  }
  const told = evidence.find(({ part, kind }) => part === 'rollback' && kind === 'statement')
  const rollback = text(flags['rollback']) ?? template?.rollback ?? (told?.kind === 'statement' ? told.text : undefined)
  if (rollback === undefined)
    throw usage('CP7 needs --rollback: how is it taken back?', `${EXAMPLE} --rollback "<how>"`)
  return { evidence, rollback }
}

const endpointData = ({ endpoint, fetched }: Observation['endpoints'][number]) => ({
  endpoint: endpoint.role,
  url: endpoint.url,
  ...('known' in fetched
    ? { status: fetched.known.status, bytes: fetched.known.body.length, sha256: fetched.known.sha256 }
    : { unavailable: fetched.unavailable }),
})

const failuresOf = ({ verdicts }: Observation): readonly string[] =>
  verdicts.flatMap(({ endpoint, name, value, reason }) =>
    value === 'True' ? [] : [`${endpoint}: ${name} is ${value} (${reason})`],
  )

/** The last observation of each delivery, on this machine alone; the folder of a repository is named by a digest of its path. */
const keepAttempt = (
  context: Context,
  { worktree }: Place,
  name: string,
  attempt: object,
): Promise<string | undefined> =>
  keepUserData(context, ['deliveries', sha256(worktree.commonDir).slice(0, 16), `${name}.json`], {
    schema: 1,
    at: context.now().toISOString(),
    repository: worktree.commonDir,
    ...attempt,
  })
