import { stormSuite } from './seeds.ts'
import { uniqueStorm } from './unique-storm.ts'

stormSuite({
  name: 'unique jobs',
  title: 'no lock outlives its job, and no two jobs have one lock, while processes are killed and clocks are set',
  program: 'unique-worker.js',
  run: uniqueStorm,
})
