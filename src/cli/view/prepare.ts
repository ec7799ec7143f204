/** What a person reads after `prepare`: what failed, what was edited, what done will ask. */
import type { Result } from '../../result.ts'
import type { Block } from '../render.ts'
import { view as gateView } from './done.ts'

export const view = (result: Result, told: boolean): readonly Block[] => {
  const edited = ((result.data ?? {}) as { readonly edited?: readonly string[] }).edited ?? []
  return [
    ...gateView({ ...result, verb: 'done' }, told),
    ...(edited.length > 0
      ? [{ kind: 'line', text: 'edited:' } as const, { kind: 'list', items: edited } as const]
      : result.ok
        ? [{ kind: 'line', text: 'nothing had to be edited', tone: 'good' } as const]
        : []),
  ]
}
