/** `git discern setup --uninstall`: takes away what setup added, to the byte, and nothing that anybody has proven. */
import { DELIVERY_PREFIX, listDeliveries } from '../delivery/ledger.ts'
import { unwireDeliveries } from '../delivery/mapping.ts'
import { Refusal } from '../errors.ts'
import { readConfig } from '../git/config.ts'
import { uninstallHooks } from '../git/hooks.ts'
import { NOTES_REF } from '../git/notes.ts'
import { displayPath } from '../git/path.ts'
import type { Worktree } from '../git/repository.ts'
import { CONFIG_FILE } from '../policy/read.ts'
import { type MappingResult, reconcileMapping } from '../proof/remote.ts'
import type { Result, Step } from '../result.ts'
import { hookSteps, hooksData, proofNoteData, tell, told } from './converge.ts'

const KIND = 'setup-step'

/** Neither the configuration nor the trunk has to be readable. */
export const uninstall = async (worktree: Worktree, dryRun: boolean): Promise<Result> => {
  const entries = await readConfig(worktree)
  const hooks = await uninstallHooks(worktree, entries, { dryRun })
  const fetch = await reconcileMapping(worktree, entries, 'local', { removeWhenLocal: true, dryRun })
  const deliveries = await unwireDeliveries(worktree, entries, dryRun)
  const ledgers = await listDeliveries(worktree)
  const kept = (label: string, what: string): Step => tell(KIND, label, told.left(`kept: ${what}`), dryRun)
  const hookLines = hookSteps(KIND, hooks, dryRun)
  const steps = [
    ...(hookLines.length > 0
      ? hookLines
      : [tell(KIND, 'hooks', told.right('unchanged: there are none of ours'), dryRun)]),
    ...fetchLines(fetch, dryRun),
    ...deliveryLines(deliveries, dryRun),
    kept(CONFIG_FILE, 'it belongs to the project'),
    kept('Proof notes', `${NOTES_REF} and what was fetched`),
    ...(ledgers.size > 0 ? [kept('deliveries', `${DELIVERY_PREFIX} and what was fetched`)] : []),
    kept('records', `${displayPath(`${worktree.commonDir}/discern`)}`),
  ]
  const partial = {
    ...(dryRun ? { dry_run: true as const, plan: steps } : { steps }),
    data: {
      uninstalled: true,
      hooks: hooksData(hooks),
      proof_notes: fetch,
      proof_note: proofNoteData(fetch),
      kept: [CONFIG_FILE, NOTES_REF, displayPath(`${worktree.commonDir}/discern`)],
    },
  }
  const [failure] = [...fetch.errors, ...deliveries.errors]
  if (failure) {
    throw new Refusal(
      'precondition_failed',
      {
        problem: `the mapping of ${failure.remote} could not be removed: ${failure.reason}`,
        next: 'git discern setup --uninstall',
      },
      partial,
    )
  }
  return { ok: true, verb: 'setup', ...partial }
}

/** Fetch lines that we did not add stay, whatever they bring. */
const fetchLines = ({ removed, errors }: MappingResult, dryRun: boolean): readonly Step[] => {
  const say = (remote: string, what: Parameters<typeof tell>[2]): Step =>
    tell(KIND, `fetch from ${remote}`, what, dryRun)
  if (removed.length + errors.length === 0)
    return [tell(KIND, 'fetch', told.right('unchanged: no mapping of ours'), dryRun)]
  return [
    ...removed.map(remote => say(remote, told.did('the mapping was removed'))),
    ...errors.map(({ remote, reason }) => say(remote, told.broken(`the mapping is still there: ${reason}`))),
  ]
}

/** Nothing is said where no delivery was ever at home. */
const deliveryLines = ({ removed, errors }: MappingResult, dryRun: boolean): readonly Step[] => {
  const say = (remote: string, what: Parameters<typeof tell>[2]): Step =>
    tell(KIND, `deliveries of ${remote}`, what, dryRun)
  return [
    ...removed.map(remote => say(remote, told.did('the mapping was removed'))),
    ...errors.map(({ remote, reason }) => say(remote, told.broken(`the mapping is still there: ${reason}`))),
  ]
}
