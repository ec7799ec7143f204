/**
 * What a person reads of each verb's result. One row per verb; each view is a pure function of the result, so text and
 * Markdown can never say more than the JSON does.
 */
import type { Result } from '../result.ts'
import type { Block } from './render.ts'

/** `told` says that a person has already read on standard error what ran, line by line. */
type View = (result: Result, told: boolean) => readonly Block[]

const views: Readonly<Record<string, () => Promise<{ readonly view: View }>>> = {
  accept: () => import('./view/accept.ts'),
  checkpoints: () => import('./view/checkpoints.ts'),
  delivery: () => import('./view/delivery.ts'),
  doctor: () => import('./view/doctor.ts'),
  done: () => import('./view/done.ts'),
  evaluate: () => import('./view/evaluate.ts'),
  grant: () => import('./view/grant.ts'),
  logbook: () => import('./view/logbook.ts'),
  notes: () => import('./view/notes.ts'),
  patterns: () => import('./view/patterns.ts'),
  prepare: () => import('./view/prepare.ts'),
  queue: () => import('./view/queue.ts'),
  refresh: () => import('./view/refresh.ts'),
  setup: () => import('./view/setup.ts'),
  standards: () => import('./view/standards.ts'),
  status: () => import('./view/status.ts'),
  test: () => import('./view/test.ts'),
  update: () => import('./view/update.ts'),
}

/** The blocks of a result, with its advisories and hints last. */
export const view = async (result: Result, told = false): Promise<readonly Block[]> => {
  const row = views[result.verb]
  const body = row
    ? (await row()).view(result, told)
    : result.message && result.ok
      ? [{ kind: 'line', text: result.message } as const]
      : []
  const blocks: Block[] = [...body]
  for (const advisory of result.advisories ?? []) {
    blocks.push({ kind: 'line', text: `note: ${advisory.evidence}`, tone: 'warn' })
    blocks.push({ kind: 'line', text: `  next: ${advisory.next_action}` })
  }
  if (result.ok) for (const hint of result.hints ?? []) blocks.push({ kind: 'line', text: `next: ${hint}` })
  return blocks
}
