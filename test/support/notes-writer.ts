/** One of several processes that write notes at the same time: `<directory> <name> <count>`; says how each write ended. */
import { randomUUID } from 'node:crypto'
import { notesWriter, writeNote } from '../../src/git/notes.ts'
import { openRepository } from '../../src/git/repository.ts'
import { contextFor } from './gate.ts'
import { note, sameClaim, subjectOf } from './notes.ts'

const [directory = '', name = '', count = '0'] = process.argv.slice(2)
const closers: (() => void | Promise<void>)[] = []
const context = {
  ...contextFor(directory, process.env),
  uuid: randomUUID,
  defer: (close: () => void) => closers.push(close),
}
const repository = await openRepository(context)
for (let at = 0; at < Number(count); at += 1) {
  const subject = subjectOf(`${name} ${at}`)
  const writer = notesWriter(context)
  const result = await writeNote(repository, { subject, body: note(subject), sameClaim, writer })
  if (result.status !== 'written') console.log(JSON.stringify(result))
}
for (const close of closers) await close()
