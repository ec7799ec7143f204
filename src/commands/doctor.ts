/** `git discern doctor`: tests what would really happen here, and says what to do about it. Writes nothing (facts 7.6). */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import type { Advisory, Result } from '../result.ts'
import type { Call } from './call.ts'
import { type Check, type Finding, failed } from './doctor-check.ts'
import { type DoctorFacts, readFacts } from './doctor-facts.ts'
import { hookChecks } from './doctor-hooks.ts'
import { noteChecks } from './doctor-notes.ts'
import { gitCheck, placeChecks } from './doctor-places.ts'

/** Everything that is tested, in the order it is shown. */
export const checks: readonly Check[] = [gitCheck, ...hookChecks, ...placeChecks, ...noteChecks]

/** A finding together with the check it comes from, as `data.checks` has it. */
type Row = Finding & Pick<Check, 'name' | 'tests'>
type Problem = Extract<Row, { readonly next_action: string }>

const isProblem = (row: Row): row is Problem => row.verdict !== 'ok'

/** Runs every check. Refuses with `doctor_failed` when one failed; warnings are advisories. */
export const run = async (context: Context, call: Call): Promise<Result> => {
  const facts = await readFacts(context)
  const rows = (await Promise.all(checks.map(check => rowsOf(check, facts)))).flat()
  const problems = rows.filter(isProblem)
  const failures = problems.filter(({ verdict }) => verdict === 'failed')
  const warnings = problems.filter(({ verdict }) => verdict === 'warning')
  const data = {
    checks: rows,
    counts: { ok: rows.length - problems.length, warning: warnings.length, failed: failures.length },
    verbose: call.flags['verbose'] === true,
  }
  const advisories = warnings.map(
    ({ evidence, next_action }): Advisory => ({ kind: 'doctor-warning', evidence, next_action }),
  )
  const [first, ...others] = new Set(failures.map(({ next_action }) => next_action))
  if (first === undefined) return { ok: true, verb: 'doctor', data, advisories }
  throw new Refusal(
    'doctor_failed',
    { problems: failures.map(({ evidence }) => evidence), next: [first, ...others] },
    { data, advisories },
  )
}

/** A check that cannot be made is a finding as well: finding out is the point. */
const rowsOf = async ({ name, tests, run: test }: Check, facts: DoctorFacts): Promise<readonly Row[]> => {
  try {
    return (await test(facts)).map(finding => ({ name, tests, ...finding }))
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return [
      { name, tests, ...failed(`this could not be tested: ${error.message}`, error.next[0] ?? 'git discern doctor') },
    ]
  }
}
