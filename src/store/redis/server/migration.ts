/**
 * Migrates a database of version 0.1, which has other names for some keys and fields. Each step is one short script and
 * may be repeated, so several processes may migrate a database together, and any process can continue after another one
 * that was killed. The schema is set at the end. Until then no process reads what is being migrated. A task with a key of
 * the wrong type is skipped: then the schema is not set, and each later process migrates again.
 */

import { HighkiqError } from '../../../job/errors.ts'
import type { MigrationPlan } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { readTaskQueues } from './call.ts'
import type { Connection } from './connection.ts'
import type { Keys } from './keys.ts'
import type { RedisStoreOptions } from './url.ts'

/** The number in `hk:schema`. Version 0.1 wrote none, and did not read it. */
const SCHEMA = 2
const NOTE = 'A later version of Highkiq has migrated this database: stop every process of version 0.1'
/** How long a list stays under the old name of a queue's backlog. A process of version 0.1 may run for that long. */
const NOTE_SECONDS = 30 * 86_400
/** How many queues or tasks are migrated with one request. */
const AT_ONCE = 100

/**
 * Migrates the database if needed. `schema` is the value of `hk:schema`, or null. `warn` gets the keys of skipped tasks.
 * @throws STORE_UNUSABLE with `retryAfterMs` while a process of version 0.1 has a lease: processes of the two versions do
 * not see each other's leases, and each would run the other's jobs again
 */
export async function migrate(
  main: Connection,
  keys: Keys,
  { url, namespace }: RedisStoreOptions,
  schema: string | null,
  warn: (message: string) => void,
): Promise<void> {
  if (schema === String(SCHEMA)) return
  if (schema !== null) throw newer(url, schema)
  const prefix = namespace === '' ? '' : `${namespace}:`
  const begun = (await main.run(lua.migrateBegin, [], [prefix, SCHEMA, NOTE])) as string | [string, string, number]
  if (Array.isArray(begun)) {
    const [owner, queue, retryAfterMs] = begun
    throw new HighkiqError(
      'STORE_UNUSABLE',
      `the worker ${owner} of version 0.1 has a lease in the queue ${queue} of ${url}, which ends in ${Math.ceil(retryAfterMs / 1000)} s unless that worker renews it: stop all processes of version 0.1, and start this process again after that time`,
      { retryAfterMs },
    )
  }
  if (begun === 'current') return
  await migrateQueues(main, keys, prefix)
  const problems = await migrateTasks(main, keys)
  if (problems.size === 0) await main.call((client) => client.set(keys.schema, SCHEMA))
  for (const problem of problems) {
    warn(`${problem}: its task was not migrated; delete this key, and open the store again`)
  }
}

/** Returns what `migrate` would do. @throws STORE_UNUSABLE when a newer Highkiq has migrated the database */
export async function planMigration(connection: Connection, keys: Keys, url: string): Promise<MigrationPlan> {
  const schema = await connection.call((client) => client.get(keys.schema))
  if (schema === String(SCHEMA)) return { version: SCHEMA, target: SCHEMA, steps: [] }
  if (schema !== null) throw newer(url, schema)
  const end = `SET ${keys.schema} ${SCHEMA}`
  if (!(await isOfVersion01(connection, keys, keys.prefix))) return { version: 0, target: SCHEMA, steps: [end] }
  const steps = [
    'the leases of owners move from each queue to one list; nothing is done while a process of version 0.1 has one',
    'the keys of ordered queues, and of the queues of tasks, get new names',
    'the keys and fields of tasks get new names',
    'a note stays under each old name, so that processes of version 0.1 do not start',
  ]
  return { version: 1, target: SCHEMA, steps: [...steps, end] }
}

function newer(url: string, schema: string): HighkiqError {
  const message = `${url} has schema ${schema}, and this version of Highkiq knows schemas up to ${SCHEMA}: use the version that migrated the database, or a later one`
  return new HighkiqError('STORE_UNUSABLE', message)
}

/** Returns whether `migrate` would move keys: whether a database has tasks or ordered queues that version 0.1 stored. */
export async function isOfVersion01(connection: Connection, keys: Keys, prefix: string): Promise<boolean> {
  const [schema, queues, tasks, moved] = await connection.all((pipeline) =>
    pipeline
      .get(keys.schema)
      .type(`${prefix}hk:queues`)
      .type(`${prefix}hk:tasks`)
      // An interrupted migration leaves the first two.
      .exists(keys.taskQueues, keys.tasks, keys.orderedQueues),
  )
  return schema === null && (queues === 'set' || tasks === 'hash' || moved !== 0)
}

async function migrateQueues(main: Connection, keys: Keys, prefix: string): Promise<void> {
  const found = (await main.all((pipeline) =>
    pipeline.smembers(keys.taskQueues).smembers(keys.orderedQueues),
  )) as string[][]
  for (const queue of new Set(found.flat())) {
    const root = `${prefix}hk:{queue:${queue}}:`
    const all = [`${root}adding`, keys.producers(queue), `${root}held`, keys.backlog(queue)]
    all.push(`${root}ordered`, `${root}ordered:taken:`, `${root}ordered:fetched:`)
    await main.run(lua.migrateQueue, all, [NOTE, NOTE_SECONDS])
  }
}

/** Returns the problems with tasks that were skipped. */
async function migrateTasks(main: Connection, keys: Keys): Promise<Set<string>> {
  const problems = new Set<string>()
  let cursor = '0'
  do {
    const [next, found] = await main.call((client) => client.hscan(keys.tasks, cursor, 'COUNT', AT_ONCE))
    let tasks: { all: readonly string[]; cursor: string }[] = []
    for (let i = 0; i < found.length; i += 2) {
      const { queue } = readTaskQueues(found[i + 1] as string)
      tasks.push({ all: keys.task(queue, found[i] as string), cursor: '0' })
    }
    while (tasks.length > 0) {
      const cursors = tasks.map((task) => task.cursor)
      const all = tasks.flatMap((task) => task.all)
      const [left, found] = (await main.run(lua.migrateTasks, all, cursors)) as [string[], string[]]
      for (const problem of found) problems.add(problem)
      tasks = tasks.map(({ all }, i) => ({ all, cursor: left[i] as string })).filter((task) => task.cursor !== '0')
    }
    cursor = next
  } while (cursor !== '0')
  return problems
}
