/** Finds alerts: causes rather than symptoms, each with its details. The cost does not grow with the number of jobs. */

import type { Highkiq } from '../../app.ts'
import type { Process } from '../../index.ts'
import { serves, unservedQueues } from '../../inspect/process.ts'
import type { QueueSummary } from '../../inspect/queue.ts'
import { statusOf } from '../../tasks/task.ts'
import type { Redaction } from '../access/redact.ts'
import type { Made } from '../schemas.ts'
import { all, Cached } from './cached.ts'
import { LeaseObserver } from './lease-observer.ts'
import { QueueGrowth } from './queue-growth.ts'
import { type SharedError, sharedErrors } from './shared-errors.ts'

/** A problem that needs attention. */
export type Alert = Made<'Alert'>

const MINUTE = 60_000
/** How long the alerts of tasks and ordered queues are reused: they take many calls. */
const SLOW_MS = 10_000
/** How long the shared errors are reused: thousands of retries are read for them. */
const CAUSES_MS = 30_000
/** The most alerts of each kind. */
const MOST = 5
/** The number of newest tasks that are checked. Older tasks are checked only when they make no progress. */
const TASKS = 200
/** The number of open tasks that are checked for progress. */
const IDLE_TASKS = 1000
const STILL_MINUTES = 5
const GROWS_MINUTES = 5
/** Queues with fewer jobs raise no alert. */
const GROWN_SIZE = 20
const LAG_SECONDS = 10

export interface Findings {
  processes: Process[]
  queues: QueueSummary[]
  tasks: number
  orderedQueues: number
  alerts: Alert[]
}

interface Seen {
  processes: Process[]
  live: Process[]
  queues: QueueSummary[]
}

export class AlertFinder {
  readonly #hq: Highkiq
  readonly #leases = new LeaseObserver()
  readonly #growth = new QueueGrowth()
  readonly #tasks: Cached<{ running: number; still: Task[]; paused: Task[] }>
  readonly #ordered: Cached<{ count: number; silent: Alert[] }>

  readonly #causes: Cached<SharedError[]>

  constructor(hq: Highkiq, redaction: Redaction) {
    this.#hq = hq
    this.#causes = new Cached(CAUSES_MS, () => sharedErrors(hq, redaction))
    this.#tasks = new Cached(SLOW_MS, () => tasksOf(hq))
    this.#ordered = new Cached(SLOW_MS, () => orderedOf(hq))
  }

  /** Records the sizes of the queues. To be called every ten seconds. */
  async sample(): Promise<void> {
    this.#growth.add(this.#hq.now(), await this.#hq.queueSummaries())
  }

  async find(): Promise<Findings> {
    const hq = this.#hq
    const [processes, leases, queues, tasks, ordered, causes] = await Promise.all([
      all(hq.processes()),
      hq.store.workers.leases().catch(() => []),
      hq.queueSummaries(),
      this.#tasks.get(),
      this.#ordered.get(),
      this.#causes.get(),
    ])
    this.#leases.observe(leases, performance.now())
    const silent = processes.flatMap((process) => this.#silent(process, leases))
    const live = processes.filter(({ identity }) => !silent.some((one) => one.identity === identity))
    const now = { processes, live, queues }
    const [unserved, isServed] = queuesWithout(now)
    return {
      ...{ processes, queues, tasks: tasks.running, orderedQueues: ordered.count },
      alerts: [
        ...unserved,
        ...silent.slice(0, MOST),
        ...causes,
        ...this.#growing(queues.filter(({ name }) => isServed(name))),
        ...tasks.paused.slice(0, MOST).map(paused),
        // A task whose queue is paused or has no process is covered by another alert.
        ...tasks.still
          .filter(({ queue }) => isServed(queue))
          .slice(0, MOST)
          .map(still),
        ...ordered.silent,
      ],
    }
  }

  #silent(process: Process, leases: Parameters<LeaseObserver['observe']>[0]) {
    const { identity, beat, busy } = process
    const hold = this.#leases.stateOf(identity, leases, Date.now(), performance.now())
    // A process can be too busy for a heartbeat and still renew its lease.
    const isSilent = hold.isLost || (process.stateAt(this.#hq.now()) === 'silent' && !hold.isRenewed)
    if (!isSilent) return []
    return [
      { kind: 'process-silent' as const, level: 'error' as const, identity, beat, busy, returnsIn: hold.returnsIn },
    ]
  }

  #growing(queues: readonly QueueSummary[]): Alert[] {
    return queues
      .filter(({ size, paused }) => size >= GROWN_SIZE && !paused)
      .map(({ name, latency }) => ({ queue: name, ...this.#growth.of(name), latency }))
      .filter(({ minutes }) => minutes >= GROWS_MINUTES)
      .sort((a, b) => b.perMinute - a.perMinute)
      .slice(0, MOST)
      .map((growth) => ({ kind: 'queue-grows', level: 'failed', ...growth }))
  }
}

/** Returns alerts for queues without a process, and a function that tells whether a queue is served. */
function queuesWithout({ live, queues }: Seen): [Alert[], (queue: string) => boolean] {
  const taking = live.filter(({ isQuiet }) => !isQuiet)
  const waiting = queues.filter(({ size, paused }) => size > 0 && !paused)
  const served = (queue: string) => taking.some((process) => serves(process, queue))
  const isPaused = (queue: string) => queues.some(({ name, paused }) => name === queue && paused)
  const isServed = (queue: string) => served(queue) && !isPaused(queue)
  if (live.length === 0) {
    const sum = waiting.reduce((total, { size }) => total + size, 0)
    return [sum > 0 ? [{ kind: 'no-process', level: 'error', waiting: sum }] : [], isServed]
  }
  const unserved = waiting.filter(({ name }) => !served(name)).sort((a, b) => b.size - a.size)
  const unservedAlerts = unserved.slice(0, MOST).map(({ name, size }): Alert => {
    return { kind: 'queue-unserved', level: 'error', queue: name, size }
  })
  const empty = unservedQueues(live).filter((queue) => !waiting.some(({ name }) => name === queue))
  const warned = empty.slice(0, MOST).map((queue): Alert => ({ kind: 'queue-without-worker', level: 'failed', queue }))
  return [[...unservedAlerts, ...warned], isServed]
}

interface Task {
  id: string
  name: string
  queue: string
  minutes: number
  reason: string | null
}

async function tasksOf(hq: Highkiq): Promise<{ running: number; still: Task[]; paused: Task[] }> {
  const now = hq.now()
  const [newest, { tasks: idle }] = await Promise.all([
    hq.store.tasks.page({ limit: TASKS }),
    hq.store.tasks.idle(now - STILL_MINUTES * MINUTE, { limit: IDLE_TASKS }),
  ])
  const older = idle.filter(({ id, single }) => !single && newest.every((one) => one.id !== id))
  const tasks = [...newest, ...older].map((record) => {
    const { id, name, queue, state, inWindow, backlog, progressAt, runAt } = record
    const minutes = (now - Math.max(progressAt ?? 0, runAt)) / MINUTE
    // Rows that wait for a retry need no alert.
    const canRun = inWindow + backlog > 0
    return { id, name, queue, state, minutes, canRun, reason: statusOf(record, now).reason ?? null }
  })
  return {
    running: tasks.filter(({ state }) => state === 'adding' || state === 'running').length,
    still: tasks.filter(({ state, canRun, minutes }) => state === 'running' && canRun && minutes >= STILL_MINUTES),
    paused: tasks.filter(({ state, reason }) => state === 'paused' && reason !== null),
  }
}

function still({ id, name, minutes }: Task): Alert {
  return { kind: 'task-stands-still', level: 'failed', task: id, name, minutes: Math.floor(minutes) }
}

function paused({ id, name, reason }: Task): Alert {
  return { kind: 'task-paused', level: 'failed', task: id, name, reason }
}

async function orderedOf(hq: Highkiq): Promise<{ count: number; silent: Alert[] }> {
  const names = await hq.orderedQueues()
  const now = hq.now()
  const numbers = await Promise.all(names.map((name) => hq.store.ordered.counts(name, now)))
  const silent = numbers.flatMap((queue) => {
    if (!queue || queue.paused) return []
    const [worst] = queue.shards.filter(({ owner }) => owner === null).sort((a, b) => b.lag - a.lag)
    if (!worst || worst.lag < LAG_SECONDS) return []
    return [{ queue: queue.name, shard: worst.shard, lag: worst.lag }]
  })
  return {
    count: names.length,
    silent: silent
      .sort((a, b) => b.lag - a.lag)
      .slice(0, MOST)
      .map((one) => ({ kind: 'ordered-silent', level: 'failed', ...one })),
  }
}
