/** A project with one standard whose value is the text of a file, so that a commit says what will be measured. */
import { join } from 'node:path'
import type { Scratch } from './scratch.ts'

export const STANDARDS = `# the project
[repository]
trunk = "main"

[jobs]
test = "sh test.sh"

[standards.cov]
direction = "up"
limit = 80 # percent
run = "sh measure.sh"
inputs = ["value", "measure.sh"]
`

/** Counts its runs outside the tree, where nobody takes them for a change. */
const MEASURE = 'echo run >> "$COUNT"\necho "DISCERN_METRIC cov $(cat value)"\n'

/** A repository `r` with the trunk `main` at the value 80 and a branch `feat` checked out. */
export const standardProject = (s: Scratch, config = STANDARDS, name = 'r'): void => {
  s.env['COUNT'] = s.path('count')
  s.write('count', '')
  s.git('.', 'init', '-q', name)
  s.write(join(name, 'discern.toml'), config)
  s.write(join(name, 'test.sh'), 'echo tested\n')
  s.write(join(name, 'measure.sh'), MEASURE)
  s.write(join(name, 'value'), '80\n')
  s.commit(name, 'one')
  s.git(name, 'switch', '-q', '-c', 'feat')
}

/** Commits another value; returns the commit. */
export const commitValue = (s: Scratch, value: number | string, name = 'r'): string => {
  s.write(join(name, 'value'), `${value}\n`)
  return s.commit(name, `value ${value}`)
}

/** How often the measuring command ran. */
export const runs = (s: Scratch): number => s.read('count').split('\n').filter(Boolean).length
