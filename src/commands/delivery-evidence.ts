/** Looks up what evidence of a delivery names: digests of files, Git objects, jobs of a Proof (facts 15). Writes nothing. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { Context } from '../context.ts'
import type { Typed, Wish } from '../delivery/evidence.ts'
import { isWish } from '../delivery/evidence.ts'
import type { Evidence } from '../delivery/record.ts'
import { Refusal, reasonOf } from '../errors.ts'
import { NOTES_REF, readNote } from '../git/notes.ts'
import { readRefs } from '../git/refs.ts'
import type { Repository } from '../git/repository.ts'
import { isOid } from '../git/repository.ts'
import { git, gitOutput } from '../git/run.ts'
import type { ProofPayload } from '../proof/claim.ts'
import { abbreviate, readEnvelope } from '../proof/envelope.ts'

/** The Proof note of a commit: the blob that holds it, and what it says. */
export interface NotedProof {
  readonly blob: string
  readonly payload: ProofPayload
}

/** The readable, bound Proof note of a commit in the local notes, if there is one. */
export const readNotedProof = async (repository: Repository, commit: string): Promise<NotedProof | undefined> => {
  const tip = (await readRefs(repository, [NOTES_REF])).get(NOTES_REF)?.oid
  if (tip === undefined) return undefined
  const note = await readNote(repository, tip, commit)
  if (note.status !== 'one') return undefined
  const read = readEnvelope(note.bytes, commit)
  return read.kind === 'proof' && read.payload.proof.mode !== 'report'
    ? { blob: note.blob, payload: read.payload }
    : undefined
}

/** Ids of the jobs that a Proof has a receipt for: all of them passed. */
export const gatesOf = ({ payload }: NotedProof): readonly string[] =>
  payload.proof.completion.validation.receipts.map(({ requirement }) => requirement)

/** What was looked up, and which jobs of the Proof it rests on. */
export interface LookedUp {
  readonly evidence: readonly Evidence[]
  readonly gateIds: readonly string[]
}

export interface LookupPlace {
  readonly repository: Repository
  readonly commit: string
  readonly proof: NotedProof | undefined
}

/** Fulfils every wish. Refuses with `invalid_value` for a file, an object or a job that is not there. */
export const lookUp = async (context: Context, place: LookupPlace, typed: readonly Typed[]): Promise<LookedUp> => {
  const found: LookedUp[] = []
  for (const one of typed)
    found.push(isWish(one) ? await fulfil(context, place, one) : { evidence: [one], gateIds: [] })
  return {
    evidence: found.flatMap(({ evidence }) => evidence),
    gateIds: [...new Set(found.flatMap(({ gateIds }) => gateIds))],
  }
}

const fulfil = async (context: Context, place: LookupPlace, wish: Wish): Promise<LookedUp> => {
  const { repository, commit, proof } = place
  const what = `--evidence ${wish.part}`
  switch (wish.kind) {
    case 'file':
      return { evidence: [await fileEvidence(context, wish.part, wish.path)], gateIds: [] }
    case 'object': {
      const run = await git(repository, ['rev-parse', '--verify', '--quiet', '--end-of-options', wish.revision])
      const oid = run.stdout.toString('utf8').trim()
      if (run.exitCode !== 0 || !isOid(repository, oid)) {
        throw new Refusal('invalid_value', {
          what,
          expected: 'an object of this repository',
          found: wish.revision,
          next: `git rev-parse ${wish.revision}`,
        })
      }
      const name = wish.revision === oid ? {} : { name: wish.revision }
      return { evidence: [{ part: wish.part, kind: 'git', oid, ...name }], gateIds: [] }
    }
    case 'gate': {
      if (!proof) {
        throw new Refusal('invalid_value', {
          what,
          expected: `a job of the Proof of ${abbreviate(commit)}`,
          found: 'no Proof note on that commit',
          next: 'land it with git discern accept, or fetch the notes: git discern notes merge',
        })
      }
      const all = gatesOf(proof)
      const ids = wish.id === '*' ? all : all.filter(id => id === wish.id)
      if (ids.length === 0) {
        throw new Refusal('invalid_value', {
          what,
          expected: `a job of the Proof of ${abbreviate(commit)}: ${all.join(', ')}`,
          found: wish.id,
          next: `git notes --ref=discern show ${commit}`,
        })
      }
      return {
        evidence: [{ part: wish.part, kind: 'git', oid: proof.blob, name: `Proof note, ${ids.join(', ')}` }],
        gateIds: ids,
      }
    }
  }
}

/** The digest of a file as it stands. Refuses with `invalid_value` when it is no regular file that can be read. */
export const fileEvidence = async (context: Context, part: string, typed: string): Promise<Evidence> => {
  const path = resolve(context.cwd, typed)
  try {
    if (!(await stat(path)).isFile()) throw new Error('it is no regular file')
    const hash = createHash('sha256')
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
    return { part, kind: 'digest', sha256: hash.digest('hex'), name: basename(path) }
  } catch (error) {
    throw new Refusal('invalid_value', {
      what: `--evidence ${part}`,
      expected: 'a file that can be read',
      found: `${typed}: ${reasonOf(error)}`,
      next: `ls -l ${typed}`,
    })
  }
}

/** Exactly which paths a commit changed against another, as the digest of git's own NUL-terminated list. One git process. */
export const changedPathsEvidence = async (
  repository: Repository,
  part: string,
  base: string,
  commit: string,
): Promise<Evidence> => {
  const args = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--no-ext-diff', '--no-textconv', base, commit]
  const list = await gitOutput(repository, args)
  const count = list.reduce((total, byte) => total + (byte === 0 ? 1 : 0), 0)
  const name = `${count} ${count === 1 ? 'path' : 'paths'} of git diff --name-only -z ${abbreviate(base)} ${abbreviate(commit)}`
  return { part, kind: 'digest', sha256: createHash('sha256').update(list).digest('hex'), name }
}
