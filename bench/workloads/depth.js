// Whether a job costs the same with a thousand jobs queued and with millions.

import { Effects } from '../core/effects.js'
import { argsOf, cpuMicros, megabytes, now } from '../core/roles.js'
import { measureDepth } from '../core/scenarios.js'

const DEPTHS = [3, 4, 5, 6, 7]
const TICK_MS = 10

export const roles = {
  /** Runs jobs and adds as many, so that the queue stays as deep as it is. */
  async refill(peer, options, { say, go, stop }) {
    const { depth, jobs, warmup, payload, total } = options
    const chunk = Math.min(500, depth / 2)
    const effects = new Effects(total)
    const producer = await peer.producer(options)
    const adding = []
    let added = depth
    let done = 0
    let from
    let to
    const mark = () => ({ at: now(), cpu: cpuMicros() })
    say({ ready: true })
    await go
    const worker = await peer.worker(options, ([number]) => {
      effects.ran(number)
      done++
      if (done === warmup) from = mark()
      else if (done === warmup + jobs) to = mark()
      if (done % chunk > 0 || added + chunk > total) return
      const rows = Array.from({ length: chunk }, (_, i) => argsOf(added + i, payload))
      added += chunk
      adding.push(producer.addBulk(rows, { queue: 0 }))
    })
    const timer = setInterval(() => say({ done: Math.min(done, warmup + jobs) }), TICK_MS)
    await stop
    clearInterval(timer)
    await worker.close()
    await Promise.all(adding)
    await producer.close()
    const seconds = (to.at - from.at) / 1000
    return { effects, added, seconds, cpu: to.cpu - from.cpu, memory: megabytes() }
  },
}

export default {
  name: 'depth',
  order: 6,
  title: 'Queued jobs',
  text: 'One process runs jobs that do nothing and adds one for each, so the queue keeps its depth. The cost is that of adding and running a job.',
  workloads: DEPTHS.map((power) => ({
    name: `depth.1e${power}`,
    title: `${(10 ** power).toLocaleString('en')} queued`,
    manyJobs: 'fast peers',
    needs: ['process', 'depth'],
    // The others need a minute to add a million jobs.
    for: (peer) => power < 6 || peer.app || peer.isRaw,
    deep: power > 6,
    rounds: power > 5 ? 1 : undefined,
    measure: ({ jobs, warmup, ...bench }) => measureDepth(bench, { jobs, warmup, depth: 10 ** power }),
  })),
  plots: [
    {
      figure: 'cost',
      x: 'queued jobs',
      points: DEPTHS.map((power) => [10 ** power, `depth.1e${power}`]),
    },
  ],
}
