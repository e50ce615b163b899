/** Tracked tasks that make no progress or are paused, and ordered queues whose due ids no worker runs. */

import { workCommand } from '../app/unserved-queues.ts'
import { count, duration } from '../job/plural.ts'
import { quoted } from '../job/shell.ts'
import { unownedShards } from '../ordered/unowned-shards.ts'
import { troubledTasks } from '../tasks/troubled-tasks.ts'
import { type Check, each, ok } from './check.ts'

export const tasks: Check = async ({ hq, app }) => {
  const { running, still, paused } = await troubledTasks(hq.store, hq.now())
  const show = (id: string) => `highkiq task show ${quoted(id)}${app}`
  const found = [
    ...each(still, ({ id, name, queue, minutes }) => ({
      severity: 'warning',
      text: `task ${id} (${name}) has made no progress for ${duration(Math.floor(minutes) * 60)}`,
      advice: `See it with ${show(id)}, and whether a worker serves its queue ${queue}`,
    })),
    ...each(paused, ({ id, name, reason }) => ({
      severity: 'warning',
      text: `task ${id} (${name}) is paused: ${reason ?? ''}`,
      advice: `${show(id)} says how to resume it`,
    })),
  ]
  return found.length > 0 ? found : ok(`${count(running)} running, none without progress`)
}

export const ordered: Check = async ({ hq, app }) => {
  const names = await hq.orderedQueues()
  const found = each(await unownedShards(hq.store, names, hq.now()), ({ queue, shard, lag }) => ({
    severity: 'error',
    text: `no worker runs shard ${shard} of the ordered queue ${queue}, whose next id has been due for ${duration(lag)}`,
    advice: `Start a worker whose app defines it: ${workCommand([], app)}`,
  }))
  return found.length > 0 ? found : ok('no ordered queue with due ids waits for a worker')
}
