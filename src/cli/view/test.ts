/** What a person reads after `test`: what ran, what failed and how to see it again. */
import type { Result } from '../../result.ts'
import type { Block } from '../render.ts'
import { view as gateView } from './done.ts'

export const view = (result: Result, told: boolean): readonly Block[] => {
  const jobs = ((result.data ?? {}) as { readonly jobs?: readonly { readonly id: string }[] }).jobs ?? []
  const names = jobs.map(({ id }) => id).join(', ')
  return [
    ...gateView({ ...result, verb: 'done' }, told),
    ...(result.ok ? [{ kind: 'line', text: `tests passed: ${names}`, tone: 'good' } as const] : []),
  ]
}
