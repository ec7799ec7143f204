/** Which changes the trunk's configuration lets land unasked (facts 10.3). */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { standingGrant } from '../../src/landing/standing.ts'

const scope = (name: string, ...paths: readonly string[]) => ({ name, paths, neutral: false, gate: undefined })

const ask = (preAuthorized: readonly string[], ...changedPaths: readonly string[]) =>
  standingGrant({
    configuration: {
      acceptance: { preAuthorized },
      scopes: [scope('docs', 'docs/**', '*.md'), scope('api', 'api/'), scope('all-docs', 'docs/', 'site/')],
    },
    changedPaths,
  })

describe('a standing grant', () => {
  it('covers a change whose every path is inside a granted scope, and names those used in the order of the file', () => {
    assert.deepEqual(ask(['docs'], 'docs/a', 'x/README.md'), { covered: true, scopes: ['docs'], warnings: [] })
    assert.deepEqual(ask(['api', 'docs'], 'api/x', 'docs/a'), { covered: true, scopes: ['docs', 'api'], warnings: [] })
    assert.deepEqual(ask(['api', 'docs'], 'docs/a'), { covered: true, scopes: ['docs'], warnings: [] })
    assert.deepEqual(ask(['all-docs', 'docs'], 'docs/a', 'site/b').covered, true)
  })

  it('covers no path outside, no unclassified one, and no empty change', () => {
    for (const [paths, reason] of [
      [['docs/a', 'api/x'], /1 changed path is outside the granted scopes \(docs\)/],
      [['docs/a', 'src/x', 'src/y'], /2 changed paths are outside/],
      [[], /nothing differs/],
    ] as const) {
      const answer = ask(['docs'], ...paths)
      assert.equal(answer.covered, false)
      assert.match(('reason' in answer ? answer.reason : undefined) ?? '', reason)
    }
    assert.deepEqual(ask([], 'docs/a'), { covered: false, reason: undefined, warnings: [] })
  })

  it('gives nothing for a name that is no scope, and says so', () => {
    const answer = ask(['nodocs', 'nodocs'], 'docs/a')
    assert.equal(answer.covered, false)
    assert.equal(answer.warnings.length, 1)
    assert.match(answer.warnings[0] ?? '', /"nodocs", which is no scope and grants nothing/)
    const partly = ask(['nodocs', 'docs'], 'docs/a')
    assert.deepEqual([partly.covered, partly.warnings.length], [true, 1])
  })
})
