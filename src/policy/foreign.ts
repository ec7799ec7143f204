/**
 * What other programs keep in `discern.toml`. The public program reads the same file and has many tables that mean nothing
 * here (design 4.12): they load and are named once. A misspelt table of ours must not pass as one of them.
 */
import type { ConfigProblem } from './problem.ts'

/** Our tables, in the order of the documentation. */
export const OWN_TABLES: readonly string[] = [
  'project',
  'repository',
  'jobs',
  'scopes',
  'generated',
  'gate',
  'acceptance',
  'checkpoints',
  'standards',
  'delivery',
]

/** Tables of the public program, some of which are spelled like ours. */
const FOREIGN_TABLES: ReadonlySet<string> = new Set([
  'adr',
  'agents',
  'coupling',
  'desk',
  'docs',
  'ensure',
  'env',
  'environment',
  'hooks',
  'impact',
  'improvement',
  'instructions',
  'map',
  'mcp',
  'patterns',
  'providers',
  'queue',
  'resources',
  'scripts',
  'setup',
  'skills',
  'tidy',
  'worktree',
  'worktrees',
])

const OWN_PROJECT_KEYS: readonly string[] = ['name', 'record_logbook', 'logbook']
const FOREIGN_PROJECT_KEYS: ReadonlySet<string> = new Set(['todo', 'gotchas_doc'])

type Table = Readonly<Record<string, unknown>>

/** Whether a value is a table or a list of tables; a date is neither. */
const holdsTables = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length > 0 && value.every(holdsTables)
    : typeof value === 'object' && value !== null && !(value instanceof Date)

/** The names that belong to other programs, and the first that is more likely a mistake. */
export const findForeign = async (
  document: Table,
): Promise<{ readonly names: readonly string[]; readonly problem?: ConfigProblem }> => {
  const names: string[] = []
  for (const [key, value] of Object.entries(document)) {
    if (OWN_TABLES.includes(key) || key === '$schema') continue
    if (!FOREIGN_TABLES.has(key)) {
      const problem = await misplaced(key, value)
      if (problem) return { names, problem }
    }
    names.push(key)
  }
  const project = document['project']
  for (const key of holdsTables(project) ? Object.keys(project as Table) : []) {
    if (OWN_PROJECT_KEYS.includes(key)) continue
    if (!FOREIGN_PROJECT_KEYS.has(key)) {
      const { nearest } = await import('./problem.ts')
      const meant = nearest(key, ['name', 'record_logbook'])
      if (meant) return { names, problem: { path: ['project', key], problem: 'unknown key', nearest: meant } }
    }
    names.push(`project.${key}`)
  }
  return { names }
}

const misplaced = async (key: string, value: unknown): Promise<ConfigProblem | undefined> => {
  const { nearest, ownerOf } = await import('./problem.ts')
  if (!holdsTables(value)) {
    const problem = `a setting outside any table; the tables are ${OWN_TABLES.map(name => `[${name}]`).join(', ')}`
    return { path: [key], problem, nearest: ownerOf(key) ?? nearest(key, OWN_TABLES) }
  }
  const meant = nearest(key, OWN_TABLES)
  return meant === undefined ? undefined : { path: [key], problem: 'unknown table', nearest: meant }
}
