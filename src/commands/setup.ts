/** `git discern setup`: makes a repository ready, or takes that away again. What is right already is left to the byte. */
import { resolve } from 'node:path'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { readConfig } from '../git/config.ts'
import { NOTES_REF } from '../git/notes.ts'
import { displayPath } from '../git/path.ts'
import { readRefs } from '../git/refs.ts'
import { openWorktree, type Worktree } from '../git/repository.ts'
import { worktreeState } from '../git/worktrees.ts'
import type { Configuration } from '../policy/definition.ts'
import { CONFIG_FILE, readLiveConfiguration } from '../policy/read.ts'
import type { Result, Step } from '../result.ts'
import { configurationAdvisories } from './advise.ts'
import type { Call } from './call.ts'
import { converge, hooksData, proofNoteData, tell, told } from './converge.ts'
import { type ConfigStep, settleConfiguration } from './setup-config.ts'
import { nextSteps } from './setup-next.ts'
import { type ChosenTrunk, chooseTrunk, type TrunkGround } from './setup-trunk.ts'
import { uninstall } from './setup-uninstall.ts'

const VERB = 'setup'
const KIND = 'setup-step'

/** Refuses before anything is written, except for hooks: those come last, so that everything else stands (case 3). */
export const run = async (context: Context, call: Call): Promise<Result> => {
  const worktree = await openWorktree(context)
  const dryRun = call.flags['dry-run'] === true
  if (call.flags['uninstall'] === true) {
    refuseTogether(call, ['trunk', 'hooks-dir'])
    return uninstall(worktree, dryRun)
  }
  const ground = await readGround(worktree)
  const trunk = await chooseTrunk(context, ground, text(call.flags['trunk']))
  const config = await settleConfiguration(ground, trunk, dryRun)
  const directory = text(call.flags['hooks-dir'])
  const { hooks, fetch, steps, advisories } = await converge(context, worktree, ground.entries, {
    kind: KIND,
    mode: config.proof_notes_mode,
    hooksDir: directory === undefined ? undefined : resolve(context.cwd, directory),
    dryRun,
  })
  const all = [configLine(config, trunk, dryRun), ...steps, notesLine(dryRun)]
  const partial = {
    ...(dryRun ? { dry_run: true as const, plan: all } : { steps: all }),
    data: { config, hooks: hooksData(hooks), proof_notes: fetch, proof_note: proofNoteData(fetch) },
    advisories: [...(ground.configuration ? configurationAdvisories(ground.configuration) : []), ...advisories],
  }
  if (hooks.obstacle) throw new Refusal('hooks_not_installed', hooks.obstacle, partial)
  return { ok: true, verb: VERB, ...partial, hints: await nextSteps(ground, trunk, config) }
}

const text = (flag: Call['flags'][string]): string | undefined => (typeof flag === 'string' ? flag : undefined)

const refuseTogether = (call: Call, names: readonly string[]): void => {
  const other = names.find(name => call.flags[name] !== undefined)
  if (other === undefined) return
  throw new Refusal('invalid_arguments', {
    problem: `setup: --uninstall and --${other} exclude each other`,
    usage: 'git discern setup --uninstall',
  })
}

const readGround = async (worktree: Worktree): Promise<TrunkGround> => {
  const [entries, refs, state, configuration] = await Promise.all([
    readConfig(worktree),
    readRefs(worktree, ['refs/heads/', 'refs/remotes/']),
    worktreeState(worktree),
    readConfiguration(worktree),
  ])
  return { worktree, entries, refs, state, configuration }
}

/** A `discern.toml` that is wrong ends setup before it has touched anything. */
const readConfiguration = async (worktree: Worktree): Promise<Configuration | undefined> => {
  try {
    return await readLiveConfiguration(worktree)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const path = displayPath(`${worktree.topLevel}/${CONFIG_FILE}`)
    throw new Refusal(error.slug, error.detail, { data: { config: { status: 'invalid', path } } })
  }
}

const SOURCES: Readonly<Record<ChosenTrunk['source'], string>> = {
  option: 'named with --trunk',
  unborn: 'the branch of the first commit',
  environment: 'DISCERN_TRUNK says so',
  configuration: `${CONFIG_FILE} says so`,
  'remote-head': "the remote's HEAD",
  'default-branch': 'init.defaultBranch says so',
  'only-branch': 'the only branch',
}

const configLine = (config: ConfigStep, trunk: ChosenTrunk, dryRun: boolean): Step => {
  const count = `${config.jobs.length} ${config.jobs.length === 1 ? 'job' : 'jobs'}`
  const what = `trunk ${trunk.name} (${SOURCES[trunk.source]}), ${count}`
  switch (config.status) {
    case 'created':
      return tell(KIND, CONFIG_FILE, told.did(`created: ${what}`), dryRun)
    case 'unchanged':
      return tell(KIND, CONFIG_FILE, told.right(`unchanged: ${what}`), dryRun)
    case 'on_trunk':
      return tell(
        KIND,
        CONFIG_FILE,
        told.left(`left alone: ${trunk.name} has one, and this branch lags behind it`),
        dryRun,
      )
  }
}

/** How notes are recorded needs no setting up: `accept` writes them here, and nothing sends them anywhere by itself. */
const notesLine = (dryRun: boolean): Step =>
  tell(
    KIND,
    'Proof notes',
    told.right(`unchanged: recorded here in ${NOTES_REF}; you publish them with git push`),
    dryRun,
  )
