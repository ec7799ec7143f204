/** What to do after `setup`, in order: commit, land, prove. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CONFIG_FILE } from '../policy/read.ts'
import type { ConfigStep } from './setup-config.ts'
import type { ChosenTrunk, TrunkGround } from './setup-trunk.ts'

const ADOPT = 'git discern done && git discern accept --confirmed'

/** Commands to type, with the reason behind each. No git process besides the object reader. */
export const nextSteps = async (
  { worktree, state }: TrunkGround,
  { name, tip, onlyAt }: ChosenTrunk,
  config: ConfigStep,
): Promise<readonly string[]> => {
  const here = onlyAt === undefined ? [] : [`git branch ${name} ${onlyAt}/${name}   # so that changes can land here`]
  if (config.status === 'on_trunk')
    return [
      ...here,
      `git merge ${onlyAt === undefined ? name : `${onlyAt}/${name}`}   # brings its ${CONFIG_FILE} along`,
    ]
  const onTrunk = state.branch === `refs/heads/${name}`
  const branch = `git switch -c <branch>   # then change something, commit it, and run: git discern done`
  const [committed, landed, live] = await Promise.all([
    state.head === undefined ? undefined : worktree.objects.read(`${state.head}:${CONFIG_FILE}`),
    tip === undefined ? undefined : worktree.objects.read(`${tip}:${CONFIG_FILE}`),
    readFile(join(worktree.topLevel, CONFIG_FILE)).catch(() => undefined),
  ])
  const jobs =
    config.jobs.length > 0 ? [] : [`name the commands that a change has to pass: edit [jobs] in ${CONFIG_FILE}`]
  const commit =
    live !== undefined && committed?.content.equals(live)
      ? []
      : [`git add ${CONFIG_FILE} && git commit -m "Set up git discern"   # look it over first`]
  if (onTrunk) return [...jobs, ...commit, branch]
  if (state.branch === undefined) return [...jobs, ...here, branch]
  return landed === undefined
    ? [...jobs, ...here, ...commit, `${ADOPT}   # lands ${CONFIG_FILE} on ${name}, after the owner said yes`]
    : [...jobs, ...here, ...commit, 'git discern done']
}
