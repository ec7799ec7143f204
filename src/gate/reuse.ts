/** Which jobs of a plan need not run, because evidence for exactly this stands already (facts 8.3 to 8.5). Pure. */
import { neededJob, type PlannedJob } from '../policy/definition.ts'

/**
 * Of the jobs that have standing evidence, by id, those that may be left out. What a job that runs needs runs as well, since it
 * may leave something behind that is needed now; so does every build, as long as anything after the builds has to run.
 */
export const chooseReused = (plan: readonly PlannedJob[], standing: ReadonlySet<string>): ReadonlySet<string> => {
  const runs = new Set(plan.filter(({ id }) => !standing.has(id)))
  const isLater = ({ stage }: PlannedJob): boolean => stage !== 'fix' && stage !== 'build'
  if ([...runs].some(isLater)) {
    for (const job of plan) if (job.stage === 'build') runs.add(job)
  }
  for (const job of runs) {
    for (const need of job.recipe.needs) {
      const needed = neededJob(plan, need)
      if (needed) runs.add(needed)
    }
  }
  return new Set(plan.flatMap(job => (runs.has(job) ? [] : [job.id])))
}
