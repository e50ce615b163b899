/** Where jobs of a state are read from: a set, a queue, the rows of tasks, an ordered queue, or the workers. */

import type { AppPort } from '../app/port.ts'
import type { SetName } from '../store/contract.ts'
import type { BulkResult, SweepOptions } from './bulk.ts'
import { orderedSource } from './ordered-source.ts'
import { Queue, QueuedJob } from './queue.ts'
import { rowSource } from './row-source.ts'
import { type Running, RunningSet, runningAmong } from './running.ts'
import { JobSet } from './set.ts'
import { ShortQueues } from './short-queues.ts'
import {
  cancelPages,
  isIn,
  isOrderedState,
  isRowState,
  type JobAction,
  type JobHit,
  type Matcher,
  type SearchedState,
  type SearchPort,
  type Source,
} from './source.ts'
import { limitedSets, readMatching } from './walk.ts'

type SetAction = Exclude<JobAction, 'cancel'>

/** One step cancels this many jobs. */
const PAGE = 500
const SETS = { scheduled: 'schedule', retry: 'retry', dead: 'dead', succeeded: 'finished' } as const

/** Returns the sources of the jobs of these states, in the order of the search. */
export async function sourcesOf(port: SearchPort, matcher: Matcher): Promise<Source[]> {
  const { app } = port
  const { store } = app
  const sources: Source[] = []
  for (const state of matcher.states) {
    if (state === 'running') sources.push(runningSource(app, matcher))
    else if (state === 'limited') {
      for (const set of (await limitedSets(store)).sort()) sources.push(setSource(app, matcher, state, set, set))
    } else if (isRowState(state)) sources.push(rowSource(port, matcher, state))
    else if (isOrderedState(state)) {
      const queues = (await store.ordered.queues()).filter((name) => (matcher.queue ?? name) === name)
      for (const name of queues.sort()) sources.push(orderedSource(app, matcher, state, name))
    } else if (state === 'queued') {
      const { queue } = matcher
      const queues = (await store.jobs.queues(queue === undefined ? undefined : [queue])).filter(({ size }) => size > 0)
      const names = queues.map(({ name }) => name).sort()
      const short = new ShortQueues(store, matcher.inQueue.needle, names)
      for (const name of names) sources.push(queueSource(app, matcher, name, short))
    } else sources.push(setSource(app, matcher, state, SETS[state]))
  }
  return sources
}

/** Jobs that wait are read next first, others newest first. */
function setSource(
  app: AppPort,
  { search, from, until }: Matcher,
  state: SearchedState,
  set: SetName,
  name = '',
): Source {
  const jobs = new JobSet(app, set)
  const desc = state === 'dead' || state === 'succeeded'
  const isTimely = (score: number) => score * 1000 >= from && score * 1000 < until
  const [first, last] = desc ? [until, from] : [from, until]
  return {
    state,
    name,
    async read({ after, limit, ms }) {
      // A cursor that is a score alone is before all entries of the score, seen in this direction.
      const begin = after ?? (Number.isFinite(first) ? `${first / 1000}:` : null)
      const { items, next, scanned } = await jobs.search(search, { after: begin, limit, desc, ms })
      const reached = next === null ? last : Number(next.split(':', 1)) * 1000
      const isOver = next === null || (desc ? reached < last : reached >= last)
      const hits = items.flatMap((job) => (isTimely(job.score) ? [{ state, job, at: job.at }] : []))
      return { items: hits, next: isOver ? null : next, scanned }
    },
    act(action, options) {
      const where = ({ text, score }: { text: string; score: number }) => isTimely(score) && search.matches(text)
      return SET_ACTIONS[action as SetAction](jobs, { ...options, where })
    },
  }
}

function queueSource(app: AppPort, { inQueue, ...matcher }: Matcher, queue: string, shortQueues: ShortQueues): Source {
  const hitOf = (item: { text: string; at: string }): JobHit => {
    const job = new QueuedJob(app, queue, item)
    return { state: 'queued', job, at: job.enqueuedAt ?? job.createdAt }
  }
  const isHit = ({ text }: { text: string }) => inQueue.matches(text) && isIn(hitOf({ text, at: '' }), matcher)
  return {
    state: 'queued',
    name: queue,
    async read({ after, limit }) {
      // Without a needle all jobs would be returned, and most of them dropped.
      const short = after === null && inQueue.needle !== '' ? await shortQueues.read(queue) : undefined
      const hits = short?.items.filter(isHit)
      if (short && hits && hits.length <= limit) return { items: hits.map(hitOf), next: null, scanned: short.scanned }
      const page = await readMatching({ ...inQueue, matches: (text) => isHit({ text }) }, limit, (wanted) =>
        app.store.search.scanQueue(queue, inQueue.needle, { after: after ?? undefined, limit: wanted }),
      )
      return { ...page, items: page.items.map(hitOf) }
    },
    async act(_, options) {
      options.signal?.throwIfAborted()
      const short = inQueue.needle === '' ? undefined : await shortQueues.read(queue)
      if (short && !short.items.some(isHit)) return { done: 0, refused: 0 }
      const matching = inQueue.needle === '' ? {} : { matching: inQueue.needle }
      return new Queue(app, queue).deleteAll({ ...options, ...matching, where: isHit })
    },
  }
}

/** Running jobs are read from one answer of the store, longest first. */
function runningSource(app: AppPort, { search, ...matcher }: Matcher): Source {
  const all = async () => {
    const jobs: Running[] = []
    for await (const job of new RunningSet(app)) jobs.push(job)
    return jobs.map((job) => ({ job, key: sortKeyOf(job) })).sort((a, b) => (a.key < b.key ? -1 : 1))
  }
  const hitsOf = (job: Running): JobHit[] => {
    const hit: JobHit = { state: 'running', job, at: job.startedAt }
    return search.matches(job.text) && isIn(hit, matcher) ? [hit] : []
  }
  return {
    state: 'running',
    name: '',
    async read({ after, limit, ms }) {
      const end = performance.now() + ms
      const rest = (await all()).filter(({ key }) => after === null || key > after)
      const items: JobHit[] = []
      let scanned = 0
      for (const { job } of rest) {
        items.push(...hitsOf(job))
        scanned++
        if (items.length === limit || performance.now() >= end) break
      }
      return { items, next: scanned < rest.length ? (rest[scanned - 1]?.key ?? null) : null, scanned }
    },
    async act(_, options) {
      const hits = (await all()).flatMap(({ job }) => hitsOf(job))
      const found = Array.from({ length: Math.ceil(hits.length / PAGE) }, (_, i) => ({
        items: hits.slice(i * PAGE, (i + 1) * PAGE),
      }))
      return cancelPages(app, found, (jids) => runningAmong(app.store, jids), options)
    },
  }
}

const SET_ACTIONS: Record<SetAction, (set: JobSet, options: SweepOptions) => Promise<BulkResult>> = {
  retry: (set, options) => set.retryAll(options),
  addToQueue: (set, options) => set.addAllToQueue(options),
  kill: (set, options) => set.killAll(options),
  delete: (set, options) => set.deleteAll(options),
}

/** Returns a text by which running jobs are sorted, longest first; each has its own. */
function sortKeyOf({ startedAt, process, thread, jid }: Running): string {
  return [String(startedAt.getTime()).padStart(16, '0'), process, thread, jid].join(' ')
}
