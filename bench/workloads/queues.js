import { measureProcess } from '../core/scenarios.js'

const QUEUES = [10, 50]

function queuesOf(queues, more = {}) {
  return {
    name: `queues.${queues}${more.strict ? '-strict' : ''}`,
    title: `${queues} queues${more.strict ? ' in strict order' : ''}`,
    manyJobs: 'fast peers',
    needs: ['process', more.strict ? 'app' : 'queues'],
    measure: (bench) => measureProcess(bench, { jobs: bench.jobs, warmup: bench.warmup, queues, ...more }),
  }
}

export default {
  name: 'queues',
  order: 4,
  title: 'Queues',
  text: 'One worker process with 50 slots runs jobs of many queues. BullMQ and bee-queue divide the slots among one worker a queue; a worker of Highkiq fetches from all of them, with equal weights or in strict order. In strict order it fetches nothing ahead, so each call carries fewer jobs.',
  workloads: [...QUEUES.map((queues) => queuesOf(queues)), queuesOf(50, { strict: true })],
  plots: [
    {
      figure: 'cost',
      x: 'queues',
      points: [1, ...QUEUES].map((x) => [x, x === 1 ? 'process.noop' : `queues.${x}`]),
    },
  ],
}
