import { measureEnqueue, share } from '../core/scenarios.js'

const enqueue = (name, title, needs, part, options) => ({
  name: `enqueue.${name}`,
  title,
  needs,
  measure: (bench) => measureEnqueue(bench, { ...share(bench, part), ...options }),
})

export default {
  name: 'enqueue',
  order: 1,
  title: 'Enqueue',
  text: 'One process adds jobs with 100 bytes of arguments. Afterwards a worker runs them all, which counts the effects. Highkiq sends the pushes of a wave in one call.',
  workloads: [
    enqueue('single', 'one after the other', [], 0.2, { way: 'single' }),
    { ...enqueue('waves', 'waves of 1,000 at once', ['waves'], 1, { way: 'waves' }), manyJobs: 'all peers' },
    { ...enqueue('bulk', '1,000 in a call', [], 1, { way: 'bulk' }), manyJobs: 'all peers' },
    enqueue('bulk-10kB', '1,000 in a call, 10 kB each', [], 0.1, { way: 'bulk', payload: 10_000 }),
  ],
}
