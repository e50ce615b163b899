import { priorityStorm } from './priority-storm.ts'
import { stormSuite } from './seeds.ts'

stormSuite({
  name: 'priorities',
  title: 'each fetch has the highest priority first, and all jobs run, while processes are killed and clocks are set',
  program: 'priority-worker.js',
  isShort: true,
  needsOrder: true,
  run: priorityStorm,
})
