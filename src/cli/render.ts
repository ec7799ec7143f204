/**
 * Blocks into bytes. A view says what a person should read as a list of blocks; this file alone decides how they look on a
 * terminal or as Markdown, and escapes everything that a branch, a file name or a tool could have chosen.
 */

export type Tone = 'good' | 'bad' | 'warn' | 'dim' | 'plain'

export type Block =
  /** One sentence. */
  | { readonly kind: 'line'; readonly text: string; readonly tone?: Tone }
  | { readonly kind: 'heading'; readonly text: string }
  /** Label and value, aligned. */
  | { readonly kind: 'rows'; readonly rows: readonly (readonly [label: string, text: string, tone?: Tone])[] }
  | { readonly kind: 'list'; readonly items: readonly string[]; readonly tone?: Tone }
  /** A command to type, or output of a tool, verbatim but escaped. */
  | { readonly kind: 'code'; readonly text: string }
  /** Markdown that we composed and escaped ourselves, such as a Proof page. */
  | { readonly kind: 'markdown'; readonly text: string }

/**
 * Text that can neither move the cursor, nor colour, nor reorder: control characters (C0, C1, DEL) and Unicode's invisible
 * format and bidirectional controls are shown as `\x1b` or `\u202e`. Newline and tab stay where `multiline` allows them.
 */
export const escapeText = (text: string, multiline = false): string =>
  text.replace(UNSAFE, character => {
    if (multiline && (character === '\n' || character === '\t')) return character
    const code = character.codePointAt(0) ?? 0
    if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
  })

const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

const CODES: Readonly<Record<Tone, string>> = { good: '32', bad: '31', warn: '33', dim: '2', plain: '' }

const paint = (text: string, tone: Tone | undefined, colour: boolean): string =>
  colour && tone && CODES[tone] ? `\u001b[${CODES[tone]}m${text}\u001b[0m` : text

/** Blocks as text for a terminal or a pipe; colour only when asked for. */
export const renderText = (blocks: readonly Block[], colour: boolean): string => {
  const lines: string[] = []
  for (const block of blocks) {
    switch (block.kind) {
      case 'line':
        lines.push(paint(escapeText(block.text), block.tone, colour))
        break
      case 'heading':
        if (lines.length > 0) lines.push('')
        lines.push(colour ? `\u001b[1m${escapeText(block.text)}\u001b[0m` : escapeText(block.text))
        break
      case 'rows': {
        const width = Math.max(0, ...block.rows.map(([label]) => label.length))
        for (const [label, text, tone] of block.rows) {
          lines.push(`  ${escapeText(label).padEnd(width)}  ${paint(escapeText(text), tone, colour)}`)
        }
        break
      }
      case 'list':
        for (const item of block.items) lines.push(`  ${paint(escapeText(item), block.tone, colour)}`)
        break
      case 'code':
        for (const line of block.text.replace(/\n$/, '').split('\n'))
          lines.push(`    ${escapeText(line.replaceAll('\t', '  '))}`)
        break
      case 'markdown':
        lines.push(escapeText(block.text, true).replace(/\n$/, ''))
        break
    }
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

/** User text inside Markdown prose: nothing in it can start a construct. */
export const markdownText = (text: string): string => escapeText(text).replace(/[\\`*_{}[\]<>()#+!|~]/g, '\\$&')

/** User text as a code span that survives back-ticks in it. */
export const markdownCode = (text: string): string => {
  const safe = escapeText(text)
  const longest = Math.max(0, ...[...safe.matchAll(/`+/g)].map(match => match[0].length))
  const fence = '`'.repeat(longest + 1)
  const pad = safe.startsWith('`') || safe.endsWith('`') || safe === '' ? ' ' : ''
  return `${fence}${pad}${safe}${pad}${fence}`
}

/** The same blocks as Markdown. */
export const renderMarkdown = (blocks: readonly Block[]): string => {
  const parts: string[] = []
  for (const block of blocks) {
    switch (block.kind) {
      case 'line':
        parts.push(markdownText(block.text))
        break
      case 'heading':
        parts.push(`## ${markdownText(block.text)}`)
        break
      case 'rows':
        parts.push(block.rows.map(([label, text]) => `- **${markdownText(label)}**: ${markdownText(text)}`).join('\n'))
        break
      case 'list':
        parts.push(block.items.map(item => `- ${markdownText(item)}`).join('\n'))
        break
      case 'code': {
        const safe = escapeText(block.text.replace(/\n$/, ''), true)
        const longest = Math.max(2, ...[...safe.matchAll(/`+/g)].map(match => match[0].length))
        const fence = '`'.repeat(longest + 1)
        parts.push(`${fence}\n${safe}\n${fence}`)
        break
      }
      case 'markdown':
        parts.push(escapeText(block.text, true).replace(/\n$/, ''))
        break
    }
  }
  return parts.length === 0 ? '' : `${parts.join('\n\n')}\n`
}
