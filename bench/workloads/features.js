// What a feature costs: the same jobs, pushed in bulk and then run by one process, with each feature and without.
import { argsOf, countingRole, range } from '../core/roles.js'
import { measureOwn } from '../core/scenarios.js'

const ALL = {
  off: { title: 'plain jobs' },
  events: { title: 'events are recorded', app: { events: { keep: 100_000 } } },
  keepFinished: { title: 'finished jobs are kept', job: { keepFinished: { for: '1h', max: 10_000 } } },
  unique: { title: 'unique jobs', job: { unique: { for: 'pending' } } },
  limit: { title: 'a limit with room for all', job: { limit: { concurrency: 1000 } } },
  priority: { title: 'jobs with a priority', job: { priority: 5 } },
}

export const roles = {
  run: countingRole((hq, ran, { concurrency, payload, job: options }) => {
    const job = hq.job('Noop', { retry: 0, ...options }, async (_ctx, number) => ran(number))
    return (from, to) => {
      const rows = range(from, to, (i) => argsOf(i, payload))
      return async (ended) => {
        await job.performBulk(rows)
        const worker = hq.worker({ concurrency })
        await worker.start()
        await ended
        await worker.stop()
      }
    }
  }),
}

export default {
  name: 'features',
  order: 13,
  title: 'Features',
  text: 'One process pushes jobs in bulk, then runs them.',
  base: 'features.off',
  workloads: Object.entries(ALL).map(([name, { title, ...options }]) => ({
    name: `features.${name}`,
    title,
    manyJobs: 'fast peers',
    needs: ['app'],
    named: true,
    measure: ({ jobs, warmup, ...bench }) => measureOwn(bench, 'features:run', { jobs, warmup, ...options }),
  })),
}
