/**
 * Ordered queues. Each id has its own waiting payloads. A payload waits once, with the smallest score it was pushed with.
 * Each waiting id belongs to a shard, and the owner of the shard fetches it. An id in flight belongs to no shard, so no
 * change of shards or owners runs an id twice.
 *
 * An ordered queue and an ordinary queue of the same name share nothing but the list of leases.
 */

import { crc32 } from 'node:zlib'

/** The number of shards of a queue if nothing else is said. */
export const DEFAULT_SHARDS = 5
/** The most ids that one call may push or act on. */
export const ORDERED_PAGE = 100
/** The most ids that one call moves while a queue is resharded. */
export const RESHARD_PAGE = 500
/**
 * The most payloads that one step moves or drops, so that other calls can run between two steps. An id with more payloads
 * is killed, resurrected or deleted in several steps; until the last step the rest of its payloads stays where it is.
 */
export const ORDERED_STEP = 1000
/** The most bytes of payloads that one call fetches; the first payload is fetched in any case. */
export const ORDERED_BYTES = 1_000_000

/** Returns the shard of an id. */
export function shardOf(id: string, shards: number): number {
  return crc32(id) % shards
}

/** A payload as canonical JSON, by which payloads are compared, and its score. */
export type ScoredPayload = readonly [text: string, score: number]

export interface OrderedPush {
  id: string
  payload: string
  /** Finite, within ±2^53. */
  score: number
  /** Seconds since the epoch. */
  performIn: number
  /** Whether an earlier performIn also applies to an id that waits already. */
  wake?: boolean
}

/** The state of an id, beside its payloads. */
export interface OrderedState {
  /** When the id is due, in seconds since the epoch. */
  performIn: number
  /** -1: it has not failed; 0: it has failed once; … */
  retryCount: number
  /** The error of the last failure. */
  error: string | null
}

export interface OrderedWaiting extends OrderedState {
  id: string
  shard: number
  /** Sorted by score, then by the bytes of the text. At most as many as the call asks for. */
  payloads: ScoredPayload[]
  /** The number of all waiting payloads. */
  size: number
}

export interface FetchedBatch extends OrderedState {
  id: string
  /** Names this fetch and is never used twice. A settlement with an old ticket changes nothing. */
  ticket: string
  /** Sorted by score, then by the bytes of the text. */
  payloads: ScoredPayload[]
  /** The number of crashes in a row while no other id of the shard was in flight. */
  crashes: number
  /** Whether the id was in flight with others when their process died. A suspect runs alone. */
  suspect: boolean
}

export type OrderedEnd =
  /** The payloads are removed, and with them error, crashes and suspicion. Counts as processed. */
  | { kind: 'done' }
  /** All payloads wait again, merged with those pushed meanwhile, with this state. Counts as failed. */
  | { kind: 'failed'; state: OrderedState }
  /** Like `failed`, but counts nothing: the id did not fail, and runs again when it is due. */
  | { kind: 'snoozed'; state: OrderedState }
  /**
   * The payload with the smallest score goes to the morgue; the others wait again, without failures and due at `now`.
   * Counts as failed.
   */
  | { kind: 'dead'; error: string }
  /** The payloads wait again with their state before the fetch, merged with those pushed meanwhile. Counts nothing. */
  | { kind: 'requeue' }
  /** The payloads are removed because the id was cancelled. Counts nothing. */
  | { kind: 'cancelled' }

export interface OrderedSettlement {
  id: string
  ticket: string
  shard: number
  token: number
  end: OrderedEnd
}

export interface OrderedSettleAndFetch {
  now: number
  /** Applied before anything is fetched. */
  settlements: OrderedSettlement[]
  /**
   * At most `n` due ids of each shard, earliest first, ties by the bytes of the id. n = 0 only asks when the next id is due.
   */
  fetch: { shard: number; token: number; n: number }[]
  /**
   * The most payloads of one id, within ORDERED_BYTES: those with the lowest scores. The others wait with the id's
   * performIn and without failures.
   */
  maxPayloads: number
}

/** A shard in which an owner may find something new; undefined: any shard of the queue. */
export interface ShardUpdate {
  queue: string
  shard: number | undefined
}

export interface OrderedSettleAndFetchAnswer {
  /** For each settlement. `fenced`: the shard has another owner or token, or the ticket is settled; nothing changed. */
  settled: ('ok' | 'fenced' | 'error')[]
  /**
   * For each shard. `lost`: the owner does not own the shard (any more). `next`: performIn of the first id that is left,
   * due or not; null: none. A suspect is fetched alone, and nothing is fetched while a suspect of the shard is in flight.
   */
  fetched: { lost: boolean; ids: FetchedBatch[]; next: number | null }[]
  /** Whether the queue is paused, so that nothing was fetched. */
  paused: boolean
  /** The number of shards of the queue. If it has changed, call `assignments`. */
  shards: number
  /** The ids in flight of this owner that were cancelled. */
  cancelled: { id: string; ticket: string }[]
  /** Why a part of the call was not done, as text for display. */
  problem?: string
}

export interface ShardOwner {
  shard: number
  /** null: no owner with a valid lease. */
  owner: string | null
  /** Grows with each change of owner; 0: the shard never had one. */
  token: number
}

/** The answer to `acquireShard`. `rescued`: the number of ids that the previous owner left in flight and that wait again. */
export interface AcquiredShard {
  token: number
  rescued: number
  /** The ids that went to the morgue. */
  died: MorgueEntry[]
}

export interface ShardAssignments {
  shards: number
  /** While the queue is resharded, the number of shards before; ids may still be in any of them. null: no resharding. */
  from: number | null
  paused: boolean
  /** Members with a valid lease, sorted. */
  members: string[]
  /** One for each current and former shard: max(shards, from) of them, in order. */
  owners: ShardOwner[]
}

export interface ShardCounts extends Omit<ShardOwner, 'token'> {
  /** Waiting ids that are not in flight; the sum of `fresh` and `retries`. */
  length: number
  fresh: number
  retries: number
  /** Ids in flight. */
  busy: number
  /** The number of ids that ended, since the queue was defined. */
  processed: number
  failed: number
  /** Seconds since the earliest performIn that is past; 0: no id is due. */
  lag: number
}

export interface OrderedCounts {
  name: string
  paused: boolean
  shards: ShardCounts[]
  morgueLength: number
}

/** An id in flight: fetched and not yet settled. */
export interface OrderedInFlight extends Omit<OrderedSettlement, 'end'> {
  owner: string
  /** Milliseconds. */
  fetchedAt: number
}

export interface MorgueEntry {
  id: string
  payloads: ScoredPayload[]
  /** When a payload of the id last came here, in seconds since the epoch. */
  updatedAt: number
  error: string | null
  /** How often payloads of the id came here since it last had none here. */
  deaths: number
}

/** Payloads of an id that goes to another store, with the state of the id. */
export interface MovedId {
  id: string
  payloads: ScoredPayload[]
  /** The state of a waiting id; null: the payloads are in the morgue. */
  waiting: (OrderedState & { crashes: number; suspect: boolean }) | null
  /** The morgue's entry of a dead id. */
  dead: { updatedAt: number; error: string | null; deaths: number } | null
}

/** A page from behind `after` (the value sorted by, and the id), which need not exist. */
export interface OrderedPage {
  desc?: boolean
  after?: { value: number; id: string }
  limit: number
}

export interface OrderedStore {
  /** Defines a queue with this number of shards if it does not exist. Returns the number it has. */
  define(queue: string, shards: number): Promise<number>
  /** Returns the names of all ordered queues, sorted. */
  queues(): Promise<string[]>
  /** null: there is no such queue. */
  assignments(queue: string): Promise<ShardAssignments | null>
  counts(queue: string, now: number): Promise<OrderedCounts | null>
  /**
   * Adds payloads, at most ORDERED_PAGE: all of them or, when it rejects with a PushError, none (`maybePushed`: or all).
   * A payload that waits already keeps the smaller score. An id that waits keeps its performIn, retryCount and error. The
   * payloads of an id in flight wait without failures until it is settled. A new queue is defined with `shards`.
   */
  push(queue: string, shards: number, items: readonly OrderedPush[], now: number): Promise<void>
  /** Makes an owner a member, which may own shards. It must have joined this queue (`join`). False: it has no lease. */
  join(queue: string, owner: string): Promise<boolean>
  /** Removes a member and releases its shards. Its ids in flight wait again with their state before the fetch. */
  leave(queue: string, owner: string, now: number): Promise<void>
  /**
   * Makes a member the owner of a shard, with a new token. null: another owner with a valid lease has the shard, or the
   * member's lease is lost.
   *
   * What the previous owner left in flight waits again in the same step, with its state before the fetch. If that was one
   * id, it has crashed once more; at `maxCrashes` all its fetched payloads go to the morgue ("crashed 3 times"). If they
   * were several ids, all become suspects, and no crash is counted.
   *
   * A caller that lost the answer asks again: it gets its token and, in a store that can lose an answer, the same deaths,
   * until it has fetched something. The first token of a shard is not 1, because no token of a queue name is used twice,
   * also after the queue was deleted.
   */
  acquireShard(
    queue: string,
    shard: number,
    owner: string,
    maxCrashes: number,
    now: number,
  ): Promise<AcquiredShard | null>
  /** Releases a shard. Its ids in flight wait again with their state before the fetch. False: the owner lost it before. */
  releaseShard(queue: string, shard: number, owner: string, token: number, now: number): Promise<boolean>
  /**
   * One step of an owner: settles ids that ended, then fetches ids that are due. Atomic per settlement; a repeated one
   * changes nothing. An owner without a lease gets `fenced` and `lost` for everything.
   */
  settleAndFetch(queue: string, owner: string, request: OrderedSettleAndFetch): Promise<OrderedSettleAndFetchAnswer>
  /** Returns the ids in flight, of one owner or of all. */
  inFlight(queue: string, owner?: string): Promise<OrderedInFlight[]>
  /**
   * Waits until something may be due earlier than known in one of the queues, or until an id was cancelled, a queue was
   * paused or resharded, or a member joined or left; at most `ms`, or until `signal` aborts. Returns one of the queues
   * where this happened, with its shard if that is known; later waits return the others. Returns undefined if nothing
   * happened.
   */
  wait(owner: string, queues: readonly string[], ms: number, signal: AbortSignal): Promise<ShardUpdate | undefined>
  pause(queue: string, on: boolean): Promise<void>
  /** Begins to reshard, or continues with the same number. False: the queue is being resharded to another number. */
  reshard(queue: string, shards: number): Promise<boolean>
  /** Moves at most RESHARD_PAGE waiting ids to their new shards. Returns how many; 0: resharding is complete. */
  moveShards(queue: string): Promise<number>
  /** Returns ids with waiting payloads, in flight or not, sorted by the bytes of the id, performIn or retryCount. */
  waiting(
    queue: string,
    by: 'id' | 'performIn' | 'retryCount',
    page: OrderedPage & { payloads: number },
  ): Promise<OrderedWaiting[]>
  find(
    queue: string,
    id: string,
  ): Promise<{ waiting: OrderedWaiting | null; inFlight: OrderedInFlight | null; dead: MorgueEntry | null }>
  /**
   * Acts on at most ORDERED_PAGE ids. `now` makes them due. `failed` skips ids that have not failed. `delete` and `kill`
   * remove the waiting payloads, but not those in flight; `kill` moves them to the morgue. Returns the number of ids.
   */
  act(
    queue: string,
    act: 'now' | 'delete' | 'kill',
    ids: readonly string[],
    options: { failed?: boolean; error?: string; now: number },
  ): Promise<number>
  /** Removes one waiting payload. An id without payloads is removed. False: there is no such payload. */
  deletePayload(queue: string, id: string, payload: string): Promise<boolean>
  /**
   * Removes the waiting payloads of ids, and tells the owner of those in flight, which settles them as `cancelled`. If the
   * owner crashes before that, they are dropped, too. Returns for each id what was found.
   */
  cancel(queue: string, ids: readonly string[]): Promise<('removed' | 'signalled' | 'not-found')[]>
  morgue(queue: string, by: 'id' | 'updatedAt', page: OrderedPage): Promise<MorgueEntry[]>
  /**
   * Moves dead ids back to the waiting ones, merged with their waiting payloads: retryCount -1, due now; the error stays.
   * Returns the number of ids.
   */
  resurrect(queue: string, ids: readonly string[], now: number): Promise<number>
  /** Deletes ids from the morgue, and returns how many. */
  deleteDead(queue: string, ids: readonly string[]): Promise<number>
  /**
   * Keeps the newest `max` entries of the morgue, and of those the entries with updatedAt ≥ `since`. Deletes at most 1,000
   * entries, and returns how many.
   */
  pruneMorgue(queue: string, max: number, since: number): Promise<number>
  /** Deletes a queue that has no ids, no morgue entries and no members. False: it has some. */
  deleteQueue(queue: string): Promise<boolean>
}
