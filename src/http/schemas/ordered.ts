/** Schemas of ordered queues. */

import * as v from 'valibot'
import {
  amount,
  anyObject,
  anything,
  boolean,
  count,
  described,
  list,
  MOST_IDS,
  must,
  number,
  object,
  optional,
  orNull,
  pageOf,
  positive,
  rule,
  text,
  time,
} from './building-blocks.ts'

const figures = {
  length: count,
  fresh: count,
  retries: count,
  busy: count,
  processed: count,
  failed: count,
  lag: described(amount, 'seconds that the first due id has waited'),
}

export const OrderedQueue = object({
  name: text,
  ...figures,
  morgueLength: count,
  paused: boolean,
  shards: list(object({ shard: count, owner: orNull(text), ...figures })),
})
export const OrderedQueueList = pageOf(OrderedQueue)

const payloads = list(object({ payload: anything, score: number }))

export const OrderedWaiting = object({
  id: text,
  shard: count,
  performIn: time,
  retryCount: described(v.pipe(v.number(), v.integer(), v.minValue(-1)), '-1: no failure; 0: one failure'),
  error: orNull(text),
  payloads,
  size: described(count, 'number of its payloads, shown or not'),
})
export const OrderedWaitingList = pageOf(OrderedWaiting)

export const OrderedDead = object({ id: text, payloads, updatedAt: time, error: orNull(text), deaths: count })
export const OrderedDeadList = pageOf(OrderedDead)

export const OrderedId = object({
  waiting: orNull(OrderedWaiting),
  inFlight: orNull(object({ shard: count, owner: text, fetchedAt: time })),
  dead: orNull(OrderedDead),
})

const id = v.union([text, number])

export const OrderedIds = rule(
  object({
    ids: optional(must(v.pipe(list(id), v.maxLength(MOST_IDS)), `a list of at most ${MOST_IDS} ids`)),
    all: optional(must(v.literal(true), 'true, without `ids`')),
  }),
  ({ ids, all }) => (ids === undefined) !== (all === undefined),
  'give `ids`, a list of ids, or `all: true`',
)
export const OrderedActed = object({ ids: described(count, 'number of ids') })

export const OrderedItem = object({
  id: described(id, 'of the entity; jobs of one id never run in parallel'),
  payload: described(optional(anything), "any JSON; default ''"),
  score: described(optional(number), 'its order among the payloads of its id; default now'),
  performIn: described(
    optional(v.union([number, text, anyObject])),
    "earliest time: seconds from now, '5m', { minutes: 5 }; from 1e9 on seconds since 1970",
  ),
  performAt: described(optional(id), 'earliest time: ISO 8601, or seconds since 1970'),
  wake: described(optional(boolean), 'moves an id that is scheduled for later forward to this time'),
})
export const OrderedItems = v.union([OrderedItem, list(OrderedItem)])
export const OrderedPushed = object({ pushed: described(count, 'number of jobs stored') })
export const OrderedReshard = object({ shards: must(positive, 'a whole number above 0') })
