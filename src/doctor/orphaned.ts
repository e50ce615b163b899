/** Jobs of workers that died. */

import { workCommand } from '../app/unserved-queues.ts'
import { orphansOf } from '../inspect/orphans.ts'
import { finding } from '../store/contract/finding-texts.ts'
import type { Check } from './check.ts'

export const orphaned: Check = async ({ hq, owners, app }) => {
  const { jobs: n, workers, queues } = await orphansOf(hq.store, owners)
  if (n === 0) return finding('ok', 'orphaned-none')
  if (owners.size > 0) return finding('warning', 'orphaned', { n, workers })
  return finding('error', 'orphaned-without-worker', { n, workers, command: workCommand(queues, app) })
}
