/** A whole request to declare, checked before anything is written (facts 5.3). */
import type { RefusalData } from '../errors.ts'
import { RATIONALE_LIMIT_CHARACTERS } from '../limits.ts'
import type { Conclusion } from './question.ts'

/** What the caller typed, in the caller's order. */
export interface DeclarationRequest {
  readonly met: readonly string[]
  readonly unmet: readonly string[]
  readonly why: string | undefined
}

/** A conclusion that may be recorded; `why` is the trimmed text. */
export type Declared = Conclusion & { readonly checkpoint: string }

/** Why nothing of the request is recorded; `active` is what could have been declared, in code unit order. */
export interface DeclarationRefusal {
  readonly problem: 'no_open_question' | 'repeated_id' | 'several_unmet' | 'invalid_rationale' | 'why_without_unmet'
  readonly active: readonly string[]
  readonly data: RefusalData<'invalid_value'>
}

export type DeclarationCheck =
  | { readonly accepted: readonly Declared[]; readonly refused?: never }
  | { readonly refused: DeclarationRefusal; readonly accepted?: never }

/** Controls, formats (bidi, zero width), line and paragraph separators; lone surrogates have no canonical form to hash. */
const FORBIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u

/** What a rationale must be, in words. */
export const RATIONALE = `one paragraph of 1 to ${RATIONALE_LIMIT_CHARACTERS} characters without control, format or line separator characters`

/** The trimmed rationale, or what is wrong with it. Length is counted in code points. */
export const parseRationale = (text: string): { readonly why: string } | { readonly found: string } => {
  const why = text.trim()
  const length = [...why].length
  if (length === 0) return { found: 'nothing' }
  const forbidden = FORBIDDEN.exec(why)
  if (forbidden) {
    const code = (forbidden[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
    return { found: `the character U+${code}` }
  }
  return length > RATIONALE_LIMIT_CHARACTERS ? { found: `${length} characters` } : { why }
}

/**
 * Checks a request against the ids that can be declared now: those reconciled in this run and those stored that govern in stop
 * mode. All of it is accepted, or nothing (facts 5.3). Ids are shown by the caller through escaping.
 */
export const checkDeclarations = (request: DeclarationRequest, activeIds: Iterable<string>): DeclarationCheck => {
  const active = [...new Set(activeIds)].sort()
  const known = new Set(active)
  const refuse = (
    problem: DeclarationRefusal['problem'],
    data: Omit<RefusalData<'invalid_value'>, 'next'> & { readonly next?: string },
  ): DeclarationCheck => {
    const awaiting = active.length > 0 ? `can be declared now: ${active.join(', ')}` : 'no question can be declared now'
    return { refused: { problem, active, data: { next: `${awaiting}; see: git discern checkpoints`, ...data } } }
  }
  const ids = [...request.met, ...request.unmet]
  for (const [at, id] of ids.entries()) {
    const what = at < request.met.length ? '--met' : '--unmet'
    if (!known.has(id)) {
      const expected = active.length > 0 ? `one of ${active.join(', ')}` : 'an open question, and there is none'
      return refuse('no_open_question', { what, expected, found: id })
    }
    if (ids.indexOf(id) !== at) {
      return refuse('repeated_id', { what, expected: 'each checkpoint once', found: `${id} again` })
    }
  }
  const met = request.met.map((checkpoint): Declared => ({ checkpoint, conclusion: 'met' }))
  const [unmet, ...more] = request.unmet
  if (more.length > 0) {
    return refuse('several_unmet', {
      what: '--unmet',
      expected: 'at most one in one call',
      found: request.unmet.join(', '),
      next: `git discern done --unmet ${unmet} --why "<reason>"`,
    })
  }
  if (unmet === undefined) {
    if (request.why === undefined) return { accepted: met }
    return refuse('why_without_unmet', { what: '--why', expected: 'an --unmet that it explains', found: 'none' })
  }
  const rationale = parseRationale(request.why ?? '')
  if ('found' in rationale) {
    return refuse('invalid_rationale', {
      what: '--why',
      expected: RATIONALE,
      found: rationale.found,
      next: `git discern done --unmet ${unmet} --why "<reason>"`,
    })
  }
  return { accepted: [...met, { checkpoint: unmet, conclusion: 'unmet', why: rationale.why }] }
}
