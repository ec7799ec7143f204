/** What a person reads after `doctor`: what failed, with `-v` also what works. Warnings follow as notes. */
import type { Result } from '../../result.ts'
import type { Block, Row, Tone } from '../render.ts'

interface DoctorData {
  readonly checks?: readonly { readonly name: string; readonly verdict: string; readonly evidence: string }[]
  readonly counts?: { readonly ok: number; readonly warning: number; readonly failed: number }
  readonly verbose?: boolean
}

const TONES: Readonly<Record<string, Tone>> = { ok: 'good', warning: 'warn', failed: 'bad' }

export const view = (result: Result): readonly Block[] => {
  const { checks = [], counts, verbose = false } = (result.data ?? {}) as DoctorData
  if (!counts) return []
  const shown = checks.filter(({ verdict }) => verbose || verdict === 'failed')
  const rows = shown.map(({ name, verdict, evidence }): Row => [name, `${verdict}: ${evidence}`, TONES[verdict]])
  const summary = `${counts.ok} ok, ${counts.warning} with a warning, ${counts.failed} failed`
  return [
    ...(rows.length > 0 ? [{ kind: 'rows', rows } as const] : []),
    { kind: 'line', text: `tested: ${summary}`, tone: counts.failed > 0 ? 'bad' : 'good' },
  ]
}
