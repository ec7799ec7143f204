/** What `evaluate` prints: stable lines with `--porcelain`, else one sentence when something is owed. */
import type { Result } from '../../result.ts'
import type { Block } from '../render.ts'

export const view = (result: Result): readonly Block[] => {
  const { porcelain } = (result.data ?? {}) as { readonly porcelain?: readonly string[] }
  if (porcelain) return porcelain.map(text => ({ kind: 'plumbing', text }) as const)
  return result.ok && result.message ? [{ kind: 'line', text: result.message }] : []
}
