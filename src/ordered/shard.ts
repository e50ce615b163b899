/** A shard that this process owns, with its fetched ids that have not started. */

import type { FetchedBatch } from '../store/contract.ts'
import type { Batch } from './batch.ts'
import type { Candidate } from './scheduler.ts'

/** The number of ids to hold ready beside those that run, unless a batch needs more. */
const PREFETCH = 100

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
  /** The time at which the store has the next id of this shard, in seconds; undefined when it is unknown. */
  nextDue: number | undefined
  /** Whether the next call must ask for this shard even when there is no room. */
  mustPoll = true
  /** Whether a fetch for this shard is in progress. */
  isFetching = false
  /** The last fetch returned nothing though an id is due. The shard waits until a batch ends or the store notifies. */
  stuck = false
  /** The time of the last fetch that returned ids, on the monotonic clock. */
  fetchedAt = 0
  /** A suspect runs or is next, so nothing is prefetched. */
  alone = false
  /** The shard is being handed to another process: no new batch starts. */
  leaving = false
  /** The store has lost fetches of this shard, which is released when its batches have ended, and acquired again. */
  hasLostFetches = false
  /** A release was sent and may reach the store at any time: no batch starts under this token any more. */
  released = false
  /** The number of ids in flight according to the store: ready, running, or ended without a confirmed settlement. */
  inFlight = 0
  readonly #settings: ShardSettings
  readonly #ready: FetchedBatch[] = []

  constructor(shard: number, token: number, settings: ShardSettings) {
    this.queue = settings.queue
    this.shard = shard
    this.token = token
    this.#settings = settings
  }

  /** The number of ready ids. */
  get size(): number {
    return this.#ready.length
  }

  get isReady(): boolean {
    return this.size > 0 && !this.leaving && !this.hasLostFetches && (this.running.size === 0 || this.#mayRunBeside)
  }

  get due(): number {
    return this.#ready[0]?.performIn ?? Number.POSITIVE_INFINITY
  }

  get lag(): number {
    return Math.max(this.#settings.now() / 1000 - this.due, 0)
  }

  /** The number of ids to fetch; 0 while enough are ready. */
  get room(): number {
    if (this.leaving || this.hasLostFetches || this.isFetching || this.stuck) return 0
    if (this.alone) return this.inFlight === 0 ? 1 : 0
    const { batchSize } = this.#settings
    const most = Math.max(PREFETCH, batchSize)
    return this.size > most / 2 ? 0 : most - this.size
  }

  /** Nothing runs, and no settlement waits for its answer. */
  get isIdle(): boolean {
    return this.inFlight === 0 && this.running.size === 0 && !this.isFetching
  }

  /** Adds fetched ids. */
  add(ids: readonly FetchedBatch[]): void {
    this.inFlight += ids.length
    this.#ready.push(...ids)
  }

  /** Removes and returns the ids of the next batch. A suspect is never ready together with others: see `alone`. */
  nextBatch(): FetchedBatch[] {
    return this.#ready.splice(0, this.#settings.batchSize)
  }

  /** Removes and returns the ids that have not started. */
  dropReady(): FetchedBatch[] {
    return this.#ready.splice(0)
  }

  /** Removes one id that has not started; returns undefined if it has started or is not here. */
  dropOne(ticket: string): FetchedBatch | undefined {
    const at = this.#ready.findIndex((one) => one.ticket === ticket)
    return at < 0 ? undefined : this.#ready.splice(at, 1)[0]
  }

  /** Yields what is ready or runs. */
  *fetched(): Generator<FetchedBatch> {
    yield* this.#ready
    for (const batch of this.running) yield* batch.ids
  }

  get #mayRunBeside(): boolean {
    return this.#settings.serial === 'id' && !this.alone
  }
}
