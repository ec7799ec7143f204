/** What a person reads after `setup`: line by line what was done, what was left alone and why. */
import type { Result, Step } from '../../result.ts'
import type { Block, Row, Tone } from '../render.ts'

interface SetupData {
  readonly config?: {
    readonly status: string
    readonly jobs: readonly { readonly name: string; readonly run: readonly string[]; readonly because: string }[]
  }
  readonly uninstalled?: boolean
}

/** One line for each step; what was done stands out from what was right already. */
export const stepRows = (steps: readonly Step[]): readonly Row[] =>
  steps.map(({ label, note, disposition, outcome }): Row => {
    const tone: Tone =
      outcome === 'failed' ? 'bad' : disposition === 'run' ? 'good' : outcome === 'skipped' ? 'warn' : 'dim'
    return [label, note ?? outcome ?? disposition, tone]
  })

const jobBlocks = (config: SetupData['config']): readonly Block[] =>
  config?.status === 'created' && config.jobs.length > 0
    ? [
        { kind: 'heading', text: 'the jobs it names, and where they were found' },
        {
          kind: 'rows',
          rows: config.jobs.map(({ name, run, because }): Row => [name, `${run.join(' && ')}   (${because})`]),
        },
      ]
    : []

export const view = (result: Result): readonly Block[] => {
  const steps = result.plan ?? result.steps ?? []
  if (steps.length === 0) return []
  const { config } = (result.data ?? {}) as SetupData
  const nothing = steps.every(({ disposition }) => disposition === 'skip')
  return [
    ...(result.dry_run ? [{ kind: 'line', text: 'would do this, and changed nothing:' } as const] : []),
    { kind: 'rows', rows: stepRows(steps) },
    ...jobBlocks(config),
    ...(nothing && !result.dry_run ? [{ kind: 'line', text: 'nothing had to change', tone: 'good' } as const] : []),
  ]
}
