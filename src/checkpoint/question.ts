/** Open questions and the declarations that answer them, as far as a Proof binds to them (facts 4.3, 5). */
import { sha256 } from '../store/digest.ts'

export interface StoredDeclaration {
  readonly conclusion: 'met' | 'unmet'
  readonly definitionHash: string
  readonly subject: string
  readonly why?: string
}

export interface StoredQuestion {
  readonly checkpoint: string
  readonly definitionHash: string
  readonly subject: string
  readonly declaration?: StoredDeclaration
}

/**
 * Declaration-evidence identity: 64 hexadecimal digits over every stored question and its declaration, without instants. No
 * questions have one stable value everywhere (facts 4.3).
 */
export const evidenceIdentity = (questions: readonly StoredQuestion[]): string => {
  const lines = questions.map(({ checkpoint, definitionHash, subject, declaration }) => {
    const declared = declaration
      ? [declaration.conclusion, declaration.definitionHash, declaration.subject, declaration.why ?? ''].join('\0')
      : '-'
    return [checkpoint, definitionHash, subject, declared].join('\0')
  })
  return sha256(['checkpoint-evidence/v1', ...lines.sort()].join('\n'))
}
