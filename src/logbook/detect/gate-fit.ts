/** Gate fit, from recorded steps: where the time of the gate goes, and which job stops people again and again. */
import {
  DOMINANT_STAGE_MINIMUM_MS,
  DOMINANT_STAGE_SHARE,
  JOB_VERDICT_WINDOW_COUNT,
  RECURRING_BRANCH_COUNT,
  TRAJECTORY_WINDOW_COUNT,
} from '../../limits.ts'
import { condition, durationWords, gateVerdict, median, newest, percentWords, versionsOf } from '../basis.ts'
import { concluded, type Detector, type Finding } from '../detector.ts'
import type { StepRecord, VerbEvent } from '../event.ts'

/** A step that is a job that really ran and answered. */
export const isAnswer = ({ kind, disposition, outcome }: StepRecord): boolean =>
  (kind === 'job' || kind === 'scope-gate') && disposition === 'run' && (outcome === 'ok' || outcome === 'failed')

const sum = (values: Iterable<number>): number => {
  let total = 0
  for (const value of values) total += value
  return total
}

interface TimedRun {
  readonly stages: ReadonlyMap<string, number>
  readonly jobs: ReadonlyMap<string, number>
  readonly totalMs: number
  readonly writer: string | undefined
}

/** The working time of one run by stage and by job; `undefined` where no step says how long it took. */
const timedRun = ({ steps = [], writer }: VerbEvent): TimedRun | undefined => {
  const stages = new Map<string, number>()
  const jobs = new Map<string, number>()
  for (const { group, label, disposition, duration_s } of steps) {
    if (group === undefined || duration_s === undefined || disposition !== 'run') continue
    stages.set(group, (stages.get(group) ?? 0) + duration_s * 1000)
    jobs.set(`${group} ${label}`, (jobs.get(`${group} ${label}`) ?? 0) + duration_s * 1000)
  }
  const totalMs = sum(stages.values())
  return totalMs > 0 ? { stages, jobs, totalMs, writer } : undefined
}

const largest = (totals: ReadonlyMap<string, number>): readonly [string, number] =>
  [...totals].sort((left, right) => right[1] - left[1] || (left[0] < right[0] ? -1 : 1))[0] ?? ['', 0]

const totalsOf = (runs: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> => {
  const totals = new Map<string, number>()
  for (const run of runs) for (const [name, ms] of run) totals.set(name, (totals.get(name) ?? 0) + ms)
  return totals
}

/**
 * One stage takes most of the time of a gate that is worth making faster: at least 60 % of the working time of the newest 200 green
 * runs, of at least two stages, where the median run works 30 s or longer. Whoever wants a faster gate starts there.
 */
export const dominantStage: Detector = {
  name: 'dominant-stage',
  family: 'gate-fit',
  threshold: 8,
  counts: 'green runs with durations',
  question: 'does one stage take most of the time of the gate?',
  start: () => {
    const window = newest<TimedRun>(TRAJECTORY_WINDOW_COUNT)
    let untimed = 0
    return {
      observe: ({ event }) => {
        if (gateVerdict(event) !== 'green' || event.gate_ran !== true) return
        const run = timedRun(event)
        if (run === undefined) untimed += 1
        else window.add(run)
      },
      conclude: () => {
        const runs = window.values()
        const needs = `${runs.length} of 8 green runs with durations`
        if (runs.length < dominantStage.threshold) return concluded([], false, needs)
        const stages = totalsOf(runs.map(run => run.stages))
        const all = sum(stages.values())
        const [stage, ms] = largest(stages)
        const middle = median(runs.map(({ totalMs }) => totalMs))
        if (stages.size < 2 || ms / all < DOMINANT_STAGE_SHARE || middle < DOMINANT_STAGE_MINIMUM_MS) {
          return concluded([], true, needs)
        }
        const own = [...totalsOf(runs.map(run => run.jobs))].filter(([name]) => name.startsWith(`${stage} `))
        const [key, jobMs] = largest(new Map(own))
        const job = key.slice(stage.length + 1)
        const finding: Finding = {
          about: `stage ${stage}`,
          seen: `took ${percentWords(ms / all)} of the working time of ${runs.length} green runs, ${durationWords(middle)} each in the middle; ${percentWords(jobMs / ms)} of it in ${job}`,
          next_action: `make ${job} faster first: split it, or declare its inputs so that its evidence can stand for other commits`,
          basis: {
            count: Math.round(ms / 1000),
            denominator: Math.round(all / 1000),
            unit: 'seconds of work in jobs',
            versions: versionsOf(runs.map(({ writer }) => writer)),
            matched: [condition('stage', [stage])],
            differing: [condition('stages', stages.keys())],
            excluded: untimed > 0 ? { 'no-durations': untimed } : {},
            limitations: ['jobs that run side by side are added up, so the share of the clock may be another one'],
            evidence: 'estimated',
          },
        }
        return concluded([finding], true, needs)
      },
    }
  },
}

interface Answer {
  readonly red: boolean
  readonly branch: string | null
  readonly stage: string
  readonly writer: string | undefined
}

/**
 * A job that is red again and again, whoever works: among its newest 50 answers at least 5 failures, from at least 3 branches. One
 * branch that is red for a day is work in progress; many are a job that people should meet earlier, or that is wrong.
 */
export const recurringRedJob: Detector = {
  name: 'recurring-red-job',
  family: 'gate-fit',
  threshold: 5,
  counts: 'failures of one job',
  question: 'which job is red again and again, on one branch after another?',
  start: () => {
    const windows = new Map<string, ReturnType<typeof newest<Answer>>>()
    return {
      observe: ({ event }) => {
        if (event.verb !== 'done' && event.verb !== 'test') return
        for (const step of event.steps ?? []) {
          if (!isAnswer(step)) continue
          const answers = windows.get(step.label) ?? newest<Answer>(JOB_VERDICT_WINDOW_COUNT)
          const { branch, writer } = event
          answers.add({ red: step.outcome === 'failed', branch, stage: step.group ?? 'unknown', writer })
          windows.set(step.label, answers)
        }
      },
      conclude: () => {
        const reds = (answers: readonly Answer[]): readonly Answer[] => answers.filter(({ red }) => red)
        const jobs = new Map([...windows].map(([job, window]) => [job, window.values()]))
        const judged = [...jobs].filter(([, answers]) => reds(answers).length >= recurringRedJob.threshold)
        const most = Math.max(0, ...[...jobs.values()].map(answers => reds(answers).length))
        const found = judged.flatMap(([job, answers]): readonly Finding[] => {
          const failures = reds(answers)
          const branches = failures.flatMap(({ branch }) => branch ?? [])
          const distinct = new Set(branches).size
          if (distinct < RECURRING_BRANCH_COUNT) return []
          return [
            {
              about: `job ${job}`,
              seen: `failed in ${failures.length} of its newest ${answers.length} runs, on ${distinct} branches`,
              next_action: `let people meet ${job} before done: run it in prepare (stage check), or say in its output what to do`,
              basis: {
                count: failures.length,
                denominator: answers.length,
                unit: 'newest runs of this job',
                versions: versionsOf(answers.map(({ writer }) => writer)),
                matched: [condition('job', [job])],
                differing: [
                  condition('branch', branches),
                  condition(
                    'stage',
                    answers.map(({ stage }) => stage),
                  ),
                ],
                excluded: {},
                limitations: ['whether the failures had one cause is not recorded'],
                evidence: 'observed',
              },
            },
          ]
        })
        found.sort((left, right) => right.basis.count - left.basis.count || (left.about < right.about ? -1 : 1))
        return concluded(found, judged.length > 0, `${most} of 5 failures of one job`)
      },
    }
  },
}
