/** The table of detectors (facts 12.6), in the order in which their findings are shown. A new one is a new row. */
import { FINDING_SHOWN_COUNT } from '../limits.ts'
import { doneThrash } from './detect/behavior.ts'
import { checkpointDead, checkpointNoisy, checkpointVaried } from './detect/checkpoint-fit.ts'
import { landingCycleTime, loopsToGreen } from './detect/funnel.ts'
import { dominantStage, recurringRedJob } from './detect/gate-fit.ts'
import { executionContextDivergence, sameTreeFlake } from './detect/same-tree.ts'
import { durationCreep, standardTrajectory } from './detect/trajectory.ts'
import type { Detector, Family, Finding, Known } from './detector.ts'
import type { Occasion } from './population.ts'

export const detectors: readonly Detector[] = [
  sameTreeFlake,
  executionContextDivergence,
  recurringRedJob,
  doneThrash,
  loopsToGreen,
  durationCreep,
  dominantStage,
  standardTrajectory,
  landingCycleTime,
  checkpointDead,
  checkpointNoisy,
  checkpointVaried,
]

/** What one detector answered. */
export interface DetectorReport {
  readonly detector: string
  readonly family: Family
  readonly question: string
  readonly threshold: number
  readonly counts: string
  readonly status: 'fired' | 'quiet' | 'insufficient-evidence'
  /** Only of `insufficient-evidence`: what is there of what is needed. */
  readonly needs?: string
  readonly findings_total: number
  /** The first few, unless every one was asked for. */
  readonly findings: readonly Finding[]
}

export interface Detection {
  readonly observe: (occasion: Occasion) => void
  readonly conclude: () => readonly DetectorReport[]
}

/** Runs detectors side by side over one fold. */
export const startDetection = (
  chosen: readonly Detector[],
  { known, all }: { readonly known: Known; readonly all: boolean },
): Detection => {
  const running = chosen.map(detector => ({ detector, observer: detector.start(known) }))
  return {
    observe: occasion => {
      for (const { observer } of running) observer.observe(occasion)
    },
    conclude: () =>
      running.map(({ detector: { name, family, question, threshold, counts }, observer }) => {
        const conclusion = observer.conclude()
        const findings = conclusion.status === 'fired' ? conclusion.findings : []
        return {
          detector: name,
          family,
          question,
          threshold,
          counts,
          status: conclusion.status,
          ...(conclusion.status === 'insufficient-evidence' ? { needs: conclusion.needs } : {}),
          findings_total: findings.length,
          findings: all ? findings : findings.slice(0, FINDING_SHOWN_COUNT),
        }
      }),
  }
}
