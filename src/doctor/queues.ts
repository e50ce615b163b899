/** Queues that no worker serves, that are paused, or whose jobs wait for long while they grow. */

import { setTimeout as sleep } from 'node:timers/promises'
import { workCommand } from '../app/unserved-queues.ts'
import { unservedQueues } from '../inspect/process.ts'
import { QueueTrends } from '../inspect/queue-trend.ts'
import { quoted } from '../job/shell.ts'
import { finding } from '../store/contract/finding-texts.ts'
import { type Check, each } from './check.ts'
import { unservedWaiting } from './processes.ts'

/** The sizes are compared with those of this time before. */
const MEASURE_MS = 1000
/** A queue whose next job has waited for less does not count as growing. */
const WAIT_SECONDS = 60

export const queues: Check = ({ live, queues, app }) => {
  const unserved = unservedWaiting(live, queues)
  const empty = unservedQueues(live).filter((name) => !unserved.some((queue) => queue.name === name))
  const found = [
    ...each(unserved, ({ name, size }) =>
      finding('error', 'queue-waits-unserved', { queue: name, n: size, command: workCommand([name], app) }),
    ),
    ...each(empty, (name) => finding('warning', 'queue-unserved', { queue: name, command: workCommand([name], app) })),
  ]
  return found.length > 0 ? found : finding('ok', 'queues-served')
}

export const paused: Check = ({ queues, app }) => {
  const found = each(
    queues.filter(({ size, paused }) => size > 0 && paused),
    ({ name, size }) =>
      finding('warning', 'queue-paused', { queue: name, n: size, command: `highkiq resume ${quoted(name)}${app}` }),
  )
  return found.length > 0 ? found : finding('ok', 'queues-not-paused')
}

export const growth: Check = async ({ hq, queues }) => {
  const late = queues.filter(({ latency, paused }) => latency >= WAIT_SECONDS && !paused)
  if (late.length === 0) return finding('ok', 'queues-not-late', { seconds: WAIT_SECONDS })
  const trends = new QueueTrends()
  trends.add(performance.now(), await hq.queueSummaries())
  await sleep(MEASURE_MS)
  trends.add(performance.now(), await hq.queueSummaries())
  const growing = late.filter(({ name }) => (trends.of(name)?.perMinute ?? 0) > 0)
  const found = each(growing, ({ name, latency }) =>
    finding('warning', 'queue-grows', { queue: name, n: trends.of(name)?.perMinute ?? 0, seconds: latency }),
  )
  return found.length > 0 ? found : finding('ok', 'queues-not-growing')
}
