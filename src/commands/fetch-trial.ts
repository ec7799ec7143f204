/**
 * What a plain `git fetch` from one remote would do with Proof notes: git's own rules, worked through over every line the
 * configuration has for it, ours or not, without a word to the remote (case 32).
 */
import { git, type Place } from '../git/run.ts'

export interface Refspec {
  /** As configured. */
  readonly line: string
  readonly negative: boolean
  readonly force: boolean
  /** Full or short name, or a pattern with one `*`; empty for the remote's HEAD. */
  readonly source: string
  /** Empty when nothing is stored. */
  readonly destination: string
}

/** The parts of a fetch refspec; says nothing about whether git accepts them. Pure. */
export const parseRefspec = (line: string): Refspec => {
  const [, sign = '', rest = ''] = /^([+^]?)(.*)$/s.exec(line) ?? []
  const colon = rest.lastIndexOf(':')
  return {
    line,
    negative: sign === '^',
    force: sign === '+',
    source: colon === -1 ? rest : rest.slice(0, colon),
    destination: colon === -1 ? '' : rest.slice(colon + 1),
  }
}

const hasStar = (side: string): boolean => side.includes('*')

/** A line that git does not accept makes every fetch from the remote fatal. At most two git processes. */
const isAccepted = async (place: Place, { source, destination, negative }: Refspec): Promise<boolean> => {
  if (negative ? destination !== '' || source === '' : destination !== '' && hasStar(source) !== hasStar(destination)) {
    return false
  }
  const sides = [source, destination].filter(side => side !== '' && side !== '@' && !/^[0-9a-f]{40,64}$/.test(side))
  const runs = await Promise.all(
    sides.map(side => git(place, ['check-ref-format', '--allow-onelevel', '--refspec-pattern', side])),
  )
  return runs.every(({ exitCode }) => exitCode === 0)
}

/** The places git looks for a short name, in its order. */
const EXPANSIONS = ['', 'refs/', 'refs/tags/', 'refs/heads/', 'refs/remotes/']

/** What the `*` stood for, or the empty text for an exact match; `undefined` when the name does not match. Pure. */
const matched = (pattern: string, name: string): string | undefined => {
  const star = pattern.indexOf('*')
  if (star === -1) {
    return EXPANSIONS.some(prefix => `${prefix}${pattern === '' ? 'HEAD' : pattern}` === name) ? '' : undefined
  }
  const [head, tail] = [pattern.slice(0, star), pattern.slice(star + 1)]
  const fits = name.length >= head.length + tail.length && name.startsWith(head) && name.endsWith(tail)
  return fits ? name.slice(head.length, name.length - tail.length) : undefined
}

const localName = (destination: string): string => {
  if (destination.startsWith('refs/')) return destination
  return /^(heads|tags|remotes)\//.test(destination) ? `refs/${destination}` : `refs/heads/${destination}`
}

export interface FetchWrite {
  readonly line: string
  readonly force: boolean
  readonly source: string
  readonly destination: string
}

export interface FetchTrial {
  /** Local refs that would be written, in the order of the lines. */
  readonly writes: readonly FetchWrite[]
  /** Why the whole fetch would end with an error and bring nothing. */
  readonly fatal: readonly { readonly line: string; readonly reason: string }[]
  /** Negative lines that keep an offered ref out. */
  readonly excluded: readonly { readonly line: string; readonly source: string }[]
}

/** Tries a fetch from a remote that has exactly the refs in `offered`, by full name. At most two git processes for each line. */
export const tryFetch = async (
  place: Place,
  lines: readonly string[],
  offered: readonly string[],
): Promise<FetchTrial> => {
  const specs = lines.map(parseRefspec)
  const accepted = await Promise.all(specs.map(spec => isAccepted(place, spec)))
  const fatal: { line: string; reason: string }[] = []
  const excluded = specs
    .filter(({ negative }) => negative)
    .flatMap(({ line, source }) =>
      offered.flatMap(name => (matched(source, name) === undefined ? [] : [{ line, source: name }])),
    )
  const writes: FetchWrite[] = []
  for (const [at, spec] of specs.entries()) {
    const { line, negative, force, source, destination } = spec
    if (!accepted[at]) {
      fatal.push({ line, reason: 'git does not accept it' })
      continue
    }
    if (negative) continue
    const found = offered.flatMap(name => {
      const star = matched(source, name)
      return star === undefined ? [] : [{ name, star }]
    })
    if (found.length === 0 && !hasStar(source)) fatal.push({ line, reason: `the remote has no ${source}` })
    for (const { name, star } of destination === '' ? [] : found) {
      if (excluded.some(skipped => skipped.source === name)) continue
      const write = { line, force, source: name, destination: localName(destination.replace('*', () => star)) }
      const other = writes.find(standing => standing.destination === write.destination)
      if (other && other.source !== name) {
        fatal.push({ line, reason: `${other.source} and ${name} would both become ${write.destination}` })
      } else writes.push(write)
    }
  }
  return { writes, fatal, excluded }
}
