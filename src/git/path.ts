/**
 * Paths are bytes. Inside the program a path is a string in which every byte that is not part of valid UTF-8 stands as one
 * lone surrogate U+DC80 to U+DCFF, which is reversible and lets globs and sorting work on strings. On every surface a path is
 * shown the way git quotes it with `core.quotePath=false`: as it is, or, when it holds a control character, `"`, `\` or a byte
 * that is not UTF-8, in double quotes with C escapes and three-digit octal. Nothing else starts with `"`, so it is reversible.
 */

/** The program's string for the bytes of a path. */
export const decodePath = (bytes: Uint8Array): string => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = buffer.toString('utf8')
  if (!text.includes('\uFFFD')) return text
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let result = ''
  for (let at = 0; at < buffer.length; ) {
    const length = sequenceLength(buffer, at)
    const piece = buffer.subarray(at, at + length)
    try {
      if (length === 0) throw new TypeError('not UTF-8')
      result += decoder.decode(piece)
      at += length
    } catch {
      result += String.fromCharCode(0xdc00 + (buffer[at] ?? 0))
      at += 1
    }
  }
  return result
}

const sequenceLength = (buffer: Buffer, at: number): number => {
  const first = buffer[at] ?? 0
  if (first < 0x80) return 1
  if (first >= 0xc2 && first < 0xe0) return 2
  if (first >= 0xe0 && first < 0xf0) return 3
  if (first >= 0xf0 && first < 0xf5) return 4
  return 0
}

/** The bytes that `decodePath` was given. */
export const encodePath = (path: string): Buffer => {
  if (path.isWellFormed()) return Buffer.from(path, 'utf8')
  const pieces: Buffer[] = []
  let plain = ''
  for (const character of path) {
    const code = character.codePointAt(0) ?? 0
    if (code >= 0xdc80 && code <= 0xdcff) {
      pieces.push(Buffer.from(plain, 'utf8'), Buffer.from([code - 0xdc00]))
      plain = ''
    } else plain += character
  }
  pieces.push(Buffer.from(plain, 'utf8'))
  return Buffer.concat(pieces)
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\u000b': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '"': '\\"',
  '\\': '\\\\',
}

/** The one form in which a path leaves the program: text, Markdown, JSON. */
export const displayPath = (path: string): string => {
  if (!/[\u0000-\u001f\u007f-\u009f"\\\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/.test(path))
    return path
  let quoted = ''
  for (const character of path) {
    const known = ESCAPES[character]
    const code = character.codePointAt(0) ?? 0
    if (known) quoted += known
    else if (code >= 0xdc80 && code <= 0xdcff) quoted += octal(code - 0xdc00)
    else if (code < 0x20 || INVISIBLE.test(character)) quoted += [...Buffer.from(character, 'utf8')].map(octal).join('')
    else quoted += character
  }
  return `"${quoted}"`
}

const INVISIBLE = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/
const octal = (byte: number): string => `\\${byte.toString(8).padStart(3, '0')}`

/** Reads back what `displayPath` wrote; `undefined` when the quoting is broken. */
export const parseDisplayedPath = (shown: string): string | undefined => {
  if (!shown.startsWith('"')) return shown
  if (shown.length < 2 || !shown.endsWith('"')) return undefined
  const bytes: Buffer[] = []
  const inner = shown.slice(1, -1)
  for (let at = 0; at < inner.length; ) {
    const character = String.fromCodePoint(inner.codePointAt(at) ?? 0)
    if (character === '"') return undefined
    if (character !== '\\') {
      bytes.push(encodePath(character))
      at += character.length
      continue
    }
    const digits = /^[0-3][0-7]{2}/.exec(inner.slice(at + 1, at + 4))?.[0]
    if (digits) {
      bytes.push(Buffer.from([Number.parseInt(digits, 8)]))
      at += 4
      continue
    }
    const pair = inner.slice(at, at + 2)
    const known = Object.entries(ESCAPES).find(([, shown]) => shown === pair)
    if (!known) return undefined
    bytes.push(Buffer.from(known[0], 'utf8'))
    at += 2
  }
  return decodePath(Buffer.concat(bytes))
}

/** A path below `topLevel` for the file system, which takes bytes where the name is not UTF-8. */
export const filePath = (topLevel: string, path: string): string | Buffer =>
  path.isWellFormed() ? `${topLevel}/${path}` : Buffer.concat([Buffer.from(`${topLevel}/`, 'utf8'), encodePath(path)])

/** Splits NUL-terminated output of a `-z` command into its records. */
export const splitNul = (bytes: Buffer): Buffer[] => {
  const records: Buffer[] = []
  let from = 0
  for (let at = bytes.indexOf(0); at !== -1; at = bytes.indexOf(0, from)) {
    records.push(bytes.subarray(from, at))
    from = at + 1
  }
  if (from < bytes.length) records.push(bytes.subarray(from))
  return records
}
