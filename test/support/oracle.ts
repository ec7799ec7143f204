/** The oracle: the table of facts 2.3 read aloud, without anything of the code under test. */
import type { ChangedFile, RelatedPath } from '../../src/change/facts.ts'
import type { Decision } from '../../src/checkpoint/evaluate.ts'
import type { Entry } from '../../src/checkpoint/seeds.ts'
import type { World } from './checkpoint.ts'

/** `+a b` for what matched, `-veto` for a veto, `!reason` for a loss; related paths and the pending condition follow. */
export const shown = (decision: Decision): string => {
  switch (decision.kind) {
    case 'holds': {
      const related = decision.related.map(({ forPath, path }) => ` ${forPath}~${path}`).join('')
      return `+${decision.matched.join(' ')}${related}${decision.when ? ' when' : ''}`
    }
    case 'vetoed':
      return `-${decision.veto}`
    case 'dropped':
      return `!${decision.reason === 'trigger_content_unavailable' ? 'content' : 'history'} ${decision.account}`
  }
}

export const POOL = [
  'a.ts',
  'a2.ts',
  'src/a.ts',
  'src/a_v2.ts',
  'src/x/b.md',
  'new/c.ts',
  'new/s/d.md',
  'gen/g.ts',
  'docs/r.md',
  'docs/r-old.md',
]
const SIMILAR: readonly (readonly [string, string])[] = [
  ['a.ts', 'a2.ts'],
  ['src/a.ts', 'src/a_v2.ts'],
  ['docs/r.md', 'docs/r-old.md'],
]
export const PATTERNS = ['src/**', '*.md', 'new/', 'a.ts', 'gen/**']
const hits = (pattern: string, path: string): boolean => {
  if (pattern === '*.md') return path.endsWith('.md')
  if (pattern === 'a.ts') return path === 'a.ts'
  return path.startsWith(pattern.replace('**', ''))
}
const parent = (path: string): string => path.split('/').slice(0, -1).join('/')

export interface Spec {
  readonly entry: Entry & {
    readonly paths?: readonly string[]
    readonly exclude_paths?: readonly string[]
    readonly kinds?: readonly string[]
    readonly adds_matching?: readonly string[]
    readonly removes_matching?: readonly string[]
    readonly unless_changed?: readonly string[]
    readonly min_changed_files?: number
    readonly min_changed_lines?: number
    readonly min_commits?: number
  }
  readonly files: readonly ChangedFile[]
  readonly world: World
}

export const oracle = ({ entry, files, world }: Spec): string => {
  const base = world.base ?? []
  const inAny = (patterns: readonly string[], path: string): boolean => patterns.some(pattern => hits(pattern, path))
  const visible = (path: string): boolean =>
    (entry.include_generated === true || !path.startsWith('gen/')) && !inAny(entry.exclude_paths ?? [], path)
  const related: RelatedPath[] = []
  let now = [...files].sort((left, right) => (left.path < right.path ? -1 : 1))
  const keep = (holds: (file: ChangedFile) => boolean): boolean => {
    now = now.filter(holds)
    return now.length === 0
  }
  const undecided = (): string | undefined => {
    const odd = now.find(({ binary }) => 'unavailable' in binary)
    return odd && `!content ${odd.path}: unreadable`
  }
  if (keep(({ path }) => !entry.paths || inAny(entry.paths, path))) return '-empty_matched_set'
  if (keep(({ path }) => entry.include_generated === true || !path.startsWith('gen/'))) return '-generated_only'
  if (keep(({ path }) => !inAny(entry.exclude_paths ?? [], path))) return '-excluded_only'
  if (keep(({ kind }) => !entry.kinds?.length || entry.kinds.includes(kind))) return '-kinds'
  for (const [field, side] of [
    ['adds_matching', 'added'],
    ['removes_matching', 'removed'],
  ] as const) {
    const texts = entry[field] ?? []
    if (texts.length === 0) continue
    const lost = now.find(({ path }) => world.lostLines?.includes(path))
    if (lost) return `!content ${lost.path}: file_limit`
    if (keep(({ path }) => (world.lines?.[path]?.[side] ?? []).some(line => texts.some(text => line.includes(text)))))
      return `-${field}`
  }
  if (entry.new_directory) {
    const isNew = ({ path, kind }: ChangedFile): boolean =>
      kind === 'added' && parent(path) !== '' && !base.some(old => old.startsWith(`${parent(path)}/`) && visible(old))
    if (keep(isNew)) return '-new_directory'
  }
  if (entry.binary !== undefined) {
    const odd = undecided()
    if (odd) return odd
    if (keep(({ binary }) => 'known' in binary && binary.known === entry.binary)) return '-binary'
  }
  if (entry.similar_new_file) {
    const gone = (path: string): boolean => files.some(one => one.path === path && one.kind === 'deleted')
    for (const { path, kind } of now) {
      const pair = SIMILAR.find(names => names.includes(path))
      const other = pair?.find(name => name !== path)
      if (kind === 'added' && other && base.includes(other) && visible(other) && !gone(other))
        related.push({ kind: 'similar_existing', forPath: path, path: other })
    }
    if (keep(({ path }) => related.some(({ forPath }) => forPath === path))) return '-similar_new_file'
  }
  if (entry.unless_changed && files.some(({ path }) => visible(path) && inAny(entry.unless_changed ?? [], path)))
    return '-unless_changed'
  if (entry.min_changed_files !== undefined && now.length < entry.min_changed_files) return '-min_changed_files'
  const text = now.filter(({ binary }) => 'known' in binary && !binary.known)
  const more = text.reduce((sum, { insertions }) => sum + insertions, 0)
  const less = text.reduce((sum, { deletions }) => sum + deletions, 0)
  if (entry.min_changed_lines !== undefined) {
    const odd = undecided()
    if (odd) return odd
    if (more + less < entry.min_changed_lines) return '-min_changed_lines'
  }
  if (entry.deletion_dominant) {
    const odd = undecided()
    if (odd) return odd
    if (less < 50 || less < 2 * more) return '-deletion_dominant'
  }
  if (entry.min_commits !== undefined) {
    if (world.history) return '!history the commits since the policy commit: output_limit'
    if ((world.commits ?? 0) < entry.min_commits) return '-min_commits'
  }
  if (entry.when) {
    const odd = undecided()
    if (odd) return odd
  }
  return shown({ kind: 'holds', matched: now.map(({ path }) => path), related, when: entry.when !== undefined })
}
