// bee-queue with what its documentation advises for speed: no events, jobs neither kept nor stored by the producer.
import { versionOf } from '../core/install.js'
import { redisMissing } from '../core/programs.js'

const nameOf = (queue) => `queue${queue}`

async function openQueues({ url, queues }, options) {
  const { default: Queue } = await import('bee-queue')
  const { hostname: host, port } = new URL(url)
  const all = Array.from(
    { length: queues },
    (_, queue) => new Queue(nameOf(queue), { redis: { host, port: Number(port) }, ...options }),
  )
  await Promise.all(all.map((queue) => queue.ready()))
  return { all, close: () => Promise.all(all.map((queue) => queue.close())) }
}

export default {
  name: 'bee-queue',
  title: 'bee-queue',
  order: 3,
  store: 'redis',
  unavailable: redisMissing,
  fromNpm: true,
  version: () => versionOf('bee-queue'),
  async producer(options) {
    const { all, close } = await openQueues(options, {
      isWorker: false,
      getEvents: false,
      sendEvents: false,
      storeJobs: false,
    })
    return {
      add(args, { queue, delay }) {
        const job = all[queue].createJob(args)
        if (delay) job.delayUntil(Date.now() + delay)
        return job.save()
      },
      async addBulk(rows, { queue }) {
        const errors = await all[queue].saveAll(rows.map((args) => all[queue].createJob(args)))
        if (errors.size > 0) throw errors.values().next().value
      },
      close,
    }
  },
  async worker(options, handler) {
    const { all, close } = await openQueues(options, {
      getEvents: false,
      sendEvents: false,
      storeJobs: false,
      removeOnSuccess: true,
      activateDelayedJobs: true,
    })
    for (const queue of all) {
      queue.on('error', console.error)
      queue.process(Math.ceil(options.concurrency / options.queues), async (job) => handler(job.data))
    }
    return { close }
  },
  async queued({ admin }, { queues }) {
    let sum = 0
    for (let queue = 0; queue < queues; queue++) {
      const key = `bq:${nameOf(queue)}`
      sum += (await admin.llen(`${key}:waiting`)) + (await admin.llen(`${key}:active`))
      sum += (await admin.zcard(`${key}:delayed`)) + (await admin.scard(`${key}:failed`))
    }
    return sum
  },
}
