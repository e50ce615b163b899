// plainjob on libsql, which has the interface of better-sqlite3. A worker runs one job at a time, so there are as many
// workers as slots. It sets synchronous = NORMAL itself.
import { versionOf } from '../core/install.js'

const quiet = { debug() {}, info() {}, warn() {}, error: console.error }
const nameOf = (queue) => `queue${queue}`

async function openQueue(url) {
  const [{ better, defineQueue, defineWorker }, { default: Database }] = await Promise.all([
    import('plainjob'),
    import('libsql'),
  ])
  const queue = defineQueue({ connection: better(new Database(url)), logger: quiet })
  return { queue, defineWorker }
}

export default {
  name: 'plainjob',
  title: 'plainjob on libsql, normal',
  order: 15,
  store: 'sqlite',
  comparedTo: 'highkiq-libsql-normal',
  remark: '**plainjob** looks for jobs once a second.',
  fromNpm: true,
  version: () => versionOf('plainjob'),
  async producer({ url }) {
    const { queue: all } = await openQueue(url)
    return {
      add: async (args, { queue, delay }) => all.add(nameOf(queue), args, delay ? { delay } : undefined),
      addBulk: async (rows, { queue }) => all.addMany(nameOf(queue), rows),
      close: () => all.close(),
    }
  },
  async worker({ url, queues, concurrency }, handler) {
    const { queue: all, defineWorker } = await openQueue(url)
    const workers = Array.from({ length: queues * Math.ceil(concurrency / queues) }, (_, i) =>
      defineWorker(nameOf(i % queues), async ({ data }) => handler(JSON.parse(data)), { queue: all, logger: quiet }),
    )
    const ends = workers.map((worker) => worker.start())
    return {
      async close() {
        for (const worker of workers) worker.stop()
        await Promise.all(ends)
        all.close()
      },
    }
  },
  async queued({ url }) {
    const { queue } = await openQueue(url)
    const sum = queue.countJobs({ status: 0 }) + queue.countJobs({ status: 1 })
    queue.close()
    return sum
  },
}
