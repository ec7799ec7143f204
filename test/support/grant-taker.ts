/**
 * A process that takes grants: `<directory> race <count>` claims those of the branches `b0`, `b1`, ... as soon as the file `go`
 * is there and says which it got; `<directory> churn` takes and gives back that of `b0` until it is killed.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { claimGrant, restoreClaim } from '../../src/landing/grant.ts'
import { contextFor } from './gate.ts'

const [directory = '', what = '', count = '0'] = process.argv.slice(2)
const directories = { gitDir: directory, commonDir: directory }
const context = contextFor(directory, process.env)
console.log('ready')
if (what === 'race') {
  while (!existsSync(join(directory, 'go'))) {
    // Both wait for the same file and start at the same moment.
  }
  const got: number[] = []
  for (let at = 0; at < Number(count); at += 1) {
    if (await claimGrant(context, directories, `refs/heads/b${at}`, randomUUID())) got.push(at)
  }
  console.log(JSON.stringify(got))
} else {
  for (;;) {
    const landing = randomUUID()
    if (await claimGrant(context, directories, 'refs/heads/b0', landing)) {
      await restoreClaim(context, directories, landing)
    }
  }
}
