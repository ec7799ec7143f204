/**
 * The public fields of `[checkpoints.<name>]`, one row each: role, resolved value, default, part in the definition hash, facts
 * needed, step of the evaluation, and words for people. The types of a trigger and of a definition come from this table, and
 * so do hash, evaluation and summary, so that they cannot drift apart. The rows stand in the order of the hash (facts 3.1).
 */
import type { ChangeKind } from '../change/facts.ts'
import { expandPattern, expandText } from '../policy/references.ts'
import { sha256 } from '../store/digest.ts'
import type { CheckpointMode, Veto } from './definition.ts'
import * as narrow from './narrow.ts'

/** What a field needs to know beyond paths and kinds. */
export type FactNeed = 'content' | 'binary' | 'siblings' | 'folders' | 'history'

/** What values are resolved with: the references and the scopes of the same configuration. */
export interface Setting {
  readonly references: Readonly<Record<string, string>>
  readonly scopes: ReadonlyMap<string, readonly string[]>
}

interface FieldRow<P extends string, V> {
  /** Name of the value in a trigger or a definition. */
  readonly property: P
  readonly absent: V
  /** From the value of the file, which kept its contract, to the one that counts. */
  readonly resolve: (raw: unknown, setting: Setting) => V
  /** Key in the hash, and the value there; `undefined` shares the key of another row. */
  readonly hash: { readonly key: string; readonly canonical: (value: V) => unknown } | undefined
}

/** Facts 2.3: the number of the step, and the veto when no file is left. */
interface Step<V> {
  readonly at: number
  /** `undefined` where the step only asks for facts. */
  readonly veto: Veto | undefined
  /** Runs even when the field is off. */
  readonly always?: true
  readonly narrow: narrow.Narrow<V>
}

export interface TriggerRow<P extends string, V> extends FieldRow<P, V> {
  readonly role: 'selector' | 'trigger'
  readonly needs: readonly FactNeed[]
  /** `undefined` for the second way to write a slot. */
  readonly step: Step<V> | undefined
  /** Words for a value that is on. */
  readonly summary: (value: V) => string | undefined
}

export interface ReviewRow<P extends string, V> extends FieldRow<P, V> {
  readonly role: 'review' | 'question_source'
}

const trigger = <const P extends string, V>(row: TriggerRow<P, V>): TriggerRow<P, V> => row
const review = <const P extends string, V>(row: ReviewRow<P, V>): ReviewRow<P, V> => row

const asIs = (value: unknown): unknown => value
const orNull = (value: unknown): unknown => value ?? null
const texts = (raw: unknown): readonly string[] => raw as readonly string[]
const globs = (raw: unknown, { references }: Setting): readonly string[] =>
  texts(raw).map(pattern => expandPattern(pattern, references))
const flag = (raw: unknown): boolean => raw as boolean
const count = (raw: unknown): number | undefined => raw as number
const text = (raw: unknown): string | undefined => raw as string
const list = (values: readonly string[]): string => values.join(', ')
const quoted = (values: readonly string[]): string => values.map(value => JSON.stringify(value)).join(' or ')
const some = (n: number | undefined, noun: string): string => `at least ${n} ${noun}${n === 1 ? '' : 's'}`

const NONE: readonly string[] = []
const ANY_KIND: readonly ChangeKind[] = []
const UNSET_TEXT: string | undefined = undefined
const UNSET_COUNT: number | undefined = undefined
const UNSET_LIST: readonly string[] | undefined = undefined
const UNSET_FLAG: boolean | undefined = undefined

export const fields = {
  question: review({
    role: 'question_source',
    property: 'question',
    absent: '',
    resolve: raw => raw as string,
    hash: { key: 'question', canonical: asIs },
  }),
  question_file: review({
    role: 'question_source',
    property: 'questionFile',
    absent: UNSET_TEXT as string | undefined,
    resolve: text,
    hash: { key: 'question_file', canonical: orNull },
  }),
  exclude_paths: trigger({
    role: 'trigger',
    property: 'excludePaths',
    absent: NONE,
    resolve: globs,
    hash: { key: 'exclude_paths', canonical: asIs },
    needs: [],
    step: { at: 3, veto: 'excluded_only', narrow: narrow.withoutExcluded },
    summary: value => `not ${list(value)}`,
  }),
  include_generated: trigger({
    role: 'trigger',
    property: 'includeGenerated',
    absent: false,
    resolve: flag,
    hash: { key: 'include_generated', canonical: asIs },
    needs: [],
    step: { at: 2, veto: 'generated_only', always: true, narrow: narrow.authored },
    summary: () => 'generated files count',
  }),
  kinds: trigger({
    role: 'trigger',
    property: 'kinds',
    absent: ANY_KIND,
    resolve: raw => raw as readonly ChangeKind[],
    hash: { key: 'kinds', canonical: asIs },
    needs: [],
    step: { at: 4, veto: 'kinds', narrow: narrow.ofKind },
    summary: value => `${value.join(' or ')} files`,
  }),
  adds_matching: trigger({
    role: 'trigger',
    property: 'addsMatching',
    absent: NONE,
    resolve: texts,
    hash: { key: 'adds_matching', canonical: asIs },
    needs: ['content'],
    step: { at: 5, veto: 'adds_matching', narrow: narrow.withLines('added') },
    summary: value => `an added line with ${quoted(value)}`,
  }),
  removes_matching: trigger({
    role: 'trigger',
    property: 'removesMatching',
    absent: NONE,
    resolve: texts,
    hash: { key: 'removes_matching', canonical: asIs },
    needs: ['content'],
    step: { at: 6, veto: 'removes_matching', narrow: narrow.withLines('removed') },
    summary: value => `a removed line with ${quoted(value)}`,
  }),
  new_directory: trigger({
    role: 'trigger',
    property: 'newDirectory',
    absent: false,
    resolve: flag,
    hash: { key: 'new_directory', canonical: asIs },
    needs: ['folders'],
    step: { at: 7, veto: 'new_directory', narrow: narrow.inNewFolder },
    summary: () => 'a file in a new directory',
  }),
  binary: trigger({
    role: 'trigger',
    property: 'binary',
    absent: UNSET_FLAG as boolean | undefined,
    resolve: flag,
    hash: { key: 'binary', canonical: orNull },
    needs: ['binary'],
    step: { at: 8, veto: 'binary', narrow: narrow.isBinary },
    summary: value => (value ? 'a binary file' : 'a text file'),
  }),
  deletion_dominant: trigger({
    role: 'trigger',
    property: 'deletionDominant',
    absent: false,
    resolve: flag,
    hash: { key: 'deletion_dominant', canonical: asIs },
    needs: ['binary'],
    step: { at: 13, veto: 'deletion_dominant', narrow: narrow.mostlyDeletions },
    summary: () => 'mostly deletions',
  }),
  min_changed_files: trigger({
    role: 'trigger',
    property: 'minChangedFiles',
    absent: UNSET_COUNT as number | undefined,
    resolve: count,
    hash: { key: 'min_changed_files', canonical: orNull },
    needs: [],
    step: { at: 11, veto: 'min_changed_files', narrow: narrow.enoughFiles },
    summary: value => some(value, 'changed file'),
  }),
  min_changed_lines: trigger({
    role: 'trigger',
    property: 'minChangedLines',
    absent: UNSET_COUNT as number | undefined,
    resolve: count,
    hash: { key: 'min_changed_lines', canonical: orNull },
    needs: ['binary'],
    step: { at: 12, veto: 'min_changed_lines', narrow: narrow.enoughLines },
    summary: value => some(value, 'changed line'),
  }),
  min_commits: trigger({
    role: 'trigger',
    property: 'minCommits',
    absent: UNSET_COUNT as number | undefined,
    resolve: count,
    hash: { key: 'min_commits', canonical: orNull },
    needs: ['history'],
    step: { at: 14, veto: 'min_commits', narrow: narrow.enoughCommits },
    summary: value => some(value, 'commit'),
  }),
  mode: review({
    role: 'review',
    property: 'mode',
    absent: 'stop' as CheckpointMode,
    resolve: raw => raw as CheckpointMode,
    hash: { key: 'mode', canonical: asIs },
  }),
  reference: review({
    role: 'review',
    property: 'reference',
    absent: UNSET_TEXT as string | undefined,
    resolve: text,
    hash: { key: 'reference', canonical: orNull },
  }),
  paths: trigger({
    role: 'selector',
    property: 'selectorGlobs',
    absent: UNSET_LIST as readonly string[] | undefined,
    resolve: globs,
    hash: { key: 'selector_globs', canonical: orNull },
    needs: [],
    step: { at: 1, veto: 'empty_matched_set', always: true, narrow: narrow.selected },
    summary: value => (value?.some(glob => glob !== '') ? `changes in ${list(value)}` : 'changes nowhere'),
  }),
  scope: trigger({
    role: 'selector',
    property: 'selectorGlobs',
    absent: UNSET_LIST as readonly string[] | undefined,
    resolve: (raw, { scopes }) => scopes.get(raw as string),
    hash: undefined,
    needs: [],
    step: undefined,
    summary: () => undefined,
  }),
  similar_new_file: trigger({
    role: 'trigger',
    property: 'similarNewFile',
    absent: false,
    resolve: flag,
    hash: { key: 'similar_new_file', canonical: asIs },
    needs: ['siblings'],
    step: { at: 9, veto: 'similar_new_file', narrow: narrow.withSibling },
    summary: () => 'a new file named like one beside it',
  }),
  teach: review({
    role: 'review',
    property: 'teach',
    absent: UNSET_TEXT as string | undefined,
    resolve: text,
    hash: { key: 'teach', canonical: orNull },
  }),
  unless_changed: trigger({
    role: 'trigger',
    property: 'unlessChanged',
    absent: NONE,
    // The name of a scope wins where an item could be either (facts 1.3).
    resolve: (raw, { scopes, references }) =>
      texts(raw).flatMap(item => scopes.get(item) ?? [expandPattern(item, references)]),
    hash: { key: 'unless_changed', canonical: asIs },
    needs: [],
    step: { at: 10, veto: 'unless_changed', narrow: narrow.unlessChanged },
    summary: value => `unless ${list(value)} changed`,
  }),
  when: trigger({
    role: 'trigger',
    property: 'when',
    absent: UNSET_TEXT as string | undefined,
    // Blank text means no condition (facts 2.3, step 15).
    resolve: (raw, { references }) =>
      (raw as string).trim() === '' ? undefined : expandText(raw as string, references),
    hash: { key: 'when', canonical: orNull },
    needs: ['binary', 'history'],
    step: { at: 15, veto: undefined, narrow: narrow.describable },
    summary: value => `when ${JSON.stringify(value)} says so`,
  }),
}

type Fields = typeof fields
export type FieldName = keyof Fields

type ValuesOf<R> = {
  readonly [N in FieldName as Fields[N] extends { readonly role: unknown } & R
    ? Fields[N]['property']
    : never]: Fields[N]['absent']
}

/** Resolved values of the fields that decide whether a checkpoint fires. An absent optional is `undefined`. */
export type Trigger = ValuesOf<{ readonly step: unknown }>

/** Resolved values of the fields that a person reads. */
export type Review = Omit<ValuesOf<unknown>, keyof Trigger>

/** A row as those see it who treat all fields alike. */
type AnyTrigger = TriggerRow<string, unknown>
type AnyRow = AnyTrigger | ReviewRow<string, unknown>

/** All rows by name, in the order of the hash. */
export const rows = Object.entries(fields) as unknown as readonly (readonly [name: FieldName, row: AnyRow])[]

/** Whether a field of a resolved trigger says anything; an empty list does only where an absent one means something else. */
const inUse = ({ property, absent }: AnyTrigger, resolved: Trigger): boolean => {
  const value = resolved[property as keyof Trigger]
  return Array.isArray(absent) ? (value as readonly unknown[]).length > 0 : value !== absent
}

const triggerRows = rows
  .flatMap(([, row]) => ('step' in row && row.step ? [{ ...row, step: row.step }] : []))
  .sort((left, right) => left.step.at - right.step.at)

/** The steps that a trigger takes, in the one fixed order (facts 2.3). */
export const stepsOf = (
  resolved: Trigger,
): readonly { readonly at: number; readonly veto: Veto | undefined; readonly run: Run }[] =>
  triggerRows
    .filter(row => row.step.always || inUse(row, resolved))
    .map(({ property, step }) => ({
      at: step.at,
      veto: step.veto,
      run: (files, scene) => step.narrow(resolved[property as keyof Trigger], files, scene),
    }))

type Run = (files: Parameters<narrow.Narrow<unknown>>[1], scene: narrow.Scene) => narrow.Narrowed

/** The facts that a trigger needs (facts 2.1). */
export const needsOfTrigger = (resolved: Trigger): ReadonlySet<FactNeed> =>
  new Set(triggerRows.filter(row => inUse(row, resolved)).flatMap(({ needs }) => needs))

/** One line for people: what makes a checkpoint fire. */
export const summarise = (resolved: Trigger): string =>
  triggerRows
    .filter(row => inUse(row, resolved))
    .flatMap(({ property, summary }) => summary(resolved[property as keyof Trigger]) ?? [])
    .join('; ') || 'any change'

/** The value of each field of an entry; the raw values must have kept their contract. */
export const resolveEntry = (entry: Readonly<Record<string, unknown>>, setting: Setting): Trigger & Review => {
  const values: Record<string, unknown> = {}
  for (const [name, { property, resolve, absent }] of rows) {
    const raw = Object.hasOwn(entry, name) ? entry[name] : undefined
    if (raw !== undefined) values[property] = resolve(raw, setting)
    else if (!Object.hasOwn(values, property)) values[property] = absent
  }
  return values as unknown as Trigger & Review
}

/** The definition hash, 64 hexadecimal digits, over resolved values (facts 3.1). */
export const definitionHash = (resolved: Trigger & Review): string => {
  const material: Record<string, unknown> = {}
  for (const [, { property, hash }] of rows) {
    if (hash) material[hash.key] = hash.canonical(resolved[property as keyof (Trigger & Review)])
  }
  return sha256(`checkpoint-definition/v4\n${JSON.stringify(material)}`)
}
