// What order costs: the same number of blank jobs, unordered and ordered; pushed, then run by a worker that starts.
import { countingRole, range } from '../core/roles.js'
import { measureOwn, measureProcess } from '../core/scenarios.js'

const SHARDS = 5
/** Items of an ordered queue that are pushed in a call. */
const CHUNK = 10_000
/** Lowkiq's own benchmark. */
const BLANK = { jobs: 100_000, warmup: 5_000 }

/** Each of these defines a job and returns what pushes some jobs. */
const WAYS = {
  unordered(hq, ran) {
    const job = hq.job('Blank', { retry: 0 }, async (_ctx, number) => ran(number))
    return (from, to) => job.performBulk(range(from, to, (i) => [i]))
  },
  one: ordered(1),
  fifty: ordered(50),
  piled: ordered(50, (n) => Math.floor(n / 100)),
}

function ordered(batchSize, idOf = (n) => n) {
  return (hq, ran) => {
    const queue = hq.ordered('Blank', { shards: SHARDS, batchSize }, async (_ctx, batch) => {
      for (const payloads of batch.values()) payloads.forEach(ran)
    })
    return async (from, to) => {
      for (let n = from; n < to; n += CHUNK) {
        await queue.performAsync(range(n, Math.min(to, n + CHUNK), (i) => ({ id: idOf(i), payload: i, score: i })))
      }
    }
  }
}

const roleOf = (define) =>
  countingRole((hq, ran, { concurrency }) => {
    const push = define(hq, ran)
    return (from, to) => async (ended) => {
      await push(from, to)
      const worker = hq.worker({ concurrency, orderedConcurrency: SHARDS })
      await worker.start()
      await ended
      await worker.stop()
    }
  })

export const roles = Object.fromEntries(Object.entries(WAYS).map(([way, define]) => [way, roleOf(define)]))

const TITLES = {
  unordered: 'unordered, 50 slots',
  one: 'ordered, batches of 1',
  fifty: 'ordered, batches of 50',
  piled: 'ordered, 100 payloads an id',
}

export default {
  name: 'ordered',
  order: 10,
  title: 'Ordered queues',
  text: 'One process pushes jobs into an ordered queue of 5 shards, then runs them. Seconds count both.',
  workloads: [
    ...Object.keys(WAYS).map((way) => ({
      name: `ordered.${way}`,
      title: TITLES[way],
      manyJobs: 'fast peers',
      needs: ['app'],
      measure: ({ jobs, warmup, ...bench }) =>
        measureOwn(bench, `ordered:${way}`, { jobs, warmup: Math.floor(warmup / 2) }),
    })),
    {
      name: 'ordered.blank',
      title: '100,000 blank jobs, 5 threads, as in Lowkiq’s benchmark',
      for: (peer) => peer.app || ['lowkiq', 'sidekiq'].includes(peer.name),
      measure: (bench) =>
        bench.peer.app
          ? measureOwn(bench, 'ordered:one', BLANK)
          : measureProcess(bench, { ...BLANK, concurrency: SHARDS }),
    },
  ],
}
