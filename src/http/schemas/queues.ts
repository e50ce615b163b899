/** Schemas of queues and of the processes that serve them. */

import type * as v from 'valibot'
import * as s from './building-blocks.ts'

export const Queue = s.object({
  name: s.text,
  size: s.described(s.count, 'its jobs that wait, with the limited ones'),
  limited: s.described(s.count, 'how many of them wait for room in their limits'),
  maxLength: s.described(
    s.orNull(s.count),
    'the most jobs that wait in it, as the apps of running workers set it; null: they set none',
  ),
  backlog: s.described(s.count, 'rows in the backlogs of tasks for this queue'),
  latency: s.described(s.amount, 'seconds that its oldest job has waited'),
  paused: s.boolean,
  ignoredBy: s.described(s.list(s.text), 'identities of Sidekiq processes that serve it: they ignore a pause'),
  slots: s.described(s.count, 'the most jobs that its processes run at the same time'),
  servedBy: s.described(s.list(s.text), 'identities of the processes that serve it'),
  trend: s.described(
    s.orNull(
      s.object({
        perMinute: s.described(s.number, 'jobs by which it grows; below 0 when it shrinks'),
        emptyIn: s.described(s.orNull(s.count), 'seconds until it is empty; null when it does not shrink'),
      }),
    ),
    'its change in the last minute; null until the server has seen two samples, ten seconds apart',
  ),
})
export const QueueList = s.pageOf(Queue)
export const QueueClasses = s.object({
  items: s.list(
    s.object({
      class: s.short,
      count: s.count,
      since: s.described(s.orNull(s.time), 'when the one of them that is fetched first entered the queue'),
    }),
  ),
  scanned: s.described(s.count, 'the jobs that were counted, those that are fetched next'),
  complete: s.described(s.boolean, 'true when all jobs were counted'),
})
export const Cleared = s.object({ done: s.count })

export const Process = s.object({
  identity: s.text,
  hostname: s.text,
  pid: s.count,
  tag: s.text,
  labels: s.list(s.text),
  queues: s.list(s.text),
  definedQueues: s.described(s.list(s.text), 'the queues that the jobs of its app name'),
  version: s.text,
  ours: s.described(s.boolean, 'true for a process of Highkiq, false for one of Sidekiq'),
  embedded: s.described(s.boolean, 'runs inside another program: only its concurrency can be changed'),
  busy: s.count,
  concurrency: s.described(s.count, 'the most jobs and ordered batches at the same time'),
  orderedConcurrency: s.described(s.count, 'the part of it for ordered batches'),
  capsules: s.described(s.list(s.object({ name: s.text, concurrency: s.count })), 'its queues with slots of their own'),
  rss: s.described(s.count, 'kB'),
  quiet: s.boolean,
  leader: s.boolean,
  startedAt: s.time,
  beat: s.described(s.time, 'time of its last heartbeat'),
  state: s.oneOf(['live', 'quiet', 'silent']),
})
const { definedQueues: _, ...shortProcess } = Process.entries

/** A list as it has changed since a version. */
const changesOf = <S extends v.GenericSchema>(item: S) =>
  s.object({
    version: s.described(s.text, 'for the parameter `since` of the next request'),
    whole: s.described(s.boolean, 'true: `items` is the whole list and replaces the one that the client has'),
    items: s.described(s.list(item), 'those that are new or have changed'),
    removed: s.described(s.list(s.text), 'the names or identities of those that are gone'),
  })

export const LiveQueue = s.object({
  name: s.text,
  size: s.described(s.count, 'its jobs that wait, with the limited ones'),
  limited: s.described(s.count, 'how many of them wait for room in their limits'),
  maxLength: s.described(
    s.orNull(s.count),
    'the most jobs that wait in it, as the apps of running workers set it; null: they set none',
  ),
  backlog: s.described(s.count, 'rows in the backlogs of tasks for this queue'),
  sizes: s.described(
    s.list(s.orNull(s.count)),
    'the largest in each five minutes of the last hour that is over, oldest first; null: unknown; empty: no job waited',
  ),
  waitingSince: s.described(s.orNull(s.time), 'since when its oldest job has waited; null when none waits'),
  paused: s.boolean,
  slots: s.described(s.count, 'the most jobs that its processes run at the same time'),
  processes: s.described(s.count, 'the processes that serve it'),
})
export const LiveQueueList = changesOf(LiveQueue)
export const LiveProcess = s.object({
  ...shortProcess,
  queues: s.described(s.list(s.text), 'the first 20 of its queues'),
  moreQueues: s.described(s.count, 'how many queues it has beside these'),
})
export const LiveProcessList = changesOf(LiveProcess)

export const ProcessSettings = s.object({
  concurrency: s.must(s.positive, 'a whole number above 0'),
  capsule: s.optional(s.must(s.text, 'a string')),
})
export const ProcessList = s.pageOf(Process)
