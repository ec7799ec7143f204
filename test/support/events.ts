/** Lines of a Logbook, written by hand: what a test does not say is the same in every one. */
import assert from 'node:assert/strict'
import { type DetectorReport, detectors, startDetection } from '../../src/logbook/detectors.ts'
import type {
  ExecutionEvidence,
  ExecutionJob,
  LogbookEvent,
  StateEvidence,
  StepRecord,
  Validation,
  VerbEvent,
} from '../../src/logbook/event.ts'
import { look } from '../../src/logbook/look.ts'
import type { Population } from '../../src/logbook/population.ts'
import { violations } from '../../src/store/schema.ts'

const START = Date.parse('2026-03-01T09:00:00.000Z')

/** The moment some minutes after the first of March, nine o'clock. */
export const minute = (count: number): string => new Date(START + count * 60_000).toISOString()

/** 64 hexadecimal digits that begin with a word made of them. */
export const keyed = (word: string): string => word.padEnd(64, '0')

let count = 0

/** A green `done` of one person on `feat`, each a minute after the one before, with an invocation of its own. */
export const event = (fields: Partial<VerbEvent> = {}): VerbEvent => {
  count += 1
  return {
    schema: 1,
    at: minute(count),
    writer: '1.2.0',
    kind: 'verb',
    invocation: `invocation-${count}`,
    verb: 'done',
    surface: 'cli',
    driver: { session: 'aaaaaaaaaaaaaaaa', json: false, tty: true, ci: false, agent_signals: [] },
    branch: 'feat',
    head: 'c'.repeat(40),
    epoch: 'eeeeeeeeeeeeeeee',
    clean: true,
    outcome: 'ok',
    duration_ms: 1000,
    gate_ran: true,
    ...fields,
  }
}

export const red = (fields: Partial<VerbEvent> = {}): VerbEvent =>
  event({ outcome: 'failed', error: 'gate_failed', failed_stage: 'test', ...fields })

type Loosely<T> = { readonly [K in keyof T]?: T[K] | undefined }

export const job = (fields: Loosely<ExecutionJob> = {}): ExecutionJob =>
  ({
    id: 'unit',
    stage: 'test',
    kind: 'job',
    definition_digest: keyed('de'),
    outcome: 'passed',
    concurrent_siblings: false,
    ...fields,
  }) as ExecutionJob

interface EvidenceFields {
  readonly version?: number
  readonly state?: Partial<StateEvidence> | Readonly<Record<string, unknown>>
  readonly execution?: Partial<ExecutionEvidence> | Readonly<Record<string, unknown>>
  readonly jobs?: readonly ExecutionJob[]
}

/** Complete evidence of a whole gate with one test job. */
export const evidence = ({
  version = 1,
  state = {},
  execution = {},
  jobs = [job()],
}: EvidenceFields = {}): Validation =>
  ({
    version,
    state: {
      version: 1,
      complete: true,
      capture: 'after-fix-build',
      elapsed_ms: 12,
      digest: keyed('aa'),
      components: {},
      counts: { index_entries: 3, tracked_paths: 0, untracked_paths: 0, submodules: 0 },
      bytes: { index_manifest: 300, tracked_content: 0, untracked_content: 0 },
      exclusions: ['ignored-files', 'external-services', 'clocks'],
      ...state,
    },
    execution: {
      version: 1,
      complete: true,
      mode: 'full-gate',
      writer: '1.2.0',
      config_digest: keyed('cc'),
      setup_digest: keyed('55'),
      jobs,
      ...execution,
    },
  }) as Validation

export const step = (label: string, fields: Partial<StepRecord> = {}): StepRecord => ({
  label,
  kind: 'job',
  outcome: 'ok',
  disposition: 'run',
  group: 'test',
  duration_s: 1,
  ...fields,
})

interface LookOptions {
  /** What governs; `undefined` where it cannot be read. */
  readonly checkpoints?: readonly string[] | undefined
  readonly all?: boolean
  /** Whether the lines are held to their contract. */
  readonly checked?: boolean
}

export interface Looked {
  readonly reports: Readonly<Record<string, DetectorReport>>
  readonly population: Population
}

/** What every detector says to these events, with all findings, as they would be read from a Logbook. Every line keeps its contract. */
export const lookAt = async (events: readonly LogbookEvent[], options: LookOptions = {}): Promise<Looked> => {
  const { checkpoints, all, checked } = { checkpoints: [], all: true, checked: true, ...options }
  if (checked) for (const one of events) assert.deepEqual(violations('discern-logbook', one), [], JSON.stringify(one))
  const { population, detection } = await look({
    read: async visit => {
      for (const one of events) visit(JSON.parse(JSON.stringify(one)))
    },
    trunk: 'main',
    start: () => startDetection(detectors, { known: { checkpoints }, all }),
  })
  const reports = Object.fromEntries((detection?.conclude() ?? []).map(report => [report.detector, report]))
  return { reports, population }
}

/** The report of one detector. */
export const reportOf = async (
  name: string,
  events: readonly LogbookEvent[],
  options: LookOptions = {},
): Promise<DetectorReport> => {
  const report = (await lookAt(events, options)).reports[name]
  assert.ok(report, `no detector ${name}`)
  return report
}

export const times = <T>(number: number, make: (at: number) => T): readonly T[] =>
  Array.from({ length: number }, (_, at) => make(at))
