/** `git discern logbook`: what the Logbook holds, where it is, and its end (facts 12.1). Showing writes nothing. */
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { Refusal, reasonOf } from '../errors.ts'
import { openRepository, type Repository } from '../git/repository.ts'
import { LOGBOOK_SHOWN_COUNT, LOGBOOK_SHOWN_LIMIT_COUNT } from '../limits.ts'
import { listArchives, pendingSnapshots, requireIdle, resetLogbook, sealLogbook } from '../logbook/archive.ts'
import { isCi } from '../logbook/driver.ts'
import type { LogbookEvent } from '../logbook/event.ts'
import { listMonths, logbookFolder, type Months } from '../logbook/month.ts'
import { newestEvents, readEvents } from '../logbook/read.ts'
import { declines } from '../logbook/recorder.ts'
import { tallyEvents } from '../logbook/tally.ts'
import { CONFIG_FILE, readLiveDocument } from '../policy/read.ts'
import type { Result } from '../result.ts'
import { adminFolder } from '../store/admin.ts'
import type { Call } from './call.ts'

const VERB = 'logbook'

type Opened = Awaited<ReturnType<typeof openRepository>>

interface Action {
  readonly flags: readonly string[]
  readonly run: (context: Context, repository: Opened, flags: Call['flags']) => Promise<Result>
}

const usage = (problem: string, action = 'show'): Refusal =>
  new Refusal('invalid_arguments', { problem: `${VERB}: ${problem}`, usage: `git discern ${VERB} ${action}` })

/** Shows, counts, names, seals or deletes. Refuses with `terminal_yes_required`, `logbook_in_use`, `busy`. One git process. */
export const run = async (context: Context, { operands, flags }: Call): Promise<Result> => {
  const [name = ''] = operands
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
  if (!action) {
    const { closestMatch } = await import('leven')
    const near = closestMatch(name, Object.keys(ACTIONS), { maxDistance: 3 })
    const expected = Object.keys(ACTIONS).join(', ')
    throw usage(`expected one of ${expected}, found ${name}${near ? `; did you mean "${near}"?` : ''}`, near)
  }
  for (const flag of OWN_FLAGS) {
    if (flags[flag] === undefined || action.flags.includes(flag)) continue
    const owners = Object.keys(ACTIONS).filter(owner => ACTIONS[owner]?.flags.includes(flag))
    throw usage(`--${flag} belongs to ${owners.join(' and ')}`, name)
  }
  return action.run(context, await openRepository(context), flags)
}

const answer = (action: string, data: object, more: Partial<Result> = {}): Result => ({
  ok: true,
  verb: VERB,
  ...more,
  data: { action, ...data },
})

const show: Action['run'] = async (_context, repository, { all, count, verb }) => {
  if (all === true && count !== undefined) throw usage('--all and --count exclude each other')
  const most = all === true ? LOGBOOK_SHOWN_LIMIT_COUNT : count === undefined ? LOGBOOK_SHOWN_COUNT : Number(count)
  if (!Number.isInteger(most) || most < 1 || most > LOGBOOK_SHOWN_LIMIT_COUNT) {
    throw usage(`--count needs a number from 1 to ${LOGBOOK_SHOWN_LIMIT_COUNT}, found ${count}`, 'show --count 50')
  }
  const wanted = (event: LogbookEvent): boolean =>
    verb === undefined || ((event.kind === 'verb' || event.kind === 'begin') && event.verb === verb)
  const newest = await newestEvents(repository, most, wanted)
  return answer('show', { ...(verb === undefined ? {} : { verb }), ...newest })
}

const stats: Action['run'] = async (_context, repository) => {
  const tally = tallyEvents()
  const { files, unreadable, others, ...counts } = await readEvents(repository, tally.add)
  return answer('stats', {
    path: logbookFolder(repository),
    recording: await recording(repository),
    bytes: files.reduce((total, file) => total + file.bytes, 0),
    ...counts,
    ...tally.result(),
    files,
    unreadable,
    others,
    archives: await listArchives(repository),
    pending: await pendingPaths(repository),
  })
}

/** Whether the configuration of this checkout lets events be recorded; a bare repository has none to ask. */
const recording = async ({
  topLevel,
}: Opened): Promise<{ readonly known: boolean } | { readonly unavailable: string }> => {
  if (topLevel === undefined) return { unavailable: 'there is no work tree here' }
  try {
    const document = await readLiveDocument({ topLevel })
    if (!document) return { unavailable: `there is no ${CONFIG_FILE} here` }
    return { known: !declines(document) }
  } catch (error) {
    return { unavailable: reasonOf(error) }
  }
}

const pendingPaths = async (repository: Repository): Promise<readonly string[]> =>
  (await pendingSnapshots(repository)).map(name => join(adminFolder(repository, 'logbook-recovery'), name))

const path: Action['run'] = async (_context, repository) => {
  const folder = logbookFolder(repository)
  const exists = await lstat(folder).then(
    stat => stat.isDirectory(),
    () => false,
  )
  return answer('path', { path: folder, exists })
}

const monthsOrRefuse = async (repository: Repository): Promise<Months> => {
  const months = await listMonths(logbookFolder(repository))
  if (months.unavailable === undefined) return months
  throw new Refusal('store_unreadable', { path: logbookFolder(repository), reason: months.unavailable })
}

const seal: Action['run'] = async (context, repository, flags) => {
  const { files } = await monthsOrRefuse(repository)
  const pending = await pendingPaths(repository)
  const months = files.map(({ name }) => name)
  const deed = `sealing moves ${monthsText(months)} of the Logbook into an archive`
  const goesOn = `${files.length > 0 ? `${deed}, after` : 'sealing archives'} what an interrupted seal left`
  const nothing = files.length + pending.length === 0
  if (flags['dry-run'] === true) return planned('seal', nothing, deed, { months, pending })
  if (nothing) return answer('seal', { archives: [], months })
  await requireYes(context, repository, flags, 'seal', pending.length > 0 ? goesOn : deed, [
    `patterns and show no longer see ${files.length > 0 ? 'these events' : 'the events'} in ${adminFolder(repository, 'logbook-archives')}`,
  ])
  return answer('seal', { archives: await sealLogbook(context, repository), months })
}

const reset: Action['run'] = async (context, repository, flags) => {
  const { files } = await monthsOrRefuse(repository)
  const months = files.map(({ name }) => name)
  const deed = `resetting deletes ${monthsText(months)} of the Logbook for good`
  if (flags['dry-run'] === true) return planned('reset', files.length === 0, deed, { months })
  const left = { archives: await listArchives(repository), pending: await pendingPaths(repository) }
  if (files.length === 0) return answer('reset', { removed: [], ...left })
  const staying = left.archives.length + left.pending.length
  await requireYes(context, repository, flags, 'reset', deed, [
    ...(staying > 0 ? ['what was sealed stays'] : []),
    'to keep the events and begin anew: git discern logbook seal',
  ])
  return answer('reset', { removed: await resetLogbook(context, repository), ...left })
}

const monthsText = (names: readonly string[]): string => {
  const [first, last] = [names[0], names.at(-1)].map(name => name?.replace('.jsonl', ''))
  if (names.length < 2) return names.length === 0 ? 'nothing' : `1 month (${first})`
  return `${names.length} months (${first} to ${last})`
}

const planned = (action: string, nothing: boolean, label: string, data: object): Result =>
  answer(action, data, {
    dry_run: true,
    plan: [{ kind: 'git', label, disposition: nothing ? 'skip' : 'run' }],
  })

/**
 * A yes of a person at an interactive terminal who saw what will happen (facts 7.6); anything else keeps everything. No option
 * stands for it. That there is nobody to ask is said before anything that waiting could mend.
 */
const requireYes = async (
  context: Context,
  repository: Repository,
  flags: Call['flags'],
  action: 'seal' | 'reset',
  deed: string,
  about: readonly string[],
): Promise<void> => {
  const { confirm } = context
  const outputs = ['json', 'markdown'].filter(name => flags[name] === true).map(name => `--${name}`)
  const found = [
    ...outputs,
    ...(isCi(context) ? ['the variable CI'] : []),
    // With an output for programs nobody is asked, whatever the streams are.
    ...(confirm === undefined && outputs.length === 0 ? ['a pipe or file'] : []),
  ].join(' and ')
  const command = `git discern ${VERB} ${action}`
  if (found !== '' || confirm === undefined) throw new Refusal('terminal_yes_required', { deed, found, command })
  await requireIdle(context, repository, action)
  for (const text of [deed, ...about]) context.progress({ kind: 'note', text })
  if (await confirm(action === 'seal' ? 'Seal the Logbook?' : 'Delete the Logbook?')) return
  throw new Refusal('terminal_yes_required', { deed, found: 'none', command })
}

const ACTIONS: Readonly<Record<string, Action>> = {
  show: { flags: ['all', 'count', 'verb'], run: show },
  stats: { flags: [], run: stats },
  path: { flags: [], run: path },
  seal: { flags: ['dry-run'], run: seal },
  reset: { flags: ['dry-run'], run: reset },
}

const OWN_FLAGS = [...new Set(Object.values(ACTIONS).flatMap(({ flags }) => flags))]
