// Highkiq on Redis, on PostgreSQL, and on each SQLite driver that this Node has, with both durabilities.
import { isBuiltin } from 'node:module'
import { fileURLToPath } from 'node:url'
import { versionOf } from '../core/install.js'
import { postgresMissing, redisMissing } from '../core/programs.js'

const home = fileURLToPath(new URL('../..', import.meta.url))
const quiet = { debug() {}, info() {}, warn() {}, error: console.error, child: () => quiet }
const nameOf = (queue) => (queue === 0 ? 'default' : `queue${queue}`)

function highkiq(name, title, order, store, urlOf, more) {
  async function app({ url, app: options }) {
    const { Highkiq } = await import('../../dist/index.js')
    const urls = url.split(' ')
    const store = urls.length > 1 ? { shards: urls } : { url: urlOf(url) }
    return new Highkiq({ ...store, logger: quiet, ...options })
  }
  return {
    name,
    title,
    order,
    store,
    ...more,
    app,
    async producer(options) {
      const hq = await app(options)
      const job = hq.job('Noop', async () => {})
      const jobs = Array.from({ length: options.queues }, (_, queue) =>
        queue ? job.set({ queue: nameOf(queue) }) : job,
      )
      const laterOf = ({ queue, delay }) => (delay ? job.set({ wait: delay / 1000 }) : jobs[queue])
      return {
        add: (args, way) => laterOf(way).performAsync(...args),
        addBulk: (rows, { queue }) => jobs[queue].performBulk(rows),
        close: () => hq.close(),
      }
    },
    async worker(options, handler) {
      const hq = await app(options)
      hq.job('Noop', async (_ctx, ...args) => handler(args))
      const { concurrency, strict } = options
      // With a weight each queue is equally likely to be the first of a fetch.
      const queues = Array.from({ length: options.queues }, (_, queue) => nameOf(queue) + (strict ? '' : ',1'))
      await hq.worker({ concurrency, queues }).start()
      return { close: () => hq.close() }
    },
    async queued({ url }) {
      const hq = await app({ url })
      const { enqueued, busy, backlog, scheduled, retries, dead, ordered } = await hq.stats()
      await hq.close()
      const { length, morgueLength } = ordered.total
      return enqueued + busy + backlog + scheduled + retries + dead + length + morgueLength
    },
  }
}

const version = () => versionOf('libsql', home)
const libsql = {
  isFast: true,
  version: () => `libsql ${version()}`,
  unavailable: () => (version() ? undefined : 'the package libsql is not installed'),
}
const builtin = {
  isFast: true,
  version: () => `node:sqlite of Node ${process.versions.node}`,
  unavailable: () => (isBuiltin('node:sqlite') ? undefined : 'this Node has no node:sqlite (22.13 and newer have)'),
}
const sqlite = (driver, synchronous) => (path) => `sqlite:${path}?driver=${driver}&synchronous=${synchronous}`

export default [
  highkiq('highkiq-redis', 'Highkiq on Redis', 1, 'redis', (url) => url, {
    isFast: true,
    unavailable: redisMissing,
    version: () => `ioredis ${versionOf('ioredis', home)}`,
  }),
  highkiq('highkiq-postgres', 'Highkiq on PostgreSQL', 31, 'postgres', (url) => url, {
    version: () => `pg ${versionOf('pg', home)}`,
    unavailable: postgresMissing,
  }),
  highkiq('highkiq-libsql', 'Highkiq on libsql', 11, 'sqlite', sqlite('libsql', 'full'), libsql),
  highkiq('highkiq-libsql-normal', 'Highkiq on libsql, normal', 12, 'sqlite', sqlite('libsql', 'normal'), libsql),
  highkiq('highkiq-node', 'Highkiq on node:sqlite', 13, 'sqlite', sqlite('node', 'full'), builtin),
  highkiq('highkiq-node-normal', 'Highkiq on node:sqlite, normal', 14, 'sqlite', sqlite('node', 'normal'), builtin),
]
