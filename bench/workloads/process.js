import { measureProcess, share } from '../core/scenarios.js'

const processed = (name, title, part, options) => ({
  name: `process.${name}`,
  title,
  needs: ['process'],
  measure: (bench) => measureProcess(bench, { ...share(bench, part), ...options }),
})

export default {
  name: 'process',
  order: 2,
  title: 'Process',
  text: 'One worker process with 50 slots runs jobs that are queued before it starts.',
  workloads: [
    { ...processed('noop', 'a handler that does nothing', 1), manyJobs: 'fast peers' },
    processed('sleep', 'a handler that sleeps 1 ms', 0.5, { handler: 'sleep' }),
    processed('cpu', 'a handler that computes 1 ms', 0.05, { handler: 'cpu' }),
    processed('noop-10kB', 'nothing, 10 kB of arguments', 0.2, { payload: 10_000 }),
  ],
}
