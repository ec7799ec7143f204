/** A clone of this project to install from, and what a prefix holds. */
import { execFileSync } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type Finished, projectRoot, type Scratch } from './scratch.ts'

const parts = [
  'install.sh',
  'git-discern',
  'package.json',
  'package-lock.json',
  'LICENSE',
  'hooks',
  'schema',
  'src',
  'dist',
]

/**
 * A built clone with its packages in place, for a test that changes it. Each package is linked by itself, so that nothing
 * that empties `node_modules` reaches the real ones.
 */
export const sourceTree = (root: string): string => {
  mkdirSync(join(root, 'test'), { recursive: true })
  // With the times of folders too, or the copy would look as if it had to be built again.
  for (const part of [...parts, 'test/demo.sh']) execFileSync('cp', ['-a', join(projectRoot, part), join(root, part)])
  const packages = join(root, 'node_modules')
  mkdirSync(packages)
  for (const entry of readdirSync(join(projectRoot, 'node_modules'))) {
    if (!entry.startsWith('.')) symlinkSync(join(projectRoot, 'node_modules', entry), join(packages, entry))
  }
  writeFileSync(join(packages, '.package-lock.json'), '{}')
  return root
}

let shared: string | undefined

/** One such clone for all tests that only install from it; it goes when the process ends. */
export const sharedSource = (): string => {
  if (shared === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'discern-source-'))
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
    shared = sourceTree(join(folder, 'clone'))
  }
  return shared
}

/** Every path below a folder with its type, mode and content; with its times as well when asked for. */
export const snapshot = (folder: string, times = false): Readonly<Record<string, string>> => {
  const found: Record<string, string> = {}
  const visit = (path: string, name: string): void => {
    const stat = lstatSync(path, { bigint: true })
    const when = times ? ` ${stat.mtimeNs} ${stat.ctimeNs}` : ''
    const mode = (stat.mode & 0o7777n).toString(8)
    if (stat.isSymbolicLink()) found[name] = `link ${readlinkSync(path)}${when}`
    else if (stat.isDirectory()) {
      found[name] = `folder ${mode}${when}`
      for (const entry of readdirSync(path)) visit(join(path, entry), `${name}/${entry}`)
    } else found[name] = `file ${mode}${when} ${readFileSync(path, 'base64')}`
  }
  visit(folder, '.')
  return found
}

/** Everything that install.sh may call: POSIX, and what it asks for in so many words. */
const tools =
  'sh cat chmod cksum cmp cp cut dirname find head ln mkdir mktemp mv paste readlink rm rmdir sed sort tr git node npm man'

/** A folder for the PATH with just those tools, except the named ones. */
export const pathWithout = (s: Scratch, ...missing: readonly string[]): string => {
  const folder = s.path(`without-${missing.join('-')}`)
  mkdirSync(folder)
  const found = s.sh('.', `for tool in ${tools}; do command -v $tool; done`).out.trim().split('\n')
  for (const program of found) {
    if (!missing.includes(basename(program))) symlinkSync(program, join(folder, basename(program)))
  }
  return folder
}

/** Runs the install script of a clone under dash's name for it, `sh`. */
export const installWith = (
  s: Scratch,
  source: string,
  args: readonly string[],
  env: Record<string, string | undefined> = {},
): Finished => s.exec('.', 'sh', [join(source, 'install.sh'), ...args], { env })
