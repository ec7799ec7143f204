import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compilePattern, matchesAny, type PatternKind } from '../../src/policy/paths.ts'

const lone = String.fromCharCode(0xdcff)
const otherLone = String.fromCharCode(0xdcfe)

/** Pattern, its kind, paths it matches, paths it does not. */
const examples: readonly (readonly [string, PatternKind, readonly string[], readonly string[]])[] = [
  ['', 'empty', [], ['', 'a', '/']],
  ['src/**', 'prefix-globstar', ['src/a', 'src/a/b', 'src/.x'], ['src', 'srcs/a', 'a/src/b', 'SRC/a']],
  ['/src/**', 'prefix-globstar', ['src/a'], ['/src/a', 'src', 'a/src/b']],
  ['/**', 'prefix-globstar', ['a', 'a/b', '.x', 'new\nline'], []],
  ['app/(shop)/**', 'prefix-globstar', ['app/(shop)/a'], ['app/shop/a']],
  ['/ui/', 'segment', ['ui/a', 'a/ui/b', 'a/b/ui/c'], ['ui', 'a/ui', 'gui/a', 'uis/a', 'UI/a']],
  ['/a/b/', 'segment', ['a/b/c', 'x/a/b/c'], ['a/x/b/c', 'a/b']],
  ['//', 'segment', [], ['a/b', '']],
  ['/', 'prefix', [], ['a', 'a/b']],
  ['src/', 'prefix', ['src/a', 'src/a/b'], ['src', 'a/src/b', 'srcs/a']],
  ['*.ts', 'suffix', ['a.ts', 'a/b.ts', '.ts', 'a.d.ts', `x\n${lone}.ts`], ['a.tsx', 'ats', 'a.TS', 'a.ts/b']],
  ['*.d.ts', 'suffix', ['a.d.ts', 'x/a.d.ts'], ['a.ts', 'd.ts']],
  ['*.!(js)', 'suffix', ['a.!(js)'], ['a.ts']],
  ['a.ts', 'exact', ['a.ts'], ['/a.ts', 'b/a.ts', 'a.tsx', 'A.ts']],
  ['/a.ts', 'exact', [], ['a.ts']],
  ['!(a)', 'exact', ['!(a)'], ['b']],
  ['a\\b', 'exact', ['a\\b'], ['a/b', 'ab']],
  ['*', 'glob', ['a', '.a', 'a\\b', `a${lone}`, 'a\nb'], ['a/b', '']],
  ['*.', 'glob', ['a.'], ['a']],
  ['/*.ts', 'glob', ['a.ts'], ['b/a.ts']],
  ['*.t?', 'glob', ['a.ts'], ['b/a.ts', 'a.tsx']],
  ['src/*.ts', 'glob', ['src/a.ts', 'src/.ts'], ['src/a/b.ts', 'src/a.tsx', 'x/src/a.ts']],
  ['**', 'glob', ['a', 'a/b', '.a/.b', 'a\n/b'], []],
  ['**/*.ts', 'glob', ['a.ts', '.a/.b.ts'], ['a.js']],
  ['src/**/*.ts', 'glob', ['src/a.ts', 'src/a/b/c.ts'], ['a.ts', 'srcs/a.ts']],
  ['{src,lib}/**', 'glob', ['src/a', 'lib/a/b'], ['src', 'lib', 'srclib/a']],
  ['*/**', 'glob', ['a/b', 'a/b/c'], ['a']],
  ['a**b', 'glob', ['ab', 'axb'], ['a/b', 'ax/b']],
  ['***/a', 'glob', ['x/a'], ['x/y/a', 'a']],
  ['a?', 'glob', ['ab', 'a\u{1f600}', `a${lone}`], ['a', 'a/', 'abc']],
  ['[ab]x', 'glob', ['ax', 'bx'], ['cx', 'abx', '[ab]x']],
  ['[!ab]x', 'glob', ['cx', `${lone}x`], ['ax', '/x']],
  ['[^a-c]x', 'glob', ['dx'], ['bx']],
  ['[[:digit:]_]x', 'glob', ['1x', '_x'], ['ax', ':x']],
  ['[]a]x', 'glob', [']x', 'ax'], ['x']],
  ['[!]a]x', 'glob', ['bx'], [']x', 'ax']],
  ['[a\\]-]x', 'glob', [']x', '-x'], ['bx', '\\x']],
  ['[[]id].ts', 'glob', ['[id].ts'], ['i.ts']],
  ['\\[id\\].ts', 'glob', ['[id].ts'], ['i.ts']],
  ['[a', 'glob', ['[a'], ['a']],
  ['{a,b}.{ts,js}', 'glob', ['a.ts', 'b.js'], ['c.ts', 'a.tsx']],
  ['{a,{b,c/**}}', 'glob', ['a', 'b', 'c/d/e'], ['c']],
  ['a{,b}', 'glob', ['a', 'ab'], ['abb', 'a{,b}']],
  ['{a}', 'glob', ['{a}'], ['a']],
  ['{1..3}', 'glob', ['{1..3}'], ['2']],
  ['$' + '{map.root}/*', 'glob', ['$' + '{map.root}/a'], ['map.root/a']],
  ['{a', 'glob', ['{a'], ['a']],
  ['app/(shop)/*', 'glob', ['app/(shop)/a'], ['app/shop/a']],
  ['a|b*', 'glob', ['a|bc'], ['a', 'bc']],
  ['"a"*', 'glob', ['"a"b'], ['ab']],
  ['a+*', 'glob', ['a+', 'a+b'], ['aab', 'a']],
  ['\\d*', 'glob', ['d1'], ['1', '\\d']],
  ['\\**', 'glob', ['*a'], ['a', '\\a']],
  ['\\\\*', 'glob', ['\\a'], ['a', '*']],
  ['!a*', 'glob', ['!ab'], ['ab', 'b']],
  ['./a*', 'glob', [], ['ab', 'a']],
  ['@(a|b)*', 'glob', ['ax', 'b'], ['c', '@(a|b)']],
  ['+(ab)?', 'glob', ['abx', 'ababx'], ['x']],
  ['*(a|b)c', 'glob', ['c', 'abac'], ['xc']],
  ['?(a)b', 'glob', ['b', 'ab'], ['aab']],
  ['*.!(d)*', 'glob', ['a.ts'], ['ats']],
  ['src/!(*.test).ts*', 'glob', ['src/a.ts'], ['lib/a.ts']],
  ['@(a|**/b)*', 'glob', ['a', 'x/y/b'], ['x/a']],
  ['@(a*', 'glob', ['@(ab'], ['ab']],
]

test('each pattern is of one kind and matches as that kind says', () => {
  for (const [text, kind, matching, others] of examples) {
    const pattern = compilePattern(text)
    assert.equal(pattern.kind, kind, JSON.stringify(text))
    for (const path of matching) assert.equal(pattern.matches(path), true, JSON.stringify([text, path]))
    for (const path of others) assert.equal(pattern.matches(path), false, JSON.stringify([text, path]))
  }
})

test('case 67: paths that differ only in invalid bytes stay two', () => {
  const matches = matchesAny([`a${lone}`, `b${lone}*`])
  assert.equal(matches(`a${lone}`), true)
  assert.equal(matches(`a${otherLone}`), false)
  assert.equal(matches(`b${lone}x`), true)
  assert.equal(matches(`b${otherLone}x`), false)
})

test('a list of patterns matches when one of them does, and an empty list never', () => {
  const matches = matchesAny(['', 'docs/', '*.md'])
  assert.deepEqual(['docs/a', 'a/b.md', 'a'].map(matches), [true, true, false])
  assert.equal(matchesAny([])('a'), false)
})

test('a glob without meaning, and one that could run for ever, is an error instead of never matching', () => {
  assert.throws(() => compilePattern('[z-a]*'), SyntaxError)
  assert.throws(() => compilePattern('+(a|aa)*'), SyntaxError)
  assert.throws(() => compilePattern('*(a|)b*'), SyntaxError)
})

/** Facts 1.1 read aloud for the kinds without the glob library, one character at a time. */
const oracle = (pattern: string, path: string): boolean | undefined => {
  const meta = (text: string): boolean => [...text].some(character => '*?[]{}'.includes(character))
  const begins = (text: string, start: string): boolean => text.slice(0, start.length) === start
  if (pattern.length === 0) return false
  if (pattern.slice(-3) === '/**' && !meta(pattern.slice(0, pattern.length - 3))) {
    const before = pattern.slice(0, pattern.length - 2)
    return begins(path, before[0] === '/' ? before.slice(1) : before)
  }
  const last = pattern[pattern.length - 1]
  if (pattern.length > 1 && pattern[0] === '/' && last === '/' && !meta(pattern)) {
    const rooted = `/${path}`
    for (let at = 0; at <= rooted.length - pattern.length; at += 1) if (begins(rooted.slice(at), pattern)) return true
    return false
  }
  if (last === '/' && !meta(pattern)) return begins(path, pattern)
  if (pattern.length > 2 && begins(pattern, '*.') && !meta(pattern.slice(2)) && !pattern.slice(2).includes('/')) {
    const ending = `.${pattern.slice(2)}`
    return path.length >= ending.length && path.slice(path.length - ending.length) === ending
  }
  return meta(pattern) ? undefined : path === pattern
}

const unit = fc.constantFrom('a', 'b', '.', '/', '*', '?', '\\', '\n', '(', '!', 'A', lone, 'é')
const text = fc.array(unit, { maxLength: 8 }).map(units => units.join(''))

test('property: kinds without a glob agree with a slow reading of the rules', () => {
  const shape = fc.oneof(
    text,
    text.map(middle => `${middle}/**`),
    text.map(middle => `/${middle}/`),
    text.map(middle => `${middle}/`),
    text.map(middle => `*.${middle}`),
  )
  let decided = 0
  fc.assert(
    fc.property(shape, text, text, text, (pattern, before, path, after) => {
      const stripped = pattern.replace(/\/\*\*$|^\*/g, '')
      for (const candidate of [path, `${before}${stripped}${after}`, `${stripped}${after}`, stripped]) {
        const expected = oracle(pattern, candidate)
        if (expected === undefined) continue
        decided += 1
        assert.equal(compilePattern(pattern).matches(candidate), expected, JSON.stringify([pattern, candidate]))
      }
    }),
    { numRuns: 2000 },
  )
  assert.ok(decided > 2000, `only ${decided} comparisons were made`)
})

/** A piece of a glob as a value, so that the second reading below does not parse the text that the code under test parses. */
type Piece =
  | { readonly type: 'text'; readonly character: string }
  | { readonly type: 'any' }
  | { readonly type: 'run' }
  | { readonly type: 'class'; readonly members: readonly string[]; readonly negated: boolean }
  | { readonly type: 'choice'; readonly of: readonly (readonly Piece[])[]; readonly repeat: '{' | '@' | '?' }

const written = (piece: Piece): string => {
  switch (piece.type) {
    case 'text':
      return /[*?[\]{}\\]/.test(piece.character) ? `\\${piece.character}` : piece.character
    case 'any':
      return '?'
    case 'run':
      return '*'
    case 'class':
      return `[${piece.negated ? '!' : ''}${piece.members.join('')}]`
    case 'choice': {
      const parts = piece.of.map(part => part.map(written).join(''))
      return piece.repeat === '{' ? `{${parts.join(',')}}` : `${piece.repeat}(${parts.join('|')})`
    }
  }
}

/** Every position that a piece can end at, from a set of positions. */
const after = (piece: Piece, path: readonly string[], from: readonly number[]): readonly number[] => {
  const step = (accepts: (character: string) => boolean): number[] =>
    from.filter(at => path[at] !== undefined && path[at] !== '/' && accepts(path[at] ?? '')).map(at => at + 1)
  switch (piece.type) {
    case 'text':
      return from.filter(at => path[at] === piece.character).map(at => at + 1)
    case 'any':
      return step(() => true)
    case 'class':
      return step(character => piece.members.includes(character) !== piece.negated)
    case 'run': {
      const reached = new Set(from)
      for (const at of reached) if (path[at] !== undefined && path[at] !== '/') reached.add(at + 1)
      return [...reached]
    }
    case 'choice': {
      const ends = piece.of.flatMap(part => part.reduce((at, inner) => after(inner, path, at), from))
      return [...new Set(piece.repeat === '?' ? [...from, ...ends] : ends)]
    }
  }
}

const globMatches = (segments: readonly (readonly Piece[] | '**')[], path: readonly string[]): boolean => {
  let at: readonly number[] = [0]
  segments.forEach((segment, index) => {
    const last = index === segments.length - 1
    if (segment === '**') {
      const starts = path.flatMap((character, position) => (character === '/' ? [position + 1] : []))
      const least = Math.min(...at)
      if (last) at = at.some(position => position < path.length) ? [path.length] : []
      else at = at.length === 0 ? [] : [...new Set([...at, ...starts.filter(start => start > least)])]
      return
    }
    at = segment.reduce((positions, piece) => after(piece, path, positions), at)
    if (!last) at = at.filter(position => path[position] === '/').map(position => position + 1)
  })
  return at.includes(path.length)
}

const letter = fc.constantFrom(
  'a',
  'b',
  '.',
  '-',
  '(',
  ')',
  '|',
  ',',
  '"',
  '+',
  '!',
  '$',
  '^',
  '\\',
  '*',
  '\n',
  lone,
  '😀',
)
const simple: fc.Arbitrary<Piece> = fc.oneof(
  letter.map(character => ({ type: 'text', character }) as const),
  fc.constant({ type: 'any' } as const),
  fc.constant({ type: 'run' } as const),
  fc
    .tuple(
      fc.uniqueArray(fc.constantFrom('a', 'b', '.', '(', '"', '$', '|'), { minLength: 1, maxLength: 3 }),
      fc.boolean(),
    )
    .map(([members, negated]) => ({ type: 'class', members, negated }) as const),
)
const wordPiece = fc.constantFrom('a', 'b', '.').map(character => ({ type: 'text', character }) as const)
const piece: fc.Arbitrary<Piece> = fc.oneof(
  { weight: 6, arbitrary: simple },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.array(fc.array(fc.oneof(wordPiece, fc.constant({ type: 'any' } as const)), { minLength: 1, maxLength: 2 }), {
          minLength: 2,
          maxLength: 3,
        }),
        fc.constantFrom('{', '@', '?' as const),
      )
      .map(([of, repeat]) => ({ type: 'choice', of, repeat }) as Piece),
  },
)
/** `!(` or `*(` made of two neighbours would be an extended glob, and `**` a different thing: those texts are left out. */
const unambiguous = (text: string): boolean => !/[*?+@!]\(|\*\*/.test(text.replace(/[@?]\([^()]*\|[^()]*\)/g, ''))
const segment = fc
  .array(piece, { minLength: 1, maxLength: 4 })
  .filter(pieces => unambiguous(pieces.map(written).join('')))
const segments = fc.array(
  fc.oneof({ weight: 3, arbitrary: segment }, { weight: 1, arbitrary: fc.constant('**' as const) }),
  {
    minLength: 1,
    maxLength: 4,
  },
)
const pathText = fc
  .array(
    fc.array(fc.constantFrom('a', 'b', '.', '-', '(', '"', '\\', '\n', lone, '😀', '*'), {
      minLength: 1,
      maxLength: 3,
    }),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  .map(parts => parts.map(part => part.join('')))
  .filter(parts => parts.every(part => part !== '.' && part !== '..'))
  .map(parts => parts.join('/'))

test('property: globs agree with a second reading that walks positions', () => {
  let matched = 0
  fc.assert(
    fc.property(segments, fc.array(pathText, { minLength: 12, maxLength: 12 }), (parts, paths) => {
      const pattern = parts.map(part => (part === '**' ? part : part.map(written).join(''))).join('/')
      const compiled = compilePattern(pattern)
      if (compiled.kind !== 'glob') return
      for (const path of paths) {
        const expected = globMatches(parts, [...path])
        if (expected) matched += 1
        assert.equal(compiled.matches(path), expected, JSON.stringify([pattern, path]))
      }
    }),
    { numRuns: 1000 },
  )
  assert.ok(matched > 100, `only ${matched} matches were compared`)
})
