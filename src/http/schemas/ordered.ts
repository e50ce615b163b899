/** Schemas of ordered queues. */

import * as v from 'valibot'
import * as s from './building-blocks.ts'

const figures = {
  length: s.count,
  fresh: s.count,
  retries: s.count,
  busy: s.count,
  processed: s.count,
  failed: s.count,
  lag: s.described(s.amount, 'seconds that the first due id has waited'),
}

export const OrderedQueue = s.object({
  name: s.text,
  ...figures,
  morgueLength: s.count,
  paused: s.boolean,
  shards: s.list(s.object({ shard: s.count, owner: s.orNull(s.text), ...figures })),
})
export const OrderedQueueList = s.pageOf(OrderedQueue)

const payloads = s.list(s.object({ payload: s.anything, score: s.number }))

export const OrderedWaiting = s.object({
  id: s.text,
  shard: s.count,
  performIn: s.time,
  retryCount: s.described(v.pipe(v.number(), v.integer(), v.minValue(-1)), '-1: no failure; 0: one failure'),
  error: s.orNull(s.text),
  payloads,
  size: s.described(s.count, 'number of its payloads, shown or not'),
})
export const OrderedWaitingList = s.pageOf(OrderedWaiting)

export const OrderedDead = s.object({
  id: s.text,
  payloads,
  updatedAt: s.time,
  error: s.orNull(s.text),
  deaths: s.count,
})
export const OrderedDeadList = s.pageOf(OrderedDead)

const inFlight = { shard: s.count, owner: s.text, fetchedAt: s.time }

export const OrderedInFlightList = s.pageOf(s.object({ id: s.text, ...inFlight }))

export const OrderedHistory = s.object({
  step: s.described(s.count, 'seconds from point to point; there is none for a time without a worker'),
  points: s.list(
    s.object({
      at: s.time,
      length: s.count,
      busy: s.count,
      lag: s.amount,
      morgueLength: s.count,
      processed: s.described(s.count, 'since the queue was defined, as `failed`'),
      failed: s.count,
    }),
  ),
})

export const OrderedId = s.object({
  waiting: s.orNull(OrderedWaiting),
  inFlight: s.orNull(s.object(inFlight)),
  dead: s.orNull(OrderedDead),
})

const id = v.union([s.text, s.number])

export const OrderedIds = s.rule(
  s.object({
    ids: s.optional(s.must(v.pipe(s.list(id), v.maxLength(s.MOST_IDS)), `a list of at most ${s.MOST_IDS} ids`)),
    all: s.optional(s.must(v.literal(true), 'true, without `ids`')),
  }),
  ({ ids, all }) => (ids === undefined) !== (all === undefined),
  'give `ids`, a list of ids, or `all: true`',
)
export const OrderedActed = s.object({ ids: s.described(s.count, 'number of ids') })

export const OrderedItem = s.object({
  id: s.described(id, 'of the entity; jobs of one id never run in parallel'),
  payload: s.described(s.optional(s.anything), "any JSON; default ''"),
  score: s.described(s.optional(s.number), 'its order among the payloads of its id; default now'),
  performIn: s.described(
    s.optional(v.union([s.number, s.text, s.anyObject])),
    "earliest time: seconds from now, '5m', { minutes: 5 }; from 1e9 on seconds since 1970",
  ),
  performAt: s.described(s.optional(id), 'earliest time: ISO 8601, or seconds since 1970'),
  wake: s.described(s.optional(s.boolean), 'moves an id that is scheduled for later forward to this time'),
})
export const OrderedItems = v.union([OrderedItem, s.list(OrderedItem)])
export const OrderedPushed = s.object({ pushed: s.described(s.count, 'number of jobs stored') })
export const OrderedReshard = s.object({ shards: s.must(s.positive, 'a whole number above 0') })
