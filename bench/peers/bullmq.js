// BullMQ as its documentation says: a Worker for each queue, and finished jobs removed; all else as it comes.
import { versionOf } from '../core/install.js'
import { redisMissing } from '../core/programs.js'

const nameOf = (queue) => `queue${queue}`

function connectionOf(url) {
  const { hostname: host, port } = new URL(url)
  return { host, port: Number(port), maxRetriesPerRequest: null }
}

export default {
  name: 'bullmq',
  title: 'BullMQ',
  order: 2,
  store: 'redis',
  unavailable: redisMissing,
  fromNpm: true,
  version: () => versionOf('bullmq'),
  async producer({ url, queues }) {
    const { Queue } = await import('bullmq')
    const options = { connection: connectionOf(url), defaultJobOptions: { removeOnComplete: true } }
    const all = Array.from({ length: queues }, (_, queue) => new Queue(nameOf(queue), options))
    return {
      add: (args, { queue, delay }) => all[queue].add('Noop', args, delay ? { delay } : undefined),
      addBulk: (rows, { queue }) => all[queue].addBulk(rows.map((data) => ({ name: 'Noop', data }))),
      close: () => Promise.all(all.map((queue) => queue.close())),
    }
  },
  async worker({ url, queues, concurrency }, handler) {
    const { Worker } = await import('bullmq')
    const options = { connection: connectionOf(url), concurrency: Math.ceil(concurrency / queues) }
    const all = Array.from(
      { length: queues },
      (_, queue) => new Worker(nameOf(queue), async (job) => handler(job.data), options),
    )
    for (const worker of all) worker.on('error', console.error)
    await Promise.all(all.map((worker) => worker.waitUntilReady()))
    return { close: () => Promise.all(all.map((worker) => worker.close())) }
  },
  async queued({ admin }, { queues }) {
    let sum = 0
    for (let queue = 0; queue < queues; queue++) {
      const key = `bull:${nameOf(queue)}`
      sum += (await admin.llen(`${key}:wait`)) + (await admin.llen(`${key}:active`))
      sum += (await admin.zcard(`${key}:delayed`)) + (await admin.zcard(`${key}:failed`))
    }
    return sum
  },
}
