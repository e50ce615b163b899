/**
 * Every key, named once. Sidekiq's own keys have Sidekiq's names; ours begin with `hk:`, and those that belong to a queue
 * carry the tag `{queue:NAME}`, which puts them into the cluster slot of Sidekiq's key `queue:NAME`.
 */

import type { Sidekiq } from '../../../job/payload.ts'
import type { SetName } from '../../contract.ts'

export interface Keys {
  /** Sidekiq's: a job list, next at the tail. */
  queue(name: string): string
  /** Sidekiq's: names of queues. */
  queues: string
  /** Sidekiq's sorted sets of jobs that are not in a queue. */
  set(set: SetName): string
  processed(day?: string): string
  failed(day?: string): string
  /** Sidekiq's: identities of processes. */
  processes: string
  process(identity: string): string
  running(identity: string): string
  /** The same, as processes of the other dialect write it. */
  otherRunning(identity: string): string
  signals(identity: string): string
  /** Sidekiq's: who looks after `processes`, for a minute. */
  processCleanup: string
  /** Sidekiq Enterprise's: identity of the process that leads. */
  leader: string
  /** Hash of an owner: ticket → text. */
  working(queue: string, owner: string): string
  /** List of an owner: texts that came while it waited, the newest at the head. */
  arriving(queue: string, owner: string): string
  /** Set of an owner: tickets of arrivals that were settled, lest the same is asked again. */
  settled(queue: string, owner: string): string
  /** Sorted set: owner → stamp of its newest renewal, or minus the time of its claim (ms of the server's clock). */
  leases: string
  /**
   * The newest stamp of all: each renewal gets a greater one, near the server's clock in ms even when that clock is
   * set.
   */
  renewals: string
  /** Hash of an owner: `seconds` of its lease, `host`, and a field `q NAME` for each queue that it may have jobs of. */
  owner(name: string): string
  /** Hash of a machine: each unclaimed owner that runs there → its host. */
  machine(name: string): string
  /** Version 0.1's sorted set: owner → end of its lease by the server's clock, or minus the time of its claim (ms). */
  oldLeases(queue: string): string
  /** Version 0.1's hash: owner → its host. */
  oldHosts(queue: string): string
  /** Hash: task, a space, and who adds rows to it → what kind of adder; see lua/adders.lua. */
  adding(queue: string): string
  /** Number of rows that wait inside the tasks of a queue. */
  backlog(queue: string): string
  /** What a task consists of: header, events, rows, rejected, backlog, reasons. */
  task(queue: string, id: string): readonly [string, string, string, string, string, string]
  /** Hash: pieces of what a task makes. */
  parts(queue: string, id: string): string
  /** Sorted set: task → when to look after it; see lua/ledger.lua. */
  taskTimes(queue: string): string
  /** Remembers that a job was pushed, so that the same push is not stored twice. */
  once(jid: string): string
  /** What an ordered queue consists of, as lua/ordered-open.lua names it; some are stems that an id or owner completes. */
  ordered(queue: string): readonly string[]
  /** What is due of one of its shards, its retries, and what was taken from it. */
  orderedShard(queue: string, shard: number): readonly [due: string, retries: string, taken: string]
  /** List of an owner: a ring, if it has something to look at. */
  orderedNotifications(queue: string, owner: string): string
  /** Set: names of the ordered queues. */
  orderedQueues: string
  /** Set: names of the queues that have tasks, or leases of version 0.1. */
  ourQueues: string
  /** Hash: task → its queue, and on further lines those of what it pushes when it is done or fails, if it does. */
  tasks: string
  /** Sorted set: task by its creation. */
  taskAges: string
  /** A value that is known for a while. */
  remembered(key: string): string
  /** What became of a job; also a channel, for who waits for it. */
  result(jid: string): string
  leaderLock(name: string): string
  /** A text that all processes share. */
  secret(name: string): string
  metrics: MetricKeys
  /** Sidekiq Pro's: names of the queues that nobody takes from. */
  paused: string
  /** Sorted set: cancelled job → version of its cancellation (about ms); minus the time (ms) once the job was dropped. */
  cancelled: string
  /** The newest version of a cancellation. */
  cancellationVersion: string
  /** Sidekiq's: how far an iterable job has come, and since when it is cancelled. */
  iteration(jid: string): string
  /** Channel: a queue was paused or resumed. */
  pausesChannel: string
  /** Set: names of cron entries. */
  crons: string
  /** Hash: what a cron entry consists of. */
  cron(name: string): string
  /** The job that has a lock. */
  lock(name: string): string
  /** Channel: something is due earlier than known. */
  dueChannel: string
  /** Finds the owners' keys of all queues. */
  ownersPattern: string
  /** The queue and owner of a key that was found by it. */
  parseOwners(key: string): { queue: string; owner: string } | undefined
}

/** Sidekiq's, of all its versions; times in milliseconds, all of it UTC. */
export interface MetricKeys {
  /** Hashes that what ended then is added to, with the seconds that they are kept. */
  added(at: number): [key: string, seconds: number][]
  /** The hashes that have a minute, or ten. */
  readable(span: 1 | 10, at: number): string[]
  /** Bit field of a class and minute, as it is written; or where it may be found. */
  histogram(name: string, at: number): string
  histograms(name: string, at: number): string[]
  /** Ours: the number of the last batch of a process. */
  lastBatch(source: string): string
  /** Hash of a day `YYYY-MM-DD`: minute → label. */
  deploys(day: string): string
  deployLock(label: string): string
}

export function keysOf(namespace: string, wire: Sidekiq = 8): Keys {
  const prefix = namespace === '' ? '' : `${namespace}:`
  const tagged = (queue: string, rest: string) => `${prefix}hk:{queue:${queue}}:${rest}`
  return {
    queue: (name) => `${prefix}queue:${name}`,
    queues: `${prefix}queues`,
    set: (set) => prefix + set,
    processed: (day) => `${prefix}stat:processed${day ? `:${day}` : ''}`,
    failed: (day) => `${prefix}stat:failed${day ? `:${day}` : ''}`,
    processes: `${prefix}processes`,
    process: (identity) => prefix + identity,
    // Sidekiq's until 6.4.1 had the longer name.
    running: (identity) => `${prefix}${identity}:${wire === 6 ? 'workers' : 'work'}`,
    otherRunning: (identity) => `${prefix}${identity}:${wire === 6 ? 'work' : 'workers'}`,
    signals: (identity) => `${prefix}${identity}-signals`,
    processCleanup: `${prefix}process_cleanup`,
    leader: `${prefix}dear-leader`,
    working: (queue, owner) => tagged(queue, `working:${owner}`),
    arriving: (queue, owner) => tagged(queue, `arriving:${owner}`),
    settled: (queue, owner) => tagged(queue, `settled:${owner}`),
    leases: `${prefix}hk:leases`,
    renewals: `${prefix}hk:renewals`,
    owner: (name) => `${prefix}hk:owner:${name}`,
    machine: (name) => `${prefix}hk:machine:${name}`,
    oldLeases: (queue) => tagged(queue, 'leases'),
    oldHosts: (queue) => tagged(queue, 'hosts'),
    adding: (queue) => tagged(queue, 'adding'),
    backlog: (queue) => tagged(queue, 'held'),
    task(queue, id) {
      const header = tagged(queue, `task:${id}`)
      return [
        header,
        `${header}:events`,
        `${header}:rows`,
        `${header}:rejected`,
        `${header}:backlog`,
        `${header}:reasons`,
      ]
    },
    once: (jid) => `${prefix}hk:once:${jid}`,
    parts: (queue, id) => tagged(queue, `task:${id}:parts`),
    taskTimes: (queue) => tagged(queue, 'tasks'),
    ordered(queue) {
      const root = tagged(queue, 'ordered')
      const ours = (names: string) => names.split(' ').map((name) => `${root}:${name}`)
      return [
        ...[root, ...ours('ids flights behind names cancelled members'), `${prefix}hk:leases`],
        ...ours('payloads: bell: morgue morgue:names morgue:about morgue:payloads:'),
      ]
    },
    orderedShard(queue, shard) {
      const root = tagged(queue, 'ordered')
      return [`${root}:due:${shard}`, `${root}:retries:${shard}`, `${root}:taken:${shard}`]
    },
    orderedNotifications: (queue, owner) => tagged(queue, `ordered:bell:${owner}`),
    orderedQueues: `${prefix}hk:ordered`,
    ourQueues: `${prefix}hk:queues`,
    tasks: `${prefix}hk:tasks`,
    taskAges: `${prefix}hk:tasks:by-age`,
    remembered: (key) => `${prefix}hk:known:${key}`,
    result: (jid) => `${prefix}hk:result:${jid}`,
    secret: (name) => `${prefix}hk:secret:${name}`,
    leaderLock: (name) => `${prefix}hk:duty:${name}`,
    metrics: metricKeysOf(prefix, wire),
    paused: `${prefix}paused`,
    cancelled: `${prefix}hk:cancelled`,
    cancellationVersion: `${prefix}hk:marks`,
    iteration: (jid) => `${prefix}it-${jid}`,
    pausesChannel: `${prefix}hk:pauses`,
    crons: `${prefix}hk:crons`,
    cron: (name) => `${prefix}hk:cron:${name}`,
    lock: (name) => `${prefix}hk:lock:${name}`,
    dueChannel: `${prefix}hk:wake`,
    ownersPattern: `${escapePattern(prefix)}hk:{queue:*}:*ing:*`,
    parseOwners(key) {
      const inside = key.slice(`${prefix}hk:{queue:`.length)
      const end = inside.indexOf('}:')
      const kind = inside.slice(end + 2)
      const owner = /^(?:working|arriving):(.+)$/s.exec(kind)?.[1]
      return end > 0 && owner ? { queue: inside.slice(0, end), owner } : undefined
    },
  }
}

/** Version 8 pads what 7 does not, and the other way round. */
function metricKeysOf(prefix: string, wire: Sidekiq): MetricKeys {
  const pad = (n: number) => String(n).padStart(2, '0')
  const partsOf = (at: number) => {
    const date = new Date(at)
    const yearMonthDay = date.toISOString().slice(0, 10).replaceAll('-', '')
    return { yearMonthDay, day: date.getUTCDate(), hour: date.getUTCHours(), minute: date.getUTCMinutes() }
  }
  const minute8 = (at: number) => {
    const { yearMonthDay, hour, minute } = partsOf(at)
    return `${prefix}j|${yearMonthDay.slice(2)}|${hour}:${pad(minute)}`
  }
  const minute7 = (at: number) => {
    const { yearMonthDay, hour, minute } = partsOf(at)
    return `${prefix}j|${yearMonthDay}|${hour}:${minute}`
  }
  const tenMinutes = (at: number) => minute8(at).slice(0, -1)
  const histogram8 = (name: string, at: number) => {
    const { day, hour, minute } = partsOf(at)
    return `${prefix}h|${name}-${day}-${hour}:${minute}`
  }
  const histogram7 = (name: string, at: number) => {
    const { day, hour, minute } = partsOf(at)
    return `${prefix}${name}-${pad(day)}-${pad(hour)}:${minute}`
  }
  return {
    added(at) {
      const added: [string, number][] = [
        [wire === 8 ? minute8(at) : minute7(at), 8 * 3600],
        // Before version 8 Sidekiq has none, and does not look at it: without it we could tell of no more than 8 hours.
        [tenMinutes(at), 3 * 86_400],
      ]
      if (wire > 6) return added
      const { yearMonthDay, hour } = partsOf(at)
      return [...added, [`${prefix}j|${yearMonthDay}|${hour}`, 7 * 86_400], [`${prefix}j|${yearMonthDay}`, 90 * 86_400]]
    },
    readable: (span, at) => (span === 10 ? [tenMinutes(at)] : [minute8(at), minute7(at)]),
    histogram: wire === 8 ? histogram8 : histogram7,
    histograms: (name, at) => [histogram8(name, at), histogram7(name, at)],
    lastBatch: (source) => `${prefix}hk:metrics:${source}`,
    deploys: (day) => `${prefix}${day.replaceAll('-', '')}-marks`,
    deployLock: (label) => `${prefix}deploylock-${label}`,
  }
}

/** A text as Redis's patterns find it, character by character. */
export function escapePattern(text: string): string {
  return text.replace(/[*?[\]\\]/g, '\\$&')
}
