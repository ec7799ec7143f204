/** `git discern standards`: measure, compare with the trunk, tighten (facts 14). Proposing is in `standards-propose.ts`. */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { standardWords } from '../gate/standard.ts'
import { approvalToken, recordedProposals } from '../landing/proposal.ts'
import { type Ratchet, ratchet, type TrunkStandards, trunkStandards } from '../policy/ratchet.ts'
import { CONFIG_FILE, readCommittedConfiguration } from '../policy/read.ts'
import { readStandards, type StandardDefinition } from '../policy/standards.ts'
import type { StandardProposal } from '../proof/claim.ts'
import type { Advisory, Diagnostic, Result, Step } from '../result.ts'
import type { Call } from './call.ts'
import { readSituation, type Situation } from './situation.ts'
import {
  type MeasurePlace,
  type Measuring,
  measureStandards,
  measuringSteps,
  planMeasuring,
  type StandardReading,
} from './standards-measure.ts'

export const VERB = 'standards'

export const run = async (context: Context, call: Call): Promise<Result> => {
  const { flags, operands } = call
  const [first, ...rest] = operands
  if (first === 'propose') {
    if (flags['pin'] === true) throw usage('--pin does not go with propose')
    return (await import('./standards-propose.ts')).propose(context, rest, flags)
  }
  if (flags['reason'] !== undefined) throw usage('--reason belongs to propose')
  if (flags['pin'] === true) return (await import('./standards-pin.ts')).pin(context, operands, flags)
  const place = await openPlace(context)
  const chosen = await choose(place.situation, operands)
  const plan = await planMeasuring(context, place, chosen, flags['force'] === true)
  const standing = await compareWithTrunk(place)
  if (flags['dry-run'] === true) {
    const readings = plan.selected.map(({ standard, known }) => known ?? { standard, measured: undefined })
    return {
      ok: true,
      verb: VERB,
      dry_run: true,
      plan: measuringSteps(plan),
      data: standardsData(readings, standing, operands.length === 0),
      advisories: ratchetAdvisories(standing),
    }
  }
  const measuring = await measureStandards(context, VERB, plan)
  return answer(measuring, standing, operands.length === 0)
}

const usage = (problem: string): Refusal =>
  new Refusal('invalid_arguments', {
    problem: `${VERB}: ${problem}`,
    usage: 'git discern standards propose <name> --reason "<reason>"',
  })

export interface Place extends MeasurePlace {
  readonly situation: Situation
}

/** The checkout as something that can be measured; refuses without a `discern.toml` and without a commit. */
export const openPlace = async (context: Context): Promise<Place> => {
  const situation = await readSituation(context)
  const { worktree, configuration, state } = situation
  if (!configuration) throw new Refusal('not_set_up', { file: CONFIG_FILE })
  if (state.head === undefined) {
    throw new Refusal('precondition_failed', {
      problem: 'there is no commit whose standards could be measured',
      next: 'make a first commit: git commit',
    })
  }
  const clean = state.tracked.length + state.untracked.length === 0
  return { situation, worktree, configuration, head: state.head, clean }
}

/** The standards of these names, or all of them, in the order of the file; refuses with `unknown_standard`. */
export const choose = async (
  { configuration }: Pick<Situation, 'configuration'>,
  names: readonly string[],
): Promise<readonly StandardDefinition[]> => {
  const all = configuration ? readStandards(configuration) : []
  const known = all.map(({ name }) => name)
  const stray = names.find(name => !known.includes(name))
  if (stray !== undefined) {
    const { nearest } = await import('../policy/problem.ts')
    throw new Refusal('unknown_standard', { name: stray, among: known, nearest: nearest(stray, known) })
  }
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name))
}

/** The trunk's committed standards, what the ratchet says about those of the checkout, and what is proposed. */
export interface Standing {
  /** Full id of the trunk's tip, as far as there is one. */
  readonly trunkCommit: string | undefined
  readonly trunk: TrunkStandards
  readonly ratchet: Ratchet
  readonly recorded: readonly StandardProposal[]
}

/** Reads the trunk's configuration and the recorded proposals. Writes nothing. */
export const compareWithTrunk = async ({
  situation,
  configuration,
}: Pick<Place, 'situation' | 'configuration'>): Promise<Standing> => {
  const { worktree, refs, trunk, state } = situation
  const trunkCommit = refs.get(trunk.target)?.oid ?? refs.get(trunk.ref)?.oid
  const before: TrunkStandards =
    trunkCommit === undefined
      ? { unavailable: `there is no branch ${trunk.name} here` }
      : trunkStandards(await readCommittedConfiguration(worktree, trunkCommit))
  const recorded = state.branch === undefined ? [] : await recordedProposals(worktree, state.branch)
  return { trunkCommit, trunk: before, ratchet: ratchet(before, configuration, recorded), recorded }
}

interface Shown {
  readonly standard: StandardDefinition
  /** `undefined` where nothing was measured. */
  readonly measured: StandardReading['measured'] | undefined
  readonly reusedFrom?: string
}

/** The `data` of every answer of this verb. `whole` also tells of standards that the branch deleted. */
export const standardsData = (
  shown: readonly Shown[],
  { ratchet: found, recorded, trunk }: Standing,
  whole: boolean,
): Readonly<Record<string, unknown>> => {
  const names = new Set(shown.map(({ standard }) => standard.name))
  const own = new Map(shown.map(({ standard }) => [standard.name, standard.limit]))
  return {
    standards: shown.map(entry => rowOf(entry, found)),
    ratchet: found.status,
    ...('unavailable' in trunk ? { unverified: trunk.unavailable } : {}),
    lost: whole ? found.rows.filter(({ standard }) => !names.has(standard)) : [],
    proposals: recorded
      .filter(({ standard, proposed_limit }) => own.get(standard) === proposed_limit)
      .map(proposal => ({
        ...proposal,
        token: approvalToken(proposal.standard, proposal.proposed_limit, proposal.reason),
      })),
  }
}

const rowOf = ({ standard, measured, reusedFrom }: Shown, found: Ratchet): Readonly<Record<string, unknown>> => {
  const { name, direction, limit, margin, metric } = standard
  const compared = found.rows.find(row => row.standard === name)
  const known = measured && 'known' in measured ? measured.known : undefined
  return {
    name,
    direction,
    limit,
    margin,
    metric,
    verdict: known?.verdict ?? (measured === undefined ? 'unmeasured' : 'unavailable'),
    ...(known
      ? {
          value: known.value,
          ...(known.denominator === undefined ? {} : { denominator: known.denominator }),
          reading: known.reading,
        }
      : {}),
    ...(measured && 'unavailable' in measured ? { reason: measured.unavailable } : {}),
    ...(reusedFrom === undefined ? {} : { measured_at: reusedFrom }),
    ...(compared ? { ratchet: { status: compared.status, sentence: compared.sentence } } : {}),
  }
}

/** Loud, and not in the way: nobody can be held to a limit that cannot be read (facts 14). */
export const ratchetAdvisories = ({ trunk, ratchet: found }: Standing): readonly Advisory[] =>
  'unavailable' in trunk && found.rows.length > 0
    ? [
        {
          kind: 'standards-limits-unverified',
          evidence: `the limits were compared with nothing: ${trunk.unavailable}`,
          next_action: `put ${CONFIG_FILE} of the trunk right, or fetch what is missing here`,
        },
      ]
    : []

/** One step for each standard: its reading against its limit. */
export const standardSteps = (readings: readonly StandardReading[]): readonly Step[] =>
  readings.map(reading => ({
    kind: 'standard',
    label: `standard ${reading.standard.name}`,
    disposition: reading.reusedFrom === undefined ? 'run' : 'skip',
    group: 'standard',
    outcome: isKept(reading) ? 'ok' : 'failed',
    note: wordsOf(reading),
  }))

const isKept = ({ measured }: StandardReading): boolean => 'known' in measured && measured.known.verdict !== 'breached'

/** How a reading stands to its limit, in a few words. */
export const wordsOf = ({ standard, measured }: StandardReading): string =>
  'known' in measured ? standardWords(standard, measured.known) : measured.unavailable

/** What a run found out it has said itself; a value that was known already is said here. */
const findingOf = (reading: StandardReading): readonly Diagnostic[] =>
  isKept(reading) || reading.reusedFrom === undefined
    ? []
    : [
        {
          tool: `standard ${reading.standard.name}`,
          severity: 'error',
          message: wordsOf(reading),
          reproduce_cmd: `git discern standards ${reading.standard.name} --force`,
        },
      ]

const answer = (measuring: Measuring, standing: Standing, whole: boolean): Result => {
  const { readings } = measuring
  const shown = new Set(readings.map(({ standard }) => standard.name))
  const broken = standing.ratchet.rows.filter(
    ({ standard, status }) => status === 'failed' && (whole || shown.has(standard)),
  )
  const failed = new Set([
    ...readings.filter(reading => !isKept(reading)).map(({ standard }) => standard.name),
    ...broken.map(({ standard }) => standard),
  ])
  const result = {
    verb: VERB,
    steps: [...measuring.steps, ...standardSteps(readings)],
    diagnostics: [...measuring.diagnostics, ...readings.flatMap(findingOf)],
    data: standardsData(readings, standing, whole),
    advisories: [...ratchetAdvisories(standing), ...measuring.advisories],
    ...(measuring.waitedMs > 0 ? { waited_ms: measuring.waitedMs } : {}),
  }
  if (failed.size === 0) return { ok: true, ...result }
  const refusal = new Refusal('gate_failed', {
    stage: 'standards',
    failed: [...failed],
    rerun: `git discern standards ${[...failed].filter(name => shown.has(name)).join(' ')}`.trim(),
  })
  return { ok: false, ...result, error: refusal.slug, message: refusal.message, hints: [...refusal.next] }
}
