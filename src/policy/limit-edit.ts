/**
 * Writes another limit into the text of a `discern.toml` and touches nothing else: comments, order, spacing and line endings
 * stay as they are. Loaded only by those who edit.
 */
import { isDeepStrictEqual } from 'node:util'
import { parse } from 'smol-toml'
import { type AST, parseTOML } from 'toml-eslint-parser'

type Range = readonly [from: number, to: number]

const BYTE_ORDER_MARK = '\uFEFF'

const keysOf = (key: AST.TOMLKey): readonly string[] =>
  key.keys.map(part => (part.type === 'TOMLBare' ? part.name : part.value))

/** Every value of the file with its dotted path, however its tables are written. */
const valuesIn = (
  node: AST.TOMLKeyValue | AST.TOMLTable | AST.TOMLContentNode,
  at: readonly string[],
): readonly (readonly [path: readonly string[], range: Range])[] => {
  switch (node.type) {
    case 'TOMLTable':
      return node.body.flatMap(child => valuesIn(child, node.resolvedKey.map(String)))
    case 'TOMLKeyValue':
      return valuesIn(node.value, [...at, ...keysOf(node.key)])
    case 'TOMLInlineTable':
      return node.body.flatMap(child => valuesIn(child, at))
    case 'TOMLArray':
      return []
    case 'TOMLValue':
      return [[at, node.range]]
  }
}

/** A finite number in TOML's words; an integer that JavaScript cannot count by ones is written as the float that it is. */
export const tomlNumber = (value: number): string => {
  if (Object.is(value, -0)) return '0'
  const text = String(value)
  return Number.isInteger(value) && !Number.isSafeInteger(value) && !text.includes('e') ? `${text}.0` : text
}

/**
 * The text with other limits for some standards, by name. `undefined` when one of them has no limit in the file. Throws our own
 * defect when the outcome would say anything else than the old text with these limits.
 */
export const editLimits = (text: string, limits: ReadonlyMap<string, number>): string | undefined => {
  const mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : ''
  const plain = text.slice(mark.length)
  const places = parseTOML(plain, { tomlVersion: 'latest' }).body[0].body.flatMap(node => valuesIn(node, []))
  const edits: { readonly range: Range; readonly value: number }[] = []
  for (const [name, value] of limits) {
    const found = places.find(([path]) => isDeepStrictEqual(path, ['standards', name, 'limit']))
    if (!found) return undefined
    edits.push({ range: found[1], value })
  }
  let edited = plain
  for (const { range, value } of edits.sort((left, right) => right.range[0] - left.range[0])) {
    edited = `${edited.slice(0, range[0])}${tomlNumber(value)}${edited.slice(range[1])}`
  }
  requireOnlyLimits(plain, edited, limits)
  return mark + edited
}

type Tables = Record<string, Record<string, Record<string, unknown>>>

const requireOnlyLimits = (before: string, after: string, limits: ReadonlyMap<string, number>): void => {
  const expected = parse(before) as Tables
  for (const [name, limit] of limits) {
    const table = expected['standards']?.[name]
    if (table) table['limit'] = limit + 0
  }
  if (!isDeepStrictEqual(parse(after), expected)) throw new Error('an edited limit would change more than itself')
}
