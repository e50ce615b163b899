import { measureIdle, measureStart } from '../core/scenarios.js'

export default {
  name: 'life',
  order: 12,
  title: 'Start and idle',
  text: 'From the start of a worker process to the start of its first job, which is queued already. Then what a worker with 10 slots and an empty queue costs in a second.',
  workloads: [
    {
      name: 'life.start',
      title: 'start to first job',
      needs: ['process'],
      measure: (bench) => measureStart(bench),
    },
    {
      name: 'life.idle',
      title: 'idle for 5 seconds',
      needs: ['process', 'idle'],
      measure: (bench) => measureIdle(bench, { seconds: 5 }),
    },
  ],
}
