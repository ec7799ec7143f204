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

export interface PageInput {
  readonly claim: Omit<ProofClaim, 'completion'>
  readonly predecessor: string
  readonly ran: readonly RanRow[]
}

/** `<1s` is the floor: a shorter time says nothing about the change. */
export const durationText = (seconds: number): string => {
  if (seconds < 1) return '<1s'
  if (seconds < 60) return `${Math.round(seconds)}s`
  return `${Math.floor(seconds / 60)}m ${String(Math.round(seconds % 60)).padStart(2, '0')}s`
}

const diffstat = ({ files_total, insertions, deletions }: PageInput['claim']): string =>
  `${files_total} ${files_total === 1 ? 'file' : 'files'}, +${insertions} −${deletions}`

const lineOf = ({ claim }: PageInput): string => {
  const segments = [
    `gate passed for ${markdownCode(claim.branch)} at ${markdownCode(claim.head)}`,
    `${diffstat(claim)} against ${markdownCode(claim.trunk)}`,
    ...(claim.mode === 'report' ? ['report only, cannot land'] : []),
    `details: ${markdownCode('git discern status --verbose')}`,
  ]
  return `> **Proof:** ${segments.join(' · ')}`
}

const pageOf = ({ claim, predecessor, ran }: PageInput): string => {
  const rows = ran.map(
    row =>
      `| ${markdownText(row.name)} | ${markdownText(row.stage)} | ${markdownCode(row.command, true)} | ${markdownText(row.result)} | ${durationText(row.durationS)} |`,
  )
  return [
    `# Proof for ${markdownCode(claim.branch)}`,
    '',
    `The gate passed on a clean tree at ${markdownCode(claim.head)}: ${diffstat(claim)} against ${markdownCode(claim.trunk)}.`,
    '',
    '## Checkpoints',
    '',
    `Policy: ${markdownCode(predecessor.slice(0, PROOF_HEAD_DIGITS))}. No checkpoint fired.`,
    '',
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

/** The same after the landing: the consent source is appended to line and page (facts 9.2). */
export const presentLanding = (presentation: Presentation, consent: string): Presentation => ({
  line: `${presentation.line} · landed with ${consent} consent`,
  markdown: `${presentation.markdown}\nLanded with ${consent} consent.\n`,
})
