// What order costs: the same number of blank jobs, unordered and ordered; pushed, then run by a worker that starts.
import { Effects } from '../core/effects.js'
import { cpuMicros, megabytes, now } from '../core/roles.js'
import { measureOwn, measureProcess } from '../core/scenarios.js'

const SHARDS = 5
/** Items of an ordered queue that are pushed in a call. */
const CHUNK = 10_000
/** Lowkiq's own benchmark. */
const BLANK = { jobs: 100_000, warmup: 5_000 }

const items = (from, to, of) => Array.from({ length: to - from }, (_, i) => of(from + i))

function ordered(batchSize, idOf = (n) => n) {
  return (hq, ran) => {
    const queue = hq.ordered('Blank', { shards: SHARDS, batchSize }, async (_ctx, batch) => {
      for (const payloads of batch.values()) payloads.forEach(ran)
    })
    return async (from, to) => {
      for (let n = from; n < to; n += CHUNK) {
        await queue.performAsync(items(n, Math.min(to, n + CHUNK), (i) => ({ id: idOf(i), payload: i, score: i })))
      }
    }
  }
}

const WAYS = {
  unordered(hq, ran) {
    const job = hq.job('Blank', { retry: 0 }, async (_ctx, number) => ran(number))
    return (from, to) => job.performBulk(items(from, to, (i) => [i]))
  },
  one: ordered(1),
  fifty: ordered(50),
  piled: ordered(50, (n) => Math.floor(n / 100)),
}

export const roles = Object.fromEntries(
  Object.entries(WAYS).map(([way, define]) => [
    way,
    async (peer, options, { say, go }) => {
      const hq = await peer.app(options)
      const effects = new Effects(options.total)
      let done = 0
      let wanted
      let resolve
      const push = define(hq, (number) => {
        effects.ran(number)
        if (++done === wanted) resolve()
      })
      say({ ready: true })
      await go
      async function part(from, to) {
        wanted = to
        const ended = new Promise((reached) => {
          resolve = reached
        })
        const before = { at: now(), cpu: cpuMicros() }
        await push(from, to)
        const worker = hq.worker({ concurrency: options.concurrency, orderedConcurrency: SHARDS })
        await worker.start()
        await ended
        await worker.stop()
        return { seconds: (now() - before.at) / 1000, cpu: cpuMicros() - before.cpu }
      }
      if (options.warmup > 0) await part(0, options.warmup)
      const figures = await part(options.warmup, options.total)
      await hq.close()
      return { ...figures, effects, memory: megabytes() }
    },
  ]),
)

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
