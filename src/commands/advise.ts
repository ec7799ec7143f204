/** Advisories that several verbs give alike. */
import { type ConfigEntry, remoteNames } from '../git/config.ts'
import type { Configuration } from '../policy/definition.ts'
import { CONFIG_FILE } from '../policy/read.ts'
import { mappingHazards } from '../proof/remote.ts'
import type { Advisory } from '../result.ts'

/** Tables of the public program that mean nothing here, named once, and older spellings that were understood. */
export const configurationAdvisories = (configuration: Configuration): readonly Advisory[] => [
  ...(configuration.foreignTables.length > 0
    ? [
        {
          kind: 'config-foreign-table',
          evidence: `${CONFIG_FILE} has tables that git discern does not use: ${configuration.foreignTables.join(', ')}`,
          next_action: 'keep them for the program that reads them; nothing needs to be done',
        } as const,
      ]
    : []),
  ...(configuration.renamedKeys.length > 0
    ? [
        {
          kind: 'config-renamed-key',
          evidence: `${CONFIG_FILE} uses older spellings: ${configuration.renamedKeys.map(({ from }) => from).join(', ')}`,
          next_action: `write ${configuration.renamedKeys.map(({ to }) => to).join(', ')}`,
        } as const,
      ]
    : []),
]

/** Fetch lines of the user's that overwrite Proofs or make a fetch fail: named with what puts them right, never edited (cases 31, 32). */
export const mappingAdvisories = (entries: readonly ConfigEntry[]): readonly Advisory[] =>
  mappingHazards(entries).map(({ kind, remote, line, origin, commands }) => {
    const where = `fetch = ${line} (${origin.replace(/^file:/, '')})`
    return {
      kind: kind === 'forced' ? 'notes-mapping-forced' : 'notes-mapping-failed',
      evidence:
        kind === 'forced'
          ? `a fetch from ${remote} overwrites refs/notes/discern, Proofs that are not published included: ${where}`
          : `a fetch from ${remote} fails as long as nobody has published a Proof there: ${where}`,
      next_action: [...commands, 'git discern refresh'].join(' && '),
    }
  })

/** The remote people publish to: `origin`, else the first by name (facts 11.4). */
export const publicationRemote = (entries: readonly ConfigEntry[]): string | undefined => {
  const names = remoteNames(entries)
  return names.includes('origin') ? 'origin' : names[0]
}

/** What makes a landing and its Proof public; `undefined` without a remote. Nothing here runs it. */
export const publicationCommands = (
  entries: readonly ConfigEntry[],
  trunk: string,
): { readonly remote: string; readonly command: string; readonly notes_command: string } | undefined => {
  const remote = publicationRemote(entries)
  if (remote === undefined) return undefined
  return {
    remote,
    command: `git push ${remote} ${trunk} refs/notes/discern`,
    notes_command: `git push ${remote} refs/notes/discern`,
  }
}

/** What follows a Proof. */
export const acceptHint = 'git discern accept --confirmed   # after the owner said yes'
