/** `hq.transaction(client, work)`: stores jobs through a connection of the app, in the transaction that is open there. */

import type { AppPort } from '../app/port.ts'
import { recordingOf } from '../events/recording.ts'
import { HighkiqError, invalidOption, messageOf, PushError } from '../job/errors.ts'
import { queueFull } from '../job/queue-full.ts'
import type { BatchItem, RefusedPush, SqlQuery } from '../store/contract.ts'
import type { Bulk } from './bulk.ts'
import { collectEach, OpenSteps } from './open-steps.ts'
import type { OrderedNames } from './ordered-names.ts'
import { addBatchEvents, addPushEvent } from './push-events.ts'
import {
  idsOf,
  type OrderedPushRequest,
  type PreparedOrderedPush,
  type PreparedPush,
  type PushPipe,
  type PushTarget,
} from './push-target.ts'
import { uniqueConflict } from './refused-push.ts'
import type { PushRequest } from './request.ts'
import { refuseChange, transactionItems } from './transaction.ts'

/** The rows of a statement, as they are or in a result of `pg`. */
export type SqlRows = readonly object[] | { readonly rows: readonly object[] }

/** Runs a statement in the open transaction. Its parameters are $1, $2 and so on, each once and in this order, and all values are texts. */
export type SqlFunction = (text: string, values: string[]) => Promise<SqlRows>

/** A connection of the app: a client of `pg`, or anything that runs a statement in the open transaction. */
export interface SqlClient {
  query(text: string, values: string[]): Promise<SqlRows>
}

/** A pool of `pg`. */
export interface SqlPool {
  connect(): Promise<SqlPoolClient>
  readonly totalCount: number
}

/** A connection of a pool. `release(true)` closes it. */
export interface SqlPoolClient extends SqlClient {
  release(error?: Error | boolean): void
}

/** The client that a pool gives out. The type of `pg` has two forms of `connect`. */
export type PoolClientOf<Pool> = Pool extends {
  connect(): Promise<infer Client>
  connect(callback: never): unknown
}
  ? Client
  : Pool extends { connect(): Promise<infer Client> }
    ? Client
    : never

interface Collected {
  prepared: PreparedPush | null
  conflict: 'drop' | 'raise'
}

/** Collects the pushes of the function. */
class Collector implements PushTarget {
  readonly orderedNames: OrderedNames | undefined
  readonly ordered: PreparedOrderedPush[] = []
  readonly batches: BatchItem[] = []
  readonly #jobs: Collected[] = []
  readonly #steps = new OpenSteps('its transaction')

  constructor(orderedNames: OrderedNames | undefined) {
    this.orderedNames = orderedNames
  }

  get jobs(): PreparedPush[] {
    return this.#jobs.flatMap(({ prepared }) => prepared ?? [])
  }

  /** Resolves when the job is collected; null when middleware stopped it. */
  push(pipe: PushPipe, request: PushRequest): Promise<string | null> {
    return this.#steps.track(() => this.#collect(pipe, request))
  }

  pushEach<Args extends unknown[]>(pipe: PushPipe, bulk: Bulk<Args>): Promise<(string | null)[]> {
    return this.#steps.track(() => collectEach(pipe, bulk, (...push) => this.#collect(...push)))
  }

  pushOrdered({ name, run, prepare }: OrderedPushRequest): Promise<number> {
    return this.#steps.track(async () => {
      const push: PreparedOrderedPush = { name, run, batches: [] }
      this.ordered.push(push)
      push.batches = await prepare()
      return idsOf(push.batches).length
    })
  }

  pushBatch(collect: () => Promise<BatchItem>): Promise<void> {
    return this.#steps.track(async () => void this.batches.push(await collect()))
  }

  apart(what: string): Promise<never> {
    return this.#steps.track(() =>
      Promise.reject(invalidOption(`${what} inside hq.transaction can't be part of it: do it after the commit`)),
    )
  }

  /** Waits for the pushes that are not complete. @throws the first error of a push, also when the function has caught it */
  close(): Promise<void> {
    return this.#steps.close()
  }

  /** The store has refused pushes. A dropped job has no effect. @throws UNIQUE_CONFLICT, QUEUE_FULL */
  readonly refused = (pushes: readonly RefusedPush[]): void => {
    for (const { item, holder } of pushes) {
      const { prepared, conflict } = this.#jobs.find((one) => one.prepared?.destination === item) as Collected
      const { payload, jid } = prepared as PreparedPush
      const { class: name, queue } = payload
      if (holder === null) throw queueFull(name, queue, item.maxLength as number)
      // An earlier push has stored a job with this jid.
      if (conflict === 'raise' && holder !== jid) throw uniqueConflict(name, holder)
    }
  }

  async #collect(pipe: PushPipe, request: PushRequest): Promise<string | null> {
    const payload = pipe.normalise(request)
    const conflict = payload.hk_unique === undefined ? 'drop' : refuseChange(request.class, pipe.conflict(request))
    const collected: Collected = { prepared: null, conflict }
    // Jobs are stored in the order of their pushes, also when middleware takes its time.
    this.#jobs.push(collected)
    const passed = await pipe.pass(payload)
    if (!passed) return null
    collected.prepared = pipe.write(passed)
    return collected.prepared.jid
  }
}

/**
 * Runs `work`, and then stores what it has pushed through the connection; with a pool, in a transaction of its own.
 * @throws what `work` throws, and then nothing is stored; UNIQUE_CONFLICT, QUEUE_FULL, NO_TRANSACTION, STORE_TIMEOUT; PushError when the
 * answer to the COMMIT is lost
 */
export function transactThrough<T>(
  app: AppPort,
  connection: SqlPool | SqlClient | SqlFunction,
  work: (client: SqlPoolClient | undefined) => T,
): Promise<Awaited<T>> {
  return app.client.target.apart('hq.transaction', async (): Promise<Awaited<T>> => {
    checkWork(work)
    if (isPool(connection))
      return await inPool(connection, (client) => join(app, queryOf(client), () => work(client), true))
    return (await join(app, queryOf(connection), () => work(undefined), false)).result
  })
}

interface Joined<T> {
  result: Awaited<T>
  /** The jids of the jobs, and the ids of ordered jobs. */
  ids: string[]
  /** Wakes workers after a commit that follows at once. */
  wake: () => Promise<void>
}

async function join<T>(
  { client, store, now }: AppPort,
  query: SqlQuery,
  work: () => T,
  commitsNext: boolean,
): Promise<Joined<T>> {
  const testing = client.testing.current
  const { pushThrough } = store.jobs
  if (!testing && !pushThrough) throw noTransaction(store.url, store.jobs.transaction !== null)
  const collector = new Collector(client.direct.orderedNames)
  let result: Awaited<T>
  try {
    result = await client.inTransaction(collector, work)
  } catch (thrown) {
    await collector.close().catch(() => {})
    throw thrown
  }
  await collector.close()
  const { jobs, ordered, batches } = collector
  const ids = [
    ...jobs.map(({ jid }) => jid),
    ...ordered.flatMap((push) => idsOf(push.batches)),
    ...batches.flatMap(({ push }) => push.members.flatMap(({ id, item }) => (item ? id : []))),
  ]
  if (testing) {
    collector.refused(await testing.putAll(jobs))
    for (const push of ordered) await testing.putOrdered(push)
    for (const { push, answered } of batches) answered(await testing.putBatch(push))
    return { result, ids, wake: async () => {} }
  }
  const recording = recordingOf(store, now)
  await recording.refreshed()
  if (recording.mayBeOn()) {
    for (const one of jobs) addPushEvent(one, now())
    for (const { push } of batches) addBatchEvents(push, now())
  }
  const items = [...transactionItems(jobs, ordered), ...batches]
  const { refused } = collector
  const wake = await (pushThrough as NonNullable<typeof pushThrough>)(query, items, now(), { refused, commitsNext })
  return { result, ids, wake }
}

/** Runs `work` in a transaction on a client of the pool. */
async function inPool<T>(pool: SqlPool, work: (client: SqlPoolClient) => Promise<Joined<T>>): Promise<Awaited<T>> {
  const client = await pool.connect()
  const events = client as Partial<Pick<NodeJS.EventEmitter, 'on' | 'off'>>
  // A connection that is lost while no statement runs would else end the process. The next statement rejects.
  const ignore = () => {}
  events.on?.('error', ignore)
  let lost: Error | undefined
  try {
    await client.query('BEGIN', [])
    const { result, ids, wake } = await work(client)
    const { command } = (await client.query('COMMIT', []).catch((thrown) => {
      if (isRefused(thrown)) throw thrown
      lost = commitLost(thrown, ids)
      throw lost
    })) as { command?: string }
    if (command === 'ROLLBACK') throw rolledBack()
    await wake()
    return result
  } catch (thrown) {
    if (!lost) {
      await client.query('ROLLBACK', []).catch((error) => {
        lost = error
      })
    }
    throw thrown
  } finally {
    events.off?.('error', ignore)
    client.release(lost)
  }
}

function isPool(connection: SqlPool | SqlClient | SqlFunction): connection is SqlPool {
  const { connect, totalCount } = (connection ?? {}) as Partial<SqlPool>
  return typeof connect === 'function' && typeof totalCount === 'number'
}

/** @throws INVALID_OPTION */
function queryOf(connection: SqlClient | SqlFunction): SqlQuery {
  const isFunction = typeof connection === 'function'
  if (!isFunction && typeof connection?.query !== 'function') {
    throw invalidOption(
      'hq.transaction: the first argument must be a client or a pool of pg, or a function (text, values) that runs a statement and resolves with its rows',
    )
  }
  return async (text, values) => {
    const result = await (isFunction ? connection(text, values) : connection.query(text, values))
    const rows = Array.isArray(result) ? result : (result as { rows?: unknown } | null | undefined)?.rows
    // A statement without rows may have any result.
    return Array.isArray(rows) ? rows : []
  }
}

/** @throws INVALID_OPTION */
function checkWork(work: unknown): void {
  if (typeof work !== 'function') {
    throw invalidOption('hq.transaction: the second argument must be a function that pushes the jobs')
  }
}

function noTransaction(url: string, isOwn: boolean): HighkiqError {
  const advice = isOwn ? 'call hq.transaction((db) => …)' : 'commit first and push then, or keep the jobs in PostgreSQL'
  return new HighkiqError('NO_TRANSACTION', `${url} stores no jobs through a connection of PostgreSQL: ${advice}`)
}

/** The codes of a lost connection, also of a proxy in between, of a server that stops or fails, and of an unknown outcome. */
const UNCLEAR = /^(08|57P|58|XX|40003)/

/** Returns whether the server itself has answered that it did not commit. */
function isRefused(thrown: unknown): boolean {
  const { code } = (thrown ?? {}) as { code?: unknown }
  return /^[0-9A-Z]{5}$/.test(String(code)) && !UNCLEAR.test(String(code))
}

function commitLost(cause: unknown, ids: string[]): PushError {
  const message = `hq.transaction: the answer to the COMMIT was lost (${messageOf(cause)}): either all of it is stored, rows and jobs, or nothing is: look for one of your rows before you try again`
  return new PushError(message, ids, true, { cause })
}

function rolledBack(): HighkiqError {
  const message =
    'hq.transaction: PostgreSQL has rolled the transaction back, because a statement in it had failed: do not catch its error, or use a savepoint'
  return new HighkiqError('NO_TRANSACTION', message)
}
