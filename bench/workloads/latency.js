import { measureCalibrated, measureLatency } from '../core/scenarios.js'

export const IDLE = { warmup: 100, jobs: 500, perSecond: 200 }
const DUE = 200

export default {
  name: 'latency',
  order: 7,
  title: 'Latency',
  text: 'From the call that adds a job to the start of its handler, in another process with 10 slots. Half load is half the rate that this queue reaches when one process adds and one works, so the rates differ.',
  workloads: [
    {
      name: 'latency.idle',
      title: 'idle, a job each 5 ms',
      needs: ['latency'],
      measure: (bench) => measureLatency(bench, IDLE),
    },
    {
      name: 'latency.half',
      title: 'at half load',
      needs: ['latency', 'waves'],
      isOwnRate: true,
      measure: (bench) => measureCalibrated(bench, { jobs: Math.floor(bench.jobs / 2), share: 0.5 }),
    },
    {
      name: 'latency.due',
      title: 'delayed jobs: how late they start',
      needs: ['delays'],
      measure: (bench) =>
        measureLatency(bench, {
          jobs: DUE,
          perSecond: 1000,
          delays: Array.from({ length: DUE }, (_, i) => 1000 + i * 10),
        }),
    },
  ],
}
