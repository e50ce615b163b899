import { measureLatency } from '../core/scenarios.js'

const IDLE = { warmup: 100, jobs: 500, perSecond: 200 }

export default {
  name: 'latency',
  order: 7,
  title: 'Latency',
  text: 'From the call that adds a job to the start of its handler, in another process with 10 slots.',
  workloads: [
    {
      name: 'latency.idle',
      title: 'idle, a job each 5 ms',
      needs: ['latency'],
      measure: (bench) => measureLatency(bench, IDLE),
    },
  ],
}
