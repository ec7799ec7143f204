/** A collected change of a scratch repository, in few words. */
import assert from 'node:assert/strict'
import { type CollectedChange, collectChange, type Scope } from '../../src/change/effort.ts'
import type { ChangedFile } from '../../src/change/facts.ts'
import type { Worktree } from '../../src/git/repository.ts'

/** The change, which must be readable. */
export const changeOf = async (
  repository: Worktree,
  base: string,
  scope: Scope = { kind: 'worktree' },
): Promise<CollectedChange> => {
  const effort = await collectChange(repository, base, scope)
  assert.equal(effort.status, 'ok', JSON.stringify(effort))
  return effort.status === 'ok' ? effort.change : assert.fail()
}

const binary = (fact: ChangedFile['binary']): string =>
  'known' in fact ? (fact.known ? 'binary' : 'text') : fact.unavailable

/** One line for each file: path, kind, insertions, deletions, and text, binary or the reason why nobody knows. */
export const rows = ({ files }: { readonly files: readonly ChangedFile[] }): readonly string[] =>
  files.map(file => `${file.path} ${file.kind} +${file.insertions} -${file.deletions} ${binary(file.binary)}`)
