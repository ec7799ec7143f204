/** A terminal in a few lines: what a person would see after these bytes. Throws at a sequence it does not know. */
export interface Screen {
  readonly write: (text: string) => void
  /** The lines without trailing blanks, and without empty lines at the end. */
  readonly lines: () => readonly string[]
  readonly cursorVisible: () => boolean
  /** The longest line ever shown. */
  readonly widest: () => number
}

export const openScreen = (): Screen => {
  const rows: string[][] = [[]]
  let row = 0
  let column = 0
  let visible = true
  let widest = 0

  const sequences: Readonly<Record<string, (count: number) => void>> = {
    A: count => {
      row = Math.max(0, row - count)
    },
    B: count => {
      row += count
    },
    G: count => {
      column = count - 1
    },
    K: count => {
      const line = rows[row] ?? []
      // 0 or absent erases to the end, 2 the whole line.
      rows[row] = count === 2 ? [] : line.slice(0, column)
    },
    m: () => {},
  }

  const put = (character: string): void => {
    while (rows.length <= row) rows.push([])
    const line = rows[row] ?? []
    while (line.length < column) line.push(' ')
    line[column] = character
    column += 1
    widest = Math.max(widest, line.length)
  }

  return {
    write: text => {
      for (let at = 0; at < text.length; ) {
        const sequence = /^\u001b\[(\??)(\d*)([A-Za-z])/.exec(text.slice(at, at + 16))
        if (sequence) {
          const [whole, mode, digits, letter] = sequence
          if (mode === '?') {
            if (digits === '25') visible = letter === 'h'
          } else {
            const act = sequences[letter ?? '']
            if (!act) throw new Error(`unknown sequence ${JSON.stringify(whole)}`)
            act(letter === 'K' ? Number(digits || 0) : Number(digits || 1))
          }
          at += whole.length
          continue
        }
        const character = String.fromCodePoint(text.codePointAt(at) ?? 0)
        if (character === '\n') {
          row += 1
          column = 0
          while (rows.length <= row) rows.push([])
        } else if (character === '\r') column = 0
        else if (character < ' ' || character === '\u007f') throw new Error(`control ${JSON.stringify(character)}`)
        else put(character)
        at += character.length
      }
    },
    lines: () => {
      const lines = rows.map(line => line.join('').trimEnd())
      while (lines.at(-1) === '') lines.pop()
      return lines
    },
    cursorVisible: () => visible,
    widest: () => widest,
  }
}
