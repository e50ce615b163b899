import type { AppPort } from '../app/port.ts'
import { checkKnownQueueName } from '../job/definition.ts'
import { storeRefused } from '../job/errors.ts'
import { KIND } from '../job/instance-of.ts'
import { checkOptions, checkText } from '../job/options.ts'
import { queueOfJob } from '../job/priority.ts'
import type { QueueInfo, Scan, ScanPage, Store, WaitingJob } from '../store/contract.ts'
import { EFFECT_MEMBERS, effectsOf, notifyOver } from './actions.ts'
import { type BulkResult, checkSweep, type SweepOptions } from './bulk.ts'
import { type Search, searchOf } from './pattern.ts'
import { processesOf, serves } from './process.ts'
import { JobRecord, latencySince, waitingSince } from './record.ts'
import { JobSet } from './set.ts'
import { findByJid, limitedSets, PAGE_OPTIONS, type Page, type PageOptions, pages, scanFor, walk } from './walk.ts'

const PAGE = 100

export interface QueueSummary {
  name: string
  /** The number of its jobs that wait, with the limited ones. */
  size: number
  /** How many of them wait for room in their limits. */
  limited: number
  /** How long its next job has waited, in seconds; of the next jobs of its priorities, the longest. */
  latency: number
  paused: boolean
}

export interface QueuePageOptions extends PageOptions {
  /** Begins with the job that is fetched next; default: with the newest one. */
  oldestFirst?: boolean
}

/** Options of `Queue.deleteAll`. */
export interface QueueSweepOptions extends Omit<SweepOptions, 'where'> {
  /** Acts only on jobs for which this returns true. */
  where?: (job: { text: string }) => boolean
}

/** A job that waits in its queue. */
export class QueuedJob extends JobRecord {
  static override readonly [KIND] = 'queued'
  /** An opaque hint about its position in the queue, for `Queue.findNear`. */
  readonly at: string
  readonly #app: AppPort

  constructor(app: AppPort, queue: string, { text, at }: WaitingJob) {
    super(text, { queue, now: () => app.now() })
    this.#app = app
    this.at = at
  }

  /** Deletes the job. Resolves with false if it is no longer in the queue. */
  async delete(): Promise<boolean> {
    const { queue, text, at } = this
    const pull = { text, at, to: null, ...effectsOf(this.#app, text, { kind: 'deleted' }) }
    const [answer] = await this.#app.store.search.pull(queue, [pull], this.#app.now())
    if (answer === 'error') throw storeRefused(`take jobs out of queue ${queue}`)
    if (answer === 'ok') await notifyOver(this.#app, text, 'deleted')
    return answer === 'ok'
  }
}

/**
 * A queue by its name; it may be empty.
 *
 * @example for await (const job of hq.queue('default')) if (job.class === 'OldJob') await job.delete()
 */
export class Queue implements AsyncIterable<QueuedJob> {
  readonly name: string
  readonly #app: AppPort

  constructor(app: AppPort, name: string) {
    this.#app = app
    this.name = name
  }

  /** Returns the number of its jobs that wait, with those that wait for room in their limits. */
  async size(): Promise<number> {
    const { size, limited } = await this.#info()
    return size + limited
  }

  /** Returns the number of its jobs that wait for room in their limits. */
  async limited(): Promise<number> {
    return (await this.#info()).limited
  }

  /** Resolves with the seconds that its next job has waited, of any priority; 0 when the queue is empty. */
  async latency(): Promise<number> {
    return waited(await this.#info(), this.#app.now())
  }

  /**
   * Pauses the queue in all processes: running jobs go on, and pushes are stored.
   * @returns `ignoredBy`: the identities of live Sidekiq processes that serve the queue. Open source Sidekiq ignores
   * pauses. Sidekiq Pro respects them, but its processes look the same and are listed, too.
   * @throws INVALID_OPTION
   */
  async pause(): Promise<{ ignoredBy: string[] }> {
    await this.#setPaused(true)
    const processes = await processesOf(this.#app.store)
    const others = processes.filter((process) => !process.ours && serves(process, this.name))
    return { ignoredBy: others.map(({ identity }) => identity) }
  }

  /** Resumes the queue: workers fetch from it again at once. @throws INVALID_OPTION */
  resume(): Promise<void> {
    return this.#setPaused(false)
  }

  async isPaused(): Promise<boolean> {
    return (await this.#app.store.jobs.pausedQueues()).includes(this.name)
  }

  /** Finds a job by its jid; null when there is none. This is slow in a long queue. @throws the signal's reason */
  async find(jid: string, options: { signal?: AbortSignal } = {}): Promise<QueuedJob | null> {
    checkText('queue.find: a jid', jid)
    checkOptions('queue.find', options, { signal: 'signal' })
    return findByJid(jid, this.#scan, this.#job, options.signal)
  }

  /**
   * Finds the first job that `meant` accepts; null when there is none. The search starts where the job was
   * listed, and goes on from there, because jobs fetched since then have moved it.
   * @throws the signal's reason
   */
  async findNear(
    at: string,
    meant: (text: string) => boolean,
    options: { signal?: AbortSignal } = {},
  ): Promise<QueuedJob | null> {
    checkOptions('queue.findNear', options, { signal: 'signal' })
    const { signal } = options
    const read = (after?: string) => {
      signal?.throwIfAborted()
      const from = after === undefined ? { at } : { after }
      return this.#app.store.search.scanQueue(this.name, '', { ...from, limit: PAGE })
    }
    for await (const { items } of pages(read)) {
      const found = items.find(({ text }) => meant(text))
      if (found) return this.#job(found)
    }
    return null
  }

  /**
   * Resolves with a page of the jobs whose text matches, by default newest first; for patterns see `JobSet.scan`. A call
   * scans a bounded number of jobs, so a page may be empty before the end.
   */
  scan(pattern: string, options: QueuePageOptions = {}): Promise<Page<QueuedJob> & { scanned: number }> {
    return this.#page('queue.scan', searchOf(pattern), options)
  }

  /**
   * Resolves with a page of the jobs that a search matches, by default newest first. It scans a bounded number, as `scan`
   * does.
   */
  search(search: Search, options: QueuePageOptions = {}): Promise<Page<QueuedJob> & { scanned: number }> {
    return this.#page('queue.search', search, options)
  }

  /** Resolves with a page of its jobs, by default newest first. Concurrent pushes and fetches cause no gaps. */
  page(options: QueuePageOptions = {}): Promise<Page<QueuedJob>> {
    return this.#page('queue.page', searchOf(''), options)
  }

  /** Yields its jobs, newest first. It reads one page at a time. */
  async *[Symbol.asyncIterator](): AsyncGenerator<QueuedJob> {
    for await (const { items } of pages((after) => this.page({ after, limit: PAGE }))) yield* items
  }

  /**
   * Deletes the jobs of a class; for an Active Job, its own class counts, too. This is slow in a long queue.
   * @returns the number of deleted jobs
   */
  async deleteByClass(name: string): Promise<number> {
    let deleted = 0
    for await (const { items } of walk(name, this.#scan)) {
      deleted += await this.#drop(items.filter((item) => this.#job(item).isOf(name)))
    }
    return deleted
  }

  /**
   * Deletes all jobs that are in the queue during the whole call, or those of them that match, newest first.
   * @throws INVALID_OPTION; the signal's reason
   */
  async deleteAll(options: QueueSweepOptions = {}): Promise<BulkResult> {
    checkSweep(options)
    const { matching = '', where = () => true, signal, onProgress } = options
    const { needle, matches } = searchOf(matching)
    const result: BulkResult = { done: 0, refused: 0 }
    for await (const { items } of pages((after) => this.#scan(needle, after))) {
      signal?.throwIfAborted()
      result.done += await this.#drop(items.filter((item) => matches(item.text) && where(item)))
      onProgress?.({ ...result })
    }
    return result
  }

  /**
   * Deletes the jobs that wait, also those that wait for room in their limits, and perhaps some that are pushed while it runs. The backlog of a task is not in the queue
   * yet: its rows enter as rows are deleted, unless the task is cancelled.
   * @returns the number of deleted jobs
   */
  async clear(): Promise<number> {
    const store = this.#app.store
    let left = (await this.#info()).size
    let removed = 0
    for (;;) {
      const cleared = await store.search.clearQueue(this.name, EFFECT_MEMBERS, Math.max(left, 0))
      const dropped = cleared.removed + (await this.#drop(cleared.kept))
      removed += dropped
      left -= dropped
      // Clear once more when the last jobs were rows, so that the name of an empty queue is removed, too.
      const isOver = cleared.kept.length === 0 && (cleared.done || left <= 0)
      if (isOver || dropped === 0) return removed + (await this.#clearLimited())
    }
  }

  async #clearLimited(): Promise<number> {
    let removed = 0
    const where = ({ text }: { text: string }) => queueOfJob(text) === this.name
    for (const set of await limitedSets(this.#app.store)) {
      const { done, error } = await new JobSet(this.#app, set).deleteAll({ where })
      if (error) throw error
      removed += done
    }
    return removed
  }

  async #setPaused(isPaused: boolean): Promise<void> {
    checkKnownQueueName(this.name)
    await this.#app.store.jobs.pauseQueue(this.name, isPaused)
  }

  async #drop(rows: readonly WaitingJob[]): Promise<number> {
    const pulls = rows.map((row) => ({ ...row, to: null, ...effectsOf(this.#app, row.text, { kind: 'deleted' }) }))
    const answers = await this.#app.store.search.pull(this.name, pulls, this.#app.now())
    if (answers.includes('error')) throw storeRefused(`take jobs out of queue ${this.name}`)
    return answers.filter((answer) => answer === 'ok').length
  }

  async #info(): Promise<QueueInfo> {
    const [info] = await this.#app.store.jobs.queues([this.name])
    return info ?? { name: this.name, size: 0, limited: 0, next: null }
  }

  readonly #job = (item: WaitingJob): QueuedJob => new QueuedJob(this.#app, this.name, item)

  async #page(
    where: string,
    search: Search,
    options: QueuePageOptions,
  ): Promise<Page<QueuedJob> & { scanned: number }> {
    checkOptions(where, options, { ...PAGE_OPTIONS, oldestFirst: 'flag' })
    const { oldestFirst, ...rest } = options
    const read = (needle: string, page: ScanPage) =>
      this.#app.store.search.scanQueue(this.name, needle, { ...page, oldestFirst })
    return scanFor(where, search, rest, read, this.#job)
  }

  readonly #scan = (needle: string, after?: string): Promise<Scan<WaitingJob>> =>
    this.#app.store.search.scanQueue(this.name, needle, { after, limit: PAGE })
}

/** Returns all queues, those that are paused also when they are empty; or those of these names. */
export async function summariesOf(
  store: Store,
  now: number,
  only?: readonly string[],
  sinceOf = waitingSince,
): Promise<QueueSummary[]> {
  const [queues, pausedQueues] = await Promise.all([store.jobs.queues(only), store.jobs.pausedQueues()])
  const paused = new Set(pausedQueues)
  const known = new Set(queues.map(({ name }) => name))
  const empty = (only ?? pausedQueues)
    .filter((name) => !known.has(name))
    .map((name): QueueInfo => ({ name, size: 0, limited: 0, next: null }))
  const all = empty.length > 0 ? [...queues, ...empty].sort((a, b) => (a.name < b.name ? -1 : 1)) : queues
  return all.map(({ name, size, limited, ...info }) => ({
    name,
    size: size + limited,
    limited,
    latency: waited(info, now, sinceOf),
    paused: paused.has(name),
  }))
}

/** Returns the seconds that the oldest of the next jobs, one of each priority, has waited; 0 when the queue is empty. */
export function waited(
  { next, others = [] }: Pick<QueueInfo, 'next' | 'others'>,
  now: number,
  sinceOf = waitingSince,
): number {
  return next === null ? 0 : Math.max(...[next, ...others].map((text) => latencySince(sinceOf(text), now)))
}
