import { measureProcess } from '../core/scenarios.js'

const QUEUES = [10, 50]

export default {
  name: 'queues',
  order: 4,
  title: 'Queues',
  text: 'One worker process with 50 slots runs jobs of many queues. BullMQ and bee-queue divide the slots among one worker a queue.',
  workloads: QUEUES.map((queues) => ({
    name: `queues.${queues}`,
    title: `${queues} queues`,
    needs: ['process', 'queues'],
    measure: (bench) => measureProcess(bench, { jobs: bench.jobs, warmup: bench.warmup, queues }),
  })),
  plots: [
    {
      figure: 'cost',
      x: 'queues',
      points: [1, ...QUEUES].map((x) => [x, x === 1 ? 'process.noop' : `queues.${x}`]),
    },
  ],
}
