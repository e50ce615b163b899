import { measureProcess, share } from '../core/scenarios.js'

const SLOTS = [1, 10, 200]

export default {
  name: 'concurrency',
  order: 3,
  title: 'Concurrency',
  text: 'One worker process with 1, 10 and 200 slots runs jobs that do nothing. The section “Process” has 50 slots. While jobs end quickly, Highkiq fetches up to 150 jobs ahead of its slots. BullMQ and bee-queue fetch a job for each free slot.',
  workloads: SLOTS.map((concurrency) => ({
    name: `concurrency.${concurrency}`,
    title: concurrency === 1 ? '1 slot' : `${concurrency} slots`,
    needs: ['process'],
    manyJobs: concurrency > 1 && 'fast peers',
    measure: (bench) => measureProcess(bench, { ...share(bench, concurrency === 1 ? 0.3 : 1), concurrency }),
  })),
  plots: [
    {
      figure: 'rate',
      x: 'slots',
      points: [1, 10, 50, 200].map((x) => [x, x === 50 ? 'process.noop' : `concurrency.${x}`]),
    },
  ],
}
