/** What `doctor` tests about Proof notes: what a fetch would write, what the notes refs hold, who would sign for new ones. */

import { quoted } from '../escape.ts'
import { configValues } from '../git/config.ts'
import { LOCAL_NOTES_REF, NOTES_REF } from '../git/notes.ts'
import { git } from '../git/run.ts'
import { pendingNotes } from '../landing/journal.ts'
import { mayCarryMapping } from '../proof/refspec.ts'
import { mappingHazards, trackingClashes, trackingRef } from '../proof/remote.ts'
import { type Check, type Finding, failed, ok, warning } from './doctor-check.ts'
import type { DoctorFacts } from './doctor-facts.ts'
import { type FetchTrial, parseRefspec, tryFetch } from './fetch-trial.ts'
import { readNotesState } from './notes-state.ts'

const fetchLines = (facts: DoctorFacts, remote: string): readonly string[] =>
  configValues(facts.entries, `remote.${remote}.fetch`)

const wantsNotes = ({ configuration }: DoctorFacts): boolean =>
  'value' in configuration && configuration.value?.repository.proofNotesMode === 'fetch'

/** What any remote has, whatever else the lines name; a branch that is gone there is the user's own affair. */
const ordinaryRefs = (lines: readonly string[]): readonly string[] => {
  const named = lines.map(parseRefspec).flatMap(({ source }) => (source.includes('*') || source === '' ? [] : [source]))
  const full = named.map(name => (name.startsWith('refs/') ? name : `refs/heads/${name}`))
  return [...new Set(['HEAD', 'refs/heads/main', ...full.filter(name => !isNotes(name))])]
}

const isNotes = (source: string): boolean => /^(?:refs\/(?:heads\/)?)?notes\//.test(source)

/** Before anybody published a Proof, and after; a sibling shows what a pattern takes in besides. */
const tryBoth = async (facts: DoctorFacts, remote: string): Promise<readonly [FetchTrial, FetchTrial]> => {
  const lines = fetchLines(facts, remote)
  const before = ordinaryRefs(lines)
  return Promise.all([
    tryFetch(facts.worktree, lines, before),
    tryFetch(facts.worktree, lines, [...before, NOTES_REF, `${NOTES_REF}-sibling`]),
  ])
}

/** What a plain fetch from each remote does, by git's rules and not by looking for our own line (cases 31, 32). */
const fetching = async (facts: DoctorFacts): Promise<readonly Finding[]> => {
  if (facts.remotes.length === 0) return [ok('there is no remote')]
  const findings = await Promise.all(facts.remotes.map(remote => fetchingFrom(facts, remote)))
  return [...findings.flat(), ...sharedFiles(facts)]
}

const fetchingFrom = async (facts: DoctorFacts, remote: string): Promise<readonly Finding[]> => {
  const [before, after] = await tryBoth(facts, remote)
  for (const [trial, when] of [
    [before, 'until somebody publishes a Proof'],
    [after, 'once somebody has published a Proof'],
  ] as const) {
    const [first] = trial.fatal
    if (!first) continue
    const what = `every fetch from ${remote} fails ${when}: ${first.line}: ${first.reason}`
    return [failed(what, remedy(facts, remote, first.line))]
  }
  const bad = after.writes.find(({ destination }) => [NOTES_REF, LOCAL_NOTES_REF].includes(destination))
  if (bad) {
    const what = bad.force
      ? `a fetch from ${remote} overwrites ${bad.destination}, Proofs that are not published included: ${bad.line}`
      : `a fetch from ${remote} writes ${bad.destination} itself, and fails when both sides have new Proofs: ${bad.line}`
    return [warning(what, remedy(facts, remote, bad.line))]
  }
  return [arriving(facts, remote, after)]
}

/** What puts a line right: with a replacement where one is known, else without it. */
const remedy = ({ entries }: DoctorFacts, remote: string, line: string): string => {
  const hazard = mappingHazards(entries).find(known => known.remote === remote && known.line === line)
  const commands = hazard?.commands ?? [
    `git config --fixed-value --unset-all remote.${quoted(remote)}.fetch ${quoted(line)}`,
  ]
  return [...commands, 'git discern refresh'].join(' && ')
}

/** Whether the notes of a remote arrive, and where. */
const arriving = (facts: DoctorFacts, remote: string, trial: FetchTrial): Finding => {
  const arrived = trial.writes.some(write => write.source === NOTES_REF && write.destination === trackingRef(remote))
  if (arrived) return ok(`a fetch from ${remote} writes its Proofs to ${trackingRef(remote)}`)
  if (!wantsNotes(facts)) return ok(`a fetch from ${remote} brings no Proofs, as [repository].proof_notes_mode says`)
  if (!mayCarryMapping(facts.entries, remote)) {
    return ok(`${remote} is a mirror, or has no fetch line of its own, and is left alone`)
  }
  const exclusion = trial.excluded.find(({ source }) => source === NOTES_REF)
  return exclusion
    ? warning(
        `a fetch from ${remote} brings no Proofs: ${exclusion.line} keeps them out`,
        'narrow that line, or leave it',
      )
    : warning(`a fetch from ${remote} brings no Proofs yet`, 'git discern refresh')
}

/** Names that would share a file where file names do not tell cases apart (case 74). */
const sharedFiles = ({ entries }: DoctorFacts): readonly Finding[] =>
  trackingClashes(entries).map(([one, other]) =>
    warning(`the Proofs of ${one} and ${other} may share one file`, `git remote rename ${other} <another name>`),
  )

/** What the refs hold. Nothing is restored or merged here; the next `status`, `done` or `accept` does that. */
const notes = async ({ worktree, refs, entries }: DoctorFacts): Promise<readonly Finding[]> => {
  const { lost, unmerged } = await readNotesState(worktree, entries, refs)
  const owed = await pendingNotes(worktree)
  const findings = [
    ...(lost
      ? [
          warning(
            `${NOTES_REF} lost Proofs that were here: it was overwritten, pruned or deleted`,
            'git discern refresh',
          ),
        ]
      : []),
    ...unmerged.map(ref => warning(`the Proofs of ${ref} are not merged`, 'git discern notes merge')),
    ...(owed.length > 0 ? [warning(`${owed.length} landed without a Proof note so far`, 'git discern accept')] : []),
  ]
  if (findings.length > 0) return findings
  return [ok(refs.has(NOTES_REF) ? `${NOTES_REF} holds everything that was fetched` : 'no Proof was recorded here yet')]
}

/** Who new notes would be by (case 45). One git process when it is left to the repository. */
const identity = async ({ context, worktree }: DoctorFacts): Promise<readonly Finding[]> => {
  if (!context.env['DISCERN_NO_ATTRIBUTION']) return [ok('notes are by discern <done@discern.sh>')]
  const asked = await git(worktree, ['var', 'GIT_COMMITTER_IDENT'])
  if (asked.exitCode !== 0) {
    return [
      failed(
        'no Proof note can be written: DISCERN_NO_ATTRIBUTION is set, and git knows no name and address',
        'git config user.name "<name>" && git config user.email "<address>"',
      ),
    ]
  }
  return [ok(`notes are by ${asked.stdout.toString('utf8').replace(/ \d+ [+-]\d+\s*$/, '')}`)]
}

export const noteChecks: readonly Check[] = [
  { name: 'fetch', tests: 'what would a plain fetch do with Proof notes?', run: fetching },
  { name: 'notes', tests: 'do the notes refs hold everything that was here?', run: notes },
  { name: 'identity', tests: 'who would new notes be by?', run: identity },
]
