/** The Proof line and the Proof page (facts 9). Presentation never takes part in identity. */
import { markdownCode, markdownText } from '../escape.ts'
import { PROOF_HEAD_DIGITS } from '../limits.ts'
import type { Presentation, ProofClaim } from './claim.ts'

/** One row of the table of what ran. */
export interface RanRow {
  readonly name: string
  readonly stage: string
  readonly command: string
  readonly result: string
  /** Seconds. */
  readonly durationS: number
}

/** One conclusion of the author: a judgement, never a machine's answer. A report lists what nobody concluded. */
export interface DeclaredRow {
  readonly id: string
  readonly conclusion: 'met' | 'unmet' | 'unreviewed'
  readonly why: string | undefined
  readonly question: string
  readonly source: string | undefined
  readonly teach: string | undefined
  readonly reference: string | undefined
  /** Displayed paths. */
  readonly changed: readonly string[]
  readonly related: readonly string[]
}

/** What was measured, and whether the limits could be compared with those of the trunk. */
export interface StandardsShown {
  readonly rows: readonly { readonly name: string; readonly words: string; readonly verdict: string }[]
  /** Why they could not. */
  readonly unverified: string | undefined
}

export interface PageInput {
  readonly claim: Omit<ProofClaim, 'completion'>
  readonly predecessor: string
  readonly ran: readonly RanRow[]
  readonly declared: readonly DeclaredRow[]
  readonly standards: StandardsShown
}

/** `<1s` is the floor: a shorter time says nothing about the change. */
export const durationText = (seconds: number): string => {
  if (seconds < 1) return '<1s'
  if (seconds < 60) return `${Math.round(seconds)}s`
  return `${Math.floor(seconds / 60)}m ${String(Math.round(seconds % 60)).padStart(2, '0')}s`
}

const diffstat = ({ files_total, insertions, deletions }: PageInput['claim']): string =>
  `${files_total} ${files_total === 1 ? 'file' : 'files'}, +${insertions} −${deletions}`

/** `1 declared unmet, owner variance required, 2 declared met`; of a report, how many nobody reviewed. */
const declaredWords = ({ claim, declared }: PageInput): readonly string[] => {
  const count = (conclusion: DeclaredRow['conclusion']): number =>
    declared.filter(row => row.conclusion === conclusion).length
  const words = [
    ...(count('unreviewed') > 0 ? [`${count('unreviewed')} unreviewed`] : []),
    ...(count('unmet') > 0
      ? [`${count('unmet')} declared unmet${claim.mode === 'report' ? '' : ', owner variance required'}`]
      : []),
    ...(count('met') > 0 ? [`${count('met')} declared met`] : []),
  ]
  if (words.length === 0) return []
  return [`${claim.mode === 'report' ? 'checkpoints reported, not enforced: ' : ''}${words.join(', ')}`]
}

const declaredBlock = (row: DeclaredRow): readonly string[] => [
  `### ${markdownCode(row.id)}: ${row.conclusion === 'unreviewed' ? 'unreviewed' : `declared ${row.conclusion}`}`,
  '',
  markdownText(row.question.trim().replaceAll('\n', ' ')),
  '',
  ...(row.why ? [`- Why: ${markdownCode(row.why)}`] : []),
  ...(row.source ? [`- Question from: ${markdownCode(row.source)}`] : []),
  ...(row.teach ? [`- Teaches: ${markdownText(row.teach)}`] : []),
  ...(row.reference ? [`- Reference: ${markdownText(row.reference)}`] : []),
  ...(row.changed.length > 0 ? [`- Changed: ${row.changed.map(path => markdownCode(path)).join(', ')}`] : []),
  ...(row.related.length > 0 ? [`- Related: ${row.related.map(path => markdownCode(path)).join(', ')}`] : []),
  '',
]

const dropsBlock = ({ claim }: PageInput): readonly string[] => {
  const drops = claim.checkpoint_drops ?? []
  if (drops.length === 0) return []
  return [
    '### Enforcement that was lost',
    '',
    ...drops.map(
      ({ checkpoint, reason, account }) =>
        `- ${checkpoint ? `${markdownCode(checkpoint)}: ` : ''}${markdownCode(reason)}: ${markdownText(account)}`,
    ),
    '',
  ]
}

const checkpointsBlock = (input: PageInput): readonly string[] => {
  const { claim, declared, predecessor } = input
  const unmet = claim.mode !== 'report' && declared.some(({ conclusion }) => conclusion === 'unmet')
  return [
    claim.mode === 'report'
      ? '## Checkpoints, reported, not enforced'
      : declared.length > 0
        ? '## Checkpoints, declared by the author'
        : '## Checkpoints',
    '',
    `Policy: ${markdownCode(predecessor.slice(0, PROOF_HEAD_DIGITS))}.${declared.length > 0 ? '' : ' No question needed a conclusion.'}`,
    '',
    ...declared.flatMap(declaredBlock),
    ...(unmet ? ['Landing needs the owner’s variance for each conclusion that is declared unmet.', ''] : []),
    ...dropsBlock(input),
  ]
}

/** `standards: held, 1 improved`, or that nobody could verify the limits; nothing without standards (facts 9.2). */
const standardsWords = ({ standards: { rows, unverified } }: PageInput): readonly string[] => {
  if (rows.length === 0) return []
  const improved = rows.filter(({ verdict }) => verdict === 'improved').length
  return [
    `standards: ${unverified === undefined ? 'held' : 'UNVERIFIED'}${improved > 0 ? `, ${improved} improved` : ''}`,
  ]
}

const AWAITING = 'awaiting exact owner approval'

const proposalWords = ({ claim: { standard_proposals = [] } }: PageInput): readonly string[] => {
  const [first, ...others] = standard_proposals
  if (!first) return []
  const what =
    others.length === 0
      ? `proposal: ${markdownCode(first.standard)} ${first.trunk_limit} → ${first.proposed_limit}`
      : `${standard_proposals.length} proposals`
  return [`${what}, ${AWAITING}`]
}

/** Before everything else: what the owner has to approve (facts 9.3). */
const proposalsBlock = ({ claim: { standard_proposals = [] } }: PageInput): readonly string[] =>
  standard_proposals.length === 0
    ? []
    : [
        '## Proposed limits',
        '',
        ...standard_proposals.flatMap(proposal => [
          `- ${markdownCode(proposal.standard)}: ${proposal.trunk_limit} → ${proposal.proposed_limit}, measured ${proposal.measurement}. Why: ${markdownCode(proposal.reason)}. Evidence: ${proposal.evidence_paths.map(path => markdownCode(path)).join(', ')}`,
        ]),
        '',
        'Each lands only with the owner’s approval of exactly it.',
        '',
      ]

const standardsBlock = ({ standards: { rows, unverified } }: PageInput): readonly string[] =>
  rows.length === 0
    ? []
    : [
        '## Standards',
        '',
        unverified === undefined
          ? 'The limits were compared with those of the trunk.'
          : `**UNVERIFIED**: the limits were compared with nothing: ${markdownText(unverified)}`,
        '',
        ...rows.map(({ name, words }) => `- ${markdownCode(name)}: ${markdownText(words)}`),
        '',
      ]

const lineOf = (input: PageInput): string => {
  const { claim } = input
  const segments = [
    `gate passed for ${markdownCode(claim.branch)} at ${markdownCode(claim.head)}`,
    `${diffstat(claim)} against ${markdownCode(claim.trunk)}`,
    ...standardsWords(input),
    ...proposalWords(input),
    ...declaredWords(input),
    ...(claim.mode === 'report' ? ['report only, cannot land'] : []),
    `details: ${markdownCode('git discern status --verbose')}`,
  ]
  return `> **Proof:** ${segments.join(' · ')}`
}

const pageOf = (input: PageInput): string => {
  const { claim, ran } = input
  const rows = ran.map(
    row =>
      `| ${markdownText(row.name)} | ${markdownText(row.stage)} | ${markdownCode(row.command, true)} | ${markdownText(row.result)} | ${durationText(row.durationS)} |`,
  )
  return [
    `# Proof for ${markdownCode(claim.branch)}`,
    '',
    `The gate passed on a clean tree at ${markdownCode(claim.head)}: ${diffstat(claim)} against ${markdownCode(claim.trunk)}.`,
    '',
    ...proposalsBlock(input),
    ...standardsBlock(input),
    ...checkpointsBlock(input),
    '## What ran',
    '',
    '| name | stage | command | result | duration |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
    `Look at the change: ${markdownCode(`git diff ${claim.trunk}...${claim.branch}`)}`,
    '',
  ].join('\n')
}

/** Both renderings of a completed claim. */
export const presentProof = (input: PageInput): Presentation => ({ line: lineOf(input), markdown: pageOf(input) })

/**
 * The same after the landing: what waited for the owner is resolved, and the consent is appended to line and page (facts 9.2).
 * `variances` are ids of checkpoints, `approved` names of standards.
 */
export const presentLanding = (
  presentation: Presentation,
  {
    consent,
    variances,
    approved,
  }: { readonly consent: string; readonly variances: readonly string[]; readonly approved: readonly string[] },
): Presentation => {
  const allowed = variances.map(id => markdownCode(id)).join(', ')
  const limits = approved.map(name => markdownCode(name)).join(', ')
  return {
    line: `${presentation.line.replace(', owner variance required', ', owner variance authorized').replace(AWAITING, 'approved by the owner')} · landed with ${consent} consent`,
    markdown: `${presentation.markdown}\nLanded with ${consent} consent.\n${allowed ? `\nThe owner authorized a variance for ${allowed}.\n` : ''}${limits ? `\nThe owner approved the proposed limit of ${limits}.\n` : ''}`,
  }
}
