/** The part of `setup` that concerns `discern.toml`: what is there, what would be written, and what follows from it. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Refusal, reasonOf } from '../errors.ts'
import { displayPath } from '../git/path.ts'
import { CONFIGURATION_LIMIT_BYTES } from '../limits.ts'
import type { Configuration } from '../policy/definition.ts'
import { detectCommands } from '../policy/detect.ts'
import { type DetectedJobs, KNOWN_JOBS, type ProjectFiles } from '../policy/detector.ts'
import { CONFIG_FILE, readCommittedConfiguration } from '../policy/read.ts'
import { renderConfiguration } from '../policy/template.ts'
import { createFile } from '../store/file.ts'
import type { ChosenTrunk, TrunkGround } from './setup-trunk.ts'

export interface ConfigStep {
  /** `on_trunk`: the trunk has one, and a second one here would only conflict with it. */
  readonly status: 'created' | 'unchanged' | 'on_trunk'
  /** As git shows it, absolute. */
  readonly path: string
  readonly trunk: string
  readonly trunk_source: ChosenTrunk['source']
  /** `run` is a command or several, one after another; `because` says where it was found. */
  readonly jobs: readonly { readonly name: string; readonly run: readonly string[]; readonly because: string }[]
  /** `[repository].proof_notes_mode` of the configuration that counts here. */
  readonly proof_notes_mode: 'local' | 'fetch'
}

/**
 * Decides about `discern.toml` and, unless `dryRun` is set, writes it. Refuses with `write_access`, and when the trunk's own file
 * cannot be read or is wrong, before anything is written.
 */
export const settleConfiguration = async (
  ground: TrunkGround,
  trunk: ChosenTrunk,
  dryRun: boolean,
): Promise<ConfigStep> => {
  const { topLevel } = ground.worktree
  const path = join(topLevel, CONFIG_FILE)
  const common = { path: displayPath(path), trunk: trunk.name, trunk_source: trunk.source }
  if (ground.configuration) return { ...common, status: 'unchanged', ...configured(ground.configuration, CONFIG_FILE) }
  const governing = trunk.tip === undefined ? undefined : await readCommittedConfiguration(ground.worktree, trunk.tip)
  if (governing?.status === 'ok') {
    return { ...common, status: 'on_trunk', ...configured(governing.configuration, `${CONFIG_FILE} of ${trunk.name}`) }
  }
  if (governing?.status === 'invalid') throw governing.refusal
  if (governing?.status === 'unreadable') {
    throw new Refusal('store_unreadable', { path: `${trunk.name}:${CONFIG_FILE}`, reason: governing.reason })
  }
  const jobs = detectCommands(projectFiles(topLevel))
  const text = renderConfiguration({ trunk: trunk.name, jobs, notesMode: 'fetch' })
  if (!dryRun) await writeNew(path, text)
  return { ...common, status: 'created', jobs: found(jobs), proof_notes_mode: 'fetch' }
}

const writeNew = async (path: string, text: string): Promise<void> => {
  let created: boolean
  try {
    created = await createFile(path, text, 0o666)
  } catch (error) {
    throw new Refusal('write_access', { path, reason: reasonOf(error) })
  }
  if (!created) {
    throw new Refusal('conflict', { problem: `somebody else wrote ${path} just now`, next: 'git discern setup' })
  }
}

const configured = (
  { jobs, repository }: Configuration,
  because: string,
): Pick<ConfigStep, 'jobs' | 'proof_notes_mode'> => ({
  jobs: jobs.map(({ name, run }) => ({ name, run, because })),
  proof_notes_mode: repository.proofNotesMode,
})

const found = (jobs: DetectedJobs): ConfigStep['jobs'] =>
  KNOWN_JOBS.flatMap(name => {
    const job = jobs[name]
    return job ? [{ name, ...job }] : []
  })

/** The regular files at the top of the checkout; a file too large to be written by hand says nothing. */
const projectFiles = (topLevel: string): ProjectFiles => {
  const names = new Set(
    readdirSync(topLevel, { withFileTypes: true })
      .filter(entry => entry.isFile() || (entry.isSymbolicLink() && isFile(join(topLevel, entry.name))))
      .map(({ name }) => name),
  )
  return {
    has: name => names.has(name),
    text: name => {
      const path = join(topLevel, name)
      if (!names.has(name) || statSync(path).size > CONFIGURATION_LIMIT_BYTES) return undefined
      try {
        return readFileSync(path, 'utf8')
      } catch {
        return undefined
      }
    },
  }
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
