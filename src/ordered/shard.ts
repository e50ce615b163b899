/** A shard that this process owns, and what it has at hand of it. */

import type { FetchedBatch } from '../store/contract.ts'
import type { Batch } from './batch.ts'
import type { Candidate } from './scheduler.ts'

/** Ids at hand beside those that run, unless a batch needs more. */
const PREFETCH = 50

export interface ShardSettings {
  queue: string
  batchSize: number
  serial: 'shard' | 'id'
  now: () => number
}

export class Shard implements Candidate {
  readonly queue: string
  readonly shard: number
  /** The fencing token. */
  readonly token: number
  readonly running = new Set<Batch>()
  round = 0
  /** When the store has something next, in seconds; undefined: not known. */
  nextDue: number | undefined
  /** It is to be asked what it has, even if there is no room. */
  mustPoll = true
  /** A take is under way. */
  isFetching = false
  /** The last take brought nothing, though something is due: something must end first, or a bell ring. */
  stuck = false
  /** On the monotonic clock: when the last take that brought something was sent. */
  fetchedAt = 0
  /** A suspect is near: nothing is prefetched. */
  alone = false
  /** It goes to another process: nothing begins any more. */
  leaving = false
  /** That was said, and may reach the store at any time: under this token nothing begins any more, whatever the share is. */
  released = false
  /** Ids that are in flight as far as the store knows: at hand, running, and ended without an answer. */
  inFlight = 0
  readonly #settings: ShardSettings
  #ready: FetchedBatch[] = []
  /** Where the first of them stands. */
  #start = 0

  constructor(shard: number, token: number, settings: ShardSettings) {
    this.queue = settings.queue
    this.shard = shard
    this.token = token
    this.#settings = settings
  }

  /** Ids at hand. */
  get size(): number {
    return this.#ready.length - this.#start
  }

  get isReady(): boolean {
    return this.size > 0 && !this.leaving && (this.running.size === 0 || this.#mayRunBeside)
  }

  get due(): number {
    return this.#ready[this.#start]?.performIn ?? Number.POSITIVE_INFINITY
  }

  get lag(): number {
    return Math.max(this.#settings.now() / 1000 - this.due, 0)
  }

  /** How many more are worth taking; 0 while enough are at hand. */
  get room(): number {
    if (this.leaving || this.isFetching || this.stuck) return 0
    if (this.alone) return this.inFlight === 0 ? 1 : 0
    const { batchSize } = this.#settings
    const most = Math.max(PREFETCH, batchSize)
    if (this.size > most / 2) return 0
    // Where nothing runs, a batch of them begins at once.
    return most - this.size + (this.running.size === 0 ? batchSize : 0)
  }

  /** Nothing of it runs, and nothing waits for an answer. */
  get isIdle(): boolean {
    return this.inFlight === 0 && this.running.size === 0 && !this.isFetching
  }

  /** What was taken is at hand. */
  add(ids: readonly FetchedBatch[]): void {
    this.inFlight += ids.length
    if (this.#start === this.#ready.length) {
      this.#ready = [...ids]
      this.#start = 0
    } else this.#ready.push(...ids)
  }

  /** The ids of the next batch. */
  nextBatch(): FetchedBatch[] {
    const { batchSize } = this.#settings
    let end = this.#start
    while (end < this.#ready.length && end - this.#start < batchSize) {
      // Alone.
      if (this.#ready[end]?.suspect && end > this.#start) break
      end++
      if (this.#ready[end - 1]?.suspect) break
    }
    const ids = this.#ready.slice(this.#start, end)
    this.#start = end
    if (this.#start === this.#ready.length) {
      this.#ready = []
      this.#start = 0
    }
    return ids
  }

  /** Those at hand that have not begun: they are not, any more. */
  dropReady(): FetchedBatch[] {
    const ids = this.#ready.slice(this.#start)
    this.#ready = []
    this.#start = 0
    return ids
  }

  /** Takes one that has not begun out; undefined: it has, or is not there. */
  dropOne(ticket: string): FetchedBatch | undefined {
    const at = this.#ready.findIndex((one, i) => i >= this.#start && one.ticket === ticket)
    return at < 0 ? undefined : this.#ready.splice(at, 1)[0]
  }

  *tickets(): Generator<string> {
    for (let i = this.#start; i < this.#ready.length; i++) yield (this.#ready[i] as FetchedBatch).ticket
    for (const batch of this.running) for (const { ticket } of batch.ids) yield ticket
  }

  get #mayRunBeside(): boolean {
    return this.#settings.serial === 'id' && !this.alone
  }
}
