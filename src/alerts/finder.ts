/** Finds alerts: causes rather than symptoms, each with its details. The cost does not grow with the number of jobs. */

import type { AppPort } from '../app/port.ts'
import { fetchedQueues, type Process, unservedQueues } from '../inspect/process.ts'
import { processLeases } from '../inspect/process-leases.ts'
import type { QueueSummary } from '../inspect/queue.ts'
import { QueueTrends } from '../inspect/queue-trend.ts'
import { storeReads } from '../inspect/store-reads.ts'
import { cached } from '../job/cached.ts'
import { withoutUnreachable } from '../job/without-unreachable.ts'
import { unownedShards } from '../ordered/unowned-shards.ts'
import type { Lease, Store } from '../store/contract.ts'
import { type CheckedTask, troubledTasks } from '../tasks/troubled-tasks.ts'
import type { Alert, AlertKind } from './alert.ts'
import { LeaseObserver } from './lease-observer.ts'
import { QueueGrowth } from './queue-growth.ts'
import { sharedErrors } from './shared-errors.ts'

/** How long the alerts of tasks and ordered queues are reused: they take many calls. */
const SLOW_MS = 10_000
/** How long the shared errors are reused: thousands of retries are read for them. */
const CAUSES_MS = 30_000
/** The most alerts of each kind that a page shows. */
const MOST = 5
const GROWS_MINUTES = 5
/** Queues with fewer jobs raise no alert. */
const GROWN_SIZE = 20

export interface FinderOptions {
  reads?: ReturnType<typeof storeReads>
  /** Returns what may be shown of a payload; default all of it. */
  redact?: (text: string) => string
  /** The most alerts of each kind; default 5. */
  most?: number
}

export function alertFinder(
  app: Pick<AppPort, 'store' | 'now'>,
  { reads = storeReads(app), redact, most = MOST }: FinderOptions = {},
) {
  const { store } = app
  /** Whether what is not found may be on a shard that can't be reached. */
  const isPartial = () => (store.unreachableShards ?? []).length > 0
  const observer = new LeaseObserver()
  const growth = new QueueGrowth()
  const trends = new QueueTrends()
  const causesOf = cached(CAUSES_MS, () => sharedErrors(app, most, redact))
  const tasks = cached(SLOW_MS, () => troubledTasks(store, app.now()))
  const ordered = cached(SLOW_MS, () => orderedOf(store, app.now(), most))

  const silentOf = (process: Process, leases: readonly Lease[]) => {
    const { identity, beat, busy } = process
    const { isLost, isRenewed, returnsIn } = observer.stateOf(leases, Date.now(), performance.now())
    // A process can be too busy for a heartbeat and still renew its lease.
    const isSilent = isLost || (process.stateAt(app.now()) === 'silent' && !isRenewed)
    if (!isSilent) return []
    return [{ kind: 'process-silent' as const, level: 'error' as const, identity, beat, busy, returnsIn }]
  }

  const growing = (queues: readonly QueueSummary[]) =>
    queues
      .filter(({ size, paused }) => size >= GROWN_SIZE && !paused)
      .map(({ name, latency }) => ({ queue: name, ...growth.of(name), latency }))
      .filter(({ minutes }) => minutes >= GROWS_MINUTES)
      .sort((a, b) => b.perMinute - a.perMinute)
      .slice(0, most)
      .map((one): Alert => ({ kind: 'queue-grows', level: 'failed', ...one }))

  async function find() {
    const [processes, leases, { queues }, { running, still, paused }, { count, silent: orderedAlerts }, causes] =
      await Promise.all([
        reads.processes(),
        reads.leases().then((found) => found ?? []),
        reads.queues(),
        tasks(),
        ordered(),
        causesOf(),
      ])
    observer.observe(leases, performance.now())
    const leasesOf = processLeases(leases)
    const silent = processes.flatMap((process) => silentOf(process, leasesOf(process.identity)))
    const silentOnes = new Set(silent.map(({ identity }) => identity))
    const live = processes.filter(({ identity }) => !silentOnes.has(identity))
    const [unserved, isServed] = queuesWithout(live, queues, most)
    const alerts: Alert[] = [
      ...(store.unreachableShards ?? []).map(
        (url): Alert => ({ kind: 'shard-unreachable', level: 'error', store: url }),
      ),
      ...unserved,
      ...silent.slice(0, most),
      ...causes,
      ...growing(queues.filter(({ name }) => isServed(name))),
      ...paused.slice(0, most).map(pausedAlert),
      // A task whose queue is paused or has no process is covered by another alert.
      ...still
        .filter(({ queue }) => isServed(queue))
        .slice(0, most)
        .map(stillAlert),
      ...orderedAlerts,
    ]
    return { processes, queues, tasks: running, orderedQueues: count, alerts }
  }

  return {
    /** Records the sizes of the queues. To be called every ten seconds. */
    async sample() {
      if (isPartial()) return
      const { queues, now } = await reads.queues()
      growth.add(now, queues)
      trends.add(now, queues)
    },
    trends,
    /** Whether the finder has seen enough that a problem of this kind is over when it is not found. */
    isKnown(kind: AlertKind): boolean {
      if (kind === 'shard-unreachable') return true
      return !isPartial() && (kind !== 'queue-grows' || growth.isKnown(app.now(), GROWS_MINUTES))
    },
    /** Finds the alerts, also while a shard can't be reached. */
    find: () => withoutUnreachable(store, find),
  }
}

/** Returns alerts for queues without a process, and a function that tells whether a queue is served. */
function queuesWithout(live: Process[], queues: QueueSummary[], most: number): [Alert[], (queue: string) => boolean] {
  const served = fetchedQueues(live)
  const waiting = queues.filter(({ size, paused }) => size > 0 && !paused)
  const stopped = new Set(queues.flatMap(({ name, paused }) => (paused ? [name] : [])))
  const isServed = (queue: string) => served.has(queue) && !stopped.has(queue)
  if (live.length === 0) {
    const sum = waiting.reduce((total, { size }) => total + size, 0)
    return [sum > 0 ? [{ kind: 'no-process', level: 'error', waiting: sum }] : [], isServed]
  }
  const unserved = waiting.filter(({ name }) => !served.has(name)).sort((a, b) => b.size - a.size)
  const unservedAlerts = unserved.slice(0, most).map(({ name, size }): Alert => {
    return { kind: 'queue-unserved', level: 'error', queue: name, size }
  })
  const waitingNames = new Set(waiting.map(({ name }) => name))
  const empty = unservedQueues(live, served).filter((queue) => !waitingNames.has(queue))
  const warned = empty.slice(0, most).map((queue): Alert => ({ kind: 'queue-without-worker', level: 'failed', queue }))
  return [[...unservedAlerts, ...warned], isServed]
}

function stillAlert({ id, name, minutes }: CheckedTask): Alert {
  return { kind: 'task-stands-still', level: 'failed', task: id, name, minutes: Math.floor(minutes) }
}

function pausedAlert({ id, name, reason, cause = null }: CheckedTask): Alert {
  return { kind: 'task-paused', level: 'failed', task: id, name, reason, cause }
}

async function orderedOf(store: Store, now: number, most: number): Promise<{ count: number; silent: Alert[] }> {
  const names = await store.ordered.queues()
  const unowned = await unownedShards(store, names, now)
  return {
    count: names.length,
    silent: unowned.slice(0, most).map((one) => ({ kind: 'ordered-silent', level: 'failed', ...one })),
  }
}
