/** What each checkpoint of a project sees of a change, through `git discern checkpoints`. */
import { CONFIG, project } from './project.ts'
import type { DiscernOptions, Loose, Scratch } from './scratch.ts'

/** `paths` sees every path, `line` needs content, `binary` the kind of content, `story` history. */
export const POLICY = `${CONFIG}
[checkpoints.paths]
mode = "advise"
question = "What changed?"
[checkpoints.line]
exclude_paths = [".gitattributes", "discern.toml"]
adds_matching = ["eval("]
question = "Why eval?"
[checkpoints.binary]
mode = "advise"
binary = true
question = "Why not text?"
[checkpoints.story]
mode = "advise"
min_commits = 1
question = "Is it one story?"
`

/** A trunk with the policy and these files, and nothing else yet. */
export const governed = (s: Scratch, files: Readonly<Record<string, string>> = {}, policy = POLICY): void => {
  project(s)
  s.write('r/discern.toml', policy)
  for (const [path, text] of Object.entries(files)) s.write(`r/${path}`, text)
  s.commit('r', 'policy')
  s.git('r', 'switch', '-q', '-c', 'feat')
}

/** Of each checkpoint the paths it holds for, else the field that decided against it, else the reason it was lost for. */
export const seen = (data: Loose): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    data.checkpoints.map(({ id, preview }: Loose) => [
      id,
      preview?.matched ??
        preview?.vetoed_by ??
        data.drops.filter(({ checkpoint }: Loose) => checkpoint === id).map(({ account }: Loose) => account)[0],
    ]),
  )

export const look = async (
  s: Scratch,
  cwd = 'r',
  options?: DiscernOptions,
): Promise<Readonly<Record<string, unknown>>> => seen((await s.discern(cwd, ['checkpoints', '--json'], options)).data)
