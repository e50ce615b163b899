import { eventsStorm } from './events-storm.ts'
import { stormSuite } from './seeds.ts'

stormSuite({
  name: 'events',
  title: 'workers are killed, clocks are set and readers begin again: no event is missed, and each settlement has one',
  program: 'events-worker.js',
  run: eventsStorm,
})
