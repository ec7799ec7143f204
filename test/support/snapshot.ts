/** Everything below a directory as one value, so that "nothing changed" can be asserted of all of it at once. */
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join, relative } from 'node:path'

/** The Logbook and its key, which a verb that works writes whatever becomes of it. */
export const LOGBOOK = /(^|\/)\.git\/discern\/(logbook|validation-hmac-key)$/

/** Relative path to kind, mode and content. Times are left out; paths that match `except` are not looked into. */
export const snapshot = (dir: string, except: RegExp = /^$/): Readonly<Record<string, string>> => {
  const found: Record<string, string> = {}
  const walk = (path: string): void => {
    for (const name of readdirSync(path).sort()) {
      const full = join(path, name)
      const key = relative(dir, full)
      if (except.test(key)) continue
      const stat = lstatSync(full)
      const mode = (stat.mode & 0o777).toString(8)
      if (stat.isSymbolicLink()) found[key] = `link ${readlinkSync(full)}`
      else if (stat.isDirectory()) {
        found[key] = `directory ${mode}`
        walk(full)
      } else if (stat.isFile()) {
        found[key] = `file ${mode} ${createHash('sha256').update(readFileSync(full)).digest('hex')}`
      } else found[key] = `special ${mode}`
    }
  }
  walk(dir)
  return found
}
