import { batchStorm } from './batch-storm.ts'
import { stormSuite } from './seeds.ts'

stormSuite({
  name: 'batches',
  title:
    'no batch or flow is stuck, also when it is cancelled, and each callback is pushed once, while processes are killed and clocks are set',
  program: 'batch-worker.js',
  run: batchStorm,
})
