/** Lines of a delivery under the rules of the program. */
import assert from 'node:assert/strict'
import type { DeliveryRecord } from '../../src/delivery/record.ts'
import { advance, nextAfter, type Standing } from '../../src/delivery/standing.ts'
import type { Line } from './delivery-line.ts'

/** Where a line leads to; every record of it must be legal. */
export const fold = (line: Line): Standing => {
  let standing: Standing | undefined
  for (const record of line) {
    const next: ReturnType<typeof advance> = advance(standing, record)
    assert.ok(!('problem' in next), `generation ${record.generation}: ${'problem' in next ? next.problem : ''}`)
    standing = next
  }
  assert.ok(standing)
  return standing
}

/** Why a record is refused; `undefined` when it is not. It is never its `next`, which the rules would not look at then. */
export const refusal = (standing: Standing | undefined, record: DeliveryRecord): string | undefined => {
  const result = nextAfter(standing, record)
  const folded = advance(standing, record)
  assert.equal('problem' in folded, 'problem' in result)
  return 'problem' in result ? result.problem : undefined
}
