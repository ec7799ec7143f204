/** What somebody could do to a delivery, and what must hold of every line that comes of it. */
import assert from 'node:assert/strict'
import type { DeliveryRecord } from '../../src/delivery/record.ts'
import { STATES } from '../../src/delivery/stage.ts'
import { CHECKPOINTS, type Deed, isLegal, type Line, newest, OTHER_SOURCE, SOURCE } from './delivery-line.ts'

/** Everything that somebody could try; the same source and corpus again would be a record of nothing. */
export const deeds = (line: Line): readonly Deed[] => {
  const { sourceCommit, corpusRevision } = newest(line)
  const changes = [SOURCE, OTHER_SOURCE]
    .flatMap(source => [{ source }, { source, corpus: 'corpus-1' }, { source, corpus: 'corpus-2' }])
    .filter(
      ({ source, ...more }) =>
        source !== sourceCommit || ('corpus' in more ? more.corpus : undefined) !== corpusRevision,
    )
  return [
    ...CHECKPOINTS.map((id): Deed => ({ kind: 'stage', id })),
    ...STATES.map((to): Deed => ({ kind: 'move', to })),
    ...changes.map((change): Deed => ({ kind: 'source', ...change })),
    { kind: 'promote' },
  ]
}

/** Stages are likelier, or hardly any life would get anywhere. */
export const legalDeeds = (line: Line): readonly Deed[] => {
  const legal = deeds(line).filter(deed => isLegal(line, deed))
  const onward = legal.filter(({ kind }) => kind === 'stage' || kind === 'promote')
  return [...legal, ...Array.from({ length: 40 }, () => onward.slice(-1)).flat()]
}

/** What must hold of every line, told without the model: by looking back from the end. */
export const hold = (line: Line): void => {
  line.forEach((record, at) => {
    assert.ok(at === 0 || record.generation > (line[at - 1]?.generation ?? 0), 'a generation was used twice')
  })
  const released = line.findLastIndex(({ state, checkpoint }) => state === 'RELEASED' && checkpoint === null)
  const promotion = line[released]
  if (!promotion) return
  const same = (record: DeliveryRecord): boolean =>
    record.sourceCommit === promotion.sourceCommit && record.corpusRevision === promotion.corpusRevision
  const changed = line.slice(0, released).findLastIndex(record => !same(record))
  const work = line.slice(changed + 1, released + 1)
  const places = (['CP2', 'CP3', 'CP4', 'CP5', 'CP6'] as const).map(id =>
    work.findLastIndex(({ checkpoint }) => checkpoint === id),
  )
  assert.ok(
    places.every(place => place >= 0),
    `released without its own ${places}`,
  )
  assert.deepEqual(
    [...places].sort((one, other) => one - other),
    places,
  )
  assert.notEqual(work[places[4] ?? -1]?.acceptedBy, undefined)
  for (const id of ['CP0', 'CP1']) assert.ok(line.slice(0, released).some(({ checkpoint }) => checkpoint === id))
}

/** One of several, chosen by a number. */
export const at = <T>(all: readonly T[], pick: number): T => {
  const one = all[pick % all.length]
  if (one === undefined) throw new Error('nothing to pick from')
  return one
}
