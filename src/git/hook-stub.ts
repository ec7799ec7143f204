/**
 * What a hook of ours looks like: a shell file put together from the templates in `hooks/`, with the digest of its own bytes in
 * it, so that "ours to the letter" can be told from "ours, and edited since" without any other record (cases 6, 88, 89).
 */
import { readFile } from 'node:fs/promises'
import { sha256 } from '../store/digest.ts'

export type HookEvent = 'post-merge' | 'post-rewrite' | 'reference-transaction'

/** Every event that has a hook of ours, in the order they are reported. */
export const HOOK_EVENTS: readonly HookEvent[] = ['post-merge', 'post-rewrite', 'reference-transaction']

/** The values that are written into a hook when it is installed. Paths are absolute. */
export interface StubValues {
  readonly node: string
  readonly launcher: string
  readonly version: string
  /** The shell that reads the chained hook under the name it had, or empty to execute it. See `readingShell`. */
  readonly as: string
  /** A word by which the manager whose hook is chained takes this file for its own, or empty. See `managersWord`. */
  readonly beside: string
}

/** The values that follow from the hook that is chained. */
export type ChainValues = Pick<StubValues, 'as' | 'beside'>

declare const DISCERN_BUNDLE: boolean | undefined
const templates = new URL(typeof DISCERN_BUNDLE === 'undefined' ? '../../hooks/' : '../hooks/', import.meta.url)

const template = async (name: string): Promise<string> =>
  (await readFile(new URL(name, templates), 'utf8')).replaceAll('\r', '')

/**
 * The bytes of one hook: ASCII, LF, no BOM (case 88). Whatever is no plain ASCII stands in the form that `printf %b` reads.
 * Reads two to five files, starts nothing.
 */
export const renderStub = async (event: HookEvent, values: StubValues): Promise<string> => {
  let text = await template(event)
  for (const [line, part] of text.matchAll(/^#@include (.*)$/gm)) {
    const body = (await template(`parts/${part}`)).trimEnd()
    text = text.replace(line, () => body)
  }
  text = text.replace(/@(node|launcher|version|as|beside)@/g, (_, name: keyof StubValues) => shellText(values[name]))
  const [head, body] = text.split('#@seal\n', 2)
  if (head === undefined || body === undefined) throw new Error(`the template of ${event} has no seal`)
  return `${head}${SEAL}${sha256(body)}\n${body}`
}

const SEAL = '# sha256 '
const MARKER = '# git-discern hook v1 '

/** Goes between single quotes and holds only printable ASCII. A Windows path gets forward slashes. */
const shellText = (value: string): string =>
  [...Buffer.from(/^[A-Za-z]:[\\/]/.test(value) ? value.replaceAll('\\', '/') : value, 'utf8')]
    .map(byte => {
      if (byte === 0x27) return "'\\''"
      if (byte === 0x5c) return '\\\\'
      return byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\0${byte.toString(8).padStart(3, '0')}`
    })
    .join('')

/** Reads back what `shellText` wrote. */
const fromShellText = (text: string): string =>
  Buffer.from(
    [...text.replaceAll("'\\''", "'").matchAll(/\\0([0-7]{3})|\\(\\)|([^\\])/g)].map(([, octal, backslash, plain]) =>
      octal !== undefined ? Number.parseInt(octal, 8) : (backslash ?? plain ?? '').charCodeAt(0),
    ),
  ).toString('utf8')

export type StubReading =
  | { readonly kind: 'foreign' }
  /** Has our marker, but its bytes are not what we wrote. */
  | { readonly kind: 'edited'; readonly event: string }
  | { readonly kind: 'intact'; readonly event: string; readonly values: StubValues }

/** Whether the bytes of a hook are ours, and to the letter, whichever version wrote them. Pure. */
export const readStub = (bytes: Buffer): StubReading => {
  const text = bytes.toString('latin1')
  const event = new RegExp(`^${MARKER}(\\S+)$`, 'm').exec(text.slice(0, 400))?.[1]
  if (event === undefined) return { kind: 'foreign' }
  const seal = new RegExp(`^#!/bin/sh\n${MARKER}\\S+\n${SEAL}([0-9a-f]{64})\n`).exec(text)
  if (!seal || sha256(bytes.subarray(seal[0].length)) !== seal[1]) return { kind: 'edited', event }
  const value = (name: string): string =>
    fromShellText(new RegExp(`^(?:# )?${name}='(.*)'$`, 'm').exec(text)?.[1] ?? '')
  return {
    kind: 'intact',
    event,
    values: {
      node: value('node'),
      launcher: value('launcher'),
      as: value('as'),
      beside: value('beside'),
      version: /^# Written by git discern (\S+)\. /m.exec(text)?.[1] ?? '',
    },
  }
}

const READING_SHELLS = ['sh', 'bash', 'dash', 'ash']

/**
 * The shell that must read a chained hook instead of the kernel starting it, because the hook asks under which name it was
 * called: husky's generated files (a file `h` beside them does the asking) and scripts that serve several events by their
 * own name. Empty for every other hook, also for one that looks for itself on the disk.
 */
export const readingShell = (hook: Buffer, besideHuskysFile: boolean): string => {
  const text = hook.toString('latin1')
  const [, path = '', rest = ''] = /^#! *(\S+)(?: +(.*?))? *\n/.exec(text) ?? []
  const [name = '', ...options] = (path.endsWith('/env') ? rest : `${path} ${rest}`).split(' ').filter(Boolean)
  if (!READING_SHELLS.includes(name.replace(/^.*\//, '')) || !/^[\w./-]+$/.test(name)) return ''
  if (!options.every(option => /^-[A-Za-z]+$/.test(option))) return ''
  const asksHusky = besideHuskysFile && text.includes('$(dirname "$0")/h"')
  const asksItself = /basename[^\n]*\$\{?0|\$\{0##\*\/\}/.test(text) && !/readlink|realpath|BASH_SOURCE/.test(text)
  return asksHusky || asksItself ? [name, ...options].join(' ') : ''
}

/**
 * Lefthook replaces a hook with its name in it, and moves any other to `<event>.old`; where that name is taken it fails, and
 * with it every `npm install` that runs it. A hook that chains lefthook's may therefore be replaced; the next refresh chains it
 * again.
 */
export const managersWord = (hook: Buffer): string => (hook.includes('LEFTHOOK') ? 'LEFTHOOK' : '')

/** Whether a hook was written by pre-commit, which runs what it renamed to `<event>.legacy`. */
export const isPreCommits = (hook: Buffer): boolean =>
  /^#[^\n]*File generated by pre-commit/m.test(hook.toString('latin1', 0, 1000))

/** Whether a hook that a person wrote calls `git discern hook` for the event. */
export const callsDiscern = (hook: Buffer, event: HookEvent): boolean =>
  new RegExp(`^[^#\n]*\\bgit[ -]discern hook ${event}\\b`, 'm').test(hook.toString('latin1'))
