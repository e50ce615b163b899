/** Jobs that were fetched for a step or a wait that ended without them. The next step of their owner returns them. */

import { hasCode } from '../../job/errors.ts'
import { baseQueue } from '../../job/priority.ts'
import type { FetchedJob, SettleAnswer } from '../contract.ts'
import { readPrefixed, type Shard, type Shards } from './shards.ts'

/** Jobs that no step returns within this time go back to their queues: their owner may be busy for long. */
const REQUEUE_MS = 2000

export class SavedJobs {
  readonly #byOwner = new Map<string, FetchedJob[]>()
  /** The waits for jobs, by owner. */
  readonly #waits = new Map<string, Set<AbortController>>()
  readonly #shards: Shards
  readonly #onRequeued: (ticket: string) => void

  /** `onRequeued` is called with the ticket of each job that is back in its queue. */
  constructor(shards: Shards, onRequeued: (ticket: string) => void) {
    this.#shards = shards
    this.#onRequeued = onRequeued
  }

  /** Saves jobs, and ends the waits of their owner. */
  add(owner: string, jobs: readonly FetchedJob[]): void {
    if (jobs.length === 0) return
    this.#byOwner.set(owner, [...(this.#byOwner.get(owner) ?? []), ...jobs])
    for (const wait of this.#waits.get(owner) ?? []) wait.abort('saved')
    setTimeout(() => this.#requeueLeft(owner, new Set(jobs)), REQUEUE_MS).unref()
  }

  has(owner: string, queues: readonly string[]): boolean {
    return this.#byOwner.get(owner)?.some(({ queue }) => queues.includes(baseQueue(queue))) ?? false
  }

  /** Removes and returns at most `n` jobs of these queues. */
  shift(owner: string, queues: readonly string[], n: number): FetchedJob[] {
    if (!this.has(owner, queues)) return []
    const jobs = this.#byOwner.get(owner) as FetchedJob[]
    const wanted = jobs.filter(({ queue }) => queues.includes(baseQueue(queue))).slice(0, n)
    this.#remove(owner, new Set(wanted))
    return wanted
  }

  /** Runs a wait for jobs; `signal` aborts when there are saved ones. */
  async during<T>(owner: string, wait: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController()
    const waits = this.#waits.get(owner) ?? new Set()
    this.#waits.set(owner, waits.add(controller))
    try {
      return await wait(controller.signal)
    } finally {
      waits.delete(controller)
      if (waits.size === 0) this.#waits.delete(owner)
    }
  }

  /** Removes the jobs of an owner that has lost its lease. */
  delete(owner: string): void {
    this.#byOwner.delete(owner)
  }

  #remove(owner: string, jobs: ReadonlySet<FetchedJob>): void {
    const left = this.#byOwner.get(owner)?.filter((job) => !jobs.has(job)) ?? []
    if (left.length > 0) this.#byOwner.set(owner, left)
    else this.#byOwner.delete(owner)
  }

  async #requeueLeft(owner: string, some: ReadonlySet<FetchedJob>): Promise<void> {
    const jobs = this.#byOwner.get(owner)?.filter((job) => some.has(job)) ?? []
    if (jobs.length === 0) return
    // First remove them here: the store may apply the call late, and no step may return them then.
    this.#remove(owner, some)
    await this.#requeueUntilDone(owner, jobs)
  }

  async #requeueUntilDone(owner: string, jobs: readonly FetchedJob[]): Promise<void> {
    const left: FetchedJob[] = []
    // Newest first, because each job goes to the front of its queue.
    const groups = this.#shards.group(jobs.toReversed(), ({ ticket }) => this.#shards.at(readPrefixed(ticket).index))
    const requeues = [...groups].map(async ([shard, some]) => {
      const answers = await requeueOn(shard, owner, some)
      for (const [i, job] of some.entries()) {
        if (answers[i] === 'ok' || answers[i] === 'fenced') this.#onRequeued(job.ticket)
        else left.unshift(job)
      }
    })
    await Promise.all(requeues)
    if (left.length > 0) setTimeout(() => this.#requeueUntilDone(owner, left), REQUEUE_MS).unref()
  }
}

/** Never rejects. */
async function requeueOn({ store }: Shard, owner: string, jobs: readonly FetchedJob[]): Promise<SettleAnswer[]> {
  try {
    const { settled } = await store.workers.settleAndFetch(owner, {
      now: Date.now(),
      started: [],
      settlements: jobs.map(({ queue, ticket, text }) => ({
        queue,
        ticket: readPrefixed(ticket).text,
        move: { to: 'queue', queue, text, end: 'front' },
        processed: 0,
        failed: 0,
      })),
      fetch: { queues: [], n: 0 },
    })
    return settled
  } catch (thrown) {
    // Once the store is closed, other workers rescue the jobs.
    return jobs.map(() => (hasCode(thrown, 'STORE_CLOSED') ? 'fenced' : 'error'))
  }
}
