/** Triggers, changes and facts in memory, in the fewest words. */
import type { Change, ChangedFile, ChangedLines, Fact, Facts } from '../../src/change/facts.ts'
import { type Decision, evaluate, type Generated } from '../../src/checkpoint/evaluate.ts'
import { resolveEntry } from '../../src/checkpoint/fields.ts'
import type { Entry } from '../../src/checkpoint/seeds.ts'

/** A changed file: `A`, `M` or `D`, and a path; two lines added and one removed unless said otherwise. */
export const file = (letter: 'A' | 'M' | 'D', path: string, more: Partial<ChangedFile> = {}): ChangedFile => ({
  path,
  kind: ({ A: 'added', M: 'modified', D: 'deleted' } as const)[letter],
  insertions: 2,
  deletions: 1,
  binary: { known: false },
  ...more,
})

export const changeOf = (...files: readonly ChangedFile[]): Change => ({
  base: 'b'.repeat(40),
  files: files.toSorted((left, right) => (left.path < right.path ? -1 : 1)),
})

export interface World {
  readonly lines?: Readonly<
    Record<string, { readonly added?: readonly string[]; readonly removed?: readonly string[] }>
  >
  readonly lostLines?: readonly string[]
  readonly commits?: number
  readonly history?: Facts['history']
  /** Paths of the policy commit. */
  readonly base?: readonly string[]
  readonly baseFiles?: Facts['baseFiles']
}

const bytes = (lines: readonly string[] = []): readonly Buffer[] => lines.map(line => Buffer.from(line))

/** Facts of a world, complete for every folder it has. Subtrees are answered only by `baseHolds`. */
export const factsOf = (world: World, holds?: Facts['baseHolds']): Facts => {
  const lines = new Map<string, Fact<ChangedLines>>()
  for (const [path, { added, removed }] of Object.entries(world.lines ?? {})) {
    lines.set(path, { known: { added: bytes(added), removed: bytes(removed) } })
  }
  for (const path of world.lostLines ?? []) lines.set(path, { unavailable: 'file_limit' })
  const folders = new Map<string, string[]>([['', []]])
  for (const path of world.base ?? []) {
    const parts = path.split('/')
    const name = parts.pop() ?? ''
    for (let depth = 1; depth <= parts.length; depth += 1) {
      const folder = parts.slice(0, depth).join('/')
      if (!folders.has(folder)) folders.set(folder, [])
    }
    folders.get(parts.join('/'))?.push(name)
  }
  return {
    lines,
    history: world.history ?? { known: { count: world.commits ?? 0, fingerprint: 'f'.repeat(64) } },
    baseFiles: world.baseFiles ?? { known: folders },
    ...(holds ? { baseHolds: holds } : {}),
  }
}

export const triggerOf = (
  entry: Entry,
  scopes: Readonly<Record<string, readonly string[]>> = {},
): ReturnType<typeof resolveEntry> => resolveEntry(entry, { references: {}, scopes: new Map(Object.entries(scopes)) })

export const decide = (entry: Entry, files: readonly ChangedFile[], facts: Facts, generated?: Generated): Decision =>
  evaluate({ id: 'c', trigger: triggerOf(entry) }, changeOf(...files), facts, generated ?? (() => undefined))
