/** Many objects written by one git process: as a pack, the way a fetch brings them. */
import { createHash } from 'node:crypto'
import { oidDigits, type Repository } from './repository.ts'
import { gitOutput } from './run.ts'

/** From this many objects on they stay one pack; fewer become loose objects, so that packs do not pile up. */
const PACK_COUNT = 100
const TREE_TYPE = 2

const hashOf = (digits: 40 | 64): string => (digits === 40 ? 'sha1' : 'sha256')

/** The id that git gives to a tree with this content. */
export const treeId = (content: Buffer, digits: 40 | 64): string =>
  createHash(hashOf(digits)).update(`tree ${content.length}\0`).update(content).digest('hex')

/** Type and size of an object in a pack: seven bits a byte, the first one shared with the type. */
const objectHeader = (size: number): Buffer => {
  const bytes: number[] = []
  let byte = (TREE_TYPE << 4) | (size & 15)
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.push(byte | 128)
    byte = rest & 127
  }
  bytes.push(byte)
  return Buffer.from(bytes)
}

const adler32 = (content: Buffer): number => {
  let low = 1
  let high = 0
  for (let at = 0; at < content.length; ) {
    // Both sums stay below 2^32 for this many bytes.
    const end = Math.min(at + 3800, content.length)
    for (; at < end; at += 1) {
      low += content[at] ?? 0
      high += low
    }
    low %= 65_521
    high %= 65_521
  }
  return ((high << 16) | low) >>> 0
}

/** A zlib stream that compresses nothing: ids do not compress, and git compresses anew whatever it keeps. */
const stored = (content: Buffer): readonly Buffer[] => {
  const parts: Buffer[] = [Buffer.from([0x78, 0x01])]
  let at = 0
  do {
    const block = content.subarray(at, at + 0xffff)
    at += block.length
    const header = Buffer.alloc(5)
    header[0] = at >= content.length ? 1 : 0
    header.writeUInt16LE(block.length, 1)
    header.writeUInt16LE(block.length ^ 0xffff, 3)
    parts.push(header, block)
  } while (at < content.length)
  const check = Buffer.alloc(4)
  check.writeUInt32BE(adler32(content))
  return [...parts, check]
}

/** Writes tree objects. One git process, or none for none; throws `git_failed` when git takes offence. */
export const storeTrees = async (repository: Repository, trees: readonly Buffer[]): Promise<void> => {
  if (trees.length === 0) return
  const header = Buffer.alloc(12)
  header.write('PACK', 'latin1')
  header.writeUInt32BE(2, 4)
  header.writeUInt32BE(trees.length, 8)
  const body = Buffer.concat([header, ...trees.flatMap(tree => [objectHeader(tree.length), ...stored(tree)])])
  const trailer = createHash(hashOf(oidDigits(repository)))
    .update(body)
    .digest()
  const command = trees.length < PACK_COUNT ? ['unpack-objects', '-q'] : ['index-pack', '--stdin']
  await gitOutput(repository, command, { input: Buffer.concat([body, trailer]) })
}
