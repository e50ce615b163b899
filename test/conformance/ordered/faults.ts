import type { OrderedSettleAndFetch, OrderedSettleAndFetchAnswer, Store } from '#dist/store/contract.js'
import type { Fault } from '../fault.ts'
import { orderedCrash } from './crash.ts'
import { orderedFetch } from './fetch.ts'
import { orderedLife } from './life.ts'
import { orderedOwners } from './owners.ts'
import { orderedPush } from './push.ts'
import { orderedSettle } from './settle.ts'

const LIFE = 'any interleaving of three owners, their deaths and actions from outside ends like the model (property)'

/** Faults in ordered queues. */
export const orderedFaults: Fault[] = [
  {
    name: 'settlements are not fenced: any owner can settle an id in flight',
    wrap: (store) => ({
      ordered: {
        async settleAndFetch(queue, owner, turn) {
          const answer = await store.ordered.settleAndFetch(queue, owner, turn)
          for (const [i, one] of turn.settlements.entries()) {
            if (answer.settled[i] !== 'fenced') continue
            const now = (await store.ordered.inFlight(queue)).find(({ id }) => id === one.id)
            if (!now) continue
            const settlements = [{ ...one, ticket: now.ticket, shard: now.shard, token: now.token }]
            const { settled } = await store.ordered.settleAndFetch(queue, now.owner, {
              ...turn,
              settlements,
              fetch: [],
            })
            answer.settled[i] = settled[0] ?? 'fenced'
          }
          return answer
        },
      },
    }),
    cases: [...orderedSettle, ...orderedOwners, ...orderedLife],
    seen: [
      '[17] an old settlement does not change a later fetch of the same id',
      '[35] a replaced owner changes nothing with any settlement',
      LIFE,
    ],
  },
  {
    name: 'the first score stays',
    wrap: (store) => ({
      ordered: {
        async push(queue, shards, items, now) {
          const seen = new Map<string, number>()
          const first: (typeof items)[number][] = []
          for (const one of items) {
            const { waiting } = await store.ordered.find(queue, one.id)
            const key = JSON.stringify([one.id, one.payload])
            const had = seen.get(key) ?? waiting?.payloads.find(([text]) => text === one.payload)?.[1]
            seen.set(key, had ?? one.score)
            first.push({ ...one, score: had ?? one.score })
          }
          return store.ordered.push(queue, shards, first, now)
        },
      },
    }),
    cases: [...orderedPush, ...orderedLife],
    seen: ['[3] of two scores of a payload the smaller one stays, in any order', LIFE],
  },
  {
    name: 'a failed id is removed and stored again in two steps',
    wrap(store) {
      let number = 0
      return {
        ordered: {
          async settleAndFetch(queue, owner, turn) {
            const isHalf = turn.settlements.map(
              ({ end }) => end.kind !== 'done' && end.kind !== 'cancelled' && ++number % 3 === 0,
            )
            const settlements = turn.settlements.map((one, i) =>
              isHalf[i] ? { ...one, end: { kind: 'cancelled' } as const } : one,
            )
            const answer = await store.ordered.settleAndFetch(queue, owner, { ...turn, settlements })
            const settled = answer.settled.map((one, i) => (isHalf[i] && one === 'ok' ? ('error' as const) : one))
            return { ...answer, settled }
          },
        },
      }
    },
    cases: orderedLife,
    seen: [LIFE],
  },
  {
    name: 'a settlement counts although it is fenced',
    wrap: (store) => ({
      ordered: {
        async settleAndFetch(queue, owner, turn) {
          const answer = await store.ordered.settleAndFetch(queue, owner, turn)
          return { ...answer, settled: answer.settled.map(() => 'ok' as const) }
        },
      },
    }),
    cases: [...orderedSettle, ...orderedLife],
    seen: ['[16] a repeated settlement of each kind changes nothing', LIFE],
  },
  {
    name: 'an id in flight is fetched again after a push for it',
    wrap(store) {
      /** What waits behind an id in flight is handed out under a ticket of its own. */
      const more = async (queue: string, turn: OrderedSettleAndFetch, answer: OrderedSettleAndFetchAnswer) => {
        const inFlight = new Set((await store.ordered.inFlight(queue)).map(({ id }) => id))
        const waiting = await store.ordered.waiting(queue, 'id', { limit: 100, payloads: 1000 })
        const taken = answer.fetched.map((one, i) => {
          const shard = turn.fetch[i]?.shard
          const again = waiting.filter((other) => inFlight.has(other.id) && other.shard === shard && !one.lost)
          const ids = again.map(({ shard: _, size: __, ...other }) => {
            return { ...other, ticket: `again ${other.id}`, crashes: 0, suspect: false }
          })
          return turn.fetch[i]?.n ? { ...one, ids: [...one.ids, ...ids] } : one
        })
        return { ...answer, fetched: taken }
      }
      return {
        ordered: {
          settleAndFetch: async (queue, owner, turn) =>
            more(queue, turn, await store.ordered.settleAndFetch(queue, owner, turn)),
        },
      }
    },
    cases: [...orderedFetch, ...orderedLife],
    seen: ['[18] a push for an id in flight waits as a fresh id until that is settled', LIFE],
  },
  {
    name: 'a crash is not counted',
    wrap: (store: Store) => ({
      ordered: {
        acquireShard: (queue, shard, owner, _most, now) => store.ordered.acquireShard(queue, shard, owner, 1000, now),
      },
    }),
    cases: [...orderedCrash],
    seen: ['[32] an id that was alone in flight at three crashes in a row goes to the morgue'],
  },
]
