/** What the fetch lines of the configured remotes mean for Proof notes. Pure: nothing here runs git or writes. */
import { type ConfigEntry, configValue, configValues, remoteNames } from '../git/config.ts'
import { NOTES_REF } from '../git/notes.ts'

/** The one mapping that we ever write (facts 11.4). The star on both sides keeps a fetch alive before the first note (case 32). */
export const canonicalMapping = (remote: string): string => `+refs/notes/discern*:refs/discern/remotes/${remote}/notes*`

/** Where the notes of a remote are after a fetch; siblings of this exact ref are never read. */
export const trackingRef = (remote: string): string => `refs/discern/remotes/${remote}/notes`

/** Git's rules for a ref name: what breaks them would make every fetch fail, or be taken for a pattern. */
export const isRefName = (name: string): boolean =>
  !/[\0-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\.$|\/$|^\//.test(name) &&
  name.split('/').every(part => !part.startsWith('.') && !part.endsWith('.lock'))

/** The exact tracking refs of the configured remotes, sorted; a remote's name may hold slashes. */
export const trackingRefs = (entries: readonly ConfigEntry[]): readonly string[] =>
  remoteNames(entries).map(trackingRef).filter(isRefName).sort()

interface Refspec {
  readonly sign: '+' | '^' | ''
  readonly source: string
  readonly destination: string
}

const parse = (line: string): Refspec => {
  const sign = line.startsWith('+') ? '+' : line.startsWith('^') ? '^' : ''
  const rest = line.slice(sign.length)
  const colon = rest.indexOf(':')
  return colon === -1
    ? { sign, source: rest, destination: '' }
    : { sign, source: rest.slice(0, colon), destination: rest.slice(colon + 1) }
}

/** What a pattern's star stands for in `name`; `''` for an exact match, `undefined` for none. */
const match = (pattern: string, name: string): string | undefined => {
  const star = pattern.indexOf('*')
  if (star === -1) return pattern === name ? '' : undefined
  const [before, after] = [pattern.slice(0, star), pattern.slice(star + 1)]
  const long = name.length >= before.length + after.length
  return long && name.startsWith(before) && name.endsWith(after)
    ? name.slice(before.length, name.length - after.length)
    : undefined
}

const fetchKey = (remote: string): string => `remote.${remote}.fetch`

/** Whether a remote's fetch lines say that everything is copied onto itself, or its `mirror` setting does. */
const isMirror = (entries: readonly ConfigEntry[], remote: string): boolean => {
  const setting = configValue(entries, `remote.${remote}.mirror`)?.toLowerCase()
  if (setting !== undefined && !['false', 'no', 'off', '0', ''].includes(setting)) return true
  return configValues(entries, fetchKey(remote)).some(line => {
    const { sign, destination } = parse(line)
    return sign !== '^' && ['refs/heads/a', NOTES_REF].every(name => match(destination, name) !== undefined)
  })
}

/** Whether a remote has a fetch line that is neither ours nor a mere exclusion; ours alone would change what a fetch means. */
const hasOwnFetchLine = (entries: readonly ConfigEntry[], remote: string): boolean =>
  configValues(entries, fetchKey(remote)).some(
    line => !line.startsWith('^') && !parse(line).destination.startsWith('refs/discern/'),
  )

/** Whether our mapping may stand beside what a remote has (design 4.9). */
export const mayCarryMapping = (entries: readonly ConfigEntry[], remote: string): boolean =>
  isRefName(trackingRef(remote)) && hasOwnFetchLine(entries, remote) && !isMirror(entries, remote)

/** A fetch line of the user's that is dangerous, and what to put in its place. We never edit it ourselves. */
export interface MappingHazard {
  readonly kind: 'forced' | 'exact'
  readonly remote: string
  readonly line: string
  /** Where the line stands, as git names it, for example `file:.git/config`. */
  readonly origin: string
  /** The line that does no harm, or `undefined` when ours does the whole job. */
  readonly replacement: string | undefined
  readonly commands: readonly string[]
}

const SCOPES: Readonly<Record<string, string>> = { global: '--global', system: '--system', worktree: '--worktree' }

const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

const hazard = (
  kind: MappingHazard['kind'],
  remote: string,
  { scope, origin, value: line }: ConfigEntry,
  replacement: string | undefined,
): MappingHazard => {
  const place = SCOPES[scope] ?? '--local'
  const key = shellWord(fetchKey(remote))
  return {
    kind,
    remote,
    line,
    origin,
    replacement,
    commands: [
      `git config ${place} --fixed-value --unset-all ${key} ${shellWord(line)}`,
      ...(replacement === undefined ? [] : [`git config ${place} --add ${key} ${shellWord(replacement)}`]),
    ],
  }
}

/** The same line with its destination moved to where it cannot reach our ref. */
const moveAside = (remote: string, { source, destination }: Refspec): string | undefined => {
  if (destination === NOTES_REF) return undefined
  if (source === 'refs/*') return `+refs/heads/*:refs/remotes/${remote}/*`
  return `+${source}:refs/notes/remotes/${remote}/*`
}

/**
 * Lines that overwrite `refs/notes/discern` on a fetch, whatever unpublished notes it holds (case 31), and lines that name our
 * ref without a star, so that a fetch fails as long as the remote lacks it (case 32).
 */
export const mappingHazards = (entries: readonly ConfigEntry[]): readonly MappingHazard[] =>
  remoteNames(entries).flatMap(remote => {
    const lines = entries.filter(entry => entry.key === fetchKey(remote))
    const excluded = lines.map(entry => parse(entry.value)).filter(({ sign }) => sign === '^')
    return lines.flatMap((entry): readonly MappingHazard[] => {
      const refspec = parse(entry.value)
      const { sign, source, destination } = refspec
      if (sign === '^') return []
      const star = match(destination, NOTES_REF)
      const origin = star === undefined ? undefined : source.replace('*', () => star)
      const reached = origin !== undefined && !excluded.some(line => match(line.source, origin) !== undefined)
      if (sign === '+' && reached) return [hazard('forced', remote, entry, moveAside(remote, refspec))]
      return source === NOTES_REF ? [hazard('exact', remote, entry, undefined)] : []
    })
  })

/** Pairs of remotes whose tracking refs would be one file, or one inside the other, where case makes no difference (case 74). */
export const trackingClashes = (entries: readonly ConfigEntry[]): readonly (readonly [string, string])[] => {
  const names = remoteNames(entries).filter(name => isRefName(trackingRef(name)))
  const folded = (name: string): string => trackingRef(name).toLowerCase()
  return names.flatMap((left, at) =>
    names
      .slice(at + 1)
      .filter(right => {
        const [one = '', two = ''] = [folded(left), folded(right)].sort()
        return one === two || two.startsWith(`${one}/`)
      })
      .map(right => [left, right] as const),
  )
}
