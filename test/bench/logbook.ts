/** A Logbook as a busy project of two years has one: many branches, a few jobs, complete evidence, a flaky job, red runs, landings. */
import type { LogbookEvent, VerbEvent } from '../../src/logbook/event.ts'
import type { Scratch } from '../support/scratch.ts'

/** Repeatable chance: the same lines in every run. */
const chance = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const digits = (next: () => number, length: number): string => {
  let text = ''
  while (text.length < length)
    text += Math.floor(next() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  return text.slice(0, length)
}

const JOBS = [
  ['format', 'fix'],
  ['build', 'build'],
  ['lint', 'check'],
  ['typecheck', 'check'],
  ['unit', 'test'],
  ['integration', 'test'],
  ['e2e', 'test'],
] as const

/** `count` events, oldest first: as every recorded invocation, each has a line when it begins and one when it ended. */
export function* logbookEvents(count: number): Generator<LogbookEvent, void, undefined> {
  for (const ended of verbEvents(Math.ceil(count / 2))) {
    const { schema, at, writer, invocation = '', verb, surface, driver, branch, head, epoch } = ended
    const begun = { schema, at, writer, kind: 'begin', invocation, verb, surface, driver, branch, head, epoch }
    yield begun as LogbookEvent
    yield ended
  }
}

/** A quarter of the runs repeats the state before. */
function* verbEvents(count: number): Generator<VerbEvent, void, undefined> {
  const next = chance(4711)
  const pick = <T>(values: readonly [T, ...T[]]): T => values[Math.floor(next() * values.length)] ?? values[0]
  const definitions = JOBS.map(() => digits(next, 64))
  const setup = digits(next, 64)
  let configuration = digits(next, 64)
  let state = digits(next, 64)
  let head = digits(next, 40)
  let session = digits(next, 16)
  let broken: string | undefined
  const start = Date.parse('2024-12-01T00:00:00.000Z')
  const step = Math.floor((700 * 86_400_000) / count)
  for (let at = 0; at < count; at += 1) {
    const branch = `agent/change-${Math.floor(at / 12)}`
    const last = at % 12 === 11
    if (next() < 0.75) {
      state = digits(next, 64)
      head = digits(next, 40)
      broken = next() < 0.35 ? pick(['unit', 'integration', 'e2e', 'lint']) : undefined
    }
    if (next() < 0.03) session = digits(next, 16)
    if (next() < 0.002) configuration = digits(next, 64)
    const standalone = !last && next() < 0.3
    const jobs = JOBS.filter(([, stage]) => stage === 'test' || (!standalone && stage === 'check'))
    // Now and then a test is red for no reason of the state.
    const flaky = next() < 0.03 ? 'e2e' : undefined
    const red = last || (standalone && broken === 'lint') ? undefined : (broken ?? flaky)
    const outcome = last || red === undefined ? 'ok' : 'failed'
    const base = {
      schema: 1,
      at: new Date(start + at * step).toISOString(),
      writer: at < count / 2 ? '0.1.0' : '0.2.0',
      kind: 'verb',
      invocation: `${digits(next, 8)}-${digits(next, 4)}-4000-8000-${digits(next, 12)}`,
      surface: 'cli',
      driver: { session, json: next() < 0.5, tty: false, ci: false, agent_signals: ['CLAUDECODE'] },
      branch,
      head,
      epoch: configuration.slice(0, 16),
      clean: true,
      duration_ms: 20_000 + Math.floor(next() * 40_000),
      flags: [],
    } as const
    if (last) {
      const landing = {
        commit: head,
        trunk: 'main',
        consent: 'conversation',
        variances: next() < 0.1 ? ['rollback'] : [],
        proposals: 0,
        publication: 'recorded',
      } as const
      yield { ...base, verb: 'accept', outcome: 'ok', landing: [landing] } as VerbEvent
      continue
    }
    yield {
      ...base,
      verb: standalone ? 'test' : 'done',
      outcome,
      ...(outcome === 'failed' ? { error: 'gate_failed', failed_stage: red === 'lint' ? 'check' : 'test' } : {}),
      gate_ran: true,
      change: { files: 1 + Math.floor(next() * 20), insertions: 100, deletions: 20, commits: 2 },
      scopes: ['src'],
      steps: JOBS.filter(([, stage]) => !standalone || stage === 'test').map(([label, group]) => ({
        label,
        kind: 'job',
        outcome: label === red ? 'failed' : 'ok',
        disposition: 'run',
        group,
        duration_s: Math.round(next() * 20_000) / 1000,
        error_like_lines: 0,
      })),
      standards: [
        {
          name: 'coverage',
          direction: 'up',
          limit: 80,
          reading: 80 + Math.round(next() * 1000) / 100,
          verdict: 'held',
        },
      ],
      checkpoints: {
        fired: next() < 0.5 ? [{ id: 'rollback', definition: definitions[0] ?? '', subject: digits(next, 64) }] : [],
      },
      validation: {
        version: 1,
        state: {
          version: 1,
          complete: true,
          capture: standalone ? 'before-test-group' : 'after-fix-build',
          elapsed_ms: 40,
          digest: state,
          components: { head: state, index: state, tracked: state, untracked: state, submodules: state },
          counts: { index_entries: 400, tracked_paths: 2, untracked_paths: 0, submodules: 0 },
          bytes: { index_manifest: 40_000, tracked_content: 3_000, untracked_content: 0 },
          exclusions: [
            'ignored-files',
            'external-services',
            'clocks',
            'random-seeds',
            'runtime-environment',
            'concurrent-external-processes',
          ],
        },
        execution: {
          version: 1,
          complete: true,
          mode: standalone ? 'standalone-test' : 'full-gate',
          writer: base.writer,
          config_digest: configuration,
          setup_digest: setup,
          jobs: jobs.map(([id, stage]) => ({
            id,
            stage,
            kind: 'job',
            definition_digest: definitions[JOBS.findIndex(([name]) => name === id)] ?? '',
            outcome: id === red ? 'failed' : 'passed',
            concurrent_siblings: true,
          })),
        },
      },
    } as VerbEvent
  }
}

/** Writes them as the month files of a repository. */
export const writeLogbook = (s: Scratch, cwd: string, count: number): void => {
  const months = new Map<string, string[]>()
  for (const event of logbookEvents(count)) {
    const month = event.at.slice(0, 7)
    const lines = months.get(month) ?? []
    lines.push(`${JSON.stringify(event)}\n`)
    months.set(month, lines)
  }
  for (const [month, lines] of months) s.write(`${cwd}/.git/discern/logbook/${month}.jsonl`, lines.join(''))
}
