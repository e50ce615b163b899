/** Finds alerts: causes rather than symptoms, each with its details. The cost does not grow with the number of jobs. */

import type { Highkiq } from '../../app.ts'
import type { Process } from '../../index.ts'
import { fetchedQueues, unservedQueues } from '../../inspect/process.ts'
import type { QueueSummary } from '../../inspect/queue.ts'
import { QueueTrends } from '../../inspect/queue-trend.ts'
import { unownedShards } from '../../ordered/unowned-shards.ts'
import { type CheckedTask, troubledTasks } from '../../tasks/troubled-tasks.ts'
import type { Redaction } from '../access/redact.ts'
import type { Made } from '../schemas.ts'
import { cached } from './cached.ts'
import { LeaseObserver } from './lease-observer.ts'
import { QueueGrowth } from './queue-growth.ts'
import { sharedErrors } from './shared-errors.ts'
import { storeReads } from './store-reads.ts'

type Alert = Made<'Alert'>
type Leases = Parameters<LeaseObserver['observe']>[0]

/** How long the alerts of tasks and ordered queues are reused: they take many calls. */
const SLOW_MS = 10_000
/** How long the shared errors are reused: thousands of retries are read for them. */
const CAUSES_MS = 30_000
/** The most alerts of each kind. */
const MOST = 5
const GROWS_MINUTES = 5
/** Queues with fewer jobs raise no alert. */
const GROWN_SIZE = 20

export function alertFinder(hq: Highkiq, redaction: Redaction, reads = storeReads(hq)) {
  const observer = new LeaseObserver()
  const growth = new QueueGrowth()
  const trends = new QueueTrends()
  const causesOf = cached(CAUSES_MS, () => sharedErrors(hq, redaction))
  const tasks = cached(SLOW_MS, () => troubledTasks(hq.store, hq.now()))
  const ordered = cached(SLOW_MS, () => orderedOf(hq))

  const silentOf = (process: Process, leases: Leases) => {
    const { identity, beat, busy } = process
    const { isLost, isRenewed, returnsIn } = observer.stateOf(identity, leases, Date.now(), performance.now())
    // A process can be too busy for a heartbeat and still renew its lease.
    const isSilent = isLost || (process.stateAt(hq.now()) === 'silent' && !isRenewed)
    if (!isSilent) return []
    return [{ kind: 'process-silent' as const, level: 'error' as const, identity, beat, busy, returnsIn }]
  }

  const growing = (queues: readonly QueueSummary[]) =>
    queues
      .filter(({ size, paused }) => size >= GROWN_SIZE && !paused)
      .map(({ name, latency }) => ({ queue: name, ...growth.of(name), latency }))
      .filter(({ minutes }) => minutes >= GROWS_MINUTES)
      .sort((a, b) => b.perMinute - a.perMinute)
      .slice(0, MOST)
      .map((one): Alert => ({ kind: 'queue-grows', level: 'failed', ...one }))

  return {
    /** Records the sizes of the queues. To be called every ten seconds. */
    async sample() {
      const { queues, now } = await reads.queues()
      growth.add(now, queues)
      trends.add(now, queues)
    },
    trends,
    async find() {
      const [processes, leases, { queues }, { running, still, paused }, { count, silent: orderedAlerts }, causes] =
        await Promise.all([
          reads.processes(),
          hq.store.workers.leases().catch(() => []),
          reads.queues(),
          tasks(),
          ordered(),
          causesOf(),
        ])
      observer.observe(leases, performance.now())
      const silent = processes.flatMap((process) => silentOf(process, leases))
      const live = processes.filter(({ identity }) => !silent.some((one) => one.identity === identity))
      const [unserved, isServed] = queuesWithout(live, queues)
      const alerts: Alert[] = [
        ...unserved,
        ...silent.slice(0, MOST),
        ...causes,
        ...growing(queues.filter(({ name }) => isServed(name))),
        ...paused.slice(0, MOST).map(pausedAlert),
        // A task whose queue is paused or has no process is covered by another alert.
        ...still
          .filter(({ queue }) => isServed(queue))
          .slice(0, MOST)
          .map(stillAlert),
        ...orderedAlerts,
      ]
      return { processes, queues, tasks: running, orderedQueues: count, alerts }
    },
  }
}

/** Returns alerts for queues without a process, and a function that tells whether a queue is served. */
function queuesWithout(live: Process[], queues: QueueSummary[]): [Alert[], (queue: string) => boolean] {
  const served = fetchedQueues(live)
  const waiting = queues.filter(({ size, paused }) => size > 0 && !paused)
  const stopped = new Set(queues.flatMap(({ name, paused }) => (paused ? [name] : [])))
  const isServed = (queue: string) => served.has(queue) && !stopped.has(queue)
  if (live.length === 0) {
    const sum = waiting.reduce((total, { size }) => total + size, 0)
    return [sum > 0 ? [{ kind: 'no-process', level: 'error', waiting: sum }] : [], isServed]
  }
  const unserved = waiting.filter(({ name }) => !served.has(name)).sort((a, b) => b.size - a.size)
  const unservedAlerts = unserved.slice(0, MOST).map(({ name, size }): Alert => {
    return { kind: 'queue-unserved', level: 'error', queue: name, size }
  })
  const empty = unservedQueues(live).filter((queue) => !waiting.some(({ name }) => name === queue))
  const warned = empty.slice(0, MOST).map((queue): Alert => ({ kind: 'queue-without-worker', level: 'failed', queue }))
  return [[...unservedAlerts, ...warned], isServed]
}

function stillAlert({ id, name, minutes }: CheckedTask): Alert {
  return { kind: 'task-stands-still', level: 'failed', task: id, name, minutes: Math.floor(minutes) }
}

function pausedAlert({ id, name, reason }: CheckedTask): Alert {
  return { kind: 'task-paused', level: 'failed', task: id, name, reason }
}

async function orderedOf(hq: Highkiq): Promise<{ count: number; silent: Alert[] }> {
  const names = await hq.orderedQueues()
  const unowned = await unownedShards(hq.store, names, hq.now())
  return {
    count: names.length,
    silent: unowned.slice(0, MOST).map((one) => ({ kind: 'ordered-silent', level: 'failed', ...one })),
  }
}
