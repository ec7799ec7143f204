/** Whole commands, timed from outside: ours and a reference in turn after a warm-up, medians and their ratio. */
import { spawnSync } from 'node:child_process'

export interface Row {
  readonly name: string
  /** Median milliseconds. */
  readonly ours: number
  readonly reference: number
  readonly ratio: number
  readonly budget: number
  /** What the reference is. */
  readonly against: string
}

export interface Subject {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Brings the place back to where each run starts; not timed. */
  readonly before?: () => void
}

const once = ({ command, args, cwd, env, before }: Subject): number => {
  before?.()
  const start = process.hrtime.bigint()
  const { status, error, stderr } = spawnSync(command, [...args], { cwd, env, maxBuffer: 1 << 28 })
  const elapsed = Number(process.hrtime.bigint() - start) / 1e6
  if (error) throw error
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${stderr}`)
  return elapsed
}

export const median = (numbers: readonly number[]): number => {
  const sorted = [...numbers].sort((left, right) => left - right)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

/** Times both in turn, so that a drifting machine drifts for both. The ratio is the median of the pairs' ratios. */
export const compare = (
  name: string,
  ours: Subject,
  reference: Subject,
  budget: number,
  against: string,
  runs = 10,
): Row => {
  once(ours)
  once(reference)
  const mine: number[] = []
  const theirs: number[] = []
  for (let at = 0; at < runs; at += 1) {
    mine.push(once(ours))
    theirs.push(once(reference))
  }
  const ratio = median(mine.map((time, at) => time / (theirs[at] ?? time)))
  return { name, ours: median(mine), reference: median(theirs), ratio, budget, against }
}

/** One line of the table. */
export const printRow = ({ name, ours, reference, ratio, budget, against }: Row): void => {
  const verdict = ratio <= budget ? 'within' : 'OVER'
  console.log(
    `${verdict.padEnd(6)} ${name.padEnd(58)} ${ours.toFixed(1).padStart(9)} ms ${reference.toFixed(1).padStart(9)} ms  ${ratio.toFixed(2).padStart(6)} x of ${budget} x  (${against})`,
  )
}
