import { measureProcess } from '../core/scenarios.js'

const SLOTS = [1, 10, 200]

export default {
  name: 'concurrency',
  order: 3,
  title: 'Concurrency',
  text: 'One worker process with 1, 10 and 200 slots; 50 slots are the no-op jobs above.',
  workloads: SLOTS.map((concurrency) => ({
    name: `concurrency.${concurrency}`,
    title: `${concurrency} slots`,
    needs: ['bulk'],
    measure: ({ jobs, warmup, ...bench }) =>
      measureProcess(
        bench,
        concurrency > 1 ? { jobs, warmup, concurrency } : { jobs: jobs / 3, warmup: warmup / 2, concurrency },
      ),
  })),
  plots: [
    {
      name: 'concurrency',
      title: 'No-op jobs by concurrency',
      figure: 'rate',
      x: 'slots',
      points: [1, 10, 50, 200].map((x) => [x, x === 50 ? 'process.noop' : `concurrency.${x}`]),
    },
  ],
}
