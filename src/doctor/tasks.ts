/** Tracked tasks that make no progress or are paused, and ordered queues whose due ids no worker runs. */

import { workCommand } from '../app/unserved-queues.ts'
import { quoted } from '../job/shell.ts'
import { unownedShards } from '../ordered/unowned-shards.ts'
import { finding } from '../store/contract/finding-texts.ts'
import { troubledTasks } from '../tasks/troubled-tasks.ts'
import { type Check, each } from './check.ts'

export const tasks: Check = async ({ hq, app }) => {
  const { running, still, paused } = await troubledTasks(hq.store, hq.now())
  const show = (id: string) => `highkiq task show ${quoted(id)}${app}`
  const found = [
    ...each(still, ({ id, name, queue, minutes }) => {
      const seconds = Math.floor(minutes) * 60
      return finding('warning', 'task-still', { id, name, queue, seconds, command: show(id) })
    }),
    ...each(paused, ({ id, name, reason, cause }) => {
      const task = { id, name, command: show(id) }
      if (cause?.code !== 'too-many-failures')
        return finding('warning', 'task-paused', { ...task, reason: reason ?? '' })
      const { rejected, ended } = cause.params as { rejected: number; ended: number }
      return finding('warning', 'task-paused-by-failures', { ...task, rejected, ended })
    }),
  ]
  return found.length > 0 ? found : finding('ok', 'tasks-ok', { n: running })
}

export const ordered: Check = async ({ hq, app }) => {
  const names = await hq.orderedQueues()
  const found = each(await unownedShards(hq.store, names, hq.now()), ({ queue, shard, lag }) =>
    finding('error', 'shard-unserved', { queue, shard, seconds: lag, command: workCommand([], app) }),
  )
  return found.length > 0 ? found : finding('ok', 'shards-served')
}
