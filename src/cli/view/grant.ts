/** What a person reads of `grant`: whether the next landing is allowed, and what such a permission never covers. */
import type { Result } from '../../result.ts'
import type { Block } from '../render.ts'

interface GrantData {
  readonly branch: string
  readonly head: string | null
  readonly trunk: string
  readonly granted: boolean
  readonly grant?: { readonly granted_at: number }
  readonly revoked?: boolean
  readonly never_covered: string
  readonly ahead?: {
    readonly count: number
    readonly newest: readonly { readonly oid: string; readonly subject: string }[]
  }
}

const since = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')

const sentence = ({ branch, trunk, granted, grant, revoked }: GrantData): string => {
  if (revoked !== undefined) return revoked ? `took the grant of ${branch} back` : `${branch} had no grant`
  if (!granted) return `${branch} has no grant: its landing on ${trunk} needs the owner's word`
  return `the next landing of ${branch} on ${trunk} is allowed, since ${since(grant?.granted_at ?? 0)}`
}

export const view = (result: Result): readonly Block[] => {
  if (!result.data) return []
  const data = result.data as GrantData
  const [step] = result.plan ?? []
  const blocks: Block[] = [
    { kind: 'line', text: sentence(data), tone: data.granted ? 'good' : 'plain' },
    ...(step?.disposition === 'run' ? [{ kind: 'line', text: `would ${step.label}` } as const] : []),
  ]
  if (data.ahead && data.ahead.count > 0) {
    const { count, newest } = data.ahead
    blocks.push({
      kind: 'list',
      items: [
        ...newest.map(({ oid, subject }) => `${oid.slice(0, 12)} ${subject}`),
        ...(count > newest.length ? [`and ${count - newest.length} older`] : []),
      ],
    })
  }
  if (data.revoked === undefined)
    blocks.push({ kind: 'line', text: `a grant never covers ${data.never_covered}`, tone: 'dim' })
  return blocks
}
