import { measureProcess } from '../core/scenarios.js'

const QUEUES = [10, 50]

export default {
  name: 'queues',
  order: 4,
  title: 'Queues',
  text: 'One worker process with 50 slots for all queues; BullMQ and bee-queue divide the slots among one worker a queue.',
  workloads: QUEUES.map((queues) => ({
    name: `queues.${queues}`,
    title: `${queues} queues`,
    needs: ['bulk', 'queues'],
    measure: ({ jobs, warmup, ...bench }) => measureProcess(bench, { jobs, warmup, queues }),
  })),
  plots: ['client', 'redis'].map((figure) => ({
    name: `queues-${figure}`,
    title: `What a no-op job costs, by queues`,
    figure,
    x: 'queues',
    points: [1, 10, 50].map((x) => [x, x === 1 ? 'process.noop' : `queues.${x}`]),
  })),
}
