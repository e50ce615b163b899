import { measureEnqueue } from '../core/scenarios.js'

const enqueue = (way, title, needs, more) => ({
  name: `enqueue.${way}${more?.payload ? '-10kB' : ''}`,
  title,
  needs,
  measure: (bench) =>
    measureEnqueue(bench, { way, jobs: bench.jobs, warmup: bench.warmup, ...more?.of(bench), ...more }),
})
const large = { payload: 10_000, of: ({ jobs, warmup }) => ({ jobs: jobs / 10, warmup: warmup / 10 }) }

export default {
  name: 'enqueue',
  order: 1,
  title: 'Enqueue',
  text: 'One process adds jobs with 100 bytes of arguments. Afterwards a worker runs them all, so that the effects are counted.',
  workloads: [
    enqueue('single', 'one after the other', [], { of: ({ jobs }) => ({ jobs: jobs / 5 }) }),
    enqueue('waves', 'waves of 1,000 at once', ['waves']),
    enqueue('bulk', '1,000 in a call', ['bulk']),
    enqueue('bulk', '1,000 in a call, 10 kB each', ['bulk'], large),
  ],
}
