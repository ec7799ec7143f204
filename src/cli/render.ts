/**
 * Blocks into bytes. A view says what a person should read as a list of blocks; this file alone decides how they look on a
 * terminal or as Markdown, and passes everything through `escape.ts`.
 */
import { escapeText, markdownBlock, markdownText } from '../escape.ts'

export type Tone = 'good' | 'bad' | 'warn' | 'dim' | 'plain'

/** Label, value, and how the value looks. */
export type Row = readonly [label: string, text: string, tone?: Tone | undefined]

export type Block =
  /** One sentence. */
  | { readonly kind: 'line'; readonly text: string; readonly tone?: Tone }
  | { readonly kind: 'heading'; readonly text: string }
  /** Label and value, aligned. */
  | { readonly kind: 'rows'; readonly rows: readonly Row[] }
  | { readonly kind: 'list'; readonly items: readonly string[]; readonly tone?: Tone }
  /** A command to type, or output of a tool, verbatim but escaped. */
  | { readonly kind: 'code'; readonly text: string }
  /** One line of a stable format whose fields are separated by tabs. */
  | { readonly kind: 'plumbing'; readonly text: string }
  /** Markdown that we composed and escaped ourselves, such as a Proof page. */
  | { readonly kind: 'markdown'; readonly text: string }

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
      case 'plumbing':
        lines.push(escapeText(block.text, true).replaceAll('\n', ' '))
        break
      case 'markdown':
        lines.push(escapeText(block.text, true).replace(/\n$/, ''))
        break
    }
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

/** The same blocks as Markdown. */
export const renderMarkdown = (blocks: readonly Block[]): string => {
  const parts: string[] = []
  for (const block of blocks) {
    switch (block.kind) {
      case 'line':
        // Four blanks in front would make it code.
        parts.push(markdownText(block.text.trimStart()))
        break
      case 'heading':
        parts.push(`## ${markdownText(block.text)}`)
        break
      case 'rows':
        parts.push(block.rows.map(([label, text]) => `- **${markdownText(label)}**: ${markdownText(text)}`).join('\n'))
        break
      case 'list':
        parts.push(block.items.map(item => `- ${markdownText(item.trimStart())}`).join('\n'))
        break
      case 'code':
        parts.push(markdownBlock(block.text))
        break
      case 'plumbing':
        parts.push(markdownText(block.text.replaceAll('\t', ' ')))
        break
      case 'markdown':
        parts.push(escapeText(block.text, true).replace(/\n$/, ''))
        break
    }
  }
  return parts.length === 0 ? '' : `${parts.join('\n\n')}\n`
}
