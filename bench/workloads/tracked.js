// What tracking costs: the same jobs, added and run in one process, as jobs and as rows of a task.
import { argsOf, countingRole, range } from '../core/roles.js'
import { measureOwn } from '../core/scenarios.js'

const WAYS = {
  async untracked({ job }, rows, ended) {
    await job.performBulk(rows)
    await ended
  },
  async tracked({ hq, job }, rows) {
    const task = await hq.tasks.create(job, rows)
    await task.wait({ every: 5 })
  },
}

const roleOf = (run) =>
  countingRole((hq, ran, { concurrency, payload }) => {
    const job = hq.job('Noop', { retry: 0 }, async (_ctx, number) => ran(number))
    const started = hq.worker({ concurrency }).start()
    return (from, to) => {
      const rows = range(from, to, (i) => argsOf(i, payload))
      return async (ended) => {
        await started
        await run({ hq, job }, rows, ended)
      }
    }
  })

export const roles = Object.fromEntries(Object.entries(WAYS).map(([way, run]) => [way, roleOf(run)]))

const TITLES = { untracked: 'as jobs, performBulk', tracked: 'as rows of a task, tasks.create' }

export default {
  name: 'tracked',
  order: 9,
  title: 'Tracked tasks',
  text: 'One process adds jobs and runs them. Seconds count from the first call to the end of the last job.',
  workloads: Object.keys(WAYS).map((way) => ({
    name: `tracked.${way}`,
    title: TITLES[way],
    manyJobs: 'fast peers',
    needs: ['app'],
    measure: ({ jobs, warmup, ...bench }) => measureOwn(bench, `tracked:${way}`, { jobs, warmup }),
  })),
}
