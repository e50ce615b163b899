// What tracking costs: the same jobs, added and run in one process, as jobs and as rows of a task.
import { Effects } from '../core/effects.js'
import { argsOf, cpuMicros, megabytes, now } from '../core/roles.js'
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

export const roles = Object.fromEntries(
  Object.entries(WAYS).map(([way, run]) => [
    way,
    async (peer, options, { say, go }) => {
      const hq = await peer.app(options)
      const effects = new Effects(options.total)
      let done = 0
      let wanted
      let resolve
      const job = hq.job('Noop', { retry: 0 }, async (_ctx, number) => {
        effects.ran(number)
        if (++done === wanted) resolve()
      })
      say({ ready: true })
      await go
      await hq.worker({ concurrency: options.concurrency }).start()
      async function part(from, to) {
        wanted = to
        const ended = new Promise((reached) => {
          resolve = reached
        })
        const rows = Array.from({ length: to - from }, (_, i) => argsOf(from + i, options.payload))
        const before = { at: now(), cpu: cpuMicros() }
        await run({ hq, job }, rows, ended)
        return { seconds: (now() - before.at) / 1000, cpu: cpuMicros() - before.cpu }
      }
      await part(0, options.warmup)
      const figures = await part(options.warmup, options.total)
      await hq.close()
      return { ...figures, effects, memory: megabytes() }
    },
  ]),
)

const TITLES = { untracked: 'as jobs, performBulk', tracked: 'as rows of a task, tasks.create' }

export default {
  name: 'tracked',
  order: 9,
  title: 'Tracked tasks',
  text: 'One process adds jobs and runs them. Seconds count from the first call to the end of the last job.',
  workloads: Object.keys(WAYS).map((way) => ({
    name: `tracked.${way}`,
    title: TITLES[way],
    needs: ['app'],
    measure: ({ jobs, warmup, ...bench }) => measureOwn(bench, `tracked:${way}`, { jobs, warmup }),
  })),
}
