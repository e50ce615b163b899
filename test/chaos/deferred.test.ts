import { deferredStorm } from './deferred-storm.ts'
import { stormSuite } from './seeds.ts'

stormSuite({
  name: 'deferred rows',
  title: 'each deferred row ends once, by an answer or its deadline, while processes are killed and clocks are set',
  program: 'deferred-worker.js',
  run: deferredStorm,
})
