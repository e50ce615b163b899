import { measureProcess } from '../core/scenarios.js'

const PROCESSES = [2, 4]

export default {
  name: 'processes',
  order: 5,
  title: 'Processes',
  text: 'Several worker processes with 50 slots each share one queue.',
  workloads: PROCESSES.map((processes) => ({
    name: `processes.${processes}`,
    title: `${processes} processes`,
    needs: ['bulk', 'processes'],
    measure: ({ jobs, warmup, ...bench }) =>
      measureProcess(bench, { jobs: jobs * 2, warmup: warmup * processes, processes }),
  })),
  plots: [
    {
      name: 'processes',
      title: 'No-op jobs by processes',
      figure: 'rate',
      x: 'processes',
      points: [1, 2, 4].map((x) => [x, x === 1 ? 'process.noop' : `processes.${x}`]),
    },
  ],
}
