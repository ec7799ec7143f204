/** What a person reads of `update`: what came in and how, and that a Proof is for one commit. */
import type { Result } from '../../result.ts'
import type { Block } from '../render.ts'

interface UpdateData {
  readonly branch: string
  readonly source: string
  readonly source_commit: string
  readonly before: string
  readonly after?: string
  readonly kind: 'up-to-date' | 'fast-forward' | 'merge' | 'rebase'
  readonly proof?: { readonly head: string }
}

const short = (oid: string | undefined): string => (oid ?? '').slice(0, 12)

const WORDS: Readonly<Record<UpdateData['kind'], string>> = {
  'up-to-date': 'nothing to do',
  'fast-forward': 'fast-forward',
  merge: 'merge',
  rebase: 'rebase',
}

export const view = (result: Result): readonly Block[] => {
  if (!result.data) return []
  const { branch, source, source_commit, before, after, kind, proof } = result.data as UpdateData
  if (kind === 'up-to-date') {
    return [{ kind: 'line', text: `already up to date: ${branch} contains ${source} (${short(source_commit)})` }]
  }
  const [step] = result.plan ?? []
  if (step)
    return [
      { kind: 'line', text: `would run (${WORDS[kind]}):` },
      { kind: 'code', text: step.label },
    ]
  return [
    { kind: 'line', text: `brought ${source} (${short(source_commit)}) into ${branch}: ${WORDS[kind]}`, tone: 'good' },
    { kind: 'rows', rows: [[branch, `${short(before)} -> ${short(after)}`]] },
    ...(proof
      ? [{ kind: 'line', text: `the Proof is for the old commit, ${short(proof.head)}`, tone: 'warn' } as const]
      : []),
  ]
}
