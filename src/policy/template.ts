/** The `discern.toml` that setup writes: a text to keep, with a line of explanation for each thing that can be set. */
import { stringify } from 'smol-toml'
import { type DetectedJobs, KNOWN_JOBS, type KnownJob } from './detector.ts'

const PURPOSES: Readonly<Record<KnownJob, string>> = {
  format: 'rewrites files; runs first, one job at a time',
  build: 'runs after the fixers',
  lint: 'runs beside the tests',
  typecheck: 'runs beside the tests',
  test: 'the tests',
  smoke: 'starts the product; runs with the tests',
}

/** One `key = value` line. */
const setting = (key: string, value: string | readonly string[]): string => stringify({ [key]: value }).trimEnd()

const jobLines = (jobs: DetectedJobs): readonly string[] =>
  KNOWN_JOBS.flatMap(name => {
    const job = jobs[name]
    if (!job) return [`# ${name} = ""   # ${PURPOSES[name]}`]
    const [only, ...more] = job.run
    return [
      `# ${PURPOSES[name]} (found in ${oneLine(job.because)})`,
      setting(name, only !== undefined && more.length === 0 ? only : job.run),
    ]
  })

const oneLine = (text: string): string => text.replace(/[\u0000-\u001f\u007f]+/g, ' ')

/** The text of a configuration. Valid TOML that `parseConfiguration` reads back to the same trunk, mode and commands. */
export const renderConfiguration = ({
  trunk,
  jobs,
  notesMode,
}: {
  /** Short name; `undefined` leaves the trunk to detection. */
  readonly trunk: string | undefined
  readonly jobs: DetectedJobs
  readonly notesMode: 'local' | 'fetch'
}): string => `# What a change has to pass before it lands. git discern reads this file from the trunk.

[repository]
# The branch that changes land on.
${trunk === undefined ? '# trunk = "..."' : setting('trunk', trunk)}
# "fetch" lets the Proof notes of others arrive with an ordinary git fetch; "local" keeps to this repository's own.
${setting('proof_notes_mode', notesMode)}

[jobs]
# A command, or a list of commands that run one after another.
${jobLines(jobs).join('\n')}

# A job of another name is a table with a stage:
# [jobs.licenses]
# stage = "check"   # fix, build, check or test
# run = "..."

[gate]
# Seconds that one job may take; 0 means no limit.
timeout = 600
# Stop the jobs that run beside the first failure.
fail_fast = true

# Parts of the project with a gate of their own, run when a change touches them.
# [scopes.docs]
# paths = ["docs/**", "*.md"]
# gate = "..."

# Files that a command writes. They are built again, and a difference fails the gate.
# [generated.api]
# paths = ["src/api/generated/**"]
# run = "..."
`
