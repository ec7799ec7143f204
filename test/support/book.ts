/** The Logbook of a scratch repository, read with nothing of the program's. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { violations } from '../../src/store/schema.ts'
import type { Loose, Scratch } from './scratch.ts'

/** The text of all month files. */
export const bookText = (s: Scratch, name = 'r'): string => {
  const folder = s.path(name, '.git/discern/logbook')
  if (!existsSync(folder)) return ''
  return readdirSync(folder)
    .filter(file => file.endsWith('.jsonl'))
    .sort()
    .map(file => readFileSync(join(folder, file), 'utf8'))
    .join('')
}

/** Every event, each valid by its contract. */
export const bookEvents = (s: Scratch, name = 'r'): readonly Loose[] =>
  bookText(s, name)
    .split('\n')
    .filter(Boolean)
    .map(line => {
      const event = JSON.parse(line)
      assert.deepEqual(violations('discern-logbook', event), [], line)
      return event
    })

/** The `verb` events of one verb, or of all. */
export const verbEvents = (s: Scratch, verb?: string, name = 'r'): readonly Loose[] =>
  bookEvents(s, name).filter(event => event.kind === 'verb' && (verb === undefined || event.verb === verb))
