/**
 * Every refusal: slug, exit code, one sentence, and what to type next (facts 7.9, 7.10). Adding one is adding a row; a row
 * without a next action does not type-check. Expected outcomes are values or one `Refusal`; anything else that is thrown is
 * our own defect and ends with exit 70.
 */

type Next = readonly [string, ...string[]]

interface Row<Data> {
  readonly exit: 1 | 2 | 3
  readonly sentence: (data: Data) => string
  readonly next: (data: Data) => Next
}

const row = <Data>(exit: 1 | 2 | 3, sentence: (data: Data) => string, next: (data: Data) => Next): Row<Data> => ({
  exit,
  sentence,
  next,
})

const few = (paths: readonly string[]): string =>
  paths.length <= 5 ? paths.join(', ') : `${paths.slice(0, 5).join(', ')} and ${paths.length - 5} more`

export const refusals = {
  invalid_arguments: row<{ problem: string; usage: string }>(
    2,
    d => d.problem,
    d => [d.usage],
  ),
  invalid_value: row<{ what: string; expected: string; found: string; next: string }>(
    1,
    d => `${d.what}: expected ${d.expected}, found ${d.found}`,
    d => [d.next],
  ),
  not_initialized: row<{ directory: string; reason: string }>(
    1,
    d => `${d.directory} is not inside a usable Git work tree: ${d.reason}`,
    () => ['cd into a Git repository, or run: git init'],
  ),
  not_set_up: row<{ file: string }>(
    1,
    d => `this repository has no ${d.file}`,
    () => ['git discern setup'],
  ),
  invalid_config: row<{ file: string; line: number; key: string; problem: string; nearest?: string | undefined }>(
    1,
    d =>
      `${d.file}:${d.line}: ${d.key ? `${d.key}: ` : ''}${d.problem}${d.nearest ? `; did you mean "${d.nearest}"?` : ''}`,
    d => [`edit ${d.file}, line ${d.line}${d.nearest ? `: write ${d.nearest}` : ''}`],
  ),
  trunk_unknown: row<{ reason: string; candidates: readonly string[] }>(
    1,
    d => `cannot tell which branch is the trunk: ${d.reason}`,
    d => [
      d.candidates.length > 0
        ? `git discern setup --trunk <branch>   # one of: ${few(d.candidates)}`
        : 'make a first commit, then run: git discern setup --trunk <branch>',
    ],
  ),
  detached_head: row<{ verb: string }>(
    1,
    d => `${d.verb} needs a branch, and HEAD is detached`,
    () => ['git switch -c <branch>'],
  ),
  on_trunk: row<{ verb: string; trunk: string }>(
    1,
    d => `${d.verb} needs a branch of its own, and ${d.trunk} is the trunk`,
    () => ['git switch -c <branch>'],
  ),
  nothing_to_prove: row<{ branch: string; trunk: string }>(
    1,
    d => `${d.branch} has no commit that ${d.trunk} does not have`,
    () => ['commit your change first: git commit'],
  ),
  dirty_worktree: row<{ paths: readonly string[]; where?: string | undefined }>(
    1,
    d => `the work tree${d.where ? ` ${d.where}` : ''} has uncommitted changes: ${few(d.paths)}`,
    d => [d.where ? `git -C ${d.where} status` : 'commit or remove them: git status'],
  ),
  operation_in_progress: row<{ operation: string; where: string }>(
    1,
    d => `a ${d.operation} is in progress in ${d.where}`,
    d => [`finish or abort it: git -C ${d.where} status`],
  ),
  precondition_failed: row<{ problem: string; next: string }>(
    1,
    d => d.problem,
    d => [d.next],
  ),
  write_access: row<{ path: string; reason: string }>(
    1,
    d => `cannot write ${d.path}: ${d.reason}`,
    d => [`make ${d.path} writable and free some space, then run the same command again`],
  ),
  store_newer: row<{ path: string; version: number }>(
    1,
    d => `${d.path} was written by a newer git discern (format ${d.version}) and is kept as it is`,
    () => ['update git discern, then run the same command again'],
  ),
  store_unreadable: row<{ path: string; reason: string }>(
    1,
    d => `cannot read ${d.path}: ${d.reason}`,
    d => [`look at ${d.path}; nothing was changed`],
  ),
  busy: row<{ what: string; holder: string; path: string }>(
    1,
    d => `${d.what} is already running here (${d.holder})`,
    d => [`wait for it to end; if no such process exists any more, remove ${d.path}`],
  ),
  gate_failed: row<{ stage: string; failed: readonly string[]; rerun: string }>(
    1,
    d => `the gate failed in ${d.stage}: ${few(d.failed)}`,
    d => [d.rerun],
  ),
  unchanged_tree_rerun: row<{ head: string }>(
    1,
    d => `nothing changed since the gate last failed at ${d.head}`,
    () => ['change something and commit it, or run the same tree again on purpose: git discern done --rerun'],
  ),
  proof_withheld: row<{ reason: string }>(
    1,
    d => `the gate passed, but no Proof was stamped: ${d.reason}`,
    () => ['git discern done'],
  ),
  incomplete: row<{ problem: string; next: string }>(
    1,
    d => d.problem,
    d => [d.next],
  ),
  report_only_proof: row<{ head: string }>(
    1,
    d => `the Proof at ${d.head} is a CI report; a report cannot land`,
    () => ['git discern done'],
  ),
  awaiting_consent: row<{ branch: string; trunk: string; command: string; why?: string | undefined }>(
    1,
    d => `landing ${d.branch} on ${d.trunk} needs the owner's consent${d.why ? `: ${d.why}` : ''}`,
    d => [`ask the owner; after a yes: ${d.command}`],
  ),
  trunk_moved: row<{ trunk: string; expected: string; found: string; next: string }>(
    1,
    d => `${d.trunk} moved: the Proof was made on ${d.expected}, the trunk is now at ${d.found}`,
    d => [d.next],
  ),
  conflict: row<{ problem: string; next: string }>(
    1,
    d => d.problem,
    d => [d.next],
  ),
  update_stopped: row<{
    operation: 'merge' | 'rebase'
    source: string
    branch: string
    paths: readonly string[]
    reason: string
  }>(
    1,
    d =>
      d.paths.length > 0
        ? `the ${d.operation} of ${d.branch} with ${d.source} stopped at ${d.paths.length === 1 ? 'a conflict' : 'conflicts'}: ${few(d.paths)}`
        : `the ${d.operation} of ${d.branch} with ${d.source} stopped before its commit: ${d.reason}`,
    d => [
      `${d.paths.length > 0 ? 'resolve and git add them' : 'put that right'}, then: git ${d.operation} --continue && git discern done`,
      `or take it back: git ${d.operation} --abort`,
    ],
  ),
  partial_acceptance: row<{ problem: string; next: string }>(
    1,
    d => `the landing stands, but ${d.problem}`,
    d => [d.next],
  ),
  awaiting_declaration: row<{ checkpoints: readonly [string, ...string[]] }>(
    1,
    d =>
      `${d.checkpoints.length === 1 ? 'a question awaits' : `${d.checkpoints.length} questions await`} your conclusion before the gate runs: ${d.checkpoints.join(', ')}`,
    d => [
      `git discern done ${d.checkpoints.map(id => `--met ${id}`).join(' ')}`,
      `git discern done --unmet ${d.checkpoints[0]} --why "<reason>"`,
    ],
  ),
  awaiting_variance: row<{ checkpoints: readonly [string, ...string[]] }>(
    1,
    d => `landing needs the owner's variance for what is declared unmet: ${d.checkpoints.join(', ')}`,
    d => [
      `ask the owner; after a yes: git discern accept --confirmed ${d.checkpoints.map(id => `--variance ${id}`).join(' ')}`,
    ],
  ),
  checkpoint_evidence_unavailable: row<{ path: string; reason: string; next: string }>(
    1,
    d => `the recorded questions and declarations in ${d.path} cannot be used: ${d.reason}`,
    d => [d.next],
  ),
  unknown_standard: row<{ name: string; among: readonly string[]; nearest?: string | undefined }>(
    1,
    d =>
      `there is no standard ${JSON.stringify(d.name)}${d.nearest ? `; did you mean "${d.nearest}"?` : d.among.length > 0 ? `; there is ${few(d.among)}` : '; discern.toml has no [standards]'}`,
    d => [d.nearest ? `git discern standards ${d.nearest}` : 'git discern standards'],
  ),
  pin_failed: row<{ problem: string; next: string }>(
    1,
    d => `no limit was tightened: ${d.problem}`,
    d => [d.next],
  ),
  proposal_failed: row<{ standard: string; problem: string; next: string }>(
    1,
    d => `no other limit was proposed for ${d.standard}: ${d.problem}`,
    d => [d.next],
  ),
  proposal_stale: row<{ standards: readonly string[]; problem: string }>(
    1,
    d => `the Proof does not speak of the limits that are proposed now (${few(d.standards)}): ${d.problem}`,
    () => ['git discern done'],
  ),
  awaiting_standard_approval: row<{
    proposals: readonly {
      readonly standard: string
      readonly from: number
      readonly to: number
      readonly reason: string
      readonly token: string
    }[]
    unknown: readonly string[]
  }>(
    1,
    d =>
      d.proposals.length > 0
        ? `landing needs the owner's approval of ${d.proposals.length === 1 ? 'a limit' : `${d.proposals.length} limits`}: ${d.proposals.map(p => `${p.standard} ${p.from} -> ${p.to} (${p.reason})`).join('; ')}${d.unknown.length > 0 ? `; nothing awaits the approval ${few(d.unknown)}` : ''}`
        : `nothing awaits the approval ${few(d.unknown)}`,
    d =>
      d.proposals.length > 0
        ? [
            `ask the owner; after a yes: git discern accept --confirmed ${d.proposals.map(p => `--approve-standard ${p.token}`).join(' ')}`,
            `after a no: restore ${d.proposals.map(p => `the limit ${p.from} of ${p.standard}`).join(' and ')} in discern.toml, commit, and run: git discern done`,
          ]
        : ['git discern accept --confirmed'],
  ),
  hooks_not_installed: row<{ reason: string; choices: readonly [string, ...string[]] }>(
    3,
    d => `everything but the hooks is set up: ${d.reason}`,
    d => d.choices,
  ),
  doctor_failed: row<{ problems: readonly string[]; next: readonly [string, ...string[]] }>(
    1,
    d => `${d.problems.length} ${d.problems.length === 1 ? 'thing is' : 'things are'} wrong: ${d.problems.join('; ')}`,
    d => d.next,
  ),
  awaiting_confirmation: row<{ deed: string; command: string }>(
    1,
    d => `${d.deed}, and nobody has said yes`,
    d => [`say yes at a terminal, or: ${d.command}`],
  ),
  terminal_yes_required: row<{ deed: string; found: string; command: string }>(
    1,
    d => `${d.deed}: expected a yes at an interactive terminal, found ${d.found}; everything is kept`,
    d => [`at an interactive terminal, outside CI: ${d.command}`, `to see what would happen: ${d.command} --dry-run`],
  ),
  logbook_in_use: row<{ verb: string; at: string; until: string; command: string }>(
    1,
    d => `git discern ${d.verb} began at ${d.at} and has not ended; its end would be parted from its begin`,
    d => [`wait for it to end, or, if it was killed, until ${d.until}; then: ${d.command}`],
  ),
  delivery_unknown: row<{ name: string; known: readonly string[] }>(
    1,
    d => (d.name === '' ? 'which delivery is meant is not clear' : `there is no delivery ${d.name}`),
    d =>
      d.known.length === 0
        ? ['git discern delivery start <name>']
        : [`name one of ${few(d.known)}`, 'git discern delivery status'],
  ),
  delivery_invalid: row<{ where: string; problem: string }>(
    1,
    d => `${d.where} is no delivery record that can be trusted: ${d.problem}`,
    d => [`look at it: ${d.where}; nothing was changed`],
  ),
  delivery_illegal: row<{ problem: string; next: string }>(
    1,
    d => d.problem,
    d => [d.next],
  ),
  delivery_conflict: row<{ name: string; remote: string; generation: number }>(
    1,
    d =>
      `delivery ${d.name} went on here and at ${d.remote} from generation ${d.generation}; both sides are kept, and nothing is promoted`,
    d => [
      `look at both: git discern delivery status ${d.name} --all`,
      `git discern delivery resolve ${d.name} --keep local|${d.remote}`,
    ],
  ),
  promotion_lost: row<{
    name: string
    expected: { generation: number; commit: string }
    found: { generation: number; commit: string }
  }>(
    1,
    d =>
      `${d.name} is at generation ${d.found.generation} for ${d.found.commit}, and generation ${d.expected.generation} for ${d.expected.commit} was to be promoted; nothing was promoted`,
    d => [`look at it again: git discern delivery status ${d.name}`],
  ),
  observation_incomplete: row<{ conditions: readonly string[] }>(
    1,
    d => `not every condition is true, so that there is no CP7: ${few(d.conditions)}`,
    () => ['when the deployment is what it should be: git discern delivery observe'],
  ),
  record_mismatch: row<{ file: string; mismatches: readonly string[] }>(
    1,
    d => `${d.file} is not the record that is expected: ${d.mismatches.join('; ')}`,
    () => ['download the artifact of that run again, or say what you expect: git discern delivery verify -h'],
  ),
  notes_conflict: row<{ commits: readonly string[] }>(
    1,
    d => `two different Proofs claim ${d.commits.length === 1 ? 'commit' : 'commits'} ${few(d.commits)}`,
    d => [`git discern notes resolve ${d.commits[0] ?? '<commit>'} --keep local|remote`],
  ),
  notes_failed: row<{ reason: string; next: string }>(
    1,
    d => `the notes ref was not changed: ${d.reason}`,
    d => [d.next],
  ),
  git_failed: row<{ command: string; exitCode: number; stderr: string }>(
    1,
    d => `git ${d.command} ended with exit ${d.exitCode}${d.stderr ? `: ${d.stderr}` : ''}`,
    d => [`run it by hand to see more: git ${d.command}`],
  ),
  git_unavailable: row<{ reason: string }>(
    1,
    d => `git could not be run: ${d.reason}`,
    () => ['install git 2.36 or newer and put it on the PATH'],
  ),
  internal_error: row<{ detail: string }>(
    1,
    d => `this is a defect of git discern: ${d.detail}`,
    () => ['report it with the command you typed; nothing is known to be lost'],
  ),
} as const

export type Slug = keyof typeof refusals
export type RefusalData<S extends Slug> = (typeof refusals)[S] extends Row<infer Data> ? Data : never

/** What a verb throws when it will not, or cannot, go on. `partial` is merged into the result envelope (steps, data, ...). */
export class Refusal<S extends Slug = Slug> extends Error {
  readonly slug: S
  readonly detail: RefusalData<S>
  readonly partial: Readonly<Record<string, unknown>>

  constructor(slug: S, detail: RefusalData<S>, partial: Readonly<Record<string, unknown>> = {}) {
    super((refusals[slug] as unknown as Row<RefusalData<S>>).sentence(detail))
    this.name = 'Refusal'
    this.slug = slug
    this.detail = detail
    this.partial = partial
  }

  get exit(): number {
    return refusals[this.slug].exit
  }

  get next(): readonly string[] {
    return (refusals[this.slug] as unknown as Row<RefusalData<S>>).next(this.detail)
  }
}

/** Stops a verb because the person or the caller asked for it; exit 130, 143 or 129 by signal (facts 7.10). */
export class Interrupted extends Error {
  readonly signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP'

  constructor(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') {
    super(`interrupted by ${signal}`)
    this.name = 'Interrupted'
    this.signal = signal
  }
}

/** Throws what a signal was aborted with, as the interrupt that it means. */
export const throwIfInterrupted = ({ signal }: { readonly signal: AbortSignal }): void => {
  if (signal.aborted) throw signal.reason instanceof Interrupted ? signal.reason : new Interrupted('SIGINT')
}

/** The operating system's word for a failed call, for messages; never used to decide anything. */
export const reasonOf = (error: unknown): string => {
  if (error instanceof Error) {
    const code = (error as NodeJS.ErrnoException).code
    return code && !error.message.includes(code) ? `${code}: ${error.message}` : error.message
  }
  return String(error)
}

/** What the operating system says of a place that is full, protected or broken: the machine's trouble, not a defect of ours. */
const STORAGE_CODES = new Set([
  'ENOSPC',
  'EDQUOT',
  'EROFS',
  'EACCES',
  'EPERM',
  'EIO',
  'EMFILE',
  'ENFILE',
  'ENOTDIR',
  'EISDIR',
])

/** The refusal that an error is, or that a failed write of ours means; `undefined` for a defect. */
export const refusalOf = (error: unknown): Refusal | undefined => {
  if (error instanceof Refusal) return error
  if (!(error instanceof Error)) return undefined
  const { code, path } = error as NodeJS.ErrnoException
  if (code === undefined || !STORAGE_CODES.has(code)) return undefined
  return new Refusal('write_access', { path: path ?? 'the Git directory', reason: reasonOf(error) })
}
