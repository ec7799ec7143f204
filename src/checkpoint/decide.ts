/** Every governing checkpoint tried against one change, with only the facts that some of them need (facts 2.1, 2.3). */
import type { Effort } from '../change/effort.ts'
import type { ChangedFile, Fact, Facts, History } from '../change/facts.ts'
import { collectFacts } from '../change/gather.ts'
import type { Worktree } from '../git/repository.ts'
import type { CheckpointDefinition } from './definition.ts'
import { type Decision, evaluate, needsOf } from './evaluate.ts'
import type { Governing } from './govern.ts'

/** A definition with what its structure decides; `unreadable`: there is no change to try it against. */
export interface Tried {
  readonly definition: CheckpointDefinition
  readonly decision: Decision | { readonly kind: 'unreadable'; readonly account: string }
}

export interface Trial {
  readonly governing: Governing
  /** In the order of the configuration. */
  readonly tried: readonly Tried[]
  /** The changed files by path. */
  readonly files: ReadonlyMap<string, ChangedFile>
  /** Unavailable also where no definition needs it. */
  readonly history: Fact<History>
  readonly facts: Facts | undefined
}

/** Collects the facts and decides. Runs no `when`, writes nothing. Git processes as in `collectFacts`. */
export const tryCheckpoints = async (
  worktree: Worktree,
  governing: Governing,
  effort: Effort,
  head = 'HEAD',
): Promise<Trial> => {
  const { definitions, generated } = governing
  if (effort.status === 'unreadable') {
    const decision = { kind: 'unreadable', account: effort.reason } as const
    return {
      governing,
      tried: definitions.map(definition => ({ definition, decision })),
      files: new Map(),
      history: { unavailable: 'git_failed' },
      facts: undefined,
    }
  }
  const { change } = effort
  const facts = await collectFacts(worktree, change, needsOf(definitions, change, { generated }), head)
  return {
    governing,
    tried: definitions.map(definition => ({ definition, decision: evaluate(definition, change, facts, generated) })),
    files: new Map(change.files.map(file => [file.path, file])),
    history: facts.history,
    facts,
  }
}
