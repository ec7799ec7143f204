/** Tree objects in bulk: many read by one process, many written by one long-lived process, whatever their depth. */
import type { ChildProcess } from 'node:child_process'
import { Refusal } from '../errors.ts'
import type { Repository } from './repository.ts'
import { gitOutput, type Place, start } from './run.ts'

/** One entry as it stands in a tree object. `name` holds one byte per character (latin1), so that any name survives. */
export interface RawEntry {
  readonly mode: string
  readonly oid: string
  readonly name: string
}

export const TREE_MODE = '040000'
export const BLOB_MODE = '100644'
const GITLINK_MODE = '160000'

/** The type of object that an entry of this mode names. */
export const modeType = (mode: string): 'tree' | 'commit' | 'blob' =>
  mode === TREE_MODE ? 'tree' : mode === GITLINK_MODE ? 'commit' : 'blob'

/** Calls `entry` for each entry of a tree object, in git's order. Bytes in, no object per entry kept. */
export const scanTree = (
  content: Buffer,
  digits: 40 | 64,
  entry: (mode: string, name: string, oid: string) => void,
): void => {
  // Two conversions of the whole buffer and slices of them cost far less than three conversions per entry.
  const text = content.toString('latin1')
  const hex = content.toString('hex')
  for (let at = 0; at < text.length; ) {
    const space = text.indexOf(' ', at)
    const nul = text.indexOf('\0', space)
    const oid = 2 * (nul + 1)
    entry(text.slice(at, space).padStart(6, '0'), text.slice(space + 1, nul), hex.slice(oid, oid + digits))
    at = nul + 1 + digits / 2
  }
}

/** Up to this many trees are asked of the repository's own reader; a process of their own is faster for more. */
const FEW_TREES = 64

/**
 * The contents of tree objects, by id. At most one git process besides the repository's object reader. Throws `notes_failed`
 * when one is missing or is no tree.
 */
export const readTrees = async (
  repository: Repository,
  oids: readonly string[],
): Promise<ReadonlyMap<string, Buffer>> => {
  const distinct = [...new Set(oids)]
  const trees = new Map<string, Buffer>()
  if (distinct.length <= FEW_TREES) {
    const objects = await Promise.all(distinct.map(oid => repository.objects.read(oid)))
    for (const object of objects) if (object?.type === 'tree') trees.set(object.oid, object.content)
  } else {
    const output = await gitOutput(repository, ['cat-file', '--batch', '--buffer'], {
      input: `${distinct.join('\n')}\n`,
    })
    for (let at = 0; at < output.length; ) {
      const newline = output.indexOf(10, at)
      const [oid = '', type, size] = output.toString('latin1', at, newline).split(' ')
      at = newline + 1
      if (size === undefined) continue
      if (type === 'tree') trees.set(oid, output.subarray(at, at + Number(size)))
      at += Number(size) + 1
    }
  }
  const missing = distinct.find(oid => !trees.has(oid))
  if (missing === undefined) return trees
  throw new Refusal('notes_failed', {
    reason: `the tree ${missing} of the notes is missing here`,
    next: 'git fsck --connectivity-only',
  })
}

export interface TreeWriter {
  /** Writes one tree and returns its id. Entries may come in any order; what they name is not looked up. */
  readonly write: (entries: readonly RawEntry[]) => Promise<string>
  readonly close: () => void
}

/** Starts no process before the first `write`; one git process after that. Throws `git_failed` when git gives up. */
export const openTreeWriter = (place: Place): TreeWriter => {
  let child: ChildProcess | undefined
  let pending = ''
  let stderr = ''
  let ended: Error | undefined
  const waiting: { resolve: (oid: string) => void; reject: (error: Error) => void }[] = []

  const fail = (error: Error): void => {
    ended ??= error
    for (const request of waiting.splice(0)) request.reject(error)
  }

  const open = (): ChildProcess => {
    const started = start(place, ['mktree', '-z', '--batch', '--missing'])
    started.stdout?.on('data', (chunk: Buffer) => {
      const lines = (pending + chunk.toString('latin1')).split('\n')
      pending = lines.pop() ?? ''
      for (const line of lines) waiting.shift()?.resolve(line)
    })
    started.stderr?.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('utf8')).slice(-2000)
    })
    started.stdin?.on('error', () => {})
    started.on('error', error => fail(new Refusal('git_unavailable', { reason: error.message })))
    started.on('close', code => {
      fail(new Refusal('git_failed', { command: 'mktree --batch', exitCode: code ?? 128, stderr: stderr.trim() }))
    })
    return started
  }

  return {
    write: entries =>
      new Promise((resolve, reject) => {
        if (ended) return reject(ended)
        child ??= open()
        waiting.push({ resolve, reject })
        const text = entries.map(({ mode, oid, name }) => `${mode} ${modeType(mode)} ${oid}\t${name}\0`).join('')
        child.stdin?.write(`${text}\0`, 'latin1')
      }),
    close: () => {
      child?.stdin?.end()
    },
  }
}
