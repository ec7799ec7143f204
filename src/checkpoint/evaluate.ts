/** Decides, from collected facts alone, whether the structure of a trigger holds (document 002, facts 2.3). Pure. */
import type { Change, ChangedFile, Facts, FolderQuestion, Needs, RelatedPath } from '../change/facts.ts'
import { matchesAny } from '../policy/paths.ts'
import type { CheckpointDefinition, Veto } from './definition.ts'
import { needsOfTrigger, stepsOf, type Trigger } from './fields.ts'
import { folderKey, type Scene } from './narrow.ts'
import { splitName } from './similar.ts'

/** The name of the generated group that owns a path, as the governing configuration has it. */
export type Generated = (path: string) => string | undefined

export type Decision =
  /** `matched` is sorted by code unit; `when`: a condition still has to decide. */
  | {
      readonly kind: 'holds'
      readonly matched: readonly string[]
      readonly related: readonly RelatedPath[]
      readonly when: boolean
    }
  | { readonly kind: 'vetoed'; readonly veto: Veto }
  /** A fact that this definition needs is missing, which is neither yes nor no. */
  | {
      readonly kind: 'dropped'
      readonly reason: 'trigger_content_unavailable' | 'trigger_history_unavailable'
      readonly account: string
    }

const NO_FACTS: Facts = {
  lines: new Map(),
  history: { unavailable: 'unreadable' },
  baseFiles: { unavailable: 'unreadable' },
}

const sceneOf = (id: string, trigger: Trigger, change: Change, facts: Facts, generated: Generated): Scene => {
  const excluded = matchesAny(trigger.excludePaths)
  const isGenerated = (path: string): boolean => generated(path) !== undefined
  return {
    id,
    change,
    facts,
    generated: isGenerated,
    admitted: path => (trigger.includeGenerated || !isGenerated(path)) && !excluded(path),
    work: { spentBytes: 0 },
  }
}

/** The decision of one definition. Facts that none of its fields needs are not looked at. */
export const evaluate = (
  { id, trigger }: Pick<CheckpointDefinition, 'id' | 'trigger'>,
  change: Change,
  facts: Facts,
  generated: Generated,
): Decision => {
  const scene = sceneOf(id, trigger, change, facts, generated)
  let files: readonly ChangedFile[] = change.files
  let related: readonly RelatedPath[] = []
  for (const { veto, run } of stepsOf(trigger)) {
    const narrowed = run(files, scene)
    if ('lost' in narrowed) return { kind: 'dropped', reason: narrowed.lost, account: narrowed.account }
    files = narrowed.keep
    related = narrowed.related ?? related
    if (files.length === 0 && veto) return { kind: 'vetoed', veto }
  }
  return { kind: 'holds', matched: files.map(({ path }) => path).sort(), related, when: trigger.when !== undefined }
}

/** The last step that looks at nothing but paths and kinds: what passes it is admitted to collection (facts 2.1). */
const LAST_PATH_STEP = 4

const admittedFiles = (trigger: Trigger, scene: Scene): readonly ChangedFile[] => {
  let files: readonly ChangedFile[] = scene.change.files
  for (const { at, run } of stepsOf(trigger)) {
    if (at > LAST_PATH_STEP) break
    const narrowed = run(files, scene)
    files = 'keep' in narrowed ? narrowed.keep : []
  }
  return files
}

/** The facts that some definition can use, and no others (facts 2.1). Lists are sorted by code unit, each item once. */
export const needsOf = (
  definitions: readonly Pick<CheckpointDefinition, 'id' | 'trigger'>[],
  change: Change,
  { generated }: { readonly generated: Generated },
): Needs => {
  const content = new Set<string>()
  const folders = new Set<string>()
  const baseHolds: FolderQuestion[] = []
  let history = false
  for (const { id, trigger } of definitions) {
    const needs = needsOfTrigger(trigger)
    history ||= needs.has('history')
    if (!['content', 'siblings', 'folders'].some(need => needs.has(need as 'content'))) continue
    const scene = sceneOf(id, trigger, change, NO_FACTS, generated)
    const files = admittedFiles(trigger, scene)
    if (needs.has('content')) for (const { path } of files) content.add(path)
    const parents = new Set(files.filter(({ kind }) => kind === 'added').map(({ path }) => splitName(path).folder))
    if (needs.has('siblings')) for (const folder of parents) folders.add(folder)
    if (!needs.has('folders')) continue
    for (const folder of [...parents].filter(Boolean).sort()) {
      folders.add(folder)
      baseHolds.push({ key: folderKey(id, folder), folder, admits: scene.admitted })
    }
  }
  return { content: [...content].sort(), history, baseFolders: [...folders].sort(), baseHolds }
}
