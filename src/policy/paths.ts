/**
 * The path dialect (facts 1.1): one matcher for scopes, generated groups, inputs and checkpoint selectors. Paths are relative
 * to the project root and in the form of `git/path.ts`, so they may hold newlines, backslashes and lone surrogates, all of
 * which are ordinary characters. Matching is case-sensitive on every platform, and there is no negation.
 */
import picomatch from 'picomatch'

export type PatternKind = 'empty' | 'prefix-globstar' | 'segment' | 'prefix' | 'suffix' | 'glob' | 'exact'

export interface Pattern {
  readonly kind: PatternKind
  readonly matches: (path: string) => boolean
}

type Matcher = (path: string) => boolean

const META = /[*?[\]{}]/
const withoutLeadingSlash = (text: string): string => text.replace(/^\//, '')

/** The kinds in the order they are tried; the first that recognises a pattern decides, and `undefined` passes it on. */
const kinds: readonly (readonly [PatternKind, (pattern: string) => Matcher | undefined])[] = [
  ['empty', pattern => (pattern === '' ? () => false : undefined)],
  [
    'prefix-globstar',
    pattern => {
      if (!pattern.endsWith('/**') || META.test(pattern.slice(0, -3))) return undefined
      const prefix = withoutLeadingSlash(pattern.slice(0, -2))
      return path => path.startsWith(prefix)
    },
  ],
  [
    'segment',
    pattern =>
      pattern.length >= 2 && pattern.startsWith('/') && pattern.endsWith('/') && !META.test(pattern)
        ? path => `/${path}`.includes(pattern)
        : undefined,
  ],
  ['prefix', pattern => (pattern.endsWith('/') && !META.test(pattern) ? path => path.startsWith(pattern) : undefined)],
  ['suffix', pattern => (/^\*\.[^*?[\]{}/]+$/.test(pattern) ? path => path.endsWith(pattern.slice(1)) : undefined)],
  ['glob', pattern => (META.test(pattern) ? globMatcher(withoutLeadingSlash(pattern)) : undefined)],
  ['exact', pattern => path => path === pattern],
]

/** Compiles one pattern. Throws a `SyntaxError` for a glob that has no meaning, such as `[z-a]`. */
export const compilePattern = (pattern: string): Pattern => {
  for (const [kind, recognise] of kinds) {
    const matches = recognise(pattern)
    if (matches) return { kind, matches }
  }
  throw new Error('every pattern is of some kind')
}

/** Whether a path matches at least one of the patterns. Throws as `compilePattern` does. */
export const matchesAny = (patterns: readonly string[]): Matcher => {
  const compiled = patterns.map(compilePattern)
  return path => compiled.some(pattern => pattern.matches(path))
}

const OPTIONS: picomatch.PicomatchOptions = {
  dot: true,
  nonegate: true,
  windows: false,
  // `[id]` is a class and nothing else; `+` repeats only in front of a parenthesis.
  literalBrackets: false,
  regex: false,
  posix: true,
  strictSlashes: true,
  fastpaths: false,
  // `**` takes a newline as any other character, and `?` one character whatever its encoding.
  flags: 'su',
  debug: true,
}

const UNGUARDED: picomatch.PicomatchOptions & { readonly maxExtglobRecursion: false } = {
  ...OPTIONS,
  maxExtglobRecursion: false,
}

const globMatcher = (pattern: string): Matcher => {
  const glob = standardGlob(pattern)
  const expression = picomatch.makeRe(glob, OPTIONS)
  // The library silently takes an extended glob that could run for ever as plain text; the paths it meets come from a branch.
  if (/[*+]\(/.test(glob) && expression.source !== picomatch.makeRe(glob, UNGUARDED).source) {
    throw new SyntaxError('a repeated group has alternatives that are empty, overlap or repeat themselves')
  }
  return path => path !== '' && expression.test(path)
}

/** An escaped character, a class, the opening of an extended glob, a run of stars, or one character. */
const MEMBER = String.raw`(?:\\[^]|\[:[a-z]+:\]|[^\]])`
const TOKEN = new RegExp(
  String.raw`\\[^]|\[(?:[!^](?:\]|${MEMBER})|\]|(?![!^])${MEMBER})${MEMBER}*\]|[?*+@!]\(|\*+|[^]`,
  'gu',
)
const OPENS_GROUP = /^[?*+@!]\($/
const WILDCARDS: Readonly<Record<string, string>> = { '*': '*', '?': '[^/]' }

/**
 * Rewrites a standard glob so that the library reads it the standard way. By itself the library also takes plain parentheses,
 * `|`, `"` and `\d` for parts of a regular expression, `{a}` and `{1..3}` for more than text, drops a leading `./`, and lets
 * `a/**` match `a`.
 */
const standardGlob = (pattern: string): string => {
  // `**/` is any number of whole segments, written so that nothing else of the pattern can be taken for its end.
  const tokens = (pattern.match(TOKEN) ?? []).map(token => (/^\*+$/.test(token) && token.length !== 2 ? '*' : token))
  const marks = alternations(tokens)
  const endsSegment = (at: number): boolean => tokens[at] === undefined || tokens[at] === '/' || marks[at] !== undefined
  const spans = (at: number): boolean => tokens[at] === '**' && endsSegment(at - 1) && endsSegment(at + 1)
  let braces = 0
  return tokens
    .map((token, at) => {
      const mark = marks[at]
      if (mark === '{') braces += 1
      if (mark === '}') braces -= 1
      if (mark !== undefined) return mark
      if (spans(at)) return `${spans(at - 2) ? '' : '{,**/}'}${tokens[at + 1] === '/' ? '' : '*'}`
      if (token === '/' && spans(at - 1)) return ''
      if (token === '**') return '*'
      const wildcard = WILDCARDS[token]
      if (wildcard) return wildcard
      if (token === '.') return braces > 0 || (at === 0 && tokens[1] === '/') ? '[.]' : token
      if (token.length > 2 && token.startsWith('[')) return characterClass(token)
      if (OPENS_GROUP.test(token)) return `${WILDCARDS[token.charAt(0)] ?? literal(token.charAt(0))}\\(`
      return literal(token.length > 1 && token.startsWith('\\') ? token.slice(1) : token)
    })
    .join('')
}

/**
 * What the tokens of complete alternations become: braces with at least one comma, and extended globs. `@(a|b)` is written
 * as `{a,b}`, where the library also understands `**`.
 */
const alternations = (tokens: readonly string[]): readonly (string | undefined)[] => {
  const marks: (string | undefined)[] = tokens.map(() => undefined)
  const open: { readonly at: number; readonly close: string; readonly separators: number[] }[] = []
  tokens.forEach((token, at) => {
    const innermost = open.at(-1)
    if (token === '{') open.push({ at, close: '}', separators: [] })
    else if (token === '(' || OPENS_GROUP.test(token)) open.push({ at, close: ')', separators: [] })
    else if (token === (innermost?.close === '}' ? ',' : '|')) innermost?.separators.push(at)
    else if (token === '}' || token === ')') {
      const depth = open.findLastIndex(group => group.close === token)
      const group = open[depth]
      if (!group) return
      open.splice(depth)
      const opening = tokens[group.at] ?? ''
      const chooses = group.separators.length > 0
      if (opening === '(' || (opening === '{' && !chooses)) return
      const [first, between, last] = opening === '{' || (opening === '@(' && chooses) ? '{,}' : [opening, '|', ')']
      marks[group.at] = first
      marks[at] = last
      for (const separator of group.separators) marks[separator] = between
    }
  })
  return marks
}

const literal = (character: string): string => {
  if (/[\\.",]/.test(character)) return `[${character === '\\' ? '\\\\' : character}]`
  return /[*?[\]{}()|+^$]/.test(character) ? `\\${character}` : character
}

/** A class never matches `/`, which separates segments; `!` and `^` both negate. */
const characterClass = (token: string): string => {
  const negated = /^\[[!^]/.test(token)
  const members = token
    .slice(negated ? 2 : 1, -1)
    .replace(/\\(.)|(\[:[a-z]+:\])|([[\]^\\])/gsu, (_, escaped, named, special) => {
      if (escaped !== undefined) return /[[\]^\\-]/.test(escaped) ? `\\${escaped}` : escaped
      return named ?? `\\${special}`
    })
  return `[${negated ? '^/' : ''}${members}]`
}
