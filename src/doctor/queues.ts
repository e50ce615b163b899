/** Queues that no worker serves, that are paused, or whose jobs wait for long while they grow. */

import { setTimeout as sleep } from 'node:timers/promises'
import { workCommand } from '../app/unserved-queues.ts'
import { unservedQueues } from '../inspect/process.ts'
import { QueueTrends } from '../inspect/queue-trend.ts'
import { count, duration, plural } from '../job/plural.ts'
import { quoted } from '../job/shell.ts'
import { type Check, each, ok } from './check.ts'
import { unservedWaiting } from './processes.ts'

/** The sizes are compared with those of this time before. */
const MEASURE_MS = 1000
/** A queue whose next job has waited for less does not count as growing. */
const WAIT_SECONDS = 60

export const queues: Check = ({ live, queues, app }) => {
  const unserved = unservedWaiting(live, queues)
  const empty = unservedQueues(live).filter((name) => !unserved.some((queue) => queue.name === name))
  const found = [
    ...each(unserved, ({ name, size }) => ({
      severity: 'error',
      text: `no worker serves the queue ${name}, where ${plural(size, 'job waits', 'jobs wait')}`,
      advice: `Start one: ${workCommand([name], app)}`,
    })),
    ...each(empty, (name) => ({
      severity: 'warning',
      text: `no worker serves the queue ${name}, which jobs of a running app use`,
      advice: `Start one: ${workCommand([name], app)}`,
    })),
  ]
  return found.length > 0 ? found : ok('every queue with waiting jobs has a worker')
}

export const paused: Check = ({ queues, app }) => {
  const found = each(
    queues.filter(({ size, paused }) => size > 0 && paused),
    ({ name, size }) => ({
      severity: 'warning',
      text: `the queue ${name} is paused, and ${plural(size, 'job waits', 'jobs wait')}`,
      advice: `To resume it: highkiq resume ${quoted(name)}${app}`,
    }),
  )
  return found.length > 0 ? found : ok('no paused queue has jobs')
}

export const growth: Check = async ({ hq, queues }) => {
  const late = queues.filter(({ latency, paused }) => latency >= WAIT_SECONDS && !paused)
  if (late.length === 0) return ok(`no job of a queue has waited for ${duration(WAIT_SECONDS)}`)
  const trends = new QueueTrends()
  trends.add(performance.now(), await hq.queueSummaries())
  await sleep(MEASURE_MS)
  trends.add(performance.now(), await hq.queueSummaries())
  const growing = late.filter(({ name }) => (trends.of(name)?.perMinute ?? 0) > 0)
  const found = each(growing, ({ name, latency }) => ({
    severity: 'warning',
    text: `the queue ${name} grows by ${count(trends.of(name)?.perMinute ?? 0)} jobs a minute, and its next job has waited ${duration(latency)}`,
    advice: 'Start more workers for it, or raise their concurrency',
  }))
  return found.length > 0 ? found : ok('no queue grows')
}
