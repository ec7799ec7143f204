/**
 * What a look through a Logbook of 100,000 events costs, as a process of the built program (design 5): 3 s and 200 MB. Beside that
 * it is compared with a Node that only parses the same lines, which a busy machine slows as much.
 */
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { bundle, project } from '../support/project.ts'
import { type Loose, Scratch } from '../support/scratch.ts'
import { writeLogbook } from './logbook.ts'
import { compare, type Row } from './measure.ts'
import type { Count } from './verbs.ts'

const EVENTS = 100_000
const LIMIT_MS = 3_000
const LIMIT_MEGABYTES = 200

const PARSE = `
const { readdirSync, readFileSync } = require('node:fs')
const folder = '.git/discern/logbook'
let events = 0
for (const name of readdirSync(folder)) {
  for (const line of readFileSync(folder + '/' + name, 'utf8').split('\\n')) if (line) events += JSON.parse(line).schema
}
if (events !== ${EVENTS}) throw new Error(String(events))
`

/** What a Node wrote of itself when it ended: kilobytes of memory at most, milliseconds since it started. */
const told = (file: string): readonly [kilobytes: number, ms: number] =>
  JSON.parse(readFileSync(file, 'utf8')) as [number, number]

/** Makes a Node write into `file`, when it ends, what `told` reads. */
const telling = (s: Scratch, file: string): readonly string[] => {
  const text = `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(file)}, JSON.stringify([process.resourceUsage().maxRSS, performance.now()])))\n`
  return ['--require', s.write('telling.cjs', text)]
}

/** One look of the built program through a Logbook that `prepare` writes: what it answered and took. */
export const remembered = (
  s: Scratch,
  cwd: string,
  prepare: () => void,
): { readonly megabytes: number; readonly ms: number; readonly data: Loose } => {
  prepare()
  const [command, script] = bundle
  const run = s.exec(cwd, command, [...telling(s, s.path('told')), script, 'patterns', '--json'])
  if (run.exit !== 0) throw new Error(`patterns: ${run.err}${run.out}`)
  const [kilobytes, ms] = told(s.path('told'))
  return { megabytes: Math.ceil(kilobytes / 1024), ms: Math.round(ms), data: JSON.parse(run.out).data }
}

export const patternsRows = async (
  runs = 8,
): Promise<{ readonly rows: readonly Row[]; readonly counts: readonly Count[] }> => {
  const ends: (() => void)[] = []
  const s = new Scratch({ after: (end: () => void) => ends.push(end) } as unknown as TestContext)
  try {
    const cwd = project(s)
    writeLogbook(s, 'r', EVENTS)
    const file = s.path('told')
    const seen: (readonly [number, number])[] = []
    const [command, script] = bundle
    const ours = { command, args: [...telling(s, file), script, 'patterns', '--json'], cwd, env: s.env }
    const parse = { command, args: ['-e', PARSE], cwd, env: s.env, before: () => void seen.push(told(file)) }
    const name = `patterns over ${EVENTS.toLocaleString('en')} events`
    const row = compare(name, ours, parse, 3, 'a Node that parses the same lines', runs)
    const kilobytes = Math.max(...seen.map(([most]) => most))
    const ms = Math.min(...seen.map(([, took]) => took))
    const counts = [
      { name: `megabytes of ${name}`, count: Math.ceil(kilobytes / 1024), budget: LIMIT_MEGABYTES },
      { name: `milliseconds of the fastest ${name}`, count: Math.round(ms), budget: LIMIT_MS },
    ]
    return { rows: [row], counts }
  } finally {
    for (const end of ends) end()
  }
}
