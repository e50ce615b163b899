/**
 * The names of all keys. Sidekiq's keys have Sidekiq's names. Ours begin with `hk:`; those that belong to a queue have
 * the tag `{queue:NAME}`, which gives them the hash slot of Sidekiq's key `queue:NAME`.
 */

import type { Sidekiq } from '../../../job/payload.ts'
import type { SetName } from '../../contract.ts'

export interface Keys {
  /** Sidekiq's list of jobs; the next one is at the tail. */
  queue(name: string): string
  /** Sidekiq's set of the names of queues. */
  queues: string
  /** Sidekiq's sorted sets of jobs that are not in a queue. */
  set(set: SetName): string
  processed(day?: string): string
  failed(day?: string): string
  /** Sidekiq's set of the identities of processes. */
  processes: string
  process(identity: string): string
  running(identity: string): string
  /** The same key in the other dialect of Sidekiq. */
  otherRunning(identity: string): string
  signals(identity: string): string
  /** Sidekiq's lock of the process that cleans up `processes`, for a minute. */
  processCleanup: string
  /** Sidekiq Enterprise's identity of the leading process. */
  leader: string
  /** Hash of an owner: ticket → text. */
  working(queue: string, owner: string): string
  /** List of an owner: texts that arrived during a wait, the newest at the head. */
  arriving(queue: string, owner: string): string
  /** Set of an owner: tickets of settled arrivals, in case a settlement is repeated. */
  settled(queue: string, owner: string): string
  /** Sorted set: owner → stamp of its newest renewal, or minus the time of its claim (ms of the server's clock). */
  leases: string
  /** The newest stamp. Each renewal gets a greater one, close to the server's clock in ms even when that clock is set. */
  renewals: string
  /** Hash of an owner: `seconds` of its lease, `host`, and a field `q NAME` for each queue whose jobs it may hold. */
  owner(name: string): string
  /** Hash of a machine: each unclaimed owner that runs there → its host. */
  machine(name: string): string
  /** Hash: task, a space, and a producer → its kind; see producers.lua. */
  producers(queue: string): string
  /** The number of rows in the backlogs of a queue's tasks. */
  backlog(queue: string): string
  /** The keys of a task: header, events, rows, rejected, backlog, reasons. */
  task(queue: string, id: string): readonly [string, string, string, string, string, string]
  /** Hash: parts of the files that a task produces. */
  parts(queue: string, id: string): string
  /** Sorted set: task → time of its next maintenance; see ledger.lua. */
  taskTimes(queue: string): string
  /** Remembers that a job was pushed, so that the same push is not stored twice. */
  once(jid: string): string
  /** The keys of an ordered queue in the order of ordered-open.lua. Some are prefixes of an id or owner. */
  ordered(queue: string): readonly string[]
  /** The due ids, retries and fetched ids of one of its shards. */
  orderedShard(queue: string, shard: number): readonly [due: string, retries: string, fetched: string]
  /** List of an owner with at most one notification. */
  orderedNotifications(queue: string, owner: string): string
  /** Set: names of the ordered queues. */
  orderedQueues: string
  /** Set: names of the queues that have tasks. */
  taskQueues: string
  /** Hash: task → its queue, and on further lines the queues of its callbacks for done and failure, if it has any. */
  tasks: string
  /** Sorted set: task → its creation (ms). */
  taskAges: string
  /** A value that is remembered for a while. */
  remembered(key: string): string
  /** The result of a job; also the channel for processes that wait for it. */
  result(jid: string): string
  leaderLock(name: string): string
  /** A secret that all processes share. */
  secret(name: string): string
  metrics: MetricKeys
  /** Sidekiq Pro's set of the names of paused queues. */
  paused: string
  /** Sorted set: cancelled job → version of its cancellation (about ms); minus the time (ms) once the job was dropped. */
  cancelled: string
  /** The newest version of a cancellation. */
  cancellationVersion: string
  /** Sidekiq's hash of the progress of an iterable job, and the time of its cancellation. */
  iteration(jid: string): string
  /** The channel for paused and resumed queues. */
  pausesChannel: string
  /** Set: names of cron entries. */
  crons: string
  /** Hash of a cron entry. */
  cron(name: string): string
  /** The job that holds a lock of a cron entry. */
  lock(name: string): string
  /** The channel for jobs that are due earlier than the others. */
  dueChannel: string
  /** The number of the schema; see migration.ts. */
  schema: string
  /** The pattern of the keys of owners in all queues. */
  ownersPattern: string
  /** Returns queue and owner of a key that matches the pattern. */
  parseOwners(key: string): { queue: string; owner: string } | undefined
}

/** Sidekiq's keys of metrics, in all of its versions. Times are milliseconds; days and hours are UTC. */
export interface MetricKeys {
  /** The hashes to which the counts of a minute are added, and how long they are kept. */
  added(at: number): [key: string, seconds: number][]
  /** The hashes from which a minute, or ten minutes, are read. */
  readable(span: 1 | 10, at: number): string[]
  /** The bit field of a class and minute: the key that is written, and those that are read. */
  histogram(name: string, at: number): string
  histograms(name: string, at: number): string[]
  /** Our key of the number of a process's last batch. */
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
    // Sidekiq until 6.4.1 uses the longer name.
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
    producers: (queue) => tagged(queue, 'producers'),
    backlog: (queue) => tagged(queue, 'backlog'),
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
        ...ours('payloads: notifications: morgue morgue:names morgue:about morgue:payloads:'),
      ]
    },
    orderedShard(queue, shard) {
      const root = tagged(queue, 'ordered')
      return [`${root}:due:${shard}`, `${root}:retries:${shard}`, `${root}:fetched:${shard}`]
    },
    orderedNotifications: (queue, owner) => tagged(queue, `ordered:notifications:${owner}`),
    orderedQueues: `${prefix}hk:ordered`,
    taskQueues: `${prefix}hk:task-queues`,
    tasks: `${prefix}hk:tasks:by-id`,
    taskAges: `${prefix}hk:tasks:by-age`,
    remembered: (key) => `${prefix}hk:known:${key}`,
    result: (jid) => `${prefix}hk:result:${jid}`,
    secret: (name) => `${prefix}hk:secret:${name}`,
    leaderLock: (name) => `${prefix}hk:leader:${name}`,
    metrics: metricKeysOf(prefix, wire),
    paused: `${prefix}paused`,
    cancelled: `${prefix}hk:cancelled`,
    cancellationVersion: `${prefix}hk:cancellation-version`,
    iteration: (jid) => `${prefix}it-${jid}`,
    pausesChannel: `${prefix}hk:pauses`,
    crons: `${prefix}hk:crons`,
    cron: (name) => `${prefix}hk:cron:${name}`,
    lock: (name) => `${prefix}hk:lock:${name}`,
    dueChannel: `${prefix}hk:due`,
    schema: `${prefix}hk:schema`,
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

/** Sidekiq 8 pads other numbers than Sidekiq 7. */
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
        // Sidekiq before 8 ignores this key. Without it our metrics would cover only 8 hours.
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

/** Escapes a text for a Redis pattern that must match it literally. */
export function escapePattern(text: string): string {
  return text.replace(/[*?[\]\\]/g, '\\$&')
}
