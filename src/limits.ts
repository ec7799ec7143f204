/** Every number that the specification or the design fixes. The unit is in the name, the paragraph in the comment. */

/** Wall-clock budget of one git process that answers a question; nothing that git is asked here takes longer (facts 4.1). */
export const GIT_CALL_LIMIT_MS = 30_000
/** Largest output of one git process that is held in memory; a larger one is an error, never a silent cut (design 6, case 80). */
export const GIT_OUTPUT_LIMIT_BYTES = 256 * 1024 * 1024
/** Objects a partial clone lacks, over which an older git dies, that are asked for in one run before that is an error (case 58). */
export const PROMISED_OBJECT_LIMIT_COUNT = 256
/** How often a lost compare-and-swap of a notes ref is tried again before it is reported (design 4.8). */
export const REF_RETRY_LIMIT_COUNT = 64
/** How often git may refuse to move a notes ref while nobody else has moved it, before that is reported (case 84). */
export const REF_REFUSED_LIMIT_COUNT = 8
/** Longest pause between two tries of a lost compare-and-swap. */
export const REF_RETRY_PAUSE_LIMIT_MS = 150
/** A tree level of the notes tree with more leaves than this is split by the next two digits, as git's own fan-out would. */
export const NOTES_LEAF_LIMIT_COUNT = 256
/** A level that another writer laid out flatter than that is left as it is up to this many leaves, then it is split too. */
export const NOTES_FOREIGN_LEAF_LIMIT_COUNT = 4096
/** Largest note that is read as an envelope; a larger blob is reported as malformed. */
export const NOTE_LIMIT_BYTES = 8 * 1024 * 1024
/** How long another holder of a worktree's lock is waited for (facts 10.1: acceptance does not wait). */
export const LOCK_WAIT_LIMIT_MS = 0
/** Temporary files of ours that are older than this are removed by the next writer (case 83). */
export const TEMPORARY_FILE_AGE_LIMIT_MS = 24 * 60 * 60 * 1000
/** Abbreviation of `proof.head` in hexadecimal digits (facts 9.1). */
export const PROOF_HEAD_DIGITS = 12
/** Largest `discern.toml` that is read. */
export const CONFIGURATION_LIMIT_BYTES = 1024 * 1024
/** Longest text of `adds_matching` and `removes_matching`, as UTF-8 (facts 2.2). */
export const LITERAL_LIMIT_BYTES = 128
/** Bytes at the start of either side in which a NUL makes a file binary, as for git without attributes (facts 2.1). */
export const BINARY_PREFIX_BYTES = 8_000
/** Longest changed line without its line ending; one byte more makes the file's lines unavailable (facts 2.2). */
export const CHANGED_LINE_LIMIT_BYTES = 8_192
/** Changed lines of all files together (facts 2.2). */
export const CHANGED_LINES_LIMIT_COUNT = 65_536
/** One file's patch, or the bytes of one untracked file (facts 2.2). */
export const CHANGED_FILE_LIMIT_BYTES = 262_144
/** What is read of all patches and untracked files together (facts 2.2). */
export const CHANGED_TOTAL_LIMIT_BYTES = 2_097_152
/** Bytes that one definition may compare: each line's payload and one more, times the patterns (facts 2.2). */
export const COMPARISON_WORK_LIMIT_BYTES = 67_108_864
/** What `git rev-list` may print for the history of a branch (facts 2.1). */
export const HISTORY_LIMIT_BYTES = 4 * 1024 * 1024
/** Paths whose content one git process hashes (facts 4.1). */
export const HASH_BATCH_COUNT = 500
/** Tries of a failing batch of files, halved each time, before the rest of it is unreadable. */
export const HASH_TRY_LIMIT_COUNT = 32
/** Default limit of one job in seconds; 0 means none (facts 7.11). */
export const JOB_TIMEOUT_DEFAULT_S = 600
/** How long a job's processes get between the polite and the final signal (case 82). */
export const JOB_TERMINATION_GRACE_MS = 1_000
/** How long the output pipes of an exited job are still drained; a descendant may hold them open for ever (case 82). */
export const JOB_DRAIN_LIMIT_MS = 250
/** Output of one job that is kept, first and last half; what lies between is counted and left out. */
export const JOB_OUTPUT_LIMIT_BYTES = 4 * 1024 * 1024
/** Last lines of a failed job that are shown to a person. */
export const JOB_TAIL_LINES = 20
/** Longest of those lines; what is longer is cut. */
export const JOB_TAIL_LINE_LIMIT_CHARACTERS = 500
/** How long a killed process may take to vanish before it is killed again or reported (case 82). */
export const JOB_KILL_LIMIT_MS = 250
/** How often the processes of a job that is being ended are looked at. */
export const JOB_POLL_MS = 10
/** Fewest jobs that run side by side, however few processors there are. */
export const JOB_PARALLEL_MINIMUM_COUNT = 2
/** How often a taken test slot is looked at (facts 7.11, `concurrent_test_runs`). */
export const SLOT_POLL_MS = 200
/** How often the holder of a test slot shows that it is alive. */
export const SLOT_BEAT_MS = 5_000
/** A holder that did not show itself for this long is dead, wherever it runs. */
export const SLOT_SILENCE_LIMIT_MS = 30_000
/** Time between two drawings of the live progress. */
export const PROGRESS_REDRAW_MS = 100
/** Without a terminal, a job that still runs says so after this long, and then each time as long again, doubled. */
export const PROGRESS_STILL_RUNNING_MS = 30_000
/** Longest unfinished line of streamed output that is held back until its newline comes. */
export const PROGRESS_LINE_LIMIT_CHARACTERS = 4_096
/** Largest file that a question is read from (facts 6.3). */
export const QUESTION_FILE_LIMIT_BYTES = 65_536
/** Fewest deleted lines, and how many times the added ones, that make a change mostly a deletion (facts 2.3, step 13). */
export const DELETION_DOMINANT_MINIMUM_LINES = 50
export const DELETION_DOMINANT_RATIO = 2
/** A declared account of a drop is one line of at most this many characters (facts 6.4). */
export const DROP_ACCOUNT_LIMIT_CHARACTERS = 500
/** A declared-unmet rationale is one paragraph of at most this many characters, counted in code points (facts 5.3). */
export const RATIONALE_LIMIT_CHARACTERS = 500
/** How often the question store of a worktree is tried while another process writes it: two seconds in all (facts 5.1). */
export const QUESTION_STORE_TRY_COUNT = 80
/** Pause between two of those tries. */
export const QUESTION_STORE_PAUSE_MS = 25
/** Wall-clock budget of one `when` command (facts 2.6). */
export const WHEN_LIMIT_MS = 10_000
/** Output of one `when` command that is kept; more is an overflow (facts 2.6). */
export const WHEN_OUTPUT_LIMIT_BYTES = 256 * 1024
/** A reading that misses its limit by no more than this still holds it (facts 14). */
export const STANDARD_TOLERANCE = 1e-9
/** Largest artifact that a standard reads its number from. */
export const STANDARD_ARTIFACT_LIMIT_BYTES = 64 * 1024 * 1024
/** Longest piece of a producer's output that a message about a metric quotes. */
export const METRIC_QUOTE_LIMIT_CHARACTERS = 60
/** Collections in the default `status` JSON hold at most this many items (facts 7.6). */
export const STATUS_COLLECTION_LIMIT_COUNT = 6
/** Sequence reservations that are kept so that a stalled writer cannot reuse a number (facts 8.5, rule 8). */
export const SEQUENCE_KEEP_COUNT = 64
/** Largest hook file that is read to see whose it is; a larger one is some other program's, and is chained unread (case 6). */
export const HOOK_LIMIT_BYTES = 1024 * 1024
/** Largest list of missed hooks that is read; the hooks themselves stop at a hundred lines (case 9). */
export const HOOK_MISSED_LIMIT_BYTES = 64 * 1024
/** How much newer than the configuration the hooks' stamp is at least: less than a tick of a file system's clock. */
export const HOOK_STAMP_TICK_MS = 1
/** How far the stamp stays behind the clock, so that a shell that compares whole seconds sees every later change (design 5). */
export const HOOK_STAMP_REST_MS = 1_000
/** First git version whose hooks can be defined in the configuration (case 8). */
export const CONFIG_HOOKS_GIT_VERSION = [2, 54] as const
/** Oldest git version that is supported. */
export const MINIMUM_GIT_VERSION = [2, 36] as const
/** Oldest Node.js version that is supported. */
export const MINIMUM_NODE_VERSION = [20, 12] as const
/** How long a program that `doctor` starts may take to say its version. */
export const DOCTOR_START_LIMIT_MS = 10_000
/** How often a checkout is brought along while somebody else holds its `index.lock`: 250 ms in all (case 85). */
export const CHECKOUT_TRY_COUNT = 5
/** Index from which tracked and untracked files are looked for side by side: about 10,000 paths (design 5). */
export const LARGE_INDEX_BYTES = 1024 * 1024
/** Files that the declared inputs of one producer may select; more bind its evidence to the commit (facts 8.3). */
export const INPUTS_LIMIT_COUNT = 100_000
/** Their contents in all. */
export const INPUTS_LIMIT_BYTES = 256 * 1024 * 1024
/** Newest commits that are shown of what a grant is about. */
export const AHEAD_SHOWN_COUNT = 10
/** Submissions whose obligations `queue` looks at; the others say so, and `--all` looks at every one (facts 10.5). */
export const QUEUE_ROW_LIMIT_COUNT = 50
/** Ignored files of a worktree that a retirement names; more are counted. */
export const IGNORED_SHOWN_COUNT = 6
/** The end of what a git command of the user's printed, kept for the message when it fails. */
export const USER_OUTPUT_KEPT_BYTES = 64 * 1024
/** Paths that one capture of a state observes, in the index, the work tree and submodules together (facts 12.5). */
export const STATE_PATH_LIMIT_COUNT = 20_000
/** What git prints for one capture of a state, both streams, and the contents that are read (facts 12.5). */
export const STATE_LIMIT_BYTES = 64 * 1024 * 1024
/** The one deadline of everything that validation evidence is made of (facts 12.5). */
export const STATE_LIMIT_MS = 5_000
/** Files of a captured state that are read at the same time. */
export const STATE_READ_COUNT = 32
/** Repositories inside a checkout that are asked at the same time, two git processes each. */
export const STATE_REPOSITORY_COUNT = 4
/** Jobs of one execution envelope (facts 12.5). */
export const EXECUTION_JOB_LIMIT_COUNT = 1_000
/** Canonical configuration, setup and job definitions of one execution envelope (facts 12.5). */
export const EXECUTION_LIMIT_BYTES = 1024 * 1024
/** Length of the key of validation evidence (facts 12.5). */
export const VALIDATION_KEY_BYTES = 32
/** Month files of the Logbook that are kept (facts 12.1). */
export const LOGBOOK_KEEP_MONTHS = 24
/** Events that a verb which works reads of the Logbook (facts 12.1). */
export const LOGBOOK_NEWEST_COUNT = 200
/** Longest line of the Logbook that is written, or read as one; a longer one is torn (facts 12.1). */
export const LOGBOOK_LINE_LIMIT_BYTES = 1024 * 1024
/** A month file is not written beyond this, and a larger one is not read. */
export const LOGBOOK_FILE_LIMIT_BYTES = 512 * 1024 * 1024
/** How often an event is written again because its file was taken away, or another writer's half line got in its way. */
export const LOGBOOK_TRY_COUNT = 8
/** What is read of a month file at once. */
export const LOGBOOK_CHUNK_BYTES = 128 * 1024
/** A begun verb without an end keeps seal and reset away for this long; then it was killed (facts 12.1). */
export const LOGBOOK_BEGUN_LIMIT_MS = 60 * 60 * 1000
/** Events that `logbook show` shows unless told otherwise. */
export const LOGBOOK_SHOWN_COUNT = 20
/** Most events that `logbook show` shows at once, since one answer is held in memory as a whole (design 5). */
export const LOGBOOK_SHOWN_LIMIT_COUNT = 10_000
/** Digits of a keyed digest that only has to tell a few things of one repository apart. */
export const KEYED_SHORT_DIGITS = 16
/** Branches whose configuration is remembered, those that changed last. */
export const EPOCH_BRANCH_LIMIT_COUNT = 256
/** Values of one condition that a finding names; the others are counted (facts 12.6). */
export const CONDITION_VALUE_LIMIT_COUNT = 16
/** Points of a series (facts 12.6). */
export const SERIES_LIMIT_COUNT = 24
/** Findings of one detector that are shown; `--all` shows every one (facts 12.6). */
export const FINDING_SHOWN_COUNT = 3
/** Newest runs, readings or landings that a trajectory is judged by. */
export const TRAJECTORY_WINDOW_COUNT = 200
/** The later half of green runs takes this many times the earlier one, with changes at most so many times as large (facts 12.6). */
export const DURATION_CREEP_RATIO = 1.5
export const DURATION_CREEP_FILES_RATIO = 1.25
/** Share of a gate's time from which one stage dominates it, and the shortest gate whose time is worth a thought. */
export const DOMINANT_STAGE_SHARE = 0.6
export const DOMINANT_STAGE_MINIMUM_MS = 30_000
/** Newest verdicts of one job that are looked at, and the branches from which its failures recur (facts 12.6). */
export const JOB_VERDICT_WINDOW_COUNT = 50
export const RECURRING_BRANCH_COUNT = 3
/** Red runs on the way to one green one (facts 12.6). */
export const LOOPS_TO_GREEN_RED_COUNT = 6
/** Share of the efforts from which a checkpoint that fires is noise (facts 12.6). */
export const CHECKPOINT_NOISY_SHARE = 0.8
/** Share of what landed under variance from which a checkpoint is not met any more (facts 12.6). */
export const CHECKPOINT_VARIED_SHARE = 0.5
/** Share of its room to the limit that a standard may lose before it is said. */
export const STANDARD_ROOM_LOST_SHARE = 0.5
/** How long a green change waits to land before that is said, and the share of its whole way that this is. */
export const LANDING_WAIT_MINIMUM_MS = 4 * 3_600_000
export const LANDING_WAIT_SHARE = 0.5
/** Generations of one delivery; more are no delivery that a person follows. */
export const DELIVERY_GENERATION_LIMIT_COUNT = 10_000
/** Largest body of an observed endpoint, and redirects that are followed, where `[delivery.endpoints]` does not say (facts 15). */
export const ENDPOINT_BODY_DEFAULT_BYTES = 1024 * 1024
export const ENDPOINT_REDIRECT_DEFAULT_COUNT = 3
/** How long a cancelled request may take to end by itself before its socket is destroyed (facts 15, cancellation). */
export const ENDPOINT_TERMINATION_GRACE_MS = 500
/** Longest text, and longest time, for which a regular expression of a condition is tried. */
export const CONDITION_MATCH_LIMIT_BYTES = 4 * 1024
export const CONDITION_MATCH_LIMIT_MS = 250
/** How far in the future a time may lie that has to be fresh: two clocks are never quite the same. */
export const CONDITION_CLOCK_LIMIT_MS = 60_000
/** Longest piece of an answer that a reason quotes. */
export const CONDITION_QUOTE_LIMIT_CHARACTERS = 80
/** Largest file that is read as the record of a delivery. */
export const DELIVERY_RECORD_LIMIT_BYTES = 1024 * 1024
/** How often a delivery that moves while it is read is read again. */
export const DELIVERY_ATTEMPT_LIMIT_COUNT = 5
