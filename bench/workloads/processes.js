import { measureProcess } from '../core/scenarios.js'

const PROCESSES = [2, 4]

export default {
  name: 'processes',
  order: 5,
  title: 'Processes',
  text: 'Several worker processes with 50 slots each run jobs of one queue. Each process warms up on its own.',
  workloads: PROCESSES.map((processes) => ({
    name: `processes.${processes}`,
    title: `${processes} processes`,
    manyJobs: 'fast peers',
    needs: ['process', 'processes'],
    measure: ({ jobs, warmup, ...bench }) => measureProcess(bench, { jobs, warmup: warmup * processes, processes }),
  })),
  plots: [
    {
      figure: 'rate',
      x: 'processes',
      points: [1, ...PROCESSES].map((x) => [x, x === 1 ? 'process.noop' : `processes.${x}`]),
    },
  ],
}
