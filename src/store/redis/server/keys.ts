/**
 * The names of all keys. Sidekiq's keys have Sidekiq's names. Ours begin with `hk:`; those that belong to a queue have
 * the tag `{queue:NAME}`, which gives them the hash slot of Sidekiq's key `queue:NAME`. In a cluster the namespace is `{app}`,
 * which gives all keys one hash slot.
 */

import type { Sidekiq } from '../../../job/payload.ts'
import { type PageName, type SetName, sourceOf } from '../../contract.ts'

/** The sets that Sidekiq has, too. */
const SIDEKIQ_SETS: readonly string[] = ['retry', 'schedule', 'dead']

/** A key of an owner, with its queue and its owner. */
const KEY_OF_OWNER = /^hk:\{queue:((?:(?!\}:ordered:).)+?)\}:(?:working|arriving):(.+)$/s

export type Keys = ReturnType<typeof keysOf>

export function keysOf(namespace: string, wire: Sidekiq = 8) {
  const prefix = namespace === '' ? '' : `${namespace}:`
  const tagged = (queue: string, rest: string) => `${prefix}hk:{queue:${queue}}:${rest}`
  return {
    /** The beginning of every key. */
    prefix,
    /** Sidekiq's list of jobs; the next one is at the tail. */
    queue: (name: string) => `${prefix}queue:${name}`,
    /** Sidekiq's set of the names of queues. */
    queues: `${prefix}queues`,
    /** Sidekiq's sorted sets of jobs that are not in a queue, and ours. */
    set: (set: SetName) => prefix + (SIDEKIQ_SETS.includes(set) ? set : `hk:${set}`),
    /** The keys of finished-packs.lua: the set of finished jobs, those that nobody has read yet, and their counter. */
    finished: [`${prefix}hk:finished`, `${prefix}hk:finished:packs`, `${prefix}hk:finished:newest`],
    /** Hash: each limit with used slots or waiting jobs → its numbers; see rates.lua. */
    limits: `${prefix}hk:limits`,
    /** Hash: each limit, without its key, whose numbers were set → these numbers; see rates.lua. */
    setLimits: `${prefix}hk:set-limits`,
    /** Sorted set: each limit with waiting jobs → when they may have room (microseconds by the server). */
    limitChecks: `${prefix}hk:limit-checks`,
    /** Hash: each queue → the number of its jobs that wait for room in their limits. */
    limitedQueues: `${prefix}hk:limited-queues`,
    /** Sorted set of the used slots of a limit: owner, a space, and the ticket of the attempt → 0. */
    slots: (limit: string) => `${prefix}hk:slots:${limit}`,
    /** The starts that a limit with a rate gave out; see rates.lua. It expires when it has no use any more. */
    rate: (limit: string) => `${prefix}hk:rate:${limit}`,
    /** The beginning of the keys of slots, of rates, and of the sets of waiting jobs. */
    limitPrefixes: [`${prefix}hk:slots:`, `${prefix}hk:rate:`, `${prefix}hk:limited:`],
    /** The keys of record.lua: the recording of events of jobs. */
    recording: [`${prefix}hk:recording`, `${prefix}hk:events`, `${prefix}hk:events:newest`],
    /** Hash of the page of jobs that is held for another store, and the list of its jobs; see transfer-page.lua. */
    transferPage: `${prefix}hk:transfer`,
    transferJobs: `${prefix}hk:transfer:jobs`,
    /** The newest pages, or the newest tasks, of a source, and what became of them; see transfer-outcome.lua. */
    transfers({ transfer, number }: PageName): string {
      const source = sourceOf(transfer)
      const pages = `${prefix}hk:transfer:pages`
      return source === '' ? pages : `${pages}:${source}${number === 0 ? ':tasks' : ''}`
    },
    /** Hash: task that goes to another store → its name and the target on two lines, or nothing while it is only frozen. */
    movingTasks: `${prefix}hk:transfer:tasks`,
    /** The header of a task that is sealed, or not complete yet; the deadlines of its deferred rows; its rows that came back. */
    movingTask(queue: string, id: string): [header: string, deferrals: string, returned: string] {
      const header = `${tagged(queue, `task:${id}`)}:moving`
      return [header, `${header}:deferred`, `${header}:returned`]
    },
    /** Sorted sets of batches: all by their creation; those with open members by their progress; the others by their end. */
    batches: `${prefix}hk:batches`,
    openBatches: `${prefix}hk:batches:open`,
    endedBatches: `${prefix}hk:batches:ended`,
    /** Sorted set of the batches that are being cancelled, by their last `cancel`. */
    cancellingBatches: `${prefix}hk:batches:cancelling`,
    /** Hash of a batch, its open members, and its notes; see batches.lua, which makes these names, too. */
    batch: (bid: string) => `${prefix}hk:batch:${bid}`,
    batchMembers: (bid: string) => `${prefix}hk:batch:${bid}:members`,
    batchNotes: (bid: string) => `${prefix}hk:batch:${bid}:notes`,
    processed: (day?: string) => `${prefix}stat:processed${day ? `:${day}` : ''}`,
    failed: (day?: string) => `${prefix}stat:failed${day ? `:${day}` : ''}`,
    /** Sidekiq's set of the identities of processes. */
    processes: `${prefix}processes`,
    process: (identity: string) => prefix + identity,
    // Sidekiq until 6.4.1 uses the longer name.
    running: (identity: string) => `${prefix}${identity}:${wire === 6 ? 'workers' : 'work'}`,
    /** The key of running jobs in the other versions of Sidekiq. */
    otherRunning: (identity: string) => `${prefix}${identity}:${wire === 6 ? 'work' : 'workers'}`,
    signals: (identity: string) => `${prefix}${identity}-signals`,
    /** Sidekiq's lock of the process that cleans up `processes`, for a minute. */
    processCleanup: `${prefix}process_cleanup`,
    /** Sidekiq Enterprise's identity of the leading process. */
    leader: `${prefix}dear-leader`,
    /** Hash of an owner: ticket → text. */
    working: (queue: string, owner: string) => tagged(queue, `working:${owner}`),
    /** List of an owner: texts that arrived during a wait, the newest at the head. */
    arriving: (queue: string, owner: string) => tagged(queue, `arriving:${owner}`),
    /** Set of an owner: tickets of settled arrivals, in case a settlement is repeated. */
    settled: (queue: string, owner: string) => tagged(queue, `settled:${owner}`),
    /** Sorted set: owner → stamp of its newest renewal; once claimed, minus the time of its claim (ms by the server). */
    leases: `${prefix}hk:leases`,
    /** The newest stamp. Each renewal gets a greater one, close to the server's clock in ms even when that clock is set. */
    renewals: `${prefix}hk:renewals`,
    /** Hash of an owner: `seconds` of its lease, `host`, and a field `q NAME` for each queue whose jobs it may hold. */
    owner: (name: string) => `${prefix}hk:owner:${name}`,
    /** Hash of a machine: each unclaimed owner that runs there → its host. */
    machine: (name: string) => `${prefix}hk:machine:${name}`,
    /** Hash: task, a space, and a producer → its kind; see producers.lua. */
    producers: (queue: string) => tagged(queue, 'producers'),
    /** The number of rows in the backlogs of a queue's tasks. */
    backlog: (queue: string) => tagged(queue, 'backlog'),
    /** The keys of a task: header, events, rows, rejected, backlog, reasons. */
    task(queue: string, id: string): [header: string, ...others: string[]] {
      const header = tagged(queue, `task:${id}`)
      return [header, ...['events', 'rows', 'rejected', 'backlog', 'reasons'].map((name) => `${header}:${name}`)]
    },
    /** Remembers that a job was pushed, so that the same push is not stored twice. */
    once: (jid: string) => `${prefix}hk:once:${jid}`,
    /** Hash: parts of the files that a task produces. */
    parts: (queue: string, id: string) => tagged(queue, `task:${id}:parts`),
    /** Sorted set: task → time of its next maintenance; see ledger.lua. */
    taskTimes: (queue: string) => tagged(queue, 'tasks'),
    /** The keys of an ordered queue in the order of ordered-open.lua. Some are prefixes of an id or owner. */
    ordered(queue: string) {
      const root = tagged(queue, 'ordered')
      const ours = (names: string) => names.split(' ').map((name) => `${root}:${name}`)
      return [
        ...[root, ...ours('ids flights behind names cancelled members'), `${prefix}hk:leases`],
        ...ours('payloads: notifications: morgue morgue:names morgue:about morgue:payloads:'),
      ]
    },
    /** The due ids, retries and fetched ids of one of its shards. */
    orderedShard(queue: string, shard: number) {
      const root = tagged(queue, 'ordered')
      return [`${root}:due:${shard}`, `${root}:retries:${shard}`, `${root}:fetched:${shard}`] as const
    },
    /** List of an owner with at most one notification. */
    orderedNotifications: (queue: string, owner: string) => tagged(queue, `ordered:notifications:${owner}`),
    /** Set: names of the ordered queues. */
    orderedQueues: `${prefix}hk:ordered`,
    /** Set: names of the queues that have tasks. */
    taskQueues: `${prefix}hk:task-queues`,
    /** Hash: task → its queue, and on further lines the queues of its callbacks for done and failure, if it has any. */
    tasks: `${prefix}hk:tasks:by-id`,
    /** Sorted set: task → its creation (ms). */
    taskAges: `${prefix}hk:tasks:by-age`,
    /** Sorted set: row whose end comes from outside → its deadline (ms). A row that has ended stays until then. */
    deferred: `${prefix}hk:deferred`,
    /** Sorted set: each task with this label → its creation (ms). */
    label: (name: string, value: string) => `${prefix}hk:tasks:label:${name}=${value}`,
    /** A value that is remembered for a while. */
    remembered: (key: string) => `${prefix}hk:known:${key}`,
    /** The result of a job; also the channel for processes that wait for it. */
    result: (jid: string) => `${prefix}hk:result:${jid}`,
    /** A secret that all processes share. */
    secret: (name: string) => `${prefix}hk:secret:${name}`,
    /** Hash: list of tasks by `meta` → the version of its links, once they were revoked. */
    linkVersions: `${prefix}hk:link-versions`,
    leaderLock: (name: string) => `${prefix}hk:leader:${name}`,
    metrics: metricKeysOf(prefix, wire),
    /** Sidekiq Pro's set of the names of paused queues. */
    paused: `${prefix}paused`,
    /** Sorted set: cancelled job → version of its cancellation (about ms); minus the time (ms) once the job was dropped. */
    cancelled: `${prefix}hk:cancelled`,
    /** The newest version of a cancellation. */
    cancellationVersion: `${prefix}hk:cancellation-version`,
    /** Sidekiq's hash of the progress of an iterable job, and the time of its cancellation. */
    iteration: (jid: string) => `${prefix}it-${jid}`,
    /** The channel for paused and resumed queues. */
    pausesChannel: `${prefix}hk:pauses`,
    /** Set: names of cron entries. */
    crons: `${prefix}hk:crons`,
    /** Hash of a cron entry. */
    cron: (name: string) => `${prefix}hk:cron:${name}`,
    /** The job that holds a lock of a cron entry. */
    lock: (name: string) => `${prefix}hk:lock:${name}`,
    /** Hash: lock of a unique job → its end, suspicion, due time and holder; see unique.lua. */
    unique: `${prefix}hk:unique`,
    /** The channel for jobs that are due earlier than the others. */
    dueChannel: `${prefix}hk:due`,
    /** An empty text that is written before each wait for replicas; see `Connection.replicated`. */
    replicated: `${prefix}hk:replicated`,
    /** Never exists; see `Connection.scriptCall`. */
    absent: `${prefix}hk:absent`,
    /** The number of the schema; see migration.ts. */
    schema: `${prefix}hk:schema`,
    /** The pattern of the keys of owners in all queues. */
    ownersPattern: `${escapePattern(prefix)}hk:{queue:*}:*ing:*`,
    /** Returns queue and owner of a key that matches the pattern; undefined for keys of ordered queues, which end with any id. */
    parseOwners(key: string) {
      const [, queue, owner] = KEY_OF_OWNER.exec(key.slice(prefix.length)) ?? []
      return queue && owner ? { queue, owner } : undefined
    },
  }
}

/**
 * Returns Sidekiq's keys of metrics, in all of its versions: Sidekiq 8 pads other numbers than Sidekiq 7. Times are
 * milliseconds; days and hours are UTC.
 */
function metricKeysOf(prefix: string, wire: Sidekiq) {
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
    /** The hashes to which the counts of a minute are added, and how many seconds they are kept. */
    added(at: number): [key: string, seconds: number][] {
      const added: [string, number][] = [
        [wire === 8 ? minute8(at) : minute7(at), 8 * 3600],
        // Sidekiq before 8 ignores this key. Without it our metrics would cover only 8 hours.
        [tenMinutes(at), 3 * 86_400],
      ]
      if (wire > 6) return added
      const { yearMonthDay, hour } = partsOf(at)
      return [...added, [`${prefix}j|${yearMonthDay}|${hour}`, 7 * 86_400], [`${prefix}j|${yearMonthDay}`, 90 * 86_400]]
    },
    /** The hashes from which a minute, or ten minutes, are read. */
    readable: (span: 1 | 10, at: number) => (span === 10 ? [tenMinutes(at)] : [minute8(at), minute7(at)]),
    /** The bit field of a class and minute: the key that is written, and those that are read. */
    histogram: wire === 8 ? histogram8 : histogram7,
    histograms: (name: string, at: number) => [histogram8(name, at), histogram7(name, at)],
    /** Our bit field of a class in the ten minutes of a time, with wider counts. */
    longHistogram: (name: string, at: number) => `${prefix}hk:metrics:histogram:${at - (at % 600_000)}:${name}`,
    /** Our hash of the waits in the minute of a time: `BUCKET|QUEUE` → count, `ms|QUEUE` → milliseconds. */
    waits: (at: number) => `${prefix}hk:metrics:waits:${at - (at % 60_000)}`,
    /** Our JSON text of the figures of the whole store in a span of `span` minutes. */
    snapshot: (span: number, at: number) => `${prefix}hk:metrics:snapshot:${span}:${at - (at % (span * 60_000))}`,
    /** Our text of the sizes of queues in a span of `span` minutes. */
    queueSizes: (span: number, at: number) => `${prefix}hk:metrics:sizes:${span}:${at - (at % (span * 60_000))}`,
    /** Our key of the number of a process's last batch. */
    lastBatch: (source: string) => `${prefix}hk:metrics:${source}`,
    /** Hash of a day `YYYY-MM-DD`: minute → label. */
    deploys: (day: string) => `${prefix}${day.replaceAll('-', '')}-marks`,
    deployLock: (label: string) => `${prefix}deploylock-${label}`,
  }
}

/** Escapes a text for a Redis pattern that must match it literally. */
export function escapePattern(text: string): string {
  return text.replace(/[*?[\]\\]/g, '\\$&')
}
