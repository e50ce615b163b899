/**
 * Ordered queues. What waits belongs to an id: its payloads, each once, with the smallest score that it came with. A shard
 * is only a part of what is due: who owns it takes from it, and an id that is in flight is in no shard, so no change of
 * shards or owners runs one id twice.
 *
 * An ordered queue and an ordinary one of the same name have nothing in common but the list of leases.
 */

import { crc32 } from 'node:zlib'

/** Ids that one call may push or act on. */
export const ORDERED_PAGE = 100
/** Ids that one call moves while a queue is resharded. */
export const RESHARD_PAGE = 500
/**
 * The most payloads that one step moves or drops, so that other calls can run between two steps. An id with more is
 * killed, resurrected or deleted in several steps; the steps before the last one leave the rest in its place.
 */
export const ORDERED_STEP = 1000
/** Bytes of payloads that one call hands out; the first payload comes in any case. */
export const ORDERED_BYTES = 1_000_000

/** The shard of an id. */
export function shardOf(id: string, shards: number): number {
  return crc32(id) % shards
}

/** Canonical JSON, which says whether two are the same, and its score. */
export type ScoredPayload = readonly [text: string, score: number]

export interface OrderedPush {
  id: string
  payload: string
  /** Finite, within ±2^53. */
  score: number
  /** Seconds since the epoch. */
  performIn: number
  /** Its performIn applies to a waiting id as well, if it is earlier. */
  wake?: boolean
}

/** What is known of an id beside its payloads. */
export interface OrderedState {
  /** Seconds since the epoch: when it is due. */
  performIn: number
  /** -1: fresh; 0: it failed once; … */
  retryCount: number
  /** Of the last failure. */
  error: string | null
}

export interface OrderedWaiting extends OrderedState {
  id: string
  shard: number
  /** By score, then by the bytes of their text. At most as many as were asked for. */
  payloads: ScoredPayload[]
  /** How many there are. */
  size: number
}

export interface FetchedBatch extends OrderedState {
  id: string
  /** Never used twice: settling by an old one changes nothing. */
  ticket: string
  /** By score, then by the bytes of their text. */
  payloads: ScoredPayload[]
  /** Crashes in a row that this id alone is to blame for. */
  stalls: number
  /** It was in flight beside others when their process died: whoever takes it runs it alone. */
  suspect: boolean
}

export type OrderedEnd =
  /** Its payloads are gone, and with them error, stalls and suspicion. Counts as processed. */
  | { kind: 'done' }
  /** All go back, merged with what came meanwhile; the state is this one. Counts as failed. */
  | { kind: 'failed'; state: OrderedState }
  /** The same, but nothing is counted: it did not fail, and comes again at its time. */
  | { kind: 'later'; state: OrderedState }
  /** The payload with the smallest score goes to the morgue, the others back, fresh and due at `now`. Counts as failed. */
  | { kind: 'dead'; error: string }
  /** Back as it was taken, merged with what came meanwhile; nothing is counted. */
  | { kind: 'back' }
  /** Its payloads are gone because somebody cancelled them; nothing is counted. */
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
  /** Applied first. */
  settlements: OrderedSettlement[]
  /** At most `n` due ids of each, earliest first, ties by the bytes of the id; n = 0 only asks what is due next. */
  fetch: { shard: number; token: number; n: number }[]
  /** Of one id in one take, as far as ORDERED_BYTES go: the lowest scores; the others wait, fresh, with its performIn. */
  maxPayloads: number
}

/** Where an owner should look: at a shard of a queue, or at all of them. */
export interface ShardUpdate {
  queue: string
  shard: number | undefined
}

export interface OrderedSettleAndFetchAnswer {
  /** For each settlement. `fenced`: the shard has another owner or token by now, or the ticket is settled; no effect. */
  settled: ('ok' | 'fenced' | 'error')[]
  /**
   * For each take. `lost`: the shard is not ours (any more). `next`: performIn of the first id that is left, due or not;
   * null: none. A suspect comes alone, and nothing comes as long as one of the shard is in flight.
   */
  fetched: { lost: boolean; ids: FetchedBatch[]; next: number | null }[]
  /** Nothing was taken because of it. */
  paused: boolean
  /** Shards that the queue has: when it is another number than before, look at the board. */
  shards: number
  /** Of this owner's ids in flight, those that somebody cancelled. */
  cancelled: { id: string; ticket: string }[]
  /** What kept a part from being done, in words for people. */
  problem?: string
}

export interface ShardOwner {
  shard: number
  /** null: nobody whose lease holds. */
  owner: string | null
  /** Grows with each change of owner; 0: never had one. */
  token: number
}

export interface ShardAssignments {
  shards: number
  /** While it is resharded: the number before. Shards of either may still hold ids. */
  from: number | null
  paused: boolean
  /** Members whose lease holds, in order. */
  members: string[]
  /** One for each shard that is or was there: max(shards, from) of them, in order. */
  owners: ShardOwner[]
}

export interface ShardCounts {
  shard: number
  owner: string | null
  /** Waiting ids that are not in flight; fresh + retries. */
  length: number
  fresh: number
  retries: number
  /** Ids in flight. */
  busy: number
  /** In ids, ever. */
  processed: number
  failed: number
  /** Seconds since the earliest performIn that is past; 0: none. */
  lag: number
}

export interface OrderedCounts {
  name: string
  paused: boolean
  shards: ShardCounts[]
  morgueLength: number
}

/** In flight: taken and not yet settled. */
export interface OrderedInFlight {
  id: string
  ticket: string
  shard: number
  token: number
  owner: string
  /** Milliseconds. */
  fetchedAt: number
}

export interface MorgueEntry {
  id: string
  payloads: ScoredPayload[]
  /** Seconds since the epoch: of the last death. */
  updatedAt: number
  error: string | null
  /** How often something of this id came here since it was last empty. */
  deaths: number
}

/** From behind `after` on, which need not be there: the value that is sorted by, and the id. */
export interface OrderedPage {
  desc?: boolean
  after?: { value: number; id: string }
  limit: number
}

export interface OrderedStore {
  /** Enters the queue with so many shards if it is not there yet; answers how many it has. */
  define(queue: string, shards: number): Promise<number>
  /** Names of all ordered queues, in order. */
  queues(): Promise<string[]>
  /** null: there is none of that name. */
  assignments(queue: string): Promise<ShardAssignments | null>
  counts(queue: string, now: number): Promise<OrderedCounts | null>
  /**
   * Adds payloads, at most ORDERED_PAGE: all of them or, when it rejects with a PushError, none (or, `maybePushed`, all).
   * A payload that waits already keeps the smaller score. An id that waits keeps its performIn, retryCount and error; of
   * one that is in flight it waits as a fresh one until that is settled. The queue is defined with `shards` if it is new.
   */
  push(queue: string, shards: number, items: readonly OrderedPush[], now: number): Promise<void>
  /** Enters an owner, whose lease holds (`join` with this queue), as one that may own shards. False: it has no lease. */
  join(queue: string, owner: string): Promise<boolean>
  /** Strikes it off and frees its shards; what is in flight under them goes back as it was taken. */
  leave(queue: string, owner: string, now: number): Promise<void>
  /**
   * Makes a member the owner of a shard that nobody with a lease owns, under a new token; null: somebody does, or the
   * member's lease is lost. What an owner before left in flight goes back in the same step, as it was taken and merged: if
   * it was one id, a stall of it is counted, and at `maxCrashes` all that was taken goes to the morgue ("crashed 3 times");
   * if there were more, all become suspects, and nobody is counted. `died`: those that went to the morgue. Who lost the
   * answer asks again: the owner that a shard has hears its token and, where an answer can be lost on its way, of the same
   * deaths until it has taken something. A shard's first token is no 1: a queue of that name may have been there before, and no token of a name is given twice.
   */
  acquireShard(
    queue: string,
    shard: number,
    owner: string,
    maxCrashes: number,
    now: number,
  ): Promise<{ token: number; restored: number; died: MorgueEntry[] } | null>
  /** Frees a shard; what is in flight under it goes back as it was taken. False: it was not this owner's any more. */
  releaseShard(queue: string, shard: number, owner: string, token: number, now: number): Promise<boolean>
  /**
   * One step of an owner: settles what ended, then takes what is due. Each settlement is all or nothing, and a repeated
   * one changes nothing. An owner without a lease gets `fenced` and `lost` for all.
   */
  settleAndFetch(queue: string, owner: string, turn: OrderedSettleAndFetch): Promise<OrderedSettleAndFetchAnswer>
  /** What is in flight: of one owner, or all of it. For who lost an answer, and for people. */
  inFlight(queue: string, owner?: string): Promise<OrderedInFlight[]>
  /**
   * Waits until one of the queues may have something earlier than known, or somebody cancelled, paused, resharded, joined
   * or left; at most `ms`, or until `signal` aborts. Answers where that is, as far as it is known; there may be more.
   */
  wait(owner: string, queues: readonly string[], ms: number, signal: AbortSignal): Promise<ShardUpdate | undefined>
  pause(queue: string, on: boolean): Promise<void>
  /** Begins to reshard, or goes on if it was begun with the same number. False: it is being resharded to another one. */
  reshard(queue: string, shards: number): Promise<boolean>
  /** Moves at most RESHARD_PAGE waiting ids to where they belong now. Answers how many it moved; 0: all are there. */
  moveShards(queue: string): Promise<number>
  /** Waiting ids, in flight or not as long as something waits, by the bytes of the id, by performIn or by retryCount. */
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
   * At most ORDERED_PAGE ids. `now` makes them due now; `failed` leaves those out that are fresh; `delete` and `kill` take
   * what waits (not what is in flight) out, `kill` into the morgue, whole. Answers how many it was.
   */
  act(
    queue: string,
    act: 'now' | 'delete' | 'kill',
    ids: readonly string[],
    options: { failed?: boolean; error?: string; now: number },
  ): Promise<number>
  /** Takes one payload that waits away; an id without any is gone. */
  deletePayload(queue: string, id: string, payload: string): Promise<boolean>
  /**
   * Takes what waits of these ids away and tells the owner of what is in flight, which settles it as `cancelled`; a crash
   * before that drops it, too. Answers for each id what there was.
   */
  cancel(queue: string, ids: readonly string[]): Promise<('removed' | 'signalled' | 'not-found')[]>
  morgue(queue: string, by: 'id' | 'updatedAt', page: OrderedPage): Promise<MorgueEntry[]>
  /** Back among what waits, merged: retryCount -1, due now; the error stays. Answers how many it was. */
  resurrect(queue: string, ids: readonly string[], now: number): Promise<number>
  deleteDead(queue: string, ids: readonly string[]): Promise<number>
  /** Keeps the newest `max` entries, and of those the ones with updatedAt ≥ `since`. At most 1,000 go; answers how many. */
  pruneMorgue(queue: string, max: number, since: number): Promise<number>
  /** Forgets a queue that is empty, morgue and all, and has no members; false: it is not. */
  deleteQueue(queue: string): Promise<boolean>
}
