/** The commits that one history has and another has not, for a person to read. */
import { gitOutput, type Place } from './run.ts'

export interface Ahead {
  readonly count: number
  /** The newest first; subjects are whatever a branch says and pass through escaping where they are shown. */
  readonly newest: readonly { readonly oid: string; readonly subject: string }[]
}

/** What `tip` has and `base` has not: how many commits, and the newest of them. Two git processes side by side. */
export const commitsAhead = async (place: Place, base: string, tip: string, limit: number): Promise<Ahead> => {
  const range = [`^${base}`, tip, '--']
  const [count, lines] = await Promise.all([
    gitOutput(place, ['rev-list', '--count', ...range]),
    gitOutput(place, [
      'rev-list',
      `--max-count=${limit}`,
      '--no-commit-header',
      '--encoding=UTF-8',
      '--format=%H%x00%s',
      ...range,
    ]),
  ])
  const newest = lines
    .toString('utf8')
    .split('\n')
    .flatMap(line => {
      const [oid, subject] = line.split('\0')
      return oid ? [{ oid, subject: subject ?? '' }] : []
    })
  return { count: Number.parseInt(count.toString('utf8'), 10), newest }
}
