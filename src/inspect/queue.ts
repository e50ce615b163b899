import type { AppPort } from '../app/port.ts'
import { HighkiqError } from '../job/errors.ts'
import { checkText } from '../job/options.ts'
import type { QueueInfo, ScanPage, Store, WaitingJob } from '../store/contract.ts'
import { EFFECT_MEMBERS, effectsOf, notifyOver } from './actions.ts'
import { type Search, searchOf } from './pattern.ts'
import { pauseQueue, resumeQueue } from './pause.ts'
import { JobRecord, latencyOf } from './record.ts'
import { findByJid, type Page, type PageOptions, pages, scanFor, walk } from './walk.ts'

const BATCH = 100

export interface QueueSummary {
  name: string
  size: number
  /** Seconds that its next job has waited. */
  latency: number
  paused: boolean
}

/** A job that waits in its queue. */
export class QueuedJob extends JobRecord {
  /** About where it stands: see `Queue.findNear`. */
  readonly at: string
  readonly #app: AppPort

  constructor(app: AppPort, queue: string, { text, at }: WaitingJob) {
    super(text, { queue, now: () => app.now() })
    this.#app = app
    this.at = at
  }

  /** False: it is not in its queue any more. */
  async delete(): Promise<boolean> {
    const { queue, text, at } = this
    const pull = { text, at, to: null, ...effectsOf(this.#app, text, { kind: 'deleted' }) }
    const [answer] = await this.#app.store.search.pull(queue, [pull], this.#app.now())
    if (answer === 'error') throw refused(queue)
    if (answer === 'ok') await notifyOver(this.#app, text, 'deleted')
    return answer === 'ok'
  }
}

/**
 * A queue, by its name, whether there is anything in it or not.
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

  async size(): Promise<number> {
    return (await this.#info()).size
  }

  /** Seconds that its next job has waited; 0 when it is empty. */
  async latency(): Promise<number> {
    return waited(await this.#info(), this.#app.now())
  }

  /**
   * No worker takes from it any more, in any process; what runs goes on, and pushes are kept.
   * @returns `ignoredBy`: identities of live Sidekiq processes that serve it. Open source Sidekiq does not know of pauses;
   * Sidekiq Pro, which can't be told from it, does
   * @throws INVALID_OPTION
   */
  pause(): Promise<{ ignoredBy: string[] }> {
    return pauseQueue(this.#app.store, this.name)
  }

  /** Workers take from it again, at once. @throws INVALID_OPTION */
  resume(): Promise<void> {
    return resumeQueue(this.#app.store, this.name)
  }

  async isPaused(): Promise<boolean> {
    return (await this.#app.store.jobs.pausedQueues()).includes(this.name)
  }

  /** The job with this jid; null when there is none. It may take a while in a long queue. */
  async find(jid: string, { signal }: { signal?: AbortSignal } = {}): Promise<QueuedJob | null> {
    checkText('queue.find: a jid', jid)
    const read = (needle: string, after?: string) =>
      this.#app.store.search.scanQueue(this.name, needle, { after, limit: BATCH })
    return findByJid(jid, read, (item) => this.#job(item), signal)
  }

  /**
   * The job that is meant and stood at a place; null when it is not there any more. What was taken since has moved it:
   * so it is looked for from there on. @throws the signal's reason
   */
  async findNear(
    at: string,
    meant: (text: string) => boolean,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<QueuedJob | null> {
    const read = (after?: string) => {
      signal?.throwIfAborted()
      return this.#app.store.search.scanQueue(this.name, '', {
        ...(after === undefined ? { at } : { after }),
        limit: BATCH,
      })
    }
    for await (const { items } of pages(read)) {
      const found = items.find(({ text }) => meant(text))
      if (found) return this.#job(found)
    }
    return null
  }

  /**
   * Jobs whose text matches, newest first; patterns are those of `JobSet.scan`. A call looks at a bounded number, so it
   * may find nothing and go on all the same.
   */
  scan(pattern: string, options: PageOptions = {}): Promise<Page<QueuedJob> & { scanned: number }> {
    return this.search(searchOf(pattern), options)
  }

  /** A page of those that are meant, newest first; `needle` is in all their texts. Bounded as `scan` is. */
  search(search: Search, options: PageOptions = {}): Promise<Page<QueuedJob> & { scanned: number }> {
    const read = (needle: string, page: ScanPage) => this.#app.store.search.scanQueue(this.name, needle, page)
    return scanFor(search, options, read, (item) => this.#job(item))
  }

  /** A page of its jobs, newest first. What is pushed and taken meanwhile makes it skip nothing. */
  page(options: PageOptions = {}): Promise<Page<QueuedJob>> {
    return this.scan('', options)
  }

  /** Its jobs, newest first, a page at a time. */
  async *[Symbol.asyncIterator](): AsyncGenerator<QueuedJob> {
    let after: string | null = null
    do {
      const page: Page<QueuedJob> = await this.page({ after, limit: BATCH })
      yield* page.items
      after = page.next
    } while (after !== null)
  }

  /** Deletes the jobs of a class; of Active Jobs their own. It may take a while in a long queue. @returns how many */
  async deleteByClass(name: string): Promise<number> {
    const read = (needle: string, after?: string) =>
      this.#app.store.search.scanQueue(this.name, needle, { after, limit: BATCH })
    let deleted = 0
    for await (const { items } of walk(name, read)) {
      deleted += await this.#drop(items.filter((item) => this.#job(item).isOf(name)))
    }
    return deleted
  }

  /**
   * Drops what waits in it when this is called. Rows that their tasks hold back are not in it yet: they come in as rows
   * are dropped, unless their task is cancelled. @returns how many
   */
  async clear(): Promise<number> {
    const store = this.#app.store
    let left = await this.size()
    let removed = 0
    for (;;) {
      const cleared = await store.search.clearQueue(this.name, EFFECT_MEMBERS, Math.max(left, 0))
      const dropped = cleared.removed + (await this.#drop(cleared.kept))
      removed += dropped
      left -= dropped
      // Once more when the last ones were rows, so that the name of an empty queue goes too.
      const isOver = cleared.kept.length === 0 && (cleared.done || left <= 0)
      if (isOver || dropped === 0) return removed
    }
  }

  async #drop(rows: readonly WaitingJob[]): Promise<number> {
    const pulls = rows.map((row) => ({ ...row, to: null, ...effectsOf(this.#app, row.text, { kind: 'deleted' }) }))
    const answers = await this.#app.store.search.pull(this.name, pulls, this.#app.now())
    if (answers.includes('error')) throw refused(this.name)
    return answers.filter((answer) => answer === 'ok').length
  }

  async #info(): Promise<QueueInfo> {
    const [info] = await this.#app.store.jobs.queues([this.name])
    return info ?? { name: this.name, size: 0, next: null }
  }

  #job(item: WaitingJob): QueuedJob {
    return new QueuedJob(this.#app, this.name, item)
  }
}

export async function summariesOf(store: Store, now: number): Promise<QueueSummary[]> {
  const [queues, paused] = await Promise.all([store.jobs.queues(), store.jobs.pausedQueues()])
  const known = new Set(queues.map(({ name }) => name))
  const empty = paused.filter((name) => !known.has(name)).map((name) => ({ name, size: 0, next: null }))
  const all = empty.length > 0 ? [...queues, ...empty].sort((a, b) => (a.name < b.name ? -1 : 1)) : queues
  return all.map((info) => ({
    name: info.name,
    size: info.size,
    latency: waited(info, now),
    paused: paused.includes(info.name),
  }))
}

/** Seconds that its next job has waited. */
export function waited({ next }: QueueInfo, now: number): number {
  return next === null ? 0 : latencyOf(next, now)
}

function refused(queue: string): HighkiqError {
  return new HighkiqError(
    'STORE_UNUSABLE',
    `the store can't take jobs out of queue ${queue}: does a key hold something else?`,
  )
}
