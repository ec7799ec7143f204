/**
 * The table of verbs. Help, argument checking, completion and the manual page are made from it, so a verb is described once.
 * `load` keeps the start cheap: only the verb that was typed is read.
 */
import type { Call, CommandModule, Flag } from './call.ts'

export type { Call, CommandModule, Flag } from './call.ts'

export interface Command {
  readonly name: string
  readonly summary: string
  /** Operands as help shows them, for example `[<commit>]`. */
  readonly operands?: string
  /** Fewest and most operands; none when absent. */
  readonly arity?: readonly [number, number]
  readonly flags: readonly Flag[]
  /** One paragraph for `-h` and the manual page: what it does, what it writes, when it refuses. */
  readonly description: string
  readonly examples: readonly string[]
  readonly group: 'start' | 'work' | 'inspect' | 'plumbing'
  /** Read-only verbs write nothing and start no configured command. */
  readonly readOnly: boolean
  /** Which calls of it the Logbook tells of; none when absent (facts 12.2). A dry run never is. */
  readonly records?: (call: Call) => boolean
  readonly load: () => Promise<CommandModule>
}

/** Help shows the verbs in these groups, in this order. */
export const commandGroups: readonly (readonly [Command['group'], string])[] = [
  ['start', 'prepare a repository'],
  ['work', 'finish a change'],
  ['inspect', 'read what was proven'],
  ['plumbing', 'for scripts and hooks'],
]

/** Flags that every verb has. */
export const commonFlags: readonly Flag[] = [
  { name: 'json', summary: 'print one JSON result on standard output' },
  { name: 'markdown', summary: 'print the result as Markdown' },
  { name: 'quiet', short: 'q', summary: 'print nothing but errors' },
  { name: 'help', short: 'h', summary: 'show this help' },
]

const dryRun: Flag = { name: 'dry-run', short: 'n', summary: 'say what would happen and change nothing' }

const always = (): boolean => true

export const commands: readonly Command[] = [
  {
    name: 'setup',
    group: 'start',
    readOnly: false,
    summary: 'make this repository ready, or undo that',
    description:
      'Finds the trunk and the commands this project already has, writes discern.toml when there is none, installs the hooks and adds the fetch mapping for Proof notes. Running it again changes nothing that is already right. A hooks directory outside the repository is never written to; then setup says so and exits with 3.',
    flags: [
      { name: 'trunk', value: 'branch', summary: 'use this branch as the trunk instead of detecting it' },
      {
        name: 'hooks-dir',
        value: 'directory',
        summary: 'install the hooks into this directory on purpose, wherever it is',
      },
      dryRun,
      {
        name: 'uninstall',
        summary: 'take the hooks and the fetch mapping away again; discern.toml and all notes stay',
      },
    ],
    examples: ['git discern setup --dry-run', 'git discern setup', 'git discern setup --uninstall'],
    load: () => import('./setup.ts'),
  },
  {
    name: 'refresh',
    group: 'start',
    readOnly: false,
    summary: 'converge hooks, fetch mapping and fetched notes again',
    description:
      'Does again what setup did, without touching discern.toml: chains displaced hooks, reconciles the fetch mapping with [repository].proof_notes_mode, adopts fetched notes and restores overwritten ones.',
    flags: [dryRun],
    examples: ['git discern refresh'],
    load: () => import('./refresh.ts'),
  },
  {
    name: 'doctor',
    group: 'start',
    readOnly: true,
    summary: 'test what would really happen here',
    description:
      'Asks git which hooks it would run, whether the recorded Node and git discern can start, how fetch would treat Proof notes, and whether the configuration loads. Exits with 1 when something is wrong.',
    flags: [{ name: 'verbose', short: 'v', summary: 'also list what is right' }],
    examples: ['git discern doctor'],
    load: () => import('./doctor.ts'),
  },
  {
    name: 'status',
    group: 'work',
    readOnly: true,
    summary: 'where this change stands, what is owed, what landed',
    description:
      'Shows branch and trunk, the Proof of this commit, what is missing before done and accept, the state of hooks and mapping, the Proof of the trunk tip and what is not yet published. Like git status it does one optional write, adopting fetched notes; GIT_OPTIONAL_LOCKS=0 turns that off.',
    flags: [
      { name: 'verbose', short: 'v', summary: 'show the whole Proof page of the trunk tip' },
      { name: 'all', summary: 'do not shorten lists' },
      { name: 'local', summary: 'read the local notes alone, not fetched ones' },
    ],
    examples: ['git discern status', 'git discern status --verbose', 'git discern status --json'],
    load: () => import('./status.ts'),
  },
  {
    name: 'done',
    group: 'work',
    readOnly: false,
    summary: 'run the gate and stamp a Proof for this commit',
    description:
      'Needs a clean, committed branch that contains the trunk. Questions that the change raised are asked first and must be answered with --met or --unmet before any job runs; an answer is recorded as your judgement and kept until what it is about changes. Then it runs fix, build, check and test jobs and the gates of changed scopes; when all pass and nothing moved meanwhile, a Proof for this commit is kept in the worktree. A current Proof is reused without running anything.',
    flags: [
      { name: 'met', value: 'id', repeatable: true, summary: 'declare that the question of this checkpoint is met' },
      { name: 'unmet', value: 'id', repeatable: true, summary: 'declare it unmet; once, with --why' },
      { name: 'why', value: 'rationale', summary: 'why it is unmet: one paragraph of 1 to 500 characters' },
      dryRun,
      { name: 'rerun', summary: 'run the gate even though nothing changed' },
      { name: 'ci', summary: 'report only: run everything, enforce and record nothing; works on a detached commit' },
      {
        name: 'policy-base',
        value: 'ref',
        summary: 'with --ci: the commit whose policy counts and the change is measured from',
      },
      { name: 'standalone', summary: 'with --ci: outside a task worktree, as CI is' },
    ],
    examples: [
      'git discern done',
      'git discern done --dry-run',
      'git discern done --met rollback-path',
      'git discern done --ci --standalone --policy-base origin/main',
      'git discern done --unmet rollback-path --why "the table is new, nothing can be rolled back"',
    ],
    records: always,
    load: () => import('./done.ts'),
  },
  {
    name: 'accept',
    group: 'work',
    readOnly: false,
    summary: 'land the proven commit on the trunk',
    description:
      "Moves the trunk to the proven commit by compare-and-swap, brings the checkout of the trunk along without losing local edits, and records the Proof as a note. Needs the owner's consent: --confirmed, a yes at the terminal, a grant of this branch, or scopes that the trunk pre-authorizes. What is declared unmet lands only when each variance is named together with --confirmed; no grant covers one, nor a proposed limit, which lands only with its own token. Never pushes; it prints the command that does.",
    flags: [
      { name: 'confirmed', summary: 'the owner said yes in this conversation' },
      {
        name: 'variance',
        value: 'id',
        repeatable: true,
        summary: 'with --confirmed: the owner allows this checkpoint to land declared unmet',
      },
      {
        name: 'approve-standard',
        value: 'token',
        repeatable: true,
        summary: 'with --confirmed: the owner approves this proposed limit; git discern standards shows its token',
      },
      { name: 'target', value: 'branch', summary: 'land what this branch asked to land, from any checkout' },
      { name: 'all-ready', summary: 'land one after another what is a fast-forward and covered by a grant' },
      {
        name: 'retire',
        summary: 'then remove the landed branch and its linked worktree, when nothing else is in them',
      },
      dryRun,
    ],
    examples: [
      'git discern accept --dry-run',
      'git discern accept --confirmed',
      'git discern accept --confirmed --variance rollback-path',
      'git discern accept --target feature --confirmed',
      'git discern accept --all-ready',
    ],
    records: always,
    load: () => import('./accept.ts'),
  },
  {
    name: 'update',
    group: 'work',
    readOnly: false,
    summary: 'bring the trunk into this branch',
    description:
      'Runs your own git merge, or git rebase with --rebase, with your environment, hooks, signing and identity. Needs a branch of its own without uncommitted changes to tracked files. A conflict is left as git leaves it, with the two ways on. Afterwards the Proof is that of the old commit: run done again.',
    flags: [
      { name: 'rebase', summary: 'put the commits of this branch on top of the trunk instead of merging' },
      { name: 'from', value: 'revision', summary: 'bring this in instead of the local trunk' },
      dryRun,
    ],
    examples: ['git discern update', 'git discern update --rebase', 'git discern update --from origin/main'],
    records: always,
    load: () => import('./update.ts'),
  },
  {
    name: 'queue',
    group: 'work',
    readOnly: true,
    summary: 'what waits to land, and for what',
    description:
      'One row for what each branch of any worktree asked to land with done, and one for each landing whose Proof note is owed: how it stands to the trunk, whether it is ready, which permission covers it, and what it waits for with the command that settles it. Writes nothing and runs no condition.',
    flags: [{ name: 'all', summary: 'look at every submission, however many there are' }],
    examples: ['git discern queue', 'git discern queue --json'],
    load: () => import('./queue.ts'),
  },
  {
    name: 'grant',
    group: 'work',
    readOnly: false,
    summary: 'allow the next landing of this branch beforehand',
    description:
      "The owner's act: a yes at the terminal, or --confirmed. It names the branch that is checked out, is spent by its next landing and by no other, and never covers a variance, a proposed limit, a stop whose condition could not be decided, or a later landing.",
    flags: [
      { name: 'confirmed', summary: 'the owner said yes in this conversation' },
      { name: 'show', summary: 'say whether this branch has a grant' },
      { name: 'revoke', summary: 'take the grant of this branch back' },
      dryRun,
    ],
    examples: ['git discern grant --dry-run', 'git discern grant --confirmed', 'git discern grant --revoke'],
    records: ({ flags }) => flags['show'] !== true,
    load: () => import('./grant.ts'),
  },
  {
    name: 'prepare',
    group: 'work',
    readOnly: false,
    summary: 'fix, regenerate and check; say what will be asked',
    description:
      'Runs the fix jobs, the generators and the check jobs on the tree as it is, uncommitted changes included, and lists the obligations of the checkpoints as advice. No tests, no build, no Proof; it may edit files.',
    flags: [],
    examples: ['git discern prepare'],
    records: always,
    load: () => import('./prepare.ts'),
  },
  {
    name: 'test',
    group: 'work',
    readOnly: false,
    summary: 'run the test stage alone',
    description:
      'Runs the test jobs of discern.toml, or those that are named, on the tree as it is, uncommitted changes included; works on any branch. What a test needs from other stages is taken as it lies in the tree. Always runs them, and makes no Proof; the Logbook remembers what was tested, so that git discern patterns can tell a flaky test.',
    operands: '[<job>...]',
    arity: [0, 64],
    flags: [],
    examples: ['git discern test', 'git discern test unit'],
    records: always,
    load: () => import('./test.ts'),
  },
  {
    name: 'standards',
    group: 'work',
    readOnly: false,
    summary: 'measure the values that may only get better',
    description:
      'Measures the standards of discern.toml, runs what that takes, and shows each value beside its limit and beside the limit of the trunk. What was measured with the same inputs before is not measured again without --force. Fails when a value misses its limit, cannot be had, or when the branch loosened a limit. With --pin limits are tightened to what was reached, less the margin, in a commit of their own. A branch that has to miss the limit of the trunk proposes another one: propose measures, writes the value into discern.toml in a commit of its own, and the owner approves exactly that when it lands.',
    operands: '[<name>...] | propose <name>',
    arity: [0, 64],
    flags: [
      dryRun,
      { name: 'force', summary: 'measure again what was measured with the same inputs' },
      { name: 'pin', summary: 'tighten the limits to what was reached, in a commit of their own' },
      { name: 'reason', value: 'reason', summary: 'with propose: why, in one paragraph of 1 to 500 characters' },
    ],
    examples: [
      'git discern standards',
      'git discern standards coverage --force',
      'git discern standards --pin',
      'git discern standards propose coverage --reason "the old parser had most of the tests"',
    ],
    records: always,
    load: () => import('./standards.ts'),
  },
  {
    name: 'delivery',
    group: 'work',
    readOnly: false,
    summary: 'follow one release from its scope to production, CP0 to CP7',
    description:
      'Keeps each stage of a release as an immutable record with its exit evidence, one generation after the other on refs/discern/delivery/<name>. status says what counts, what is missing and what a changed source took away; record writes the evidence of a stage, whose parts are named when one is missing; source takes another commit, after which CP2 and everything later no longer count; move goes to BLOCKED, REJECTED, ROLLED_BACK or back; promote releases, and only at the generation and for the commit that were looked at. observe asks the live endpoints that the trunk names and writes a CP7 record when every condition is true: the only command here that uses the network. verify checks such a file. resolve decides between two clones that went on from one generation.',
    operands:
      '[status] | start <name> | record <CPn> [<name>] | source <commit> [<name>] | move <state> [<name>] | promote [<name>] | observe [<name>] | verify <file> | resolve <name>',
    arity: [0, 3],
    flags: [
      { name: 'commit', value: 'commit', summary: 'with start, record, promote, verify: the source commit' },
      { name: 'corpus', value: 'revision', summary: 'the revision of the corpus that goes with the source' },
      {
        name: 'evidence',
        value: 'part=value',
        repeatable: true,
        summary:
          'one part of the exit evidence: sha256:<hex>, https://…#sha256:<hex>, file:<path>, git:<object>, gate:<job>, or a sentence',
      },
      { name: 'gate', value: 'id', repeatable: true, summary: 'with record: a gate that was green elsewhere' },
      { name: 'artifact', value: 'path', repeatable: true, summary: 'with record CP5: a file whose digest is sealed' },
      { name: 'rollback', value: 'how', summary: 'how it is taken back' },
      { name: 'reason', value: 'reason', summary: 'with move and source: why' },
      { name: 'blocker', value: 'what', repeatable: true, summary: 'with move BLOCKED: what is in the way' },
      { name: 'generation', value: 'n', summary: 'only when the delivery is still at this generation' },
      { name: 'file', value: 'path', summary: 'with record: a record that was made elsewhere' },
      { name: 'confirmed', summary: 'with record CP6: the accountable owner said yes in this conversation' },
      { name: 'run', value: 'id', summary: 'the run of the automated build' },
      { name: 'attempt', value: 'n', summary: 'the attempt of that run' },
      { name: 'output', value: 'directory', summary: 'with observe: where the record is written' },
      { name: 'repository', value: 'identity', summary: 'with verify: the repository that is expected' },
      { name: 'keep', value: 'side', summary: 'with resolve: local, or the remote whose side counts' },
      { name: 'all', summary: 'with status: every generation' },
    ],
    examples: [
      'git discern delivery start 2026.4',
      'git discern delivery record CP0 --evidence owner="Ada Lovelace" --evidence authority="release manager" --evidence scope=file:docs/scope.md --evidence rollback-boundary="the last tag" --rollback "nothing is out yet"',
      'git discern delivery record CP3 --evidence lint=gate:lint --evidence tests=gate:test',
      'git discern delivery promote --generation 9 --commit v1.2.0',
      'git discern delivery observe --run 4711 --attempt 1',
      'git discern delivery verify release-checkpoint-4711-1.json --commit v1.2.0',
    ],
    records: ({ operands: [action] }) =>
      ['start', 'record', 'source', 'move', 'promote', 'resolve'].includes(action ?? ''),
    load: () => import('./delivery.ts'),
  },
  {
    name: 'checkpoints',
    group: 'inspect',
    readOnly: true,
    summary: 'the questions that govern here, and what this change owes',
    description:
      'Shows the checkpoints of the trunk, what makes each fire, whether it would fire for this change, committed or not, and the state of its question and declaration. Runs no condition and writes nothing.',
    flags: [],
    examples: ['git discern checkpoints', 'git discern checkpoints --json'],
    load: () => import('./checkpoints.ts'),
  },
  {
    name: 'patterns',
    group: 'inspect',
    readOnly: true,
    summary: 'what the Logbook shows: flaky jobs, red loops, slower gates',
    description:
      'Looks through the Logbook of this repository for what is worth changing, and says what was seen, out of how many, and what is not known. CI, dry runs and the branch git discern was set up on are left out. Never decides anything: the exit code is 0 whether something was found or not. Names of detectors choose some of them. Writes nothing.',
    operands: '[<detector>...]',
    arity: [0, 64],
    flags: [
      { name: 'stats', summary: 'show what the Logbook holds instead: events, outcomes, evidence, what is left out' },
      { name: 'all', summary: 'show every finding, not the first three of each detector' },
      {
        name: 'logbook-file',
        value: 'path',
        summary: 'read this file of lines, as an archive is, instead of the Logbook',
      },
    ],
    examples: ['git discern patterns', 'git discern patterns same-tree-flake --all', 'git discern patterns --stats'],
    load: () => import('./patterns.ts'),
  },
  {
    name: 'logbook',
    group: 'inspect',
    readOnly: false,
    summary: 'what the Logbook of this repository holds, and its end',
    description:
      'The Logbook keeps metadata of what verbs did in this repository, for all its worktrees, and never leaves it: no content, path, command or value is in it. show prints its newest events, the newest last; stats counts it; path prints its folder; these write nothing. seal moves its events into an archive, and reset deletes them for good: both keep everything unless a person says yes at an interactive terminal, and refuse in a pipe, in CI, with --json or --markdown, and while another verb is under way. Neither is recorded.',
    operands: 'show | stats | path | seal | reset',
    arity: [1, 1],
    flags: [
      { name: 'count', short: 'n', value: 'count', summary: 'with show: so many events, 20 unless given' },
      { name: 'all', summary: 'with show: every event, up to 10,000' },
      { name: 'verb', value: 'verb', summary: 'with show: events of this verb alone' },
      { name: 'dry-run', summary: 'with seal and reset: say what would happen and change nothing' },
    ],
    examples: [
      'git discern logbook show',
      'git discern logbook show --verb done -n 50 --json',
      'git discern logbook stats',
      'cd "$(git discern logbook path)"',
      'git discern logbook seal',
    ],
    load: () => import('./logbook.ts'),
  },
  {
    name: 'evaluate',
    group: 'plumbing',
    readOnly: true,
    summary: 'evaluate the checkpoints of a revision or the work tree',
    description: 'Writes nothing and starts nothing. The hooks call it after a merge, a rebase or an amend.',
    operands: '[<revision>]',
    arity: [0, 1],
    flags: [
      { name: 'porcelain', summary: 'one stable line per checkpoint' },
      { name: 'exit-code', summary: 'exit with 1 when a declaration is owed' },
    ],
    examples: ['git discern evaluate --porcelain'],
    load: () => import('./evaluate.ts'),
  },
  {
    name: 'notes',
    group: 'plumbing',
    readOnly: false,
    summary: 'list, merge or resolve Proof notes',
    description:
      'list prints the notes of this repository; merge adopts the fetched ones; resolve decides between two different Proofs for one commit and records the decision as a merge.',
    operands: 'list | merge | resolve <commit>',
    arity: [1, 2],
    flags: [{ name: 'keep', value: 'local|remote', summary: 'with resolve: the Proof that stands' }],
    examples: ['git discern notes list', 'git discern notes merge', 'git discern notes resolve HEAD --keep local'],
    load: () => import('./notes.ts'),
  },
  {
    name: 'hook',
    group: 'plumbing',
    readOnly: false,
    summary: 'what the installed hooks run',
    description: 'Adopts fetched notes, reconciles the fetch mapping and evaluates checkpoints. Never fails.',
    operands: '<event> [<argument>...]',
    arity: [1, 9],
    flags: [],
    examples: ['git discern hook post-merge 0'],
    load: () => import('./hook.ts'),
  },
]
