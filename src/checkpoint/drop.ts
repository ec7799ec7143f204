/** Enforcement that was lost: every reason, and the record that travels with results, Proofs and notes (facts 6.4). */
import { DROP_ACCOUNT_LIMIT_CHARACTERS } from '../limits.ts'

/** The closed list of reasons: whether the whole policy or one entry is lost, and what that means. */
export const dropReasons = {
  merge_base_unresolved: { scope: 'policy', sentence: 'The policy commit cannot be found.' },
  governing_config_unreadable: { scope: 'policy', sentence: 'The governing configuration cannot be read.' },
  governing_config_invalid: { scope: 'policy', sentence: 'The governing configuration is wrong.' },
  open_question_store_unreadable: { scope: 'policy', sentence: 'The store of open questions cannot be read.' },
  open_question_store_corrupt: { scope: 'policy', sentence: 'The store of open questions is damaged.' },
  declaration_evidence_unavailable: { scope: 'policy', sentence: 'What was declared cannot be identified.' },
  strand_check_unavailable: { scope: 'policy', sentence: 'What a stage left behind cannot be compared.' },
  checkpoint_missing_question: { scope: 'entry', sentence: 'The checkpoint has no question.' },
  checkpoint_question_source_conflict: {
    scope: 'entry',
    sentence: 'The checkpoint has both a question and a question file.',
  },
  checkpoint_question_file_missing: { scope: 'entry', sentence: 'The question file is not in the policy commit.' },
  checkpoint_question_file_invalid_path: {
    scope: 'entry',
    sentence: 'The question file is no portable path inside the project.',
  },
  checkpoint_question_file_not_regular: { scope: 'entry', sentence: 'The question file is no regular file.' },
  checkpoint_question_file_oversized: { scope: 'entry', sentence: 'The question file is too large.' },
  checkpoint_question_file_invalid_utf8: { scope: 'entry', sentence: 'The question file is not UTF-8.' },
  checkpoint_question_file_unreadable: { scope: 'entry', sentence: 'The question file cannot be read.' },
  checkpoint_selector_conflict: { scope: 'entry', sentence: 'The checkpoint has both a scope and paths.' },
  checkpoint_unknown_scope: { scope: 'entry', sentence: 'The scope of the checkpoint is not configured.' },
  effort_diff_unreadable: { scope: 'entry', sentence: 'The change cannot be read.' },
  trigger_content_unavailable: { scope: 'entry', sentence: 'Content that the trigger needs is not available.' },
  trigger_history_unavailable: { scope: 'entry', sentence: 'History that the trigger needs is not available.' },
  when_spawn_failed: { scope: 'entry', sentence: 'The condition could not be started.' },
  when_timeout: { scope: 'entry', sentence: 'The condition took too long.' },
  when_invalid_exit: { scope: 'entry', sentence: 'The condition ended with an exit code that decides nothing.' },
  when_cancelled: { scope: 'entry', sentence: 'The condition was interrupted.' },
  when_input_failed: { scope: 'entry', sentence: 'The input of the condition could not be written.' },
  when_input_cleanup_failed: { scope: 'entry', sentence: 'The input of the condition could not be removed.' },
  when_output_limit: { scope: 'entry', sentence: 'The condition printed too much.' },
  subject_unavailable: { scope: 'entry', sentence: 'The content that the question is about cannot be identified.' },
  open_question_store_rebuilt: {
    scope: 'entry',
    sentence: 'The damaged store of open questions was replaced; earlier conclusions are lost.',
  },
  open_question_store_write_failed: { scope: 'entry', sentence: 'The open question could not be recorded.' },
} as const satisfies Readonly<Record<string, { readonly scope: 'policy' | 'entry'; readonly sentence: string }>>

export type DropReason = keyof typeof dropReasons

/** Reasons of one scope. */
export type DropReasonOf<S extends 'policy' | 'entry'> = {
  [R in DropReason]: (typeof dropReasons)[R]['scope'] extends S ? R : never
}[DropReason]

/** Enforcement of a checkpoint that was lost, and why. A reason of a newer writer stays as it was read. */
export interface Drop {
  readonly scope: 'policy' | 'entry'
  readonly checkpoint: string | null
  readonly mode: 'stop' | 'advise' | null
  readonly policy_commit?: string
  readonly reason: string
  readonly account: string
}

/** Where enforcement was lost; an entry always knows its checkpoint and its policy. */
export type DropPlace<R extends DropReason> =
  R extends DropReasonOf<'policy'>
    ? { readonly policyCommit?: string | undefined }
    : { readonly policyCommit: string; readonly checkpoint: string; readonly mode: 'stop' | 'advise' }

/**
 * The record of one loss. The account becomes one line: control characters and white space collapse to one space, and what
 * is longer than 500 characters (code points) is cut to 497 and `...`. An empty account is the reason's own sentence. Pure.
 */
export const makeDrop = <R extends DropReason>(reason: R, account: string, place: DropPlace<R>): Drop => {
  const { scope, sentence } = dropReasons[reason]
  const {
    policyCommit,
    checkpoint,
    mode,
  }: Partial<Record<'policyCommit' | 'checkpoint', string | undefined>> & {
    readonly mode?: 'stop' | 'advise'
  } = place
  return {
    scope,
    checkpoint: checkpoint ?? null,
    mode: mode ?? null,
    ...(policyCommit === undefined ? {} : { policy_commit: policyCommit }),
    reason,
    account: oneLine(account) || sentence,
  }
}

const oneLine = (text: string): string => {
  const line = text
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
  const characters = [...line]
  if (characters.length <= DROP_ACCOUNT_LIMIT_CHARACTERS) return line
  return `${characters.slice(0, DROP_ACCOUNT_LIMIT_CHARACTERS - 3).join('')}...`
}

/** The drops in their order, each once (facts 6.4: deep equality). */
export const distinctDrops = (drops: readonly Drop[]): readonly Drop[] => {
  const seen = new Set<string>()
  return drops.filter(({ scope, checkpoint, mode, policy_commit, reason, account }) => {
    const key = JSON.stringify([scope, checkpoint, mode, policy_commit ?? null, reason, account])
    return !seen.has(key) && seen.add(key)
  })
}
