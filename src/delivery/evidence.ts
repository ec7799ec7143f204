/**
 * Evidence as it is typed, `<part>=<value>`, and as it is recorded (facts 15). A value says what kind of thing it is, so that
 * nothing that can change passes for something that cannot. Pure; what has to be looked up is a wish that the verb fulfils.
 */
import { Refusal } from '../errors.ts'
import type { Evidence } from './record.ts'
import type { Stage } from './stage.ts'

/** A value whose hash or object id is not known yet. */
export type Wish = { readonly part: string } /** SHA-256 of a file, computed here. */ & (
  | { readonly kind: 'file'; readonly path: string }
  /** A job of the Proof of the source commit; `*` is all of them. */
  | { readonly kind: 'gate'; readonly id: string }
  /** Anything git can resolve to an object. */
  | { readonly kind: 'object'; readonly revision: string }
)

export type Typed = Evidence | Wish

export const isWish = (typed: Typed): typed is Wish => ['file', 'gate', 'object'].includes(typed.kind)

/** How each kind is typed, for refusals and help. */
export const FORMS =
  'sha256:<hex> [<name>], https://…#sha256:<hex>, file:<path>, git:<object>, gate:<job>, or a sentence where a statement is enough'

const refuse = (what: string, expected: string, found: string): never => {
  throw new Refusal('invalid_value', { what, expected, found, next: 'git discern delivery -h' })
}

/** One `<part>=<value>` for a stage. Refuses with `invalid_value`, naming the parts of the stage or the forms of a value. */
export const parseEvidence = (stage: Stage, text: string): Typed => {
  const at = text.indexOf('=')
  const [name, value] = at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1).trim()]
  const part = stage.parts.find(one => one.name === name)
  if (!part) {
    return refuse('--evidence', `one of ${stage.parts.map(one => one.name).join(', ')} for ${stage.id}, then =`, text)
  }
  return parseValue(part.name, part.statement === true, value)
}

/** A value of one part. */
export const parseValue = (part: string, statement: boolean, value: string): Typed => {
  const what = `--evidence ${part}`
  const digest = /^sha256:([0-9a-f]{64})(?:\s+(.+))?$/.exec(value)
  if (digest) return { part, kind: 'digest', sha256: digest[1] ?? '', ...(digest[2] ? { name: digest[2] } : {}) }
  if (/^https?:\/\//.test(value)) {
    const [, url, sha256] = /^([^#\s]+)#sha256:([0-9a-f]{64})$/.exec(value) ?? []
    if (!url || !sha256)
      return refuse(what, 'the digest of what is there, since a URL can change: https://…#sha256:<hex>', value)
    return { part, kind: 'digest', sha256, url }
  }
  const [, scheme, rest] = /^(sha256|file|git|gate):(.*)$/s.exec(value) ?? []
  if (scheme === 'file' && rest) return { part, kind: 'file', path: rest }
  if (scheme === 'git' && rest) return { part, kind: 'object', revision: rest }
  if (scheme === 'gate' && rest) return { part, kind: 'gate', id: rest }
  if (scheme !== undefined || value === '' || !statement) return refuse(what, FORMS, value === '' ? 'nothing' : value)
  return { part, kind: 'statement', text: value }
}
