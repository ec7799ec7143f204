/** `git discern status`: where this change stands, what is owed, what landed, what is not published (facts 7.6). */

import type { Preflight } from '../checkpoint/preflight.ts'
import { evidenceOf, readQuestions } from '../checkpoint/question-store.ts'
import type { Context } from '../context.ts'
import { hookProblems, inspectHooks, missedHooks } from '../git/hooks.ts'
import { displayPath } from '../git/path.ts'
import { isAncestor, shortBranch } from '../git/refs.ts'
import { operationInProgress } from '../git/worktrees.ts'
import { pendingNotes } from '../landing/journal.ts'
import { STATUS_COLLECTION_LIMIT_COUNT } from '../limits.ts'
import { abbreviate } from '../proof/envelope.ts'
import { inspectMarker, type MarkerInspection } from '../proof/marker.ts'
import { type LandedReading, type NotesSource, readLanded } from '../proof/note.ts'
import { trackingRefs } from '../proof/remote.ts'
import type { Advisory, Result } from '../result.ts'
import { type Adoption, adoptFetched } from './adopt.ts'
import { configurationAdvisories, publicationCommands } from './advise.ts'
import type { Call } from './call.ts'
import { dropAdvisories, type EarlyLook, type Looked, lookEarly, lookHere } from './checkpoints.ts'
import { checkpointData } from './owed.ts'
import { queueForStatus } from './queue.ts'
import { openSituation, type Situation } from './situation.ts'

const VERB = 'status'

export const run = async (context: Context, call: Call): Promise<Result> => {
  const opening = await openSituation(context)
  const early = opening.configuration ? lookEarly(opening) : undefined
  const situation = { ...opening, state: await opening.state }
  const local = call.flags['local'] === true
  const optional = context.env['GIT_OPTIONAL_LOCKS'] !== '0' && !local
  const adoption = await adoptFetched(context, situation, { write: optional })
  const about = describeWork(situation, early)
  const asked = async (): Promise<Looked | undefined> => {
    const { relation } = await about
    // What has landed is asked about no more, and the trunk itself is nobody's change.
    if (!situation.configuration || relation === 'on-trunk' || relation === 'landed') return undefined
    return lookHere(situation, early)
  }
  const bound = call.flags['all'] === true ? Number.POSITIVE_INFINITY : STATUS_COLLECTION_LIMIT_COUNT
  const [work, looked, landed, hooks, queue] = await Promise.all([
    about,
    asked(),
    describeLanded(situation, adoption, local),
    describeHooks(context, situation),
    queueForStatus(situation, bound),
  ])
  const pending = (await pendingNotes(situation.worktree)).map(({ target, worktree_branch }) => ({
    commit: target,
    branch: shortBranch(worktree_branch),
  }))
  const published = publicationCommands(situation.entries, situation.trunk.name)
  const publication = adoption.publication.map(({ remote, state }) => ({
    remote,
    state,
    ...(state === 'published' ? {} : { command: published?.notes_command ?? `git push ${remote} refs/notes/discern` }),
  }))
  const questions = looked ? owedNow(looked.owed) : []
  const lists = bounded(
    {
      dirty: work.dirty,
      questions,
      queue: queue.rows,
      queue_unavailable: queue.unavailable,
      pending_notes: pending,
      conflicts: adoption.conflicts,
    },
    bound,
  )
  return {
    ok: true,
    verb: VERB,
    data: {
      set_up: situation.configuration !== undefined,
      branch: work.branch,
      head: work.head,
      trunk: work.trunk,
      relation: work.relation,
      ...(work.operation ? { operation: work.operation } : {}),
      marker: work.marker,
      missing: work.missing,
      hooks: hooks.data,
      proof_notes: { fetch: adoption.fetch, adopted: adoption.adopted, restored: adoption.restored, publication },
      ...landed.data(call.flags['verbose'] === true),
      ...lists.shown,
      projection: { mode: bound === Number.POSITIVE_INFINITY ? 'all' : 'bounded', omitted: lists.omitted },
    },
    advisories: [
      ...(situation.configuration ? configurationAdvisories(situation.configuration) : []),
      ...adoption.advisories,
      ...landed.advisories,
      ...(looked ? dropAdvisories(looked.owed) : []),
      ...hooks.advisories,
    ],
    hints: work.hints(
      pending.length > 0,
      publication.some(({ state }) => state === 'behind' || state === 'unknown') ? published?.command : undefined,
    ),
  }
}

/** Obligations as advice: what is owed, declared or not known yet, and the advice that fired. */
const owedNow = ({ checkpoints }: Preflight): readonly object[] =>
  checkpoints.filter(({ obligation, fired }) => obligation !== 'none' || fired).map(checkpointData)

type Lists = Readonly<Record<string, readonly unknown[]>>

/** Each list cut to the bound, and how many of each were left out (facts 7.6). */
const bounded = (
  lists: Lists,
  bound: number,
): { readonly shown: Lists; readonly omitted: Readonly<Record<string, number>> } => ({
  shown: Object.fromEntries(Object.entries(lists).map(([name, items]) => [name, items.slice(0, bound)])),
  omitted: Object.fromEntries(
    Object.entries(lists)
      .filter(([, items]) => items.length > bound)
      .map(([name, items]) => [name, items.length - bound]),
  ),
})

/** How the branch and the trunk relate; `unknown` where history is missing. */
type Relation = 'on-trunk' | 'ahead' | 'diverged' | 'landed' | 'no-trunk' | 'unknown'

const relate = async ({ worktree, state, trunk, refs }: Situation, early: EarlyLook | undefined): Promise<Relation> => {
  const tip = refs.get(trunk.ref)?.oid
  if (state.branch === trunk.ref || state.branch === trunk.target) return 'on-trunk'
  if (tip === undefined) return 'no-trunk'
  if (state.head === undefined) return 'unknown'
  if (tip === state.head) return 'landed'
  const asked = early?.head === state.head ? await early.contains : undefined
  const contains = asked ?? (await isAncestor(worktree, tip, state.head))
  if (contains === true) return 'ahead'
  const contained = await isAncestor(worktree, state.head, tip)
  if (contained === true) return 'landed'
  return contains === undefined || contained === undefined ? 'unknown' : 'diverged'
}

interface Work {
  readonly branch: string | null
  readonly head: string | null
  readonly trunk: object
  readonly relation: Relation
  readonly operation: string | undefined
  readonly marker: object
  readonly missing: { readonly done: readonly string[]; readonly accept: readonly string[] }
  readonly dirty: readonly string[]
  readonly hints: (owed: boolean, publish: string | undefined) => readonly string[]
}

/** Declaration-evidence identity of the branch at hand; `undefined` when it cannot be had. */
const evidenceNow = async ({ worktree, state }: Situation): Promise<string | undefined> => {
  const evidence = evidenceOf(await readQuestions(worktree, state.branch ?? ''))
  return 'known' in evidence ? evidence.known : undefined
}

const describeWork = async (situation: Situation, early: EarlyLook | undefined): Promise<Work> => {
  const { worktree, state, trunk, refs, configuration } = situation
  const paths = [...state.tracked, ...state.untracked]
  const dirty = paths.map(displayPath)
  const [relation, operation, inspection] = await Promise.all([
    relate(situation, early),
    operationInProgress(worktree.gitDir),
    inspectMarker(worktree, { head: state.head, dirty: paths, evidence: await evidenceNow(situation) }),
  ])
  const predecessor = refs.get(trunk.ref)?.oid
  const current =
    inspection.status === 'honored' && inspection.marker.proof?.claim.completion.candidate.predecessor === predecessor
  const before = [
    ...(configuration ? [] : ['this repository is not set up: git discern setup']),
    ...(state.branch === undefined ? ['HEAD is detached: git switch -c <branch>'] : []),
    ...(relation === 'on-trunk' ? ['the trunk itself cannot be proven: git switch -c <branch>'] : []),
    ...(relation === 'landed'
      ? [`${shortBranch(state.branch ?? 'HEAD')} has nothing that ${trunk.name} does not have`]
      : []),
    ...(relation === 'diverged' ? [`the branch does not contain ${trunk.name}: git discern update`] : []),
    ...(operation ? [`a ${operation} is in progress`] : []),
    ...(dirty.length > 0 ? [`${dirty.length} uncommitted ${dirty.length === 1 ? 'path' : 'paths'}`] : []),
  ]
  const proofMissing = current ? [] : [markerWords(inspection, current)]
  return {
    branch: state.branch ? shortBranch(state.branch) : null,
    head: state.head ?? null,
    trunk: {
      name: trunk.name,
      ref: trunk.ref,
      tip: predecessor ?? null,
      source: trunk.source,
      ...(trunk.remote ? { remote: trunk.remote } : {}),
    },
    relation,
    operation,
    marker: describeMarker(inspection, current),
    missing: { done: before, accept: [...before, ...proofMissing] },
    dirty,
    hints: (owed, publish) => {
      if (!configuration) return ['git discern setup']
      if (owed) return ['git discern accept   # records the note that is still owed']
      if (before.length === 0)
        return [current ? 'git discern accept --confirmed   # after the owner said yes' : 'git discern done']
      return publish ? [publish] : []
    },
  }
}

const markerWords = (inspection: MarkerInspection, current: boolean): string => {
  switch (inspection.status) {
    case 'honored':
      return current ? 'the Proof is current' : 'the trunk moved since the Proof was made: git discern done'
    case 'missing':
      return 'no Proof of this commit yet: git discern done'
    case 'stale':
      return `the Proof is for ${abbreviate(inspection.head)} (${inspection.reason}): git discern done`
    case 'dirty':
      return 'the Proof counts for the committed tree alone'
    case 'report_only':
      return 'the Proof is a CI report, which cannot land: git discern done'
    case 'newer':
      return 'the Proof was written by a newer git discern: update it'
    case 'unavailable':
    case 'read_failed':
      return `the Proof cannot be read: ${inspection.reason}`
  }
}

const describeMarker = (inspection: MarkerInspection, current: boolean): object => {
  const proof = inspection.status === 'honored' ? inspection.marker.proof : undefined
  return {
    status: inspection.status,
    current,
    explanation: markerWords(inspection, current),
    ...(proof && inspection.status === 'honored'
      ? { line: proof.line, completion: inspection.marker.completion ?? null }
      : {}),
  }
}

interface Landed {
  readonly data: (verbose: boolean) => object
  readonly advisories: readonly Advisory[]
}

/**
 * The Proof of the trunk's tip: of the fetched tip when it is ahead of the local one, else of the local one (document 000,
 * "a valid local or fetched trunk-tip note").
 */
const describeLanded = async (situation: Situation, adoption: Adoption, local: boolean): Promise<Landed> => {
  const { worktree, refs, trunk, entries } = situation
  const tip = refs.get(trunk.ref)?.oid
  const fetched = trunk.tracking === undefined || local ? undefined : refs.get(trunk.tracking)?.oid
  const sources: NotesSource[] = [
    ...(adoption.tip ? [{ ref: 'refs/notes/discern', tip: adoption.tip }] : []),
    ...(local
      ? []
      : trackingRefs(entries).flatMap(ref => (refs.get(ref) ? [{ ref, tip: refs.get(ref)?.oid ?? '' }] : []))),
  ]
  const ahead =
    fetched !== undefined &&
    fetched !== tip &&
    (tip === undefined || (await isAncestor(worktree, tip, fetched)) === true)
  const candidates = [...(ahead && fetched ? [fetched] : []), ...(tip ? [tip] : [])]
  const readings: LandedReading[] = []
  for (const commit of candidates) {
    const reading = await readLanded(worktree, sources, commit)
    readings.push(reading)
    if (reading.kind === 'proof') break
  }
  const shown = readings.find(({ kind }) => kind === 'proof') ?? readings[0]
  return {
    data: verbose => ({ trunk_proof: shown?.kind ?? 'no-trunk', ...landedData(shown, verbose) }),
    advisories: readings.flatMap(landedAdvisory),
  }
}

/** The keys of document 000; over JSON the Proof is a summary without its page (facts 11.3). */
const landedData = (reading: LandedReading | undefined, verbose: boolean): object => {
  switch (reading?.kind) {
    case 'proof': {
      const { completion, ...claim } = reading.payload.proof
      const { acceptance, presentation } = reading.payload
      return {
        landed_proof: {
          commit: reading.commit,
          commit_at: reading.commitAt,
          ref: reading.ref,
          proof: {
            ...claim,
            completion: { candidate_id: completion.candidate_id, proof_id: completion.proof_id },
            line: presentation.line,
            ...(verbose ? { markdown: presentation.markdown } : {}),
            ...(acceptance ? { consent: acceptance.consent, variances: acceptance.variances } : {}),
          },
        },
      }
    }
    case 'stale':
      return { landed_proof_stale: { commit: reading.commit, ref: reading.ref, reason: reading.reason } }
    case 'unsupported':
      return { landed_proof_unsupported: { commit: reading.commit, ref: reading.ref, format: reading.format } }
    default:
      return {}
  }
}

const landedAdvisory = (reading: LandedReading): readonly Advisory[] => {
  const next = `git notes --ref=discern show ${reading.commit}`
  switch (reading.kind) {
    case 'foreign':
      return [
        {
          kind: 'note-not-evidence',
          evidence: `the note on ${abbreviate(reading.commit)} is bound to another commit, ${reading.bound}`,
          next_action: next,
        },
      ]
    case 'malformed':
      return [
        {
          kind: 'note-not-evidence',
          evidence: `the note on ${abbreviate(reading.commit)} is malformed: ${reading.reason}`,
          next_action: next,
        },
      ]
    default:
      return []
  }
}

const describeHooks = async (
  context: Context,
  { worktree, entries }: Situation,
): Promise<{ readonly data: object; readonly advisories: readonly Advisory[] }> => {
  const programs = { node: context.node, launcher: context.launcher, version: context.version }
  const [inspection, missed] = await Promise.all([inspectHooks(worktree, entries, programs), missedHooks(worktree)])
  const problems = hookProblems(inspection)
  return {
    data: {
      mechanism: inspection.mechanism,
      directory: inspection.directory.kind,
      events: inspection.events.map(({ event, state }) => ({ event, state })),
      missed: missed.length,
    },
    advisories: [
      ...problems.map(
        ({ problem, next }) => ({ kind: 'hooks-unavailable', evidence: problem, next_action: next }) as const,
      ),
      ...(missed.length > 0
        ? [
            {
              kind: 'hooks-unavailable',
              evidence: `hooks could not start git discern ${missed.length} ${missed.length === 1 ? 'time' : 'times'}; what they would have done is done now`,
              next_action: 'git discern refresh',
            } as const,
          ]
        : []),
    ],
  }
}
