/** What every run of the owner's commands gets alike, whichever verb starts it. */
import type { Context } from '../context.ts'
import type { GateInput } from '../gate/run.ts'
import type { Worktree } from '../git/repository.ts'
import { worktreeState } from '../git/worktrees.ts'
import type { Configuration } from '../policy/definition.ts'
import { adminFolder } from '../store/admin.ts'

/** The setting of a gate in a worktree; what is planned and which outputs are watched is the verb's. */
export const gateSetting = (
  context: Context,
  verb: string,
  worktree: Worktree,
  configuration: Configuration,
): Omit<GateInput, 'plan' | 'digestOutputs' | 'worktree'> & { readonly worktree: Worktree } => ({
  context,
  verb,
  worktree,
  settings: configuration.gate,
  outputFolder: adminFolder(worktree, 'output'),
  env: context.env,
  inspect: async () => (await worktreeState(worktree)).tracked,
})
