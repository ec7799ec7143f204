/**
 * The commands that a project already has, read from the files at its top. One row per kind of file; a row says nothing
 * rather than guess, since a job that hangs or edits the wrong files is worse than one that is missing.
 */
import { cargo, cmake, go, gradle, maven, mix, python, ruby } from './detect-languages.ts'
import { composerScripts, denoTasks, justRecipes, makeTargets, packageScripts } from './detect-scripts.ts'
import {
  type DetectedJob,
  type DetectedJobs,
  type Detector,
  KNOWN_JOBS,
  type KnownJob,
  type ProjectFiles,
} from './detector.ts'

const detectors: readonly Detector[] = [
  { files: ['justfile', 'Justfile', '.justfile'], rank: 'runner', find: justRecipes },
  { files: ['GNUmakefile', 'makefile', 'Makefile'], rank: 'runner', find: makeTargets },
  { files: ['package.json'], rank: 'language', find: packageScripts },
  { files: ['deno.json', 'deno.jsonc'], rank: 'language', find: denoTasks },
  { files: ['pyproject.toml'], rank: 'language', find: python },
  { files: ['Cargo.toml'], rank: 'language', find: cargo },
  { files: ['go.mod'], rank: 'language', find: go },
  { files: ['composer.json'], rank: 'language', find: composerScripts },
  { files: ['Gemfile'], rank: 'language', find: ruby },
  { files: ['mix.exs'], rank: 'language', find: mix },
  { files: ['build.gradle.kts', 'build.gradle'], rank: 'language', find: gradle },
  { files: ['pom.xml'], rank: 'language', find: maven },
  { files: ['CMakeLists.txt'], rank: 'language', find: cmake },
]

/**
 * The jobs of a project. A runner's command stands alone, since it is how the project itself starts that job; several languages
 * side by side each add theirs. Pure; starts no process.
 */
export const detectCommands = (files: ProjectFiles): DetectedJobs => {
  const found = detectors.flatMap(({ files: names, rank, find }) => {
    const file = names.find(files.has)
    const text = file === undefined ? undefined : files.text(file)
    return file === undefined || text === undefined ? [] : [{ rank, jobs: find(text, file, files) }]
  })
  const result: Partial<Record<KnownJob, DetectedJob>> = {}
  for (const job of KNOWN_JOBS) {
    const offers = found.flatMap(({ rank, jobs }) => (jobs[job] ? [{ rank, offer: jobs[job] }] : []))
    const runner = offers.find(({ rank }) => rank === 'runner')
    const chosen = runner ? [runner] : offers
    if (chosen.length > 0) {
      result[job] = {
        run: chosen.map(({ offer }) => offer[0]),
        because: chosen.map(({ offer }) => offer[1]).join(', '),
      }
    }
  }
  return result
}
