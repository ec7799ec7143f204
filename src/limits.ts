/** Every number that the specification or the design fixes. The unit is in the name, the paragraph in the comment. */

/** Wall-clock budget of one git process that answers a question; nothing that git is asked here takes longer (facts 4.1). */
export const GIT_CALL_LIMIT_MS = 30_000
/** Largest output of one git process that is held in memory; a larger one is an error, never a silent cut (design 6, case 80). */
export const GIT_OUTPUT_LIMIT_BYTES = 256 * 1024 * 1024
/** How often a lost compare-and-swap of a notes ref is tried again before it is reported (design 4.8). */
export const REF_RETRY_LIMIT_COUNT = 64
/** Longest pause between two tries of a lost compare-and-swap. */
export const REF_RETRY_PAUSE_LIMIT_MS = 50
/** A tree level of the notes tree with more leaves than this is split by the next two digits, as git's own fan-out would. */
export const NOTES_LEAF_LIMIT_COUNT = 256
/** Largest note that is read as an envelope; a larger blob is reported as malformed. */
export const NOTE_LIMIT_BYTES = 8 * 1024 * 1024
/** How long another holder of a worktree's lock is waited for (facts 10.1: acceptance does not wait). */
export const LOCK_WAIT_LIMIT_MS = 0
/** Temporary files of ours that are older than this are removed by the next writer (case 83). */
export const TEMPORARY_FILE_AGE_LIMIT_MS = 24 * 60 * 60 * 1000
/** Abbreviation of `proof.head` in hexadecimal digits (facts 9.1). */
export const PROOF_HEAD_DIGITS = 12
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
/** A declared account of a drop is one line of at most this many characters (facts 6.4). */
export const DROP_ACCOUNT_LIMIT_CHARACTERS = 500
/** Collections in the default `status` JSON hold at most this many items (facts 7.6). */
export const STATUS_COLLECTION_LIMIT_COUNT = 6
/** Sequence reservations that are kept so that a stalled writer cannot reuse a number (facts 8.5, rule 8). */
export const SEQUENCE_KEEP_COUNT = 64
/** First git version whose hooks can be defined in the configuration (case 8). */
export const CONFIG_HOOKS_GIT_VERSION = [2, 54] as const
/** Oldest git version that is supported. */
export const MINIMUM_GIT_VERSION = [2, 36] as const
