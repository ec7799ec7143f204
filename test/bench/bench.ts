/**
 * `npm run bench`: every budget of the design that has a piece to measure, as a ratio within this one run. A word on the command
 * line chooses a part: `npm run bench -- hooks`. Exits with 1 when a budget is passed.
 */
import { printRow, type Row } from './measure.ts'
import { type Count, verbRows } from './verbs.ts'

const parts: Readonly<
  Record<string, () => Promise<{ readonly rows: readonly Row[]; readonly counts?: readonly Count[] }>>
> = {
  verbs: verbRows,
  checkpoints: async () => (await import('./checkpoints.ts')).checkpointRows(),
  hooks: async () => ({ rows: await (await import('./hooks.ts')).hookRows() }),
  patterns: async () => (await import('./patterns.ts')).patternsRows(),
  notes: async () => ({ rows: await (await import('./notes.ts')).notesRows() }),
}

const wanted = process.argv.slice(2)
let over = false
for (const [name, measure] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const { rows, counts = [] } = await measure()
  for (const row of rows) {
    printRow(row)
    over ||= row.ratio > row.budget
  }
  for (const { name: what, count, budget } of counts) {
    console.log(`${count <= budget ? 'within' : 'OVER'.padEnd(6)} ${what}: ${count} of ${budget}`)
    over ||= count > budget
  }
}
process.exitCode = over ? 1 : 0
