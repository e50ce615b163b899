// pg-boss 10, the last version that runs on Node 20. Its `work` asks twice a second at most, so under load its own `fetch`
// and `complete` are called in two loops for each queue, or in one with fewer than two slots for each. The loops share the
// slots. An idle loop asks twice a second, as `work` does.
import { setTimeout as sleep } from 'node:timers/promises'
import { versionOf } from '../core/install.js'
import { postgresMissing } from '../core/programs.js'

const POLL_MS = 500
const nameOf = (queue) => `queue${queue}`

async function openBoss({ url, queues = 1 }) {
  const { default: PgBoss } = await import('pg-boss')
  const boss = new PgBoss({ connectionString: url, schedule: false, supervise: false, max: 10 })
  boss.on('error', console.error)
  await boss.start()
  for (let queue = 0; queue < queues; queue++) await boss.createQueue(nameOf(queue))
  return boss
}

const close = (boss) => boss.stop({ graceful: false, wait: true })

export default {
  name: 'pg-boss',
  title: 'pg-boss',
  order: 32,
  store: 'postgres',
  // It is slow, so a measurement has a tenth of the jobs.
  part: 0.1,
  lacks: ['depth'],
  comparedTo: 'highkiq-postgres',
  remark:
    '**pg-boss** runs a tenth of the jobs, and not the deep queues. It is driven by its `fetch` and `complete`, because its `work` polls at most twice a second. Its maintenance is off. It has 10 connections, Highkiq 5. This is the last version for Node 20.',
  fromNpm: true,
  unavailable: postgresMissing,
  version: () => versionOf('pg-boss'),
  async producer(options) {
    const boss = await openBoss(options)
    return {
      add: (args, { queue, delay }) =>
        boss.send(nameOf(queue), { args }, delay ? { startAfter: new Date(Date.now() + delay) } : {}),
      addBulk: (rows, { queue }) => boss.insert(rows.map((args) => ({ name: nameOf(queue), data: { args } }))),
      close: () => close(boss),
    }
  },
  async worker(options, handler) {
    const boss = await openBoss(options)
    const { concurrency, queues } = options
    const loopsPerQueue = concurrency < 2 * queues ? 1 : 2
    const batchSize = Math.max(1, Math.floor(concurrency / (loopsPerQueue * queues)))
    let stopped = false
    async function loop(name) {
      while (!stopped) {
        const jobs = await boss.fetch(name, { batchSize })
        if (jobs.length === 0) {
          await sleep(POLL_MS)
          continue
        }
        await Promise.all(jobs.map(({ data }) => handler(data.args)))
        const ids = jobs.map(({ id }) => id)
        await boss.complete(name, ids)
      }
    }
    const names = Array.from({ length: queues }, (_, queue) => nameOf(queue))
    const loops = names.flatMap((name) => Array.from({ length: loopsPerQueue }, () => loop(name)))
    return {
      async close() {
        stopped = true
        await Promise.all(loops)
        await close(boss)
      },
    }
  },
  async queued(options) {
    const boss = await openBoss(options)
    let sum = 0
    for (let queue = 0; queue < (options.queues ?? 1); queue++) sum += await boss.getQueueSize(nameOf(queue))
    await close(boss)
    return sum
  },
}
