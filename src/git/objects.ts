/** Objects, read through one long-lived `cat-file --batch` and written with plumbing. */
import type { ChildProcess } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from '../errors.ts'
import { PROMISED_OBJECT_LIMIT_COUNT } from '../limits.ts'
import { decodePath } from './path.ts'
import { gitLine, type Place, start } from './run.ts'

export interface GitObject {
  readonly oid: string
  readonly type: 'commit' | 'tree' | 'blob' | 'tag'
  readonly content: Buffer
}

export interface TreeEntry {
  readonly mode: string
  readonly oid: string
  /** See `git/path.ts` for how bytes become this string. */
  readonly path: string
}

export interface ObjectReader {
  /** One object by full id or any name without newline that git understands; `undefined` when it is missing here. */
  readonly read: (name: string) => Promise<GitObject | undefined>
  readonly close: () => void
}

/**
 * Starts no process before the first `read`. Requests may be issued in parallel; git answers them in order. An object that a
 * partial clone lacks reads as missing: the place's environment forbids fetching it, over which older gits die, so that the next
 * one is started for what else was asked.
 */
export const openObjects = (place: Place, commonDir: string): ObjectReader => {
  let child: ChildProcess | undefined
  let buffered = Buffer.alloc(0)
  let chunks: Buffer[] = []
  let available = 0
  let ended: Error | undefined
  let stderr = ''
  const waiting: { name: string; resolve: (object: GitObject | undefined) => void; reject: (error: Error) => void }[] =
    []
  let header: { oid: string; type: GitObject['type']; size: number } | undefined
  let deaths = 0
  let closed = false

  const deliver = (): void => {
    while (waiting.length > 0) {
      if (!header) {
        if (chunks.length > 0) {
          buffered = Buffer.concat([buffered, ...chunks])
          chunks = []
        }
        const newline = buffered.indexOf(10)
        if (newline === -1) return
        const line = buffered.toString('utf8', 0, newline)
        buffered = buffered.subarray(newline + 1)
        available = buffered.length
        const match = /^([0-9a-f]{40,64}) (commit|tree|blob|tag) (\d+)$/.exec(line)
        if (!match) {
          waiting.shift()?.resolve(undefined)
          continue
        }
        header = { oid: match[1] ?? '', type: match[2] as GitObject['type'], size: Number(match[3]) }
      }
      if (available < header.size + 1) return
      if (chunks.length > 0) {
        buffered = Buffer.concat([buffered, ...chunks])
        chunks = []
      }
      const content = buffered.subarray(0, header.size)
      buffered = buffered.subarray(header.size + 1)
      available = buffered.length
      waiting.shift()?.resolve({ oid: header.oid, type: header.type, content })
      header = undefined
    }
  }

  const fail = (error: Error): void => {
    ended = error
    for (const request of waiting.splice(0)) request.reject(error)
  }

  const open = (): ChildProcess => {
    const started = start(place, ['cat-file', '--batch'])
    const abort = (): void => {
      started.kill('SIGTERM')
    }
    place.signal?.addEventListener('abort', abort, { once: true })
    if (place.signal?.aborted) abort()
    started.stdout?.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      available += chunk.length
      deliver()
    })
    started.stderr?.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('utf8')).slice(-2000)
    })
    started.stdin?.on('error', () => {})
    started.on('error', error => fail(new Refusal('git_unavailable', { reason: error.message })))
    started.on('close', code => {
      const failure = new Refusal('git_failed', {
        command: 'cat-file --batch',
        exitCode: code ?? 128,
        stderr: stderr.trim(),
      })
      // It died by itself over the object that is asked first, of which nothing was said yet.
      const died = code !== null && !closed && place.signal?.aborted !== true && header === undefined && available === 0
      if (!died || deaths >= PROMISED_OBJECT_LIMIT_COUNT) return fail(failure)
      deaths += 1
      void isPartialClone(commonDir).then(partial => {
        if (!partial || closed) return fail(failure)
        waiting.shift()?.resolve(undefined)
        child = undefined
        if (waiting.length === 0) return
        child = open()
        for (const { name } of waiting) child.stdin?.write(`${name}\n`)
      })
    })
    return started
  }

  return {
    read: name =>
      new Promise((resolve, reject) => {
        if (ended) return reject(ended)
        if (/[\n\0]/.test(name)) return reject(new TypeError('an object name cannot hold a newline'))
        child ??= open()
        waiting.push({ name, resolve, reject })
        // One that died is followed by another, which is told everything that waits.
        if (child.exitCode === null) child.stdin?.write(`${name}\n`)
      }),
    close: () => {
      closed = true
      child?.stdin?.end()
      child?.kill('SIGTERM')
    },
  }
}

/** Whether objects were left out when this repository was cloned or fetched into: git marks the packs that may refer to such. */
const isPartialClone = async (commonDir: string): Promise<boolean> => {
  const names = await readdir(join(commonDir, 'objects/pack')).catch(() => [])
  return names.some(name => name.endsWith('.promisor'))
}

/** The entries of a tree object, in git's order. */
export const parseTree = (tree: Buffer, digits: 40 | 64): readonly TreeEntry[] => {
  const entries: TreeEntry[] = []
  const bytes = digits / 2
  for (let at = 0; at < tree.length; ) {
    const space = tree.indexOf(32, at)
    const nul = tree.indexOf(0, space)
    entries.push({
      mode: tree.toString('ascii', at, space).padStart(6, '0'),
      path: decodePath(tree.subarray(space + 1, nul)),
      oid: tree.toString('hex', nul + 1, nul + 1 + bytes),
    })
    at = nul + 1 + bytes
  }
  return entries
}

/** The tree and parents of a commit object. */
export const parseCommit = (content: Buffer): { readonly tree: string; readonly parents: readonly string[] } => {
  const head = content.toString('latin1').split('\n\n', 1)[0] ?? ''
  const tree = /^tree ([0-9a-f]+)/.exec(head)?.[1] ?? ''
  return { tree, parents: [...head.matchAll(/^parent ([0-9a-f]+)$/gm)].map(match => match[1] ?? '') }
}

/** Writes a blob without filters and returns its id. One git process. */
export const writeBlob = (place: Place, bytes: string | Uint8Array): Promise<string> =>
  gitLine(place, ['hash-object', '-w', '--stdin'], { input: bytes })
