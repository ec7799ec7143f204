/** `git discern patterns`: what the Logbook shows, for whoever wants to act on it (facts 12.6). Read-only; decides nothing. */
import { resolve } from 'node:path'
import type { Context } from '../context.ts'
import { Refusal, throwIfInterrupted } from '../errors.ts'
import { readConfig, remoteNames } from '../git/config.ts'
import { readRefs, shortBranch } from '../git/refs.ts'
import { openRepository } from '../git/repository.ts'
import type { Detector } from '../logbook/detector.ts'
import { type DetectorReport, detectors, startDetection } from '../logbook/detectors.ts'
import type { LogbookEvent } from '../logbook/event.ts'
import { type Look, look } from '../logbook/look.ts'
import { readEventFile, readEvents, type Unreadable } from '../logbook/read.ts'
import type { Configuration } from '../policy/definition.ts'
import { readLiveConfiguration } from '../policy/read.ts'
import { resolveTrunk } from '../policy/trunk.ts'
import type { Result } from '../result.ts'
import type { Call } from './call.ts'

const VERB = 'patterns'

export const run = async (context: Context, { flags, operands }: Call): Promise<Result> => {
  const chosen = await choose(operands)
  const file = flags['logbook-file']
  const repository = await openRepository(context)
  const project = await projectOf(context, repository)
  const read = typeof file === 'string' ? fromFile(resolve(context.cwd, file)) : fromLogbook(repository)
  const known = { checkpoints: project.configuration && Object.keys(project.configuration.checkpoints) }
  const all = flags['all'] === true
  const stats = flags['stats'] === true
  const seen = await look({
    read,
    trunk: project.trunk,
    ...(stats ? {} : { start: () => startDetection(chosen, { known, all }) }),
  })
  throwIfInterrupted(context)
  const reports = seen.detection?.conclude() ?? []
  return {
    ok: true,
    verb: VERB,
    data: {
      recording: project.recording,
      ...sourceOf(seen),
      detectors: reports,
      investigations: investigations(reports),
    },
    hints: hintsFor(project.recording, seen.population.counted),
  }
}

/** Names of detectors are long; this far away one is still meant. */
const NAME_DISTANCE = 4

/** The detectors of these names in the order of the table, or all of them; refuses a name that is none. */
const choose = async (names: readonly string[]): Promise<readonly Detector[]> => {
  const known = detectors.map(({ name }) => name)
  const stray = names.find(name => !known.includes(name))
  if (stray !== undefined) {
    const { nearest } = await import('../policy/problem.ts')
    const near = nearest(stray, known, NAME_DISTANCE) ?? known.find(name => name.includes(stray.toLowerCase()))
    throw new Refusal('invalid_arguments', {
      problem: `${VERB}: there is no detector ${JSON.stringify(stray)}${near ? `; did you mean "${near}"?` : `; there is ${known.join(', ')}`}`,
      usage: near ? `git discern ${VERB} ${near}` : `git discern ${VERB}`,
    })
  }
  return names.length === 0 ? detectors : detectors.filter(({ name }) => names.includes(name))
}

type Recording = 'on' | 'off' | 'not-set-up' | 'unknown'

interface Project {
  readonly configuration: Configuration | undefined
  readonly recording: Recording
  readonly trunk: string | undefined
}

type Repository = Awaited<ReturnType<typeof openRepository>>

/** What the checkout says today. A configuration that cannot be read leaves it unknown; the Logbook is read all the same. */
const projectOf = async (context: Context, repository: Repository): Promise<Project> => {
  const { topLevel } = repository
  if (topLevel === undefined) {
    return { configuration: undefined, recording: 'unknown', trunk: await trunkOf(context, repository, undefined) }
  }
  try {
    const configuration = await readLiveConfiguration({ topLevel })
    const recording = configuration === undefined ? 'not-set-up' : configuration.project.recordLogbook ? 'on' : 'off'
    return { configuration, recording, trunk: await trunkOf(context, repository, configuration) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { configuration: undefined, recording: 'unknown', trunk: await trunkOf(context, repository, undefined) }
  }
}

/** Short name of the trunk, or `undefined` where that is not decidable. At most two git processes, none where it is configured. */
const trunkOf = async (
  context: Context,
  repository: Repository,
  configuration: Configuration | undefined,
): Promise<string | undefined> => {
  const configured = configuration?.repository.trunk
  const named = context.env['DISCERN_TRUNK']?.trim() || configured
  if (named) return shortBranch(named)
  const entries = await readConfig(repository)
  const remotes = remoteNames(entries).map(remote => `refs/remotes/${remote}/HEAD`)
  const refs = await readRefs(repository, ['refs/heads/', 'refs/remotes/', ...remotes])
  try {
    return resolveTrunk({ configured, env: context.env, refs, entries, current: repository.opened?.branch }).name
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

/** What was read, beside its events. */
interface Source {
  readonly torn: number
  readonly foreign: number
  readonly unreadable: readonly Unreadable[]
}

type Visit = (event: LogbookEvent) => void

const fromLogbook =
  (repository: Repository) =>
  (visit: Visit): Promise<Source> =>
    readEvents(repository, visit)

/** One file of lines, as an archive is; refuses where it cannot be read, since it was asked for by name. */
const fromFile =
  (path: string) =>
  async (visit: Visit): Promise<Source> => {
    const read = await readEventFile(path, visit)
    if ('reason' in read) {
      throw new Refusal('invalid_value', {
        what: '--logbook-file',
        expected: 'a file with the lines of a Logbook',
        found: read.reason,
        next: 'git discern patterns   # reads the Logbook of this repository',
      })
    }
    return { torn: read.torn, foreign: read.foreign, unreadable: [] }
  }

const sourceOf = ({ population, reading }: Look<Source>) => ({
  population: { ...population, torn: reading.torn, foreign: reading.foreign },
  unreadable: reading.unreadable,
})

/** What to look into, in the order of the table: one for each finding that is shown. Always there, even if empty. */
const investigations = (reports: readonly DetectorReport[]) =>
  reports.flatMap(({ detector, findings }) =>
    findings.map(({ about, next_action }) => ({ detector, about, next_action })),
  )

const hintsFor = (recording: Recording, counted: number): readonly string[] => {
  if (recording === 'off') return ['set [project].record_logbook = true in discern.toml to record again']
  if (recording === 'not-set-up') return ['git discern setup']
  return counted === 0 ? ['git discern done   # every run of it is one event'] : []
}
