// As its documentation says: one worker, its concurrency, and finished jobs removed; all else as it comes.
import { createRequire } from 'node:module'

const { Queue, Worker } = createRequire(new URL('../../peers/', import.meta.url))('bullmq')
const NAME = 'default'

function connection(url) {
  const { hostname: host, port } = new URL(url)
  return { host, port: Number(port), maxRetriesPerRequest: null }
}

export function producer(url) {
  const queue = new Queue(NAME, {
    connection: connection(url),
    defaultJobOptions: { removeOnComplete: true },
  })
  return {
    add: (args) => queue.add('Noop', args),
    addBulk: (rows) => queue.addBulk(rows.map((data) => ({ name: 'Noop', data }))),
    close: () => queue.close(),
  }
}

export async function worker(url, concurrency, handler) {
  const all = new Worker(NAME, async (job) => handler(job.data), { connection: connection(url), concurrency })
  all.on('error', console.error)
  await all.waitUntilReady()
  return { close: () => all.close() }
}
