/** Jobs of workers that died. */

import { workCommand } from '../app/unserved-queues.ts'
import { orphansOf } from '../inspect/orphans.ts'
import { type Check, ok } from './check.ts'
import { orphansText } from './processes.ts'

export const orphaned: Check = async ({ hq, owners, app }) => {
  const orphans = await orphansOf(hq.store, owners)
  if (orphans.jobs === 0) return ok('no job belongs to a worker that died')
  const text = orphansText(orphans)
  if (owners.size > 0) {
    const advice = 'The running workers put them back within seconds. If this stays, look into their logs'
    return [{ severity: 'warning', text, advice }]
  }
  const advice = `Start a worker, which puts them back: ${workCommand(orphans.queues, app)}`
  return [{ severity: 'error', text: `${text}, and no worker is running`, advice }]
}
