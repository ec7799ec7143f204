/** Streamed output of a job as lines: whole characters, no colour, and of a line that is redrawn its last state. */
import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'
import { PROGRESS_LINE_LIMIT_CHARACTERS } from '../limits.ts'

export interface StreamedLines {
  readonly write: (bytes: Buffer) => void
  /** Gives the last line even without its newline. */
  readonly end: () => void
}

/** `onLine` gets each line without its end; the caller escapes it. An endless line is given in pieces. */
export const openLines = (onLine: (text: string) => void): StreamedLines => {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  const give = (line: string): void => {
    const shown = stripVTControlCharacters(line).replace(/\r+$/, '')
    onLine(shown.slice(shown.lastIndexOf('\r') + 1))
  }
  return {
    write: bytes => {
      const lines = (rest + decoder.write(bytes)).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) give(line)
      if (rest.length > PROGRESS_LINE_LIMIT_CHARACTERS) {
        give(rest)
        rest = ''
      }
    },
    end: () => {
      const last = rest + decoder.end()
      rest = ''
      if (last !== '') give(last)
    },
  }
}
