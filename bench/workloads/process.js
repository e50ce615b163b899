import { measureProcess } from '../core/scenarios.js'

const processed = (name, title, of, needs = ['bulk']) => ({
  name: `process.${name}`,
  title,
  needs,
  measure: (bench) => measureProcess(bench, of(bench)),
})
const part = ({ jobs, warmup }, share) => ({ jobs: Math.round(jobs * share), warmup: Math.round(warmup * share) })

export default {
  name: 'process',
  order: 2,
  title: 'Process',
  text: 'One worker process with 50 slots runs jobs that are queued before it starts.',
  workloads: [
    processed('noop', 'a handler that does nothing', (bench) => part(bench, 1)),
    processed('sleep', 'a handler that sleeps 1 ms', (bench) => ({ ...part(bench, 0.5), handler: 'sleep' })),
    processed('cpu', 'a handler that computes 1 ms', (bench) => ({ ...part(bench, 0.05), handler: 'cpu' })),
    processed('noop-10kB', 'nothing, 10 kB of arguments', (bench) => ({ ...part(bench, 0.2), payload: 10_000 })),
  ],
}
