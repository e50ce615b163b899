/** Looking at what there is, in figures. */

import { readTime } from '../job/payload.ts'
import type { ProcessRecord, QueueInfo, Store } from '../store/contract.ts'

export interface Stats {
  processed: number
  failed: number
  /** Jobs that run now. */
  busy: number
  /** Jobs in queues; rows that wait inside their tasks come on top, as `held`. */
  enqueued: number
  held: number
  scheduled: number
  retries: number
  dead: number
  processes: number
  /** Seconds that the next job of queue `default` has waited. */
  defaultLatency: number
}

export interface Day {
  /** UTC, `YYYY-MM-DD`. */
  date: string
  processed: number
  failed: number
}

export interface Queue {
  name: string
  size: number
  /** Seconds that its next job has waited. */
  latency: number
}

export interface ProcessInfo {
  identity: string
  hostname: string
  pid: number
  tag: string
  labels: string[]
  queues: string[]
  busy: number
  concurrency: number
  /** kB. */
  rss: number
  quiet: boolean
  startedAt: Date
  /** When it was last seen. */
  beat: Date
}

export async function statsOf(store: Store, now: number): Promise<Stats> {
  const [{ taken, ...stats }, queues, processes] = await Promise.all([store.stats(), store.queues(), store.processes()])
  const first = queues.find(({ name }) => name === 'default')
  return {
    ...stats,
    busy: taken,
    processes: processes.length,
    defaultLatency: first ? latencyOf(first, now) : 0,
  }
}

export async function historyOf(store: Store, days: number, now: number): Promise<Day[]> {
  const dates = Array.from({ length: days }, (_, i) => new Date(now - i * 86_400_000).toISOString().slice(0, 10))
  const counts = await store.history(dates)
  return dates.map((date, i) => ({ date, processed: 0, failed: 0, ...counts[i] }))
}

export async function queuesOf(store: Store, now: number): Promise<Queue[]> {
  const queues = await store.queues()
  return queues.map((queue) => ({ name: queue.name, size: queue.size, latency: latencyOf(queue, now) }))
}

export async function processesOf(store: Store): Promise<ProcessInfo[]> {
  return (await store.processes()).map(processInfo)
}

/** By when it was put into the queue, else by when it was made. */
function latencyOf({ next }: QueueInfo, now: number): number {
  const since = readTime(next ?? '', 'enqueued_at') ?? readTime(next ?? '', 'created_at')
  return since === undefined ? 0 : Math.max((now - since) / 1000, 0)
}

function processInfo(process: ProcessRecord): ProcessInfo {
  const info = JSON.parse(process.info) as Partial<ProcessInfo> & { started_at?: number }
  const { identity, busy, concurrency, rss, quiet, beat } = process
  return {
    identity,
    hostname: info.hostname ?? '',
    pid: info.pid ?? 0,
    tag: info.tag ?? '',
    labels: info.labels ?? [],
    queues: info.queues ?? [],
    busy,
    concurrency,
    rss,
    quiet,
    startedAt: new Date((info.started_at ?? 0) * 1000),
    beat: new Date(beat),
  }
}
