/** What notes cost where there are very many (design 5): merging two long histories, recording one more note. */
import { spawnSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { LOCAL_NOTES_REF, NOTES_REF, writeNote } from '../../src/git/notes.ts'
import { importHistories, note, openFor, pathOf, sameClaim, subjectOf, testWriter } from '../support/notes.ts'
import { bundle } from '../support/project.ts'
import { Scratch } from '../support/scratch.ts'
import { compare, median, type Row } from './measure.ts'

const TRACKING = 'refs/discern/remotes/origin/notes'
const OURS = 'refs/bench/ours'

/** Notes `from` up to `to`, at the two slashes that git itself gives a tree of this size. */
const numbered = (from: number, to: number): ReadonlyMap<string, string> =>
  new Map(
    Array.from({ length: to - from }, (_, at) => [pathOf(subjectOf(from + at), 2), note(`${from + at}`)] as const),
  )

/** 10,000 notes here and 10,000 there over 80,000 that both have, in one pack. */
const diverged = (s: Scratch): void => {
  s.git('.', 'init', '-q', 'packed')
  importHistories(s, 'packed', [
    { ref: 'refs/bench/base', files: numbered(0, 80_000) },
    { ref: OURS, from: 'refs/bench/base', files: numbered(80_000, 90_000) },
    { ref: TRACKING, from: 'refs/bench/base', files: numbered(90_000, 100_000) },
  ])
  s.git('packed', 'remote', 'add', 'origin', '../up')
  for (const ref of [NOTES_REF, LOCAL_NOTES_REF]) s.git('packed', 'update-ref', ref, OURS)
}

/** A merge happens once, so each run starts from a fresh copy and has to write what it makes. */
const mergeRow = (s: Scratch, runs: number): Row => {
  diverged(s)
  const merging = (name: string, command: string, args: readonly string[]) => ({
    command,
    args,
    cwd: s.path(name),
    env: s.env,
    before: () => {
      rmSync(s.path(name), { recursive: true, force: true })
      cpSync(s.path('packed'), s.path(name), { recursive: true })
    },
  })
  return compare(
    'merging 10,000 + 10,000 notes over 80,000',
    merging('ours', bundle[0], [bundle[1], 'notes', 'merge', '-q']),
    merging('theirs', 'git', ['notes', '--ref=discern', 'merge', '-q', TRACKING]),
    1.2,
    'git notes merge',
    runs,
  )
}

/** Recording alone, as a landing does it in a process that runs already, against `git notes add` in the same tree. */
const recordRow = async (s: Scratch, t: TestContext, count: number, runs: number): Promise<Row> => {
  const name = `record-${count}`
  s.git('.', 'init', '-q', name)
  importHistories(s, name, [{ ref: NOTES_REF, files: numbered(0, count) }])
  s.git(name, 'update-ref', LOCAL_NOTES_REF, NOTES_REF)
  s.git(name, 'update-ref', 'refs/notes/reference', NOTES_REF)
  const tree = s.exec(name, 'git', ['mktree'], { input: '' }).out.trim()
  const repository = await openFor(t, s, name)
  const ours: number[] = []
  const reference: number[] = []
  for (let at = -1; at < runs; at += 1) {
    const subject = s.git(name, 'commit-tree', '-m', `${at}`, tree)
    const start = performance.now()
    const request = { subject, body: note(`${at}`), sameClaim, writer: testWriter() }
    if ((await writeNote(repository, request)).status !== 'written') throw new Error('nothing was written')
    const middle = performance.now()
    const add = ['notes', '--ref=reference', 'add', '-m', note(`${at}`), subject]
    if (spawnSync('git', add, { cwd: s.path(name), env: s.env }).status !== 0) throw new Error('git notes add failed')
    if (at === -1) continue
    ours.push(middle - start)
    reference.push(performance.now() - middle)
  }
  const [mine, theirs] = [median(ours), median(reference)]
  const label = `recording one note where ${count.toLocaleString('en')} exist`
  return { name: label, ours: mine, reference: theirs, ratio: mine / theirs, budget: 8, against: 'git notes add' }
}

/** Every notes budget as a ratio; the last row compares recording with itself, since its cost must not grow. */
export const notesRows = async (runs = 10): Promise<readonly Row[]> => {
  const ends: (() => void | Promise<void>)[] = []
  const t = { after: (end: () => void) => ends.push(end) } as unknown as TestContext
  const s = new Scratch(t)
  try {
    const merge = mergeRow(s, runs)
    const few = await recordRow(s, t, 1_000, 2 * runs)
    const many = await recordRow(s, t, 100_000, 2 * runs)
    const flat = {
      name: 'recording where 100,000 exist, against recording where 1,000 do',
      ours: many.ours,
      reference: few.ours,
      ratio: many.ours / few.ours,
      budget: 2,
      against: 'ours at 1,000',
    }
    return [merge, few, many, flat]
  } finally {
    for (const end of ends.reverse()) await end()
  }
}
