/** The identity of an effort: one branch in one worktree (design 4.1), stable from its first `done` to its landing. */
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { adminPath, readAdmin, writeAdmin } from '../store/admin.ts'

interface Directories {
  readonly gitDir: string
  readonly commonDir: string
}

/** Lowercase UUID of the effort on `branch` (full ref name); made and kept at the first call. */
export const effortId = async (context: Context, directories: Directories, branch: string): Promise<string> => {
  const read = await readAdmin(directories, 'efforts')
  if (read.status === 'newer') {
    throw new Refusal('store_newer', { path: adminPath(directories, 'efforts'), version: read.version })
  }
  const standing = read.status === 'ok' ? (read.value['efforts'] as Record<string, unknown> | undefined) : undefined
  const known = standing?.[branch]
  if (typeof known === 'string' && /^[0-9a-f-]{36}$/.test(known)) return known
  const id = context.uuid()
  await writeAdmin(directories, 'efforts', { efforts: { ...standing, [branch]: id } })
  return id
}
