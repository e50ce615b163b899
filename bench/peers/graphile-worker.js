// graphile-worker 0.16, the last version that runs on Node 20, with its own defaults but for the slots and connections.
import { versionOf } from '../core/install.js'
import { postgresMissing } from '../core/programs.js'

const nameOf = (queue) => `queue${queue}`
const SCHEMA = 'graphile_worker'

async function openUtils(url) {
  const { Logger, makeWorkerUtils } = await import('graphile-worker')
  const logger = new Logger(() => (level, message) => level === 'error' && console.error(message))
  const utils = await makeWorkerUtils({ connectionString: url, logger })
  await utils.migrate()
  return { utils, logger }
}

export default {
  name: 'graphile-worker',
  title: 'graphile-worker',
  order: 33,
  store: 'postgres',
  // It is slow, so a measurement has a tenth of the jobs.
  part: 0.1,
  lacks: ['depth'],
  comparedTo: 'highkiq-postgres',
  remark:
    '**graphile-worker** runs a tenth of the jobs, and not the deep queues. It has 50 connections, Highkiq 5. This is the last version for Node 20.',
  fromNpm: true,
  unavailable: postgresMissing,
  version: () => versionOf('graphile-worker'),
  async producer({ url }) {
    const { utils } = await openUtils(url)
    return {
      add: (args, { queue, delay }) =>
        utils.addJob(nameOf(queue), { args }, delay ? { runAt: new Date(Date.now() + delay) } : {}),
      addBulk: (rows, { queue }) =>
        utils.withPgClient((client) =>
          client.query(
            `SELECT count(*) FROM ${SCHEMA}.add_jobs(ARRAY(SELECT json_populate_record(null::${SCHEMA}.job_spec, spec) FROM json_array_elements($1::json) AS spec))`,
            [JSON.stringify(rows.map((args) => ({ identifier: nameOf(queue), payload: { args } })))],
          ),
        ),
      close: () => utils.release(),
    }
  },
  async worker({ url, queues, concurrency }, handler) {
    const { utils, logger } = await openUtils(url)
    await utils.release()
    const { run } = await import('graphile-worker')
    const names = Array.from({ length: queues }, (_, queue) => nameOf(queue))
    const taskList = Object.fromEntries(names.map((name) => [name, ({ args }) => handler(args)]))
    const settings = { maxPoolSize: concurrency, pollInterval: 2000, noHandleSignals: true }
    const runner = await run({ connectionString: url, concurrency, taskList, logger, ...settings })
    return { close: () => runner.stop() }
  },
  async queued({ url }) {
    const { utils } = await openUtils(url)
    const { rows } = await utils.withPgClient((client) => client.query(`SELECT count(*)::int AS n FROM ${SCHEMA}.jobs`))
    await utils.release()
    return rows[0].n
  },
}
