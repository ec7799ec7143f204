/**
 * The one place where text that a branch, a file name or a tool could have chosen is made harmless, for a terminal and for
 * Markdown.
 */

/** Control, format, line and paragraph separators, lone surrogates: what can move a cursor, colour, or reorder text. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/**
 * Shows every unsafe character as `\x1b`, `\u202e` or `\u{e0001}`. Newline and tab stay where `multiline` allows them.
 */
export const escapeText = (text: string, multiline = false): string =>
  text.replace(UNSAFE, character => {
    if (multiline && (character === '\n' || character === '\t')) return character
    const code = character.codePointAt(0) ?? 0
    if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
  })

/** Text inside Markdown prose: nothing in it can start a construct, at the start of a line neither, nor become another character. */
export const markdownText = (text: string): string =>
  escapeText(text)
    .replace(/[\\`*_{}[\]<>()#+!|~&]/g, '\\$&')
    .replace(/^(\s*)([-=])/, '$1\\$2')
    .replace(/^(\s*\d+)\./, '$1\\.')

const fenceFor = (text: string, shortest: number): string =>
  '`'.repeat(Math.max(shortest, ...[...text.matchAll(/`+/g)].map(run => run[0].length + 1)))

/** Text as a code span that survives back-ticks in it. In a table cell `|` must be escaped as well. */
export const markdownCode = (text: string, cell = false): string => {
  const safe = cell ? escapeText(text).replaceAll('|', '\\|') : escapeText(text)
  const fence = fenceFor(safe, 1)
  const pad = safe === '' || safe.startsWith('`') || safe.endsWith('`') ? ' ' : ''
  return `${fence}${pad}${safe}${pad}${fence}`
}

/** Text as a fenced code block that survives fences in it. */
export const markdownBlock = (text: string): string => {
  const safe = escapeText(text.replace(/\n$/, ''), true)
  const fence = fenceFor(safe, 3)
  return `${fence}\n${safe}\n${fence}`
}

/** A word for the POSIX shell, in quotes where it needs them. */
export const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
