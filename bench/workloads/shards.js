import { measureProcess } from '../core/scenarios.js'

const PROCESSES = 2

/**
 * Measures also `busiest`: the CPU time that the busiest server needs for each job of the whole app, in microseconds, to
 * store, fetch and settle it. It limits the rate of the app on machines with more cores.
 */
async function measureShards({ jobs, warmup, ...bench }) {
  const { store } = bench
  const before = await store.cpuOfEach()
  const all = { jobs, warmup: warmup * PROCESSES, processes: PROCESSES }
  const figures = await measureProcess(bench, all)
  const used = (await store.cpuOfEach()).map((micros, i) => micros - before[i])
  return { ...figures, busiest: Math.max(...used) / (all.jobs + all.warmup) }
}

export default {
  name: 'shards',
  order: 6.5,
  title: 'Shards',
  text: 'Two worker processes run jobs that lie on one, two or four Redis servers.',
  workloads: [1, 2, 4].map((shards) => ({
    name: `shards.${shards}`,
    title: shards === 1 ? 'one server' : `${shards} servers`,
    shards,
    named: true,
    manyJobs: 'all peers',
    for: ({ name }) => name === 'highkiq-redis',
    measure: measureShards,
  })),
}
